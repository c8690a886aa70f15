"""What a compared figure measures, and which figures of a lane are compared."""

from dataclasses import dataclass

from concwatch.measure.figures import BY_NAME
from concwatch.measure.units import RATE, Unit
from concwatch.units import format_figure


@dataclass(frozen=True)
class Quantity:
    """What a figure measures."""

    unit: Unit
    worse: int
    """Where worse lies: 1 for more, -1 for less, 0 for neither."""
    table_unit: str = ""
    """What the numbers count, where a table has one unit for all; else the figure's own."""

    @property
    def counted(self) -> str:
        """What the numbers count."""
        return self.table_unit or ("tasks/s" if self.unit is RATE else self.unit.name)

    def shown(self, value: float) -> str:
        """Return a value for a person."""
        return format_figure(value) if self.table_unit else self.unit.format(value)

    def shown_change(self, change: float) -> str:
        """Return a difference for a person, with its sign."""
        sign = "+" if change > 0 else "-" if change < 0 else ""
        return f"{sign}{self.shown(abs(change))}"


COMPARED = tuple(
    BY_NAME[name]
    for name in (
        "rss_per_task", "traced_per_task", "cpu_per_task", "create_rate", "completed_mean", "completion_rate",
        "duration_p50", "duration_p99", "start_delay_p99", "wake_lag_p99", "gc_seconds", "idle_rss",
        "peak_rss", "retained_rss", "stop_seconds",
    )
)  # fmt: skip
"""The figures of a lane that are compared, of two runs or of two recordings."""


def quantity_of(name: str) -> Quantity:
    """Return what the figure called ``name`` measures."""
    return Quantity(BY_NAME[name].unit, BY_NAME[name].worse)
