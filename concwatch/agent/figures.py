"""Figures of the whole process besides its tasks: threads, queues, delays of loops, collector, memory."""

from __future__ import annotations

import gc
import sys
from time import monotonic, perf_counter, process_time

from .counting import COUNTS, words
from .traced import TracedLines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Optional, Tuple

MOST = 20
"""Entries of a list; the rest comes as one."""

OFTEN = 1.0
"""Seconds between two walks over all threads: of 10,000 that takes some milliseconds."""


class Collector:
    """Adds up the seconds that garbage collection takes."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._began = 0.0
        self._callbacks: List[Any] = getattr(gc, "callbacks", [])  # PyPy has none
        self._callback: Callable[[str, Dict[str, int]], None] = self._note

    def _note(self, phase: str, info: Dict[str, int]) -> None:
        if phase == "start":
            self._began = perf_counter()
        elif self._began:
            self.seconds += perf_counter() - self._began

    def put(self) -> None:
        """Begin."""
        self._callbacks.append(self._callback)

    def take_back(self) -> None:
        """End."""
        if self._callback in self._callbacks:
            self._callbacks.remove(self._callback)


class _Probe:
    """Asks one loop to wake up, again and again, and notes how late it does."""

    def __init__(self, number: int, loop: Any) -> None:
        self.name = f"loop {number}"
        self.kind = words(f"{type(loop).__module__.partition('.')[0]}.{type(loop).__name__}")
        self._asked: Optional[float] = None
        self._worst = 0.0

    def _come(self) -> None:
        asked = self._asked
        if asked is not None:
            self._worst = max(self._worst, monotonic() - asked)
            self._asked = None

    def take(self, loop: Any) -> float:
        """Return the worst delay since the last call, in seconds, and ask again."""
        worst, self._worst = self._worst, 0.0
        now, asked = monotonic(), self._asked
        if asked is not None:
            return max(worst, now - asked)
        self._asked = now
        try:
            loop.call_soon_threadsafe(self._come)
        except Exception:  # it has been closed this moment
            self._asked = None
        return worst


def _label(thread: Any) -> str:
    target = getattr(thread, "_target", None)
    if target is not None:
        target = getattr(target, "func", target)  # a partial
        name = getattr(target, "__qualname__", None) or type(target).__name__
        return words(f"{getattr(target, '__module__', '')}.{name}")
    kind = type(thread)
    if kind.__module__ == "threading":
        return {"_MainThread": "main", "_DummyThread": "foreign"}.get(kind.__name__, kind.__name__)
    return words(f"{kind.__module__}.{kind.__qualname__}")


class Figures:
    """Reads them; each is left out where it cannot be had."""

    def __init__(self) -> None:
        self.collector = Collector()
        self._probes: Dict[int, _Probe] = {}
        self._found = 0
        self._walk_at = 0.0
        self._pools: List[Tuple[str, int, Any]] = []

    def read(self) -> Dict[str, Any]:
        """Return the fields of a tick."""
        fields: Dict[str, Any] = {
            "gc": round(self.collector.seconds, 6),
            "cpu": round(process_time(), 6),
        }
        for part in (self._loops, self._threads, self._executors, _limiter, _traced):
            try:
                fields.update(part())
            except Exception:  # private names of another Python, or of a package: only this figure is lost
                pass
        return fields

    def _loops(self) -> Dict[str, Any]:
        found: List[Dict[str, Any]] = []
        running = {id(loop): loop for loop in COUNTS.loops_now() if loop.is_running()}
        for key in set(self._probes) - set(running):
            del self._probes[key]
        for key, loop in running.items():
            probe = self._probes.get(key)
            if probe is None:
                self._found += 1
                probe = self._probes[key] = _Probe(self._found, loop)
            found.append({"name": probe.name, "kind": probe.kind, "lag": round(probe.take(loop), 6)})
        if not found:
            return {}
        found.sort(key=lambda one: one["lag"], reverse=True)
        return {"lag": found[0]["lag"], "loops": found[:MOST]}

    def _threads(self) -> Dict[str, Any]:
        now = monotonic()
        threading = sys.modules.get("threading")
        if threading is None or now < self._walk_at:
            return {}
        self._walk_at = now + OFTEN
        counts: Dict[str, int] = {}
        for thread in threading.enumerate():
            label = _label(thread)
            counts[label] = counts.get(label, 0) + 1
        ranked = sorted(counts.items(), key=lambda item: -item[1])
        if len(ranked) > MOST:
            ranked = [*ranked[: MOST - 1], ("others", sum([count for _, count in ranked[MOST - 1 :]]))]
        self._pools = _find_pools()
        return {"threads": [{"name": name, "count": count} for name, count in ranked]}

    def _executors(self) -> Dict[str, Any]:
        pools = [
            {"name": name, "threads": threads, "queued": queue.qsize()}
            for name, threads, queue in self._pools
        ]
        pools.sort(key=lambda pool: -pool["queued"])
        queued = sum([pool["queued"] for pool in pools])
        return {"queued": queued, "executors": pools[:MOST]} if pools else {}


def _find_pools() -> List[Tuple[str, int, Any]]:
    """Return name, threads and queue of each thread pool of ``concurrent.futures``."""
    queues = getattr(sys.modules.get("concurrent.futures.thread"), "_threads_queues", None)
    pools: Dict[int, List[Any]] = {}
    for reference, queue in list(queues.data.items()) if queues is not None else ():
        thread = reference()
        if thread is not None and thread.is_alive():
            pools.setdefault(id(queue), [words(thread.name.rpartition("_")[0]), 0, queue])[1] += 1
    return [(name, threads, queue) for name, threads, queue in pools.values()]


def _limiter() -> Dict[str, Any]:
    """Return AnyIO's default limiters of threads, all loops together."""
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


def _traced() -> Dict[str, int]:
    tracemalloc = sys.modules.get("tracemalloc")
    if tracemalloc is None or not tracemalloc.is_tracing():
        return {}
    return {
        "traced": tracemalloc.get_traced_memory()[0],
        "tracer": tracemalloc.get_tracemalloc_memory(),
    }


class Tracing:
    """``tracemalloc``, when it is asked for."""

    def __init__(self) -> None:
        self._ours = False
        self._lines = TracedLines()

    def set(self, on: bool) -> None:
        """Start or end it; what the program has started stays."""
        import tracemalloc  # with pickle and linecache behind it

        if on and not tracemalloc.is_tracing():
            tracemalloc.start()
            self._ours = True
        elif not on and self._ours:
            tracemalloc.stop()
            self._ours = False
            self._lines.forget()

    def lines(self) -> List[Dict[str, Any]]:
        """Return the lines that hold traced memory, by growth since the last call.

        Raises:
            ValueError: nothing is traced.
        """
        return [dict(line, file=words(line["file"])) for line in self._lines.look()]
