"""A chart widget: lines over time, with each line's current value at its right end."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property, partial
from typing import TYPE_CHECKING

from rich.color import Color
from rich.segment import Segment
from textual import events, on
from textual.app import RenderResult
from textual.binding import Binding
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip
from textual.style import Style

from concwatch.charts.captions import title
from concwatch.charts.plot import Plot
from concwatch.charts.symbols import BRAILLE, Symbols
from concwatch.charts.ticks import column_of, time_of
from concwatch.ui.look.palette import FEW_COLORS
from concwatch.ui.widgets.text.kept_lines import KeptLines
from concwatch.ui.widgets.text.text_lines import ClickableLines

if TYPE_CHECKING:
    from concwatch.charts.painters.picture import Picture
    from concwatch.charts.painters.terminal import Painter
    from concwatch.charts.painters.vector import Vectors

TITLE_MARGIN = 4
"""The cells of the content width that a border leaves free around its title."""

AXIS, GRID = "$dim", "$foreground 22%"
"""The styles of axes with their labels, and of grid lines."""

FrameTexts = tuple[Sequence[str | tuple[str, str]], Sequence[str | tuple[str, str]]]
"""Of the upper and the lower border: texts, each with or without a style."""

Colors = tuple[str, str, str | None]
"""Of axis, grid and background."""


def _color_text(color: Color | None) -> str | None:
    """Return a colour as ``#rrggbb``, or as the name of one of the terminal's colours."""
    if color is None:
        return None
    return color.triplet.hex if color.triplet else color.name


