"""The number of tasks with the highest throughput, where it falls beyond, from the steps around it."""

import math
from collections.abc import Sequence

from concwatch.measure.sweep.law import Point, solve

NEAR = 0.95
"""Steps with at least this share of the highest throughput count, and the two beside the highest."""


def measured_peak(points: Sequence[Point]) -> float:
    """Return the number of tasks with the highest throughput.

    It is that of a parabola through the logarithms of the steps around the highest one. The highest step
    itself would be off by as much as the steps are apart, and by more where the top is flat.

    Args:
        points: the steps, by their number of tasks.
    """
    at = max(range(len(points)), key=lambda number: points[number].throughput)
    best = points[at]
    near = [
        (math.log(point.tasks / best.tasks), math.log(point.throughput / best.throughput))
        for number, point in enumerate(points)
        if abs(number - at) <= 1 or point.throughput >= NEAR * best.throughput
    ]
    if len(near) < 3:
        return float(best.tasks)
    powers = [sum(x**power for x, _ in near) for power in range(5)]
    right = [sum(y * x**power for x, y in near) for power in range(3)]
    _, slope, curvature = solve([powers[row : row + 3] for row in range(3)], right)
    if curvature >= 0:
        return float(best.tasks)
    return best.tasks * math.exp(max(near[0][0], min(near[-1][0], -slope / curvature / 2)))
