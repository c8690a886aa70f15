"""The charts that there are, on the screen and in plain text; a new chart is one row."""

from msgspec import Struct

from concwatch.charts.scales import BYTES, COUNT, RATE, SECONDS, SHARE, Kind

WINDOWS = (15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0, 4 * 3600.0, 8 * 3600.0)
"""Seconds that the charts on the screen may show."""

SPANS = (10.0, 15.0, 20.0, 30.0, 45.0, *WINDOWS[2:])
"""Seconds that a chart shows while it has not yet as much to show as was chosen."""

PAIR, FEW, MANY, MOST = 2, 4, 6, 8
"""Charts on a screen that has no room for all: in one row, in two, in two longer ones."""


class ChartSpec(Struct, frozen=True):
    """One chart: what it shows, what that is called, and where."""

    metric: str
    """Of `concwatch.lab.series.METRICS`."""
    title: str
    kind: Kind
    hint: str = ""
    """What is said in place of a plot while there are no lines."""
    place: int = 0
    """Where it stands on the screen, from 1; 0 is nowhere."""
    plain: bool = True
    """Whether it is drawn in plain text."""
    brief: str = ""
    """The title where there is little room; by its words if empty."""
    spare: tuple[str, ...] = ()
    """The metrics of which the first that is not shown stands here while this one has no line."""
    other: str = ""
    """The metric that is drawn of lanes that have none of the first."""
    both: str = ""
    """The title above lines of both metrics."""


CHARTS = (
    ChartSpec("rss", "RSS", BYTES, "drag a slider, or press + for 10,000", 1),
    ChartSpec("live", "live tasks", COUNT, "started and not yet ended", 5, brief="live"),
    ChartSpec("created_per_second", "created / s", RATE, "tasks started a second", 3),
    ChartSpec(
        "completed_per_second",
        "completed / s",
        RATE,
        "tasks that ended by themselves a second",
        4,
        brief="done / s",
    ),
    ChartSpec(
        "traced",
        "tracemalloc",
        BYTES,
        "traced memory: t turns it on or off",
        2,
        brief="traced",
        spare=("live", "cpu"),
        other="heap",
        both="traced · heap",
    ),
    ChartSpec("heap", "runtime heap", BYTES, brief="heap"),
    ChartSpec("lag", "wake-up lag", SECONDS, "how late a sleeper is woken", 6, plain=False, brief="lag"),
    ChartSpec("cpu", "CPU", SHARE, "CPU time a second, of one core", 7, plain=False),
    ChartSpec(
        "switches_per_second",
        "context switches / s",
        RATE,
        "how often the system takes up another thread",
        8,
        plain=False,
        brief="switches",
    ),
    ChartSpec(
        "duration",
        "task duration",
        SECONDS,
        "how long tasks took that have just ended: the median",
        9,
        plain=False,
        brief="duration",
    ),
    ChartSpec(
        "retained",
        "retained",
        BYTES,
        "memory that stays once all tasks have ended",
        10,
        plain=False,
        spare=("threads",),
    ),
    ChartSpec("threads", "threads", COUNT, plain=False),
)
"""In the order of plain text."""

BY_METRIC = {spec.metric: spec for spec in CHARTS}

ON_SCREEN = tuple(sorted((spec for spec in CHARTS if spec.place), key=lambda spec: spec.place))

IN_TEXT = tuple(spec for spec in CHARTS if spec.plain)

DRAWN = tuple(dict.fromkeys(metric for spec in ON_SCREEN for metric in (spec.metric, spec.other) if metric))
"""The metrics that some chart on the screen may draw."""


def span(seconds: float, most: float = WINDOWS[-1]) -> float:
    """Return the shortest of `SPANS` that holds so many seconds, but ``most`` at most."""
    return min(most, next((each for each in SPANS if seconds <= each), most))
