"""The servers that tasks connect to, as processes: of a page for ``http``, of echoes for ``connect``."""

import asyncio
import contextlib
import errno
import importlib.util
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

from msgspec import Struct, structs

from concwatch.monitor.metrics.settings import Settings
from concwatch.monitor.verdicts.events import EventSink
from concwatch.portable.machine.spawn import ChildSetup, kill_session
from concwatch.portable.protocol.workloads import CONNECT, HTTP, Workload, parse
from concwatch.system import echo_server, page_server
from concwatch.system.child import describe_exit, explain_start_error, python_command

HOST = "127.0.0.1"

STDERR_TAIL = 4_000
"""Bytes of the end of its standard error that are read once a server has died."""

ANSWER_LIMIT = 20.0
"""Seconds that a server has to start and answer."""

PORT_TRIES = 10
"""How many ports are tried until one is free on all addresses."""


class ServerKind(Struct, frozen=True):
    """One row: the server that tasks of a workload connect to."""

    name: str
    module: str
    """Its module, whose function ``serve`` is given the file descriptors of its listening sockets."""
    backlog: int
    """Connections that may wait to be accepted."""
    url: str
    """What tasks connect to, with the ``port``, and the first value of the workload as ``value``."""
    request: str
    """What is sent to see whether it answers."""
    addresses: int = 1
    """Addresses that it listens on, from 127.0.0.1 on; a system has about 28,000 ports for tasks to each."""
    needs: str = ""
    """A package that it requires."""


SERVERS = {
    HTTP: ServerKind(
        "page server",
        page_server.__name__,
        page_server.BACKLOG,
        f"http://{HOST}:{{port}}{page_server.PATH}?latency={{value}}",
        f"GET {page_server.PATH} HTTP/1.0\r\nHost: {HOST}\r\n\r\n",
        needs="aiohttp",
    ),
    CONNECT: ServerKind(
        "echo server",
        echo_server.__name__,
        echo_server.BACKLOG,
        f"tcp://{HOST}:{{port}}",
        "ping\n",
        # Other systems have one loopback address, unless they are configured.
        addresses=32 if sys.platform.startswith("linux") else 1,
    ),
}
"""Word of a workload → the server that its tasks connect to."""


def missing(word: str) -> str | None:
    """Return why the server of a workload cannot run on this host and what to do, or None if it can."""
    kind = SERVERS.get(word)
    if kind is None:
        return None
    if sys.platform == "win32":
        return f'workload "{word}" is not available on Windows: a server cannot inherit its socket'
    if kind.needs and importlib.util.find_spec(kind.needs) is None:
        return f"workload \"{word}\" needs {kind.needs}: pip install 'concwatch[http]'"
    return None


def read_workload(text: str) -> str:
    """Parse a workload and return its canonical text.

    Raises:
        ValueError: one line: the text is no workload, or a package it needs is not installed.
    """
    workload = parse(text)
    problem = missing(workload.word)
    if problem:
        raise ValueError(problem)
    return workload.spec


class Server:
    """A running server; on Linux it dies with this process.

    Its sockets listen before it starts: the address is known at once and no connection is refused.

    Args:
        word: the workload whose tasks connect to it.

    Raises:
        ValueError: one line: why the server cannot run.
    """

    def __init__(self, word: str) -> None:
        problem = missing(word)
        if problem:
            raise ValueError(problem)
        import tempfile  # imported here, so that the screen starts without it

        self.kind = SERVERS[word]
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115  # closed with the server
        try:
            with contextlib.ExitStack() as stack:
                sockets = [stack.enter_context(each) for each in _listen(self.kind)]
                setup = stack.enter_context(ChildSetup(0, group=True))
                descriptors = [each.fileno() for each in sockets]
                self.port = int(sockets[0].getsockname()[1])
                self.addresses = len(sockets)
                """How many addresses it listens on, from 127.0.0.1 on."""
                self._process = subprocess.Popen(
                    python_command(_start_code(self.kind, descriptors)),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    stderr=self._stderr,
                    pass_fds=(*descriptors, *setup.descriptors),
                    start_new_session=True,
                )
                setup.apply(self._process.pid)
        except (OSError, subprocess.SubprocessError) as error:
            self._stderr.close()
            why = explain_start_error(error)
            raise ValueError(f"the {self.kind.name} could not be started: {why}") from None

    @property
    def pid(self) -> int:
        """The process id of the server."""
        return self._process.pid

    def url(self, workload: Workload) -> str:
        """Return what tasks of ``workload`` connect to."""
        return self.kind.url.format(port=self.port, value=(*workload.values, None)[0])

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
        """Kill the server with all of its processes: it has nothing to save."""
        assert self._process.stdin is not None
        kill_session(self._process.pid)
        self._process.wait()
        self._process.stdin.close()
        self._stderr.close()


