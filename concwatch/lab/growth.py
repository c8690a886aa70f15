"""How fast a number of live tasks grows, and whether that is a leak.

Growth is the slope of a least-squares line through the live tasks of the last two minutes, with Student's
95 % interval. A leak is growth that nothing explains. It is looked for in low-water marks, the fewest live
tasks in each stretch of time: a burst does not raise them, tasks that never end do. More tasks created a
second mean more live ones, too (Little's law: live = created a second x mean life), so the rate, smoothed
over the mean life, is a second regressor beside time, and only what time alone explains counts.
"""

import math
from collections import deque
from collections.abc import Sequence
from itertools import pairwise

from msgspec import Struct

STRETCH = 2.5
"""Seconds of which the low-water mark is kept."""

KEPT = 48
"""Stretches kept: two minutes."""

JOINED = (1, 2, 4)
"""How many stretches are taken together: the longer ones are for tasks that come in bursts."""

LEAST = 6
"""Low-water marks that a verdict needs."""

WARM_UP = 3
"""Stretches at the beginning that do not count: a program that starts creates what it will keep."""

LEAST_RISE = 5.0
"""Tasks by which a leak must have raised the low-water mark."""

LEAST_SHARE = 0.05
"""The same as a share of the highest mark."""

LEAST_SPAN = 30.0
"""Seconds that the marks of a verdict must span."""

STEADY = 0.7
"""Share of its slope that a leak keeps in the later half."""

UNEXPLAINED = 0.5
"""Share of the rise that time alone must explain."""

LIVES = 4.0
"""Mean lives that the marks must span."""

LEAST_ENDED = 0.1
"""Share of the created tasks that must have ended for a mean life to be known."""

BEYOND = 0.5
"""The same as a multiple of the highest mark's square root: of tasks that come at random that is noise."""

CONFIRMED = 2
"""Stretches in a row of which each must confirm a leak."""

# fmt: off
_T95 = (
    12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
)
_T999 = (
    636.6, 31.6, 12.92, 8.61, 6.869, 5.959, 5.408, 5.041, 4.781, 4.587, 4.437, 4.318, 4.221, 4.140, 4.073,
)
# fmt: on
"""Student's t for two-sided 95 % and 99.9 %, from one degree of freedom on; of more, the last is wide."""


class Growth(Struct, frozen=True):
    """How fast live tasks grow: tasks a minute, with the 95 % interval."""

    per_minute: float
    low: float
    high: float


class Stretch(Struct, frozen=True):
    """One stretch of time."""

    time: float
    """When it ended, in seconds."""
    fewest: int
    """The low-water mark: the fewest live tasks."""
    live: float
    """Mean of the live tasks."""
    created: int
    """Tasks created in it."""


