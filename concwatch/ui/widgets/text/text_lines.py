"""Widgets that draw lines of text themselves, and redraw only the lines that have changed."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Self, TypeVarTuple, Unpack

from msgspec import Struct
from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style as RichStyle
from textual import on
from textual.content import Content
from textual.events import Click, Leave, MouseDown, MouseMove
from textual.geometry import Offset, Region, Size
from textual.message import Message
from textual.strip import Strip
from textual.style import Style

from concwatch.ui.widgets.text.kept_lines import KeptLines


@lru_cache(maxsize=2048)
def assemble(*parts: str | tuple[str, str]) -> Content:
    """Return text of ``parts``, each with its style or without one; the same object for the same parts.

    A line whose cells have the same objects as before has not changed, and is not assembled again.
    """
    return Content.assemble(*parts)


def end_of(text: str, width: int) -> str:
    """Return ``text``, such as a place or a name with a number, in at most ``width`` cells.

    If it is longer, its start is replaced with ``…``, with the rest of a folder: ``…/views.py:12``.
    """
    if cell_len(text) <= width:
        return text
    while text and cell_len(text) >= width:
        text = text[1:]
    return f"…{text[max(0, text.find('/')) :]}"


class LineWriter:
    """Draws lines of text in the styles of one widget, without Textual's wrapping and alignment."""

    def __init__(self, base: Style) -> None:
        """Create a writer; ``base`` is the widget's own style."""
        self.base = base
        self._styles: dict[str | Style, RichStyle] = {"": base.rich_style}

    def _rich_style(self, style: str | Style) -> RichStyle:
        found = self._styles.get(style)
        if found is None:
            found = (self.base + _parse(style)).rich_style
            self._styles[style] = found
        return found

    def write(self, line: Content, width: int) -> Strip:
        """Return ``line`` in exactly ``width`` cells, padded, or truncated with ``…``."""
        line = line.truncate(width, ellipsis=True)
        room = width - line.cell_length
        segments = self._segments(line)
        if room:
            segments.append(Segment(" " * room, self._rich_style("")))
        return Strip(segments, width)

    def _segments(self, line: Content) -> list[Segment]:
        text, position = line.plain, 0
        segments = []
        for start, end, style in line.spans:
            if start < position:  # spans overlap
                return [
                    Segment(text, self._rich_style(style))
                    for text, style in line.render(self.base, "", _parse)
                ]
            if start > position:
                segments.append(Segment(text[position:start], self._rich_style("")))
            if end > start:
                segments.append(Segment(text[start:end], self._rich_style(style)))
            position = end
        if position < len(text):
            segments.append(Segment(text[position:], self._rich_style("")))
        return segments


def _parse(style: str | Style) -> Style:
    return Style.parse(style) if isinstance(style, str) else style


