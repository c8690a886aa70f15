"""Lines of text that are drawn again only when they have changed, and ones whose cells can be clicked."""

from collections.abc import Sequence
from typing import NamedTuple, Self

from textual import on
from textual.content import Content
from textual.events import Click, Leave, MouseDown, MouseMove
from textual.geometry import Offset, Region, Size
from textual.strip import Strip
from textual.widget import Widget

from concwatch.ui.renderables.ink import Inks


def do(command: str, *args: object) -> str:
    """Return the action that runs a command of a screen's controls."""
    return f"do({command!r}, {args!r})"


class TextLines(Widget):
    """Lines of text of which those are drawn again that have changed, and no others.

    What they say is handed to `say`, or depends on the width, and then `rows` gives it.
    """

    ALLOW_SELECT = False

    _said: Sequence[Content] = ()
    _drawn: Sequence[Content] = ()
    _width = -1
    """Cells for which `_drawn` is; -1 where everything is to be drawn, of lines that are asked for anew."""
    _inks: Inks | None = None

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self._strips: dict[int, Strip] = {}
        """Lines that have been drawn, by their numbers: each event of the mouse asks for the one below it."""

    def say(self, *lines: Content) -> None:
        """Show ``lines`` from now on."""
        self._said = lines
        self.follow()

    def rows(self, width: int) -> Sequence[Content]:
        """Return the lines for ``width`` cells."""
        return self._said

    @property
    def _cells(self) -> int:
        """Cells of a line; not asked of the layout, which would lay out anew for a widget out of sight."""
        return max(0, self.outer_size.width - self.styles.gutter.width)

    def _rows_now(self) -> Sequence[Content]:
        if (width := self._cells) != self._width:
            self._drawn, self._width = self.rows(width), width
            self._strips.clear()
        return self._drawn

    def render(self) -> Content:
        """Return all lines, for who asks how many there are."""
        return Content("\n").join(self._rows_now())

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Count the lines: one too long for ``width`` cells is cut, and takes no second row."""
        return len(self.rows(width))

    def render_line(self, y: int) -> Strip:
        """Draw one line."""
        style = self.visual_style
        if self._inks is None or self._inks.base is not style:
            self._inks = Inks(style, lambda: self.link_style)
            self._strips.clear()
        rows = self._rows_now()
        if y not in self._strips:
            self._strips[y] = self._inks.write(rows[y] if y < len(rows) else Content(), self._width)
        return self._strips[y]

    def refresh(
        self, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False
    ) -> Self:
        """Draw ``regions`` again; without any, everything."""
        if not regions:
            self._width, self._inks = -1, None
        return super().refresh(*regions, repaint=repaint, layout=layout, recompose=recompose)

    def follow(self) -> None:
        """Draw the lines again of which a cell would change."""
        width, before, stale = self._cells, self._drawn, self._width < 0
        rows = self.rows(width)
        if width == self._width and len(rows) == len(before):
            for y, (old, new) in enumerate(zip(before, rows, strict=True)):
                # Comparing contents compares their text alone.
                if old.plain != new.plain or old.spans != new.spans:
                    self._strips.pop(y, None)
                    self.refresh(Region(0, y, width, 1))
        else:
            if not stale or len(rows) != len(before):
                height = self.styles.height
                self.refresh(layout=height is not None and height.is_auto)
            self._strips.clear()
        self._drawn, self._width = rows, width


class Cell(NamedTuple):
    """A stretch of a line: its cells, its text, and what a click on it is called, if it can be clicked."""

    width: int
    content: Content = Content()
    tap: str = ""
    right: bool = False
    """Whether the text stands at the right end."""

    def draw(self, hovered: bool) -> Content:
        """Return the text in exactly ``width`` cells, or its beginning and ``…``."""
        text = self.content if "\n" not in self.content.plain else self.content.first_line
        room = self.width - text.cell_length
        if room < 0:
            text = text.truncate(self.width, ellipsis=True)
        elif room:
            text = text.pad_left(room) if self.right else text.pad_right(room)
        return text.stylize("on $foreground 12%") if hovered else text


class ClickableLines(TextLines):
    """Lines of cells of which some can be clicked. The first frame would wait for a widget of each."""

    _mouse: Offset | None = None
    """Where on the screen the mouse is, while it is here."""
    _pressed = ""

    def lines(self, width: int) -> Sequence[Sequence[Cell]]:
        """Return the cells of each line that has ``width`` cells; each tap stands in one cell only."""
        raise NotImplementedError

    async def tapped(self, tap: str) -> None:
        """Do what a click on ``tap`` does: run the screen's action of that name."""
        await self.run_action(f"screen.{tap}")

    def rows(self, width: int) -> Sequence[Content]:
        """Return the lines, with the cell under the mouse marked if it can be clicked."""
        hovered = self._hovered
        return [
            Content.assemble(*(cell.draw(bool(cell.tap) and cell.tap == hovered) for cell in line)).truncate(
                width
            )
            for line in self.lines(width)
        ]

    @property
    def _hovered(self) -> str:
        return "" if self._mouse is None else self._tap_at(self._mouse)

    def _tap_at(self, where: Offset) -> str:
        """Return the tap at a place of the screen, or an empty text."""
        x, y = where - self.content_region.offset
        lines = self.lines(self.content_size.width)
        if x >= 0 and 0 <= y < len(lines):
            for cell in lines[y]:
                x -= cell.width
                if x < 0:
                    return cell.tap
        return ""

    @on(MouseMove)
    @on(Leave)
    def _follow_mouse(self, event: MouseMove | Leave) -> None:
        if isinstance(event, MouseMove):
            self._mouse = event.screen_offset
        elif event.node is self:  # not a child's, which bubbles
            self._mouse = None
        self.styles.pointer = "pointer" if self._hovered else "default"
        self.follow()

    def on_mouse_down(self, event: MouseDown) -> None:
        """Remember what was pressed."""
        self._pressed = self._tap_at(event.screen_offset)

    async def on_click(self, event: Click) -> None:
        """Do what the tap does on which the button went down and came up."""
        tap = self._tap_at(event.screen_offset)
        if tap and tap == self._pressed:
            event.stop()
            await self.tapped(tap)
