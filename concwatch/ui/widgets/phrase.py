"""Lines of text that are drawn again only when they have changed, and ones whose parts can be clicked."""

from collections.abc import Sequence
from typing import NamedTuple

from textual import on
from textual.content import Content, Span
from textual.events import Click, Enter, Leave, MouseDown, MouseMove
from textual.geometry import Offset
from textual.widget import Widget
from textual.widgets import Static


class Phrase(Static):
    """Text of a size that the style sheet gives, so that a change moves nothing else unless that says so."""

    DEFAULT_CSS = """
    Phrase { text-wrap: nowrap; text-overflow: ellipsis; }
    """

    ALLOW_SELECT = False

    _said: tuple[str, Sequence[Span]] | None = None

    def say(self, content: Content) -> None:
        """Show ``content``, unless it is what is shown already."""
        said, self._said = self._said, (content.plain, content.spans)
        if said == self._said:
            return
        width, height = self.styles.width, self.styles.height
        taller = said is None or said[0].count("\n") != content.plain.count("\n")
        self.update(
            content,
            layout=(width is not None and width.is_auto)
            or (taller and height is not None and height.is_auto),
        )


class Fitted(Widget):
    """Text that depends on how many cells there are, and is whole when it is seen for the first time."""

    DEFAULT_CSS = """
    Fitted { text-wrap: nowrap; text-overflow: ellipsis; }
    """

    ALLOW_SELECT = False

    _drawn: tuple[str, Sequence[Span]] | None = None

    def fit(self, width: int) -> Content:
        """Give the text for ``width`` cells."""
        raise NotImplementedError

    def render(self) -> Content:
        """Draw the text that fits now."""
        content = self.fit(self.content_size.width)
        self._drawn = (content.plain, content.spans)
        return content

    def follow(self) -> None:
        """Draw again if that would change a cell."""
        content = self.fit(self.content_size.width)
        if self._drawn != (content.plain, content.spans):
            self.refresh()


class Cell(NamedTuple):
    """A stretch of a line: its cells, its text, and what a click on it is called, if it can be clicked."""

    width: int
    content: Content = Content()
    tap: str = ""
    right: bool = False
    """Whether the text stands at the right end."""

    def draw(self, hovered: bool) -> Content:
        """Give the text in exactly ``width`` cells, or its beginning and ``…``."""
        text = self.content.first_line.truncate(self.width, ellipsis=True)
        room = self.width - text.cell_length
        text = text.pad_left(room) if self.right else text.pad_right(room)
        return text.stylize("on $foreground 12%") if hovered else text


class Taps(Fitted):
    """Lines of cells of which some can be clicked. The first frame would wait for a widget of each."""

    DEFAULT_CSS = """
    Taps { text-overflow: clip; }
    """

    _pressed = ""

    def lines(self, width: int) -> Sequence[Sequence[Cell]]:
        """Give the cells of each line that has ``width`` cells; each tap stands in one cell only."""
        raise NotImplementedError

    async def tapped(self, tap: str) -> None:
        """Do what a click on ``tap`` does."""
        raise NotImplementedError

    def fit(self, width: int) -> Content:
        """Give the lines, with the cell under the mouse marked if it can be clicked."""
        hovered = self._hovered
        return Content("\n").join(
            Content.assemble(*(cell.draw(bool(cell.tap) and cell.tap == hovered) for cell in line))
            for line in self.lines(width)
        )

    @property
    def _hovered(self) -> str:
        return self._tap_at(self.app.mouse_position) if self.app.mouse_over is self else ""

    def _tap_at(self, where: Offset) -> str:
        """Give the tap at a place of the screen, if there is one."""
        x, y = where - self.content_region.offset
        lines = self.lines(self.content_size.width)
        if x >= 0 and 0 <= y < len(lines):
            for cell in lines[y]:
                x -= cell.width
                if x < 0:
                    return cell.tap
        return ""

    @on(MouseMove)
    @on(Enter)
    @on(Leave)
    def _follow_mouse(self) -> None:
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
