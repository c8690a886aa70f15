"""A chart over which a cursor is moved."""

from textual import events
from textual.binding import Binding
from textual.message import Message

from concwatch.charts.picture import LABEL_WIDTH
from concwatch.charts.ticks import column_of, time_of
from concwatch.ui.widgets.chart import Chart


class PointingChart(Chart):
    """Tells which moment the mouse, or the arrow keys when it has the focus, point at.

    It does not move its own cursor: who hears of it moves those of all charts.
    """

    BINDINGS = [
        Binding("left", "point(-1)", "Cursor left", show=False),
        Binding("right", "point(1)", "Cursor right", show=False),
        Binding("shift+left", "point(-10)", "Cursor far left", show=False),
        Binding("shift+right", "point(10)", "Cursor far right", show=False),
        Binding("escape", "point_nowhere", "No cursor", show=False),
    ]

    class Pointed(Message):
        """The cursor was moved to a moment, or away."""

        def __init__(self, chart: "PointingChart", moment: float | None, span: float) -> None:
            """Make a message about the ``span`` of seconds that ends with ``moment``, on the lines' clock."""
            super().__init__()
            self.chart = chart
            self.moment = moment
            self.span = span

        @property
        def control(self) -> "PointingChart":
            """The chart over which it was moved."""
            return self.chart

    @property
    def _columns(self) -> int:
        return self.picture.columns if self.picture else 1

    def _point_at(self, column: int) -> None:
        """Move the cursor to a column of cells, or away from the chart."""
        plot, columns = self.plot, self._columns
        inside = 0 <= column < columns and bool(plot.lines)
        moment = time_of(column, plot.end, plot.length, columns) if inside else None
        self.post_message(self.Pointed(self, moment, plot.length / columns))

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Read the moment below the mouse."""
        offset = event.get_content_offset(self)
        self._point_at(-1 if offset is None else offset.x - LABEL_WIDTH - 1)

    def on_leave(self) -> None:
        """Read no moment but now."""
        self.action_point_nowhere()

    def action_point(self, by: int) -> None:
        """Move the cursor by so many columns; from now, when there was none."""
        plot, last = self.plot, self._columns - 1
        moment = plot.end if plot.cursor is None else plot.cursor
        column = column_of(moment, plot.end, plot.length, self._columns)
        self._point_at(max(0, min(last, column + by)))

    def action_point_nowhere(self) -> None:
        """Take the cursor away."""
        self.post_message(self.Pointed(self, None, 0.0))
