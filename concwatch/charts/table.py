"""All charts, on the screen and in plain text, made from the table of metrics."""

from msgspec import structs

from concwatch.monitor.metrics.metric import MetricChart
from concwatch.monitor.metrics.metrics import METRICS
from concwatch.monitor.metrics.unit import BYTES, Unit

WINDOWS = (15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0, 4 * 3600.0, 8 * 3600.0)
"""The time windows that the user can choose, in seconds."""

SPANS = (10.0, 15.0, 20.0, 30.0, 45.0, *WINDOWS[2:])
"""The time windows of charts that do not have enough samples yet for the chosen one, in seconds."""

COST = "cost"
"""The chart of the memory that tasks add, over how many are live; not a metric of the series."""

TRACED = "traced"

SHARED = (TRACED, COST)
"""The charts that share the second place: traced memory while anything is traced, else the cost."""


class ChartSpec(MetricChart, frozen=True, kw_only=True):
    """One chart: what it shows, and where."""

    metric: str
    """One of `concwatch.monitor.metrics.series.CHARTED`, or `COST`."""
    unit: Unit

    @property
    def order(self) -> tuple[int, int]:
        """The place among all charts: those in plain text, then the others, by their positions."""
        last = len(METRICS)
        return self.text_position or last, self.position or last


CHARTS = tuple(
    sorted(
        (
            *(
                ChartSpec(metric=row.field, unit=row.unit, **structs.asdict(row.chart))
                for row in METRICS
                if row.chart
            ),
            ChartSpec(
                metric=COST,
                unit=BYTES,
                title="memory added over live tasks",
                hint="what one more task costs: start some",
                position=3,
                short_title="memory over tasks",
                fallbacks=("live", "cpu"),
            ),
        ),
        key=lambda spec: spec.order,
    )
)
"""One for each metric that has a chart, and that of the cost."""

BY_METRIC = {spec.metric: spec for spec in CHARTS}

ON_SCREEN = tuple(sorted((spec for spec in CHARTS if spec.position), key=lambda spec: spec.position))

LAG, ENDED = "lag", "completed_per_second"

_SWAPPED = {LAG: ENDED, ENDED: LAG}

WATCHED = tuple(BY_METRIC[_SWAPPED.get(spec.metric, spec.metric)] for spec in ON_SCREEN)
"""Those of a watched program: the lag is next to the tasks created, as about as many tasks end."""

IN_TEXT = tuple(spec for spec in CHARTS if spec.text_position)

DRAWN = tuple(
    metric for spec in ON_SCREEN for metric in (spec.metric, spec.alternative) if metric and metric != COST
)
"""The metrics that charts on the screen draw."""


def shortest_span(seconds: float, most: float = WINDOWS[-1]) -> float:
    """Return the shortest of `SPANS` that is not shorter than ``seconds``, at most ``most``."""
    return min(most, next((each for each in SPANS if seconds <= each), most))
