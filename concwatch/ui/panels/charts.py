"""The charts, and the commands for them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from textual.widget import Widget

from concwatch.charts.cost import CostCurves
from concwatch.charts.decimation import Memo
from concwatch.charts.plot import LaneSeries
from concwatch.charts.table import ON_SCREEN, WINDOWS, ChartSpec, shortest_span
from concwatch.monitor.metrics.snapshot import Snapshot
from concwatch.portable.protocol.units import format_seconds
from concwatch.ui.look.layout import Layout
from concwatch.ui.panels.panel import Panel, SidePanel, log_nothing
from concwatch.ui.sources.mark_view import annotations, block_annotations, describe
from concwatch.ui.widgets.charts.chart import Chart, CursorChart
from concwatch.ui.widgets.charts.chart_grid import ChartGrid


class ChartPanel(Panel):
    """Draws the series of the lanes, with the user's choice of time window, axes, pause and size."""

    def __init__(
        self,
        side: SidePanel,
        log_event: Callable[[str], object] = log_nothing,
        specs: Sequence[ChartSpec] = ON_SCREEN,
        hint: str = "",
    ) -> None:
        """Create the panel.

        Args:
            side: the panel in which lanes are selected.
            log_event: logs what the user did.
            specs: the charts, in their order.
            hint: what charts without lines show, if not what they are about.
        """
        self._side, self._log_event = side, log_event
        self._grid = ChartGrid(specs, self.change_window, hint)
        self._front: Sequence[int] = ()
        self._curves = CostCurves()
        self._memos: dict[str, dict[str, Memo]] = {}
        self.selected_window = 60.0
        """The selected time window in seconds, one of `WINDOWS`."""
        self.growing = True
        """Whether the window grows with the recorded time, until the user selects one."""
        self.paused = False
        """Whether the charts are paused."""

    def widgets(self) -> Iterable[Widget]:
        """Return the grid of charts."""
        return [self._grid]

    def place(self, found: Layout) -> None:
        """Leave the charts out if there is no room."""
        self._grid.display = bool(found.chart)

    def reset(self) -> None:
        """Forget what is kept of the series' lanes."""
        self._memos.clear()

    def key_words(self) -> Mapping[str, str]:
        """Return what the arrow keys do while a chart has the focus."""
        return {"left": "cursor", "right": ""} if isinstance(self.screen.focused, CursorChart) else {}

    def redraw(self) -> None:
        """Draw at the next `show`, even if the charts were drawn a moment ago."""
        self._grid.redraw()

    def show(self, snapshot: Snapshot) -> None:
        """Draw the charts up to a snapshot, if they are not paused and an update is due."""
        if self.paused:
            return
        seconds = self.window(snapshot.time - snapshot.began)
        front = [lane for lane in range(len(snapshot.lanes)) if self._side.on_top(lane)]
        if front == self._front and not self._grid.is_due(snapshot.time, seconds):
            return
        self._front = front
        shown = self._lane_series(snapshot)
        theme, colors = self.screen.app.theme_variables, self.screen.colors_of(snapshot)
        marks = annotations(snapshot, seconds, colors, theme["foreground"], theme["accent"])
        blocks = block_annotations(snapshot, seconds, theme["warning"])
        described = partial(describe, snapshot)
        self._grid.show(shown, snapshot.time, seconds, marks, blocks, described, self.screen.steady)

    def show_ghost(self) -> None:
        """Show on the chart of the cost where a lane would be whose slider is being dragged."""
        self._grid.show_cost(self._lane_series(self.screen.snapshot))

    def _lane_series(self, snapshot: Snapshot) -> list[LaneSeries]:
        """Return the lanes as the charts draw them."""
        series, side = snapshot.series, self._side
        costs = self._curves.costs(snapshot.lanes, series, snapshot.time, side.held())
        names = [
            f"{lane.name}, median" if samples.band else lane.name
            for lane, samples in zip(snapshot.lanes, series, strict=True)
        ]
        return [
            LaneSeries(
                names[lane],
                series[lane],
                self.screen.lane_colors[lane],
                side.number(lane),
                top=side.on_top(lane),
                cost=costs[lane],
                memos=self._memos.setdefault(names[lane], {}),
            )
            for lane in side.charted(snapshot)
        ]

    def window(self, seconds: float) -> float:
        """Return the time window in seconds, given how many ``seconds`` have been recorded."""
        return shortest_span(seconds, self.selected_window) if self.growing else self.selected_window

    def change_window(self, step: int) -> None:
        """Select the next longer or shorter time window."""
        shown = self._grid.window
        others = [each for each in WINDOWS if (each > shown if step > 0 else each < shown)]
        if not others:
            return
        self.selected_window, self.growing = (min if step > 0 else max)(others), False
        self._log_event(f"charts show {format_seconds(self.selected_window)}")
        self._grid.redraw()

    def toggle_logarithmic(self) -> None:
        """Switch the y axes between linear and logarithmic."""
        self._grid.logarithmic = not self._grid.logarithmic
        self._log_event(f"y axes {'logarithmic' if self._grid.logarithmic else 'linear'}")

    def toggle_pause(self) -> None:
        """Pause or resume the charts; data is collected meanwhile."""
        self.paused = not self.paused
        self._log_event("charts paused" if self.paused else "charts resumed")
        self._grid.redraw()

    def next_chart(self) -> None:
        """Show the next chart that has data, where only one or two fit."""
        shown = self._grid.current
        if self._grid.in_row:
            shown = max(shown, self._grid.second)  # the first two are shown together
        self._grid.current = self._from(shown + 1)

    def toggle_zoom(self) -> None:
        """Enlarge one chart that has data, preferably the focused one, or show all charts again."""
        grid = self._grid
        focused = grid.screen.focused
        if not grid.single:
            wanted = list(grid.query(Chart)).index(focused) if isinstance(focused, Chart) else grid.current
            grid.current = self._from(wanted)
        grid.single = not grid.single
        grid.call_after_refresh(self.screen.show_snapshot)

    def show_chart(self, metric: str) -> None:
        """Show one chart alone."""
        self._grid.current = self._grid.metrics.index(metric)
        self._grid.single = True
        self._grid.call_after_refresh(self.screen.show_snapshot)

    def _from(self, wanted: int) -> int:
        """Return the first chart with data from ``wanted`` on, or of all; ``wanted`` if none has any."""
        wanted %= len(self._grid.specs)
        filled = self._grid.charts_with_lines()
        return next((at for at in filled if at >= wanted), filled[0] if filled else wanted)
