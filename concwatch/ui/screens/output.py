"""What the watched program writes, as it comes."""

from pathlib import Path

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from concwatch.text import plain
from concwatch.ui.screens.dialog import Dialog

KEPT = 64 << 10
"""Bytes of the end of the file that are shown."""

LOOK = 0.5
"""Seconds between two looks."""


def last_of(path: Path) -> str:
    """Return the end of a file as text that commands no terminal; why not, where it cannot be read."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - KEPT))
            data = file.read()
    except OSError as error:
        return f"{path}: {error.strerror}"
    text = data.decode(errors="replace")
    return "\n".join(plain(line) for line in text.splitlines())


class OutputScreen(Dialog[None]):
    """Shows the end of a program's output."""

    BINDINGS = [Binding("o,q", "dismiss(None)", "Back", show=False)]
    DEFAULT_CSS = """
    OutputScreen > Vertical {
        width: 95%;
        max-width: 95%;
        height: 90%;
        padding: 0 1;
    }
    """

    def __init__(self, path: Path | None) -> None:
        """Show the file ``path``; None where the program's output is not ours."""
        super().__init__()
        self._path = path

    def compose(self) -> ComposeResult:
        """One text that scrolls."""
        with Vertical() as box:
            box.border_title = "output of the program"
            box.border_subtitle = str(self._path) if self._path else ""
            with VerticalScroll():
                yield Static()

    def on_mount(self) -> None:
        """Follow the file."""
        self.query_one(VerticalScroll).anchor()
        self._look()
        self.set_interval(LOOK, self._look)

    def _look(self) -> None:
        text = last_of(self._path) if self._path else "the program was running already: its output is its own"
        self.query_one(Static).update(Content(text or "nothing written yet"))
