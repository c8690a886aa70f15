"""The notice on a terminal that is too small for the screen."""

from textual.content import Content
from textual.geometry import Size
from textual.widgets import Static

from concwatch.ui.look.layout import NEEDED

GOOD = Size(80, 24)
"""The columns and lines from which nothing but some charts is left out."""


class SizeNotice(Static):
    """Covers a screen while the terminal is too small for it. The screen keeps running."""

    DEFAULT_CSS = """
    SizeNotice {
        overlay: screen;
        constrain: none;
        position: absolute;
        width: 100vw;
        height: 100vh;
        background: $background;
        color: $foreground;
        content-align: center middle;
        text-align: center;
    }
    """

    def __init__(self, size: Size) -> None:
        """Show the size of the terminal. The most important comes first, as the end may be cut off."""
        now, needed, good = (f"{width} × {height}" for width, height in (size, NEEDED, GOOD))
        super().__init__(
            Content.assemble(
                (now, "bold"),
                " is too small: ",
                ("concwatch", "bold"),
                f" needs {needed}, better {good}. Keys still work; q quits.",
            )
        )
