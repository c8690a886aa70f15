"""The hosts of a Dask cluster: bridges run beside its workers, started by the plugin that is sent there.

Needs the extra ``dask``; imported only where a cluster is asked for. The client runs on an event loop of its
own, in a thread: which hosts there are must be known before a command has its loop, and a screen has another.
"""

import asyncio
import itertools
import logging
import re
import sys
import threading
import uuid
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

import distributed
from cloudpickle import register_pickle_by_value
from distributed.versions import VersionMismatchWarning

from concwatch import wire
from concwatch.hosts import plugin
from concwatch.hosts.cluster_pipe import ClusterPipe
from concwatch.hosts.host import PYTHON, Host
from concwatch.hosts.local_cluster import local_cluster
from concwatch.text import one_line, plain

LOCAL = "local:"
"""Before the number of workers of a cluster that is started here."""

CONNECT_LIMIT = 8.0
"""Seconds that a scheduler may take to answer."""

CLOSE_LIMIT = 3.0
"""Seconds that the end of the connection, and of a local cluster, may take."""

RUN_LIMIT = 10.0
"""Seconds in which a Dask worker must have taken what is sent to it."""

LOOK = 1.0
"""Seconds between two looks at which workers there are."""

OLDEST = 2026
"""The year of the oldest release of Dask that is known to work."""

LEFT, GONE = "ended: its Dask worker has left the cluster", "ended: the scheduler of the cluster is gone"

register_pickle_by_value(plugin)
warnings.simplefilter("ignore", VersionMismatchWarning)  # `_check_versions` refuses what does not work
for _name in ("distributed", "distributed.client", "tornado.application"):
    _log = logging.getLogger(_name)  # Dask's own would be written across the screen
    _log.handlers, _log.propagate = [logging.NullHandler()], False