class TextLines(KeptLines):
    """Shows lines of text, and redraws only those that have changed.

    The lines are passed to `set_lines`; a subclass whose lines depend on the width overrides `rows`.
    """

    ALLOW_SELECT = False

    _lines: Sequence[Content] = ()
    _drawn: Sequence[Content] = ()
    _width = -1
    """The width in cells that `_drawn` was made for; -1 to draw everything anew."""
    _writer: LineWriter | None = None

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self._strips: dict[int, Strip] = {}
        """Drawn lines by number: Textual requests one at each mouse event."""

    def set_lines(self, *lines: Content) -> None:
        """Show ``lines``."""
        self._lines = lines
        self.update_lines()

    def rows(self, width: int) -> Sequence[Content]:
        """Return the lines for a width of ``width`` cells."""
        return self._lines

    @property
    def _cells(self) -> int:
        """The width in cells, computed here: Textual would lay out the screen for a widget out of sight."""
        return max(0, self.outer_size.width - self.spacing.width)

    def _current_rows(self) -> Sequence[Content]:
        if (width := self._cells) != self._width:
            self._drawn, self._width = self.rows(width), width
            self._strips.clear()
        return self._drawn

    def render(self) -> Content:
        """Return all lines as one text."""
        return Content("\n").join(self._current_rows())

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Return the number of lines. Lines are truncated, not wrapped."""
        return len(self.rows(width))

    def render_line(self, y: int) -> Strip:
        """Draw line ``y``."""
        style = self.visual_style
        if self._writer is None or self._writer.base is not style:
            self._writer = LineWriter(style)
            self._strips.clear()
        rows = self._current_rows()
        if y not in self._strips:
            self._strips[y] = self._writer.write(rows[y] if y < len(rows) else Content(), self._width)
        return self._strips[y]

    def refresh(
        self, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False
    ) -> Self:
        """Redraw ``regions``, or everything if there are none."""
        if not regions:
            self._width, self._writer = -1, None
        return super().refresh(*regions, repaint=repaint, layout=layout, recompose=recompose)

    def update_lines(self) -> None:
        """Get the lines again, and redraw those that have changed."""
        width, before, stale = self._cells, self._drawn, self._width < 0
        if stale and not width:  # before the first layout, which draws everything
            return
        rows = self.rows(width)
        if width == self._width and len(rows) == len(before):
            changed = [
                y
                for y, (old, new) in enumerate(zip(before, rows, strict=True))
                # Content's own comparison ignores styles.
                if old is not new and (old.plain != new.plain or old.spans != new.spans)
            ]
            for y in changed:
                self._strips.pop(y, None)
            if changed:
                self.redraw_rows(changed)
        else:
            if not stale or len(rows) != len(before):
                height = self.styles.height
                self.refresh(layout=height is not None and height.is_auto)
            self._strips.clear()
        self._drawn, self._width = rows, width


Args = TypeVarTuple("Args")


class Call(Struct, frozen=True):
    """A function and its arguments. Unlike with ``functools.partial``, two calls of the same are equal."""

    function: Callable[..., object]
    args: tuple[object, ...]

    def __call__(self) -> object:
        """Call the function."""
        return self.function(*self.args)


def call(function: Callable[[Unpack[Args]], object], *args: *Args) -> Call:
    """Return a call of ``function`` with ``args``."""
    return Call(function, args)


class Cell(Struct, frozen=True):
    """A part of a line: its width in cells, its text, and what a click on it does."""

    width: int
    content: Content = Content()
    action: Call | None = None
    """What a click runs; None if nothing."""
    right: bool = False
    """Whether the text is aligned to the right."""

    def draw(self, hovered: bool) -> Content:
        """Return the text in exactly ``width`` cells, padded, or truncated with ``…``."""
        text = self.content if "\n" not in self.content.plain else self.content.first_line
        room = self.width - text.cell_length
        if room < 0:
            text = text.truncate(self.width, ellipsis=True)
        elif room:
            text = text.pad_left(room) if self.right else text.pad_right(room)
        return text.stylize("on $foreground 12%") if hovered else text


def _look_the_same(cells: Sequence[Cell], others: Sequence[Cell]) -> bool:
    """Return whether the cells of two lines show the same texts, which are the same objects then."""
    return len(cells) == len(others) and all(
        one.content is other.content and one.width == other.width and one.right == other.right
        for one, other in zip(cells, others, strict=True)
    )


def _joined(cells: Sequence[Cell], width: int, hovered: Call | None) -> Content:
    """Return a line of ``width`` cells; the one with the action ``hovered``, if any, is highlighted."""
    drawn = (cell.draw(cell.action is not None and cell.action == hovered) for cell in cells)
    return Content.assemble(*drawn).truncate(width)


class ClickableLines(TextLines):
    """Lines of cells, some of which can be clicked. A widget for each would delay the first frame."""

    _assembled: tuple[int, Sequence[tuple[Sequence[Cell], Content]]] = (-1, ())
    """A width, and the cells of each line for it with the line made of them, none of them highlighted."""
    _mouse: Offset | None = None
    """The mouse position on the screen while the mouse is over this widget."""
    _pressed: Call | None = None

    class ActionRequested(Message):
        """Posted when the user asks for something by mouse; the screen runs it, and shows what it changed."""

        def __init__(self, action: Callable[[], object]) -> None:
            super().__init__()
            self.action = action

    def cell_rows(self, width: int) -> Sequence[Sequence[Cell]]:
        """Return the cells of each line for a width of ``width`` cells. No two cells have the same action."""
        raise NotImplementedError

    def rows(self, width: int) -> Sequence[Content]:
        """Return the lines, with the cell under the mouse highlighted if it can be clicked."""
        hovered, (last_width, before) = self._hovered, self._assembled
        if hovered is not None or width != last_width:
            before = ()
        found = []
        for y, cells in enumerate(self.cell_rows(width)):
            same = y < len(before) and _look_the_same(cells, before[y][0])
            found.append((cells, before[y][1] if same else _joined(cells, width, hovered)))
        self._assembled = (width, found) if hovered is None else (-1, ())
        return [line for _, line in found]

    @property
    def _hovered(self) -> Call | None:
        return None if self._mouse is None else self._action_at(self._mouse)

    def _action_at(self, position: Offset) -> Call | None:
        """Return the action of the cell at a position on the screen."""
        x, y = position - self.content_region.offset
        lines = self.cell_rows(self.content_size.width)
        if x >= 0 and 0 <= y < len(lines):
            for cell in lines[y]:
                x -= cell.width
                if x < 0:
                    return cell.action
        return None

    def is_button(self, position: Offset) -> bool:
        """Return whether a press of the mouse at a position on the screen does something."""
        return self._action_at(position) is not None

    @on(MouseMove)
    @on(Leave)
    def _update_hover(self, event: MouseMove | Leave) -> None:
        if isinstance(event, MouseMove):
            self._mouse = event.screen_offset
        elif event.node is self:  # not a child's, which bubbles
            self._mouse = None
        self.styles.pointer = (
            "pointer" if self._mouse is not None and self.is_button(self._mouse) else "default"
        )
        self.update_lines()

    def on_mouse_down(self, event: MouseDown) -> None:
        """Remember the cell that was pressed."""
        self._pressed = self._action_at(event.screen_offset)

    def on_click(self, event: Click) -> None:
        """Request the action of a cell if the button was pressed and released over it."""
        action = self._action_at(event.screen_offset)
        if action is not None and action == self._pressed:
            event.stop()
            self.post_message(self.ActionRequested(action))
