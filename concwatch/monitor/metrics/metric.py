"""What a metric is: a row of `concwatch.monitor.metrics.metrics`, and what is made from such rows.

A figure is a value of one, on the screen or in a file. Only what users have written down already calls the
metric itself a figure: ``figure`` in the JSON of comparisons and expectations, and in demos.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from functools import cache
from operator import attrgetter, mul
from typing import Any, get_type_hints

from msgspec import Struct, structs

from concwatch.monitor.metrics.unit import Unit

COARSE = 0.05
"""Share of a value above which its resolution is shown, with ±."""

UP, DOWN = 1, -1
"""Whether more or less is worse."""


class MetricSource(Enum):
    """Where the values of a metric come from."""

    TICK = "tick"
    """The field of the same name in the worker's or the agent's last tick."""
    READING = "reading"
    """The field of the same name in the last reading of the process."""
    DERIVED = "derived"
    """Computed by the lane, from several ticks and readings, or from the other metrics of a snapshot."""


class Combine(Enum):
    """How the values of several lanes become one."""

    NONE = "none"
    SUM = "sum"
    MAX = "max"
    MEAN = "mean"
    """The mean, weighted by tasks."""
    ANY = "any"
    ALL = "all"


class Known(Enum):
    """How a value is known."""

    EXACT = "exact"
    """Counted where it happens."""
    SAMPLED = "sampled"
    """Estimated from a part."""
    AT_LEAST = "at least"
    """The highest that was seen; higher ones may have been missed."""
    AS_OF = "as of a time"
    """Read from the system at the time of the sample."""
    PEAK = "peak"
    """The highest so far: a measurement reads it after the tasks have ended."""
    AT_END = "at end"
    """A total or a remainder: a measurement reads it after the tasks have ended."""


ESTIMATED, DISTURBED = "≈", "*"
"""The marks after a value: it was estimated, or something changed it while it was measured."""

MARKS: Mapping[str, str] = {
    ESTIMATED: "estimated or forecast, not measured",
    DISTURBED: "disturbed, or not settled yet",
    "≥": "at least: more may have been missed",
    "±": "half of the interval in which the value lies",
}
"""What marks mean."""


class Caveat(Struct, frozen=True):
    """A condition that makes a value uncertain."""

    name: str
    """Its name in JSON."""
    mark: str
    """`ESTIMATED` or `DISTURBED`."""
    note: str
    """Why, or what that means."""
    brief: str
    """What it is, in a few words."""
    holds: Callable[[Any], bool]
    advice: str = ""
    """What would end it."""

    @property
    def explanation(self) -> str:
        """What it is, and why."""
        return f"{self.brief}: {self.note}"


class MetricChart(Struct, frozen=True):
    """The chart of a metric over time."""

    title: str
    hint: str = ""
    """The text in place of the plot while there are no lines."""
    position: int = 0
    """The position on the screen, from 1; 0 for a chart that is not on the screen."""
    text_position: int = 0
    """The position among the charts in plain text, from 1; 0 for none."""
    short_title: str = ""
    """The title of a narrow chart; the first words of the title if empty."""
    fallbacks: tuple[str, ...] = ()
    """Metrics to show while this one has no lines: the first that no other chart shows."""
    alternative: str = ""
    """The metric to draw for lanes that do not have the first one."""
    combined_title: str = ""
    """The title of lines of both metrics."""
    mean: str = ""
    """The metric that is shown as a number, if the values drawn are of too short a time to be read."""


class CostColumn(Struct, frozen=True):
    """The column of a metric in the cost table."""

    position: int
    """From the left, from 1."""
    cells: int
    """The width without marks."""
    leaves: int = 0
    """The columns with the highest number leave first when the table is too narrow; 0 never leaves."""
    title: str = ""
    """Its title, if not that of the metric."""
    marked: bool = True
    """Whether it has marks and its resolution; not if they are those of another column."""


class GroupColumn(Struct, frozen=True):
    """The column of a metric in the table of the groups of a watched program."""

    position: int
    """From the left, from 1."""
    cells: int
    leaves: int = 0
    """The columns with the highest number leave first when the table is too narrow; 0 never leaves."""
    title: str = ""
    """Its title, if not that of the metric."""
    exact: bool = False
    """Whether its values are written with all digits."""
    optional: bool = False
    """Whether it is shown only if a group has a value above 0."""
    text: Callable[[Any], str] | None = None
    """Returns the text for a group, if that is more than the value."""


class PerSecond(Struct, frozen=True):
    """What a total is called per second, as which programs that ran for different times are compared."""

    name: str
    title: str
    unit: Unit


class Metric(Struct, frozen=True):
    """One row of the table."""

    title: str
    """Its name in tables."""
    unit: Unit
    meaning: str
    """One sentence."""
    source: MetricSource = MetricSource.DERIVED
    combine: Combine = Combine.NONE
    known: Known = Known.EXACT
    caveats: tuple[Caveat, ...] = ()
    worse: int = 0
    """`UP` if more is worse, `DOWN` if less is, else 0."""
    listed: int = 0
    """The position in ``concwatch metrics``, from 1; 0 for a column from which other metrics are derived."""
    name: str = ""
    """Its name in JSON, expectations and experiments; that of its field if empty."""
    field: str = ""
    """The name of its attribute of a sample or a status; set by the table, except for a derived metric."""
    of: Callable[[Any], float | None] | None = None
    """Computes it from a lane's snapshot, or from a group; None for the value of its field."""
    resolution: Callable[[Any], float | None] | None = None
    """Returns the least difference of two values that can be distinguished, in the metric's own unit."""
    chart: MetricChart | None = None
    column: CostColumn | None = None
    run: int = 0
    """The position of its column in the table of ``run``, from 1; 0 for none.

    A column whose values are all 0 or unknown is left out.
    """
    compared: bool = False
    """Whether ``compare`` compares it."""
    per_second: PerSecond | None = None
    """As what ``compare`` compares a total of a watched program."""
    group_column: GroupColumn | None = None
    actions: tuple[str, ...] = ("hold",)
    """The actions of an experiment that it can be read from."""
    needs_tracing: bool = False
    decimals: int | None = None
    """Decimals in a recording; None for 5 significant digits."""
    openmetrics: str = ""
    """Its name for Prometheus, after ``concwatch_process_`` and before its unit; empty for none."""
    backfilled: bool = False
    """Whether each tick determines it for all the time since the last one."""

    @property
    def at_end(self) -> bool:
        """Whether a measurement reads it after the tasks have ended, not while they are held."""
        return self.known in (Known.PEAK, Known.AT_END)

    @property
    def burst_only(self) -> bool:
        """Whether only a burst has it."""
        return self.actions == ("burst",)

    def value(self, of: Any) -> float | None:
        """Return its value in a lane's snapshot, or in a group; None if it is unknown."""
        assert self.of is not None, "the table sets it"
        return self.of(of)

    def coarse_resolution(self, lane: Any) -> float | None:
        """Return its resolution in its own unit if that is more than `COARSE` of the value, else None."""
        if self.resolution is None:
            return None
        value, resolution = self.value(lane), self.resolution(lane)
        return resolution if resolution and value is not None and resolution > COARSE * value else None

    def uncertain(self, lane: Any) -> tuple[Caveat, ...]:
        """Return the caveats that hold; none if its text is that of an unknown value."""
        found = tuple([caveat for caveat in self.caveats if caveat.holds(lane)])
        if not found:  # usually, and faster than to look at the value
            return ()
        value = self.value(lane)
        return found if value and (self.coarse_resolution(lane) or 0.0) <= value else ()

    def marks(self, lane: Any) -> str:
        """Return the marks of the caveats that hold, each once."""
        return marks_of(self.uncertain(lane))

    def text(self, lane: Any) -> str:
        """Return it as text, with its resolution as ± a percentage; unknown if that exceeds the value."""
        value, resolution = self.value(lane), self.coarse_resolution(lane)
        text = self.unit.text(value)
        if value is None or resolution is None:
            return f"≥ {text}" if value and self.known is Known.AT_LEAST else text
        return self.unit.text(None) if value < resolution else f"{text} ±{resolution / value:.0%}"


