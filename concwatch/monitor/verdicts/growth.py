"""How fast the number of live tasks grows, and which growth is unexplained. `leak_rule` says when it leaks.

Growth is the slope of a least-squares line through the number of live tasks in the last two minutes, with
Student's 95 % interval. Unexplained growth is detected in low-water marks, the fewest live
tasks in each window of time: tasks that never end raise them, a burst does not. A higher creation rate also
means more live tasks (Little's law: live tasks = created per second x mean life). Therefore the rate,
smoothed over the mean life, is a second regressor beside time, and only growth that time alone explains
counts.
"""

import math
from collections import deque
from collections.abc import Callable, Sequence
from itertools import pairwise
from operator import mul

from msgspec import Struct

from concwatch.monitor.statistics.student import T95, T999, student_t

WINDOW = 2.5
"""Seconds in a window, which has one low-water mark."""

KEPT = 48
"""Windows kept: two minutes."""

MERGED = (1, 2, 4)
"""How many windows are merged for each of the tests; more are needed for tasks that start in bursts."""

LEAST_POINTS = 6
"""Points that a regression needs."""

WARM_UP = 3
"""Windows ignored at the start, while a program creates its long-lived tasks."""

LEAST_RISE = 5.0
"""Tasks by which a leak must raise the low-water mark."""

LEAST_SHARE = 0.05
"""The same rise as a share of the highest mark."""

LEAST_SPAN = 30.0
"""Seconds that the low-water marks must span."""

STEADY = 0.7
"""The slope of the second half of a leak must be at least this share of that of the first half."""

UNEXPLAINED = 0.5
"""Share of the rise that time alone must explain."""

LIFETIMES = 4.0
"""Mean lifetimes that the low-water marks must span."""

LEAST_ENDED = 0.1
"""Share of the created tasks that must have ended before a mean life is known."""

LEAST_DEVIATIONS = 0.5
"""The least rise in square roots of the highest mark, which is the noise of tasks that start at random."""

EVIDENT_WINDOWS = 5
"""Consecutive windows that must each rise, while no task ends, for growth to be certain."""

LEVEL = 24
"""Windows without a rise after which a verdict is withdrawn: a minute."""

CONFIRMED = 2
"""Consecutive windows that must each confirm a leak."""


class Growth(Struct, frozen=True):
    """The growth of live tasks: tasks per minute, with the 95 % interval."""

    per_minute: float
    low: float
    high: float

    def text(self, form: Callable[[int], str]) -> str:
        """Return a text such as " by 60 a minute, 95 % 58 to 62"; ``form`` formats each number."""
        rate, low, high = (form(round(value)) for value in (self.per_minute, self.low, self.high))
        return f" by {rate} a minute, 95 % {low} to {high}"


class Window(Struct, frozen=True, gc=False):
    """One window of time."""

    time: float
    """When it ended, in seconds."""
    fewest: int
    """The low-water mark: the fewest live tasks."""
    live: float
    """The mean number of live tasks."""
    created: int
    """Tasks created in it."""
    ended: int = 0
    """Tasks that ended in it."""


def _solve(
    rows: Sequence[Sequence[float]], values: Sequence[float]
) -> tuple[list[float], list[float]] | None:
    """Return the least-squares coefficients of ``values`` on ``rows``, and their standard errors.

    None if the columns are nearly collinear. The errors are widened by the lag-one autocorrelation of the
    residuals, as for a first-order autoregression.
    """
    width, count = len(rows[0]), len(rows)
    normal = [[sum(row[i] * row[j] for row in rows) for j in range(width)] for i in range(width)]
    inverse = _invert(normal)
    if inverse is None or count <= width:
        return None
    moments = [sum(row[i] * value for row, value in zip(rows, values, strict=True)) for i in range(width)]
    found = [sum(inverse[i][j] * moments[j] for j in range(width)) for i in range(width)]
    residuals = [
        value - sum(a * b for a, b in zip(row, found, strict=True))
        for row, value in zip(rows, values, strict=True)
    ]
    variance = _variance(residuals, count - width)
    return found, [math.sqrt(max(0.0, variance * inverse[i][i])) for i in range(width)]


