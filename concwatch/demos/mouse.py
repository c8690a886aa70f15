"""Mouse events, posted to the app as the terminal driver does."""

import asyncio
from typing import Any

from textual.app import App
from textual.events import MouseDown, MouseEvent, MouseMove, MouseUp
from textual.geometry import Offset

EVENT_INTERVAL = 0.05
"""Seconds between two mouse or key events, so that a viewer can follow.

Textual's own `Pilot` also waits until the process is nearly idle: with moving charts, a move took a second.
"""

MOVES = 12
"""Most steps of a mouse move."""


class Mouse:
    """A mouse with one button and a wheel."""

    def __init__(self, app: App[Any], interval: float) -> None:
        """Move over ``app``, with ``interval`` seconds between two events."""
        self._app = app
        self._interval = interval
        self._held = False
        self._at = Offset()

    async def jump(self, to: Offset) -> None:
        """Move to a cell of the terminal at once."""
        await self._send(MouseMove, to)

    async def press(self, at: Offset) -> None:
        """Jump to a cell of the terminal and press the button."""
        await self.jump(at)
        self._held = True
        await self._send(MouseDown, at)

    async def move(self, to: Offset) -> None:
        """Move in a straight line to a cell of the terminal."""
        distance = to - self._at
        steps = min(MOVES, max(abs(distance.x), abs(distance.y)))
        start = self._at
        for step in range(1, steps + 1):
            share = step / steps
            await self.jump(start + Offset(round(distance.x * share), round(distance.y * share)))

    async def release(self) -> None:
        """Release the button."""
        await self._send(MouseUp, self._at)
        self._held = False

    async def click(self, at: Offset) -> None:
        """Click on a cell of the terminal."""
        await self.press(at)
        await self.release()

    async def wheel(self, kind: type[MouseEvent], at: Offset) -> None:
        """Turn the wheel over a cell of the terminal: `MouseScrollUp` or `MouseScrollDown`."""
        await self._send(kind, at)

    async def _send(self, kind: type[MouseEvent], at: Offset) -> None:
        delta, self._at = at - self._at, at
        button = 1 if self._held else 0
        self._app.post_message(kind(None, at.x, at.y, delta.x, delta.y, button, False, False, False))
        if self._interval:
            await asyncio.sleep(self._interval)
