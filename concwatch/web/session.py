"""One page and the program behind it: what is typed goes in, what is painted comes out; they end together."""

import contextlib
import json
import logging
from collections.abc import Sequence
from typing import cast

from aiohttp import WSMsgType, web
from textual_serve.download_manager import DownloadManager

from concwatch.web.program import Program

SMALLEST, LARGEST = (20, 5), (1_000, 500)
"""Columns and lines that a page may ask for. What is larger is a mistake, and would take gigabytes."""

FAREWELL = 2.0
"""Seconds that a page gets to answer that it has heard of its end."""

LONGEST = 1 << 20
"""Bytes of one message: room for what somebody pastes."""

log = logging.getLogger(__name__)


def fitting(width: object, height: object) -> tuple[int, int]:
    """Bring the size of a page, in columns and lines, within bounds; what is no number becomes 80 × 24."""
    size = []
    for given, usual, least, most in zip((width, height), (80, 24), SMALLEST, LARGEST, strict=True):
        try:
            number = int(cast("str", given))
        except (TypeError, ValueError, OverflowError):
            number = usual
        size.append(min(max(number, least), most))
    return size[0], size[1]


class Session:
    """One page from its opening to its end, and never a process longer.

    Args:
        command: the program that is shown, and its arguments.
        downloads: where files wait that the program hands to the page.
        heartbeat: seconds between two pings. A page that leaves one unanswered for half of that is gone.
    """

    def __init__(self, command: Sequence[str], downloads: DownloadManager, heartbeat: float) -> None:
        self._page = web.WebSocketResponse(timeout=FAREWELL, heartbeat=heartbeat, max_msg_size=LONGEST)
        self._program = Program(command, self._show, self._tell, self.close, downloads)

    async def serve(self, request: web.Request) -> web.WebSocketResponse:
        """Run the program for a page until one of them is gone."""
        await self._page.prepare(request)
        try:
            await self._program.start(*fitting(request.query.get("width"), request.query.get("height")))
            async for message in self._page:
                if message.type is WSMsgType.TEXT:
                    await self._take(message.data)
        except OSError as error:
            log.error("concwatch: no program could be started for a page: %s", error)
            await self.close()
        finally:
            # Who waits to write to a page that vanished would wait for the kernel to give up: a quarter of
            # an hour, in which nobody reads what the program paints and it stands still.
            if request.transport is not None:
                request.transport.abort()
            await self._program.stop()
        return self._page

    async def close(self) -> None:
        """Close the page, which ends the session."""
        await self._page.close()

    async def _show(self, data: bytes) -> None:
        # Painted for nobody is no error: the program shall still be read from, or it stands still.
        with contextlib.suppress(ConnectionError, RuntimeError):
            await self._page.send_bytes(data)

    async def _tell(self, text: str) -> None:
        with contextlib.suppress(ConnectionError, RuntimeError):
            await self._page.send_str(text)

    async def _take(self, text: str) -> None:
        """Act on one message of the page; what makes no sense is ignored."""
        try:
            kind, *rest = json.loads(text)
        except (ValueError, TypeError):
            return
        match kind, *rest:
            case "stdin", str(typed):
                await self._program.send_bytes(typed.encode("utf-8", "replace"))
            case "resize", {"width": width, "height": height}:
                await self._program.set_terminal_size(*fitting(width, height))
            case "ping", said:
                await self._tell(json.dumps(["pong", said]))
            case ["blur"]:
                await self._program.blur()
            case ["focus"]:
                await self._program.focus()
