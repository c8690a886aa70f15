"""A burst: tasks created without a pause and run to their end, timed by the worker itself."""

from __future__ import annotations

from time import monotonic, process_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Dict, List, Optional

MAX_CHUNKS = 1_000
LONGEST_WAIT = 3_600.0


class Burst:
    """The parameters of a burst.

    Attributes:
        tasks: the total number of tasks.
        chunks: the number of parts; each part starts when the one before it has ended.
        older: extra tasks, created first and not timed, that begin only after the timed ones exist.
        read_after: seconds from creating a part to reading its live tasks and traced bytes; None for no
            reading.
    """

    __slots__ = ("chunks", "older", "read_after", "tasks")

    def __init__(
        self, tasks: int, chunks: int = 1, older: int = 0, read_after: Optional[float] = None
    ) -> None:
        self.tasks = tasks
        self.chunks = chunks
        self.older = older
        self.read_after = read_after

    def sizes(self) -> List[int]:
        """Return the size of each part; the first ones are larger by one if they do not divide evenly."""
        size, more = divmod(self.tasks, self.chunks)
        return [size + (part < more) for part in range(min(self.chunks, max(1, self.tasks)))]


class BurstTimer:
    """Measures a burst: wall-clock and CPU seconds, live tasks and traced bytes."""

    def __init__(self, traced: Callable[[], Optional[int]]) -> None:
        self._traced = traced
        self._tasks = 0
        self._create_seconds = self._create_cpu = self._seconds = self._cpu = 0.0
        self._live: Optional[int] = None
        self._before: Optional[int] = None
        self._added: Optional[int] = None
        self._began = self._began_cpu = 0.0

    def start_part(self) -> None:
        """Start the clocks, just before a part is created."""
        self._began = self._began_cpu = monotonic()  # allocated before the traced bytes are read
        self._before = self._traced()
        self._began, self._began_cpu = monotonic(), process_time()

    def add_created(self, count: int) -> None:
        """Record that a part of ``count`` tasks has been created."""
        self._create_cpu += process_time() - self._began_cpu
        self._create_seconds += monotonic() - self._began
        self._tasks += count

    def read_traced(self) -> None:
        """Read the bytes traced now beyond those traced before the part."""
        traced = self._traced()
        if traced is not None and self._before is not None:
            self._added = traced - self._before

    def set_live(self, count: int) -> None:
        """Record how many tasks of the part were live at the reading."""
        self._live = count

    def end_part(self) -> None:
        """Stop the clocks, when all tasks of the part have ended."""
        self._cpu += process_time() - self._began_cpu
        self._seconds += monotonic() - self._began

    def fields(self) -> Dict[str, object]:
        """Return the fields of the ``burst`` report."""
        return {
            "tasks": self._tasks,
            "create_seconds": self._create_seconds,
            "create_cpu": self._create_cpu,
            "seconds": self._seconds,
            "cpu": self._cpu,
            "live": self._live,
            "traced": self._added,
        }
