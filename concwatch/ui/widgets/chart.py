"""A chart of lines over time, with each line's current value in its title."""

from collections.abc import Iterable, Sequence

from rich.color import Color
from rich.segment import Segment
from textual import events
from textual.app import RenderResult
from textual.binding import Binding
from textual.content import Content
from textual.dom import DOMNode
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from concwatch.charts.captions import LegendEntry, caption, legend
from concwatch.charts.picture import LABEL_WIDTH, Picture, compose
from concwatch.charts.plot import Plot
from concwatch.charts.terminal import paint
from concwatch.charts.ticks import column_of, time_of

TITLE_MARGIN = 4
"""Cells of a widget's content width that its border leaves blank around a title."""

Colors = tuple[str, str, str | None]
"""Of axis, grid and background."""


def _written(color: Color | None) -> str | None:
    """Return a colour as ``#rrggbb``; one that a theme leaves to the terminal by its name."""
    if color is None:
        return None
    return color.triplet.hex if color.triplet else color.name


class PictureRow(Strip):
    """A row of a picture as wide as its widget.

    Textual's keeps the whole of itself as its only part, and so waits for the garbage collector: ten pictures
    a second would be 10,000 objects, and a pause of 40 ms every few seconds.
    """

    def divide(self, cuts: Iterable[int]) -> Sequence[Strip]:
        """Return the parts of the row that end at ``cuts``, cells from its beginning."""
        cuts = list(cuts)
        return [self] if cuts == [self.cell_length] else super().divide(cuts)


