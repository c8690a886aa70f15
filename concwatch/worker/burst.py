"""A burst: so many tasks created without a pause and run to their end, timed by the worker itself."""

from __future__ import annotations

from time import monotonic, process_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Dict, List, Optional

MOST_CHUNKS = 1_000
LONGEST_WAIT = 3_600.0


class Burst:
    """What a burst is to be.

    Attributes:
        tasks: how many in all.
        chunks: in how many parts; the next part begins when the last one has ended.
        older: how many more are created first, outside the time taken, and have not begun while it is taken.
        read_after: seconds from the creation of a part to the reading of live tasks and traced bytes; None
            for no reading.
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
        """Return the size of each part, the first ones larger by one where it does not divide evenly."""
        size, more = divmod(self.tasks, self.chunks)
        return [size + (part < more) for part in range(min(self.chunks, max(1, self.tasks)))]


class Record:
    """What a burst took: wall and CPU seconds, and what was read on the way."""

    def __init__(self, traced: Callable[[], Optional[int]]) -> None:
        self._traced = traced
        self._tasks = 0
        self._create_seconds = self._create_cpu = self._seconds = self._cpu = 0.0
        self._live: Optional[int] = None
        self._before: Optional[int] = None
        self._added: Optional[int] = None
        self._began = self._began_cpu = 0.0

    def begin_part(self) -> None:
        """Start the clocks: the creation of a part begins."""
        self._began = self._began_cpu = monotonic()  # so that these two numbers are among what is traced
        self._before = self._traced()
        self._began, self._began_cpu = monotonic(), process_time()

    def created(self, count: int) -> None:
        """Note that ``count`` tasks, a part, have been created."""
        self._create_cpu += process_time() - self._began_cpu
        self._create_seconds += monotonic() - self._began
        self._tasks += count

    def read(self) -> None:
        """Read what is traced now, over what was traced before the part."""
        traced = self._traced()
        if traced is not None and self._before is not None:
            self._added = traced - self._before

    def live(self, count: int) -> None:
        """Note how many tasks of the part were live at the reading."""
        self._live = count

    def end_part(self) -> None:
        """Stop the clocks: all tasks of the part have ended."""
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
