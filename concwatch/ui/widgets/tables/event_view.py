"""The event log: the newest event at the bottom, in view unless the user has scrolled up."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.geometry import Size
from textual.strip import Strip
from textual.style import Style

from concwatch.monitor.verdicts.events import Event, Severity, latest
from concwatch.portable.protocol.units import format_clock
from concwatch.ui.widgets.text.kept_lines import KeptLines
from concwatch.ui.widgets.text.text_lines import TextLines

SHOWN = 200
"""The maximum number of events to show."""

VIEW = 4
"""The rows of a view, unless the layout gives it others."""

LOW = 3
"""The rows of a view up to which each event but the newest has one row, which is shortened if necessary."""

LANE_WIDTH = 10
"""The minimum width in cells of the lanes' names."""

NO_EVENTS = (Content.styled("events appear here", "$dim"),)
"""The lines before the first event."""

CLOCK = re.compile(r"\d+:\d\d:\d\d  ")
"""The beginning of the first line of an event."""

STYLES: Mapping[Severity, str] = {"info": "", "warning": "$warning", "error": "$error"}


@lru_cache(maxsize=2 * SHOWN)
def _lines_of(event: Event, color: str, lane_width: int) -> Sequence[Content]:
    text = Content.assemble(
        (f"{format_clock(event.time)}  ", "$dim"),
        (f"{event.lane or 'all':{lane_width}}", color),
        (event.text, STYLES[event.severity]),
    )
    return text.split(allow_blank=True)


def _wrap(line: Content, width: int, indent: int = 0) -> Iterator[tuple[int, Content]]:
    """Wrap a line, and yield each row with the index of its first character.

    Rows after the first begin with ``indent`` blanks, for which the index is less.
    """
    if line.cell_length <= width:
        yield 0, line
        return
    start, left = 0, line
    while left:
        first = left.wrap(max(1, width - (indent if start else 0)))[0]
        at = line.plain.index(first.plain, start)
        yield (at - indent, first.pad_left(indent)) if start else (at, first)
        start = at + len(first.plain)
        left = line[start:]
        blanks = len(left.plain) - len(left.plain.lstrip())
        left = left[blanks:]


def _shortened(line: Content, width: int) -> Content:
    """Return a line without the parenthesis that ends it, or without its end, as far as that does not fit."""
    cut = line.plain.rfind(" (") if line.plain.endswith(")") else -1
    fits = 0 < cut <= width < line.cell_length
    return line[:cut] if fits else next(row for _, row in _wrap(line, width))


class EventLines(TextLines):
    """The lines of all events, of which only those in view are drawn."""

    DEFAULT_CSS = """
    /* As high as the view, as Textual would move shorter lines to the view's lower end. */
    EventLines { height: auto; min-height: 100%; }
    """

    ALLOW_SELECT = True

    def __init__(self, rows: int | None) -> None:
        """Create the widget; see `EventView` for ``rows``."""
        super().__init__()
        self.view = VIEW
        """The rows of the view. To ask Textual while it lays out the screen would lay it out once more."""
        self.indent = 0
        """The cells before the text of an event."""
        self._count = rows or 0
        self._lines = NO_EVENTS
        self._origins: Sequence[tuple[int, int]] = ()
        """For each row the number of its line, and the index of its first character in the line."""

    def set_lines(self, *lines: Content) -> None:
        """Show ``lines``."""
        before, self._lines = len(self._drawn), lines
        self.refresh(layout=not self._count and len(self.rows(self._width)) != before)

    def rows(self, width: int) -> Sequence[Content]:
        """Return the wrapped lines; a fixed number of rows has the last ones, after blank rows."""
        wrapped: list[tuple[int, int, Content]] = []
        last = len(self._lines) - 1
        for y, line in enumerate(self._lines):
            indent = self.indent if width >= 2 * self.indent and CLOCK.match(line.plain) else 0
            if self.view > LOW:
                wrapped += [(y, *row) for row in _wrap(line, width, indent)]
            elif y == last and self.view > 1:  # a view that begins with the end of an event says little
                wrapped += [(y, *row) for row in _wrap(line, width)][: self.view]
            else:
                wrapped.append((y, 0, _shortened(line, width)))
        wrapped = wrapped[-self._count :]
        # The view is scrolled to the end; if it is higher than the rows, it starts with the first one.
        blank = max(0, self._count - max(len(wrapped), self.view))
        self._origins = [(-1, 0)] * blank + [(y, start) for y, start, _ in wrapped]
        return [Content()] * blank + [row for _, _, row in wrapped]

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Return the number of rows."""
        return self._count or len(self.rows(width))

    def render(self) -> Content:
        """Return the whole text, from which Textual gets the selected part."""
        return Content("\n").join(self._lines)

    def render_line(self, y: int) -> Strip:
        """Draw row ``y``, with the offsets in the text by which Textual finds the selection."""
        strip = super().render_line(y)
        line, first = self._origins[y] if y < len(self._origins) else (-1, 0)
        if line < 0:
            return strip
        selected = self.text_selection.get_span(line) if self.text_selection else None
        if selected is not None and self._writer:
            start, end = selected
            row = self._drawn[y]
            end = len(row) if end < 0 else end - first
            style = Style.from_styles(self.screen.get_component_styles("screen--selection"))
            strip = self._writer.write(row.stylize(style, max(0, start - first), max(0, end)), self._width)
        return strip.apply_offsets(first, line)


class EventView(VerticalScroll, KeptLines):
    """Shows events, one line each, or several for a traceback."""

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
        """Create the view.

        Args:
            rows: a fixed number of rows, None for as many as the events need. When the number of rows
                changes, Textual lays out and draws the whole screen again.
        """
        super().__init__()
        self._lines, self._rows = EventLines(rows), rows
        self._follows = False

    def compose(self) -> ComposeResult:
        """Return the lines."""
        yield self._lines

    def place(self, rows: int, frame: int) -> None:
        """Show ``rows`` rows, with ``frame`` rows around them; nothing for 0."""
        self._lines.view = rows
        self.display = bool(rows)
        self.styles.height = rows + frame

    def on_resize(self) -> None:
        """Adapt the blank rows to the new height."""
        self._lines.refresh()

    def show(self, events: Iterable[Event], colors: Mapping[str, str]) -> None:
        """Show the last of ``events``; ``colors`` has the colour of each lane, ``#rrggbb``.

        What lasts is one line, which is updated.
        """
        lane_width = max([LANE_WIDTH, *(len(lane) + 1 for lane in colors)])
        lines = [
            line
            for event in latest(events)[-SHOWN:]
            for line in _lines_of(event, colors.get(event.lane, "$dim"), lane_width)
        ]
        self._lines.indent = len("00:00:00  ") + lane_width
        self._lines.set_lines(*(lines or NO_EVENTS))
        if not self._follows and (lines or self._rows):  # else a scrollbar would delay the first frame
            self._follows = True
            self.anchor()  # keeps the end in view unless the user scrolls up
