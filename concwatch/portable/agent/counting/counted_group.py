"""The tasks of one coroutine function, counted at creation, and live as of the last scan."""

from __future__ import annotations

import sys
from _weakref import ref
from itertools import count, islice, repeat
from time import monotonic

from ..basics.kept import IS_ESTIMATED, KeptTasks
from ..basics.names import printable
from ..basics.own_code import is_own, name_of
from .durations import Durations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple, Union

    Counter = Union[count[int], repeat[None]]

MAX_SAMPLES = 8
"""The most tasks per group whose creation is recorded."""

LINES_PER_GROUP = 100
"""The most tasks per group whose creating line is read between two reports; each takes 2 to 3 µs."""

MAX_STARTS = 20
"""The most distinct creating lines that are recorded per group."""

GEVENT = "gevent"
"""The kind of the groups of greenlets."""

FREE_THREADED = not getattr(sys, "_is_gil_enabled", lambda: True)()


class CountedGroup:
    """The tasks of one coroutine function: counted at creation, and as of the last scan.

    Args:
        number: the number that reports use.
        kind: ``"asyncio"``, ``"trio"`` or ``"gevent"``.
        key: the code of the function, or a type or string instead; the group does not keep it alive.
    """

    def __init__(self, number: int, kind: str, key: object) -> None:
        self.key = id(key)
        """The key in dictionaries of groups: the ``id`` of ``key``, or of the group once that is gone."""
        self.number = number
        self.kind = kind
        code: Any = key if hasattr(key, "co_firstlineno") else None
        self.name = name_of(code) if code else printable(getattr(key, "__qualname__", key))
        self.file = printable(code.co_filename) if code else ""
        self.line = max(0, code.co_firstlineno) if code else 0
        self.own = bool(code) and is_own(self.file)
        self.counter = counter()
        self.endings = counter()
        """Counts the tasks that have ended, for trio."""
        self.members: List[Any] = []
        """Weak references to its greenlets, for gevent; also to some that are gone."""
        self.members_due = 0
        """The number of references at which those of greenlets that are gone are removed."""
        self.direct = self.since = self.ended = self.live = self.retained = self.live_peak = 0
        self.moved = 0
        """Tasks that were moved here from the groups in which they were counted, less those moved away."""
        self.task_seconds = 0.0
        """The integral of live tasks over time, by the trapezoidal rule over the scans."""
        self.found = 0
        """Scans that have found a live task."""
        self.uncounted = 0
        """Live tasks in excess of all counted ones, found by the last scan for the first time."""
        self.started = counter()
        """Counts the tasks that start, once that is observed."""
        self.observed: Optional[int] = None
        """How many more tasks were counted than started when the observation began; None before."""
        self.completed = self.failed = self.cancelled = 0
        self.left: Dict[str, Counter] = {}
        """Counts the leftover tasks by creating line; ``""`` for those whose line was not recorded."""
        self.destructions = counter()
        """Counts the tasks that were destroyed while they were pending."""
        self.lines_due = LINES_PER_GROUP
        """Tasks whose creating line is still to be read before the next report."""
        self.samples: List[Tuple[Any, float, str]] = []
        """A weak reference, the time of creation and the creating line of some tasks, oldest first."""
        self.kept = KeptTasks()
        self.clock_ahead = 0.0
        """Seconds by which the clock of trio was ahead of `monotonic` when a task was last sampled."""
        self.starts: Dict[str, int] = {}
        self.durations = Durations()
        self.busy = 0.0
        """The estimated seconds in which its tasks ran."""
        self.reported: object = None
        """The last reported figures."""

    @property
    def identity(self) -> Tuple[str, str, int]:
        """The name, file and line of its function."""
        return self.name, self.file, self.line

    def count(self) -> int:
        """Count a task, and return how many were counted before."""
        next(self.counter)
        return self.counted() - 1

    def count_fast(self) -> Iterator[object]:
        """Return an iterator that counts a task when advanced; it ends at the next one to be timed."""
        if FREE_THREADED:  # an iterator that ends is not atomic
            return self.counter
        return islice(self.counter, max(0, self.durations.due - self.counted()))

    def counted(self) -> int:
        """Return how many tasks were counted at creation."""
        return value(self.counter)

    def created(self) -> int:
        """Return how many tasks are known to have been created since the agent started."""
        return value(self.counter) + self.direct + self.moved

    def observe_starts(self) -> None:
        """Begin to observe starts: tasks that start are counted from now on."""
        self.observed = self.direct + self.counted() - value(self.started)

    def add_direct(self, tasks: int) -> None:
        """Add tasks that a scan has found, and that were not counted at creation."""
        self.direct += tasks
        if self.observed is not None:
            self.observed += tasks

    def count_direct(self) -> None:
        """Update `direct` by the tasks that have started and were not counted at creation."""
        if self.observed is not None:
            started = value(self.started)  # first: a task is counted at creation before it starts
            self.direct = max(self.direct, self.observed + started - self.counted())

    @property
    def left_over(self) -> int:
        """How many tasks were left over."""
        return sum(self.left_lines.values())

    @property
    def left_lines(self) -> Dict[str, int]:
        """How many tasks were left over, by creating line."""
        return {line: value(counter) for line, counter in list(self.left.items())}

    @property
    def destroyed(self) -> int:
        """How many tasks were destroyed while they were pending."""
        return value(self.destructions)

    def count_outcome(self, task: Any) -> None:
        """Count how a task has ended."""
        if CANCELLED[self.kind](task):
            self.cancelled += 1
        # exception() would mark it as retrieved, so that asyncio would not log it if nobody else does.
        elif getattr(task, "_exception", None) is not None or getattr(task, "exc_info", None):
            self.failed += 1
        else:
            self.completed += 1

    def update_from_endings(self) -> None:
        """Compute ended and live tasks from `endings`."""
        self.ended = value(self.endings)
        self.live = max(0, self.created() - self.ended)

    def add_sample(self, task: object, start: str) -> None:
        """Record when ``task`` was created, and by which line."""
        samples = self.samples
        if len(samples) >= MAX_SAMPLES:
            self.samples = samples = samples[:1] + samples[2::2]  # keep the oldest one
        samples.append((ref(task), monotonic(), start))
        if IS_ESTIMATED and self.kind == "asyncio":
            self.kept.add(task, self.counted() - 1)

    def oldest(self) -> Optional[Tuple[Any, float, str]]:
        """Return the oldest live sampled task, its time of creation and its creating line.

        Samples of tasks that have ended are removed.
        """
        live = []
        for sample in list(self.samples):
            task = sample[0]()
            if task is not None and not ENDED[self.kind](task):
                live.append(sample)
        self.samples = live
        return (live[0][0](), live[0][1], live[0][2]) if live else None


