"""What limits a lane, in one sentence: rows of rules, of which the first that applies is told."""

from collections.abc import Callable

from msgspec import Struct

from concwatch.lab.lane_state import STANDING
from concwatch.lab.snapshot import LaneSnapshot, Snapshot
from concwatch.system.memory import BUDGET
from concwatch.units import format_count, format_percent, format_rate, format_seconds

CERTAIN = 0.9
"""Share of its CPU time up to which time in collection is believed to be that."""

REACHED = 0.98
"""Share of the target from which on it counts as reached."""


class Rule(Struct, frozen=True):
    """One thing that may limit a lane."""

    name: str
    rests_on: tuple[str, ...]
    """The figures that it goes by."""
    applies: Callable[[LaneSnapshot, Snapshot], bool]
    text: Callable[[LaneSnapshot, Snapshot], str]


def _collecting(lane: LaneSnapshot) -> float:
    """Return the share of its CPU time that the worker has spent in collection; 0 where that is not known."""
    used = lane.sample.cpu_seconds
    # Collection is timed by the clock: on a busy machine more than its CPU time.
    return min(1.0, (lane.sample.gc or 0.0) / max(used, 0.1)) if used is not None else 0.0


def _much(share: float) -> str:
    """Return a share in words where the clock, which goes on while others have the core, makes it too large."""
    return format_percent(share) if share < CERTAIN else "most"


def _short(lane: LaneSnapshot) -> bool:
    return lane.live < lane.status.target * REACHED


def _life(lane: LaneSnapshot) -> float:
    return lane.live / (lane.sample.completed_mean or 1.0)


def _shares_one_core(lane: LaneSnapshot) -> bool:
    """Whether threads of one interpreter take turns on one core."""
    threaded = lane.engine.threads or lane.engine.queues
    python = (lane.status.runtime or "").startswith(("CPython", "PyPy"))
    return threaded and python and 0.8 <= (lane.sample.cpu or 0.0) <= 1.2 and (lane.sample.threads or 0) > 3


RULES: tuple[Rule, ...] = (
    Rule(
        "budget", ("rss", "live"),
        lambda lane, _: lane.status.wall == BUDGET,
        lambda lane, _: f"the {lane.status.wall_text}: {format_count(lane.live)} of {format_count(lane.status.asked)} fit",
    ),
    Rule(
        "wall", ("live",),
        lambda lane, _: bool(lane.status.wall),
        lambda lane, _: f"{lane.status.wall_text} lets {format_count(lane.live)} of {format_count(lane.status.asked)} live",
    ),
    Rule(
        "machine", ("others",),
        lambda lane, _: (lane.sample.others or 0.0) >= 0.5 and (_short(lane) or (lane.sample.cpu or 0.0) >= 0.3),
        lambda lane, _: f"the machine: others take {format_percent(lane.sample.others or 0.0)} of the cores",
    ),
    Rule(
        "collector", ("gc_seconds", "cpu_seconds"),
        lambda lane, lab: "gc" in lane.status.can and (lane.sample.gc or 0.0) >= 1.0 and _collecting(lane) >= 0.25 and lab.settings.gc == "default",
        lambda lane, _: f"the collector: {_much(_collecting(lane))} of its CPU time in collection: frozen (g) avoids it",
    ),
    Rule(
        "lock", ("cpu", "threads"),
        lambda lane, _: _shares_one_core(lane),
        lambda lane, _: "the interpreter's lock: its threads take turns on one core",
    ),
    Rule(
        "loop", ("wake_lag_p99",),
        lambda lane, _: not lane.engine.threads and (lane.status.wake_lag_p99 or 0.0) >= 0.1 and (lane.sample.cpu or 0.0) >= 0.5,
        lambda lane, _: f"a blocked loop: a sleeper wakes up to {format_seconds(lane.status.wake_lag_p99 or 0.0)} late",
    ),
    Rule(
        "life", ("completed_mean", "live"),
        lambda lane, _: _short(lane) and bool(lane.sample.completed_mean),
        lambda lane, _: (
            f"Little's law: {format_rate(lane.sample.completed_mean or 0.0)} created and ended, "
            f"each lives {format_seconds(_life(lane))}: {format_count(lane.live)} stand"
        ),
    ),
)  # fmt: skip


def limited_by(lane: LaneSnapshot, lab: Snapshot) -> str | None:
    """Return what limits a lane, in one sentence; None where nothing does, or nothing runs."""
    if lane.status.state not in STANDING or not lane.status.peak_live:
        return None
    return next((rule.text(lane, lab) for rule in RULES if rule.applies(lane, lab)), None)