class Cluster:
    """A connection to a Dask scheduler, whose workers are hosts."""

    def __init__(self, address: str) -> None:
        """Connect.

        Args:
            address: of the scheduler, or ``local:N`` for a cluster of N workers that is started here.

        Raises:
            ValueError: one line: there is no such cluster, or none that can be used.
        """
        self._address = address
        self._name = f"concwatch-{uuid.uuid4().hex}"
        self._known: dict[str, Host] = {}
        self._there: Mapping[str, str] = {}  # host → Dask worker's address, of those that are there now
        self._pipes: dict[int, tuple[str, ClusterPipe]] = {}  # with the address
        self._numbers = itertools.count()
        self._orders: dict[str, list[plugin.Order]] = {}  # by address, what waits to be sent
        self._beat = -1
        self._client: distributed.Client | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._connected: Future[None] = Future()
        self._thread = threading.Thread(target=self._run, name="cluster", daemon=True)
        self._thread.start()
        try:
            self._connected.result()
        except BaseException:
            self.close()
            raise

    @property
    def hosts(self) -> Sequence[Host]:
        """The Dask workers that are there now."""
        return [self._known[name] for name in sorted(self._there)]

    def open(self, host: Host, code: str, begin: bytes) -> ClusterPipe:
        """Run ``python -c code`` beside a Dask worker, of which standard input begins with ``begin``."""
        number, address = next(self._numbers), self._there.get(host.name, "")
        pipe = ClusterPipe(
            lambda order, value: self._call(self._queue, address, (number, order, value)), self._send_beat
        )
        python = "" if host.python == PYTHON else host.python
        self._call(self._open, number, address, pipe, ((python, "-c", code), begin))
        return pipe

    def close(self) -> None:
        """End what is left there, the connection, and a local cluster."""
        self._call(self._stop.set)
        self._thread.join(3 * CLOSE_LIMIT)

    # What other threads have done in that of the cluster.

    def _call(self, function: Callable[..., object], *arguments: object) -> None:
        with suppress(RuntimeError):  # it is closed
            self._loop.call_soon_threadsafe(function, *arguments)

    def _open(self, number: int, address: str, pipe: ClusterPipe, how: object) -> None:
        if address not in self._there.values():
            pipe.take(plugin.FAILED, LEFT)
            return
        self._pipes[number] = address, pipe
        self._queue(address, (number, plugin.OPEN, how))

    def _queue(self, address: str, order: plugin.Order) -> None:
        """Send an order, behind those that wait."""
        if order[0] not in self._pipes:
            return
        if address not in self._orders:
            self._orders[address] = []
            self._start(self._send_orders(address))
        self._orders[address].append(order)

    async def _send_orders(self, address: str) -> None:
        """Send what waits for one Dask worker, in order; the worker that does not take it has left."""
        try:
            while orders := self._orders[address]:
                self._orders[address] = []
                if not await self._call_worker(plugin.give_orders, orders, address):
                    await self._call_worker(plugin.install, None, address)
                    await self._call_worker(plugin.give_orders, orders, address)
        except Exception as error:  # whatever Dask raises, or the plugin there
            self._end_pipes(f"ended: {type(error).__name__}: {error}", address)
        finally:
            del self._orders[address]

    async def _call_worker(self, function: Callable[..., Any], orders: Any, address: str) -> Any:
        if self._client is None:
            raise OSError("not connected")
        arguments = (self._name,) if orders is None else (self._name, orders)
        async with asyncio.timeout(RUN_LIMIT):
            return (await self._client.run(function, *arguments, workers=[address]))[address]

    def _send_beat(self, number: int) -> None:
        """Send a sign of life to every bridge; of all links that ask for the same one at once."""
        if number > self._beat:
            self._beat = number
            self._call(lambda: self._start(self._beat_all(wire.encode("beat", number=number))))

    async def _beat_all(self, line: bytes) -> None:
        workers = list({address for address, _ in self._pipes.values()})
        if self._client is not None and workers:
            with suppress(Exception):  # the bridges themselves notice where none arrives
                async with asyncio.timeout(RUN_LIMIT):
                    await self._client.run(
                        plugin.write_all, self._name, line, workers=workers, on_error="ignore"
                    )

    def _start(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _take(self, event: tuple[float, tuple[int, int, Any]]) -> None:
        """Take an event of the topic."""
        number, what, value = event[1]
        if number in self._pipes:
            self._pipes[number][1].take(what, value)
            if what in (plugin.EXIT, plugin.FAILED):
                del self._pipes[number]

    def _end_pipes(self, reason: str, *addresses: str) -> None:
        for number, (address, pipe) in list(self._pipes.items()):
            if address in addresses:
                del self._pipes[number]
                pipe.take(plugin.FAILED, reason)

    # The connection.

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._live())
        except Exception as error:  # whatever Dask raises
            if isinstance(error, OSError | TimeoutError):
                why = f"no Dask scheduler answers there within {CONNECT_LIMIT:.0f} s"
            elif isinstance(error, ValueError):
                why = str(error)
            else:
                expected = f"expected a Dask scheduler with distributed {OLDEST} or newer"
                why = f"what answers cannot be used: {expected} ({type(error).__name__}: {error})"
            if not self._connected.done():
                self._connected.set_exception(ValueError(f"{self._address}: {one_line(plain(why))[:300]}"))
        finally:
            self._loop.close()

    async def _live(self) -> None:
        """Stay connected until this is closed; connect again where that fails."""
        if not self._address.startswith(LOCAL):
            await self._stay_connected(self._address)
            return
        async with local_cluster(int(self._address.removeprefix(LOCAL))) as address:
            await self._stay_connected(address)

    async def _stay_connected(self, address: str) -> None:
        while not self._stop.is_set():
            try:
                await self._serve(address)
            except Exception:  # whatever Dask raises
                if not self._connected.done():
                    raise
            await self._wait(LOOK)

    async def _wait(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stop.wait()

    async def _serve(self, address: str) -> None:
        """Connect, and follow which workers there are until this is closed, or the scheduler is gone."""
        client = distributed.Client(
            address, asynchronous=True, timeout=CONNECT_LIMIT, name="concwatch", set_as_default=False
        )
        try:
            async with asyncio.timeout(CONNECT_LIMIT):
                await client
                await _check_versions(client)
                client.subscribe_topic(self._name, self._take)
                await self._look(client)
            if not self._there:
                raise ValueError("the cluster has no workers: expected one or more")
            self._client = client
            if not self._connected.done():
                self._connected.set_result(None)
            while True:
                await self._wait(LOOK)
                if client.status != "running":
                    return
                if self._stop.is_set():
                    break
                async with asyncio.timeout(CONNECT_LIMIT):
                    await self._look(client)
            for number, (worker, _) in list(self._pipes.items()):
                self._queue(worker, (number, plugin.CLOSE, None))
            await asyncio.wait([*self._tasks, asyncio.create_task(asyncio.sleep(0))], timeout=CLOSE_LIMIT)
        finally:
            self._client, self._there = None, {}
            self._end_pipes(GONE, *(address for address, _ in self._pipes.values()))
            with suppress(Exception):  # the scheduler may be gone
                async with asyncio.timeout(CLOSE_LIMIT):
                    await client.close()

    async def _look(self, client: distributed.Client) -> None:
        """Take up the workers that have come, and end what ran beside those that have left."""
        found = (await client.scheduler.identity(n_workers=-1))["workers"]
        there = {}
        for address, facts in found.items():
            name = _host_name(facts["name"])
            there[name] = address
            self._known.setdefault(name, self._host(name, facts))
        left = {*self._there.values()} - {*there.values()}
        self._there = there
        self._end_pipes(LEFT, *left)

    def _host(self, name: str, facts: Mapping[str, Any]) -> Host:
        limit, taken = facts.get("memory_limit"), facts.get("metrics", {}).get("memory", 0)
        return Host(name, (), memory=max(0, limit - taken) if limit else None, opener=self.open)


def _host_name(name: object) -> str:
    """Return what a Dask worker is called: its name, or its address without the protocol."""
    if isinstance(name, int):
        return f"dask{name}"
    return one_line(plain(str(name))).rpartition("://")[2][:60] or "dask"


async def _check_versions(client: distributed.Client) -> None:
    """Refuse a cluster whose Python could not run what is sent, or whose Dask is too old.

    Raises:
        ValueError: one line.
    """
    there = await client.scheduler.versions()
    python = re.match(r"\d+\.\d+", str(there["host"]["python"]))
    dask = str(there["packages"]["distributed"])
    here = "{}.{}".format(*sys.version_info)
    if python is None or python[0] != here or int(dask.partition(".")[0]) < OLDEST:
        raise ValueError(
            f"it has Python {python[0] if python else '?'} and distributed {dask}: "
            f"expected Python {here}, as here, and distributed {OLDEST} or newer"
        )
