"""The bridges beside the workers of a Dask cluster: orders go there by calls, output comes by a topic."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any

from concwatch.hosts import plugin
from concwatch.hosts.cluster_pipe import ClusterPipe

RUN_TIMEOUT = 10.0
"""Seconds that a Dask worker may take to accept orders."""

CLOSE_TIMEOUT = 3.0
"""Seconds that closing the connection may take."""


class ClusterBridges:
    """The bridges of a cluster, by number. It is used in the thread of the cluster's event loop.

    Args:
        name: the name of the plugin in the Dask workers.
    """

    def __init__(self, name: str) -> None:
        self.run: Callable[..., Awaitable[Any]] | None = None
        """Calls a function in Dask workers, as `distributed.Client.run`; None without a connection."""
        self._name = name
        self._pipes: dict[int, tuple[str, ClusterPipe]] = {}  # with the address of the Dask worker
        self._orders: dict[str, list[plugin.Order]] = {}  # address → orders waiting to be sent
        self._tasks: set[asyncio.Task[None]] = set()

    def open(self, number: int, address: str, pipe: ClusterPipe, how: object) -> None:
        """Start a bridge beside a Dask worker, from its command and first input."""
        self._pipes[number] = address, pipe
        self.queue(address, (number, plugin.OPEN, how))

    def queue(self, address: str, order: plugin.Order) -> None:
        """Queue an order to be sent."""
        if order[0] not in self._pipes:
            return
        if address not in self._orders:
            self._orders[address] = []
            self._start(self._send_orders(address))
        self._orders[address].append(order)

    async def _send_orders(self, address: str) -> None:
        """Send the queued orders of one Dask worker; if that fails, the worker counts as lost."""
        try:
            while orders := self._orders[address]:
                self._orders[address] = []
                if not await self._call_worker(plugin.execute, orders, address):
                    await self._call_worker(plugin.install, None, address)
                    await self._call_worker(plugin.execute, orders, address)
        except Exception as error:  # Dask and the plugin may raise anything
            self.end(f"ended: {type(error).__name__}: {error}", address)
        finally:
            del self._orders[address]

    async def _call_worker(self, function: Callable[..., Any], orders: Any, address: str) -> Any:
        if self.run is None:
            raise OSError("not connected")
        arguments = (self._name,) if orders is None else (self._name, orders)
        async with asyncio.timeout(RUN_TIMEOUT):
            return (await self.run(function, *arguments, workers=[address]))[address]

    def write_all(self, line: bytes) -> None:
        """Write a line to the standard input of every bridge."""
        self._start(self._write_all(line))

    async def _write_all(self, line: bytes) -> None:
        workers = list({address for address, _ in self._pipes.values()})
        if self.run is not None and workers:
            with suppress(Exception):  # a bridge that receives none ends by itself
                async with asyncio.timeout(RUN_TIMEOUT):
                    await self.run(plugin.write_all, self._name, line, workers=workers, on_error="ignore")

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def receive(self, event: tuple[float, tuple[int, int, Any]]) -> None:
        """Pass an event of the plugin's topic to its pipe."""
        number, what, value = event[1]
        if number in self._pipes:
            self._pipes[number][1].receive(what, value)
            if what in (plugin.EXIT, plugin.FAILED):
                del self._pipes[number]

    def end(self, reason: str, *addresses: str) -> None:
        """End the pipes to the bridges beside some Dask workers."""
        for number, (address, pipe) in list(self._pipes.items()):
            if address in addresses:
                del self._pipes[number]
                pipe.receive(plugin.FAILED, reason)

    async def close(self) -> None:
        """End all bridges, and wait until they have been told, but not for long."""
        for number, (address, _) in list(self._pipes.items()):
            self.queue(address, (number, plugin.CLOSE, None))
        await asyncio.wait([*self._tasks, asyncio.create_task(asyncio.sleep(0))], timeout=CLOSE_TIMEOUT)

    def lose(self, reason: str) -> None:
        """End all pipes, since there is no connection any more."""
        self.run = None
        self.end(reason, *(address for address, _ in self._pipes.values()))
