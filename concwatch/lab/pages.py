"""The page that tasks of the workload ``http`` fetch: its server as a process, from its start to its end."""

import asyncio
import importlib.util
import socket
import subprocess
import sys
from collections.abc import Callable
from urllib.parse import urlsplit

from msgspec import structs

from concwatch.lab.events import EventSink
from concwatch.lab.settings import Settings, fetches
from concwatch.page_server import BACKLOG, PATH
from concwatch.system.child import describe_exit, explain_start_error, python_command
from concwatch.system.spawn import child_setup
from concwatch.worker.workloads import HTTP, parse

HOST = "127.0.0.1"

LAST_WORDS = 4_000
"""Bytes of the end of its standard error that are looked at when the server has died."""

PAGE_LIMIT = 20.0
"""Seconds that the server gets to start."""

_START = "from concwatch.page_server import serve; serve({fd})"


def missing() -> str | None:
    """Return why no page can be served here and what to do, or None when it can."""
    if sys.platform == "win32":
        return f'workload "{HTTP}" is not there on Windows: a page server cannot be handed its socket'
    if importlib.util.find_spec("aiohttp") is None:
        return f"workload \"{HTTP}\" needs aiohttp: pip install 'concwatch[http]'"
    return None


def read_workload(text: str) -> str:
    """Read what each task shall do; give it as it is written.

    Raises:
        ValueError: one line: it is none, or what it needs is not here.
    """
    workload = parse(text)
    problem = missing() if workload.word == HTTP else None
    if problem:
        raise ValueError(problem)
    return workload.spec


class PageServer:
    """A page server that runs; on Linux it ends with the thread that made it, whatever ends that.

    Its socket listens before it is started, so the address is known at once and no request is ever refused.

    Raises:
        ValueError: one line that says why there is none.
    """

    def __init__(self) -> None:
        problem = missing()
        if problem:
            raise ValueError(problem)
        import tempfile  # only here: the screen need not wait for it

        self._words = tempfile.TemporaryFile()  # noqa: SIM115  # closed with the server
        try:
            with socket.create_server((HOST, 0), backlog=BACKLOG) as listening:
                self.port = int(listening.getsockname()[1])
                fd = listening.fileno()
                self._process = subprocess.Popen(
                    python_command(_START.format(fd=fd)),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    stderr=self._words,
                    pass_fds=(fd,),
                    start_new_session=True,
                    preexec_fn=child_setup(0),
                )
        except (OSError, subprocess.SubprocessError) as error:
            self._words.close()
            raise ValueError(f"the page server could not be started: {explain_start_error(error)}") from None

    @property
    def pid(self) -> int:
        """The server's process."""
        return self._process.pid

    def url(self, latency: float) -> str:
        """Return the address of the page that comes after ``latency`` seconds."""
        return f"http://{HOST}:{self.port}{PATH}?latency={latency}"

    def ended(self) -> str | None:
        """Return how the server ended, with its last words, or None while it runs."""
        status = self._process.poll()
        if status is None:
            return None
        size = self._words.seek(0, 2)
        self._words.seek(max(0, size - LAST_WORDS))
        last = self._words.read().decode(errors="replace").strip().splitlines()
        return describe_exit(status) + (f": {last[-1][:300]}" if last else "")

    def close(self) -> None:
        """End it by force: there is nothing that it would have to save."""
        assert self._process.stdin is not None
        self._process.kill()
        self._process.wait()
        self._process.stdin.close()
        self._words.close()


class PageKeeper:
    """The page server of a lab: started when tasks are first to fetch, and anew where it has died."""

    def __init__(self, open_pages: Callable[[], PageServer], say: EventSink) -> None:
        self._open = open_pages
        self._say = say
        self._pages: PageServer | None = None

    def with_page(self, settings: Settings) -> Settings:
        """Return ``settings`` with the page that their tasks fetch, if they do; see that its server runs.

        Raises:
            ValueError: one line that says why there is none.
        """
        if not fetches(settings.workload):
            return settings
        (latency,) = parse(settings.workload).values
        self.watch()
        if self._pages is None:
            self._pages = self._open()
        return structs.replace(settings, page=self._pages.url(float(str(latency))))

    def watch(self) -> None:
        """See whether the server has died, and say so."""
        how = self._pages.ended() if self._pages else None
        if how:
            self.close()
            self._say(f"page server {how}: the next target starts another", "error")

    def close(self) -> None:
        """End the server, if there is one."""
        if self._pages is not None:
            self._pages.close()
            self._pages = None


async def page_problem(page: str | None) -> str | None:
    """Fetch a page once, if tasks will: its server may still be starting, which is no task's time.

    Returns:
        Why it cannot be fetched, in one line; None where it can, or need not.
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
