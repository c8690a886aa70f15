"""The scale of a slider: maps numbers of tasks to cells and back."""

import math
from bisect import bisect_left, bisect_right
from functools import cached_property

from msgspec import Struct

from concwatch.monitor.metrics.settings import LARGEST_TARGET


def _nearest_multiple(step: int, low: float, middle: float, high: float) -> int | None:
    """Return the multiple of ``step`` in [low, high) that is nearest to ``middle``, if there is one."""
    smallest, largest = math.ceil(low / step), math.ceil(high / step) - 1
    if smallest > largest:
        return None
    return min(max(round(middle / step), smallest), largest) * step


class StopScale(Struct, frozen=True, dict=True):
    """A logarithmic scale from 0 to ``maximum`` tasks with equidistant stops at 0, 1, 2, 5, 10, 20, 50, …

    Raises:
        ValueError: ``maximum`` is negative.
    """

    maximum: int = LARGEST_TARGET
    reach: int | None = None
    """The largest possible number of tasks, if less than ``maximum``."""

    @property
    def reachable(self) -> int:
        """The largest number of tasks that any method returns."""
        return self.maximum if self.reach is None else min(self.reach, self.maximum)

    @cached_property
    def decades(self) -> tuple[int, ...]:
        """The powers of ten on the scale, excluding both ends."""
        return tuple(10**power for power in range(1, len(str(self.maximum))) if 10**power < self.maximum)

    def __post_init__(self) -> None:
        if self.maximum < 0:
            raise ValueError(f"a scale cannot end at {self.maximum:,} tasks; expected 0 or more")

    @cached_property
    def stops(self) -> tuple[int, ...]:
        """The stops in tasks, ascending; the last is always ``maximum``."""
        if not self.maximum:
            return (0,)
        powers = range(len(str(self.maximum)))
        series = (leading * 10**power for power in powers for leading in (1, 2, 5))
        return (0, *(stop for stop in series if stop < self.maximum), self.maximum)

    def fraction(self, value: int) -> float:
        """Return the position of ``value`` tasks, from 0.0 to 1.0."""
        if value <= 0 or not self.maximum:
            return 0.0
        if value >= self.maximum:
            return 1.0
        right = bisect_right(self.stops, value)
        low, high = self.stops[right - 1], self.stops[right]
        between = math.log(value / low) / math.log(high / low) if value > low else 0.0
        return (right - 1 + between) / (len(self.stops) - 1)

    def value(self, fraction: float) -> int:
        """Return the tasks at a position from 0.0 to 1.0, at most two significant digits."""
        if fraction <= 0 or not self.maximum:
            return 0
        if fraction >= self.fraction(self.reachable):
            return self.reachable
        exact = self._exact(fraction)
        step: int = 10 ** max(0, len(str(int(exact))) - 2)
        # Rounding may exceed a maximum that is not round, such as 21,800.
        return min(round(exact / step) * step, self.reachable)

    def cell(self, value: int, cells: int) -> int:
        """Return the cell, 0 to ``cells`` - 1, in which ``value`` tasks are drawn.

        The first and last cell are reserved for 0 and ``maximum``.
        """
        last = max(0, cells - 1)
        position = round(self.fraction(value) * last)
        if 0 < value < self.maximum and cells >= 3:
            return min(max(position, 1), last - 1)
        return position

    def value_at(self, cell: int, cells: int) -> int:
        """Return the roundest number of tasks within a cell, clamped to the ends of the scale.

        A stop is preferred to all other numbers, then multiples of 5, 2 and 1 times a power of ten: 15,000
        is preferred to 14,000.
        """
        if cell <= 0:
            return 0
        if cell >= self.cell(self.reachable, cells):
            return self.reachable
        last = cells - 1
        low, middle, high = (self._exact((cell + edge) / last) for edge in (-0.5, 0, 0.5))
        if inside := self.stops[bisect_left(self.stops, low) : bisect_left(self.stops, high)]:
            return min(self.reachable, min(inside, key=lambda stop: abs(self.fraction(stop) - cell / last)))
        digits = len(str(int(high)))
        for power in range(digits - 1, max(0, digits - 2) - 1, -1):
            for leading in (5, 2, 1):
                found = _nearest_multiple(leading * 10**power, low, middle, high)
                if found is not None:
                    return min(self.reachable, found)
        return self.value(cell / last)

    def step(self, value: int, direction: int) -> int:
        """Return the next stop above (``direction`` > 0) or below ``value``, clamped to the ends."""
        if direction > 0:
            return min(self.reachable, self.stops[min(bisect_right(self.stops, value), len(self.stops) - 1)])
        return self.stops[max(bisect_left(self.stops, value) - 1, 0)]

    def fine(self, value: int, direction: int) -> int:
        """Return the next finer step above or below ``value``: 19,000, 20,000, 22,000, 24,000.

        Steps are a tenth of the stop below, and never skip a stop.
        """
        if direction > 0:
            step = self._tenth(bisect_right(self.stops, value) - 1)
            return min((value // step + 1) * step, self.step(value, direction))
        step = self._tenth(bisect_left(self.stops, value) - 1)
        return max((value - 1) // step * step, self.step(value, direction))

    def decade(self, value: int, direction: int) -> int:
        """Return ten times ``value`` or a tenth of it, clamped to the ends; 1 above 0."""
        return min(max(1, value * 10), self.reachable) if direction > 0 else min(value, self.reachable) // 10

    def _exact(self, fraction: float) -> float:
        """Return the tasks at a position, unrounded."""
        place = fraction * (len(self.stops) - 1)
        # The position of a stop may have a rounding error, and must still result in that stop.
        if math.isclose(place, round(place), abs_tol=1e-9):
            return self.stops[min(round(place), len(self.stops) - 1)]
        left = min(int(place), len(self.stops) - 2)
        low, high = self.stops[left], self.stops[left + 1]
        # Linear from 0 to the first stop, because the logarithm of 0 is undefined.
        return float(low * (high / low) ** (place - left)) if low else high * (place - left)

    def _tenth(self, index: int) -> int:
        return max(1, self.stops[max(index, 0)] // 10)
