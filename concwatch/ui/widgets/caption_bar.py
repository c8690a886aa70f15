"""The line in which a demo says what one sees."""

from textual.content import Content
from textual.widgets import Static


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
        super().__init__(self._written(caption))

    def say(self, caption: str) -> None:
        """Show another text."""
        self.update(self._written(caption))

    @staticmethod
    def _written(caption: str) -> Content:
        return Content.assemble(("▸ ", "$accent"), caption)
