"""The command palette."""

from textual.command import CommandPalette
from textual.events import Click


class SafeCommandPalette(CommandPalette):
    """Textual's command palette, for a terminal that may be resized during a click."""

    def on_click(self, event: Click) -> None:
        """Ignore a click outside the terminal, for which Textual would find no widget and crash."""
        if not self.region.contains_point(event.screen_offset):
            event.prevent_default()
