"""Connections to agents: the socket that agents connect to, and the monitor's end of one connection."""

import contextlib
import os
import socket
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from concwatch.links.agent_messages import AgentReport, RawFrame, decode_report
from concwatch.links.link import Ended, Garbage
from concwatch.links.pipe_bytes import MAX_LINES, PipeLines, decode_lines
from concwatch.portable.agent.sending.json_lines import encode
from concwatch.portable.bridge.private_folder import remove_socket_folder, socket_folder

AgentArrival = AgentReport | RawFrame | Garbage | Ended
"""What arrives from an agent."""

SOCKET = "agent.sock"
BACKLOG = 1024
"""Connections that may wait to be accepted."""

BLOCK = 1 << 16
"""Bytes read at once."""


def peer_credentials(connection: socket.socket) -> tuple[int, int]:
    """Return the pid and the user of the process at the other end; 0 and this user if they are unknown.

    Raises:
        OSError: the connection has ended.
    """
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return 0, os.geteuid()
    found = connection.getsockopt(socket.SOL_SOCKET, option, struct.calcsize("3i"))
    pid, user, _ = struct.unpack("3i", found)
    return pid, user


class AgentTransport(Protocol):
    """What carries the lines of one connection to an agent. Never blocks."""

    @property
    def open(self) -> bool:
        """Whether the connection is open."""
        ...

    @property
    def waiting(self) -> bool:
        """Whether lines have been received and not been returned."""
        ...

    def lines(self, most: int) -> Sequence[bytes | None]:
        """Return up to ``most`` received lines; None for one that is too long."""
        ...

    def send(self, line: bytes) -> None:
        """Send a line, with its line end."""
        ...

    def close(self) -> None:
        """Close the connection."""
        ...


class AgentLink:
    """One connection to an agent.

    Args:
        transport: what carries it.
        pid: the process at the other end; 0 if unknown.
    """

    def __init__(self, transport: AgentTransport, pid: int) -> None:
        self._transport = transport
        self.pid = pid
        """The process at the other end; 0 if unknown."""
        self._end_returned = False

    def arrivals(self, most: int = MAX_LINES) -> Sequence[AgentArrival]:
        """Return up to ``most`` reports that have arrived since the last call; `Ended` is the last."""
        found: list[AgentArrival] = decode_lines(self._transport.lines(most), decode_report)
        over = not self._transport.open and not self._transport.waiting
        if over and not self._end_returned and len(found) < most:
            self._end_returned = True
            found.append(Ended("the agent's connection ended"))
        return found

    def send(self, type_: str, **fields: object) -> None:
        """Send one command; it is dropped once the connection has ended."""
        if self._transport.open:
            self._transport.send(encode(type_, **fields))

    def close(self) -> None:
        """Close the connection: the agent removes its hooks, and the process goes on."""
        self._transport.close()


class SocketTransport:
    """A connection to an agent on this host. Buffers a bounded number of received bytes."""

    def __init__(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        self._socket: socket.socket | None = connection
        self._lines = PipeLines()
        self._unsent = b""

    @property
    def open(self) -> bool:
        """Whether the connection is open."""
        return self._socket is not None

    @property
    def waiting(self) -> bool:
        """Whether lines have been received and not been returned."""
        return self._lines.waiting

    def lines(self, most: int) -> Sequence[bytes | None]:
        """Return up to ``most`` received lines; None for one that is too long."""
        self._flush()
        self._receive()
        self._lines.reset()
        return self._lines.lines(most)

    def _receive(self) -> None:
        """Receive what has arrived; close the socket if the other end is closed."""
        while self._socket is not None and not self._lines.full:
            try:
                data = self._socket.recv(BLOCK)
            except BlockingIOError:
                return
            except OSError:
                data = b""
            if not data:
                self.close()
            self._lines.feed(data)

    def send(self, line: bytes) -> None:
        """Send a line; bytes that the socket does not accept at once are sent by `lines`."""
        self._unsent += line
        self._flush()

    def _flush(self) -> None:
        """Send as many of the unsent bytes as the socket accepts."""
        if self._unsent and self._socket is not None:
            with contextlib.suppress(OSError):  # `lines` notices the end of the connection
                self._unsent = self._unsent[self._socket.send(self._unsent) :]

    def close(self) -> None:
        """Close the connection."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None


class AgentListener:
    """A Unix socket for agents to connect to, in a folder that only this user can enter.

    Raises:
        OSError: the folder or the socket cannot be created.
    """

    def __init__(self) -> None:
        self._folder = Path(socket_folder())
        self.path = self._folder / SOCKET
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._socket.bind(str(self.path))
            self._socket.listen(BACKLOG)
            self._socket.setblocking(False)
        except OSError:
            self.close()
            raise

    def accept(self) -> Sequence[AgentLink]:
        """Return the connections since the last call; one from another user is closed."""
        found: list[AgentLink] = []
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return found
            try:
                pid, user = peer_credentials(connection)
                if user in (os.geteuid(), 0):
                    found.append(AgentLink(SocketTransport(connection), pid))
                    continue
            except OSError:
                pass
            connection.close()

    def close(self) -> None:
        """Close the socket and remove the folder."""
        self._socket.close()
        remove_socket_folder(str(self._folder))
