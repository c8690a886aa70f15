"""The commands for the charts of a screen."""

from collections.abc import Callable

from concwatch.charts.table import ON_SCREEN, WINDOWS, shortest_span
from concwatch.ui.widgets.chart import Chart
from concwatch.ui.widgets.chart_grid import METRICS, ChartGrid
from concwatch.units import format_seconds


class ChartCommands:
    """Change time window, axes, pause and size of the charts."""

    def __init__(self, grid: ChartGrid, redraw: Callable[[], None], log_event: Callable[[str], None]) -> None:
        """Create the commands for ``grid``; ``redraw`` draws it, ``log_event`` logs what the user did."""
        self._log_event = log_event
        self._grid = grid
        self._redraw = redraw
        self.selected_window = 60.0
        """The selected time window in seconds, one of `WINDOWS`."""
        self.growing = True
        """Whether the window grows with the recorded time, until the user selects one."""
        self.paused = False
        """Whether the charts are paused."""

    def window(self, seconds: float) -> float:
        """Return the time window in seconds, given how many ``seconds`` have been recorded."""
        return shortest_span(seconds, self.selected_window) if self.growing else self.selected_window

    def change_window(self, step: int) -> None:
        """Select the next longer or shorter time window."""
        shown = self._grid.window
        others = [each for each in WINDOWS if (each > shown if step > 0 else each < shown)]
        self.selected_window, self.growing = (min if step > 0 else max)(others, default=shown), False
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
        if self._grid.has_class("-row"):
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
        grid.call_after_refresh(self._redraw)

    def show_chart(self, metric: str) -> None:
        """Show one chart alone."""
        self._grid.current = METRICS.index(metric)
        self._grid.single = True
        self._grid.call_after_refresh(self._redraw)

    def _from(self, wanted: int) -> int:
        """Return the first chart with data from ``wanted`` on, or of all; ``wanted`` if none has any."""
        wanted %= len(ON_SCREEN)
        filled = self._grid.charts_with_lines()
        return next((at for at in filled if at >= wanted), filled[0] if filled else wanted)

    def redraw(self) -> None:
        """Redraw the charts now, even if they were drawn a moment ago."""
        self._grid.redraw()
        self._redraw()
