"""The wall that tasks find themselves: too many files are open for one of them to open its own."""

from __future__ import annotations

import os
from threading import Lock

from concwatch.system import open_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Optional, Tuple

    from concwatch.worker.goal import Counts, Goal


class FileWall:
    """Settles a goal with what stands while tasks fail for want of files, and reports it once that is over.

    Other walls refuse a task that is being created. This one refuses a file to tasks that stand already, to
    many at once, and each that fails so would be replaced only to fail as well.
    """

    def __init__(self, goal: Goal, counts: Counts, submit: Callable[[Callable[[], None]], None]) -> None:
        self._goal = goal
        self._counts = counts
        self._submit = submit
        self._pending = Lock()  # taken while the goal is still to be settled
        self._fresh = False
        self._hit: Optional[Tuple[int, int]] = None  # the target there was, and the one it was settled at

    def hit_by(self, error: BaseException) -> bool:
        """Return whether a task that ended with ``error`` hit this wall; have the goal settled then."""
        if not open_files.is_too_many_files(error):
            return False
        self._fresh = True
        if self._pending.acquire(blocking=False):
            self._submit(self._settle)
        return True

    def _settle(self) -> None:
        self._pending.release()
        goal, live = self._goal, self._counts.live
        if live <= goal.target:  # else too many stand anyway, and are on their way out
            again = self._hit is not None and self._hit[1] == goal.target
            wanted = self._hit[0] if self._hit and again else goal.target
            goal.settle(live)
            self._hit = wanted, live

    def look(self, report: Callable[..., None]) -> None:
        """Have ``report`` called, on the engine's own thread, when no task has failed so since the last look.

        Args:
            report: takes how many stand, the target there was, the wall's name and value, the system's words.
        """
        if self._hit is not None and not self._fresh:
            self._submit(lambda: self._report(report))
        self._fresh = False

    def _report(self, report: Callable[..., None]) -> None:
        from errno import EMFILE  # only here, as everything that an idle worker can do without

        hit, self._hit = self._hit, None
        if hit is not None and hit[1] == self._goal.target:  # else another target was asked for meanwhile
            report(hit[1], hit[0], open_files.WALL, open_files.open_file_limit(), os.strerror(EMFILE))
