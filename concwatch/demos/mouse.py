"""A mouse with one button: its events arrive as those of a terminal do."""

import asyncio

from textual.app import App
from textual.events import MouseDown, MouseEvent, MouseMove, MouseUp
from textual.geometry import Offset

BEAT = 0.05
"""Seconds between two events of mouse or keyboard, so that one can follow them with the eye.

Textual's own `Pilot` waits besides until the process has next to nothing to do: with charts that move that
was seen to take a second a move.
"""


class Mouse:
    """Points, presses and lets go, on an app."""

    def __init__(self, app: App[None]) -> None:
        self._app = app
        self._held = False
        self._at = Offset()

    async def move(self, to: Offset) -> None:
        """Point at a cell of the terminal."""
        await self._send(MouseMove, to)

    async def press(self, at: Offset) -> None:
        """Go there, and press the button."""
        await self.move(at)
        self._held = True
        await self._send(MouseDown, at)

    async def release(self) -> None:
        """Let go of the button."""
        await self._send(MouseUp, self._at)
        self._held = False

    async def click(self, at: Offset) -> None:
        """Press and let go."""
        await self.press(at)
        await self.release()

    async def _send(self, kind: type[MouseEvent], at: Offset) -> None:
        delta, self._at = at - self._at, at
        button = 1 if self._held else 0
        self._app.post_message(kind(None, at.x, at.y, delta.x, delta.y, button, False, False, False))
        await asyncio.sleep(BEAT)