class Chart(Widget, can_focus=True):
    """Draws lines over the last seconds, and draws again only when a cell would change."""

    COMPONENT_CLASSES = {"chart--axis", "chart--grid"}
    """
    | Class | Description |
    | :- | :- |
    | `chart--axis` | The colour of axes and their labels. |
    | `chart--grid` | The colour of the lines from tick to tick. |
    """

    DEFAULT_CSS = """
    Chart {
        height: 1fr;
        width: 1fr;
        border: round $foreground 25%;
        border-title-color: $foreground;
        color: $dim;
        content-align: center middle;
        text-align: center;

        border-subtitle-color: $dim;

        & .chart--axis { color: $dim; }
        & .chart--grid { color: $foreground 22%; }

        &:focus { border: round $accent; }
    }
    """

    def __init__(self, plot: Plot, *, hint: str = "", id: str | None = None, classes: str = "") -> None:
        """Make a chart of ``plot`` at first; ``hint`` is seen while there are no lines."""
        super().__init__(id=id, classes=classes)
        self.plot = plot
        """What is shown."""
        self.hint = hint
        self._painted: tuple[Picture | None, Colors] | None = None
        self._rows: list[list[Segment]] = []
        self._framed: list[Strip] = []
        self._end: Strip | None = None
        self._colors: Colors = ("", "", None)
        self._styled: DOMNode | None = None
        self._caption: list[tuple[str, str]] = []
        self.border_title = Content(plot.title)

    def show(self, plot: Plot) -> None:
        """Show ``plot``.

        The sequences in its lines are read again when the size changes, so they may grow in place, but must
        not be reused for something else.
        """
        self.plot = plot
        self._update()

    def _update(self) -> None:
        """Draw what there is to show, if that would change a cell."""
        width, height = self.content_size
        if not width or not height:
            return
        self._update_title(width - TITLE_MARGIN)
        picture = compose(self.plot, width, height) if self.plot.lines else None
        colors = self._axis_colors()
        if (picture, colors) != self._painted:
            self._painted = picture, colors
            self._rows = paint(picture, *colors) if picture else []
            self.refresh()

    @property
    def picture(self) -> Picture | None:
        """What is drawn, None where there are no lines or there is no room."""
        return self._painted[0] if self._painted else None

    def _axis_colors(self) -> Colors:
        """Return the colours of axis, grid and background, worked out once each time Textual styles them."""
        styled = self.get_component_styles("chart--axis").node
        if styled is not self._styled:
            self._styled = styled
            axis, grid = (self.get_component_rich_style(name) for name in ("chart--axis", "chart--grid"))
            self._colors = (_written(axis.color) or "", _written(grid.color) or "", _written(axis.bgcolor))
        return self._colors

    def _update_title(self, width: int) -> None:
        parts = caption(self.plot.title, self.legend(), width, self.plot.short_title)
        if parts != self._caption:  # to set it draws the chart's frame again
            self._caption = parts
            self.border_title = Content.assemble(*parts)

    def legend(self) -> list[LegendEntry]:
        """Return what stands behind the title: each line's name, and the value that it has now."""
        return legend(self.plot)

    _on_resize = _update

    def notify_style_update(self) -> None:
        """Follow a change of the theme, even while no new data comes."""
        super().notify_style_update()
        self._styled = None
        if self.is_mounted:
            self._update()

    def render(self) -> RenderResult:
        """Return what is seen in place of a plot."""
        return "" if self.plot.lines else Content(self.hint)

    def render_line(self, y: int) -> Strip:
        """Return row ``y`` of the picture."""
        if not self._rows:
            return super().render_line(y)
        if y < len(self._rows):
            return Strip(self._rows[y])
        return Strip.blank(self.size.width, self.rich_style)

    def render_lines(self, crop: Region) -> list[Strip]:
        """Return the rows of ``crop``, frame and all.

        Textual draws the frame's first row and what lies below the x axis; any other row is put
        between the same edges here, which takes a fraction of the time.
        """
        width, height = self.outer_size
        picture = self.picture
        if not picture or (picture.width, picture.height) != (width - 2, height - 2):
            return super().render_lines(crop)
        ends = super().render_lines(Region(0, height - 2, width, 2))
        if ends[0] is not self._end:  # else nothing was to be drawn again
            self._end = ends[0]
            left, *_, right = ends[0]
            _, background = self.background_colors
            rows = self._rows[:-1]
            for each in self.get_line_filters():
                rows = [each.apply(row, background) for row in rows]
            top = super().render_lines(Region(0, 0, width, 1))
            rows = [list(top[0]), *([left, *row, right] for row in rows), *map(list, ends)]
            self._framed = [PictureRow(row, width) for row in rows]
        lines = self._framed[crop.y : crop.bottom]
        if crop.column_span != (0, width):
            lines = [line.crop(*crop.column_span) for line in lines]
        return lines


class PointingChart(Chart):
    """Tells which moment the mouse, or the arrow keys when it has the focus, point at.

    It does not move its own cursor: who hears of it moves those of all charts.
    """

    BINDINGS = [
        Binding(key, action, text, show=False)
        for key, action, text in (
            ("left", "point(-1)", "Cursor left"),
            ("right", "point(1)", "Cursor right"),
            ("shift+left", "point(-10)", "Cursor far left"),
            ("shift+right", "point(10)", "Cursor far right"),
            ("escape", "point_nowhere", "No cursor"),
        )
    ]

    class Pointed(Message):
        """The cursor was moved to a moment, or away."""

        def __init__(self, moment: float | None, span: float) -> None:
            """Make a message about the ``span`` of seconds that ends with ``moment``, on the lines' clock."""
            super().__init__()
            self.moment = moment
            self.span = span

    @property
    def _columns(self) -> int:
        return self.picture.columns if self.picture else 1

    def _point_at(self, column: int) -> None:
        """Move the cursor to a column of cells, or away from the chart."""
        plot, columns = self.plot, self._columns
        inside = 0 <= column < columns and bool(plot.lines)
        moment = time_of(column, plot.end, plot.length, columns) if inside else None
        self.post_message(self.Pointed(moment, plot.length / columns))

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
        self.post_message(self.Pointed(None, 0.0))
