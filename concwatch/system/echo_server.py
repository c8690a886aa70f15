"""The server that tasks of the workload ``connect`` hold connections to: it sends back what it receives.

It runs in processes of its own, as many as the limit on open files requires: one starts the others, each of
which accepts connections from the same listening sockets until it is nearly at that limit.
"""

import os
import selectors
import signal
import socket
import sys
from collections.abc import Sequence
from time import monotonic
from typing import NoReturn

from concwatch.portable.machine.open_files import open_file_limit, raise_limit

BACKLOG = 65_535
"""Connections to each address that may wait to be accepted; the system allows fewer."""

FILES_KEPT = 128
"""Open files of a process that are not connections: its listening sockets, pipes and the selector."""

UNLIMITED = 1 << 20
"""Connections of a process without a limit on open files."""

NEXT = 3 / 4
"""Share of its connections at which a process has the next one started, before it is full."""

AGAIN = 0.9
"""Share of its connections below which a full process accepts new ones."""

RETRY = 1.0
"""Seconds after which a process that could not accept a connection, by a limit of the system, tries again."""

BATCH = 256
"""Connections that are accepted from one address before lines are sent back again."""

READ_SIZE = 4_096
"""Bytes that are read of a connection at once."""

STDIN = 0
"""Nothing is ever written to standard input: it becomes readable when the monitor has ended."""


class EchoServer:
    """One process of the server.

    A connection is a file descriptor, registered with the selector: it has no object and no buffer here.

    Args:
        listening: the sockets that it accepts connections from.
        report: a file descriptor that a byte is written to once the next process is to be started.
        most: connections that it may hold.
    """

    def __init__(self, listening: Sequence[socket.socket], report: int, most: int) -> None:
        self._listening = listening
        self._report: int | None = report
        self._most = most
        self._held = 0
        self._accepting = False
        self._retry_at = 0.0  # seconds, monotonic
        self._selector = selectors.DefaultSelector()
        self._selector.register(STDIN, selectors.EVENT_READ)

    def serve(self) -> None:
        """Serve until standard input is closed."""
        while True:
            if not self._accepting and self._held < self._most * AGAIN and monotonic() >= self._retry_at:
                self._set_accepting(True)
            for key, _ in self._selector.select(None if self._accepting else RETRY):
                if key.fd == STDIN:
                    return
                if key.data is None:
                    self._echo(key.fd)
                elif self._accepting:
                    self._accept(key.data)

    def _set_accepting(self, on: bool) -> None:
        self._accepting = on
        for each in self._listening:
            if on:
                self._selector.register(each, selectors.EVENT_READ, each)
            else:
                self._selector.unregister(each)

    def _accept(self, listening: socket.socket) -> None:
        """Accept what waits to be accepted, up to `BATCH` connections; what is beyond the limit waits on."""
        for _ in range(min(BATCH, self._most - self._held)):
            try:
                connection, _ = listening.accept()
            except (BlockingIOError, ConnectionError):  # another process has accepted it, or it was closed
                break
            except OSError:
                self._retry_at = monotonic() + RETRY
                self._set_accepting(False)
                return
            connection.setblocking(False)
            self._selector.register(connection.detach(), selectors.EVENT_READ)
            self._held += 1
        if self._report is not None and self._held >= self._most * NEXT:
            os.write(self._report, b"+")
            self._report = None
        if self._held >= self._most:
            self._set_accepting(False)

    def _echo(self, connection: int) -> None:
        """Send back what a client has sent; close its connection if it has ended, or does not read."""
        try:
            received = os.read(connection, READ_SIZE)
            stays = received and os.write(connection, received) == len(received)
        except OSError:
            stays = False
        if not stays:
            self._selector.unregister(connection)
            os.close(connection)
            self._held -= 1


def serve(*descriptors: int) -> NoReturn:
    """Serve on the listening sockets ``descriptors`` until standard input is closed, or a process ends."""
    raise_limit()
    most = max(1, (open_file_limit() or UNLIMITED) - FILES_KEPT)
    listening = [socket.socket(fileno=descriptor) for descriptor in descriptors]
    for each in listening:
        each.setblocking(False)
    selector = selectors.DefaultSelector()
    selector.register(STDIN, selectors.EVENT_READ)

    def start() -> None:
        read_end, write_end = os.pipe()
        pid = os.fork()
        if not pid:
            selector.close()
            os.close(read_end)
            _serve(EchoServer(listening, write_end, most))
        os.close(write_end)
        selector.register(read_end, selectors.EVENT_READ, pid)

    start()
    while True:
        for key, _ in selector.select():
            if key.fd == STDIN:
                os._exit(0)
            if os.read(key.fd, 1):
                start()
            else:
                _end_like(key.data)


def _serve(server: EchoServer) -> NoReturn:
    """Serve in a process of its own, to its end."""
    status = 1
    try:
        server.serve()
        status = 0
    except Exception:
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(status)


def _end_like(pid: int) -> NoReturn:
    """End this process in the same way as a process of the server that has ended."""
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if status < 0:
        os.kill(os.getpid(), -status)
        signal.pause()
    os._exit(status)
