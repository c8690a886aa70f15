"""One page and the program behind it: what is typed goes in, what is painted comes out; they end together."""

import asyncio
import contextlib
import json
import logging
import os
import time
from collections.abc import Awaitable, MutableMapping, Sequence
from pathlib import Path

from aiohttp import WSMsgType, web
from textual_serve.app_service import AppService
from textual_serve.download_manager import DownloadManager

from concwatch.text import one_line, plain
from concwatch.ui.in_page import page_environment
from concwatch.web.page_input import InputFilter, clamp_size

READY = b"__GANGLION__\n"
"""What Textual's driver for pages writes first; packets follow."""

QUIT_TIMEOUT = 5.0
"""Seconds that the program gets to end by itself once its page is gone."""

EOF_TIMEOUT = 3.0
"""Seconds that it gets after that, once it has been left without input."""

READ_AHEAD = 1 << 14
"""Bytes, or up to twice as many, that are read ahead of what a slow page has taken."""

STDERR_TIMEOUT = 0.5
"""Seconds that its last words may come after its end; what it started may hold their pipe open."""

STDERR_KEPT = 8_000
"""Bytes of the end of its standard error that are told when it has ended."""

CLOSE_TIMEOUT = 2.0
"""Seconds that a page gets to answer that it has heard of its end."""

FLUSH_TIMEOUT = 5.0
"""Seconds that a page which is behind gets to take the rest, until it is closed all the same."""

MAX_MESSAGE = 1 << 20
"""Bytes of one message: room for what somebody pastes."""

MISSED_PINGS = 3
"""Pings after which a page is given up that has answered none and has taken nothing of what waits for it."""

MAX_BUFFERED = 1 << 14
"""Bytes that may wait for a page here. Then its program waits too, so that no old painting piles up."""

log = logging.getLogger(__name__)


