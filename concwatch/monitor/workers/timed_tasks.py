"""The timed tasks of a worker: which have ended, and how old the others are, from what its ticks report."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import cycle
from math import exp, floor, inf, log
from operator import itemgetter

from concwatch.monitor.statistics.histogram import Histogram
from concwatch.monitor.statistics.survival import Estimate, Survival
from concwatch.portable.protocol.workloads import GOLDEN

EVERY, MORE = 1.0, 0.1
"""An estimate is computed again after this many seconds, or when this share more tasks have ended."""

QUANTILES = (0.5, 0.99)
"""The shares of tasks whose longest duration is estimated."""

STEADY = 0.001
"""Relative change below which an estimate stays as it is."""

COARSE = 0.04
"""Cohorts are merged up to this share of their age."""

FINE = 200.0
"""Ages of cancelled tasks are kept to within one in so many."""

MOST_COHORTS = 100
"""Cohorts above which those that are old enough are merged."""


PHASES = tuple(number * GOLDEN % 1.0 for number in range(1, 1_000))
"""Numbers from 0 to 1, of which any run covers the range evenly."""


class _Cohort:
    """Timed tasks that began within the same tick, or in several of long ago."""

    __slots__ = ("alive", "end", "left", "start")

    def __init__(self, start: float, end: float, begun: int) -> None:
        self.start, self.end = start, end
        self.alive = float(begun)
        """Those of which it is not known that they ended before all had reached the age ``seen - end``."""
        self.left = float(begun)
        """Those whose end was not reported."""


_Pending = tuple[float, float, _Cohort]


class TimedTasks:
    """Follows the timed tasks of a worker from tick to tick.

    A tick reports how many timed tasks have begun since the last one, and how long those took that have
    completed. The tasks that began within a tick are a cohort, of which those that have not ended are alive
    and as old as it. Which cohort a task belongs to follows from when its end was reported and how long it
    took, to within a tick; a task whose beginning is not in any cohort is left out, since only those that
    live long are seen of what began before the observation. If ends match no beginning, such as those of a
    worker that does not report beginnings, the tasks that have ended are all that is known.

    Tasks that are cancelled or fail are reported as a number only, and are taken from all cohorts in
    proportion. All times are in seconds on the worker's clock.

    It takes constant memory: cohorts are merged up to `COARSE` of their age, so that there are fewer than
    500 after a week, and cancelled tasks are counted by the age's bucket.

    Args:
        since: the time of the last tick before the observation; None if there was none.
        live: how many tasks were live then.
    """

    def __init__(self, since: float | None = None, live: int = 0) -> None:
        self._time = since  # of the last tick
        self._seen = since  # what happened until then has been reported: the time of the tick before
        self._first = since if live and since is not None else -inf  # what began earlier is left out
        self._live = live  # at the last tick, without those queued
        self._ended, self._unmatched = Histogram(), Histogram()
        self._cohorts: list[_Cohort] = []  # the oldest first
        self._ends: list[float] = []  # of each cohort
        # Of tasks that have ended: when the last of the cohort was as old, how long it took, and the cohort;
        # by the tenth of a second of that time.
        self._pending: defaultdict[int, list[_Pending]] = defaultdict(list)
        # The logarithm of an age, times `FINE` → how many were cancelled when they were as old.
        self._cancelled: defaultdict[int, float] = defaultdict(float)
        self._phases = cycle(PHASES)
        self._most = MOST_COHORTS
        self._read_at, self._read_count = -inf, 0  # the last tick, and the ended tasks, of the estimates
        self._estimates = dict.fromkeys(QUANTILES, Estimate())

    @property
    def survival(self) -> Survival:
        """How long tasks take."""
        seen = self._seen
        if not self._ended.count or seen is None:
            return Survival(self._unmatched)
        ages = [(seen - one.end, one.alive) for one in self._cohorts if one.alive and one.end < seen]
        cancelled = [(exp(bucket / FINE), tasks) for bucket, tasks in self._cancelled.items()]
        return Survival(self._ended, ages + cancelled)

    def quantile(self, share: float) -> Estimate:
        """Return the duration that a ``share`` of the tasks, one of `QUANTILES`, does not exceed.

        It seldom changes: not more often than once a second unless many have ended, and only by `STEADY`.
        """
        now, ended = self._time or 0.0, self._ended.count or self._unmatched.count
        if now >= self._read_at + EVERY or ended > self._read_count * (1 + MORE):
            self._read_at, self._read_count, survival = now, ended, self.survival
            self._estimates = {
                share: _steady(before, survival.quantile(share)) for share, before in self._estimates.items()
            }
        return self._estimates[share]

    def add(
        self,
        time: float,
        begun: int,
        durations: Sequence[float],
        live: int,
        *,
        queued: int = 0,
        completed: int = 0,
        lost: int = 0,
    ) -> None:
        """Add a tick.

        Args:
            time: when it was sent.
            begun: how many timed tasks have begun since the last one.
            durations: how long the timed tasks took that have completed since.
            live: how many tasks are live, timed or not.
            queued: how many of these have not begun.
            completed: how many tasks, timed or not, have completed since the last one.
            lost: how many tasks that had begun, timed or not, were cancelled or have failed since then.
        """
        before = time if self._time is None else self._time
        # A tick is sent just after what it reports was collected: some that end meanwhile are in the next.
        self._seen = self._time
        known = len(self._cohorts)
        if begun:
            self._cohorts.append(_Cohort(-inf if self._time is None else before, time, begun))
            self._ends.append(time)
        self._time = time
        if durations:
            self._match(durations, before)
        self._settle(before)
        if lost:
            older = max(0, self._live - completed)
            self._forget_ends(lost / max(lost, self._live))
            self._take(self._cohorts[:known], lost / max(lost, older))
            more = max(0, lost - older)  # of those that have begun since
            self._take(self._cohorts[known:], more / max(1, live - queued + more))
        self._live = live - queued
        if not live:
            self._settle(inf)
            self._cohorts.clear()
            self._ends.clear()
        elif len(self._cohorts) > self._most:
            self._merge(time)

    def _match(self, durations: Sequence[float], before: float) -> None:
        """Find the cohorts of tasks whose end was reported now; they ended after ``before``."""
        time, first, unmatched = self._time or 0.0, self._first, []
        cohorts, ends, pending, interval = self._cohorts, self._ends, self._pending, time - before
        count = len(cohorts)
        # A task may have ended at any time since the last tick: these are spread evenly.
        for duration, phase in zip(durations, self._phases, strict=False):
            began = time - duration - phase * interval
            at = bisect_left(ends, began)
            one = cohorts[at] if at < count else None
            if one is None or one.start > began or one.left < 1 or began < first:
                latest = time - duration
                one = None if began < first else self._nearest(at, began, latest - interval, latest)
                if one is None:
                    unmatched.append(duration)
                    continue
            one.left -= 1
            ready = one.end + duration
            pending[int(ready * 10)].append((ready, duration, one))
        if not self._ended.count:  # else nobody asks for them
            self._unmatched.add(unmatched)

    def _nearest(self, at: int, began: float, earliest: float, latest: float) -> _Cohort | None:
        """Return the cohort of a task that began between two times, probably at ``began``; None without one.

        ``at`` is the position of the first that ends later. Those in which tasks are left come first.
        """
        slack = (latest - earliest) / 2
        found = [
            (one.left < 1, max(one.start - began, began - one.end), one)
            for one in self._cohorts[max(0, at - 1) : at + 2]
            if one.start <= latest + slack and one.end >= earliest - slack
        ]
        return min(found, key=itemgetter(0, 1))[2] if found else None

    def _settle(self, now: float) -> None:
        """Record those ends that would have been seen of any task of the same cohort."""
        pending, last = self._pending, now * 10
        ready: list[_Pending] = []
        for slot in [slot for slot in pending if slot <= last]:
            found = pending.pop(slot)
            if slot + 1 > last and (later := [each for each in found if each[0] > now]):
                found = [each for each in found if each[0] <= now]
                pending[slot] = later
            ready += found
        self._ended.add([duration for _, duration, _ in ready])
        for _, _, cohort in ready:
            cohort.alive -= 1

    def _take(self, cohorts: Iterable[_Cohort], share: float) -> None:
        """Record that a share of those left in these cohorts was cancelled or failed since the last tick."""
        for one in cohorts:
            lost = share * one.left  # negative if more have ended than began: others have more left
            one.left -= lost
            self._censor(one, lost)

    def _forget_ends(self, share: float) -> None:
        """Forget a share of the ends since the last tick: if these tasks had lived on, they were cancelled.

        Ends that are seen of some, while others of the same age are not watched any longer, would count for
        too much.
        """
        for slot, found in self._pending.items():
            kept = []
            for each, phase in zip(found, self._phases, strict=False):
                if phase < share:
                    self._censor(each[2], 1.0)
                else:
                    kept.append(each)
            self._pending[slot] = kept

    def _censor(self, one: _Cohort, tasks: float) -> None:
        """Record that tasks of a cohort lived at the last tick, and no more of them."""
        one.alive -= tasks
        age = -1.0 if self._seen is None else self._seen - one.end
        if age > 0 and tasks:
            self._cancelled[floor(log(age) * FINE)] += tasks

    def _merge(self, time: float) -> None:
        """Merge neighbouring cohorts that are old enough."""
        kept: list[_Cohort] = []
        moved: dict[_Cohort, _Cohort] = {}
        for one in self._cohorts:
            if kept and one.end - kept[-1].start <= COARSE * (time - one.end):
                into = moved[one] = kept[-1]
                into.end = one.end
                into.alive += one.alive
                into.left += one.left
            else:
                kept.append(one)
        self._cohorts, self._ends = kept, [one.end for one in kept]
        for slot, found in self._pending.items():
            self._pending[slot] = [(ready, duration, moved.get(one, one)) for ready, duration, one in found]
        self._most = max(MOST_COHORTS, len(kept) + len(kept) // 4)


def _steady(before: Estimate, found: Estimate) -> Estimate:
    """Return ``found``, or the estimate before it if it is nearly the same."""
    if before.seconds is None or found.seconds is None or before.at_least != found.at_least:
        return found
    return before if abs(found.seconds - before.seconds) <= STEADY * before.seconds else found
