"""What a person does to the charts of a screen."""

from collections.abc import Callable

from concwatch.charts.table import ON_SCREEN, PAIR, WINDOWS, shortest_span
from concwatch.ui.widgets.chart import Chart
from concwatch.ui.widgets.chart_grid import ChartGrid
from concwatch.units import format_seconds


class ChartControl:
    """Time window, axis, pause and size of the charts."""

    def __init__(
        self, grid: ChartGrid, changed: Callable[[], None], tell: Callable[[str], None] = lambda text: None
    ) -> None:
        """Control ``grid``; ``changed`` draws it anew, ``tell`` hears what was done."""
        self._tell = tell
        self._grid = grid
        self._changed = changed
        self.chosen = 60.0
        """Seconds that the charts show, one of `WINDOWS`."""
        self.grows = True
        """Whether they show less while there is not so much to show: until a person chooses."""
        self.paused = False
        """Whether the charts stand still."""

    def window(self, seconds: float) -> float:
        """Return the seconds that the charts show while there are so many ``seconds`` to show."""
        return shortest_span(seconds, self.chosen) if self.grows else self.chosen

    def change_window(self, step: int) -> None:
        """Show a longer or a shorter time."""
        shown = self._grid.window
        others = [each for each in WINDOWS if (each > shown if step > 0 else each < shown)]
        self.chosen, self.grows = (min if step > 0 else max)(others, default=shown), False
        self._tell(f"charts show {format_seconds(self.chosen)}")
        self._grid.redraw()

    def logarithmic(self) -> None:
        """Switch the y axes between linear and logarithmic."""
        self._grid.logarithmic = not self._grid.logarithmic
        self._tell(f"y axes {'logarithmic' if self._grid.logarithmic else 'linear'}")

    def pause(self) -> None:
        """Have the charts stand still, or catch up; collecting goes on."""
        self.paused = not self.paused
        self._tell("charts paused" if self.paused else "charts go on")
        self._grid.redraw()

    def next_chart(self) -> None:
        """Show the next chart that has a line, where there is room for one only, or for two."""
        shown = self._grid.current
        if self._grid.has_class("-row"):
            shown = max(shown, PAIR - 1)  # the first two are seen at once
        self._grid.current = self._from(shown + 1)

    def zoom(self) -> None:
        """Enlarge one chart that has a line, the one in focus if it does, or show all again."""
        grid = self._grid
        focused = grid.screen.focused
        if not grid.single:
            wanted = list(grid.query(Chart)).index(focused) if isinstance(focused, Chart) else grid.current
            grid.current = self._from(wanted)
        grid.single = not grid.single
        grid.call_after_refresh(self._changed)

    def _from(self, wanted: int) -> int:
        """Return the first chart with a line from ``wanted`` on, or of all; ``wanted`` if there is none."""
        wanted %= len(ON_SCREEN)
        filled = self._grid.filled()
        return next((at for at in filled if at >= wanted), filled[0] if filled else wanted)

    def redraw(self) -> None:
        """Draw the charts now, also where they were drawn a moment ago."""
        self._grid.redraw()
        self._changed()