class Session(AppService):
    """One page from its opening to its end, and never a process longer.

    The packets are textual-serve's; the rest is our own, for what its service lacks. It starts the program
    through a shell, cannot end one that does not want to, and stops reading when the page is gone, upon which
    a program that still paints stands still for ever. Its server gives up slow pages, since aiohttp's pings
    wait behind what is painted, and ends a session at a message that makes no sense.

    Args:
        command: the program that is shown, and its arguments.
        downloads: takes the files that the program offers, by a key that nobody can guess.
        heartbeat: seconds between two pings.
    """

    def __init__(
        self, command: Sequence[str], downloads: MutableMapping[str, Path], heartbeat: float
    ) -> None:
        self._page = web.WebSocketResponse(
            timeout=CLOSE_TIMEOUT, autoping=False, max_msg_size=MAX_MESSAGE, writer_limit=0
        )
        super().__init__(
            command[0],
            write_bytes=lambda data: self._send(self._page.send_bytes(data)),
            write_str=lambda text: self._send(self._page.send_str(text)),
            close=self._program_ended,
            download_manager=DownloadManager(),
        )
        self._arguments = command
        self._downloads = downloads
        self._heartbeat = heartbeat
        self._input_filter = InputFilter()
        self._transport: asyncio.Transport | None = None
        self._child: asyncio.subprocess.Process | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._stderr = b""
        self._last_heard = 0.0
        self._sending = 0
        self._sent = 0

    # The page.

    async def serve(self, request: web.Request) -> web.WebSocketResponse:
        """Run the program for a page until one of them is gone."""
        await self._page.prepare(request)
        self._transport = transport = request.transport
        if transport is None:
            return self._page
        transport.set_write_buffer_limits(MAX_BUFFERED)
        watching = asyncio.create_task(self._watch(transport))
        try:
            await self.start(*clamp_size(request.query.get("width"), request.query.get("height")))
            async for message in self._page:
                self._last_heard = time.monotonic()
                if message.type is WSMsgType.TEXT:
                    await self._handle_message(message.data)
                elif message.type is WSMsgType.PING:
                    await self._send(self._page.pong(message.data))
        except OSError as error:
            log.error("concwatch: no program could be started for a page: %s", error)
            await self._close_page(f"no program could be started: {error}")
        finally:
            # Who waits to write to a page that vanished would wait for the kernel to give up: a quarter of
            # an hour, in which nobody reads what the program paints and it stands still.
            watching.cancel()
            transport.abort()
            await self.stop()
        return self._page

    async def close(self) -> None:
        """Close the page, which ends the session, in ``FLUSH_TIMEOUT`` seconds at most."""
        assert self._transport is not None
        late = asyncio.get_running_loop().call_later(FLUSH_TIMEOUT, self._transport.abort)
        await self._page.close()
        late.cancel()

    async def _close_page(self, reason: str) -> None:
        """Close the page, which shows why its program ended, where that is worth a word."""
        if reason:
            await self.remote_write_str(json.dumps(["ended", reason]))
        await self.close()

    async def _watch(self, transport: asyncio.Transport) -> None:
        """Close the page when it is gone, though nothing says so.

        A page is there as long as it says something, be it the answer to a ping, or takes what waits for it:
        a slow one answers late, since a ping comes after all that was painted before.
        """
        self._last_heard = time.monotonic()
        waiting, taken = False, 0
        while True:
            await asyncio.sleep(self._heartbeat)
            if waiting and self._sent > taken:
                self._last_heard = time.monotonic()
            silent = time.monotonic() - self._last_heard
            if silent >= MISSED_PINGS * self._heartbeat:
                log.warning(
                    "concwatch: a page was given up: for %.3g s it answered no ping and took no painting",
                    silent,
                )
                transport.abort()
                return
            waiting, taken = self._sending > 0, self._sent
            if not waiting:
                self._ping = asyncio.create_task(self._send(self._page.ping()))

    async def _send(self, sending: Awaitable[None]) -> None:
        """Send, which waits while the page is behind."""
        self._sending += 1
        # Painted for nobody is no error: the program shall still be read from, or it stands still.
        with contextlib.suppress(ConnectionError, RuntimeError):
            await sending
        self._sending -= 1
        self._sent += 1

    async def _handle_message(self, text: str) -> None:
        """Act on one message of the page; what makes no sense is ignored."""
        try:
            kind, *rest = json.loads(text)
        except (ValueError, TypeError, RecursionError):
            return
        match kind, *rest:
            case "stdin", str(typed):
                await self.send_bytes(self._input_filter.filter(typed).encode("utf-8", "replace"))
            case "resize", {"width": width, "height": height}:
                await self.set_terminal_size(*clamp_size(width, height))
            case "ping", said:
                await self.remote_write_str(json.dumps(["pong", said]))
            case ["blur"]:
                await self.blur()
            case ["focus"]:
                await self.focus()

    # The program.

    @property
    def stdin(self) -> asyncio.StreamWriter:
        """Where packets go in; there once the program has been started."""
        assert self._child is not None
        assert self._child.stdin is not None
        return self._child.stdin

    async def start(self, width: int, height: int) -> None:
        """Start the program, so many columns wide and lines high.

        Raises:
            OSError: the system would not.
        """
        self._child = await asyncio.create_subprocess_exec(
            *self._arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=READ_AHEAD,
            env={**os.environ, **page_environment(width, height)},
            start_new_session=True,  # Ctrl-C, and a terminal that is closed, are for the server to act on
        )
        loop = asyncio.get_running_loop()
        self._tasks = [loop.create_task(self.run()), loop.create_task(self._read_stderr())]

    async def run(self) -> None:
        """Hand on what it paints until its output ends; then close the page."""
        assert self._child is not None
        out = self._child.stdout
        assert out is not None
        handlers = {b"D": self.on_data, b"M": self.on_meta}
        try:
            await out.readuntil(READY)
            while True:
                kind, size = await out.readexactly(1), await out.readexactly(4)
                payload = await out.readexactly(int.from_bytes(size, "big"))
                if kind in handlers:
                    await handlers[kind](payload)
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            await self._program_ended()

    async def on_meta(self, data: bytes) -> None:
        """Act on what is no painting; of a file that it offers the page is told the key.

        The file is on this machine, so the server reads it. In textual-serve's way it comes through the pipe
        of what is painted, where two threads write at once and mix their packets; and a download that is
        late, or whose page is closed, ends early as if it were whole.
        """
        meta = json.loads(data)
        if meta["type"] == "deliver_file_start":
            self._downloads[meta["key"]] = Path(meta["path"])
            await self.remote_write_str(json.dumps([meta["type"], meta["key"]]))
        else:
            await super().on_meta(data)

    async def stop(self) -> None:
        """End the program: by asking, then by leaving it without input, then by force."""
        if self._child is None:
            return
        if not await self._ends_within(QUIT_TIMEOUT, self.send_meta({"type": "quit"})):
            if not self.stdin.is_closing():
                self.stdin.transport.abort()
            if not await self._ends_within(EOF_TIMEOUT):
                with contextlib.suppress(ProcessLookupError):
                    self._child.kill()
                await self._child.wait()
        # A process that it has started may hold its pipes open, so their end is not waited for.
        await asyncio.wait(self._tasks, timeout=EOF_TIMEOUT)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        words = self._stderr.decode(errors="replace").strip()
        if words:
            status = self._child.returncode
            log.error("concwatch: the program of a page ended with status %s:\n%s", status, words)

    async def _ends_within(self, seconds: float, first: Awaitable[object] | None = None) -> bool:
        """Do what is to be done ``first``; return whether the program has ended within so many seconds."""
        assert self._child is not None
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                if first is not None:
                    await first
                await self._child.wait()
        return self._child.returncode is not None

    async def _program_ended(self) -> None:
        """Close the page once the program has ended, or has had its time for it, with what it said last."""
        assert self._child is not None
        if await self._ends_within(EOF_TIMEOUT):
            await asyncio.wait(self._tasks[1:], timeout=STDERR_TIMEOUT)
        status, reason = self._child.returncode, ""
        if status:  # it ended by itself, and not as it was asked to
            words = map(plain, reversed(self._stderr.decode(errors="replace").split("\n")))
            last = next(filter(str.strip, words), f"its program ended with status {status}")
            reason = one_line(last.strip())
        await self._close_page(reason)

    async def _read_stderr(self) -> None:
        """Keep the end of what it says on standard error."""
        assert self._child is not None
        assert self._child.stderr is not None
        while words := await self._child.stderr.read(STDERR_KEPT):
            self._stderr = (self._stderr + words)[-STDERR_KEPT:]
