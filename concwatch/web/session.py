"""The session of one page: relays input and output between the page and its program until either ends."""

import asyncio
import contextlib
import json
import logging
import os
import time
from collections.abc import Awaitable, Mapping, MutableMapping, Sequence
from pathlib import Path

from aiohttp import WSMsgType, web
from textual_serve.app_service import AppService
from textual_serve.download_manager import DownloadManager

from concwatch.portable.protocol.text import one_line, plain
from concwatch.system.child import describe_exit
from concwatch.web.in_page import page_environment
from concwatch.web.page_input import InputFilter, clamp_size

READY = b"__GANGLION__\n"
"""What Textual's web driver writes first, before its packets."""

QUIT_TIMEOUT = 5.0
"""Seconds that the program gets to quit when its page is gone."""

EOF_TIMEOUT = 3.0
"""Seconds that it gets after that, once its input is closed, before it is killed."""

READ_AHEAD = 1 << 14
"""Bytes (up to twice as many) of output that are read before a slow page has received the last ones."""

STDERR_TIMEOUT = 0.5
"""Seconds to wait for standard error after the program's exit; a child of it may hold the pipe open."""

STDERR_KEPT = 8_000
"""Bytes of the end of standard error that are shown when the program has ended."""

CLOSE_TIMEOUT = 2.0
"""Seconds that a page gets to answer a close frame."""

FLUSH_TIMEOUT = 5.0
"""Seconds that a slow page gets to receive the rest of the output when it is closed."""

MAX_MESSAGE = 1 << 20
"""Size of one message in bytes, enough for pasted text."""

MISSED_PINGS = 3
"""Pings after which a page counts as gone if it has neither answered nor received any output."""

MAX_BUFFERED = 1 << 14
"""Bytes of output buffered for a page; beyond that its program blocks, so the page shows recent frames."""

TOKEN_VARIABLE = "CONCWATCH_SERVE_TOKEN"
"""The setting of the token, which the programs of pages must not have."""

log = logging.getLogger(__name__)


def _without_token(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name != TOKEN_VARIABLE}


