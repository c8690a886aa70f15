"""The widgets that a demo adds to the screen: its caption, and the keys that it presses."""

from textual.content import Content
from textual.message import Message
from textual.timer import Timer
from textual.widgets import Static

SHOWN = 1.2
"""Seconds for which a key is shown."""


class CaptionBar(Static):
    """A caption above the key bar."""

    DEFAULT_CSS = """
    CaptionBar {
        height: auto;
        max-height: 4;
        padding: 0 1;
        background: $accent 18%;
        color: $foreground;
        text-style: bold;
    }
    /* In front of the caption of the screen behind, whose key bar takes the last line. */
    ModalScreen > CaptionBar, ReadDialog > CaptionBar, Dialog > CaptionBar {
        dock: bottom;
        margin-bottom: 1;
    }
    """

    ALLOW_SELECT = False

    class Resized(Message):
        """The rows that are left for the rest of the screen have changed."""

    def __init__(self, caption: str) -> None:
        super().__init__()
        self.set_text(caption)

    def on_resize(self) -> None:
        """Post `Resized`, for which the screen leaves room."""
        self.post_message(self.Resized())

    def set_text(self, caption: str) -> None:
        """Show another caption."""
        self.update(Content.assemble(("▸ ", "$accent"), caption.replace("\n", "\n  ")))


class KeyBadge(Static):
    """Shows a pressed key in the lower left corner for `SHOWN` seconds."""

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
        super().__init__(Content(text))
        self._timer: Timer | None = None

    def on_mount(self) -> None:
        """Start the timer."""
        self._start_timer()

    def set_text(self, text: str) -> None:
        """Show another key."""
        self.update(Content(text))
        self.display = True
        self._start_timer()

    def _start_timer(self) -> None:
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(SHOWN, self._hide)

    def _hide(self) -> None:
        self.display = False
