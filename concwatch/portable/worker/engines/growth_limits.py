"""Limits of the system: they stop the growth, and are reported."""

from __future__ import annotations

from concwatch.portable.worker.engines.file_limit import FileLimit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Optional, Tuple

    from concwatch.portable.worker.collector import Reserve
    from concwatch.portable.worker.inbox import Change
    from concwatch.portable.worker.target import TargetTracker, TaskCounts


class GrowthLimits:
    """Makes the live tasks the target when a limit is hit, and reports which one it was.

    Args:
        send: sends a report.
        tracker: the target.
        counts: the tasks.
        reserve: memory that is released when there is none left.
        submit: calls a function on the engine's thread.
    """

    def __init__(
        self,
        send: Callable[..., None],
        tracker: TargetTracker,
        counts: TaskCounts,
        reserve: Reserve,
        submit: Callable[[Change], None],
    ) -> None:
        self._send = send
        self._tracker = tracker
        self._counts = counts
        self._reserve = reserve
        self._files = FileLimit(tracker, counts, submit)

    def hit(self, error: BaseException) -> None:
        """Make the live tasks the target, and report which limit was hit: ``error`` prevented a task."""
        short = isinstance(error, MemoryError)
        if short:
            self._reserve.release()
        limit, value = self._find()
        if short and "memory" not in limit:
            limit, value = "memory", None
        self.stop_growing(limit, value, str(error)[:500] or ("out of memory" if short else ""))

    def _find(self) -> Tuple[str, Optional[int]]:
        """Return which limit was hit; finding that out takes memory, and there may be none left."""
        for _ in range(2):
            try:
                from concwatch.portable.machine.limits import limit_hit  # only an error needs it

                return limit_hit()
            except MemoryError:
                self._reserve.release()
        return "memory", None

    def stop_growing(self, limit: str, value: Optional[int], detail: str) -> None:
        """Make the live tasks the target, and report what prevents more."""
        wanted, standing = self._tracker.target, self._counts.report()["live"]
        self._tracker.settle(standing)
        self._report(standing, wanted, limit, value, detail)

    def hit_by_task(self, error: BaseException) -> bool:
        """Return whether a running task failed with ``error`` as no more files can be opened."""
        if isinstance(error, MemoryError):
            self._reserve.release()
        return self._files.handle(error)

    def check_files(self) -> None:
        """Report the limit on open files if running tasks have hit it; called before each tick."""
        self._files.check(self._report)

    def _report(self, standing: int, wanted: int, limit: str, value: Optional[int], detail: str) -> None:
        """Report what prevents more than ``standing`` of the wanted tasks."""
        self._send("limit", standing=standing, wanted=wanted, wall=limit, value=value, detail=detail)
