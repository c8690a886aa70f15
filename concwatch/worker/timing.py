"""How long tasks take: which of them are timed, and the times that the next tick carries."""

from __future__ import annotations

from collections import deque

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Deque, Dict, List, Optional

RATE, BUCKET = 900, 100
"""Tasks timed a second in the long run, and at once: together a thousand in any second at most."""

LEAST_STRIDE = 3
"""Of many tasks one in three is timed at most: what a timed one weighs more, 32 to 48 bytes, is 1 % then."""

LONGEST_LIST = 10_000


class Timing:
    """Chooses the tasks to be timed, and keeps their times until a tick takes them.

    A task is chosen as it is created, by its place among the created ones alone: every ``stride``-th, under
    a token bucket. The stride grows while the bucket is empty and shrinks while it is full. It is always
    odd, since slices of growth are powers of two: each place within a slice gets its turn.

    Args:
        clock: returns the time in seconds, monotonic.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.begin_again()
        self._tokens, self._filled = float(BUCKET), clock()
        # While nobody reads the ticks the oldest times are dropped.
        self._durations: Deque[float] = deque(maxlen=LONGEST_LIST)
        self._delays: Deque[float] = deque(maxlen=LONGEST_LIST)

    def begin_again(self) -> None:
        """Time tasks as after the start: what they do has changed, and with it how fast they are created."""
        self._stride = self._left = 1

    def chosen(self) -> Optional[float]:
        """Return the time now if the task about to be created is to be timed, else None."""
        if self._left > 1:
            self._left -= 1
            return None
        now = self._clock()
        self._tokens = min(BUCKET, self._tokens + (now - self._filled) * RATE)
        self._filled = now
        if self._tokens < 1:
            self._stride = 2 * self._stride + 1
        elif self._tokens == BUCKET and self._stride > LEAST_STRIDE:
            self._stride //= 2
        self._left = self._stride
        if self._tokens < 1:
            return None
        self._tokens -= 1
        return now

    def skip(self, most: int) -> int:
        """Count those of the next ``most`` tasks as created that come before one that may be chosen.

        To ask for each task would slow creation by 6 %.
        """
        count = min(most, self._left - 1)
        self._left -= count
        return count

    def begun(self, created: float, now: float) -> None:
        """Note that a task chosen at ``created`` begins ``now``."""
        self._delays.append(now - created)

    def completed(self, begun: float, now: float) -> None:
        """Note that a timed task that began at ``begun`` has completed ``now``."""
        self._durations.append(now - begun)

    def take(self) -> Dict[str, List[float]]:
        """Return the fields ``durations`` and ``delays`` of a tick: the times noted since the last call."""
        return {"durations": _taken(self._durations), "delays": _taken(self._delays)}


def _taken(times: Deque[float]) -> List[float]:
    """Take all that is there now, each in seconds to four digits and whole microseconds."""
    # One by one: other threads add meanwhile.
    return [round(float(f"{times.popleft():.4g}"), 6) for _ in range(len(times))]


class Begun(float):
    """When a task began (seconds, monotonic), and at the same time what is called at its end.

    An object of 32 bytes for both; a callback with an argument would be 150 for each timed task.
    """

    __slots__ = ()
    ended: Callable[[Begun, Any], None]
    """Called with the beginning and the task; set by the engine."""

    def __call__(self, task: Any) -> None:
        """Pass the end on."""
        Begun.ended(self, task)
