"""A long text that goes on while it is read: what a watched program writes, or the lines that hold memory."""

from collections.abc import Callable, Iterable
from pathlib import Path

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from concwatch.links.messages import TracedLines
from concwatch.text import plain
from concwatch.ui.screens.dialog import Dialog
from concwatch.units import format_bytes

KEPT = 64 << 10
"""Bytes of the end of the file that are shown."""

LOOK = 0.5
"""Seconds between two looks."""


def last_of(path: Path | None) -> str:
    """Return the end of a file as text that commands no terminal; why not, where it cannot be read."""
    if path is None:
        return "the program was running already: its output is its own"
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - KEPT))
            data = file.read()
    except OSError as error:
        return f"{path}: {error.strerror}"
    text = data.decode(errors="replace")
    return "\n".join(plain(line) for line in text.splitlines()) or "nothing written yet"


def traced_text(processes: Iterable[tuple[str, TracedLines | None]]) -> str:
    """Return a table of the lines that hold traced memory, for each process that has said which do."""
    found = []
    for name, traced in processes:
        if traced is not None:
            found += [plain(name), f"{'holds':>12}{'grown':>12}{'blocks':>10}  allocated at"]
            found += [
                f"{format_bytes(line.bytes):>12}{format_bytes(line.grown):>12}{line.blocks:>10,}  "
                f"{plain(line.file)}:{line.line}"
                for line in traced.lines
            ]
            found.append("")
    return "\n".join(found)


class TextDialog(Dialog[None]):
    """Shows a text, its end first where ``at_end``, and anew every half second."""

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
        """Show what ``text`` returns, below a title and above a subtitle."""
        super().__init__()
        self._titles = title, subtitle
        self._text = text
        self._at_end = at_end

    def compose(self) -> ComposeResult:
        """One text that scrolls."""
        with Vertical() as box:
            box.border_title, box.border_subtitle = self._titles
            with VerticalScroll():
                yield Static()

    def on_mount(self) -> None:
        """Follow the text."""
        if self._at_end:
            self.query_one(VerticalScroll).anchor()
        self._look()
        self.set_interval(LOOK, self._look)

    def _look(self) -> None:
        self.query_one(Static).update(Content(self._text()))
