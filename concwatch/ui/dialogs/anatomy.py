"""The dialog that shows what the memory of one task of a lane consists of."""

from collections.abc import Callable, Iterable, Sequence

from msgspec import structs
from textual.content import Content
from textual.widget import Widget

from concwatch.monitor.metrics.anatomy import HEADINGS, SYMBOLS, Kind, Part, TaskAnatomy, task_anatomy
from concwatch.monitor.metrics.metrics import LaneSnapshot
from concwatch.portable.protocol.units import format_bytes
from concwatch.ui.dialogs.help import ReadDialog
from concwatch.ui.widgets.text.text_lines import TextLines

INTERVAL = 0.25
"""Seconds between two looks whether the worker has answered."""

STYLES = {
    Kind.FUNCTION: "$success",
    Kind.OBJECT: "$accent",
    Kind.MEMORY: "$primary",
    Kind.KERNEL: "$error",
    Kind.UNEXPLAINED: "$dim",
}

COUNT, BYTES, SHARE, BAR = 7, 10, 8, 20
"""The width in cells of the columns after the name."""

SHORTEST_BAR = 6

HEIGHT, FRAME = 0.96, 4
"""The largest share of the screen's height that the dialog has, and the rows of its frame."""

FEWEST_ROWS = 6

WAITING = "looking at the tasks …"


class AnatomyLines(TextLines):
    """A bar and a table of the parts of a task."""

    DEFAULT_CSS = """
    AnatomyLines { height: auto; }
    """

    def __init__(self) -> None:
        """Create the lines; they are empty until `show` is called."""
        super().__init__()
        self._found: TaskAnatomy | None = None
        self._note = ""

    def show(self, found: TaskAnatomy | None, note: str) -> None:
        """Show what a task consists of, and a note below it."""
        self._found, self._note = found, note
        self.set_lines(*self.rows(self.size.width))

    def rows(self, width: int) -> Sequence[Content]:
        """Return the lines for a width of ``width`` cells."""
        if self._found is None:
            return [Content.styled(self._note, "$dim")]
        found, width = self._found, max(1, width)
        bar = [(SYMBOLS[kind] * cells, STYLES[kind]) for kind, cells in found.bar(width)]
        legend = [(text, STYLES[kind]) for kind, text in found.legend()]
        above = [
            *_wrapped(f"one task takes {format_bytes(found.whole)}: {found.task}", width, "bold"),
            Content.assemble(*bar),
            *Content.assemble(*legend).wrap(width),
        ]
        below = [
            *(line for text in found.functions() for line in _wrapped(text, width, STYLES[Kind.FUNCTION])),
            *_wrapped(self._note, width, "$dim"),
        ]
        room = int(self.app.size.height * HEIGHT) - FRAME - 1 - len(above) - len(below)
        shown = found.shortened(max(FEWEST_ROWS, room)).parts
        spare = max(1, width - COUNT - BYTES - SHARE)
        graph = min(BAR, spare - max(len(part.label) for part in shown) - 1)
        graph = graph if graph >= SHORTEST_BAR else 0
        name = spare - graph
        heads = _cells(name, *HEADINGS)
        lines = [_line(found, part, name, graph) for part in shown]
        return [*above, Content.styled(heads, "bold $dim"), *lines, *below]


def _wrapped(text: str, width: int, style: str) -> Sequence[Content]:
    return Content.styled(text, style).wrap(width)


def _cells(name: int, label: str, count: str, size: str, share: str) -> str:
    """Return the cells of a row, the label in ``name`` cells."""
    label = label if len(label) < name else f"{label[: name - 2]}…"
    return f"{label:{name}}{count:>{COUNT}}{size:>{BYTES}}{share:>{SHARE}}"


def _line(found: TaskAnatomy, part: Part, name: int, graph: int) -> Content:
    bar = f"  {SYMBOLS[part.kind] * round(max(0.0, found.share(part)) * (graph - 2))}" if graph else ""
    style = "$dim" if part.kind is Kind.UNEXPLAINED else ""
    return Content.assemble((_cells(name, *found.row(part)), style), (bar, STYLES[part.kind]))


class AnatomyScreen(ReadDialog):
    """Shows what a task of a lane consists of, as soon as its worker has answered."""

    def __init__(self, before: LaneSnapshot, read: Callable[[], LaneSnapshot]) -> None:
        """Create the dialog.

        Args:
            before: the lane before its worker was asked: its answer takes memory.
            read: returns the lane as it is now.
        """
        super().__init__(f"{before.name}: what one task consists of", Content())
        self._before, self._read = before, read
        self._done = False

    def body(self) -> Iterable[Widget]:
        """Yield the bar and the table."""
        yield AnatomyLines()

    def on_mount(self) -> None:
        """Update the table until the worker has answered."""
        self.call_after_refresh(self._show)
        self.set_interval(INTERVAL, self._show)

    def _show(self) -> None:
        if self._done:
            return
        now, before = self._read(), self._before
        apart = now.status.tracing and now.status.traced_cost is False  # found in a worker of its own
        if apart or before.sample.rss_per_task is None:
            before = structs.replace(before, sample=now.sample, status=now.status)
        answered = now.anatomy is not None or now.anatomy_refused or "anatomy" not in now.status.can
        found = task_anatomy(structs.replace(before, anatomy=now.anatomy)) if answered else None
        self._done = found is not None or not now.on
        note = "its worker has ended" if not now.on else WAITING
        if answered:
            note = now.anatomy_refused or "what a task costs is being measured …"
        if found is not None:
            where = "in an untraced worker" if apart and found.origin else ""
            origin = " ".join(filter(None, (found.origin or now.anatomy_refused, where)))
            traced = "tracing takes memory too: t turns it off" if now.status.traced_cost else ""
            note = " · ".join(filter(None, (origin, traced, "s saves a screenshot")))
        self.query_one(AnatomyLines).show(found, note)
