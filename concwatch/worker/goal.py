"""What an engine is asked to hold, and how far it is: plain arithmetic on counters, with time passed in."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, Optional


class Counts:
    """The four counters of an engine; ``live`` follows from them."""

    __slots__ = ("cancelled", "completed", "created", "failed")

    def __init__(self) -> None:
        self.created = 0
        self.completed = 0
        self.failed = 0
        self.cancelled = 0

    @property
    def live(self) -> int:
        """Tasks created and not yet ended."""
        # What ends is read before what begins, so that a tick in mid-change never shows fewer than none.
        ended = self.completed + self.failed + self.cancelled
        return self.created - ended

    def report(self) -> Dict[str, int]:
        """Return all five as a tick carries them; they add up whatever changes meanwhile."""
        completed, failed, cancelled = self.completed, self.failed, self.cancelled
        ended = completed + failed + cancelled
        created = max(self.created, ended)  # a thread's task may have ended before its start is counted
        return {
            "created": created,
            "live": created - ended,
            "completed": completed,
            "failed": failed,
            "cancelled": cancelled,
        }


class Goal:
    """The target of an engine, and what is still wanted to meet it."""

    __slots__ = (
        "_asked",
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
        """Live tasks to hold."""
        self.refill = True
        """Whether a task that ends is replaced."""
        self.paused = False
        """Whether nothing is wanted for now: a burst creates its own tasks and lets them end."""
        self._left = 0  # without refill: how many of the burst are still to be created
        self._due = 0  # ``created`` at which everything asked for has been created
        self._created = 0
        self._cancelled = 0
        self._asked: Optional[float] = None
        self._replacing = False

    def ask(self, target: int, counts: Counts, now: float) -> None:
        """Take a new target that arrived at ``now`` (seconds)."""
        self.target = target
        self._left = max(0, target - (0 if self._replacing else counts.live))
        self._created = counts.created
        self._cancelled = counts.cancelled
        self._due = counts.created + self._left
        self._asked = now

    def set_refill(self, on: bool) -> None:
        """Switch refill; what a burst had not created yet is dropped with it."""
        self.refill = on
        self._left = 0

    def replace(self, live: int) -> None:
        """Ask for every live task to be ended first: what a task does has changed."""
        # While an earlier change still ends them, they are among what is left to be created already.
        again = 0 if self._replacing else min(live, self.target - self._left)
        self._replacing = live > 0
        self._left += again
        self._due += again

    @property
    def replacing(self) -> bool:
        """Whether what is live is still of the workload before, and none of the new one has begun."""
        return self._replacing

    def settle(self, live: int) -> None:
        """Take what is live as the target: a wall was hit, or growth is to stop."""
        self.target = min(self.target, live)
        self._left = 0
        self._asked = None

    def pause(self, tasks: int) -> None:
        """Want nothing from now on: a burst of ``tasks`` creates its own and lets them end."""
        self.target, self.paused = tasks, True

    def resume(self) -> None:
        """Hold a target again, 0 at first: the burst has ended."""
        self.target, self.paused = 0, False

    def wanted(self, live: int, leaving: int = 0) -> int:
        """Return how many tasks to create, or, if negative, to cancel besides those that are ``leaving``."""
        if self.paused:
            return 0
        staying = live - leaving
        if self._replacing:
            # Until the last has ended: one being cancelled is still live where a new target is asked for.
            self._replacing = live > 0
            if self._replacing:
                return -staying
        if staying > self.target or self.refill:
            return self.target - staying
        return min(self._left, self.target - staying)

    def created(self, count: int) -> None:
        """Note that ``count`` tasks have been created."""
        self._left = max(0, self._left - count)

    def reached(self, counts: Counts, now: float) -> Optional[Dict[str, object]]:
        """Return the fields of a ``reached`` report when the target has just been met, else None."""
        if self._asked is None or counts.created < self._due or counts.live > self.target:
            return None
        fields: Dict[str, object] = {
            "target": self.target,
            "live": counts.live,
            "created": counts.created - self._created,
            "cancelled": counts.cancelled - self._cancelled,
            "seconds": now - self._asked,
        }
        self._asked = None
        return fields
