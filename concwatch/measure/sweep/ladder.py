"""At which numbers of tasks throughput is measured: each twice the one before, and more around the bend."""

import math
from collections.abc import Sequence

from concwatch.measure.sweep.knee import find_knee, more_is_slower
from concwatch.measure.sweep.law import Point

FACTOR = 2.0
"""Each step has this many times the tasks of the one before."""

FINE = 1.25
"""The largest ratio of two neighbouring steps around the bend."""

MOST_FINE = 4
"""The most steps that are added around the bend, or around the peak."""


def sizes(first: int, last: int) -> list[int]:
    """Return the numbers of tasks from ``first`` to ``last``, each twice the one before.

    The last one may be up to 2.5 times the one before it, so that it is not close to that.
    """
    found = [first]
    while FACTOR * found[-1] * FINE <= last:
        found.append(int(FACTOR * found[-1]))
    return [*found, last] if last > first else found


def finer(points: Sequence[Point], added: int, failing: int | None = None) -> int | None:
    """Return the number of tasks at which to measure next; None if that is done.

    It is around the bend, around the peak, or below the fewest tasks with which some failed.

    Args:
        points: the steps so far, by their number of tasks.
        added: how many numbers this function has returned.
        failing: the fewest tasks with which some failed; None if none did.
    """
    if added >= MOST_FINE or len(points) < 2:
        return None
    tasks = [point.tasks for point in points]
    gaps: list[tuple[int, int]] = []
    if more_is_slower(points):
        at = tasks.index(max(points, key=lambda point: point.throughput).tasks)
        gaps += [
            (tasks[number], tasks[number + 1]) for number in (at - 1, at) if 0 <= number < len(tasks) - 1
        ]
    knee = find_knee(points)
    if knee is not None:
        at = next(number for number, each in enumerate(tasks) if each >= knee.tasks.value)
        gaps += [(tasks[at - 1], tasks[at])] if at else []
    if failing is not None:
        gaps = [gap for gap in gaps if gap[1] < failing]
        gaps += [(below, failing) for below in [each for each in tasks if each < failing][-1:]]
    wide = [(below, above) for below, above in gaps if above > FINE * below and above > below + 1]
    if not wide:
        return None
    below, above = max(wide, key=lambda gap: gap[1] / gap[0])
    return round(math.sqrt(below * above))
