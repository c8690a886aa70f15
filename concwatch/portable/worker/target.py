"""An engine's counters and target: plain arithmetic, with time passed in."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, Optional


PATIENCE = 0.25
"""Share of the target that is created in place of tasks that have ended before it counts as reached."""


class TaskCounts:
    """The four counters of an engine, from which ``live`` follows."""

    __slots__ = ("cancelled", "completed", "created", "failed")

    def __init__(self) -> None:
        self.created = 0
        self.completed = 0
        self.failed = 0
        self.cancelled = 0

    @property
    def live(self) -> int:
        """Tasks created and not yet ended."""
        # Read first, so that a concurrent change never makes the difference negative.
        ended = self.completed + self.failed + self.cancelled
        return self.created - ended

    def report(self) -> Dict[str, int]:
        """Return all five as a tick's fields; they add up even while other threads change them."""
        completed, failed, cancelled = self.completed, self.failed, self.cancelled
        ended = completed + failed + cancelled
        created = max(self.created, ended)  # a task on a thread may end before its start is counted
        return {
            "created": created,
            "live": created - ended,
            "completed": completed,
            "failed": failed,
            "cancelled": cancelled,
        }


class TargetTracker:
    """The target of an engine, and how many tasks are still missing."""

    __slots__ = (
        "_arrived",
        "_cancelled",
        "_created",
        "_due",
        "_left",
        "_replacing",
        "paused",
        "refill",
        "target",
    )

    def __init__(self) -> None:
        self.target = 0
        """The number of live tasks to hold."""
        self.refill = True
        """Whether a task that ends is replaced."""
        self.paused = False
        """Whether no task is created or cancelled for now: a burst manages its own."""
        self._left = 0  # without refill: tasks of the target still to be created
        self._due = 0  # the value of ``created`` at which the target is met
        self._created = 0
        self._cancelled = 0
        self._arrived: Optional[float] = None  # seconds; None once it has been reported as met
        self._replacing = False

    def set_target(self, target: int, counts: TaskCounts, now: float) -> None:
        """Set a new target that arrived at ``now`` (seconds)."""
        self.target = target
        self._left = max(0, target - (0 if self._replacing else counts.live))
        self._created = counts.created
        self._cancelled = counts.cancelled
        self._due = counts.created + self._left
        self._arrived = now

    def set_refill(self, on: bool) -> None:
        """Switch refill on or off; tasks of the target that were still to be created are dropped."""
        self.refill = on
        self._left = 0

    def replace(self, live: int) -> None:
        """Have every live task cancelled and replaced: the workload has changed."""
        # Tasks that an earlier change is still cancelling are already among those left to create.
        again = 0 if self._replacing else min(live, self.target - self._left)
        self._replacing = self._replacing or live > 0
        self._left += again
        self._due += again

    @property
    def pending(self) -> bool:
        """Whether the target has not been reported as met yet."""
        return self._arrived is not None

    @property
    def replacing(self) -> bool:
        """Whether all live tasks are of the previous workload, and are being cancelled."""
        return self._replacing

    def settle(self, live: int) -> None:
        """Lower the target to what is live: a limit was hit, or growth was halted."""
        self.target = min(self.target, live)
        self._left = 0
        self._arrived = None

    def pause(self, tasks: int) -> None:
        """Stop creating and cancelling tasks: a burst of ``tasks`` manages its own."""
        self.target, self.paused = tasks, True

    def resume(self) -> None:
        """Hold a target again, initially 0: the burst has ended."""
        self.target, self.paused = 0, False

    def wanted(self, live: int, leaving: int = 0) -> int:
        """Return how many tasks to create, or, if negative, to cancel besides the ``leaving`` ones.

        ``leaving`` counts live tasks that are already being cancelled.
        """
        if self.paused:
            return 0
        staying = live - leaving
        if self._replacing:
            # Until the last one has ended: a task being cancelled is still live when a new target arrives.
            self._replacing = live > 0
            if self._replacing:
                return -staying
        if staying > self.target or self.refill:
            return self.target - staying
        return min(self._left, self.target - staying)

    def created(self, count: int) -> None:
        """Record that ``count`` tasks have been created."""
        self._left = max(0, self._left - count)

    def reached(self, counts: TaskCounts, now: float) -> Optional[Dict[str, object]]:
        """Return the fields of a ``reached`` report if the target has just been met, else None."""
        live = counts.live
        if self._arrived is None or counts.created < self._due or live > self.target:
            return None
        # Tasks may end before all have been created. If they end too fast, all are never live at once.
        if self.refill and live < self.target and counts.created < self._due + self.target * PATIENCE:
            return None
        fields: Dict[str, object] = {
            "target": self.target,
            "live": counts.report()["live"],
            "created": counts.created - self._created,
            "cancelled": counts.cancelled - self._cancelled,
            "seconds": now - self._arrived,
        }
        self._arrived = None
        return fields
