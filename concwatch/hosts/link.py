"""A lane's link to a worker on another host: a command that reaches it, and a bridge there."""

import platform
import struct
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import monotonic

from msgspec import Struct, structs

from concwatch import wire
from concwatch.hosts import package
from concwatch.hosts.host import Host, Pipe
from concwatch.links.link import Arrival, Ended, Garbage, Noise
from concwatch.links.messages import Echo, HostFigures, ProcessFigures, WorkerEnded
from concwatch.links.process import WorkerProcess
from concwatch.system.child import describe_exit
from concwatch.system.process import CpuShare, Reading

CONNECT_LIMIT = 10.0
"""Seconds that a host may take to answer."""

SILENCE = 4.5
"""Seconds without a line from a bridge, which sends ten a second, after which the connection is lost."""

LONGEST_BANNER = 100
"""Lines that a shell may print before the bridge's first."""

BEAT = 0.5
"""Seconds between two signs of life that a bridge gets."""

_VARIABLES = {"SSH_ASKPASS_REQUIRE": "never"}
"""Nothing may ask for a password: nobody would see the question."""

_INTERPRETER = 3
"""The type of the header that names what loads a program and its libraries."""

_NO_PROGRAM = (126, 127)
"""The exit statuses of a shell that could not run a program."""


class Program(Struct, frozen=True):
    """What a bridge is to run: a worker of ours, or a program that is sent."""

    engine: str
    """Its name, without what is behind an ``@``; of a program that is sent it stands in its arguments."""
    environment: Mapping[str, str] = {}
    """Variables that it has besides those of its host."""
    arguments: Sequence[str] = ()
    content: bytes = b""

    ways: Sequence[Mapping[str, object]] = ()
    """How it can be built there, as `concwatch.runtimes.recipe` writes it."""
    sources: bytes = b""

    def start(self) -> bytes:
        """Return the command that starts it, and what follows that."""
        fields: dict[str, object] = {"engine": self.engine, "environment": dict(self.environment)}
        if self.content:
            fields |= {
                "size": len(self.content),
                "arguments": list(self.arguments),
                "system": platform.system(),
                "processor": platform.machine(),
            }
        if self.ways:
            fields |= {"ways": list(self.ways), "sources": len(self.sources)}
        return wire.encode("start", **fields) + self.content + self.sources


def is_static(content: bytes) -> bool:
    """Return whether a program needs nothing but itself: an ELF file of 64 bits without an interpreter.

    By the layout of headers in the System V ABI: their place is at 32, their size and number at 54 and 56.
    """
    if content[:5] != b"\x7fELF\x02":
        return False
    (begin,), (size, number) = struct.unpack_from("<Q", content, 32), struct.unpack_from("<HH", content, 54)
    types = [struct.unpack_from("<I", content, begin + size * index)[0] for index in range(number)]
    return _INTERPRETER not in types


def send_program(host: Host, program: Program, command: Sequence[str]) -> "HostLink":
    """Run on ``host`` a program that has been built here, by its command; there it is built where it must.

    Raises:
        OSError: it cannot be read.
    """
    content = Path(command[0]).read_bytes()
    if is_static(content):
        program = structs.replace(program, arguments=command[1:], content=content)
    return HostLink(host, program)


