"""A lane's link to a worker on another host, through a bridge there."""

import asyncio
import platform
import struct
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import monotonic

from msgspec import Struct, structs

from concwatch.hosts import package
from concwatch.hosts.host import Host, Pipe
from concwatch.links.link import Arrival, Ended, Garbage, Noise
from concwatch.links.messages import Echo, HostFigures, ProcessFigures, WorkerEnded
from concwatch.links.process import WorkerProcess
from concwatch.links.readings import ReportedReadings
from concwatch.portable.agent.sending.json_lines import encode
from concwatch.system.child import describe_exit
from concwatch.system.process import Reading

CONNECT_TIMEOUT = 10.0
"""Seconds that a host may take to answer."""

SILENCE = 4.5
"""Seconds without a line after which a connection is lost; a bridge sends ten lines a second."""

MAX_BANNER = 100
"""Lines that a shell may print before the bridge's first."""

CLOSE_LIMIT, CLOSE_INTERVAL = 5.0, 0.02
"""Seconds that a killed connection may take to end, and between two looks."""

HEARTBEAT = 0.5
"""Seconds between two heartbeats that are sent to a bridge."""

_VARIABLES = {"SSH_ASKPASS_REQUIRE": "never"}
"""ssh must not ask for a password: the user would not see the prompt."""

_INTERPRETER = 3
"""``PT_INTERP``: the type of the program header that names the dynamic loader."""

_CANNOT_RUN = (126, 127)
"""The exit statuses of a shell that could not run a program."""


class BridgeProgram(Struct, frozen=True):
    """What a bridge is to run: a Python engine, an executable that is sent, or one that is built there."""

    engine: str
    """The engine's name, without a version."""
    environment: Mapping[str, str] = {}
    """Variables to add to the host's environment."""
    arguments: Sequence[str] = ()
    """The arguments of the executable."""
    content: bytes = b""
    """The executable; empty if none is sent."""
    ways: Sequence[Mapping[str, object]] = ()
    """Recipes to build it on the host, as `concwatch.runtimes.recipe` makes them."""
    sources: bytes = b""
    """A zip file of the sources to build."""

    def start(self) -> bytes:
        """Return the ``start`` command, followed by the executable and the sources."""
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
        return encode("start", **fields) + self.content + self.sources


def is_static(content: bytes) -> bool:
    """Return whether an executable is statically linked: a 64-bit ELF file without an interpreter.

    The System V ABI puts the offset of the program headers at byte 32, their size at 54, their number at 56.
    """
    if content[:5] != b"\x7fELF\x02":
        return False
    (begin,), (size, number) = struct.unpack_from("<Q", content, 32), struct.unpack_from("<HH", content, 54)
    types = [struct.unpack_from("<I", content, begin + size * index)[0] for index in range(number)]
    return _INTERPRETER not in types


def send_program(host: Host, program: BridgeProgram, command: Sequence[str]) -> "HostLink":
    """Return a link to a program that has been built on this machine, sending the executable if possible.

    An executable that is not statically linked is built on the host instead.

    Raises:
        OSError: the executable cannot be read.
    """
    content = Path(command[0]).read_bytes()
    if is_static(content):
        program = structs.replace(program, arguments=command[1:], content=content)
    return HostLink(host, program)


