"""What a person does to the charts of a screen."""

from collections.abc import Callable

from concwatch.charts.table import ON_SCREEN, WINDOWS
from concwatch.ui.widgets.chart import Chart
from concwatch.ui.widgets.chart_grid import ChartGrid


class ChartControl:
    """Time window, axis, pause and size of the charts."""

    def __init__(self, grid: ChartGrid, changed: Callable[[], None]) -> None:
        """Control ``grid``; ``changed`` draws it anew."""
        self._grid = grid
        self._changed = changed
        self.window = WINDOWS.index(60.0)
        """Which of `WINDOWS` the charts show."""
        self.paused = False
        """Whether the charts stand still."""

    @property
    def seconds(self) -> float:
        """The time that the charts show."""
        return WINDOWS[self.window]

    def change_window(self, step: int) -> None:
        """Show a longer or a shorter time."""
        self.window = max(0, min(len(WINDOWS) - 1, self.window + step))
        for chart in self._grid.query(Chart):
            chart.window = self.seconds
        self.redraw()

    def logarithmic(self) -> None:
        """Switch the y axes between linear and logarithmic."""
        for chart in self._grid.query(Chart):
            chart.logarithmic = not chart.logarithmic

    def pause(self) -> None:
        """Have the charts stand still, or catch up; collecting goes on."""
        self.paused = not self.paused
        self.redraw()

    def next_chart(self) -> None:
        """Show the next chart where there is room for one only."""
        self._grid.current = (self._grid.current + 1) % len(ON_SCREEN)
        self._changed()

    def zoom(self) -> None:
        """Enlarge one chart, the one in focus if there is one, or show all again."""
        grid = self._grid
        focused = grid.screen.focused
        if not grid.single and isinstance(focused, Chart):
            grid.current = list(grid.query(Chart)).index(focused)
        grid.single = not grid.single
        grid.call_after_refresh(self._changed)

    def redraw(self) -> None:
        """Draw the charts now, also where they were drawn a moment ago."""
        self._grid.redraw()
        self._changed()
