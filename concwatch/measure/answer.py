"""What a task costs and how many the machine holds, in one sentence."""

import math
from collections.abc import Mapping, Sequence

from concwatch.monitor.metrics.metrics import BY_NAME, KEPT, LaneSnapshot, known_cost
from concwatch.monitor.metrics.snapshot import Snapshot
from concwatch.portable.protocol.units import format_bytes, format_count, format_short

LEAST = 100
"""Tasks that must have been live before their cost is shown."""

REACHED = 0.95
"""Share of the target that must be live: while tasks are created, the metrics still move."""

CHANGED = 0.03
"""Share by which a metric has to change before the sentence does."""

NOUNS = {
    "threads": "thread",
    "pool": "pool job",
    "gevent": "greenlet",
    "go": "goroutine",
    "interpreters": "interpreter job",
    "sequential": "call",
    "rust-threads": "Rust thread",
    "java-threads": "Java thread",
    "java-virtual": "virtual thread",
}
"""Engine → the name of one task, where that is not the engine's name and "task"."""

COST, FITS = BY_NAME["memory_per_task"], BY_NAME["fits"]

Known = tuple[float, int, str, str, bool]
"""The bytes of a task, how many fit, the marks of each, and whether it is a lane of this machine."""


def noun(engine: str, ending: str = "") -> str:
    """Return the name of one task of an engine, or of several: ``thread``, ``asyncio@3.12 tasks``."""
    own, at, version = engine.partition("@")
    return f"{NOUNS[own]}{ending}{at}{version}" if own in NOUNS else f"{engine} task{ending}"


class Answer:
    """The sentence for the lanes of one screen. A metric stays until it has changed by `CHANGED`."""

    def __init__(self) -> None:
        self._known: dict[str, Known] = {}
        self._time = -math.inf

    def update(self, view: Snapshot) -> Sequence[str]:
        """Return the sentence in up to three lengths, the longest first; none while nothing is known."""
        if view.time < self._time:  # a replay that has gone back
            self.clear()
        self._time = view.time
        firsts = {lane.own_name: known for lane in reversed(view.lanes) if (known := _known(lane))}
        for name, now in firsts.items():
            if _differs(now, self._known.get(name)):
                self._known[name] = now
        return sentences(self._known)

    def clear(self) -> None:
        """Forget all metrics, since the settings have changed."""
        self._known.clear()


def _known(lane: LaneSnapshot) -> Known | None:
    """Return the metrics of a lane that holds its tasks; None if they are not known."""
    value, live = known_cost(lane), lane.sample.measured_live or 0
    holds = lane.on and lane.status.target and lane.live >= lane.status.target * REACHED
    if not (value and holds and live >= max(LEAST, REACHED * lane.live)) or KEPT.holds(lane):
        return None
    here = not lane.engine.host and lane.own_name == lane.name  # not folded over several hosts
    fits = lane.status.fits if lane.status.fits_limit else 0
    return value, fits, COST.marks(lane), FITS.marks(lane), here


def _differs(now: Known, before: Known | None) -> bool:
    return (
        before is None
        or now[2:] != before[2:]
        or any(abs(new - old) > CHANGED * old for new, old in zip(now[:2], before[:2], strict=True))
    )


def sentences(known: Mapping[str, Known]) -> Sequence[str]:
    """Return the sentence for lanes by name: the dearest beside the cheapest, and how many of both fit."""
    if not known:
        return ()
    order = sorted(known, key=lambda name: -known[name][0])
    dear, cheap = order[0], order[-1]
    marks = "".join(dict.fromkeys(known[dear][2] + known[cheap][2]))
    if dear == cheap:
        ratio = f"1 {noun(dear)} takes {format_bytes(known[dear][0])}{marks}"
    else:
        times = known[dear][0] / known[cheap][0]
        number = f"{times:.1f}" if times < 99.95 else format_count(round(times))
        ratio = f"1 {noun(dear)} = {number} {noun(cheap, 's')}{marks}"
    fitting = ", ".join(
        f"{_number(known[name][1])}{known[name][3]} {noun(name, 's')}"
        for name in dict.fromkeys((dear, cheap))
        if known[name][1] and known[name][4]
    )
    if not fitting:
        return (ratio,)
    return f"{ratio} · this machine holds {fitting}", f"{ratio} · {fitting} fit", ratio


def _number(tasks: int) -> str:
    if tasks < 100_000:
        return format_count(tasks)
    # Two digits: a third would be another one in the table, which changes more often.
    return format_short(round(tasks, 1 - int(math.log10(tasks))))
