"""The charts: which there are, and where their lines come from. A new chart is one row of data."""

import math
from array import array
from collections.abc import Callable, Sequence
from typing import Protocol

from msgspec import Struct, structs
from textual import on
from textual.app import ComposeResult
from textual.containers import Container
from textual.content import Content
from textual.reactive import reactive

from concwatch.charts.annotations import Moment
from concwatch.charts.picture import SMALLEST, Line
from concwatch.charts.ticks import BYTES, COUNT, RATE, SECONDS, Kind
from concwatch.ui.widgets.chart import Chart
from concwatch.ui.widgets.pointing_chart import PointingChart
from concwatch.units import format_clock

WINDOWS = (15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0, 4 * 3600.0, 8 * 3600.0)
"""Time windows in seconds."""

LEAST_HEIGHT = SMALLEST[1] + 2
"""Cells of a chart that draws, with its frame."""

FRAMES_A_WINDOW = 300
"""How often at most the charts are drawn while the time on them passes once: no dot is finer."""


class Samples(Protocol):
    """One lane's samples over time, of now or of a recording; as `concwatch.lab.series.Series`."""

    def since(self, metric: str, start: float) -> "tuple[array[float], array[float]]":
        """Give times and values of one metric from the last one before ``start`` on."""
        ...


class Shown(Struct, frozen=True):
    """One lane's share of the charts."""

    name: str
    series: Samples
    color: str
    """``#rrggbb``"""


class Row(Struct, frozen=True):
    """One chart: its title, the metric of the series that it shows, what kind of value that is."""

    title: str
    metric: str
    kind: Kind
    hint: str = ""
    extra: bool = False
    """Shown only where there is room for six."""
    instead: str = ""
    """The metric of the chart that stands here, beside others, while this one has no line."""
    others: str = ""
    """The metric drawn of lanes that have none of the first, and"""
    brief: str = ""
    """The title where there is little room; by its words if empty."""
    others_title: str = ""
    """what that is called;"""
    both: str = ""
    """and what stands above lines of both."""


CHARTS = (
    Row("RSS", "rss", BYTES, "drag a slider, or press + for 10,000"),
    Row(
        "tracemalloc",
        "traced",
        BYTES,
        "traced memory: t turns it on or off",
        brief="traced",
        instead="live",
        others="heap",
        others_title="runtime heap",
        both="traced · heap",
    ),
    Row("created / s", "created_per_second", RATE, "tasks started a second"),
    Row("completed / s", "completed_per_second", RATE, "tasks that ended by themselves a second"),
    Row("live tasks", "live", COUNT, "started and not yet ended", extra=True),
    Row("wake-up lag", "lag", SECONDS, "how late a sleeper is woken", extra=True, brief="lag"),
)

DRAWN = tuple(dict.fromkeys(metric for row in CHARTS for metric in (row.metric, row.others) if metric))
"""The metrics that some chart may draw."""

Tell = Callable[[float, float], str]


def _tell(moment: float, span: float) -> str:
    return format_clock(moment)


