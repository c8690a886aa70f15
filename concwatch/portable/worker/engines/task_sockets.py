"""Sockets of tasks that block a thread, which can be cancelled while they wait for their connection."""

from __future__ import annotations

import contextlib
import select
import socket
from time import monotonic

from concwatch.portable.worker.engines.bodies import TaskCancelled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class TaskSocket(socket.socket):
    """A socket that its token shuts down to cancel the task that waits for it.

    Leaving its ``with`` block raises `TaskCancelled` if that has happened.
    """

    __slots__ = ("_token", "interrupted")

    def __init__(self, token: Any) -> None:
        super().__init__(socket.AF_INET, socket.SOCK_STREAM)
        self._token = token
        self.interrupted = False
        """Whether its task has been cancelled by `interrupt`."""

    def connect(self, address: Any) -> None:
        """Connect; raises `TaskCancelled` if this task is to be cancelled."""
        super().connect(address)
        self._token.add_connection(self)

    def interrupt(self) -> None:
        """Cancel the task that waits for this socket, from another thread."""
        self.interrupted = True
        with contextlib.suppress(OSError):  # its server has closed the connection
            self.shutdown(socket.SHUT_RDWR)

    def __exit__(self, *error: object) -> None:
        self._token.drop_connection(self)
        self.close()
        if self.interrupted:
            raise TaskCancelled


class PolledSocket(socket.socket):
    """A socket that waits for data or for cancellation by its token, whichever comes first."""

    __slots__ = ("_token",)

    def __init__(self, token: Any) -> None:
        super().__init__(socket.AF_INET, socket.SOCK_STREAM)
        self._token = token

    def recv(self, *arguments: Any) -> bytes:
        """Receive data; raises `TaskCancelled` if this task is to be cancelled."""
        seconds = self.gettimeout()
        deadline = None if seconds is None else monotonic() + seconds
        poll = select.poll()
        poll.register(self, select.POLLIN)
        poll.register(self._token.end, select.POLLIN)
        while True:
            ready = dict(poll.poll(None if deadline is None else max(0.0, deadline - monotonic()) * 1000))
            if self._token.end in ready:
                self._token.check()
            if self.fileno() in ready:
                return super().recv(*arguments)
            if deadline is not None and monotonic() >= deadline:
                raise socket.timeout("timed out")
