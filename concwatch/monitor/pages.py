"""The server of the page that tasks of the workload ``http`` fetch, as a process."""

import asyncio
import importlib.util
import socket
import subprocess
import sys
from collections.abc import Callable
from urllib.parse import urlsplit

from msgspec import structs

from concwatch.monitor.events import EventSink
from concwatch.monitor.settings import Settings, fetches
from concwatch.protocol.workloads import HTTP, parse
from concwatch.system.child import describe_exit, explain_start_error, python_command
from concwatch.system.page_server import BACKLOG, PATH
from concwatch.system.spawn import ChildSetup

HOST = "127.0.0.1"

STDERR_TAIL = 4_000
"""Bytes of the end of its standard error that are read once the server has died."""

PAGE_LIMIT = 20.0
"""Seconds that the server has to start."""

_START = "from concwatch.system.page_server import serve; serve({fd})"


def missing() -> str | None:
    """Return why no page can be served on this host and what to do, or None if it can."""
    if sys.platform == "win32":
        return f'workload "{HTTP}" is not available on Windows: a page server cannot inherit its socket'
    if importlib.util.find_spec("aiohttp") is None:
        return f"workload \"{HTTP}\" needs aiohttp: pip install 'concwatch[http]'"
    return None


def read_workload(text: str) -> str:
    """Parse a workload and return its canonical text.

    Raises:
        ValueError: one line: the text is no workload, or a package it needs is not installed.
    """
    workload = parse(text)
    problem = missing() if workload.word == HTTP else None
    if problem:
        raise ValueError(problem)
    return workload.spec


class PageServer:
    """A running page server; on Linux it dies with the thread that created it.

    Its socket listens before the server starts: the address is known at once and no connection is refused.

    Raises:
        ValueError: one line: why the server cannot run.
    """

    def __init__(self) -> None:
        problem = missing()
        if problem:
            raise ValueError(problem)
        import tempfile  # imported here, so that the screen starts without it

        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115  # closed with the server
        try:
            with socket.create_server((HOST, 0), backlog=BACKLOG) as listening, ChildSetup(0) as setup:
                self.port = int(listening.getsockname()[1])
                fd = listening.fileno()
                self._process = subprocess.Popen(
                    python_command(_START.format(fd=fd)),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    stderr=self._stderr,
                    pass_fds=(fd, *setup.descriptors),
                    start_new_session=True,
                )
                setup.apply(self._process.pid)
        except (OSError, subprocess.SubprocessError) as error:
            self._stderr.close()
            raise ValueError(f"the page server could not be started: {explain_start_error(error)}") from None

    @property
    def pid(self) -> int:
        """The process id of the server."""
        return self._process.pid

    def url(self, latency: float) -> str:
        """Return the URL of the page that is sent after ``latency`` seconds."""
        return f"http://{HOST}:{self.port}{PATH}?latency={latency}"

    def ended(self) -> str | None:
        """Return how the server ended, with the end of its standard error, or None while it runs."""
        status = self._process.poll()
        if status is None:
            return None
        size = self._stderr.seek(0, 2)
        self._stderr.seek(max(0, size - STDERR_TAIL))
        last = self._stderr.read().decode(errors="replace").strip().splitlines()
        return describe_exit(status) + (f": {last[-1][:300]}" if last else "")

    def close(self) -> None:
        """Kill the server: it has nothing to save."""
        assert self._process.stdin is not None
        self._process.kill()
        self._process.wait()
        self._process.stdin.close()
        self._stderr.close()


class PageKeeper:
    """The page server of a lab: started for the first tasks that fetch, and again after it has died."""

    def __init__(self, open_pages: Callable[[], PageServer], log: EventSink) -> None:
        self._open = open_pages
        self._log = log
        self._pages: PageServer | None = None

    def with_page(self, settings: Settings) -> Settings:
        """Return ``settings`` with the page that their tasks fetch, if any; start its server if necessary.

        Raises:
            ValueError: one line: why the server cannot run.
        """
        if not fetches(settings.workload):
            return settings
        (latency,) = parse(settings.workload).values
        self.check()
        if self._pages is None:
            self._pages = self._open()
        return structs.replace(settings, page=self._pages.url(float(str(latency))))

    def check(self) -> None:
        """Close and log a server that has died."""
        how = self._pages.ended() if self._pages else None
        if how:
            self.close()
            self._log(f"page server {how}: the next target starts another", "error")

    def close(self) -> None:
        """Close the server, if there is one."""
        if self._pages is not None:
            self._pages.close()
            self._pages = None


async def page_problem(page: str | None) -> str | None:
    """Fetch a page once, so that tasks do not wait for its server to start.

    Returns:
        Why it cannot be fetched, in one line; None if it can be, or if there is no page.
    """
    if page is None or not page.startswith("http://127."):
        return None
    address = urlsplit(page)
    request = f"GET {address.path} HTTP/1.0\r\nHost: {address.hostname}\r\n\r\n"
    try:
        async with asyncio.timeout(PAGE_LIMIT):
            reader, writer = await asyncio.open_connection(address.hostname, address.port)
            writer.write(request.encode())
            answered = await reader.read(1)
            writer.close()
    except OSError as error:  # a time-out is one
        return f"the page server does not answer: {error}"
    return None if answered else "the page server closed the connection without an answer"