class Chart(KeptLines, can_focus=True):
    """A line chart that repaints only the rows in which a cell changes."""

    symbols: reactive[Symbols] = reactive(BRAILLE)
    """The symbols that lines are drawn with."""

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

        &:focus { border: round $accent; }
    }
    """

    def __init__(self, plot: Plot, *, hint: str = "", id: str | None = None, classes: str = "") -> None:
        """Create a chart of ``plot``, which shows ``hint`` while there are no lines."""
        super().__init__(id=id, classes=classes)
        self.plot = plot
        self.hint = hint
        self._shown: tuple[object, ...] = ()
        self._painted: tuple[Picture | None, Colors] | None = None
        self._rows: list[list[Segment]] = []
        self._colors: Colors | None = None
        self._frame_texts: FrameTexts = ((), ())
        self.border_title = Content(plot.title)

    @cached_property
    def _painter(self) -> "Painter":
        from concwatch.charts.painters.terminal import Painter  # not needed for the first frame

        return Painter()

    def show(self, plot: Plot) -> None:
        """Show ``plot``: paint it if a cell would change.

        Its sequences are read again when the size changes, so they must not be reused for other data.
        """
        self.plot = plot
        width, height = self.content_size
        if not width or not height:
            return
        colors = self._axis_colors()
        shown = (width, height, self.symbols, colors, plot)
        if shown == self._shown:
            return
        self._shown = shown
        self._update_frame(width - TITLE_MARGIN)
        picture = None
        if self.plot.lines:
            from concwatch.charts.painters.picture import compose  # not needed for the first frame

            picture = compose(self.plot, width, height, self.symbols)
        if (picture, colors) != self._painted:
            self._painted = picture, colors
            fills = self.app.theme != FEW_COLORS  # which has no faint colours
            self._show_rows(self._painter.paint(picture, *colors, fills=fills) if picture else [])

    def _show_rows(self, rows: list[list[Segment]]) -> None:
        """Replace the rows of the picture, and refresh those that differ."""
        before, self._rows = self._rows, rows
        if len(before) != len(rows):
            self.refresh()
            return
        changed = [
            at
            for at, (old, new) in enumerate(zip(before, rows, strict=True))
            if old is not new and old != new
        ]
        if changed:
            self.redraw_rows(changed)

    def on_mount(self) -> None:
        """Draw with the symbols that the app has chosen."""
        chosen = getattr(self.app, "symbols", None)
        self.set_reactive(Chart.symbols, chosen.drawn if chosen else self.symbols)

    def watch_symbols(self) -> None:
        """Draw with other symbols."""
        self.show(self.plot)

    @property
    def picture(self) -> "Picture | None":
        """The picture that is drawn, None if there are no lines or not enough cells."""
        return self._painted[0] if self._painted else None

    def _axis_colors(self) -> Colors:
        """Return the colours of axis, grid and background, cached until Textual updates the styles."""
        if self._colors is None:
            # Component classes would each cost one more styled node before the first frame.
            base = self.visual_style
            axis, grid = ((base + Style.parse(style)).rich_style for style in (AXIS, GRID))
            line, faint, behind = map(_color_text, (axis.color, grid.color, axis.bgcolor))
            self._colors = line or "", faint or "", behind
        return self._colors

    def frame_texts(self, width: int) -> FrameTexts:
        """Return the texts of the upper and the lower border, which have ``width`` cells."""
        return (title(self.plot.title, self.plot.short_title, width),), ()

    def _update_frame(self, width: int) -> None:
        texts = self.frame_texts(width)
        if texts != self._frame_texts:  # setting them redraws the border
            self._frame_texts = texts
            self.border_title, self.border_subtitle = (Content.assemble(*parts) for parts in texts)

    @contextmanager
    def as_vectors(self, character: str) -> "Iterator[Vectors | None]":
        """Render the cells of the plot as ``character`` meanwhile; yield what is to be drawn over them."""
        picture, rows = self.picture, self._rows
        if picture is None or not rows:
            yield None
            return
        axis, grid, background = colors = self._axis_colors()
        from concwatch.charts.painters.terminal import Painter
        from concwatch.charts.painters.vector import Vectors

        self._rows = Painter().paint(picture, *colors, vector=character)
        self.redraw_rows(range(len(rows)))
        try:
            yield Vectors(self.plot, picture, axis, grid, background)
        finally:
            self._rows = rows
            self.redraw_rows(range(len(rows)))

    def on_resize(self) -> None:
        """Draw at the new size."""
        self.show(self.plot)

    def notify_style_update(self) -> None:
        """Repaint when the theme changes."""
        super().notify_style_update()
        self._colors = None
        if self.is_mounted:
            self.show(self.plot)

    def render(self) -> RenderResult:
        """Return the hint while there are no lines."""
        return "" if self.plot.lines else Content(self.hint)

    def render_line(self, y: int) -> Strip:
        """Return row ``y`` of the picture."""
        if not self._rows:
            return super().render_line(y)
        if y < len(self._rows):
            return Strip(self._rows[y])
        return Strip.blank(self.size.width, self.rich_style)


class CursorChart(Chart):
    """A chart that posts `CursorMoved` when the mouse or the arrow keys move the cursor.

    It does not move its own cursor: the handler moves the cursors of all charts.
    """

    BINDINGS = [
        Binding(key, action, text, show=False)
        for key, action, text in (
            ("left", "move_cursor(-1)", "Cursor left"),
            ("right", "move_cursor(1)", "Cursor right"),
            ("shift+left", "move_cursor(-10)", "Cursor far left"),
            ("shift+right", "move_cursor(10)", "Cursor far right"),
            ("escape", "remove_cursor", "No cursor"),
        )
    ]

    def __init__(
        self, plot: Plot, change_window: Callable[[int], object], hint: str = "", id: str | None = None
    ) -> None:
        """Create a chart of ``plot``; ``change_window`` makes its window longer (1) or shorter (-1)."""
        super().__init__(plot, hint=hint, id=id)
        self._change_window = change_window

    class CursorMoved(Message):
        """Posted when the cursor is moved or removed."""

        def __init__(self, chart: "CursorChart", moment: float | None, span: float) -> None:
            """Create a message.

            Args:
                chart: the chart whose cursor it is.
                moment: the cursor's position in seconds on the lines' clock; None if it is removed.
                span: the seconds before ``moment`` that the cursor's column shows.
            """
            super().__init__()
            self.chart = chart
            self.moment = moment
            self.span = span

    @property
    def _columns(self) -> int:
        return self.picture.columns if self.picture else 1

    def _move_cursor(self, column: int) -> None:
        """Move the cursor to a column of cells, or remove it if the column is outside the chart."""
        plot, columns = self.plot, self._columns
        inside = 0 <= column < columns and bool(plot.lines) and plot.over_time
        time = time_of(column, plot.end, plot.length, columns) if inside else None
        self.post_message(self.CursorMoved(self, time, plot.length / columns))

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Move the cursor to the mouse."""
        from concwatch.charts.painters.picture import LABEL_WIDTH

        offset = event.get_content_offset(self)
        # Over the labels on the right it is in the last column.
        self._move_cursor(-1 if offset is None else min(offset.x - LABEL_WIDTH - 1, self._columns - 1))

    @on(events.MouseScrollUp)
    @on(events.MouseScrollDown)
    def _wheel(self, event: events.MouseEvent) -> None:
        event.stop()
        step = -1 if isinstance(event, events.MouseScrollUp) else 1
        self.post_message(ClickableLines.ActionRequested(partial(self._change_window, step)))

    def on_leave(self) -> None:
        """Remove the cursor."""
        self.action_remove_cursor()

    def action_move_cursor(self, by: int) -> None:
        """Move the cursor by a number of columns, starting at the right edge."""
        plot, last = self.plot, self._columns - 1
        time = plot.end if plot.cursor is None else plot.cursor
        column = column_of(time, plot.end, plot.length, self._columns)
        self._move_cursor(max(0, min(last, column + by)))

    def action_remove_cursor(self) -> None:
        """Remove the cursor."""
        self.post_message(self.CursorMoved(self, None, 0.0))
