"""Lines of text that are drawn again only when they have changed, and ones whose parts can be clicked."""

from collections.abc import Sequence
from typing import NamedTuple, Self

from textual import on
from textual.content import Content, Span
from textual.events import Click, Enter, Leave, MouseDown, MouseMove
from textual.geometry import Offset, Region, Size
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Static

from concwatch.ui.renderables.ink import Inks


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


class Rows(Widget):
    """Lines of text of which those are drawn again that have changed, and no others."""

    ALLOW_SELECT = False

    _fitted: Sequence[Content] = ()
    _width = -1
    """Cells for which the lines are."""
    _stale = True
    """Whether everything is to be drawn, of lines that are asked for anew."""
    _inks: Inks | None = None

    def __init__(self, id: str | None = None) -> None:
        """Begin without a line drawn; ``id`` is the widget's."""
        super().__init__(id=id)
        self._strips: dict[int, Strip] = {}
        """Lines that have been drawn, by their numbers: each event of the mouse asks for the one below it."""

    def rows(self, width: int) -> Sequence[Content]:
        """Give the lines for ``width`` cells."""
        raise NotImplementedError

    @property
    def _cells(self) -> int:
        """Cells of a line; not asked of the layout, which would lay out anew for a widget out of sight."""
        return max(0, self.outer_size.width - self.styles.gutter.width)

    def _rows_now(self) -> Sequence[Content]:
        width = self._cells
        if self._stale or width != self._width:
            self._keep(self.rows(width), width)
        return self._fitted

    def _keep(self, rows: Sequence[Content], width: int) -> None:
        self._fitted, self._width, self._stale = rows, width, False
        self._strips.clear()

    def render(self) -> Content:
        """Give all lines, to who asks how many there are."""
        return Content("\n").join(self._rows_now())

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Count the lines: one too long for ``width`` cells is cut, and takes no second row."""
        return len(self.rows(width))

    def render_line(self, y: int) -> Strip:
        """Draw one line."""
        style = self.visual_style
        if self._inks is None or self._inks.base is not style:
            self._inks = Inks(style)
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
            self._stale, self._inks = True, None
        return super().refresh(*regions, repaint=repaint, layout=layout, recompose=recompose)

    def follow(self) -> None:
        """Draw the lines again of which a cell would change."""
        width, before = self._cells, self._fitted
        rows = self.rows(width)
        if width != self._width or len(rows) != len(before):
            height = self.styles.height
            self.refresh(layout=height is not None and height.is_auto)
            self._keep(rows, width)
        elif self._stale:
            self._keep(rows, width)
        else:
            # Comparing contents compares their text alone.
            changed = [
                y
                for y, (old, new) in enumerate(zip(before, rows, strict=True))
                if old.plain != new.plain or old.spans != new.spans
            ]
            if changed:
                self.refresh(*(Region(0, y, width, 1) for y in changed))
            for y in changed:
                self._strips.pop(y, None)
            self._fitted = rows


class Cell(NamedTuple):
    """A stretch of a line: its cells, its text, and what a click on it is called, if it can be clicked."""

    width: int
    content: Content = Content()
    tap: str = ""
    right: bool = False
    """Whether the text stands at the right end."""

    def draw(self, hovered: bool) -> Content:
        """Give the text in exactly ``width`` cells, or its beginning and ``…``."""
        text = self.content if "\n" not in self.content.plain else self.content.first_line
        room = self.width - text.cell_length
        if room < 0:
            text = text.truncate(self.width, ellipsis=True)
        elif room:
            text = text.pad_left(room) if self.right else text.pad_right(room)
        return text.stylize("on $foreground 12%") if hovered else text


class Taps(Rows):
    """Lines of cells of which some can be clicked. The first frame would wait for a widget of each."""

    _pressed = ""

    def lines(self, width: int) -> Sequence[Sequence[Cell]]:
        """Give the cells of each line that has ``width`` cells; each tap stands in one cell only."""
        raise NotImplementedError

    async def tapped(self, tap: str) -> None:
        """Do what a click on ``tap`` does."""
        raise NotImplementedError

    def rows(self, width: int) -> Sequence[Content]:
        """Give the lines, with the cell under the mouse marked if it can be clicked."""
        hovered = self._hovered
        return [
            Content.assemble(*(cell.draw(bool(cell.tap) and cell.tap == hovered) for cell in line)).truncate(
                width
            )
            for line in self.lines(width)
        ]

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
