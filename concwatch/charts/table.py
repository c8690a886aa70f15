"""The table of all charts, on the screen and in plain text; a new chart is one row."""

from msgspec import Struct

from concwatch.lab.unit import BYTES, COUNT, RATE, SECONDS, SHARE, Unit

WINDOWS = (15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0, 4 * 3600.0, 8 * 3600.0)
"""The time windows that the user can choose, in seconds."""

SPANS = (10.0, 15.0, 20.0, 30.0, 45.0, *WINDOWS[2:])
"""The time windows of charts that do not have enough samples yet for the chosen one, in seconds."""

PAIR, FEW, MANY, MOST = 2, 4, 6, 8
"""The number of charts on screens that are too small for all of them, in ascending order of size."""

COST = "cost"
"""The chart of the memory that tasks add, over how many are live; not a metric of the series."""

TRACED = "traced"

SHARED = (TRACED, COST)
"""The charts that share the second place: traced memory while anything is traced, else the cost."""


class ChartSpec(Struct, frozen=True):
    """One chart: what it shows, and where."""

    metric: str
    """One of `concwatch.lab.series.METRICS`, or `COST`."""
    title: str
    unit: Unit
    hint: str = ""
    """The text in place of the plot while there are no lines."""
    position: int = 0
    """The position on the screen, from 1; 0 for a chart that is not on the screen."""
    in_text: bool = True
    """Whether it is one of the charts in plain text."""
    short_title: str = ""
    """The title of a narrow chart; the first words of the title if empty."""
    fallbacks: tuple[str, ...] = ()
    """Metrics to show while this one has no lines: the first that no other chart shows."""
    alternative: str = ""
    """The metric to draw for lanes that do not have the first one."""
    combined_title: str = ""
    """The title of lines of both metrics."""


CHARTS = (
    ChartSpec("rss", "RSS", BYTES, "drag a slider, or press + for 10,000", 1),
    ChartSpec("live", "live tasks", COUNT, "created and not yet ended", 6, short_title="live"),
    ChartSpec("created_per_second", "created / s", RATE, "tasks created a second", 4),
    ChartSpec(
        "completed_per_second",
        "ended / s",
        RATE,
        "tasks a second that ended by themselves",
        5,
        short_title="ended / s",
    ),
    ChartSpec(
        "traced",
        "tracemalloc",
        BYTES,
        "traced memory: t turns it on or off",
        2,
        short_title="traced",
        alternative="heap",
        combined_title="traced · heap",
    ),
    ChartSpec(
        COST,
        "memory added over live tasks",
        BYTES,
        "what one more task costs: start some",
        3,
        in_text=False,
        short_title="memory over tasks",
        fallbacks=("live", "cpu"),
    ),
    ChartSpec("heap", "runtime heap", BYTES, short_title="heap"),
    ChartSpec(
        "lag", "wake-up lag", SECONDS, "how late a sleeper is woken", 7, in_text=False, short_title="lag"
    ),
    ChartSpec("cpu", "CPU", SHARE, "CPU time a second, of one core", 8, in_text=False),
    ChartSpec(
        "switches_per_second",
        "context switches / s",
        RATE,
        "how often the system switches to another thread",
        9,
        in_text=False,
        short_title="switches",
    ),
    ChartSpec(
        "duration",
        "task duration",
        SECONDS,
        "the median duration of the tasks that have just ended",
        10,
        in_text=False,
        short_title="duration",
    ),
    ChartSpec(
        "retained",
        "retained",
        BYTES,
        "memory that remains after all tasks have ended",
        11,
        in_text=False,
        fallbacks=("threads",),
    ),
    ChartSpec("threads", "threads", COUNT, in_text=False),
)
"""In the order of charts in plain text."""

BY_METRIC = {spec.metric: spec for spec in CHARTS}

ON_SCREEN = tuple(sorted((spec for spec in CHARTS if spec.position), key=lambda spec: spec.position))

IN_TEXT = tuple(spec for spec in CHARTS if spec.in_text)

DRAWN = tuple(
    metric for spec in ON_SCREEN for metric in (spec.metric, spec.alternative) if metric and metric != COST
)
"""The metrics that charts on the screen draw."""


def shortest_span(seconds: float, most: float = WINDOWS[-1]) -> float:
    """Return the shortest of `SPANS` that is not shorter than ``seconds``, at most ``most``."""
    return min(most, next((each for each in SPANS if seconds <= each), most))
