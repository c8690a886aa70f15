"""The grid of charts on the screen. `concwatch.charts.table` has the charts."""

import math
from collections.abc import Callable, Sequence

from msgspec import structs
from textual import on
from textual.app import ComposeResult
from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget
from textual.widgets import Static

from concwatch.charts.annotations import Annotation
from concwatch.charts.captions import value_text
from concwatch.charts.plot import LaneSeries, Plot, make_plot
from concwatch.charts.table import BY_METRIC, COST, LAG, SHARED, TRACED, ChartSpec
from concwatch.portable.protocol.units import format_clock
from concwatch.ui.look.layout import CHART, chart_columns
from concwatch.ui.widgets.charts.chart import Chart, CursorChart
from concwatch.ui.widgets.text.kept_lines import Transparent

LEAST_WIDTH = 48
"""The minimum width in cells of two charts side by side in a single row."""

FRAMES_A_WINDOW = 300
"""The maximum number of updates of the charts during one time window: about one for each column of dots."""

LEAST_FRAME, STEADY_FRAME = 0.25, 0.5
"""The minimum seconds between two updates; and while the number of tasks does not change."""

Describe = Callable[[float, float], Sequence[str]]
"""Returns the moment of a cursor and its marks, given its time and the seconds that its column shows."""


def _clock(time: float, span: float) -> Sequence[str]:
    return (format_clock(time),)


