"""The list of commands that ctrl+p opens."""

from textual.command import CommandPalette
from textual.events import Click


class Commands(CommandPalette):
    """Textual's, in a terminal that may shrink while the mouse is on its way."""

    def on_click(self, event: Click) -> None:
        """Leave a click alone where nothing is any more; Textual would look what is there, and crash."""
        if not self.region.contains_point(event.screen_offset):
            event.prevent_default()