def marks_of(caveats: Iterable[Caveat]) -> str:
    """Return the marks of ``caveats``, each once."""
    found = {caveat.mark for caveat in caveats}
    return "".join(mark for mark in MARKS if mark in found)


TICK, READING, DERIVED = MetricSource.TICK, MetricSource.READING, MetricSource.DERIVED
SUM, MAX, MEAN, ANY, ALL, NONE = (
    Combine.SUM,
    Combine.MAX,
    Combine.MEAN,
    Combine.ANY,
    Combine.ALL,
    Combine.NONE,
)
EXACT, SAMPLED, AT_LEAST = Known.EXACT, Known.SAMPLED, Known.AT_LEAST
AS_OF, PEAK, AT_END = Known.AS_OF, Known.PEAK, Known.AT_END
HOLD, BURST, BOTH, NEITHER, HELD = ("hold",), ("burst",), ("burst", "hold"), (), ("hold", "sweep")


# What is made from the rows.


def _annotations(struct: type[Struct], kind: type[Any]) -> dict[str, Any]:
    """Return what the annotation of each field of ``struct`` has of one ``kind``, by field."""
    hints = get_type_hints(struct, include_extras=True)
    return {
        name: extra
        for name in struct.__struct_fields__
        for extra in getattr(hints[name], "__metadata__", ())
        if isinstance(extra, kind)
    }