class _CommandPipe(WorkerProcess):
    """The process of a connection; records when each echo arrives, since a lane polls too rarely for that."""

    POLLED = False
    MEASURED = False

    echoed = 0.0
    """When the last echo arrived."""

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Store received bytes."""
        if fd == 1 and b'"echo"' in data:
            self.echoed = monotonic()
        super().pipe_data_received(fd, data)


class HostLink:
    """A `Link` to a worker on another host. Must be made on a running event loop."""

    def __init__(self, host: Host, program: BridgeProgram | None, *, plain: bool = False) -> None:
        """Start to connect.

        Args:
            host: the host.
            program: what to run there; None for the bridge alone.
            plain: whether to start it at normal priority and let it outlive this process: a watched program
                is the user's own, and the bridge ends it when its input closes.
        """
        self._host = host
        preamble = package.payload() + (program.start() if program else b"")
        self._pipe: Pipe = (
            host.opener(host, package.code(), preamble)
            if host.opener
            else _CommandPipe(
                [*host.command, host.python, "-c", package.code()], _VARIABLES, preamble, plain=plain
            )
        )
        self._began = self._last_received = monotonic()
        self._connected = False
        self._stopping = self._ended = False
        self._status: int | None = None
        self._broken = ""
        self._reading: Reading | None = None
        self._readings = ReportedReadings()
        self._beats: deque[tuple[int, float]] = deque(maxlen=20)
        self._beat_due = 0.0
        self._last_polled = self._began
        self._banner = 0
        self.delay: float | None = None
        """Round-trip time of the last heartbeat in seconds."""

    def arrivals(self, now: float) -> Sequence[Arrival]:
        """Return what has arrived since the last call; a connection that is silent for too long has ended."""
        found: list[Arrival] = []
        for arrival in self._pipe.arrivals(now):
            match arrival:
                case Garbage() if not self._connected:
                    self._banner += 1  # printed by a shell before the bridge's first line
                    if self._banner == MAX_BANNER:
                        self._abort(f"printed something other than wire messages: {arrival.message}")
                    elif self._banner < MAX_BANNER:
                        found.append(Noise(f"{arrival.message}\n"))
                case HostFigures():
                    self._connected = True
                    found.append(arrival)
                case ProcessFigures():
                    self._reading = self._readings.reading(arrival.time, arrival)
                case Echo():
                    self._update_delay(arrival.number)
                case WorkerEnded():
                    self._status = arrival.status
                case Ended():
                    self._ended = True
                    found.append(self._end(arrival))
                    return found
                case _:
                    found.append(arrival)
            if not isinstance(arrival, Noise):
                self._last_received = monotonic()
        self._keep_alive()
        return found

    def _keep_alive(self) -> None:
        now = monotonic()
        # While this process was suspended nothing was read: that time does not count as silence.
        self._last_received += max(0.0, now - self._last_polled - HEARTBEAT)
        self._last_polled = now
        if self._connected and now >= self._beat_due:
            self._beat_due = (now // HEARTBEAT + 1) * HEARTBEAT  # the same time for all links
            number = int(now / HEARTBEAT)
            self._beats.append((number, now))
            self._pipe.send("beat", number=number)
        if not self._connected and now - self._began > CONNECT_TIMEOUT:
            self._abort(f"did not answer within {CONNECT_TIMEOUT:.0f} s")
        elif self._connected and now - self._last_received > SILENCE:
            self._abort(f"nothing received for {SILENCE} s")

    def _abort(self, reason: str) -> None:
        """Close the connection for ``reason``."""
        if not self._broken:
            self._broken = reason
            self._pipe.kill()

    def _update_delay(self, number: int) -> None:
        sent = next((time for beat, time in self._beats if beat == number), None)
        if sent is not None:
            self.delay = max(0.0, self._pipe.echoed - sent)

    def _end(self, ended: Ended) -> Ended:
        """Return how the worker ended, by what was received before the connection ended."""
        if self._status is not None:
            words = self._pipe.error_line
            reason = describe_exit(self._status) + (f": {words}" if words else "")
            return Ended(reason, status=self._status)
        if self._connected:
            reason = self._broken or f"the connection {ended.reason}"
            return ended if self._stopping else Ended(reason, lost=True)
        reason = self._broken or ended.reason
        if ended.status in _CANNOT_RUN:
            reason += (
                f" (expected {self._host.python}: Python 3.9 or newer, or another named in the settings)"
            )
        return Ended(f"{self._host.name} cannot be reached: {reason}", ran=False)

    def reading(self) -> Reading | None:
        """Return the bridge's last reading of the process; None before the first."""
        return self._reading

    def send(self, type_: str, **fields: object) -> None:
        """Send one command; it is dropped once the connection has ended."""
        self._stopping = self._stopping or type_ == "stop"
        self._pipe.send(type_, **fields)

    def kill(self) -> None:
        """Close the connection, which ends the worker."""
        self._stopping = True
        self._pipe.kill()

    async def close(self) -> None:
        """Close the connection, drop what still arrives, and wait until it has ended."""
        self.kill()
        deadline = monotonic() + CLOSE_LIMIT
        while not self._ended and monotonic() < deadline:
            await asyncio.sleep(CLOSE_INTERVAL)
            self.arrivals(monotonic())
