"""When growth is called a leak, and what may end it until then.

Growth that nothing can end is a leak at once. Other growth becomes one after three minutes, since new
connections, a pool that is starting and a cache that is filling look like leaks while they grow. If sockets
grow as well, it is five minutes; later if timers or the lives of earlier tasks are long, and earlier if the
tasks are short-lived.

What counts as growth is measured in `growth`; each kind of verdict says when its growth is evident.
"""

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from concwatch.links.agent_messages import ThreadWaits, Waits

USUAL_GRACE = 180.0
"""Seconds of growth after which it is called a leak although something may still end it."""

CONNECTED_GRACE = 300.0
"""The same if the number of connections grows as well, because their peers may close them."""

CONNECTED = 0.5
"""Sockets per task, thread or file from which what grows is taken for connections."""

BOUNDED = 0.9
"""Share of tasks that must have a timer, or wait for something that others hold, for them to end by that."""

FOR_EVER = 600.0
"""Seconds from which a timer is too long to bound the life of a task."""

LIFETIMES = 4.0
"""How many of the longest timers, or of the mean lives if known, the growth must last; of mean lives, for
`USUAL_GRACE` at most."""

MAY_END = {
    "tasks": "something else may end them",
    "ended tasks": "they may be in a cache that is filling",
    "threads": "they may end",
    "jobs": "the executor may catch up",
    "executors": "they may be shut down",
    "files": "they may be closed",
    "memory": "a cache may be filling",
}
"""Why what grows may not be a leak, by what it is."""


class GracePeriod(NamedTuple):
    """How long growth must last before it is called a leak."""

    seconds: float
    """0 if nothing can end the growth."""
    reason: str = ""
    """What may end the growth until then."""


NO_GRACE = GracePeriod(0.0)
UNKNOWN = GracePeriod(USUAL_GRACE, "it is not known what they wait for")
CONNECTIONS = GracePeriod(CONNECTED_GRACE, "sockets grow as well, and their peers may close them")


class Ending(NamedTuple):
    """What may end the tasks, threads or others that grow."""

    known: bool = True
    """Whether that is known."""
    others: bool = True
    """Whether something else than a timer may end them."""
    timer: float | None = None
    """Seconds until the last of their timers ends; None if timers do not bound them."""


ANYTHING, NOT_KNOWN = Ending(), Ending(known=False)


def ending_of_tasks(waits: "Waits") -> Ending:
    """Return what may end tasks that wait there."""
    wakeable = (waits.looked - waits.timed) * waits.wakeable / max(1, waits.sampled)
    bounded = waits.looked and waits.timed + wakeable >= BOUNDED * waits.looked
    return Ending(
        known=waits.looked == waits.timed > 0 or waits.sampled > 0,
        others=bool(bounded and wakeable),
        timer=waits.until if bounded and waits.timed else None,
    )


def ending_of_threads(waits: "ThreadWaits") -> Ending:
    """Return what may end threads that wait there: nothing if they wait for locks."""
    return Ending(waits.looked > 0, waits.locked <= (1 - BOUNDED) * waits.looked)


def grace_period(
    what: str,
    ending: Ending = ANYTHING,
    rise: int = 0,
    sockets: int | None = None,
    mean_life: float | None = None,
    longest_life: float = 0.0,
) -> GracePeriod:
    """Return how long growth must last to be called a leak, and what may end it until then.

    Args:
        what: what grows, a key of `MAY_END`.
        ending: what may end it.
        rise: by how much it has risen in the last two minutes.
        sockets: by how many the sockets of the process have risen; None if it cannot be connections.
        mean_life: seconds that such tasks live on average; None if unknown.
        longest_life: the longest time in seconds that one is known to have lived; if something may end them,
            the growth must last at least as long.
    """
    if not ending.known:
        grace = UNKNOWN
    elif not ending.others and ending.timer is None:
        grace = NO_GRACE
    elif sockets is not None and sockets >= CONNECTED * rise:
        grace = CONNECTIONS
    elif ending.timer is not None:
        seconds = max(USUAL_GRACE, LIFETIMES * ending.timer)
        grace = NO_GRACE if ending.timer >= FOR_EVER else GracePeriod(seconds, "timers may end them")
    else:
        seconds = min(USUAL_GRACE, LIFETIMES * mean_life) if mean_life else USUAL_GRACE
        grace = GracePeriod(seconds, MAY_END[what])
    return grace._replace(seconds=max(grace.seconds, longest_life)) if grace.seconds else grace