class ChartGrid(Transparent):
    """The charts: two by two, up to five by two if there is room, or a single one."""

    DEFAULT_CSS = """
    ChartGrid {
        layout: grid;
        width: 1fr;
        height: 1fr;
        layers: charts caption;
        & Chart { layer: charts; }
        & #caption {
            layer: caption;
            dock: bottom;
            display: none;
            width: 100%;
            height: auto;
            padding: 0 2;
            background: $panel;
            color: $foreground;
            &.-shown { display: block; }
        }
    }
    """

    current: reactive[int] = reactive(0)
    """The single chart, or the second one if there is room for two."""
    single: reactive[bool] = reactive(False)
    """Whether a single chart is shown. A grid that is too small shows a single one in any case."""
    logarithmic: reactive[bool] = reactive(False)
    """Whether the y axes are logarithmic."""
    cursor: reactive[float | None] = reactive[float | None](None)
    """The time at which all charts show their values, in seconds on the lab's clock; None for now."""

    def __init__(
        self, specs: Sequence[ChartSpec], change_window: Callable[[int], object], hint: str = ""
    ) -> None:
        """Create the grid.

        Args:
            specs: the charts, in their order.
            change_window: selects a longer (1) or shorter (-1) time window.
            hint: what charts without lines show, if not what they are about.
        """
        super().__init__()
        self.specs = specs
        self._change_window, self._hint = change_window, hint
        self.metrics = [spec.metric for spec in specs]
        self.window = 0.0
        """The time window in seconds."""
        self.in_row = False
        """Whether there is a single row of charts: the first, and the second or the current one."""
        self._due = 0.0
        self._describe: Describe = _clock
        self._span = 0.0
        self._pointed: Chart | None = None
        self._lanes: Sequence[LaneSeries] = ()
        self._now = 0.0
        self._traced = False
        self._charts: list[CursorChart] = []
        self._caption = Static(id="caption")
        self._caption_text = ""

    def compose(self) -> ComposeResult:
        """Create the charts; those that are not shown are mounted after the first frame."""
        self._charts = [
            CursorChart(
                Plot(spec.title, spec.unit),
                self._change_window,
                hint=self._hint or spec.hint,
                id=f"chart-{spec.metric}",
            )
            for spec in self.specs
        ]
        self._choose_charts()
        yield from (chart for chart in self._charts if chart.display)

    def on_mount(self) -> None:
        """Mount the other charts and the caption after the first frame."""
        self.call_after_refresh(self._mount_others)

    async def _mount_others(self) -> None:
        """Mount what the first frame does not show, each before the one that follows it."""
        following: Widget | None = None
        for widget in (self._caption, *reversed(self._charts)):
            if self.app.return_code is not None:
                return  # the app is exiting
            if not widget.is_attached:
                await self.mount(widget, before=following)
            following = widget

    def _choose_charts(self) -> None:
        """Display the charts that there is room for."""
        low = 0 < self.size.height < 2 * CHART  # 0 until it is laid out
        columns = chart_columns(self.app.size.width)
        alone = self.single or columns == 1 or (low and self.size.width < 2 * LEAST_WIDTH)
        self.in_row = low and not alone
        if alone:
            columns, shown = 1, {self.current}
        elif self.in_row:
            columns, shown = 2, {0, self.current or self.second}
        else:
            every = enumerate(self.metrics)
            places = [at for at, metric in every if metric not in SHARED or at == self.second]
            shown = {*places[: 2 * columns]}
        for at, chart in enumerate(self._charts):
            chart.display = at in shown
        self.styles.grid_size_columns = columns
        self.styles.grid_size_rows = int(self.in_row)
        self._due = 0.0

    @property
    def second(self) -> int:
        """The index of the chart in the second place."""
        return self.metrics.index(TRACED if self._traced else COST)

    watch_current = watch_single = on_resize = _choose_charts

    @on(CursorChart.CursorMoved)
    def _move_cursor(self, event: CursorChart.CursorMoved) -> None:
        event.stop()
        self._span, self._pointed = event.span, event.chart
        self.cursor = event.moment

    def watch_cursor(self) -> None:
        """Move the cursor of all charts."""
        self.watch_logarithmic()
        self._update_caption()

    def watch_logarithmic(self) -> None:
        """Redraw the charts with the current axis and cursor."""
        for chart in self._charts:
            chart.show(self._adjusted(chart.plot))

    def _adjusted(self, plot: Plot) -> Plot:
        """Return a plot with the axis and the cursor of all charts, if its x axis is time."""
        if not plot.over_time:
            return plot
        return structs.replace(plot, logarithmic=self.logarithmic, cursor=self.cursor)

    def _cursor_text(self, cursor: float) -> str:
        """Return the moment of the cursor, the values of the chart that it is moved on, and the marks."""
        moment, *marks = self._describe(cursor, self._span)
        values = []
        if self._pointed is not None:
            plot = self._pointed.plot
            values = [f"{line.name} {value_text(line, plot.unit, plot.end, cursor)}" for line in plot.lines]
            values = [f"{plot.title}: {', '.join(values)}"] if values else []
        return " · ".join([moment, *values, *marks])

    def _update_caption(self) -> None:
        """Show the description of the cursor over the lower edge."""
        text = "" if self.cursor is None else self._cursor_text(self.cursor)
        if text != self._caption_text:
            self._caption_text = text
            self._caption.set_class(bool(text), "-shown")
            self._caption.update(Content(text))

    def charts_with_lines(self) -> list[int]:
        """Return the indexes of the charts that have lines to show."""
        plots = (make_plot(spec, self._lanes, self._now, self.window) for spec in self.specs)
        return [at for at, plot in enumerate(plots) if plot.lines]

    def is_due(self, now: float, window: float) -> bool:
        """Return whether the charts are to be drawn again at ``now``, with a time window in seconds."""
        return now >= self._due or window != self.window

    def show(
        self,
        lanes: Sequence[LaneSeries],
        now: float,
        window: float,
        annotations: Sequence[Annotation] = (),
        blocks: Sequence[Annotation] = (),
        describe: Describe = _clock,
        steady: bool = False,
    ) -> None:
        """Draw the lanes' series.

        Args:
            lanes: each lane with its series and colour.
            now: the time at the right edge, in seconds on the lab's clock.
            window: the time window in seconds.
            annotations: the marks on the time axis.
            blocks: further ones for the chart of the lag.
            describe: returns the caption of the cursor.
            steady: whether the number of tasks has not changed since the last update.
        """
        self._describe, self._lanes, self._now = describe, lanes, now
        self.window = window
        if self.cursor is not None and not now - window <= self.cursor <= now:
            self.cursor = None  # it is outside the window now
        self._due = now + min(2.0, max(STEADY_FRAME if steady else LEAST_FRAME, window / FRAMES_A_WINDOW))
        self._update_caption()
        self._choose_second()
        charts = {
            metric: chart for metric, chart in zip(self.metrics, self._charts, strict=True) if chart.display
        }
        taken = {*charts, *SHARED}
        for metric, chart in charts.items():
            plot = make_plot(BY_METRIC[metric], lanes, now, window)
            if plot.is_empty and len(charts) > 1:
                plot = self._instead(BY_METRIC[metric], taken) or plot
            if plot.over_time:
                marks = [*blocks, *annotations] if metric == LAG else annotations
                plot = structs.replace(plot, annotations=marks)
            chart.show(self._adjusted(plot))

    def _instead(self, spec: ChartSpec, taken: set[str]) -> Plot | None:
        """Return the plot of the first chart with data that is not ``taken`` yet, for one that has none."""
        for metric in dict.fromkeys((*spec.fallbacks, *self.metrics)):
            if metric not in taken:
                plot = make_plot(BY_METRIC[metric], self._lanes, self._now, self.window)
                if not plot.is_empty:
                    taken.add(metric)
                    return plot
        return None

    def show_cost(self, lanes: Sequence[LaneSeries]) -> None:
        """Draw the chart of the cost again, while a slider is dragged."""
        chart = self._charts[self.metrics.index(COST)]
        if chart.display:
            chart.show(make_plot(BY_METRIC[COST], lanes, self._now, self.window))

    def _choose_second(self) -> None:
        """Show traced memory in the second place while anything is traced, else the cost of a task."""
        traced = any(
            math.isfinite(values[-1])
            for lane in self._lanes
            if (values := lane.series.since(TRACED, self._now)[1])
        )
        if traced is not self._traced:
            self._traced = traced
            self._choose_charts()

    def redraw(self) -> None:
        """Draw at the next `show`, whether an update is due or not."""
        self._due = 0.0
