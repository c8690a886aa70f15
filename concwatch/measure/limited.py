"""What limits a lane, in one sentence."""

from collections.abc import Iterator

from concwatch.monitor.lanes.forecast import mean_life
from concwatch.monitor.metrics.metrics import LaneSnapshot
from concwatch.monitor.metrics.snapshot import Snapshot
from concwatch.monitor.metrics.state import ACTIVE
from concwatch.monitor.verdicts.blocks import BlockedPlace
from concwatch.monitor.verdicts.throttling import THROTTLED, quota_name
from concwatch.portable.protocol.text import short_place
from concwatch.portable.protocol.units import format_count, format_percent, format_rate, format_seconds
from concwatch.portable.protocol.workloads import is_function, parse
from concwatch.system.memory import BUDGET

RELIABLE = 0.9
"""Share of the CPU time up to which the measured share of garbage collection is shown as a number."""

REACHED = 0.98
"""Share of the target above which it counts as reached."""

STEADY = 0.2
"""Share by which the rates of tasks created and completed may differ while their number stands, and by which
the mean life that follows may differ from that of the workload."""

STUCK = 3.0
"""Seconds for which an event loop that runs a function of the user is stalled before it is said to block."""

PERIOD = 0.1
"""Seconds of a usual period of a CPU quota: being throttled for less is no limit."""

ALL = 0.9
"""Share of the cores from which on all are said to be used."""

BLOCKED = 0.1
"""Seconds by which wake-ups are late in 1 % of all ticks if the event loop is said to be blocked."""

MACHINE = "other processes, which use"

GIL = "the GIL: its threads take turns on one core"

SLEEPING = ("sleep", "churn", "hold", "payload")
"""Workloads whose tasks only sleep: their threads do not want the GIL."""


def limited_by(lane: LaneSnapshot, lab: Snapshot, reached: bool = False) -> str | None:
    """Return what limits a lane, in one sentence; None if nothing does or nothing runs.

    ``reached`` tells whether the target has been reached, and that is all that is asked of it.
    """
    # Short tasks of threads that take turns have ended before any report finds them live.
    if lane.status.state not in ACTIVE or not (lane.status.peak_live or lane.sample.completed):
        return None
    # Without refill, tasks end for good once all have been created.
    reached = reached or (not lab.settings.refill and lane.status.peak_live >= lane.status.target)
    short = not reached and lane.live < lane.status.target * REACHED
    return never_yields(lane, lab) or next(_limits(lane, lab, short), None)


def never_yields(lane: LaneSnapshot, lab: Snapshot) -> str | None:
    """Return that the user's function blocks the event loop so that no further task can start, or None."""
    _, colon, function = lab.settings.workload.rpartition(":")
    looped = not (lane.engine.threads or lane.engine.queues)
    blocked = looped and lane.sample.stalled >= STUCK and lane.live < lane.status.target
    if not (blocked and colon and is_function(lab.settings.workload)):
        return None
    place = _most_blocked(lane)
    where = ""
    if place is not None:
        inside = "" if place.function == function else f"in {place.function}() "
        where = f" {inside}({short_place(place.where)})"
    return (
        f"{function}(){where} never yields: {format_count(lane.live)} of {format_count(lane.status.asked)} "
        "started"
    )


def _most_blocked(lane: LaneSnapshot) -> BlockedPlace | None:
    """Return the place at which the user's function has blocked the event loop most."""
    return next((place for place in lane.blocks if place.cause == "code"), None)


def _blocks(place: BlockedPlace) -> str:
    called = f", called by {place.caller.in_}," if place.caller is not None else ""
    times = (
        "once"
        if place.count == 1
        else f"{format_count(place.count)} times, {format_seconds(place.seconds)} in all"
    )
    return (
        f"{place.function}() ({short_place(place.where)}){called} blocks the event loop: for "
        f"{format_seconds(place.longest)} at most, {times}"
    )


def _limits(lane: LaneSnapshot, lab: Snapshot, short: bool) -> Iterator[str]:
    """Yield everything that limits it, the most certain first."""
    status, sample = lane.status, lane.sample
    cpu, others, lag = sample.cpu or 0.0, sample.others or 0.0, status.wake_lag_p99 or 0.0
    live, requested = format_count(lane.live), format_count(status.asked)
    if status.limit == BUDGET:
        yield f"the {status.limit_text}: {live} of {requested} fit"
    if status.limit:
        yield f"{status.limit_text} lets {live} of {requested} live"
    throttled = sample.throttled or 0.0
    wanted = throttled + (sample.cpu_seconds or 0.0)
    if throttled >= PERIOD and throttled >= THROTTLED * wanted:
        yield f"{quota_name(status.cpu_quota)}: throttled for {format_seconds(throttled)}"
    python = (status.runtime or "").startswith(("CPython", "PyPy"))
    threaded = (lane.engine.threads or lane.engine.queues) and (sample.threads or 0) > 3
    sleeping = lab.settings.workload.partition(":")[0] in SLEEPING
    turns = bool(python and threaded and not sleeping and 0.8 <= cpu <= 1.2)
    if turns and cpu >= ALL:
        yield GIL  # though others use cores, it has the one that it can use
    if others >= 0.5 and (short or cpu >= 0.3):
        yield f"{MACHINE} {format_percent(others)} of the cores"
    collecting = _collecting(lane)
    if (
        "gc" in status.can
        and (sample.gc or 0.0) >= 1.0
        and collecting >= 0.25
        and lab.settings.gc == "default"
    ):
        # Collection is timed by the clock, which also runs while others have the core.
        share = f"{format_percent(collecting)} of its CPU time"
        per = " per host" if lane.combines else ""
        spent = f"{format_seconds((sample.gc or 0.0) / len(lane.names))}{per} so far, on shared cores"
        yield f"garbage collection: {share if collecting < RELIABLE else spent}; frozen (g) avoids it"
    if turns:
        yield GIL
    if lane.machine_cores and cpu >= ALL * lane.machine_cores and not sleeping:
        yield f"the {lane.machine_cores} cores, which its tasks use in full"
    blocked = _most_blocked(lane)
    if lag >= BLOCKED and blocked is not None:
        yield _blocks(blocked)
    if not lane.engine.threads and lag >= BLOCKED and cpu >= 0.5:
        yield f"a blocked event loop: sleepers wake up to {format_seconds(lag)} late"
    created, completed = sample.created_per_second or 0.0, sample.completed_per_second
    if short and lane.live and completed and abs(created - completed) <= STEADY * completed:
        life, expected = lane.live / completed, mean_life(parse(lab.settings.workload))
        if expected is None or abs(life - expected) <= STEADY * expected:  # else tasks end in waves
            rate, lived = format_rate(completed), format_seconds(life)
            yield f"Little's law: at {rate} and a mean life of {lived}, {live} tasks are live"


def _collecting(lane: LaneSnapshot) -> float:
    """Return the share of its CPU time that the worker spent in garbage collection; 0 if unknown."""
    used = lane.sample.cpu_seconds
    return min(1.0, (lane.sample.gc or 0.0) / max(used, 0.1)) if used is not None else 0.0
