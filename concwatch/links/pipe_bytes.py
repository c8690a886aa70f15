"""Bounded buffers for the bytes read from a worker's pipes."""

from collections.abc import Callable, Iterable
from typing import Any

from concwatch.links.link import Garbage
from concwatch.portable.agent.sending.json_lines import LONGEST_LINE

MAX_BYTES = 4 << 20
"""Bytes read from one pipe between two polls: 40 MiB per second at ten polls per second."""

MAX_LINES = 1_000
"""Lines decoded in one poll; a well-behaved worker sends ten a second."""


class PipeBytes:
    """Counts the bytes read between two polls, so that reading can be paused at a limit."""

    def __init__(self) -> None:
        self.count = 0
        """Bytes received since the last poll."""

    def feed(self, data: bytes) -> None:
        """Count received bytes."""
        self.count += len(data)

    @property
    def full(self) -> bool:
        """Whether reading should pause until the next poll."""
        return self.count >= MAX_BYTES

    def reset(self) -> None:
        """Reset the count, after a poll."""
        self.count = 0


class PipeLines(PipeBytes):
    """Splits bytes into lines, lazily: unread lines of a flood cost only their bytes."""

    def __init__(self) -> None:
        super().__init__()
        self._unread = bytearray()
        self._skipping = False
        """Whether the next bytes belong to a line that was too long."""

    def feed(self, data: bytes) -> None:
        """Add received bytes, except the rest of a line that was too long."""
        super().feed(data)
        if self._skipping:
            _, end, data = data.partition(b"\n")
            self._skipping = not end
        self._unread += data

    @property
    def full(self) -> bool:
        """Whether reading should pause until the next poll."""
        return super().full or len(self._unread) > LONGEST_LINE

    @property
    def waiting(self) -> bool:
        """Whether a complete line is buffered."""
        return b"\n" in self._unread

    def lines(self, most: int = MAX_LINES) -> list[bytes | None]:
        """Return up to ``most`` complete lines without their line ends; None for one that is too long."""
        found: list[bytes | None] = []
        begin = 0
        while len(found) < most and (end := self._unread.find(b"\n", begin)) >= 0:
            found.append(bytes(self._unread[begin:end]) if end - begin <= LONGEST_LINE else None)
            begin = end + 1
        del self._unread[:begin]
        if len(self._unread) > LONGEST_LINE and not self.waiting:
            self._unread.clear()
            self._skipping = True
            found.append(None)
        return found

    def rest(self) -> bytes:
        """Remove and return all buffered bytes."""
        rest = bytes(self._unread)
        self._unread.clear()
        return rest


def decode_lines(lines: Iterable[bytes | None], decode: Callable[[bytes], Any]) -> list[Any]:
    """Decode lines, of which None is one that is too long; those that ``decode`` rejects become `Garbage`."""
    found: list[Any] = []
    for line in lines:
        if line is None:
            found.append(Garbage(f"a line longer than {LONGEST_LINE:,} bytes"))
            continue
        try:
            found.append(decode(line) if line.strip() else None)
        except ValueError as error:
            found.append(Garbage(str(error)))
    return [report for report in found if report is not None]
