"""What is to be measured, and what a measurement gave."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

from concwatch.lab.lane import Lane
from concwatch.lab.snapshot import LaneSnapshot
from concwatch.worker.burst import Burst


@dataclass(frozen=True)
class Plan:
    """What to measure."""

    tasks: int
    seconds: float = 0.0
    """How long to hold the tasks once all have started."""
    burst: Burst | None = None
    """Run this in place of holding tasks."""
    stop: bool = True
    """Whether the end of the tasks is measured, too."""
    enough: Callable[[Lane], str | None] = lambda lane: None
    """Returns why to break off while tasks are created, or None."""


class Outcome(Enum):
    """How a measurement ended; the gravest first."""

    FAILED = "failed"
    """There was no worker to the end."""
    FAILING = "failing"
    """Tasks failed."""
    LIMITED = "limited"
    """A wall, or a limit of time, held tasks back."""
    SHORT = "short"
    """Fewer tasks were live at once than were asked for, and no wall was hit."""
    INTERRUPTED = "interrupted"
    DONE = "done"


@dataclass
class Result:
    """What one measurement gave: bytes, seconds, tasks, per second. None is what is not known."""

    engine: str
    tasks: int = 0
    problems: dict[Outcome, str] = field(default_factory=dict)
    """Why it is not done: each outcome that it has, and the reason; the gravest first."""
    limited_by: str | None = None
    runtime: str | None = None
    flags: list[str] = field(default_factory=list)
    traced: bool = False
    gc: str = "default"
    figures: dict[str, float | None] = field(default_factory=dict)
    """By the names of `concwatch.measure.figures.FIGURES`."""
    held: LaneSnapshot | None = None
    """The lane while its tasks were held."""
    last: LaneSnapshot | None = None
    """The lane once they had ended."""
    live: int | None = None
    """Tasks live at the reading of a burst, or as they were held."""
    seconds: float = 0.0
    """How long it took in all, the worker's start and end included."""
    own_seconds: float = 0.0
    """How much of that was the tasks' own."""
    trail: list[tuple[float, int]] = field(default_factory=list)
    """Seconds since the first task was asked for, and RSS in bytes, over time."""

    @property
    def outcome(self) -> Outcome:
        """How it ended: the gravest of its problems."""
        return next(iter(self.problems), Outcome.DONE)

    @property
    def reason(self) -> str | None:
        """Why it is not done."""
        return next(iter(self.problems.values()), None)
