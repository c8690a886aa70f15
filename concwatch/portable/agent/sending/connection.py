"""A non-blocking connection to a monitor, with bounded buffers."""

from __future__ import annotations

import os
from time import monotonic

from ..basics.primitives import sleep
from .json_lines import LONGEST_LINE, decode, encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional, Tuple

MAX_UNSENT = 2 * LONGEST_LINE
"""Unsent bytes above which further reports are dropped, because the monitor is too slow."""

BEHIND = 1 << 16
"""Unsent bytes above which ticks are skipped; nothing is lost, because their figures are totals."""

MAX_COMMAND = 1 << 16


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