def _variance(residuals: Sequence[float], degrees_of_freedom: int) -> float:
    """Return the variance of residuals, widened by their lag-one autocorrelation."""
    squares: float = sum(map(mul, residuals, residuals))
    correlation = (
        min(0.8, max(0.0, sum(map(mul, residuals, residuals[1:])) / squares)) if squares > 0 else 0.0
    )
    return squares / degrees_of_freedom * (1 + correlation) / (1 - correlation)


def _line(positions: Sequence[float], values: Sequence[float]) -> tuple[float, float] | None:
    """Return the slope of a least-squares line, and its standard error.

    Ten times as fast as `_solve`. None if all positions are nearly the same.
    """
    count = len(positions)
    middle, level = sum(positions) / count, sum(values) / count
    offsets, heights = [each - middle for each in positions], [each - level for each in values]
    spread = sum(map(mul, offsets, offsets))
    if count <= 2 or spread < 1e-9 * max(1.0, sum(map(mul, positions, positions))):
        return None
    slope = sum(map(mul, offsets, heights)) / spread
    residuals = [height - slope * offset for height, offset in zip(heights, offsets, strict=True)]
    return slope, math.sqrt(_variance(residuals, count - 2) / spread)


def _invert(matrix: list[list[float]]) -> list[list[float]] | None:
    size = len(matrix)
    rows = [[*row, *(float(i == j) for j in range(size))] for i, row in enumerate(matrix)]
    for i in range(size):
        pivot = max(range(i, size), key=lambda k: abs(rows[k][i]))
        if abs(rows[pivot][i]) < 1e-9 * max(1.0, abs(matrix[i][i])):
            return None
        rows[i], rows[pivot] = rows[pivot], rows[i]
        lead = rows[i][i]
        rows[i] = [value / lead for value in rows[i]]
        for k in range(size):
            if k != i and rows[k][i]:
                factor = rows[k][i]
                rows[k] = [a - factor * b for a, b in zip(rows[k], rows[i], strict=True)]
    return [row[size:] for row in rows]


def _slope(times: Sequence[float], values: Sequence[float]) -> float:
    found = _line(times, values)
    return found[0] if found else 0.0


def trend(positions: Sequence[float], values: Sequence[float]) -> tuple[float, float] | None:
    """Return the slope of a least-squares line, and half the width of its 95 % interval.

    None for fewer than `LEAST_POINTS` points, or if all are at one position.
    """
    if len(positions) < LEAST_POINTS:
        return None
    found = _line(positions, values)
    return None if found is None else (found[0], found[1] * student_t(T95, len(positions) - 2))


class MeasuredGrowth(Struct, gc=False):
    """The growth over some windows, computed when it is read, because only few groups are visible."""

    windows: list[Window]
    """Append-only, so that later moments can share it."""
    end: int = 0
    """How many windows there were at this moment; the last `KEPT` of them count."""
    warm_up: int = 0
    """How many of them belong to the warm-up."""
    has_risen: bool = False
    """Whether windows of the warm-up count, because it rises steadily, or has done so lately."""
    found: Growth | None = None
    due: bool = True
    """Whether it has not been computed yet."""

    @property
    def growth(self) -> Growth | None:
        """The growth; None while there are too few points."""
        if self.due:
            self.due, self.found = False, self._computed()
        return self.found

    def _computed(self) -> Growth | None:
        windows = self.windows[max(0, self.end - KEPT) : self.end]
        points = windows[self.warm_up :]
        if len(points) < LEAST_POINTS and self.has_risen:
            points = windows[-LEAST_POINTS:]
        if len(points) < LEAST_POINTS:
            return None
        found = trend([each.time - points[0].time for each in points], [each.live for each in points])
        if found is None:
            return None
        slope, width = found
        return Growth(60 * slope, 60 * (slope - width), 60 * (slope + width))


