"""A worker's output: messages, standard error and its exit, buffered within bounds."""

from collections.abc import Sequence

from concwatch.links.link import Arrival, Ended, Flood, Garbage, Noise
from concwatch.links.messages import decode, quoted
from concwatch.links.pipe_bytes import PipeBytes, PipeLines, decode_lines
from concwatch.system.child import describe_exit, error_line

OUT, ERR = 1, 2
"""The descriptors of a worker's pipes."""

NOISE_KEPT = 4_000
"""Bytes of standard error that are kept between two polls, and to explain the worker's exit."""


class ProcessOutput:
    """Buffers a worker's output until it is polled: the receiving half of a link to a process."""

    def __init__(self) -> None:
        self._lines = PipeLines()
        self._pipes: dict[int, PipeBytes] = {OUT: self._lines, ERR: PipeBytes()}
        self._paused: set[int] = set()
        self._noise = bytearray()
        self._last_noise = b""
        self._end: Ended | None = None

    def pause_pipe(self, fd: int) -> None:
        """Stop reading a pipe until the next poll; a subclass that can do so overrides this."""

    def resume_pipe(self, fd: int) -> None:
        """Read a paused pipe again, after that poll."""

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Buffer bytes read from a pipe, and pause it at its limit; asyncio calls this."""
        pipe = self._pipes[fd]
        pipe.feed(data)
        if fd == ERR:
            self._last_noise = (self._last_noise + data)[-NOISE_KEPT:]
            self._noise += data[: max(0, NOISE_KEPT - len(self._noise))]
        if pipe.full and fd not in self._paused:
            self._paused.add(fd)
            self.pause_pipe(fd)

    def end(self, ended: Ended) -> None:
        """Keep how the process ended until the next poll."""
        self._end = ended

    def exited(self, status: int) -> None:
        """Set that the process exited with ``status``, explained by its standard error."""
        words = self.error_line
        self.end(Ended(describe_exit(status) + (f": {words}" if words else ""), status=status))

    @property
    def error_line(self) -> str:
        """The line of standard error so far that best explains the exit."""
        return error_line(self._last_noise.decode(errors="replace"))

    def arrivals(self, now: float) -> Sequence[Arrival]:
        """Return what has arrived since the last call, up to a limit."""
        found: list[Arrival] = []
        if self._noise:
            found.append(Noise(self._noise.decode(errors="replace")))
            self._noise.clear()
        found += decode_lines(self._lines.lines(), decode)
        found += self._resume_reading()
        if self._end is not None:
            flooded, rest = self._lines.waiting, self._lines.rest()
            if flooded:  # decoding all of it could take long
                found.append(Garbage(f"the last {len(rest):,} bytes that it sent were not read"))
            elif rest.strip():
                found.append(Garbage(f"ended in the middle of a line: {quoted(rest)}"))
            found.append(self._end)
            self._end = None
        return found

    def _resume_reading(self) -> Sequence[Arrival]:
        """Reset the counters, resume paused pipes, and report which were paused."""
        floods = []
        if OUT in self._paused or self._lines.waiting:
            floods.append(Flood("sends faster than it is read: it has to wait"))
        if ERR in self._paused:
            floods.append(Flood("writes to standard error faster than it is read: it has to wait"))
        for fd, pipe in self._pipes.items():
            pipe.reset()
            if fd in self._paused and not pipe.full:
                self._paused.remove(fd)
                self.resume_pipe(fd)
        return floods