class ChartGrid(Container):
    """Lays the charts out: two by two, three by two where there is room, or one at a time."""

    DEFAULT_CSS = """
    ChartGrid {
        layout: grid;
        grid-size: 2;
        width: 1fr;
        height: 1fr;
        & .extra { display: none; }
    }
    """

    current: reactive[int] = reactive(0)
    """Which chart is shown where there is room for one only."""
    single: reactive[bool] = reactive(False)
    """Whether one chart takes all the room; it does so too where two, one above the other, have none."""

    cursor: reactive[float | None] = reactive[float | None](None)
    """The moment that is read on all charts, seconds on the lab's clock; None for now."""

    def __init__(self) -> None:
        super().__init__()
        self._due = 0.0
        self._told: Tell = _tell
        self._span = 0.0
        self._cursor_told = ""

    def compose(self) -> ComposeResult:
        """One chart a row."""
        for index, row in enumerate(CHARTS):
            extra, current = "extra" if row.extra else "", "-current" if index == self.current else ""
            yield PointingChart(
                row.title, row.kind, hint=row.hint, id=f"chart-{row.metric}", classes=f"{extra} {current}"
            )

    def watch_current(self, current: int) -> None:
        """Bring up the chart that is to be seen alone."""
        for index, chart in enumerate(self.query(Chart)):
            chart.set_class(index == current, "-current")
        self._due = 0.0

    def on_resize(self) -> None:
        """Follow what room there is."""
        self.watch_single()

    def watch_single(self) -> None:
        """Show one chart or several, as they have room and as is asked for."""
        alone = self.single or self.size.height < 2 * LEAST_HEIGHT
        self.set_class(alone, "-single")
        self._due = 0.0

    @on(PointingChart.Pointed)
    def _follow_cursor(self, event: PointingChart.Pointed) -> None:
        event.stop()
        self._span = event.span
        self.cursor = event.moment

    def watch_cursor(self, cursor: float | None) -> None:
        """Have all charts read the same moment."""
        for chart in self.query(Chart):
            chart.cursor = cursor
        self._tell_cursor()

    def _tell_cursor(self) -> None:
        """Say below each chart which moment the cursor stands at."""
        text = "" if self.cursor is None else self._told(self.cursor, self._span)
        if text != self._cursor_told:  # to set it draws the chart's frame again
            self._cursor_told = text
            for chart in self.query(Chart):
                chart.border_subtitle = Content(text)

    def show(
        self,
        lanes: Sequence[Shown],
        now: float,
        window: float,
        moments: Sequence[Moment] = (),
        told: Tell = _tell,
    ) -> None:
        """Draw what is visible, if a frame is due.

        Args:
            lanes: each lane with its series and colour.
            now: seconds on the lab's clock.
            window: seconds from the left edge to the right one.
            moments: what to point out on the time axis.
            told: says in a few words which moment the cursor stands at, and in how many seconds before it
                things happened that the cursor's column shows.
        """
        self._told = told
        if self.cursor is not None and not now - window <= self.cursor <= now:
            self.cursor = None  # it has left the charts
        if now < self._due:
            return
        self._due = now + min(2.0, window / FRAMES_A_WINDOW)
        self._tell_cursor()
        for row, chart in zip(CHARTS, self.query(Chart), strict=True):
            if chart.display:
                chart.window = window
                drawn, lines = self._drawn(row, lanes, now - window)
                chart.title, chart.brief, chart.kind = drawn.title, drawn.brief, drawn.kind
                chart.show(lines, now, moments)

    def _drawn(self, row: Row, lanes: Sequence[Shown], start: float) -> tuple[Row, list[Line]]:
        """Give what a row's chart draws: its own lines, or those of the one that stands in for it."""
        row, lines = self._own(row, lanes, start)
        instead = next((other for other in CHARTS if other.metric == row.instead), None)
        if lines or instead is None:
            return row, lines
        seen = [other for other, chart in zip(CHARTS, self.query(Chart), strict=True) if chart.display]
        if instead in seen or len(seen) == 1:
            return row, lines
        lines = self._lines(instead.metric, lanes, start)
        return (instead if lines else row), lines

    def _own(self, row: Row, lanes: Sequence[Shown], start: float) -> tuple[Row, list[Line]]:
        """Give a row's own lines, and the row with a title that says which of its metrics they are."""
        first = self._lines(row.metric, lanes, start)
        if not row.others:
            return row, first
        other = self._lines(row.others, lanes, start)
        lines = {line.name: line for line in other + first}
        order = [lines[lane.name] for lane in lanes if lane.name in lines]
        if not other:
            return row, order
        return structs.replace(row, title=row.both if first else row.others_title, brief=""), order

    @staticmethod
    def _lines(metric: str, lanes: Sequence[Shown], start: float) -> list[Line]:
        lines = (Line(lane.name, lane.color, *lane.series.since(metric, start)) for lane in lanes)
        # A lane that has nothing to show, such as an untraced one, is no line at all.
        return [line for line in lines if not all(map(math.isnan, line.values))]

    def redraw(self) -> None:
        """Have the next `show` draw, whenever it comes."""
        self._due = 0.0