class PageSession(AppService):
    """The session of one page, which leaves no process behind.

    The packets are those of textual-serve's AppService. The rest works around that class, which starts the
    program through a shell, cannot kill it, and stops reading when the page is gone, which blocks a program
    that writes. Its server closes slow pages, since aiohttp's pings queue behind output, and ends a session
    at an invalid message.

    Args:
        command: the program and its arguments.
        downloads: receives the files that the program offers, by an unguessable key.
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
        self._last_seen = 0.0
        self._sending = 0
        self._sent = 0

    # The page.

    async def serve(self, request: web.Request) -> web.WebSocketResponse:
        """Run the program for a page until either ends."""
        await self._page.prepare(request)
        self._transport = transport = request.transport
        if transport is None:
            return self._page
        transport.set_write_buffer_limits(MAX_BUFFERED)
        watching = asyncio.create_task(self._watch(transport))
        try:
            await self.start(*clamp_size(request.query.get("width"), request.query.get("height")))
            async for message in self._page:
                self._last_seen = time.monotonic()
                if message.type is WSMsgType.TEXT:
                    await self._handle_message(message.data)
                elif message.type is WSMsgType.PING:
                    await self._send(self._page.pong(message.data))
        except OSError as error:
            log.error("concwatch: no program could be started for a page: %s", error)
            await self._close_page(f"no program could be started: {error}")
        finally:
            # Without this, a write to a page that has vanished would block until TCP gives up after 15
            # minutes, and the program would block on its output meanwhile.
            watching.cancel()
            transport.abort()
            await self.stop()
        return self._page

    async def close(self) -> None:
        """Close the page, which ends the session, within ``FLUSH_TIMEOUT`` seconds."""
        assert self._transport is not None
        late = asyncio.get_running_loop().call_later(FLUSH_TIMEOUT, self._transport.abort)
        await self._page.close()
        late.cancel()

    async def _close_page(self, reason: str) -> None:
        """Close the page, and show the reason if there is one."""
        if reason:
            await self.remote_write_str(json.dumps(["ended", reason]))
        await self.close()

    async def _watch(self, transport: asyncio.Transport) -> None:
        """Abort the connection when the page is gone without having closed it.

        A page is present while it sends anything, such as pongs, or receives output. A slow one answers late,
        since a ping is queued behind output.
        """
        self._last_seen = time.monotonic()
        waiting, sent = False, 0
        while True:
            await asyncio.sleep(self._heartbeat)
            if waiting and self._sent > sent:
                self._last_seen = time.monotonic()
            silent = time.monotonic() - self._last_seen
            if silent >= MISSED_PINGS * self._heartbeat:
                log.warning(
                    "concwatch: a page was closed: for %.3g s it answered no ping and received no output",
                    silent,
                )
                transport.abort()
                return
            waiting, sent = self._sending > 0, self._sent
            if not waiting:
                self._ping = asyncio.create_task(self._send(self._page.ping()))

    async def _send(self, sending: Awaitable[None]) -> None:
        """Await the sending of a message, which blocks while the page is slow."""
        self._sending += 1
        # Not an error if the page is gone: the program must still be read from, or it blocks.
        with contextlib.suppress(ConnectionError, RuntimeError):
            await sending
        self._sending -= 1
        self._sent += 1

    async def _handle_message(self, text: str) -> None:
        """Handle one message of the page; an invalid one is ignored."""
        try:
            kind, *rest = json.loads(text)
        except (ValueError, TypeError, RecursionError):
            return
        match kind, *rest:
            case "stdin", str(typed):
                await self.send_bytes(self._input_filter.filter(typed).encode("utf-8", "replace"))
            case "resize", {"width": width, "height": height}:
                await self.set_terminal_size(*clamp_size(width, height))
            case "ping", payload:
                await self.remote_write_str(json.dumps(["pong", payload]))
            case ["blur"]:
                await self.blur()
            case ["focus"]:
                await self.focus()

    # The program.

    @property
    def stdin(self) -> asyncio.StreamWriter:
        """The program's standard input."""
        assert self._child is not None
        assert self._child.stdin is not None
        return self._child.stdin

    async def start(self, width: int, height: int) -> None:
        """Start the program on a screen of this size, in columns and lines.

        Raises:
            OSError: the program could not be started.
        """
        self._child = await asyncio.create_subprocess_exec(
            *self._arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=READ_AHEAD,
            env={**_without_token(os.environ), **page_environment(width, height)},
            start_new_session=True,  # so that Ctrl-C and SIGHUP of the terminal reach the server only
        )
        loop = asyncio.get_running_loop()
        self._tasks = [loop.create_task(self.run()), loop.create_task(self._read_stderr())]

    async def run(self) -> None:
        """Relay the program's packets until its output ends; then close the page."""
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
        """Handle a packet that is not output; for an offered file, send its key to the page.

        The server reads the file itself. In textual-serve it is sent through the program's output, where two
        threads mix their packets, and a download that is interrupted looks complete.
        """
        meta = json.loads(data)
        if meta["type"] == "deliver_file_start":
            self._downloads[meta["key"]] = Path(meta["path"])
            await self.remote_write_str(json.dumps([meta["type"], meta["key"]]))
        else:
            await super().on_meta(data)

    async def stop(self) -> None:
        """Ask the program to quit, then close its input, then kill it."""
        if self._child is None:
            return
        if not await self._ends_within(QUIT_TIMEOUT, self.send_meta({"type": "quit"})):
            if not self.stdin.is_closing():
                self.stdin.transport.abort()
            if not await self._ends_within(EOF_TIMEOUT):
                with contextlib.suppress(ProcessLookupError):
                    self._child.kill()
                await self._child.wait()
        # With a timeout, since a child of the program may hold its pipes open.
        await asyncio.wait(self._tasks, timeout=EOF_TIMEOUT)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        words = self._stderr.decode(errors="replace").strip()
        if words:
            status = self._child.returncode
            log.error("concwatch: the program of a page ended with status %s:\n%s", status, words)

    async def _ends_within(self, seconds: float, first: Awaitable[object] | None = None) -> bool:
        """Await ``first``, then return whether the program ends within ``seconds`` in all."""
        assert self._child is not None
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                if first is not None:
                    await first
                await self._child.wait()
        return self._child.returncode is not None

    async def _program_ended(self) -> None:
        """Close the page with the last line of standard error, once the program has ended or timed out."""
        assert self._child is not None
        if await self._ends_within(EOF_TIMEOUT):
            await asyncio.wait(self._tasks[1:], timeout=STDERR_TIMEOUT)
        status, reason = self._child.returncode, ""
        if status:  # it failed
            words = map(plain, reversed(self._stderr.decode(errors="replace").split("\n")))
            last = next(filter(str.strip, words), f"its program {describe_exit(status)}")
            reason = one_line(last.strip())
        await self._close_page(reason)

    async def _read_stderr(self) -> None:
        """Read standard error and keep the end of it."""
        assert self._child is not None
        assert self._child.stderr is not None
        while words := await self._child.stderr.read(STDERR_KEPT):
            self._stderr = (self._stderr + words)[-STDERR_KEPT:]
