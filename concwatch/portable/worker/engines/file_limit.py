"""The limit on open files, which running tasks hit by themselves."""

from __future__ import annotations

import os
from threading import Lock
from time import monotonic

from concwatch.portable.machine import open_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Optional, Tuple

    from concwatch.portable.worker.target import TargetTracker, TaskCounts


QUIET = 0.25
"""Seconds without such a failure after which it is over: on a busy machine, tasks fail one by one."""


class FileLimit:
    """Lowers the target while tasks fail because they cannot open a file, and reports that once it is over.

    Other limits prevent a task from being created. This one is hit by tasks that are already running, by
    many at once, and each that fails would be replaced by one that fails as well.
    """

    def __init__(
        self, tracker: TargetTracker, counts: TaskCounts, submit: Callable[[Callable[[], None]], None]
    ) -> None:
        self._tracker = tracker
        self._counts = counts
        self._submit = submit
        self._pending = Lock()  # acquired while the target is still to be lowered
        self._hit_at = 0.0  # when a task last failed
        self._hit: Optional[Tuple[int, int]] = None  # the original target, and the one it was lowered to

    def handle(self, error: BaseException) -> bool:
        """Return whether a task that failed with ``error`` hit this limit; if so, lower the target."""
        if not open_files.is_too_many_files(error):
            return False
        self._hit_at = monotonic()
        if self._pending.acquire(blocking=False):
            self._submit(self._settle)
        return True

    def _settle(self) -> None:
        self._pending.release()
        tracker, live = self._tracker, self._counts.live
        if live <= tracker.target:  # otherwise too many are live, and are being cancelled anyway
            again = self._hit is not None and self._hit[1] == tracker.target
            wanted = self._hit[0] if self._hit and again else tracker.target
            tracker.settle(live)
            self._hit = wanted, live

    def check(self, report: Callable[..., None]) -> None:
        """Call ``report`` on the engine's thread if the limit was hit, and that is over.

        Args:
            report: takes the number of live tasks, the original target, the limit's name and value, and the
                system's error message.
        """
        if self._hit is not None and monotonic() >= self._hit_at + QUIET:
            self._submit(lambda: self._report(report))

    def _report(self, report: Callable[..., None]) -> None:
        from errno import EMFILE  # only here: an idle worker does not need it

        hit, self._hit = self._hit, None
        if hit is not None and hit[1] == self._tracker.target:  # otherwise another target has been set since
            report(hit[1], hit[0], open_files.NAME, open_files.open_file_limit(), os.strerror(EMFILE))
