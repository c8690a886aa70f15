"""What a demo shows besides the program: a caption, and the keys that it presses."""

from textual.content import Content
from textual.timer import Timer
from textual.widgets import Static

SHOWN = 1.2
"""Seconds for which a key is shown."""


class CaptionBar(Static):
    """A subtitle above the keys; it takes the lines that its text needs."""

    DEFAULT_CSS = """
    CaptionBar {
        height: auto;
        max-height: 4;
        padding: 0 1;
        background: $accent 18%;
        color: $foreground;
        text-style: bold;
    }
    /* In front of the one behind: the keys there take the last line. */
    ModalScreen > CaptionBar {
        dock: bottom;
        margin-bottom: 1;
    }
    """

    ALLOW_SELECT = False

    def __init__(self, caption: str) -> None:
        """Show ``caption``."""
        super().__init__()
        self.set_text(caption)

    def set_text(self, caption: str) -> None:
        """Show another text."""
        self.update(Content.assemble(("▸ ", "$accent"), caption.replace("\n", "\n  ")))


class KeyBadge(Static):
    """What has just been pressed, in the lower left corner, for a moment."""

    DEFAULT_CSS = """
    KeyBadge {
        layer: badge;
        dock: bottom;
        width: auto;
        height: 3;
        margin: 0 0 3 0;
        padding: 0 2;
        border: round $accent;
        background: $surface;
        color: $accent;
        text-style: bold;
    }
    """

    ALLOW_SELECT = False

    def __init__(self, text: str) -> None:
        """Show ``text``."""
        super().__init__(Content(text))
        self._hiding: Timer | None = None

    def on_mount(self) -> None:
        """Begin to wait."""
        self._hiding = self.set_timer(SHOWN, self._hide)

    def set_text(self, text: str) -> None:
        """Show another text."""
        self.update(Content(text))
        self.display = True
        if self._hiding is not None:
            self._hiding.stop()
        self._hiding = self.set_timer(SHOWN, self._hide)

    def _hide(self) -> None:
        self.display = False
