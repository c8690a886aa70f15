"""One page and the program behind it: what is typed goes in, what is painted comes out; they end together."""

import asyncio
import contextlib
import json
import logging
import re
import time
from collections.abc import Awaitable, MutableMapping, Sequence
from pathlib import Path
from typing import cast

from aiohttp import WSMsgType, web

from concwatch.web.program import Program

SMALLEST, LARGEST = (20, 5), (1_000, 500)
"""Columns and lines that a page may ask for. What is larger is a mistake, and would take gigabytes."""

FAREWELL = 2.0
"""Seconds that a page gets to answer that it has heard of its end."""

PARTING = 5.0
"""Seconds that a page which is behind gets to take the rest, until it is closed all the same."""

LONGEST = 1 << 20
"""Bytes of one message: room for what somebody pastes."""

SILENT = 3
"""Pings after which a page is given up that has answered none and has taken nothing of what waits for it."""

WAITING = 1 << 14
"""Bytes that may wait for a page here. Then its program waits too, so that no old painting piles up."""

SEQUENCE = 32
"""Letters of the longest key or report that the screen takes for one."""

RESIZED = re.compile(r"\x1b\[48(?:;[^\x1b;]{0,32}){4,}t")
"""A terminal's own report of its size: that of a page is told by another way, which has bounds."""

KEY = re.compile(r"\x1b\[([\d:;]{0,32})[u~A-HPQRS]")
"""A key, or a place, as numbers."""

log = logging.getLogger(__name__)


def _is_letter(number: str) -> bool:
    """Return whether a number is empty or that of a letter in Unicode, of which keys are made."""
    return not number or int(number) < 0xD800 or 0xDFFF < int(number) <= 0x10FFFF


def _is_sound(text: str) -> bool:
    """Return whether ``text`` resizes nothing, and names no letter that there is not."""
    keys = KEY.findall(text)
    return not RESIZED.search(text) and all(_is_letter(n) for key in keys for n in re.split("[:;]", key))


class InputFilter:
    """What one page types. It may come in pieces, so the end of the last ones is kept."""

    def __init__(self) -> None:
        self._end = ""

    def take(self, text: str) -> str:
        """Return ``text``, or nothing if together with what came before it is unsound."""
        whole = self._end + text
        if not _is_sound(whole):
            return ""
        self._end = whole[-SEQUENCE:]
        return text


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
        downloads: takes the files that the program offers, by key.
        heartbeat: seconds between two pings.
    """

    def __init__(
        self, command: Sequence[str], downloads: MutableMapping[str, Path], heartbeat: float
    ) -> None:
        # Pings are our own: aiohttp's wait behind what is painted, and a slow page would seem to be gone.
        self._page = web.WebSocketResponse(
            timeout=FAREWELL, autoping=False, max_msg_size=LONGEST, writer_limit=0
        )
        self._program = Program(command, self._show, self._tell, self._part, downloads)
        self._heartbeat = heartbeat
        self._typed = InputFilter()
        self._transport: asyncio.Transport | None = None
        self._heard = 0.0
        self._waiting = 0
        self._taken = 0

    async def serve(self, request: web.Request) -> web.WebSocketResponse:
        """Run the program for a page until one of them is gone."""
        await self._page.prepare(request)
        self._transport = transport = request.transport
        if transport is None:
            return self._page
        transport.set_write_buffer_limits(WAITING)
        watching = asyncio.create_task(self._watch(transport))
        try:
            await self._program.start(*fitting(request.query.get("width"), request.query.get("height")))
            async for message in self._page:
                self._heard = time.monotonic()
                if message.type is WSMsgType.TEXT:
                    await self._take(message.data)
                elif message.type is WSMsgType.PING:
                    await self._send(self._page.pong(message.data))
        except OSError as error:
            log.error("concwatch: no program could be started for a page: %s", error)
            await self._part(f"no program could be started: {error}")
        finally:
            # Who waits to write to a page that vanished would wait for the kernel to give up: a quarter of
            # an hour, in which nobody reads what the program paints and it stands still.
            watching.cancel()
            transport.abort()
            await self._program.stop()
        return self._page

    async def close(self) -> None:
        """Close the page, which ends the session, in ``PARTING`` seconds at most."""
        assert self._transport is not None
        late = asyncio.get_running_loop().call_later(PARTING, self._transport.abort)
        await self._page.close()
        late.cancel()

    async def _part(self, reason: str) -> None:
        """Close the page, which shows why its program ended, where that is worth a word."""
        if reason:
            await self._tell(json.dumps(["ended", reason]))
        await self.close()

    async def _watch(self, transport: asyncio.Transport) -> None:
        """Close the page when it is gone, though nothing says so.

        A page is there as long as it says something, be it the answer to a ping, or takes what waits for it:
        a slow one answers late, since a ping comes after all that was painted before.
        """
        self._heard = time.monotonic()
        waiting, taken = False, 0
        while True:
            await asyncio.sleep(self._heartbeat)
            if waiting and self._taken > taken:
                self._heard = time.monotonic()
            silent = time.monotonic() - self._heard
            if silent >= SILENT * self._heartbeat:
                log.warning(
                    "concwatch: a page was given up: for %.3g s it answered no ping and took no painting",
                    silent,
                )
                transport.abort()
                return
            waiting, taken = self._waiting > 0, self._taken
            if not waiting:
                self._ping = asyncio.create_task(self._send(self._page.ping()))

    async def _send(self, sending: Awaitable[None]) -> None:
        """Send, which waits while the page is behind."""
        self._waiting += 1
        # Painted for nobody is no error: the program shall still be read from, or it stands still.
        with contextlib.suppress(ConnectionError, RuntimeError):
            await sending
        self._waiting -= 1
        self._taken += 1

    async def _show(self, data: bytes) -> None:
        await self._send(self._page.send_bytes(data))

    async def _tell(self, text: str) -> None:
        await self._send(self._page.send_str(text))

    async def _take(self, text: str) -> None:
        """Act on one message of the page; what makes no sense is ignored."""
        try:
            kind, *rest = json.loads(text)
        except (ValueError, TypeError, RecursionError):
            return
        match kind, *rest:
            case "stdin", str(typed):
                await self._program.send_bytes(self._typed.take(typed).encode("utf-8", "replace"))
            case "resize", {"width": width, "height": height}:
                await self._program.set_terminal_size(*fitting(width, height))
            case "ping", said:
                await self._tell(json.dumps(["pong", said]))
            case ["blur"]:
                await self._program.blur()
            case ["focus"]:
                await self._program.focus()