def _solve(
    rows: Sequence[Sequence[float]], values: Sequence[float]
) -> tuple[list[float], list[float]] | None:
    """Return the least-squares coefficients of ``values`` on ``rows``, and their standard errors.

    None where the columns are nearly the same. The errors are widened by the lag-one correlation of the
    residuals, as for a first-order autoregression, since neighbours in time are alike.
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
    squares = sum(each * each for each in residuals)
    lagged = sum(a * b for a, b in pairwise(residuals))
    together = min(0.8, max(0.0, lagged / squares)) if squares > 0 else 0.0
    variance = squares / (count - width) * (1 + together) / (1 - together)
    return found, [math.sqrt(max(0.0, variance * inverse[i][i])) for i in range(width)]


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
    found = _solve([(1.0, time) for time in times], values)
    return found[0][1] if found else 0.0


def trend(places: Sequence[float], values: Sequence[float]) -> tuple[float, float] | None:
    """Return the slope of a least-squares line, and half the width of its 95 % interval.

    None where there are fewer than `LEAST` points, or all are at one place.
    """
    if len(places) < LEAST:
        return None
    found = _solve([(1.0, place) for place in places], values)
    if found is None:
        return None
    return found[0][1], found[1][1] * _T95[min(len(places) - 2, len(_T95)) - 1]


class GrowthMeter:
    """Follows the live tasks of one group; time is passed in, in seconds."""

    def __init__(self) -> None:
        self._stretches: deque[Stretch] = deque(maxlen=KEPT)
        self._warm_up = WARM_UP  # stretches still kept that belong to the start
        self._until: float | None = None
        self._fewest = 0
        self._sum = self._count = 0
        self._created: int | None = None
        self._confirmed = 0

    def add(self, time: float, live: int, created: int) -> None:
        """Take how many tasks are live, and how many have been created so far."""
        if self._until is None or self._created is None:
            self._begin(time, live, created)
            return
        if time >= self._until:
            stretch = Stretch(time, self._fewest, self._sum / self._count, created - self._created)
            if len(self._stretches) == KEPT:
                self._warm_up = max(0, self._warm_up - 1)
            self._stretches.append(stretch)
            rises = any(self._rises(joined) for joined in JOINED)
            self._confirmed = self._confirmed + 1 if rises else 0
            self._begin(time, live, created)
            return
        self._fewest = min(self._fewest, live)
        self._sum += live
        self._count += 1

    def _begin(self, time: float, live: int, created: int) -> None:
        self._until = time + STRETCH
        self._fewest = self._sum = live
        self._count = 1
        self._created = created

    @property
    def growth(self) -> Growth | None:
        """The growth of the live tasks over the last two minutes; None while that is too short to tell."""
        points = list(self._stretches)[self._warm_up :]
        if len(points) < LEAST:
            return None
        found = trend([each.time - points[0].time for each in points], [each.live for each in points])
        if found is None:
            return None
        slope, width = found
        return Growth(60 * slope, 60 * (slope - width), 60 * (slope + width))

    @property
    def leaks(self) -> bool:
        """Whether the low-water mark rises beyond chance, with nothing to explain it."""
        return self._confirmed >= CONFIRMED

    def _rises(self, joined: int) -> bool:
        marks = self._marks(joined)
        if len(marks) < LEAST or marks[-1].time - marks[0].time < LEAST_SPAN:
            return False
        lows = [each.fewest for each in marks]
        third, half = len(marks) // 3, len(marks) // 2
        rise = min(lows[-third:]) - max(lows[:third])
        if rise < max(LEAST_RISE, LEAST_SHARE * max(lows), BEYOND * math.sqrt(max(lows))):
            return False
        times = [each.time - marks[0].time for each in marks]
        early, late = (_slope(times[part], lows[part]) for part in (slice(half), slice(half, None)))
        if late < STEADY * early:
            return False  # it levels off: tasks that live long have not begun to end yet
        rows = [[1.0, time] for time in times]
        if self._mean_life(marks, third) * LIVES > times[-1]:
            return False
        if self._explained(marks, joined, third) > UNEXPLAINED * rise:
            return False
        expected = self._expected(marks, self._mean_life(marks, len(marks)), joined)
        if max(expected) - min(expected) > 1e-6 * max(1.0, *expected):
            rows = [[*row, each] for row, each in zip(rows, expected, strict=True)]
        found = _solve(rows, lows)
        if found is None:
            return False
        slope, error = found[0][1], found[1][1]
        student = _T999[min(len(marks) - len(rows[0]), len(_T999)) - 1]
        return slope > student * error and slope * times[-1] >= max(LEAST_RISE, UNEXPLAINED * rise)

    def _marks(self, joined: int) -> list[Stretch]:
        """Return low-water marks of so many stretches together, the newest whole."""
        points = list(self._stretches)[self._warm_up :]
        points = points[len(points) % joined :]
        return [
            Stretch(
                part[-1].time,
                min(each.fewest for each in part),
                sum(each.live for each in part) / joined,
                sum(each.created for each in part),
            )
            for part in (points[at : at + joined] for at in range(0, len(points), joined))
        ]

    @staticmethod
    def _mean_life(marks: Sequence[Stretch], count: int) -> float:
        """Return the mean life in seconds, by the live tasks of the first marks; 0 where hardly any end."""
        seconds = marks[-1].time - marks[0].time
        created = sum(each.created for each in marks[1:])
        ended = created - (marks[-1].live - marks[0].live)
        if ended < LEAST_ENDED * created:
            return 0.0
        return sum(each.live for each in marks[:count]) / count / (ended / seconds)

    def _explained(self, marks: Sequence[Stretch], joined: int, third: int) -> float:
        """Return the rise that the rate of creation explains by itself.

        By the shortest mean life of any mark, since tasks that never end lengthen it from mark to mark. Where
        the rate grows evenly, time and rate cannot be told apart by regression, but by this they can.
        """
        if not self._mean_life(marks, len(marks)):
            return 0.0
        shortest = min(
            (each.live * joined * STRETCH / each.created for each in marks if each.created), default=0.0
        )
        expected = self._expected(marks, shortest, joined)
        return min(expected[-third:]) - max(expected[:third])

    def _expected(self, marks: Sequence[Stretch], life: float, joined: int) -> list[float]:
        """Return the low-water marks that the rate of creation and the mean life explain; none for no life.

        The fewest of a time that begins with few are those few, so they are looked for here as there.
        """
        if not life:
            return [0.0] * len(marks)
        points = list(self._stretches)
        live, at, found = points[0].live, points[0].time, [points[0].live]
        for point in points[1:]:
            passed = point.time - at
            keep = math.exp(-passed / life)
            live, at = keep * live + (1 - keep) * life * point.created / passed, point.time
            found.append(live)
        ends = {point.time: number for number, point in enumerate(points)}
        return [min(found[max(0, ends[each.time] - joined) : ends[each.time] + 1]) for each in marks]
