"""A dialog that shows a long, changing text: a program's output, or the lines that hold memory."""

from collections.abc import Callable, Iterable
from pathlib import Path

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from concwatch.links.messages import TracedLines
from concwatch.portable.protocol.text import plain
from concwatch.portable.protocol.units import format_bytes
from concwatch.ui.base.dialog import Dialog

SHOWN = 64 << 10
"""Bytes shown of the end of a file."""

INTERVAL = 0.5
"""Seconds between two updates of the text."""


def tail(path: Path | None) -> str:
    """Return the end of a file without control characters, or why it cannot be read."""
    if path is None:
        return "the program was started elsewhere: its output is not available"
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - SHOWN))
            data = file.read()
    except OSError as error:
        return f"{path}: {error.strerror}"
    text = data.decode(errors="replace")
    return "\n".join(plain(line) for line in text.splitlines()) or "nothing written yet"


def traced_text(processes: Iterable[tuple[str, TracedLines | None]]) -> str:
    """Return a table of the lines that hold traced memory, for each process that has reported them."""
    rows = []
    for name, traced in processes:
        if traced is not None:
            rows += [plain(name), f"{'holds':>12}{'grown':>12}{'blocks':>10}  allocated at"]
            rows += [
                f"{format_bytes(line.bytes):>12}{format_bytes(line.grown):>12}{line.blocks:>10,}  "
                f"{plain(line.file)}:{line.line}"
                for line in traced.lines
            ]
            rows.append("")
    return "\n".join(rows)


class TextDialog(Dialog[None]):
    """Shows a text and updates it every half second; with ``at_end`` it is scrolled to the end."""

    BINDINGS = [Binding("o,a,q", "dismiss(None)", "Back", show=False)]
    DEFAULT_CSS = """
    TextDialog > Vertical {
        width: 95%;
        max-width: 95%;
        height: 90%;
        padding: 0 1;
    }
    """

    def __init__(self, title: str, subtitle: str, text: Callable[[], str], at_end: bool = False) -> None:
        """Create a dialog that shows what ``text`` returns."""
        super().__init__()
        self._titles = title, subtitle
        self._text = text
        self._at_end = at_end

    def compose(self) -> ComposeResult:
        """Create the scrollable text."""
        with Vertical() as box:
            box.border_title, box.border_subtitle = self._titles
            with VerticalScroll():
                yield Static()

    def on_mount(self) -> None:
        """Show the text and start updating it."""
        if self._at_end:
            self.query_one(VerticalScroll).anchor()
        self._update()
        self.set_interval(INTERVAL, self._update)

    def _update(self) -> None:
        self.query_one(Static).update(Content(self._text()))
