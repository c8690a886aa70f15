"""The program behind a page: a process of its own, which never outlives what asked for it."""

import asyncio
import contextlib
import json
import logging
import os
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from pathlib import Path

from textual_serve.app_service import AppService
from textual_serve.download_manager import DownloadManager

from concwatch.text import one_line, plain
from concwatch.ui.in_page import told

READY = b"__GANGLION__\n"
"""What Textual's driver for pages writes first; packets follow."""

QUIT = 5.0
"""Seconds that the program gets to end by itself once its page is gone."""

LEAVE = 3.0
"""Seconds that it gets after that, once it has been left without input."""

AHEAD = 1 << 14
"""Bytes, or up to twice as many, that are read ahead of what a slow page has taken."""

HEARING = 0.5
"""Seconds that its last words may come after its end; what it started may hold their pipe open."""

LAST_WORDS = 8_000
"""Bytes of the end of its standard error that are told when it has ended."""

log = logging.getLogger(__name__)


class Program(AppService):
    """One program and the packets that go in and come out.

    The packets are textual-serve's; start and end are our own. Its own way starts the program through a
    shell, has no means to end one that does not want to, and stops reading when the page is gone, upon which
    a program that still paints stands still for ever.

    Args:
        command: the program and its arguments.
        write_bytes: shows what is painted.
        write_str: tells the page what is no painting.
        close: closes the page, which shows the reason it is given, if any.
        downloads: takes the files that the program offers, by a key that nobody can guess.
    """

    def __init__(
        self,
        command: Sequence[str],
        write_bytes: Callable[[bytes], Awaitable[None]],
        write_str: Callable[[str], Awaitable[None]],
        close: Callable[[str], Awaitable[None]],
        downloads: MutableMapping[str, Path],
    ) -> None:
        super().__init__(
            command[0],
            write_bytes=write_bytes,
            write_str=write_str,
            close=self._part,
            download_manager=DownloadManager(),
        )
        self._arguments = command
        self._close = close
        self._downloads = downloads
        self._child: asyncio.subprocess.Process | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._words = b""

    @property
    def stdin(self) -> asyncio.StreamWriter:
        """Where packets go in; there once it has been started."""
        assert self._child is not None
        assert self._child.stdin is not None
        return self._child.stdin

    async def start(self, width: int, height: int) -> None:
        """Start it, so many columns wide and lines high.

        Raises:
            OSError: the system would not.
        """
        self._child = await asyncio.create_subprocess_exec(
            *self._arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=AHEAD,
            env={**os.environ, **told(width, height)},
            start_new_session=True,  # Ctrl-C, and a terminal that is closed, are for the server to act on
        )
        loop = asyncio.get_running_loop()
        self._tasks = [loop.create_task(self.run()), loop.create_task(self._listen())]

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
            await self.remote_close()

    async def on_meta(self, data: bytes) -> None:
        """Act on what is no painting; of a file that it offers the page is told the key.

        The file is on this machine, so the server reads it. In textual-serve's way it comes through the pipe
        of what is painted, where two threads write at once and mix their packets; and a download that is
        late, or whose page is closed, ends early as if it were whole.
        """
        told = json.loads(data)
        if told["type"] == "deliver_file_start":
            self._downloads[told["key"]] = Path(told["path"])
            await self.remote_write_str(json.dumps([told["type"], told["key"]]))
        else:
            await super().on_meta(data)

    async def stop(self) -> None:
        """End it: by asking, then by leaving it without input, then by force."""
        if self._child is None:
            return
        if not await self._ended(QUIT, self.send_meta({"type": "quit"})):
            if not self.stdin.is_closing():
                self.stdin.transport.abort()
            if not await self._ended(LEAVE):
                with contextlib.suppress(ProcessLookupError):
                    self._child.kill()
                await self._child.wait()
        # A process that it has started may hold its pipes open, so their end is not waited for.
        await asyncio.wait(self._tasks, timeout=LEAVE)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        words = self._words.decode(errors="replace").strip()
        if words:
            log.error(
                "concwatch: the program of a page ended with status %s:\n%s", self._child.returncode, words
            )

    async def _ended(self, seconds: float, first: Awaitable[object] | None = None) -> bool:
        """Do what is to be done ``first``, and tell whether it has ended within so many seconds."""
        assert self._child is not None
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                if first is not None:
                    await first
                await self._child.wait()
        return self._child.returncode is not None

    async def _part(self) -> None:
        """Close the page once it has ended, or has had its time for it, and tell what it said last."""
        assert self._child is not None
        if await self._ended(LEAVE):
            await asyncio.wait(self._tasks[1:], timeout=HEARING)
        await self._close(self._reason())

    def _reason(self) -> str:
        """Return why it ended by itself, in one line; nothing where it ended as it was asked to."""
        assert self._child is not None
        if not self._child.returncode:
            return ""
        words = self._words.decode(errors="replace").split("\n")
        last = next((plain(word).strip() for word in reversed(words) if plain(word).strip()), "")
        return one_line(last or f"its program ended with status {self._child.returncode}")

    async def _listen(self) -> None:
        """Keep the end of what it says on standard error."""
        assert self._child is not None
        assert self._child.stderr is not None
        while words := await self._child.stderr.read(LAST_WORDS):
            self._words = (self._words + words)[-LAST_WORDS:]