def _start_code(kind: ServerKind, descriptors: list[int]) -> str:
    return f"from {kind.module} import serve; serve({', '.join(map(str, descriptors))})"


def _listen(kind: ServerKind) -> list[socket.socket]:
    """Return sockets that listen on the same port of each address of this system that the server is to have.

    Raises:
        OSError: no port is free on all of them, or too many files are open.
    """
    for tries_left in reversed(range(PORT_TRIES)):
        found: list[socket.socket] = []
        try:
            for address in _addresses(kind.addresses):
                port = found[0].getsockname()[1] if found else 0
                found.append(socket.create_server((address, port), backlog=kind.backlog))
        except OSError as error:
            if error.errno == errno.EADDRNOTAVAIL and found:  # this system does not have so many
                break
            for each in found:
                each.close()
            if error.errno != errno.EADDRINUSE or not tries_left:
                raise
        else:
            break
    return found


def _addresses(count: int) -> Iterator[str]:
    network = HOST.rpartition(".")[0]
    return (f"{network}.{number}" for number in range(1, count + 1))


class ServerKeeper:
    """The servers of a lab: each started for the first tasks that need it, and again after it has died."""

    def __init__(self, open_server: Callable[[str], Server], log: EventSink) -> None:
        self._open = open_server
        self._log = log
        self._servers: dict[str, Server] = {}

    def with_server(self, settings: Settings) -> Settings:
        """Return ``settings`` with the server that their tasks connect to, if any; start it if necessary.

        Raises:
            ValueError: one line: why the server cannot run.
        """
        workload = parse(settings.workload)
        if workload.word not in SERVERS:
            return settings
        self.check()
        server = self._servers.get(workload.word) or self._open(workload.word)
        self._servers[workload.word] = server
        return structs.replace(settings, url=server.url(workload), addresses=server.addresses)

    def check(self) -> None:
        """Close and log each server that has died."""
        for word, server in list(self._servers.items()):
            how = server.ended()
            if how:
                del self._servers[word]
                server.close()
                self._log(f"{SERVERS[word].name} {how}: the next target starts another", "error")

    def close(self) -> None:
        """Close all servers."""
        while self._servers:
            self._servers.popitem()[1].close()


async def server_problem(settings: Settings) -> str | None:
    """Send the server of the workload one request, so that tasks do not wait for it to start.

    Returns:
        Why it does not answer, in one line; None if it does, or if there is no server on this machine.
    """
    kind, url = SERVERS.get(parse(settings.workload).word), urlsplit(settings.url or "")
    if kind is None or not (url.hostname or "").startswith("127."):
        return None
    try:
        async with asyncio.timeout(ANSWER_LIMIT):
            reader, writer = await asyncio.open_connection(url.hostname, url.port)
            writer.write(kind.request.encode())
            answered = await reader.read(1)
            writer.close()
    except OSError as error:  # a time-out is one
        return f"the {kind.name} does not answer: {error}"
    return None if answered else f"the {kind.name} closed the connection without an answer"
