"""What kinds of figures there are: how each is written, and in which direction it is worse. Data."""

from collections.abc import Callable
from dataclasses import dataclass

from concwatch.experiments.readings import BYTES, RATE, SECONDS
from concwatch.units import format_bytes, format_figure, format_rate, format_seconds

UP, DOWN = 1, -1

WORSE = {BYTES: UP, SECONDS: UP, RATE: DOWN}
"""Kind → where worse lies: more memory, more time, a lower rate."""

FORMATS: dict[str, Callable[[float], str]] = {
    BYTES: format_bytes,
    SECONDS: format_seconds,
    RATE: format_rate,
}
"""Kind → how a person reads it, where no unit is given."""


@dataclass(frozen=True)
class Quantity:
    """What a figure measures."""

    kind: str
    """One of `WORSE`."""
    unit: str = ""
    """What the numbers count, where a table has one unit for all; else bytes, seconds, or tasks a second."""

    @property
    def counted(self) -> str:
        """What the numbers count."""
        return self.unit or {RATE: "tasks/s"}.get(self.kind, self.kind)

    def shown(self, value: float) -> str:
        """Write a value for a person."""
        return format_figure(value) if self.unit else FORMATS[self.kind](value)

    def shown_change(self, change: float) -> str:
        """Write a difference for a person, with its sign."""
        text = self.shown(change)
        return f"+{text}" if change > 0 else text


@dataclass(frozen=True)
class Named:
    """A quantity of a lane, as tables call it."""

    title: str
    quantity: Quantity


LANE_FIGURES = {
    "rss_per_task": Named("RSS/task", Quantity(BYTES)),
    "traced_per_task": Named("traced/task", Quantity(BYTES)),
    "create_rate": Named("created", Quantity(RATE)),
    "completion_rate": Named("completed", Quantity(RATE)),
    "wake_lag_p99": Named("lag p99", Quantity(SECONDS)),
    "gc_seconds": Named("in GC", Quantity(SECONDS)),
    "idle_rss": Named("idle RSS", Quantity(BYTES)),
    "peak_rss": Named("peak RSS", Quantity(BYTES)),
    "retained_rss": Named("retained RSS", Quantity(BYTES)),
    "stop_seconds": Named("stopped in", Quantity(SECONDS)),
}
"""What is compared of a lane, by the names that ``concwatch run --json`` has for it."""
