"""The plan and the result of a measurement."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum

from concwatch.links.messages import Failure
from concwatch.monitor.metrics.anatomy import TaskAnatomy
from concwatch.monitor.metrics.metrics import LaneSnapshot
from concwatch.portable.worker.burst import Burst


@dataclass(frozen=True)
class Plan:
    """What to measure."""

    tasks: int
    seconds: float = 0.0
    """How long to hold the tasks once all have started."""
    burst: Burst | None = None
    """A burst to run instead of holding tasks."""
    anatomy: bool = False
    """Whether to ask at the end of that time what a task consists of."""
    stop: bool = True
    """Whether to measure the end of the tasks too."""
    enough: Callable[[LaneSnapshot], str | None] = lambda lane: None
    """Called while tasks are created; returns why to stop early, or None to continue."""


class Outcome(Enum):
    """How a measurement ended, the most severe first."""

    FAILED = "failed"
    """The worker failed."""
    FAILING = "failing"
    """Tasks failed."""
    LIMITED = "limited"
    """A limit or a time limit prevented more tasks."""
    SHORT = "short"
    """Fewer tasks were live at once than planned, but no limit was reached."""
    INTERRUPTED = "interrupted"
    DONE = "done"


@dataclass
class Result:
    """The result of one measurement: bytes, seconds, tasks, tasks per second. None is unknown."""

    engine: str
    tasks: int = 0
    problems: dict[Outcome, str] = field(default_factory=dict)
    """Outcome → reason, the most severe first; empty for `Outcome.DONE`."""
    failures: Sequence[Failure] = ()
    """The tasks that failed, by kind."""
    limited_by: str | None = None
    runtime: str | None = None
    flags: list[str] = field(default_factory=list)
    traced: bool = False
    gc: str = "default"
    metrics: dict[str, float | None] = field(default_factory=dict)
    """Name → value, of `concwatch.monitor.metrics.metrics.LISTED`."""
    held: LaneSnapshot | None = None
    """The lane while its tasks were held."""
    last: LaneSnapshot | None = None
    """The lane after they had ended."""
    live: int | None = None
    """Live tasks while they were held, or when the metrics of a burst were read."""
    anatomy: TaskAnatomy | None = None
    """What a task consists of, if that was asked for and is known."""
    anatomy_refused: str = ""
    """Why the worker could not say what a task consists of."""
    seconds: float = 0.0
    """Duration of the whole measurement, including the worker's start and end."""
    own_seconds: float = 0.0
    """The part of it in which tasks were created and held."""
    rss_curve: list[tuple[float, int]] = field(default_factory=list)
    """RSS over time: pairs of seconds since the target was set, and bytes."""

    @property
    def outcome(self) -> Outcome:
        """The most severe outcome."""
        return next(iter(self.problems), Outcome.DONE)

    @property
    def reason(self) -> str | None:
        """The reason of the most severe outcome; None for `Outcome.DONE`."""
        return next(iter(self.problems.values()), None)
