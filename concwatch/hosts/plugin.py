"""A plugin for Dask workers that starts bridges and relays their standard streams.

It is pickled by value, so concwatch need not be installed there: standard library and `distributed` only.
"""

import asyncio
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from distributed import Worker, WorkerPlugin

OPEN, DATA, ACK, CLOSE = "open", "data", "ack", "close"
"""Orders: start a bridge (command, first input), write (bytes), acknowledge output (size), end it."""

EXIT, FAILED = 0, -1
"""Reports: exited (status), could not be started (reason). Any other is a descriptor (bytes of output)."""

Order = tuple[int, str, Any]
"""A bridge's number, the order and its value."""

WINDOW = 1 << 20
"""Bytes of a bridge's output that may be unacknowledged before reading pauses."""

BLOCK = 1 << 16
"""Bytes of it that are read at once."""

GRACE = 1.0
"""Seconds that a bridge gets to exit once its input is closed, before it is killed."""


class BridgeProcess:
    """The process of one bridge.

    Args:
        command: the Python, empty for the Dask worker's own, and its arguments.
        preamble: its first input.
        report: called with each report and its value.
    """

    def __init__(
        self, command: Sequence[str], preamble: bytes, report: Callable[[int, object], None]
    ) -> None:
        self._report = report
        self._waiting = [preamble]
        self._process: asyncio.subprocess.Process | None = None
        self._closed = False
        self._unacknowledged = 0
        self._room = asyncio.Event()
        self._running = asyncio.create_task(self._run(command))

    async def _run(self, command: Sequence[str]) -> None:
        try:
            self._process = process = await asyncio.create_subprocess_exec(
                command[0] or sys.executable,
                *command[1:],
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            self._report(FAILED, f"could not be started: {error}")
            return
        for data in self._waiting:
            self.write(data)
        if self._closed:
            self.close()
        await asyncio.gather(self._relay(1, process.stdout), self._relay(2, process.stderr))
        self._report(EXIT, await process.wait())

    async def _relay(self, descriptor: int, stream: asyncio.StreamReader | None) -> None:
        assert stream is not None
        while data := await stream.read(BLOCK):
            self._report(descriptor, data)
            self._unacknowledged += len(data)
            while self._unacknowledged >= WINDOW and not self._closed:
                self._room.clear()
                await self._room.wait()

    def acknowledge(self, size: int) -> None:
        """Record that ``size`` bytes of its output have arrived."""
        self._unacknowledged -= size
        self._room.set()

    def write(self, data: bytes) -> None:
        """Write to its input."""
        if self._process is None:
            self._waiting.append(data)
        elif self._process.stdin is not None and not self._process.stdin.is_closing():
            self._process.stdin.write(data)

    def close(self) -> None:
        """Close its input, which ends it and its worker; kill it if it does not exit."""
        self._closed = True
        self._room.set()
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
            asyncio.get_running_loop().call_later(GRACE, self.kill)

    def kill(self) -> None:
        """Kill it."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, 9)


class Bridges(WorkerPlugin):
    """The bridges of one concwatch beside this Dask worker; the plugin is removed with the last of them."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._bridges: dict[int, BridgeProcess] = {}
        self._worker: Worker | None = None

    def setup(self, worker: Worker) -> None:
        """Store the Dask worker."""
        self._worker = worker

    def teardown(self, worker: Worker) -> None:
        """Kill every bridge."""
        for bridge in self._bridges.values():
            bridge.kill()

    def execute(self, orders: Sequence[Order]) -> None:
        """Execute orders; those for a bridge that has ended are dropped."""
        for number, order, value in orders:
            if order == OPEN:
                command, preamble = value
                self._bridges[number] = BridgeProcess(command, preamble, partial(self._report, number))
            bridge = self._bridges.get(number)
            if bridge is None:
                continue
            if order == DATA:
                bridge.write(value)
            elif order == ACK:
                bridge.acknowledge(value)
            elif order == CLOSE:
                bridge.close()

    def write_all(self, data: bytes) -> None:
        """Write to the input of every bridge."""
        for bridge in self._bridges.values():
            bridge.write(data)

    def _report(self, number: int, what: int, value: object) -> None:
        assert self._worker is not None
        self._worker.log_event(self.name, (number, what, value))
        if what in (EXIT, FAILED):
            del self._bridges[number]
            if not self._bridges:
                self._worker.plugins.pop(self.name, None)


async def install(name: str, dask_worker: Worker) -> None:
    """Add the plugin to a Dask worker."""
    await dask_worker.plugin_add(plugin=Bridges(name), name=name)


def execute(name: str, orders: Sequence[Order], dask_worker: Worker) -> bool:
    """Execute orders; return whether the plugin is installed."""
    bridges = dask_worker.plugins.get(name)
    if bridges is not None:
        bridges.execute(orders)
    return bridges is not None


def write_all(name: str, data: bytes, dask_worker: Worker) -> None:
    """Write to the input of every bridge."""
    bridges = dask_worker.plugins.get(name)
    if bridges is not None:
        bridges.write_all(data)