def is_ended(greenlet: Any) -> bool:
    """Return whether a greenlet of gevent has ended.

    ``ready()`` would ask for the current greenlet, and so create one for the agent's thread.
    """
    return greenlet.successful() or greenlet.exception is not None


ENDED: Dict[str, Callable[[Any], bool]] = {
    "asyncio": lambda task: task.done(),
    "trio": lambda task: getattr(task.coro, "cr_frame", task) is None,
    GEVENT: is_ended,
}
"""By kind of group: whether a task has ended."""

CANCELLED: Dict[str, Callable[[Any], bool]] = {
    "asyncio": lambda task: task.cancelled(),
    GEVENT: lambda greenlet: type(greenlet.value).__name__ == "GreenletExit",
}
"""By kind of group: whether a task that has ended was cancelled, or killed."""


def counter() -> Counter:
    """Return a new counter, which `next` increments atomically.

    Two threads with an event loop each may create tasks of the same function, and ``+= 1`` is not atomic. In
    a free-threaded Python only ``count`` is, which creates an integer each time.
    """
    return count() if FREE_THREADED else repeat(None, sys.maxsize)


def value(counter: Counter) -> int:
    """Return the value of a counter."""
    if isinstance(counter, repeat):
        return sys.maxsize - counter.__length_hint__()
    return int(repr(counter)[6:-1])  # "count(5)": the only way to read it
