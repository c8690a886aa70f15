"""The way to a monitor: how one is found, a non-blocking connection with bounded buffers, and the outbox."""

from __future__ import annotations

import os
from collections import deque
from errno import EBADF
from time import monotonic

from ..basics.guard import ERRORS
from ..basics.primitives import sleep
from . import places
from .json_lines import LONGEST_LINE, decode, encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Deque, Dict, List, Optional, Tuple

    Send = Callable[[Dict[str, Any]], None]
    """Sends a report, given its fields."""

MAX_UNSENT = 2 * LONGEST_LINE
"""Unsent bytes above which further reports are dropped, because the monitor is too slow."""

BEHIND = 1 << 16
"""Unsent bytes above which ticks are skipped; nothing is lost, because their figures are totals."""

MAX_COMMAND = 1 << 16

MAX_KEPT = 1_000
"""The most reports that are kept for a slow monitor."""

ERRORS_INTERVAL = 1.0
"""Least seconds between two reports of the agent's own errors."""

MAX_ATTEMPTS = 5
"""Attempts to connect to a monitor."""

ACCEPT_INTERVAL = 0.5
"""Seconds between two checks for a monitor that has connected to the listening socket."""

ANSWERS = "answers to commands"
"""What is missing if a command fails."""


class Lost(Exception):
    """The connection has ended; ``by_program`` if the program closed it, as a daemon does when it starts."""

    def __init__(self, by_program: bool = False) -> None:
        super().__init__()
        self.by_program = by_program


class Connection:
    """Sends reports and receives commands."""

    def __init__(self, sock: Any) -> None:
        self._sock = sock
        self._identity = self._read_identity()
        self._out = bytearray()
        self._in = bytearray()
        self.timeout = 0.0
        """Seconds that sending may block."""
        self.behind = False
        """Whether the monitor reads too slowly: reports that can be skipped should be."""

    @property
    def descriptor(self) -> int:
        """The descriptor of the socket."""
        return int(self._sock.fileno())

    def _read_identity(self) -> Tuple[int, int]:
        try:
            status = os.fstat(self._sock.fileno())
        except OSError:
            raise Lost(by_program=True) from None
        return status.st_dev, status.st_ino

    def _check(self) -> None:
        """Raise `Lost` if the program has closed the descriptor, which another file may use now."""
        if self._read_identity() != self._identity:
            raise Lost(by_program=True)

    def send(self, type_: str, **fields: Any) -> None:
        """Queue a report for `flush`. It is dropped if too many bytes are unsent."""
        line = encode(type_, **fields)
        if len(line) <= LONGEST_LINE and len(self._out) <= MAX_UNSENT:
            self._out += line

    def send_errors(self) -> None:
        """Queue a report of the agent's own errors."""
        self.send("agent_errors", **ERRORS.report())

    def flush(self) -> None:
        """Send as many of the unsent bytes as the socket takes.

        Raises:
            Lost: the connection has ended.
        """
        deadline = monotonic() + self.timeout
        while self._out:
            self._check()
            try:
                sent = self._sock.send(self._out)
            except BlockingIOError:
                if monotonic() >= deadline:
                    break
                sleep(0.002)
                continue
            except OSError:
                raise Lost from None
            del self._out[:sent]
        self.behind = len(self._out) > BEHIND

    def commands(self) -> List[Tuple[Optional[Dict[str, Any]], str]]:
        """Return the commands received since the last call: their fields, or None and an error message.

        Raises:
            Lost: the connection has ended.
        """
        self._check()
        try:
            data = self._sock.recv(MAX_COMMAND)
        except BlockingIOError:
            return []
        except OSError:
            raise Lost from None
        if not data:
            raise Lost
        self._in += data
        *lines, rest = self._in.split(b"\n")
        if len(rest) > MAX_COMMAND:
            raise Lost
        self._in = rest
        received: List[Tuple[Optional[Dict[str, Any]], str]] = []
        for line in lines:
            if line.strip():
                try:
                    received.append((decode(bytes(line)), ""))
                except ValueError as error:
                    received.append((None, str(error)))
        return received

    def close(self) -> None:
        """Close the socket, unless another file uses its descriptor by now."""
        try:
            self._check()
        except Lost:
            self._sock.detach()
        else:
            self._sock.close()


