"""Where a number of tasks stands on a slider, and which number a place on it means."""

import math
from bisect import bisect_left, bisect_right
from functools import cached_property

from msgspec import Struct

from concwatch.lab.settings import LARGEST_TARGET


def _nearest_multiple(step: int, low: float, middle: float, high: float) -> int | None:
    """Return the multiple of ``step`` in [low, high) that is nearest to ``middle``, if there is one."""
    smallest, largest = math.ceil(low / step), math.ceil(high / step) - 1
    if smallest > largest:
        return None
    return min(max(round(middle / step), smallest), largest) * step


class StopScale(Struct, frozen=True, dict=True):
    """A logarithmic scale of 0 to ``maximum`` tasks, its stops 0, 1, 2, 5, 10, 20, 50, … equally far apart.

    Raises:
        ValueError: when ``maximum`` is negative.
    """

    maximum: int = LARGEST_TARGET
    reach: int | None = None
    """The tasks that can be had, where the scale goes on beyond them."""

    @property
    def most(self) -> int:
        """The largest number of tasks that is ever returned."""
        return self.maximum if self.reach is None else min(self.reach, self.maximum)

    @cached_property
    def decades(self) -> tuple[int, ...]:
        """The powers of ten on the scale, without its two ends."""
        return tuple(10**power for power in range(1, len(str(self.maximum))) if 10**power < self.maximum)

    def __post_init__(self) -> None:
        if self.maximum < 0:
            raise ValueError(f"a scale cannot end at {self.maximum:,} tasks: expected 0 or more")

    @cached_property
    def stops(self) -> tuple[int, ...]:
        """The stops in tasks, ascending; the last is ``maximum``, be it a 1-2-5 number or not."""
        if not self.maximum:
            return (0,)
        powers = range(len(str(self.maximum)))
        series = (leading * 10**power for power in powers for leading in (1, 2, 5))
        return (0, *(stop for stop in series if stop < self.maximum), self.maximum)

    def fraction(self, value: int) -> float:
        """Return where ``value`` tasks stand, from 0.0 to 1.0; a value that is no stop stands between two."""
        if value <= 0 or not self.maximum:
            return 0.0
        if value >= self.maximum:
            return 1.0
        right = bisect_right(self.stops, value)
        low, high = self.stops[right - 1], self.stops[right]
        between = math.log(value / low) / math.log(high / low) if value > low else 0.0
        return (right - 1 + between) / (len(self.stops) - 1)

    def value(self, fraction: float) -> int:
        """Return the tasks at ``fraction`` of the track: at most two significant digits, but for the ends."""
        if fraction <= 0 or not self.maximum:
            return 0
        if fraction >= self.fraction(self.most):
            return self.most
        exact = self._exact(fraction)
        step: int = 10 ** max(0, len(str(int(exact))) - 2)
        # Rounding may step over a maximum which is not round itself, such as 21,800.
        return min(round(exact / step) * step, self.most)

    def cell(self, value: int, cells: int) -> int:
        """Return the cell, 0 to ``cells`` - 1, in which ``value`` tasks are drawn.

        The two end cells are kept for the two ends, so that a few tasks never look like none, nor nearly all
        of them like all.
        """
        last = max(0, cells - 1)
        position = round(self.fraction(value) * last)
        if 0 < value < self.maximum and cells >= 3:
            return min(max(position, 1), last - 1)
        return position

    def value_at(self, cell: int, cells: int) -> int:
        """Return the tasks that ``cell`` of ``cells`` stands for: the roundest number within that cell.

        Beyond either end it is that end. A stop goes before every other number, and then 1-2-5 steps from
        coarse to fine decide: few cells give stops alone, and many give 15,000 rather than 14,000.
        """
        if cell <= 0:
            return 0
        if cell >= self.cell(self.most, cells):
            return self.most
        last = cells - 1
        low, middle, high = (self._exact((cell + edge) / last) for edge in (-0.5, 0, 0.5))
        if inside := self.stops[bisect_left(self.stops, low) : bisect_left(self.stops, high)]:
            return min(self.most, min(inside, key=lambda stop: abs(self.fraction(stop) - cell / last)))
        digits = len(str(int(high)))
        for power in range(digits - 1, max(0, digits - 2) - 1, -1):
            for leading in (5, 2, 1):
                found = _nearest_multiple(leading * 10**power, low, middle, high)
                if found is not None:
                    return min(self.most, found)
        return self.value(cell / last)

    def step(self, value: int, direction: int) -> int:
        """Return the next stop above ``value`` (``direction`` > 0) or below it; at an end, that end."""
        if direction > 0:
            return min(self.most, self.stops[min(bisect_right(self.stops, value), len(self.stops) - 1)])
        return self.stops[max(bisect_left(self.stops, value) - 1, 0)]

    def fine(self, value: int, direction: int) -> int:
        """Return the next multiple of a tenth of the stop below ``value``: 19,000, 20,000, 22,000, 24,000.

        It never passes a stop.
        """
        if direction > 0:
            step = self._tenth(bisect_right(self.stops, value) - 1)
            return min((value // step + 1) * step, self.step(value, direction))
        step = self._tenth(bisect_left(self.stops, value) - 1)
        return max((value - 1) // step * step, self.step(value, direction))

    def decade(self, value: int, direction: int) -> int:
        """Return ten times ``value``, or a tenth of it; from 0 the way up begins with 1."""
        return min(max(1, value * 10), self.most) if direction > 0 else min(value, self.most) // 10

    def _exact(self, fraction: float) -> float:
        """Return the tasks at ``fraction``, between 0 and 1, before anything is rounded."""
        place = fraction * (len(self.stops) - 1)
        # The place of a stop comes back from its division with a rounding error, and must still be that stop.
        if math.isclose(place, round(place), abs_tol=1e-9):
            return self.stops[min(round(place), len(self.stops) - 1)]
        left = min(int(place), len(self.stops) - 2)
        low, high = self.stops[left], self.stops[left + 1]
        # No logarithm reaches 0, so the way from 0 to the first stop is a straight line.
        return float(low * (high / low) ** (place - left)) if low else high * (place - left)

    def _tenth(self, index: int) -> int:
        """Return a tenth of the stop at ``index``, at least 1 task."""
        return max(1, self.stops[max(index, 0)] // 10)
