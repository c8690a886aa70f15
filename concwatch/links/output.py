"""What comes from a worker: lines of the wire, standard error and its end, within bounds."""

from collections.abc import Callable, Sequence

from concwatch.links.link import Arrival, Ended, Flood, Garbage, Noise
from concwatch.links.messages import decode, quoted
from concwatch.links.pipe_bytes import PipeBytes, PipeLines
from concwatch.system.child import describe_exit, error_line

OUT, ERR = 1, 2
"""The pipes of a worker, by their descriptors there."""

NOISE_KEPT = 4_000
"""Bytes of standard error kept between two looks, and quoted when the worker dies."""


class Output:
    """Keeps what a worker writes until somebody looks."""

    def __init__(self, pause: Callable[[int], None], resume: Callable[[int], None]) -> None:
        """Keep what is fed.

        Args:
            pause: called with the descriptor of a pipe of which enough has come before the next look.
            resume: called with it once there has been one.
        """
        self._pause, self._resume = pause, resume
        self._lines = PipeLines()
        self._pipes: dict[int, PipeBytes] = {OUT: self._lines, ERR: PipeBytes()}
        self._paused: set[int] = set()
        self._noise = bytearray()
        self._last_noise = b""
        self._ended: Ended | None = None

    def feed(self, fd: int, data: bytes) -> None:
        """Take what has come from one of the two pipes."""
        pipe = self._pipes[fd]
        pipe.feed(data)
        if fd == ERR:
            self._last_noise = (self._last_noise + data)[-NOISE_KEPT:]
            self._noise += data[: max(0, NOISE_KEPT - len(self._noise))]
        if pipe.full and fd not in self._paused:
            self._paused.add(fd)
            self._pause(fd)

    def end(self, ended: Ended) -> None:
        """Take the end, behind which nothing comes."""
        self._ended = ended

    def exited(self, status: int) -> None:
        """Take the end of a process by its exit status, with what its standard error says of it."""
        words = self.error_line
        self.end(Ended(describe_exit(status) + (f": {words}" if words else "")))

    @property
    def error_line(self) -> str:
        """The line of standard error, so far, that says most about the end."""
        return error_line(self._last_noise.decode(errors="replace"))

    def arrivals(self) -> Sequence[Arrival]:
        """Return what has come since the last call; a flood little by little."""
        found: list[Arrival] = []
        if self._noise:
            found.append(Noise(self._noise.decode(errors="replace")))
            self._noise.clear()
        found += self._lines.reports(decode)
        found += self._go_on_reading()
        if self._ended is not None:
            flooded, rest = self._lines.waiting, self._lines.rest()
            if flooded:  # nobody waits for the end of a worker that floods
                found.append(Garbage(f"the last {len(rest):,} bytes that it sent are not read"))
            elif rest.strip():
                found.append(Garbage(f"ended in the middle of a line: {quoted(rest)}"))
            found.append(self._ended)
            self._ended = None
        return found

    def _go_on_reading(self) -> Sequence[Arrival]:
        """Begin to count anew what comes; report what had to wait."""
        floods = []
        if OUT in self._paused or self._lines.waiting:
            floods.append(Flood("sends more than is read of it: it has to wait"))
        if ERR in self._paused:
            floods.append(Flood("writes more to standard error than is read of it: it has to wait"))
        for fd, pipe in self._pipes.items():
            pipe.reset()
            if fd in self._paused and not pipe.full:
                self._paused.remove(fd)
                self._resume(fd)
        return floods
