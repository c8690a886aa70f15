"""Task timing: which tasks are timed, and their durations and delays for the next tick."""

from __future__ import annotations

from collections import deque

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Deque, Dict, List, Optional

RATE, BUCKET = 900, 100
"""Tasks timed per second in the long run, and at once: together at most a thousand in any second."""

MIN_STRIDE = 3
"""At most one task in three is timed: the 50 to 100 bytes more that a timed task takes stay near 2 %."""

MAX_TIMES = 10_000


class Timing:
    """Chooses the tasks to time, and collects their times for the next tick.

    A task is chosen when it is created, by nothing but its index: every ``stride``-th, limited by a token
    bucket. The stride grows while the bucket is empty and shrinks while it is full. It is always odd, because
    the slices of growth are powers of two: so each position within a slice is chosen equally often.

    Args:
        clock: returns the time in seconds, monotonic.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.reset()
        self._tokens, self._filled = float(BUCKET), clock()
        # If ticks are not read, the oldest times are dropped.
        self._durations: Deque[float] = deque(maxlen=MAX_TIMES)
        self._delays: Deque[float] = deque(maxlen=MAX_TIMES)

    def reset(self) -> None:
        """Reset the stride: the workload has changed, and with it how fast tasks are created."""
        self._stride = self._left = 1

    def choose(self) -> Optional[float]:
        """Return the current time if the task about to be created is to be timed, else None."""
        if self._left > 1:
            self._left -= 1
            return None
        now = self._clock()
        self._tokens = min(BUCKET, self._tokens + (now - self._filled) * RATE)
        self._filled = now
        if self._tokens < 1:
            self._stride = 2 * self._stride + 1
        elif self._tokens == BUCKET and self._stride > MIN_STRIDE:
            self._stride //= 2
        self._left = self._stride
        if self._tokens < 1:
            return None
        self._tokens -= 1
        return now

    def skip(self, most: int) -> int:
        """Skip the tasks before the next candidate, at most ``most``; return how many.

        Calling `choose` for each of them would slow creation by 6 %.
        """
        count = min(most, self._left - 1)
        self._left -= count
        return count

    def record_start(self, created: float, now: float) -> None:
        """Record that a task chosen at ``created`` has begun ``now``."""
        self._delays.append(now - created)

    def record_completion(self, begun: float, now: float) -> None:
        """Record that a timed task that began at ``begun`` has completed ``now``."""
        self._durations.append(now - begun)

    def drain(self) -> Dict[str, List[float]]:
        """Return the times recorded since the last call, as a tick's ``durations`` and ``delays``."""
        return {"durations": _drained(self._durations), "delays": _drained(self._delays)}


def _drained(times: Deque[float]) -> List[float]:
    # In seconds, to four digits and whole microseconds. One by one: other threads append meanwhile.
    return [round(float(f"{times.popleft():.4g}"), 6) for _ in range(len(times))]
