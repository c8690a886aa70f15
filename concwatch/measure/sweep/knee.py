"""Where a curve of throughput bends: how many tasks at once are enough."""

import math
import random
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from operator import mul

from msgspec import Struct, structs

from concwatch.measure.sweep.law import Law, Point, fit, fit_bend, misfit
from concwatch.measure.sweep.peak import measured_peak

ENOUGH = 0.95
"""The share of the best throughput that is enough."""

AT_END = 0.8
"""If the number of tasks that are enough is more than this share of the most that were tried, throughput may
rise beyond, and nothing is known to be enough."""

FALLS = 0.9
"""Throughput is said to fall if it ends below this share of the best."""

DIFFERS = 2.0
"""Steps differ if their throughputs do by more than so many standard errors of the difference."""

LEAST_ERROR = 1e-3
"""The least standard error of a step that counts, as a share of the throughput."""

NEGLIGIBLE = 1e-3
"""Crosstalk that prolongs no task by more than this share, with the most tasks, is none."""

PEAK_FITS = 0.02
"""The law tells the peak only if the typical step is this near to it, as a share of its throughput."""

SAMPLES = 200
"""How many times the curve is drawn again with the errors of its steps, for the intervals."""

INTERVAL = 0.95


class IntervalEstimate(Struct, frozen=True):
    """A value and the interval in which it is with a probability of 95 %."""

    value: float
    low: float
    high: float


class Knee(Struct, frozen=True):
    """The fewest tasks that reach 95 % of the best throughput."""

    tasks: IntervalEstimate
    throughput: IntervalEstimate
    """That of so many tasks, in tasks per second."""
    best: IntervalEstimate
    """The best throughput, in tasks per second."""


class FittedLaw(Struct, frozen=True):
    """A law that fits the steps, with the intervals that follow from their errors."""

    law: Law
    rate: IntervalEstimate
    contention: IntervalEstimate
    crosstalk: IntervalEstimate
    peak: IntervalEstimate | None
    """The number of tasks with the highest throughput; None unless throughput falls beyond."""


def interpolate(points: Sequence[Point], tasks: float) -> float:
    """Return the throughput between two steps."""
    for before, after in pairwise(points):
        if before.tasks <= tasks <= after.tasks:
            part = (tasks - before.tasks) / (after.tasks - before.tasks)
            return before.throughput + part * (after.throughput - before.throughput)
    return points[-1].throughput


def best_steps(points: Sequence[Point]) -> list[int]:
    """Return the positions of the steps that do not differ from the one that is surely best."""
    top = max(points, key=lambda point: point.throughput - DIFFERS * point.error)
    return [
        at
        for at, point in enumerate(points)
        if abs(top.throughput - point.throughput) <= DIFFERS * math.hypot(top.error, point.error)
    ]


def mean_throughput(points: Sequence[Point], steps: Sequence[int]) -> float:
    """Return the mean throughput of some steps, each weighed by the inverse of its variance."""
    chosen = [points[at] for at in steps]
    weights = [max(point.error, LEAST_ERROR * point.throughput) ** -2.0 for point in chosen]
    return math.fsum(map(mul, weights, (point.throughput for point in chosen))) / math.fsum(weights)


def _enough(points: Sequence[Point], best: Sequence[int]) -> float | None:
    """Return the fewest tasks with enough throughput, between two steps; None if it rises to the end.

    ``best`` are the steps with the best throughput. The highest of several equal steps would be too high, by
    its error.
    """
    wanted = ENOUGH * mean_throughput(points, best)
    after = next((number for number, point in enumerate(points) if point.throughput >= wanted), None)
    if after is None:
        return None
    tasks = float(points[after].tasks)
    if after:
        before, here = points[after - 1], points[after]
        part = (wanted - before.throughput) / (here.throughput - before.throughput)
        tasks = before.tasks + part * (here.tasks - before.tasks)
    return tasks if tasks <= AT_END * points[-1].tasks or len(points) == 1 else None


