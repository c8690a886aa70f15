"""What limits a lane, in one sentence."""

from collections.abc import Iterator

from concwatch.lab.snapshot import ACTIVE, LaneSnapshot, Snapshot
from concwatch.system.memory import BUDGET
from concwatch.units import format_count, format_percent, format_rate, format_seconds

RELIABLE = 0.9
"""Share of the CPU time up to which the measured share of garbage collection is shown as a number."""

REACHED = 0.98
"""Share of the target above which it counts as reached."""


def limited_by(lane: LaneSnapshot, lab: Snapshot, reached: bool = False) -> str | None:
    """Return what limits a lane, in one sentence; None if nothing does or nothing runs.

    ``reached`` tells whether the target has been reached, and that is all that is asked of it.
    """
    if lane.status.state not in ACTIVE or not lane.status.peak_live:
        return None
    # Without refill, tasks end for good once all have been created.
    reached = reached or (not lab.settings.refill and lane.status.peak_live >= lane.status.target)
    short = not reached and lane.live < lane.status.target * REACHED
    return next(_limits(lane, lab, short), None)


def _limits(lane: LaneSnapshot, lab: Snapshot, short: bool) -> Iterator[str]:
    """Yield everything that limits it, the most certain first."""
    status, sample = lane.status, lane.sample
    cpu, others, lag = sample.cpu or 0.0, sample.others or 0.0, status.wake_lag_p99 or 0.0
    live, requested = format_count(lane.live), format_count(status.asked)
    if status.wall == BUDGET:
        yield f"the {status.wall_text}: {live} of {requested} fit"
    if status.wall:
        yield f"{status.wall_text} lets {live} of {requested} live"
    if others >= 0.5 and (short or cpu >= 0.3):
        yield f"the machine: other processes use {format_percent(others)} of the cores"
    collecting = _collecting(lane)
    if (
        "gc" in status.can
        and (sample.gc or 0.0) >= 1.0
        and collecting >= 0.25
        and lab.settings.gc == "default"
    ):
        # Collection is timed by the clock, which also runs while others have the core.
        share = format_percent(collecting) if collecting < RELIABLE else "most"
        yield f"garbage collection: {share} of its CPU time; frozen (g) avoids it"
    python = (status.runtime or "").startswith(("CPython", "PyPy"))
    threaded = (lane.engine.threads or lane.engine.queues) and (sample.threads or 0) > 3
    if python and threaded and 0.8 <= cpu <= 1.2:
        yield "the interpreter's lock: its threads take turns on one core"
    if not lane.engine.threads and lag >= 0.1 and cpu >= 0.5:
        yield f"a blocked event loop: sleepers wake up to {format_seconds(lag)} late"
    if short and lane.live and sample.completed_mean:
        life = format_seconds(lane.live / sample.completed_mean)
        rate = format_rate(sample.completed_mean)
        yield f"Little's law: at {rate} and a mean life of {life}, {live} tasks are live"


def _collecting(lane: LaneSnapshot) -> float:
    """Return the share of its CPU time that the worker spent in garbage collection; 0 if unknown."""
    used = lane.sample.cpu_seconds
    return min(1.0, (lane.sample.gc or 0.0) / max(used, 0.1)) if used is not None else 0.0
