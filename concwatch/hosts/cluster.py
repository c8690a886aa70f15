"""The workers of a Dask cluster as hosts: a plugin in each Dask worker starts bridges there.

Needs the extra ``dask``. The client runs on an event loop in a thread of its own, since the hosts must be
known before a command starts its event loop.
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

from concwatch.hosts import plugin
from concwatch.hosts.cluster_bridges import CLOSE_TIMEOUT, ClusterBridges
from concwatch.hosts.cluster_pipe import ClusterPipe
from concwatch.hosts.host import PYTHON, Host
from concwatch.hosts.local_cluster import local_cluster
from concwatch.portable.agent.sending.json_lines import encode
from concwatch.portable.protocol.text import one_line, plain

LOCAL = "local:"
"""The prefix of an address that asks for a cluster on this machine, followed by its number of workers."""

CONNECT_TIMEOUT = 8.0
"""Seconds that a scheduler may take to answer."""

POLL_INTERVAL = 1.0
"""Seconds between two polls of the scheduler's list of workers."""

OLDEST = 2026
"""The year of the oldest release of Dask that is known to work."""

LEFT, GONE = "ended: its Dask worker has left the cluster", "ended: the scheduler of the cluster is gone"

register_pickle_by_value(plugin)
warnings.simplefilter("ignore", VersionMismatchWarning)  # `_check_versions` refuses what does not work
for _name in ("distributed", "distributed.client", "tornado.application"):
    _log = logging.getLogger(_name)  # else Dask would log to the terminal, over the screen
    _log.handlers, _log.propagate = [logging.NullHandler()], False


class Cluster:
    """A connection to a Dask scheduler, whose workers are hosts.

    Args:
        address: the scheduler's address, or ``local:N`` to start a cluster of N workers on this machine.

    Raises:
        ValueError: the cluster cannot be reached or used; the message is one line.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        self._name = f"concwatch-{uuid.uuid4().hex}"
        self._known: dict[str, Host] = {}
        self._present: Mapping[str, str] = {}  # host → address of the Dask worker, of the connected ones
        self._bridges = ClusterBridges(self._name)
        self._numbers = itertools.count()
        self._beat = -1
        self._client: distributed.Client | None = None
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
        """The Dask workers that are connected now."""
        return [self._known[name] for name in sorted(self._present)]

    def open(self, host: Host, code: str, preamble: bytes) -> ClusterPipe:
        """Run ``python -c code`` beside a Dask worker and write ``preamble`` to its standard input."""
        number, address = next(self._numbers), self._present.get(host.name, "")
        pipe = ClusterPipe(
            lambda order, value: self._call(self._bridges.queue, address, (number, order, value)),
            self._send_beat,
        )
        python = "" if host.python == PYTHON else host.python
        self._call(self._open, number, address, pipe, ((python, "-c", code), preamble))
        return pipe

    def close(self) -> None:
        """End all bridges, the connection, and a local cluster."""
        self._call(self._stop.set)
        self._thread.join(3 * CLOSE_TIMEOUT)

    # Calls from other threads into the cluster's.

    def _call(self, function: Callable[..., object], *arguments: object) -> None:
        with suppress(RuntimeError):  # it is closed
            self._loop.call_soon_threadsafe(function, *arguments)

    def _open(self, number: int, address: str, pipe: ClusterPipe, how: object) -> None:
        if address in self._present.values():
            self._bridges.open(number, address, pipe, how)
        else:
            pipe.receive(plugin.FAILED, LEFT)

    def _send_beat(self, number: int) -> None:
        """Send a heartbeat to every bridge, once for all links that ask for the same number."""
        if number > self._beat:
            self._beat = number
            self._call(self._bridges.write_all, encode("beat", number=number))

    # The connection.

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._live())
        except Exception as error:  # Dask may raise anything
            if isinstance(error, OSError | TimeoutError):
                why = f"no Dask scheduler answered within {CONNECT_TIMEOUT:.0f} s"
            elif isinstance(error, ValueError):
                why = str(error)
            else:
                expected = f"expected a Dask scheduler with distributed {OLDEST} or newer"
                why = f"what answers cannot be used ({type(error).__name__}: {error}); {expected}"
            if not self._connected.done():
                self._connected.set_exception(ValueError(f"{self._address}: {one_line(plain(why))[:300]}"))
        finally:
            self._loop.close()

    async def _live(self) -> None:
        """Run until `close` is called, reconnecting whenever the connection is lost."""
        if not self._address.startswith(LOCAL):
            await self._stay_connected(self._address)
            return
        async with local_cluster(int(self._address.removeprefix(LOCAL))) as address:
            await self._stay_connected(address)

    async def _stay_connected(self, address: str) -> None:
        while not self._stop.is_set():
            try:
                await self._serve(address)
            except Exception:  # Dask may raise anything
                if not self._connected.done():
                    raise
            await self._wait(POLL_INTERVAL)

    async def _wait(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stop.wait()

    async def _serve(self, address: str) -> None:
        """Connect, and update the list of workers until `close` is called or the scheduler is gone."""
        client = distributed.Client(
            address, asynchronous=True, timeout=CONNECT_TIMEOUT, name="concwatch", set_as_default=False
        )
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT):
                await client
                await _check_versions(client)
                client.subscribe_topic(self._name, self._bridges.receive)
                await self._update_hosts(client)
            if not self._present:
                raise ValueError("the cluster has no workers; expected one or more")
            self._client, self._bridges.run = client, client.run
            if not self._connected.done():
                self._connected.set_result(None)
            while True:
                await self._wait(POLL_INTERVAL)
                if client.status != "running":
                    return
                if self._stop.is_set():
                    break
                async with asyncio.timeout(CONNECT_TIMEOUT):
                    await self._update_hosts(client)
            await self._bridges.close()
        finally:
            self._client, self._present = None, {}
            self._bridges.lose(GONE)
            with suppress(Exception):  # the scheduler may be gone
                async with asyncio.timeout(CLOSE_TIMEOUT):
                    await client.close()

    async def _update_hosts(self, client: distributed.Client) -> None:
        """Add the Dask workers that have joined, and end the pipes to those that have left."""
        found = (await client.scheduler.identity(n_workers=-1))["workers"]
        present = {}
        for address, facts in found.items():
            name = _host_name(facts["name"])
            present[name] = address
            self._known.setdefault(name, self._host(name, facts))
        left = {*self._present.values()} - {*present.values()}
        self._present = present
        self._bridges.end(LEFT, *left)

    def _host(self, name: str, facts: Mapping[str, Any]) -> Host:
        limit, used = facts.get("memory_limit"), facts.get("metrics", {}).get("memory", 0)
        return Host(name, (), memory=max(0, limit - used) if limit else None, opener=self.open)


def _host_name(name: object) -> str:
    """Return a Dask worker's name, or its address without the protocol."""
    if isinstance(name, int):
        return f"dask{name}"
    return one_line(plain(str(name))).rpartition("://")[2][:60] or "dask"


async def _check_versions(client: distributed.Client) -> None:
    """Raise a ValueError unless the cluster has this version of Python and a recent Dask."""
    found = await client.scheduler.versions()
    python = re.match(r"\d+\.\d+", str(found["host"]["python"]))
    dask = str(found["packages"]["distributed"])
    own = "{}.{}".format(*sys.version_info)
    if python is None or python[0] != own or int(dask.partition(".")[0]) < OLDEST:
        raise ValueError(
            f"it has Python {python[0] if python else '?'} and distributed {dask}; "
            f"expected Python {own}, as concwatch runs on, and distributed {OLDEST} or newer"
        )
