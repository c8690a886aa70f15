"""The event log on screen: the newest at the bottom, scrolled to unless somebody reads further up."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.geometry import Size
from textual.strip import Strip
from textual.style import Style
from textual.widget import Widget

from concwatch.lab.events import Event, Severity
from concwatch.ui.widgets.text_lines import TextLines
from concwatch.units import format_clock

SHOWN = 200
"""Events kept on screen."""

LANE_WIDTH = 10
"""Cells of a lane's name, or more if one is longer."""

NOTHING = (Content.styled("what happens is told here", "$dim"),)
"""The lines before the first event."""

STYLES: Mapping[Severity, str] = {"info": "", "warning": "$warning", "error": "$error"}


@lru_cache(maxsize=2 * SHOWN)
def _tell(event: Event, color: str, room: int) -> Sequence[Content]:
    text = Content.assemble(
        (f"{format_clock(event.time)}  ", "$dim"),
        (f"{event.lane or 'all':{room}}", color),
        (event.text, STYLES[event.severity]),
    )
    return text.split(allow_blank=True)


def _wrap(line: Content, width: int) -> Iterator[tuple[int, Content]]:
    """Yield the rows of one line of text, each with the place where it begins."""
    if line.cell_length <= width:
        yield 0, line
        return
    begin = 0
    for row in line.wrap(max(1, width)):
        begin = line.plain.index(row.plain, begin)
        yield begin, row
        begin += len(row.plain)


class EventLines(TextLines):
    """All the lines, of which only those in sight are drawn."""

    DEFAULT_CSS = """
    /* Never shorter than the view, which Textual would put at the view's lower end. */
    EventLines { height: auto; min-height: 100%; }
    """

    ALLOW_SELECT = True

    def __init__(self, rows: int | None) -> None:
        """Begin with a word of what is to come; ``rows`` as `EventView` takes it."""
        super().__init__()
        self._count = rows or 0
        self._lines = NOTHING
        self._places: Sequence[tuple[int, int]] = ()
        """Of each row: the line that it belongs to, and where in that it begins."""

    def set_lines(self, *lines: Content) -> None:
        """Show ``cell_rows`` from now on."""
        before, self._lines = len(self._drawn), lines
        self.refresh(layout=not self._count and len(self.rows(self._width)) != before)

    def rows(self, width: int) -> Sequence[Content]:
        """Return the lines, wrapped; where their number is fixed the last of them, below blank ones."""
        wrapped = [(y, *row) for y, line in enumerate(self._lines) for row in _wrap(line, width)]
        wrapped = wrapped[-self._count :]
        # The view is at the end, and begins with the first row.
        view = self.parent.content_size.height if isinstance(self.parent, Widget) else 0
        blank = max(0, self._count - max(len(wrapped), view))
        self._places = [(-1, 0)] * blank + [(y, begin) for y, begin, _ in wrapped]
        return [Content()] * blank + [row for _, _, row in wrapped]

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Count the rows."""
        return self._count or len(self.rows(width))

    def render(self) -> Content:
        """Return all the text, to who selects some of it."""
        return Content("\n").join(self._lines)

    def render_line(self, y: int) -> Strip:
        """Draw one row, with the place of each letter, by which Textual finds out what is selected."""
        strip = super().render_line(y)
        line, begin = self._places[y] if y < len(self._places) else (-1, 0)
        if line < 0:
            return strip
        selected = self.text_selection.get_span(line) if self.text_selection else None
        if selected is not None and self._writer:
            start, end = selected
            row = self._drawn[y]
            end = len(row) if end < 0 else end - begin
            style = Style.from_styles(self.screen.get_component_styles("screen--selection"))
            strip = self._writer.write(row.stylize(style, max(0, start - begin), max(0, end)), self._width)
        return strip.apply_offsets(begin, line)


class EventView(VerticalScroll):
    """Shows what happened, a line an event, tracebacks below theirs."""

    DEFAULT_CSS = """
    EventView {
        height: 6;
        border: round $foreground 25%;
        border-title-color: $foreground;
        padding: 0 1;
        scrollbar-size-vertical: 1;
        scrollbar-color: $foreground 20%;
        scrollbar-background: $background;
        &:focus { border: round $accent; }
    }
    """

    BORDER_TITLE = "events"

    def __init__(self, rows: int | None = None) -> None:
        """Show as many rows as there are, or in ``rows`` lines the last of them, the first ones left blank.

        Where their number changes, Textual lays out the whole screen again and draws three times.
        """
        super().__init__()
        self._rows = rows

    def compose(self) -> ComposeResult:
        """One block of text."""
        yield EventLines(self._rows)

    def on_mount(self) -> None:
        """Stay at the end, as long as nobody scrolls up."""
        self.anchor()

    def on_resize(self) -> None:
        """Begin with the first row in the new room, too."""
        self.query_one(EventLines).refresh()

    def show(self, events: Iterable[Event], colors: Mapping[str, str]) -> None:
        """Show the last of ``events``; ``colors`` gives ``#rrggbb`` by lane."""
        room = max([LANE_WIDTH, *(len(lane) + 1 for lane in colors)])
        lines = [
            line
            for event in list(events)[-SHOWN:]
            for line in _tell(event, colors.get(event.lane, "$dim"), room)
        ]
        self.query_one(EventLines).set_lines(*(lines or NOTHING))
