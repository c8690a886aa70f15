"""Figures of the whole process besides its tasks: threads, queues, garbage collection."""

from __future__ import annotations

import gc
import os
import sys
from _collections import deque  # type: ignore[import-not-found]
from _functools import partial  # type: ignore[import-not-found]
from time import monotonic, perf_counter, process_time

from ..basics.guard import guarded
from ..basics.imports import imported_module
from ..counting.threads import ThreadCounts, all_threads, is_alive, pool_name
from ..hooking.executors import EXECUTORS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Deque, Dict, List

MAX_ENTRIES = 20
"""The most entries per list; further threads are combined in one."""

MAX_COLLECTIONS = 10_000
"""Collections between two readings that are measured."""

THREADS_INTERVAL, PER_THREAD = 0.5, 1e-4
"""Seconds between two readings of all threads, and for each thread; 10,000 of them take some milliseconds."""


FILE_TYPE, SOCKET = 0o170000, 0o140000  # ``stat`` is not imported by each program
"""The bits of a file's mode that hold its type, and their value for a socket."""

FILES_INTERVAL = 3.0
"""Seconds between two counts of the open files; with 10,000 of them one takes some milliseconds."""


class CollectionTimer:
    """Measures the seconds spent in garbage collection.

    The collector calls nothing that is written in Python: what a signal raises within that, such as
    ``KeyboardInterrupt``, would be lost.
    """

    def __init__(self) -> None:
        self._seconds = 0.0
        self._starts: Deque[float] = deque(maxlen=MAX_COLLECTIONS)
        self._stops: Deque[float] = deque(maxlen=MAX_COLLECTIONS)
        self._callbacks: List[Any] = getattr(gc, "callbacks", [])  # PyPy has none
        # ``getattr(phases, "start", info)`` appends the time to ``_starts``.
        phases = type("Phases", (), {"start": _appending(self._starts), "stop": _appending(self._stops)})
        self._callback: Callable[[str, Dict[str, int]], None] = partial(getattr, phases())

    @property
    def seconds(self) -> float:
        """The seconds spent in completed collections."""
        while self._stops:
            stop = self._stops.popleft()
            while self._starts and self._starts[0] <= stop:
                start = self._starts.popleft()
                if not self._starts or self._starts[0] > stop:
                    self._seconds += stop - start
        return self._seconds

    def install(self) -> None:
        """Start measuring."""
        self._callbacks.append(self._callback)

    def remove(self) -> None:
        """Stop measuring."""
        if self._callback in self._callbacks:
            self._callbacks.remove(self._callback)


def _appending(times: Deque[float]) -> property:
    """Return a property that appends the time to ``times`` when it is read, all in C."""
    return property(partial(next, map(times.append, iter(perf_counter, None))))


class Figures:
    """Reads the figures of this process; those not available are left out.

    Args:
        loops: returns the running loops and their lag, the highest lag first.
    """

    def __init__(self, loops: Callable[[], List[Dict[str, Any]]]) -> None:
        self.collector = CollectionTimer()
        self._read_loops = loops
        self._threads_due = 0.0
        self._thread_counts = ThreadCounts()
        self._files_due = 0.0
        self._pools: List[_Pool] = []

    def read(self) -> Dict[str, Any]:
        """Return the fields of a tick."""
        fields: Dict[str, Any] = {
            "gc": round(self.collector.seconds, 6),
            "cpu": round(process_time(), 6),
        }
        for part in (self._loops, self._threads, self._files, self._executors, _limiter, _traced):
            fields.update(part() or {})
        return fields

    @guarded("event loops")
    def _loops(self) -> Dict[str, Any]:
        found = self._read_loops()
        return {"lag": found[0]["lag"], "loops": found} if found else {}

    @guarded("threads and executors")
    def _threads(self) -> Dict[str, Any]:
        now = monotonic()
        if "threading" not in sys.modules or now < self._threads_due:
            return {}
        threads = all_threads()
        self._threads_due = now + max(THREADS_INTERVAL, PER_THREAD * len(threads))
        self._pools = _find_pools()
        return {"threads": self._thread_counts.read(threads), "executor_lines": EXECUTORS.read()}

    @guarded("open files")
    def _files(self) -> Dict[str, Any]:
        now = monotonic()
        if now < self._files_due:
            return {}
        self._files_due = now + FILES_INTERVAL
        try:
            found = os.listdir("/proc/self/fd")
        except OSError:  # there is no ``/proc``, or no free descriptor
            return {}
        # Without the agent's own socket, and the descriptor of the listing itself.
        return {"files": len(found) - 2, "sockets": sum(map(_is_socket, map(int, found))) - 1}

    @guarded("queues of executors")
    def _executors(self) -> Dict[str, Any]:
        pools = _by_name([pool.read() for pool in self._pools])
        pools.sort(key=lambda pool: -pool["queued"])
        queued = sum([pool["queued"] for pool in pools])
        return {"queued": queued, "executors": pools[:MAX_ENTRIES]} if pools else {}


def _is_socket(file: int) -> bool:
    try:
        return os.fstat(file).st_mode & FILE_TYPE == SOCKET
    except OSError:  # it has been closed
        return False


class _Pool:
    """A thread pool of ``concurrent.futures``."""

    def __init__(self, name: str, queue: Any) -> None:
        self.name = name
        self.threads: List[Any] = []
        """Weak references to its threads."""
        self._queue = queue

    def read(self) -> Dict[str, Any]:
        """Return its entry in a tick."""
        threads = [reference() for reference in self.threads]
        alive = sum([thread is not None and is_alive(thread) for thread in threads])
        # If all threads have ended, what is left in the queue is the request to end.
        return {"name": self.name, "threads": alive, "queued": self._queue.qsize() if alive else 0}


def _by_name(pools: List[Dict[str, Any]]) -> List[Dict[str, Any]]:
    """Return the entries of pools, with those of the same name added up."""
    found: Dict[str, Dict[str, Any]] = {}
    for pool in pools:
        same = found.setdefault(pool["name"], pool)
        if same is not pool:
            same["threads"] += pool["threads"]
            same["queued"] += pool["queued"]
    return list(found.values())


def _find_pools() -> List[_Pool]:
    """Return the thread pools that have threads."""
    queues = getattr(sys.modules.get("concurrent.futures.thread"), "_threads_queues", None)
    pools: Dict[int, _Pool] = {}
    for reference, queue in list(queues.data.items()) if queues is not None else ():
        thread = reference()
        if thread is not None and is_alive(thread):
            pools.setdefault(id(queue), _Pool(pool_name(thread), queue)).threads.append(reference)
    return list(pools.values())


@guarded("thread limiters")
def _limiter() -> Dict[str, Any]:
    """Return the sums of AnyIO's default thread limiters, one per event loop."""
    values = getattr(sys.modules.get("anyio.lowlevel"), "_run_vars", None)
    used = total = waiting = 0
    for found in list(values.values()) if values is not None else ():
        for key, value in list(found.items()):
            if "_default_thread_limiter" in (key, getattr(key, "_name", None)):
                statistics = value.statistics()
                used += statistics.borrowed_tokens
                total += int(min(statistics.total_tokens, 1 << 53))
                waiting += statistics.tasks_waiting
    return {"limiter": {"used": used, "total": total, "waiting": waiting}} if total else {}


@guarded("traced memory")
def _traced() -> Dict[str, int]:
    tracemalloc = imported_module("tracemalloc")
    if tracemalloc is None or not tracemalloc.is_tracing():
        return {}
    return {
        "traced": tracemalloc.get_traced_memory()[0],
        "tracer": tracemalloc.get_tracemalloc_memory(),
    }