class GrowthMeter:
    """Measures the growth of the live tasks of one group; time is passed in, in seconds."""

    def __init__(self) -> None:
        self._windows: list[Window] = []  # only the last `KEPT` count
        self._lows: deque[int] = deque(maxlen=KEPT)  # their low-water marks
        self.rises_evenly = False
        """Whether the low-water mark has risen steadily for `EVIDENT_WINDOWS` windows."""
        self.is_evident = False
        """Whether it has done so while no task has ended."""
        self._warm_up = WARM_UP  # how many of the kept windows belong to the warm-up
        self._until: float | None = None
        self._fewest = 0
        self._sum = self._count = 0
        self._created: int | None = None
        self._first = 0
        self._confirmed = 0
        self._growing = 0
        self.measured = MeasuredGrowth(self._windows)
        """The growth of the live tasks as of the last window."""

    def add(self, time: float, live: int, created: int) -> None:
        """Add a reading: how many tasks are live, and how many have been created so far."""
        if self._until is None or self._created is None:
            self._begin(time, live, created)
            return
        if time >= self._until:
            fresh = created - self._created
            ended = fresh - (live - self._first)
            window = Window(time, self._fewest, self._sum / self._count, fresh, ended)
            if len(self._windows) >= KEPT:
                self._warm_up = max(0, self._warm_up - 1)
            if len(self._windows) >= 2 * KEPT:
                self._windows = self._windows[-KEPT:]
            self._windows.append(window)
            self._lows.append(window.fewest)
            self.rises_evenly = self.rises_over(EVIDENT_WINDOWS, STEADY)
            self.is_evident = self.rises_evenly and not any(
                each.ended for each in self._windows[-EVIDENT_WINDOWS:]
            )
            rises = self._may_rise and any(self._rises(merged) for merged in MERGED)
            self._confirmed = self._confirmed + 1 if rises else 0
            if self._growing or self.rises_evenly or self.leaks:
                self._growing = 0 if self.is_level else self._growing + 1
            self.measured = MeasuredGrowth(
                self._windows, len(self._windows), self._warm_up, self._growing > 0
            )
            # Readings are half a second apart: a window that began with one would be too long.
            self._begin(self._until if time < self._until + WINDOW else time, live, created)
            return
        if live < self._fewest:
            self._fewest = live
        self._sum += live
        self._count += 1

    def _begin(self, time: float, live: int, created: int) -> None:
        self._until = time + WINDOW
        self._fewest = self._sum = self._first = live
        self._count = 1
        self._created = created

    @property
    def is_measuring(self) -> bool:
        """Whether there has been a reading."""
        return self._until is not None

    @property
    def growth(self) -> Growth | None:
        """The growth of the live tasks over the last two minutes; None while there are too few points."""
        return self.measured.growth

    @property
    def may_leak(self) -> bool:
        """Whether one more window may confirm a steady or significant rise."""
        return self.rises_over(EVIDENT_WINDOWS - 1, STEADY) or self._confirmed > 0

    @property
    def leaks(self) -> bool:
        """Whether the low-water mark rises significantly and without explanation."""
        return self._confirmed >= CONFIRMED

    @property
    def lasting(self) -> float:
        """The seconds for which it has grown since that was first certain; a stopped process does not."""
        return self._growing * WINDOW

    def rises_over(self, windows: int, steady: float) -> bool:
        """Return whether the low-water mark has risen in each of the last windows.

        Args:
            windows: how many.
            steady: the least rise of their second half, as a share of that of their first half.
        """
        lows = self._lows
        if len(lows) <= windows or lows[-1] <= lows[-2]:  # fast path for most groups
            return False
        steps = [after - before for before, after in pairwise(list(lows)[-windows - 1 :])]
        half = windows // 2
        is_steady = sum(steps[-half:]) >= steady * sum(steps[:half])
        return min(steps) > 0 and sum(steps) >= LEAST_RISE and is_steady

    def rises_significantly(self, windows: int) -> bool:
        """Return whether the low-water mark has risen significantly over the last windows."""
        lows = list(self._lows)[-windows - 1 :]
        found = trend(range(len(lows)), lows)
        return found is not None and found[0] > found[1]

    def rises_from_highest(self, windows: int) -> bool:
        """Return whether the low-water mark was never higher before than at the start of the last windows."""
        lows = list(self._lows)
        return len(lows) > windows and max(lows[:-windows]) == lows[-windows - 1]

    @property
    def rise(self) -> int:
        """By how much the low-water mark has risen in the last two minutes."""
        return self._lows[-1] - min(self._lows) if self._lows else 0

    def rise_from(self, window: int) -> int:
        """Return by how much the mark has risen since one of the last two minutes' windows, by its index."""
        lows = list(self._lows)[window:]
        return lows[-1] - min(lows) if lows else 0

    @property
    def is_level(self) -> bool:
        """Whether the low-water mark has not risen in the last minute."""
        lows = list(self._lows)[-LEVEL:]
        third = LEVEL // 3
        return len(lows) == LEVEL and min(lows[-third:]) <= max(lows[:third])

    @property
    def _may_rise(self) -> bool:
        """Whether the newest mark is high enough for a rise, however the marks are merged."""
        newest = self._lows[-1]
        return newest >= LEAST_RISE and self.rise >= LEAST_RISE

    def _rises(self, merged: int) -> bool:
        lows = list(self._lows)[self._warm_up :]
        first = len(lows) % merged  # align the merged windows with the newest one
        if merged > 1:
            lows = [min(lows[at : at + merged]) for at in range(first, len(lows), merged)]
        if len(lows) < LEAST_POINTS:
            return False
        third, half = len(lows) // 3, len(lows) // 2
        rise = min(lows[-third:]) - max(lows[:third])
        if rise < LEAST_RISE:
            return False  # most groups: skip the slower tests
        most = max(lows)
        if rise < max(LEAST_SHARE * most, LEAST_DEVIATIONS * math.sqrt(most)):
            return False
        marks = self._marks(self._windows[-KEPT:][self._warm_up + first :], lows, merged)
        if marks[-1].time - marks[0].time < LEAST_SPAN:
            return False
        times = [each.time - marks[0].time for each in marks]
        early, late = (_slope(times[part], lows[part]) for part in (slice(half), slice(half, None)))
        if late < STEADY * early:
            return False  # it levels off: long-lived tasks have not ended yet
        rows = [[1.0, time] for time in times]
        if self._mean_lifetime(marks, third) * LIFETIMES > times[-1]:
            return False
        if self._explained(marks, merged, third) > UNEXPLAINED * rise:
            return False
        expected = self._expected(marks, self._mean_lifetime(marks, len(marks)), merged)
        if max(expected) - min(expected) > 1e-6 * max(1.0, *expected):
            rows = [[*row, each] for row, each in zip(rows, expected, strict=True)]
        found = _solve(rows, lows)
        if found is None:
            return False
        slope, error = found[0][1], found[1][1]
        student = student_t(T999, len(marks) - len(rows[0]))
        return slope > student * error and slope * times[-1] >= max(LEAST_RISE, UNEXPLAINED * rise)

    @staticmethod
    def _marks(points: Sequence[Window], lows: Sequence[int], merged: int) -> list[Window]:
        """Return ``points`` merged into windows of ``merged`` points, whose low-water marks are ``lows``."""
        parts = (points[at : at + merged] for at in range(0, len(points), merged))
        return [
            Window(
                part[-1].time,
                low,
                sum(each.live for each in part) / merged,
                sum(each.created for each in part),
            )
            for part, low in zip(parts, lows, strict=True)
        ]

    @staticmethod
    def _mean_lifetime(marks: Sequence[Window], count: int) -> float:
        """Return the mean life in seconds, from the live tasks of the first marks; 0 if few ended."""
        seconds = marks[-1].time - marks[0].time
        created = sum(each.created for each in marks[1:])
        ended = created - (marks[-1].live - marks[0].live)
        if ended < LEAST_ENDED * created:
            return 0.0
        return sum(each.live for each in marks[:count]) / count / (ended / seconds)

    def _explained(self, marks: Sequence[Window], merged: int, third: int) -> float:
        """Return the rise that the creation rate alone explains.

        It uses the shortest mean life of any mark, because tasks that never end lengthen it. This tells
        time and rate apart when the rate grows steadily, where regression cannot.
        """
        if not self._mean_lifetime(marks, len(marks)):
            return 0.0
        shortest = min(
            (each.live * merged * WINDOW / each.created for each in marks if each.created), default=0.0
        )
        expected = self._expected(marks, shortest, merged)
        return min(expected[-third:]) - max(expected[:third])

    def _expected(self, marks: Sequence[Window], lifetime: float, merged: int) -> list[float]:
        """Return the low-water marks expected from the creation rate and the mean life.

        The minimum includes the point just before each mark, as a real low-water mark does.
        """
        if not lifetime:
            return [0.0] * len(marks)
        points = self._windows[-KEPT:]
        live, at, found = points[0].live, points[0].time, [points[0].live]
        for point in points[1:]:
            elapsed = point.time - at
            keep = math.exp(-elapsed / lifetime)
            live, at = keep * live + (1 - keep) * lifetime * point.created / elapsed, point.time
            found.append(live)
        ends = {point.time: number for number, point in enumerate(points)}
        return [min(found[max(0, ends[each.time] - merged) : ends[each.time] + 1]) for each in marks]
