"""Time some tasks of each function, chosen at random, from their first step to their end.

A timed task gets a done callback, and its loop a callback for the first step. This takes some microseconds
for each of at most about 300 tasks per second, and nothing for the others.
"""

from __future__ import annotations

from math import log1p
from time import monotonic, perf_counter_ns

from ..basics.guard import guarded
from ..basics.primitives import get_ident

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Tuple

    Weighted = Tuple[float, int]
    """Seconds, and how many tasks they stand for."""

QUOTA, TOTAL_QUOTA = 100, 150
"""Timed tasks between two reports above which a smaller share is timed: of one function, and of all."""

MAX_TIMED, MAX_ALL_TIMED = 500, 3_000
"""The most live timed tasks: of one function, and of all, which take about a megabyte."""

MAX_UNSENT = 1_000
"""The most durations of a function that are kept for the next report."""

YOUNGER, OLDEST = 15, 5
"""Parts into which the live timed tasks are divided by age, to report few mean ages: of the younger 95 %,
and of the others, each a hundredth, since these show how long tasks may live.
"""

_CUTS = [0.95 * part / YOUNGER for part in range(YOUNGER)] + [
    0.95 + 0.05 * part / OLDEST for part in range(OLDEST + 1)
]

_MASK = (1 << 64) - 1


class _Random:
    """A random number generator (xorshift64*), which leaves that of the program untouched."""

    def __init__(self, seed: int) -> None:
        self._state = (seed & _MASK) or 1

    def next(self) -> float:
        """Return a number from 0 to less than 1."""
        state = self._state
        state ^= state >> 12
        state ^= (state << 25) & _MASK
        state ^= state >> 27
        self._state = state
        return ((state * 2685821657736338717) & _MASK) / 18446744073709551616


RANDOM = _Random(perf_counter_ns() * 2654435761)
"""The agent's random number generator."""

_stepped: Dict[int, float] = {}
"""When the first step of a timed task last ended, by thread."""


class TimedTask:
    """A task that is timed.

    Args:
        durations: those of its function.
        weight: how many tasks it stands for.
    """

    __slots__ = ("began", "durations", "weight")

    def __init__(self, durations: Durations, weight: int) -> None:
        self.durations, self.weight, self.began = durations, weight, monotonic()

    @guarded("durations")
    def started(self) -> None:
        """Handle the end of its first step, in the thread of its loop. Never raises."""
        # A task created in a burst waits for its turn: it starts when the step of the previous one has ended.
        thread = get_ident()
        self.began = max(self.began, _stepped.get(thread, 0.0))
        _stepped[thread] = monotonic()

    @guarded("durations")
    def ended(self, task: object = None) -> None:
        """Handle its end. Never raises."""
        durations = self.durations
        if durations.live.pop(id(self), None) is None:
            return
        Durations.all_live -= 1
        if len(durations.unsent) < MAX_UNSENT:
            durations.unsent.append((monotonic() - self.began, self.weight))


class Durations:
    """Chooses which tasks of a function are timed, by their number, and keeps how long they took."""

    all_live = 0
    """The live timed tasks of all functions."""

    def __init__(self) -> None:
        self.due = 0
        """The number of the next task to be timed."""
        self.gap = 1
        """One task out of this many is timed."""
        self.live: Dict[int, TimedTask] = {}
        """The timed tasks that have not ended, by ``id``."""
        self.unsent: List[Weighted] = []
        self._weight = 1
        self._timed = 0

    def choose(self, number: int, all_timed: int) -> TimedTask:
        """Return a `TimedTask` for the task of this number, and choose the next one.

        Args:
            number: the number of the task.
            all_timed: how many tasks of all functions were timed since the last report.
        """
        timing = TimedTask(self, self._weight)
        self._timed += 1
        if self._timed > QUOTA or all_timed > TOTAL_QUOTA:
            self.gap *= 2
            self._timed = 0
        self._draw(number)
        return timing

    def add(self, timing: TimedTask) -> bool:
        """Keep a timing until its task ends; return False if too many are kept."""
        if len(self.live) >= MAX_TIMED or Durations.all_live >= MAX_ALL_TIMED:
            return False
        Durations.all_live += 1
        self.live[id(timing)] = timing
        return True

    def begin(self, counted: int) -> None:
        """Time every task from now on; ``counted`` is how many there have been so far."""
        self.gap = self._weight = 1
        self.due, self._timed = counted, 0

    def begin_period(self, counted: int) -> None:
        """Time a larger share of tasks if few were timed; ``counted`` is how many there have been so far."""
        if self.gap > 1 and self._timed < QUOTA // 3:
            self.gap //= 2
            self._draw(counted - 1)
        self._timed = 0

    def _draw(self, number: int) -> None:
        """Choose the next one after ``number``, each with the same probability."""
        self._weight = self.gap
        waits = int(log1p(-RANDOM.next()) / log1p(-1 / self.gap)) if self.gap > 1 else 0
        self.due = number + 1 + waits

    def take_unsent(self) -> List[List[float]]:
        """Return the durations since the last call: seconds, and how many tasks each stands for."""
        found, self.unsent = self.unsent, []
        return [[round(seconds, 6), weight] for seconds, weight in found]

    def ages(self) -> List[List[float]]:
        """Return the mean age of each part of the live timed tasks, and how many tasks it stands for."""
        now = monotonic()
        ages = sorted([(now - timing.began, timing.weight) for timing in list(self.live.values())])
        count = len(ages)
        cuts = [round(share * count) for share in _CUTS] if count > YOUNGER + OLDEST else range(count + 1)
        parts = [ages[cuts[at - 1] : cuts[at]] for at in range(1, len(cuts))]
        return [
            [round(sum([age for age, _ in part]) / len(part), 3), sum([weight for _, weight in part])]
            for part in parts
            if part
        ]


def time_task(durations: Durations, task: Any, number: int, all_timed: int) -> None:
    """Time a task of asyncio, unless too many are timed already, or it has ended."""
    timing = durations.choose(number, all_timed)
    if task.done() or not durations.add(timing):
        return
    loop = task.get_loop()
    task.add_done_callback(timing.ended)
    if not loop.get_debug():  # in debug mode, asyncio records where each callback comes from
        loop.call_soon(timing.started)
