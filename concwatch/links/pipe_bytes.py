"""What comes out of a worker's pipe, kept as bytes within bounds until somebody looks."""

from collections.abc import Callable
from typing import Any

from concwatch.links.link import Garbage
from concwatch.wire import LONGEST_LINE

MAX_BYTES = 4 << 20
"""Bytes taken from one pipe between two looks; 40 MiB a second at ten looks a second."""

MAX_LINES = 1_000
"""Lines given at one look; a worker that keeps to the wire sends ten."""


class PipeBytes:
    """Counts what comes between two looks, so that its reader knows when to leave the pipe alone."""

    def __init__(self) -> None:
        self._count = 0

    def feed(self, data: bytes) -> None:
        """Take what has come."""
        self._count += len(data)

    @property
    def full(self) -> bool:
        """Whether no more should be read before the next look."""
        return self._count >= MAX_BYTES

    def reset(self) -> None:
        """Begin to count anew."""
        self._count = 0


class PipeLines(PipeBytes):
    """Cuts what comes into lines, but only when they are asked for: a flood costs no more than its bytes."""

    def __init__(self) -> None:
        super().__init__()
        self._unread = bytearray()
        self._skipping = False
        """Whether what comes next is the rest of a line that was too long."""

    def feed(self, data: bytes) -> None:
        """Take what has come; the rest of a line that was too long is not kept."""
        super().feed(data)
        if self._skipping:
            _, end, data = data.partition(b"\n")
            self._skipping = not end
        self._unread += data

    @property
    def full(self) -> bool:
        """Whether no more should be read before the next look."""
        return super().full or len(self._unread) > LONGEST_LINE

    @property
    def waiting(self) -> bool:
        """Whether a whole line waits to be given."""
        return b"\n" in self._unread

    def lines(self, most: int = MAX_LINES) -> list[bytes | None]:
        """Return the next whole lines, ``most`` at most, without their ends; None for one too long."""
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

    def reports(self, decode: Callable[[bytes], Any], most: int = MAX_LINES) -> list[Any]:
        """Return what the next whole lines report by ``decode``; `Garbage` for what it refuses."""
        found: list[Any] = []
        for line in self.lines(most):
            if line is None:
                found.append(Garbage(f"a line longer than {LONGEST_LINE:,} bytes"))
                continue
            try:
                found.append(decode(line) if line.strip() else None)
            except ValueError as error:
                found.append(Garbage(str(error)))
        return [report for report in found if report is not None]

    def rest(self) -> bytes:
        """Take all that is left: the beginning of a line that never ended, and whole lines not given."""
        rest = bytes(self._unread)
        self._unread.clear()
        return rest
