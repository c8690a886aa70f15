"""The metrics that Prometheus and OpenTelemetry get: their names, types, labels, and where they come from.

Dashboards and alerts name them too. Most are the rows of `concwatch.monitor` that have a name for Prometheus.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import NamedTuple

from msgspec import Struct

from concwatch.exporters.exporter import PROCESS_EXPORTED
from concwatch.monitor.metrics.group_status import GROUP_METRICS
from concwatch.monitor.metrics.metric import Known, Metric
from concwatch.monitor.metrics.metrics import SAMPLED_METRICS, LaneSnapshot
from concwatch.monitor.metrics.unit import BYTES, SECONDS, SHARE
from concwatch.monitor.statistics.buckets import Buckets

PREFIX = "concwatch"

UNITS = {BYTES: "bytes", SECONDS: "seconds", SHARE: "ratio"}
"""The units that OpenMetrics has in the names of metrics."""

PROCESS_LABELS = ("process", "pid")
FUNCTION_LABELS = ("function", "file", "line")
PLACE_LABELS = ("cause", *FUNCTION_LABELS)


class MetricType(Enum):
    """The type of a metric."""

    GAUGE = "gauge"
    COUNTER = "counter"
    HISTOGRAM = "histogram"


class Family(Struct, frozen=True):
    """One metric with all of its labels."""

    subject: str
    """What it is of, which its name begins with: ``process``, ``function``, or empty."""
    stem: str
    """Its name without `PREFIX`, subject and unit."""
    type: MetricType
    meaning: str
    unit: str = ""
    labels: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Its name without the suffixes that depend on the type."""
        return "_".join(filter(None, (PREFIX, self.subject, self.stem, self.unit)))

    @property
    def samples(self) -> Sequence[str]:
        """The names of its time series."""
        suffixes = {MetricType.COUNTER: ("_total",), MetricType.HISTOGRAM: ("_bucket", "_sum", "_count")}
        return [self.name + suffix for suffix in suffixes.get(self.type, ("",))]


Value = float | Buckets
"""The value of a time series, or a histogram."""


class Collected(NamedTuple):
    """A family with its values at one moment."""

    family: Family
    values: Sequence[tuple[tuple[str, ...], Value]]
    """The values of its labels, and its value with them."""


def _of_row(row: Metric, subject: str, labels: tuple[str, ...]) -> Family:
    type_ = MetricType.COUNTER if row.known is Known.AT_END else MetricType.GAUGE
    return Family(subject, row.openmetrics, type_, row.meaning, UNITS.get(row.unit, ""), labels)


START_TIME = Family(
    "process",
    "start_time",
    MetricType.GAUGE,
    "When the process started, in seconds since the epoch.",
    "seconds",
    PROCESS_LABELS,
)


def _started(lane: LaneSnapshot) -> float | None:
    return lane.facts.started if lane.facts else None


def _lags(lane: LaneSnapshot) -> Buckets | None:
    return lane.lags


LAG = next(row for row in SAMPLED_METRICS if row.name == "lag")
"""The only row that is exported as a histogram, since most of its values lie between two scrapes."""

OF_PROCESSES: Mapping[Family, Callable[[LaneSnapshot], Value | None]] = {
    **{_of_row(row, "process", PROCESS_LABELS): row.value for row in PROCESS_EXPORTED if row is not LAG},
    Family(
        "process",
        LAG.openmetrics,
        MetricType.HISTOGRAM,
        "How late an event loop was, in each report of its process, about ten a second; a loop that is "
        "blocked is later in each of them.",
        "seconds",
        PROCESS_LABELS,
    ): _lags,
    START_TIME: _started,
}
"""Those of a process, and how they are read; None if a value is unknown, which is left out."""

FUNCTION_ROWS = tuple(row for row in GROUP_METRICS if row.openmetrics)

OF_FUNCTIONS = {row.name: _of_row(row, "function", FUNCTION_LABELS) for row in FUNCTION_ROWS}
"""Those of a coroutine function that are rows, by the name of the row."""

DURATIONS = Family(
    "function",
    "task_duration",
    MetricType.HISTOGRAM,
    "How long tasks of a coroutine function took from their first step to their end, with --timing; a task "
    "that is timed counts for those that are not.",
    "seconds",
    FUNCTION_LABELS,
)
BLOCKS = Family(
    "function",
    "blocks",
    MetricType.COUNTER,
    "Blocks of an event loop, by the line that ran meanwhile; one that goes on counts already.",
    labels=PLACE_LABELS,
)
BLOCKED = Family(
    "function",
    "blocked",
    MetricType.COUNTER,
    "Time for which an event loop was blocked, by the line that ran meanwhile; it grows while a block "
    "goes on.",
    "seconds",
    PLACE_LABELS,
)
INFO = Family("", "info", MetricType.GAUGE, "The version of concwatch.", labels=("version",))
PROCESSES = Family("", "processes", MetricType.GAUGE, "Processes that run.")
EVENTS = Family("", "events", MetricType.COUNTER, "Events by kind.", labels=("kind",))

FAMILIES = (INFO, PROCESSES, *OF_PROCESSES, *OF_FUNCTIONS.values(), DURATIONS, BLOCKS, BLOCKED, EVENTS)
"""All of them."""