def rows_of(struct: type[Struct], attribute: str = "") -> Iterator[Metric]:
    """Yield the rows of a struct; its values are read from it, or from what has it as an ``attribute``."""
    for field, row in _annotations(struct, Metric).items():
        of = row.of or attrgetter(f"{attribute}.{field}".lstrip("."))
        yield structs.replace(row, name=row.name or field, field=field, of=of)


_COMBINE: Mapping[Combine, Callable[[Sequence[Any]], Any]] = {
    Combine.SUM: sum, Combine.MAX: max, Combine.ANY: any, Combine.ALL: all,
}  # fmt: skip


@cache
def combines(struct: type[Struct]) -> Mapping[str, Combine]:
    """Return how the values of several become one, by field."""
    rows = _annotations(struct, Metric)
    return {**_annotations(struct, Combine), **{field: row.combine for field, row in rows.items()}}


def combined_value(combine: Combine, values: Sequence[Any], weights: Sequence[float]) -> Any:
    """Return what several known values, which have weights, become; None if there is none."""
    if combine is Combine.MEAN:
        total = sum(weights)
        return sum(map(mul, values, weights)) / total if total else None
    return _COMBINE[combine](values) if values else None


def combined(parts: Sequence[Struct], weights: Sequence[float]) -> dict[str, Any]:
    """Return the combined known values of the fields of several structs of one type, which have weights."""
    found: dict[str, Any] = {}
    for name, combine in combines(type(parts[0])).items():
        pairs = [(getattr(part, name), weight) for part, weight in zip(parts, weights, strict=True)]
        known = [(value, weight) for value, weight in pairs if value is not None]
        if known and combine is not Combine.NONE:
            found[name] = combined_value(combine, *zip(*known, strict=True))
    return found


@cache
def fields_from(struct: type[Struct], source: MetricSource) -> tuple[str, ...]:
    """Return the fields whose values are those of the same name in a tick, a reading or a report."""
    return tuple(row.field for row in rows_of(struct) if row.source is source)