class _CommandPipe(WorkerProcess):
    """The pipes of a connection, which note at once when a bridge answers: a lane looks only now and then."""

    echoed = 0.0
    """When the last answer came."""

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Keep what comes."""
        if fd == 1 and b'"echo"' in data:
            self.echoed = monotonic()
        super().pipe_data_received(fd, data)


class HostLink:
    """A `Link` to a worker on another host. Must be made on a running event loop."""

    def __init__(self, host: Host, program: Program | None, *, plain: bool = False) -> None:
        """Begin to connect.

        Args:
            host: where.
            program: what is run there; None for a bridge alone, to ask what is there.
            plain: whether it is started as a shell would, no nicer, and not killed with this process:
                what runs there is a person's own, and the bridge ends it by the end of its input.
        """
        self._host = host
        begin = package.payload() + (program.start() if program else b"")
        self._pipe: Pipe = (
            host.opener(host, package.code(), begin)
            if host.opener
            else _CommandPipe(
                [*host.command, host.python, "-c", package.code()], _VARIABLES, begin, plain=plain
            )
        )
        self._began = self._heard = monotonic()
        self._connected = False
        self._stopping = False
        self._status: int | None = None
        self._broken = ""
        self._reading: Reading | None = None
        self._share: CpuShare | None = None
        self._beats: deque[tuple[int, float]] = deque(maxlen=20)
        self._beat_due = 0.0
        self._looked = self._began
        self._banner = 0
        self.delay: float | None = None
        """Seconds that the last sign of life took there and back."""

    def arrivals(self, now: float) -> Sequence[Arrival]:
        """Return what has come since the last call; a connection that is silent for too long has ended."""
        found: list[Arrival] = []
        for arrival in self._pipe.arrivals(now):
            match arrival:
                case Garbage() if not self._connected:
                    self._banner += 1  # what a shell prints before all else
                    if self._banner == LONGEST_BANNER:
                        self._break(f"prints what is not of the wire: {arrival.message}")
                    elif self._banner < LONGEST_BANNER:
                        found.append(Noise(f"{arrival.message}\n"))
                case HostFigures():
                    self._connected = True
                    found.append(arrival)
                case ProcessFigures():
                    self._take_figures(arrival)
                case Echo():
                    self._take_echo(arrival.number)
                case WorkerEnded():
                    self._status = arrival.status
                case Ended():
                    found.append(self._end(arrival))
                    return found
                case _:
                    found.append(arrival)
            if not isinstance(arrival, Noise):
                self._heard = monotonic()
        self._keep_alive()
        return found

    def _keep_alive(self) -> None:
        now = monotonic()
        # What came while nobody looked, as in a program that was suspended, is read only now.
        self._heard += max(0.0, now - self._looked - BEAT)
        self._looked = now
        if self._connected and now >= self._beat_due:
            self._beat_due = (now // BEAT + 1) * BEAT  # of all links at once: some share a connection
            number = int(now / BEAT)
            self._beats.append((number, now))
            self._pipe.send("beat", number=number)
        if not self._connected and now - self._began > CONNECT_LIMIT:
            self._break(f"did not answer within {CONNECT_LIMIT:.0f} s")
        elif self._connected and now - self._heard > SILENCE:
            self._break(f"nothing has come for {SILENCE} s")

    def _break(self, reason: str) -> None:
        """End a connection that is of no use."""
        if not self._broken:
            self._broken = reason
            self._pipe.kill()

    def _take_figures(self, figures: ProcessFigures) -> None:
        if self._share is None:
            self._share = CpuShare(figures.time, figures.cpu_seconds)
        self._reading = Reading(
            rss=figures.rss,
            cpu=self._share.at(figures.time, figures.cpu_seconds),
            threads=figures.threads,
            virtual=figures.virtual,
            cpu_seconds=figures.cpu_seconds,
            peak_rss=figures.peak_rss,
        )

    def _take_echo(self, number: int) -> None:
        sent = next((time for beat, time in self._beats if beat == number), None)
        if sent is not None:
            self.delay = max(0.0, self._pipe.echoed - sent)

    def _end(self, ended: Ended) -> Ended:
        """Return how the worker ended, by what has come before the connection's end."""
        if self._status is not None:
            words = self._pipe.error_line
            return Ended(describe_exit(self._status) + (f": {words}" if words else ""))
        if self._connected:
            reason = self._broken or f"the connection {ended.reason}"
            return ended if self._stopping else Ended(reason, lost=True)
        reason = self._broken or ended.reason
        if any(f"status {status}" in reason for status in _NO_PROGRAM):
            reason += (
                f" (expected {self._host.python}: Python 3.9 or newer, or another named in the settings)"
            )
        return Ended(f"{self._host.name} cannot be reached: {reason}", ran=False)

    def reading(self) -> Reading | None:
        """Return the last look at the process, as the bridge reported it; None before the first."""
        return self._reading

    def send(self, type_: str, **fields: object) -> None:
        """Send one command; what cannot arrive any more is dropped."""
        self._stopping = self._stopping or type_ == "stop"
        self._pipe.send(type_, **fields)

    def kill(self) -> None:
        """End the connection, now, and with it the worker."""
        self._stopping = True
        self._pipe.kill()
