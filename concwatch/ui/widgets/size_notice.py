"""What stands on a terminal that has no room for the screen: what is needed, and what there is."""

from textual.content import Content
from textual.geometry import Size
from textual.widgets import Static

NEEDED = Size(60, 14)
"""Columns and lines below which no screen is drawn."""

GOOD = Size(80, 24)
"""Columns and lines from which on nothing is left out but charts beside each other."""


def is_large_enough(size: Size) -> bool:
    """Whether a terminal of ``size`` has room for the screen."""
    return size.width >= NEEDED.width and size.height >= NEEDED.height


class SizeNotice(Static):
    """Covers a screen while the terminal is too small for it; all below goes on."""

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
        """Show what is needed for a terminal of ``size``."""
        super().__init__()
        self.show(size)

    def show(self, size: Size) -> None:
        """Show that the terminal now has ``size``, the most needed first: the end may be cut off."""
        now, needed, good = (f"{each.width} × {each.height}" for each in (size, NEEDED, GOOD))
        self.update(
            Content.assemble(
                (now, "bold"),
                " is too small: ",
                ("concwatch", "bold"),
                f" needs {needed}, better {good}. Keys still work; q quits.",
            )
        )
