"""What limits a lane, in one sentence."""

from collections.abc import Iterator

from concwatch.lab.lane_state import STANDING
from concwatch.lab.snapshot import LaneSnapshot, Snapshot
from concwatch.system.memory import BUDGET
from concwatch.units import format_count, format_percent, format_rate, format_seconds

CERTAIN = 0.9
"""Share of its CPU time up to which time in collection is believed to be that."""

REACHED = 0.98
"""Share of the target from which on it counts as reached."""


def limited_by(lane: LaneSnapshot, lab: Snapshot) -> str | None:
    """Return what limits a lane, in one sentence; None where nothing does, or nothing runs."""
    if lane.status.state not in STANDING or not lane.status.peak_live:
        return None
    return next(_limits(lane, lab), None)


def _limits(lane: LaneSnapshot, lab: Snapshot) -> Iterator[str]:
    """Yield all that limits it, the surest first."""
    status, sample = lane.status, lane.sample
    cpu, others, lag = sample.cpu or 0.0, sample.others or 0.0, status.wake_lag_p99 or 0.0
    live, asked = format_count(lane.live), format_count(status.asked)
    short = lane.live < status.target * REACHED
    if status.wall == BUDGET:
        yield f"the {status.wall_text}: {live} of {asked} fit"
    if status.wall:
        yield f"{status.wall_text} lets {live} of {asked} live"
    if others >= 0.5 and (short or cpu >= 0.3):
        yield f"the machine: others take {format_percent(others)} of the cores"
    collecting = _collecting(lane)
    if (
        "gc" in status.can
        and (sample.gc or 0.0) >= 1.0
        and collecting >= 0.25
        and lab.settings.gc == "default"
    ):
        # In words where the clock, which goes on while others have the core, makes the share too large.
        share = format_percent(collecting) if collecting < CERTAIN else "most"
        yield f"the collector: {share} of its CPU time in collection: frozen (g) avoids it"
    python = (status.runtime or "").startswith(("CPython", "PyPy"))
    threaded = (lane.engine.threads or lane.engine.queues) and (sample.threads or 0) > 3
    if python and threaded and 0.8 <= cpu <= 1.2:
        yield "the interpreter's lock: its threads take turns on one core"
    if not lane.engine.threads and lag >= 0.1 and cpu >= 0.5:
        yield f"a blocked loop: a sleeper wakes up to {format_seconds(lag)} late"
    if short and sample.completed_mean:
        life = format_seconds(lane.live / sample.completed_mean)
        rate = format_rate(sample.completed_mean)
        yield f"Little's law: {rate} created and ended, each lives {life}: {live} stand"


def _collecting(lane: LaneSnapshot) -> float:
    """Return the share of its CPU time that the worker has spent in collection; 0 where that is not known."""
    used = lane.sample.cpu_seconds
    # Collection is timed by the clock: on a busy machine more than its CPU time.
    return min(1.0, (lane.sample.gc or 0.0) / max(used, 0.1)) if used is not None else 0.0