class Outbox:
    """What a session sends, over the connection that it has at the time."""

    connection: Connection

    def __init__(self) -> None:
        self.kept: Deque[Tuple[str, Dict[str, Any]]] = deque(maxlen=MAX_KEPT)
        """Reports that are sent as soon as the monitor does not read too slowly."""
        self._errors_due = 0.0

    def send(self, type_: str, **fields: Any) -> None:
        """Send a report with the next `flush`."""
        self.connection.send(type_, **fields)

    def sender(self, type_: str) -> Send:
        """Return what sends reports of a type."""
        return lambda fields: self.connection.send(type_, **fields)

    def keeper(self, type_: str) -> Send:
        """Return what keeps reports of a type for `send_kept`."""
        return lambda fields: self.kept.append((type_, fields))

    def send_kept(self) -> None:
        """Send the reports that were kept, unless the monitor reads too slowly."""
        while self.kept and not self.connection.behind:
            type_, fields = self.kept.popleft()
            self.connection.send(type_, **fields)

    def send_error(self, command: Optional[str], message: str) -> None:
        """Report why something that the monitor expects, or has asked for by a command, is missing."""
        self.connection.send("error", command=command, message=message, detail=None)

    def send_failure(self, command: Optional[str], error: Exception) -> None:
        """Report why there is no answer to a command: it was refused, or the agent has failed."""
        if isinstance(error, ValueError):
            self.send_error(command, " ".join(str(error).split())[:1000])
            return
        ERRORS.add(ANSWERS)
        if command is not None:  # the text of the exception may have values of the program
            self.send_error(command, f"the agent has failed: {type(error).__name__}")

    def flush(self) -> None:
        """Send everything, with the errors of the agent itself if the last report of these is old enough.

        Raises:
            Lost: the connection has ended.
        """
        if ERRORS.changed and monotonic() >= self._errors_due:
            self._errors_due = monotonic() + ERRORS_INTERVAL
            self.connection.send_errors()
        self.connection.flush()


class Monitors:
    """Connects to a monitor, or listens for monitors.

    Args:
        wait: waits for some seconds; returns False if the search should end.
    """

    def __init__(self, wait: Callable[[float], bool]) -> None:
        self.address: Optional[str] = None
        """The monitor's socket; None if the agent listens for monitors."""
        self._wait = wait
        self._socket: Any = None
        """A socket created before it is connected, while the program opens no files."""
        self._listener: Any = None
        self._listens_at = ""

    def prepare(self) -> None:
        """Create the socket that will be connected, so that the program's files have their usual numbers."""
        try:
            self._socket = places.moved(places.unix_socket())
        except OSError:  # no more descriptors: `find` tries again
            pass

    def find(self) -> Optional[Connection]:
        """Return a connection to a monitor; None if there will be none.

        Raises:
            Lost: the program has closed it.
        """
        return self._accept() if self.address is None else self._connect(self.address)

    def _connect(self, address: str) -> Optional[Connection]:
        for attempt in range(MAX_ATTEMPTS):
            if attempt and not self._wait(0.1 * attempt):
                return None
            prepared, self._socket = self._socket, None
            try:
                return Connection(places.connect(address, prepared or places.moved(places.unix_socket())))
            except BlockingIOError:  # its backlog is full
                continue
            except OSError as error:
                if prepared is None or error.errno != EBADF:
                    return None
        return None

    def _accept(self) -> Optional[Connection]:
        if self._listener is None:
            self._listener, self._listens_at = places.listen()
        while True:
            try:
                return Connection(places.accept(self._listener))
            except OSError:  # no connection, or one of another user
                if not self._wait(ACCEPT_INTERVAL):
                    return None

    def close(self) -> None:
        """Listen no more."""
        listened = self._listener is not None
        self.forget()
        if listened:
            try:
                os.unlink(self._listens_at)
            except OSError:
                pass

    def forget(self) -> None:
        """Close the sockets in a forked child. The path at which the parent listens stays."""
        for sock in (self._socket, self._listener):
            if sock is not None:
                sock.close()
        self._socket = self._listener = None
