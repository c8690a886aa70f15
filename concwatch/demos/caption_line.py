"""The line in which a demo says what is seen, and which keys it presses."""

from typing import Any

from textual.app import App

from concwatch.demos.captures import FilmClock
from concwatch.portable.protocol.text import plain
from concwatch.ui.widgets.bars.caption_bar import CaptionBar
from concwatch.ui.widgets.bars.key_bar import KeyBar

CAPTION_SECONDS = 2.0
"""The least seconds for which each caption is shown."""


class CaptionLine:
    """Shows captions long enough to be read, and keys beside them, also in front of a dialog."""

    def __init__(self, app: App[Any], clock: FilmClock, keys: bool) -> None:
        """Create the line.

        Args:
            app: the app.
            clock: the clock of the film.
            keys: whether somebody will see the keys.
        """
        self._app, self._clock, self._keys = app, clock, keys
        self._text, self._until = "", 0.0

    async def show(self, text: str) -> None:
        """Show a text once the one before it has been read."""
        await self.wait()
        self._text = text
        self.count_anew()
        for screen in self._app.screen_stack:
            for bar in screen.query(CaptionBar):
                bar.set_text(text)
        await self._mount()

    async def show_keys(self, keys: str) -> None:
        """Show pressed keys, or a drag, for a moment."""
        if self._keys:
            await self._mount()
            for screen in self._app.screen_stack:
                for bar in screen.query(CaptionBar):
                    bar.show_keys(keys)

    def count_anew(self) -> None:
        """Count the seconds of the caption from now on, as when a film starts."""
        self._until = self._clock() + CAPTION_SECONDS

    async def wait(self) -> None:
        """Wait until the caption has been shown for `CAPTION_SECONDS`."""
        if self._text:
            await self._clock.sleep_until(self._until)

    async def _mount(self) -> None:
        """Add the line to the dialog, and to the screen behind it, where it stays when the dialog closes."""
        stack = self._app.screen_stack
        behind = next(screen for screen in reversed(stack) if not screen.is_modal)
        for screen in dict.fromkeys((behind, self._app.screen)):
            if not screen.query(CaptionBar):
                keys = screen.query(KeyBar)
                await screen.mount(CaptionBar(self._text), before=keys.first() if keys else None)


def read_caption(text: str) -> str:
    """Return a caption without surrounding and repeated blanks and what could control a terminal."""
    return "\n".join(plain(" ".join(line.split())) for line in text.strip().splitlines())
