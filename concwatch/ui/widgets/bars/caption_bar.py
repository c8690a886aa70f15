"""The widget that a demo adds to the screen: its caption, and the keys that it presses."""

from rich.cells import cell_len
from textual.content import Content
from textual.message import Message
from textual.timer import Timer
from textual.widgets import Static

KEYS_SECONDS = 1.2
"""Seconds for which pressed keys are shown."""

SIGN, SIDES = "▸ ", "  "
"""What stands before a caption, and the space beside it."""


class CaptionBar(Static):
    """A caption above the key bar, and at the right of its first line the keys that are pressed."""

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
        self._caption, self._keys = caption, ""
        self._timer: Timer | None = None

    def on_resize(self) -> None:
        """Post `Resized`, for which the screen leaves room."""
        self._draw()
        self.post_message(self.Resized())

    def set_text(self, caption: str) -> None:
        """Show another caption."""
        self._caption = caption
        self._draw()

    def show_keys(self, keys: str) -> None:
        """Show keys for `KEYS_SECONDS` seconds, in place of those before them."""
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(KEYS_SECONDS, lambda: self.show_keys("")) if keys else None
        self._keys = keys
        self._draw()

    def on_mount(self) -> None:
        """Show the caption."""
        self._draw()

    def _draw(self) -> None:
        first, _, rest = self._caption.partition("\n")
        keys = f" {self._keys} " if self._keys else ""
        free = self.app.size.width - len(SIDES) - cell_len(SIGN + first) - cell_len(keys)
        gap = " " * max(1, free) if keys else ""
        more = f"\n  {rest}" if rest else ""
        self.update(Content.assemble((SIGN, "$accent"), first, gap, (keys, "reverse $accent"), more))
