"""A mouse with one button: its events arrive as those of a terminal do."""

import asyncio

from textual.app import App
from textual.events import MouseDown, MouseEvent, MouseMove, MouseUp
from textual.geometry import Offset

BEAT = 0.05
"""Seconds between two events of mouse or keyboard, so that one can follow them with the eye.

Textual's own `Pilot` also waits until the process is nearly idle: with moving charts that was seen to take
a second a move.
"""

MOVES = 12
"""Places at most at which the mouse is seen on the way of a drag."""


class Mouse:
    """Moves the pointer, and presses and releases the button, in an app."""

    def __init__(self, app: App[None]) -> None:
        self._app = app
        self._held = False
        self._at = Offset()

    async def press(self, at: Offset) -> None:
        """Go to a cell of the terminal, and press the button."""
        await self._send(MouseMove, at)
        self._held = True
        await self._send(MouseDown, at)

    async def move(self, to: Offset) -> None:
        """Move along a line to a cell of the terminal, in at most `MOVES` steps."""
        way = to - self._at
        steps = min(MOVES, max(abs(way.x), abs(way.y)))
        start = self._at
        for step in range(1, steps + 1):
            share = step / steps
            await self._send(MouseMove, start + Offset(round(way.x * share), round(way.y * share)))

    async def release(self) -> None:
        """Release the button."""
        await self._send(MouseUp, self._at)
        self._held = False

    async def click(self, at: Offset) -> None:
        """Press and release the button."""
        await self.press(at)
        await self.release()

    async def _send(self, kind: type[MouseEvent], at: Offset) -> None:
        delta, self._at = at - self._at, at
        button = 1 if self._held else 0
        self._app.post_message(kind(None, at.x, at.y, delta.x, delta.y, button, False, False, False))
        await asyncio.sleep(BEAT)
