"""Gunther's Universal Scalability Law, and a variant with a sharper bend, fitted to measured throughput."""

import math
from collections.abc import Callable, Sequence

from msgspec import Struct

BENDS = (1.0, 2.0, 4.0, 8.0, 32.0)
"""The values of `Law.bend` that are tried. The first is Gunther's law."""

BETTER = 0.7
"""A sharper bend is chosen only if it leaves less than this share of the error of a softer one."""

FITS = 0.05
"""The law fits if the typical step is this near to it, as a share of its throughput, and no step is
three times as far."""

MOST_ITERATIONS = 60
"""Iterations of the Levenberg–Marquardt algorithm."""

PARAMETERS = 3

STEP, LEAP, TINY, ENOUGH, MOST_DAMPING = 1e-5, 3.0, 1e-9, 1e-9, 1e9
"""Of the algorithm: the difference for derivatives, the largest change of a parameter at once, what is added
to a derivative of 0, the relative improvement at which it ends, and the most damping."""


class Point(Struct, frozen=True):
    """A measured throughput."""

    tasks: int
    throughput: float
    """Tasks per second."""
    error: float = 0.0
    """Its standard error, in tasks per second."""


class Law(Struct, frozen=True):
    """X(N) = λN / (((1 + (σ(N − 1))ᵇ)^(1/b) + κN(N − 1)), with N tasks live, in tasks per second.

    With b = 1 it is the Universal Scalability Law (N. J. Gunther, Guerrilla Capacity Planning, Springer 2007,
    chapter 4), which describes tasks that arrive at a shared resource at random. Tasks that take equally
    long queue only once the resource is fully used, so that the curve bends sharply; that is a larger b.
    """

    rate: float
    """λ: the throughput of one task that is alone, in tasks per second."""
    contention: float
    """σ: the share of a task's time for which it needs a resource that only one task can use."""
    crosstalk: float
    """κ: the share of a task's time by which each other task prolongs it."""
    bend: float = 1.0
    """b: how sharply the curve bends where the resource is fully used."""

    def throughput(self, tasks: float) -> float:
        """Return the throughput with this many tasks."""
        others = max(0.0, tasks - 1)
        queue = self.contention * others
        # Without the larger one as a factor, the powers overflow.
        larger, smaller = max(1.0, queue), min(1.0, queue)
        slower = (
            queue + 1 if self.bend == 1 else larger * (1 + (smaller / larger) ** self.bend) ** (1 / self.bend)
        )
        return self.rate * tasks / (slower + self.crosstalk * tasks * others)

    @property
    def peak(self) -> float | None:
        """The number of tasks with the highest throughput; None if it never falls."""
        if self.crosstalk <= 0:
            return None
        if self.bend == 1:
            return math.sqrt(max(0.0, 1 - self.contention) / self.crosstalk)
        low, high = (
            0.0,
            0.5 * math.log(1 / self.crosstalk) + 1,
        )  # in logarithms; beyond it, crosstalk prevails
        for _ in range(100):  # golden-section search would need fewer, but this is not slow
            left, right = low + (high - low) / 3, high - (high - low) / 3
            if self.throughput(math.exp(left)) < self.throughput(math.exp(right)):
                low = left
            else:
                high = right
        return math.exp(low)


def fit(points: Sequence[Point]) -> Law | None:
    """Return the law that fits best, by least squares of relative errors; None if none fits.

    Args:
        points: the measured steps, at least four.
    """
    if len(points) <= PARAMETERS:
        return None
    chosen, error = None, math.inf
    for bend in BENDS:
        law = fit_bend(points, bend)
        found = misfit(law, points)
        if found < BETTER * error:
            chosen, error = law, found
    if chosen is None or error > FITS or max(_residuals(chosen, points)) > 3 * FITS:
        return None
    return chosen


def fit_bend(points: Sequence[Point], bend: float, start: Law | None = None) -> Law:
    """Return the law with this `Law.bend` that fits the points best, from ``start`` on if it is given."""
    best = max(points, key=lambda point: point.throughput)
    rate = max(point.throughput / point.tasks for point in points)
    law = start or Law(rate, min(1.0, rate / best.throughput), 1e-9, bend)
    values = [law.rate, law.contention, law.crosstalk]
    values = [math.log(max(1e-12, value)) for value in values]  # so that none becomes negative

    def errors(logs: Sequence[float]) -> list[float]:
        now = Law(math.exp(logs[0]), math.exp(logs[1]), math.exp(logs[2]), bend)
        return [math.log(max(1e-12, now.throughput(each.tasks)) / each.throughput) for each in points]

    found = _least_squares(errors, values)
    return Law(math.exp(found[0]), math.exp(found[1]), math.exp(found[2]), bend)


def _residuals(law: Law, points: Sequence[Point]) -> list[float]:
    """Return how far each step is from the law, as a share of its throughput."""
    return [abs(law.throughput(each.tasks) / each.throughput - 1) for each in points]


def misfit(law: Law, points: Sequence[Point]) -> float:
    """Return the root of the mean squared relative error, given the parameters that were fitted."""
    squares = sum(each * each for each in _residuals(law, points))
    return math.sqrt(squares / max(1, len(points) - PARAMETERS))


def _least_squares(errors: Callable[[Sequence[float]], list[float]], values: list[float]) -> list[float]:
    """Minimize the sum of the squares of ``errors`` by the Levenberg–Marquardt algorithm.

    Marquardt, J. Soc. Indust. Appl. Math. 11, 1963; with numerical derivatives.
    """
    damping, now = 1e-2, errors(values)
    cost = sum(each * each for each in now)
    for _ in range(MOST_ITERATIONS):
        columns = []
        for number in range(len(values)):
            moved = [*values]
            moved[number] += STEP
            columns.append(
                [(after - before) / STEP for after, before in zip(errors(moved), now, strict=True)]
            )
        gradient = [sum(a * b for a, b in zip(column, now, strict=True)) for column in columns]
        normal = [[sum(a * b for a, b in zip(one, two, strict=True)) for two in columns] for one in columns]
        while damping < MOST_DAMPING:
            damped = [
                [
                    each + (damping * (each + TINY) if row == column else 0.0)
                    for column, each in enumerate(line)
                ]
                for row, line in enumerate(normal)
            ]
            change = solve(damped, [-each for each in gradient])
            tried = [value + max(-LEAP, min(LEAP, step)) for value, step in zip(values, change, strict=True)]
            after = errors(tried)
            found = sum(each * each for each in after)
            if found < cost:
                break
            damping *= 4
        else:
            return values
        better, values, now, cost, damping = cost - found, tried, after, found, damping / 4
        if better <= ENOUGH * cost:
            return values
    return values


def solve(matrix: list[list[float]], right: list[float]) -> list[float]:
    """Solve a small system of linear equations by Gaussian elimination with pivoting."""
    rows = [[*line, value] for line, value in zip(matrix, right, strict=True)]
    size = len(rows)
    for column in range(size):
        pivot = max(range(column, size), key=lambda row: abs(rows[row][column]))
        rows[column], rows[pivot] = rows[pivot], rows[column]
        for row in range(column + 1, size):
            factor = rows[row][column] / rows[column][column]
            rows[row] = [a - factor * b for a, b in zip(rows[row], rows[column], strict=True)]
    found = [0.0] * size
    for row in reversed(range(size)):
        known = sum(rows[row][column] * found[column] for column in range(row + 1, size))
        found[row] = (rows[row][size] - known) / rows[row][row]
    return found
