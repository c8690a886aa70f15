"""A worker in a process of its own: its pipes, its end, and what it may not do to this program."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Sequence
from typing import cast

import psutil

from concwatch import wire
from concwatch.lab.link import Arrival, Ended, Garbage, Noise
from concwatch.lab.messages import Report, Tick, decode
from concwatch.lab.sampler import Reading, Sampler

NICENESS = 5
"""Workers run a little nicer, so that the screen stays alive while they have both cores busy."""

MOST_ARRIVALS = 1_000
"""Reports that wait between two looks; a flood beyond that is dropped, and counted."""

NOISE_KEPT = 4_000
"""Bytes of standard error kept between two looks, and shown when the worker dies."""

LAST_WORDS = 0.5
"""Seconds that the pipes of an ended worker are still read."""

_PR_SET_PDEATHSIG = 1


def child_setup(niceness: int) -> Callable[[], None] | None:
    """Give what a new child runs before its program: be so much nicer, and die with this process (Linux)."""
    if sys.platform == "win32":
        return None
    import ctypes  # only here: the screen need not wait for it

    # Loaded here, not in the child: between fork and exec as little as possible may happen.
    prctl = getattr(ctypes.CDLL(None), "prctl", None) if sys.platform.startswith("linux") else None
    kill = int(signal.SIGKILL)

    def setup() -> None:
        os.nice(niceness)
        if prctl is not None:
            prctl(_PR_SET_PDEATHSIG, kill, 0, 0, 0)

    return setup


def ended_how(status: int) -> str:
    """Say for a person how a process ended: by which signal, or with which exit status."""
    if status < 0:
        try:
            name = signal.Signals(-status).name
        except ValueError:
            name = f"signal {-status}"
        return f"killed by {name}"
    return f"exited with status {status}"


class WorkerProcess(asyncio.SubprocessProtocol):
    """A `Link` to a real worker. Must be made on a running event loop."""

    def __init__(self, command: Sequence[str]) -> None:
        self._arrivals: deque[Arrival] = deque()
        self._unread = bytearray()
        self._skipping = False
        self._dropped = 0
        self._noise = bytearray()
        self._last_noise = b""
        self._transport: asyncio.SubprocessTransport | None = None
        self._sampler: Sampler | None = None
        self._killed = False
        self._over = False
        self._backlog: list[bytes] = []
        self._starting = asyncio.get_running_loop().create_task(self._start(list(command)))

    async def _start(self, command: list[str]) -> None:
        try:
            await asyncio.get_running_loop().subprocess_exec(
                lambda: self,
                *command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                # Ctrl-C in the terminal is for the monitor to act on.
                start_new_session=True,
                preexec_fn=child_setup(NICENESS),
            )
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            self._arrivals.append(Ended(f"could not be started: {error}"))

    # What the event loop calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the pipes of the process that has started."""
        self._transport = cast("asyncio.SubprocessTransport", transport)
        if self._killed:
            self.kill()
            return
        with contextlib.suppress(psutil.Error):
            self._sampler = Sampler(self._transport.get_pid())
        for line in self._backlog:
            self._write(line)
        self._backlog.clear()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Cut what comes into lines, within bounds whatever comes."""
        if fd == 2:
            self._last_noise = (self._last_noise + data)[-NOISE_KEPT:]
            self._noise += data[: max(0, NOISE_KEPT - len(self._noise))]
            return
        self._unread += data
        *lines, rest = self._unread.split(b"\n")
        self._unread = rest
        for line in lines:
            if self._skipping:
                self._skipping = False
            elif line.strip():
                self._take(bytes(line))
        if len(self._unread) > wire.LONGEST_LINE:
            self._unread.clear()
            if not self._skipping:
                self._skipping = True
                self._keep(Garbage(f"a line longer than {wire.LONGEST_LINE:,} bytes"))

    def _take(self, line: bytes) -> None:
        try:
            report = decode(line)
        except ValueError as error:
            self._keep(Garbage(str(error)))
        else:
            if report is not None:
                self._keep(report)

    def _keep(self, arrival: Report | Garbage) -> None:
        # Of ticks that wait only the newest matters: counters are cumulative.
        if isinstance(arrival, Tick) and self._arrivals and isinstance(self._arrivals[-1], Tick):
            self._arrivals[-1] = arrival
        elif len(self._arrivals) < MOST_ARRIVALS:
            self._arrivals.append(arrival)
        else:
            self._dropped += 1

    def process_exited(self) -> None:
        """Note that the process has ended; its pipes may still hold its last words."""
        self._sampler = None
        # A child of its own may hold the pipes open for ever, so their end is not waited for any longer.
        asyncio.get_running_loop().call_later(LAST_WORDS, self.connection_lost, None)

    def connection_lost(self, exc: Exception | None) -> None:
        """Report the end, once, when the process has ended and all its pipes are read."""
        status = self._transport.get_returncode() if self._transport else None
        if self._over or status is None or self._transport is None:
            return
        self._over = True
        last = self._last_noise.decode(errors="replace").strip().splitlines()
        self._arrivals.append(Ended(ended_how(status) + (f": {last[-1][:300]}" if last else "")))
        self._transport.close()

    # What a lane calls.

    def arrivals(self, now: float) -> Sequence[Arrival]:
        """Give what has come since the last call."""
        found = list(self._arrivals)
        self._arrivals.clear()
        if self._dropped:
            found.insert(0, Garbage(f"{self._dropped:,} reports more than could be read: dropped"))
            self._dropped = 0
        if self._noise:
            found.insert(0, Noise(self._noise.decode(errors="replace")))
            self._noise.clear()
        return found

    def reading(self) -> Reading | None:
        """Look at the process; None before it runs and after."""
        return self._sampler.read() if self._sampler else None

    def peak_rss(self) -> int | None:
        """Give the highest RSS in bytes it ever had, where the system tells."""
        return self._sampler.peak_rss() if self._sampler else None

    def send(self, type_: str, **fields: object) -> None:
        """Send one command; before the process runs it waits, after its end it is dropped."""
        line = wire.encode(type_, **fields)
        if self._transport is None:
            self._backlog.append(line)
        else:
            self._write(line)

    def _write(self, line: bytes) -> None:
        assert self._transport is not None
        pipe = cast("asyncio.WriteTransport | None", self._transport.get_pipe_transport(0))
        if pipe is not None and not pipe.is_closing():
            pipe.write(line)

    def kill(self) -> None:
        """End the worker by force; before it runs, as soon as it does."""
        self._killed = True
        if self._transport is not None:
            with contextlib.suppress(ProcessLookupError):
                self._transport.kill()
