"""The dialog that shows what the memory of a watched process is made of."""

from collections.abc import Callable, Iterable, Sequence

from textual.content import Content
from textual.widget import Widget

from concwatch.monitor.metrics.metrics import LaneSnapshot
from concwatch.monitor.verdicts.rss_parts import MemoryPart, RssParts
from concwatch.portable.protocol.units import format_bytes, format_count, format_percent, format_seconds
from concwatch.ui.dialogs.help import ReadDialog
from concwatch.ui.widgets.text.text_lines import TextLines

INTERVAL = 0.25
"""Seconds between two looks whether the agent has answered."""

SIZE, SHARE, BAR = 14, 8, 24
"""The width in cells of the columns after the name."""

SHORTEST_BAR = 8

NARROWEST_NAME = 46

FREE, FILES = "$warning", "$primary"
STYLES = {
    "c_heap_free": FREE,
    "file_pages": FILES,
    "changed_pages": FILES,
    "unexplained": "$dim",
}
"""The colours of the bars of some parts; the others have another one."""

NOTE = "growth is judged without pages of mapped files, which the system may drop"

WAITING = "asking its agent …"
NO_ANSWER = "it does not answer; it may be stopped"
ENDED = "it has ended"

PATIENCE = 5.0
"""Seconds without an answer after which that is said."""


class MemoryLines(TextLines):
    """A table of the parts of RSS, and of kernel memory."""

    DEFAULT_CSS = """
    MemoryLines { height: auto; }
    """

    def __init__(self) -> None:
        """Create the lines; they are empty until `show` is called."""
        super().__init__()
        self._found: RssParts | None = None
        self._note = ""

    def show(self, found: RssParts | None, note: str) -> None:
        """Show the parts, and a note below them."""
        self._found, self._note = found, note
        self.set_lines(*self.rows(self.size.width))

    def rows(self, width: int) -> Sequence[Content]:
        """Return the lines for a width of ``width`` cells."""
        found, width = self._found, max(1, width)
        if found is None or found.rss is None:
            note = self._note or (found.unknown if found else "")
            return Content.styled(note, "$dim").wrap(width)
        graph = min(BAR, width - NARROWEST_NAME - SIZE - SHARE)
        columns = max(1, width - SIZE - SHARE - max(0, graph)), graph if graph >= SHORTEST_BAR else 0
        if not columns[1]:
            columns = max(1, width - SIZE - SHARE), 0
        whole = found.rss
        lines = [_cells("RSS", format_bytes(whole), "", columns[0]).stylize("bold")]
        lines += [_line(part, whole, *columns) for part in found.parts if part.bytes != 0]
        kernel = [part.bytes for part in found.kernel]
        known = [size for size in kernel if size is not None]
        total = format_bytes(sum(known)) if len(known) == len(kernel) else "–"
        lines += [Content(), _cells("kernel memory, beside it", total, "", columns[0]).stylize("bold")]
        lines += [_cells(f"  {part.label}", part.size, "", columns[0]) for part in found.kernel]
        lines.append(Content())
        if found.advice:
            free = format_bytes(found.free or 0)
            text = f"at least {free} are free memory that malloc keeps, not a leak; {found.advice}"
            lines += Content.styled(text, FREE).wrap(width)
        if found.unknown:
            lines += Content.styled(f"more is unknown: {found.unknown}", FREE).wrap(width)
        blocks = "" if found.blocks is None else f"Python has allocated {format_count(found.blocks)} blocks"
        pause = f"asking malloc took {format_seconds(found.pause)}" if found.pause else ""
        notes = " · ".join(filter(None, (blocks, pause, self._note)))
        for text in (notes, NOTE):
            lines += Content.styled(text, "$dim").wrap(width)
        return lines


def _cells(label: str, size: str, share: str, name: int) -> Content:
    """Return the cells of a row, the label in ``name`` cells."""
    label = label if len(label) < name else f"{label[: name - 2]}…"
    return Content(f"{label:{name}}{size:>{SIZE}}{share:>{SHARE}}")


def _line(part: MemoryPart, whole: int, name: int, graph: int) -> Content:
    share = (part.bytes or 0) / whole
    percent = "" if part.bytes is None else format_percent(share).replace("-", "−")
    cells = _cells(f"  {part.label}", part.size, percent, name)
    length = min(graph - 2, round(max(0.0, share) * (graph - 2)))
    bar = f"  {'█' * length}" if graph else ""
    return Content.assemble(cells, (bar, STYLES.get(part.name, "$success")))


class MemoryScreen(ReadDialog):
    """Shows what the memory of a process is made of, as soon as its agent has answered."""

    def __init__(self, read: Callable[[], LaneSnapshot], asked: float, clock: Callable[[], float]) -> None:
        """Create the dialog.

        Args:
            read: returns the process as it is now.
            asked: when its agent was asked, in seconds.
            clock: returns the time now.
        """
        super().__init__(f"{read().name}: what its memory is made of", Content())
        self._read, self._asked, self._clock = read, asked, clock
        self._done = False

    def body(self) -> Iterable[Widget]:
        """Yield the table."""
        yield MemoryLines()

    def on_mount(self) -> None:
        """Update the table until the agent has answered."""
        self.call_after_refresh(self._show)
        self.set_interval(INTERVAL, self._show)

    def _show(self) -> None:
        if self._done:
            return
        lane = self._read()
        found = lane.memory
        fresh = found is not None and found.time >= self._asked
        self._done = fresh or not lane.on
        late = self._clock() >= self._asked + PATIENCE
        note = "" if fresh else ENDED if not lane.on else NO_ANSWER if late else WAITING
        if found is not None and not fresh and note:
            note = f"as of {format_seconds(self._clock() - found.time)} ago · {note}"
        self.query_one(MemoryLines).show(found, note)
