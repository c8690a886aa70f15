"""A connection to a monitor that never blocks, nor fills memory, nor writes into a file of the program's."""

from __future__ import annotations

import os
from time import monotonic

from .json_lines import LONGEST_LINE, decode, encode
from .primitives import sleep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional, Tuple

MOST_WAITING = 2 * LONGEST_LINE
"""Bytes that wait for a monitor that is slow; nothing is put behind them."""

BEHIND = 1 << 16
"""Bytes that wait from which on ticks are left out: they are totals, and the next one says the same."""

LONGEST_COMMAND = 1 << 16


class Lost(Exception):
    """The monitor is gone; or the program has closed the connection, as one does that becomes a daemon."""

    def __init__(self, by_program: bool = False) -> None:
        super().__init__()
        self.by_program = by_program


class Connection:
    """Sends reports and receives commands."""

    def __init__(self, sock: Any) -> None:
        self._sock = sock
        self._identity = self._look()
        self._out = bytearray()
        self._in = bytearray()
        self.patience = 0.0
        """Seconds that sending may wait for the monitor."""

    def _look(self) -> Tuple[int, int]:
        try:
            found = os.fstat(self._sock.fileno())
        except OSError:
            raise Lost(by_program=True) from None
        return found.st_dev, found.st_ino

    def _check(self) -> None:
        """See that the descriptor is still this connection's: the number of a closed one is given anew."""
        if self._look() != self._identity:
            raise Lost(by_program=True)

    def send(self, type_: str, **fields: Any) -> None:
        """Send one report as soon as the monitor takes it; with very much waiting it is left out."""
        line = encode(type_, fields)
        if len(line) > LONGEST_LINE or len(self._out) > MOST_WAITING:
            return
        self._out += line
        self.flush()

    @property
    def behind(self) -> bool:
        """Whether the monitor is slow to read: then what can wait should not be sent."""
        return len(self._out) > BEHIND

    def flush(self) -> None:
        """Send what waits, as far as the monitor takes it.

        Raises:
            Lost: there is nobody who would.
        """
        until = monotonic() + self.patience
        while self._out:
            self._check()
            try:
                sent = self._sock.send(self._out)
            except BlockingIOError:
                if monotonic() >= until:
                    return
                sleep(0.002)
                continue
            except OSError:
                raise Lost from None
            del self._out[:sent]

    def commands(self) -> List[Tuple[Optional[Dict[str, Any]], str]]:
        """Return the commands that have come: the fields, or None and what is wrong with the line.

        Raises:
            Lost: the connection has ended.
        """
        self._check()
        try:
            data = self._sock.recv(LONGEST_COMMAND)
        except BlockingIOError:
            return []
        except OSError:
            raise Lost from None
        if not data:
            raise Lost
        self._in += data
        *lines, rest = self._in.split(b"\n")
        if len(rest) > LONGEST_COMMAND:
            raise Lost
        self._in = rest
        found: List[Tuple[Optional[Dict[str, Any]], str]] = []
        for line in lines:
            if line.strip():
                try:
                    found.append((decode(bytes(line)), ""))
                except ValueError as error:
                    found.append((None, str(error)))
        return found

    def close(self) -> None:
        """Close it, unless the number is another file's by now."""
        try:
            self._check()
        except Lost:
            self._sock.detach()
        else:
            self._sock.close()