def find_knee(points: Sequence[Point]) -> Knee | None:
    """Return how many tasks are enough; None if throughput rises to the last step.

    Args:
        points: the steps, by their number of tasks.
    """
    steps = best_steps(points) if points else []
    tasks = _enough(points, steps) if points else None
    if tasks is None:
        return None
    # The same steps each time: the best of those that were drawn again would be too high, as they are.
    drawn = [found for again in _drawn(points) if (found := _enough(again, steps)) is not None]
    shown = math.ceil(tasks - 1e-9)
    best = estimate_best(points)
    reached = [interpolate(again, shown) for again in _drawn(points)]
    throughput = _estimate(min(best.value, interpolate(points, shown)), reached)
    return Knee(_estimate(float(shown), drawn), throughput, best)


def estimate_best(points: Sequence[Point]) -> IntervalEstimate:
    """Return the best throughput with its interval: the mean of the steps that have it."""
    steps = best_steps(points)
    drawn = [mean_throughput(again, steps) for again in _drawn(points)]
    return _estimate(mean_throughput(points, steps), drawn)


def fit_law(points: Sequence[Point]) -> FittedLaw | None:
    """Return the law that fits the steps, with intervals; None if none does."""
    law = fit(points)
    if law is None:
        return None
    again = [fit_bend(drawn, law.bend, law) for drawn in _drawn(points)]
    least = NEGLIGIBLE / points[-1].tasks ** 2
    crosstalk = [each.crosstalk if each.crosstalk > least else 0.0 for each in (law, *again)]
    return FittedLaw(
        law,
        _estimate(law.rate, [each.rate for each in again]),
        _estimate(law.contention, [each.contention for each in again]),
        _estimate(crosstalk[0], crosstalk[1:]),
        _peak_of_law(points, law, again) or find_peak(points),
    )


def _peak_of_law(points: Sequence[Point], law: Law, again: Sequence[Law]) -> IntervalEstimate | None:
    """Return the peak of a law; None if the steps around the peak know it better.

    Where the law is some way off, or bends sharply, its peak follows from the steps far away.
    """
    near = law.bend == 1 and misfit(law, points) <= PEAK_FITS
    if law.peak is None or not near or not more_is_slower(points):
        return None
    return _estimate(law.peak, [peak for each in again if (peak := each.peak) is not None])


def find_peak(points: Sequence[Point]) -> IntervalEstimate | None:
    """Return the number of tasks with the highest throughput; None unless throughput falls beyond."""
    if not points or not more_is_slower(points):
        return None
    return _estimate(measured_peak(points), [measured_peak(again) for again in _drawn(points)])


def more_is_slower(points: Sequence[Point]) -> bool:
    """Return whether throughput falls beyond its best, by more than its errors."""
    best, last = max(points, key=lambda point: point.throughput), points[-1]
    lost = best.throughput - last.throughput
    return last.throughput < FALLS * best.throughput and lost > DIFFERS * math.hypot(best.error, last.error)


def _drawn(points: Sequence[Point]) -> Iterator[list[Point]]:
    """Yield the curve again and again, with random errors as large as those of its steps.

    A parametric bootstrap (Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapter 6). The
    random numbers are the same each time, so that the same steps have the same intervals.
    """
    draw = random.Random(1)
    for _ in range(SAMPLES):
        yield [
            structs.replace(each, throughput=max(1e-9, draw.gauss(each.throughput, each.error)))
            for each in points
        ]


def _estimate(value: float, drawn: Sequence[float]) -> IntervalEstimate:
    found = sorted([*drawn, value])
    share: Callable[[float], float] = partial(_quantile, found)
    return IntervalEstimate(
        value, min(value, share((1 - INTERVAL) / 2)), max(value, share((1 + INTERVAL) / 2))
    )


def _quantile(values: Sequence[float], share: float) -> float:
    return values[min(len(values) - 1, int(share * len(values)))]
