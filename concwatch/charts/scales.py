"""The y axis: its round ticks, and the scales that place values."""

import math
from collections.abc import Iterator
from functools import lru_cache

from msgspec import Struct

from concwatch.monitor.metrics.unit import Unit

HEADROOM = 1.04
"""The minimum ratio of the top of a linear axis to its highest value."""

DECIMAL_STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 500)
CROSSING_STEPS = (128, 256, 512)
"""Steps for bytes whose ticks go from one prefix to the next: 512 MiB, 1 GiB, 1.5 GiB."""
BINARY_STEPS = tuple(sorted((*DECIMAL_STEPS, *CROSSING_STEPS)))


class AxisTick(Struct, frozen=True):
    """A labelled position on an axis."""

    position: int
    """Cells from the start of the axis: rows above the bottom, or columns from the left."""
    label: str
    exact: float = 0.0
    """The same without rounding, for painters that have no cells."""


class Scale(Struct, frozen=True):
    """A y axis: its ticks, and the rows of values."""

    ticks: tuple[AxisTick, ...]
    origin: float
    """The value (its decimal logarithm, on a logarithmic axis) at row 0."""
    rows_per_unit: float
    logarithmic: bool

    def row(self, value: float) -> float:
        """Return the row of ``value`` above the bottom: at least 0, NaN below a logarithmic axis."""
        if self.logarithmic:
            value = math.log10(value) if value > 0 else math.nan
            return (value - self.origin) * self.rows_per_unit if value >= self.origin - 1e-9 else math.nan
        row = (value - self.origin) * self.rows_per_unit
        return 0.0 if row < 0 else row  # NaN stays


def _number(value: float, unit: Unit) -> float:
    """Return the number before the prefix of the formatted ``value``."""
    number = value / unit.one
    while number >= unit.base:
        number /= unit.base
    return number


def _is_exact(value: float, unit: Unit) -> bool:
    """Return whether ``value`` can be formatted with three digits and a prefix without rounding."""
    number = _number(value, unit)
    digits = 0 if number >= 100 else 1 if number >= 10 else 2
    return number < 1000 and math.isclose(round(number, digits), number, rel_tol=1e-9)


@lru_cache(maxsize=1024)
def _linear_ticks(unit: Unit, step: float, gap: int, rows: int) -> tuple[AxisTick, ...]:
    """Return a tick every ``gap`` rows, or no ticks if ``step`` does not make round labels."""
    values = [step * index for index in range((rows - 1) // gap + 1)]
    if not all(_is_exact(value, unit) for value in values):
        return ()
    number = _number(step, unit)
    if number in CROSSING_STEPS and values[-1] < step / number * unit.base:
        return ()
    return tuple(AxisTick(gap * index, unit.short(value), gap * index) for index, value in enumerate(values))


def _steps(unit: Unit, least: float) -> Iterator[float]:
    """Yield the round steps of ``unit`` from ``least`` up, infinitely."""
    least = max(least, unit.smallest) * (1 - 1e-9)
    power = math.floor(math.log(least / unit.one, unit.base)) - 1
    while True:
        for step in BINARY_STEPS if unit.base == 1024 else DECIMAL_STEPS:
            if (size := step * float(unit.base) ** power * unit.one) >= least:
                yield size
        power += 1


def linear_scale(unit: Unit, peak: float, rows: int) -> Scale:
    """Return the scale from 0 that shows ``peak`` as high as possible on ``rows`` rows of cells.

    Ticks are a whole number of rows apart, so that a label, its grid line and its value are in the same row,
    and the top changes only when ``peak`` exceeds it.
    """
    needed = max(min(peak, unit.largest) * HEADROOM, unit.least_range)
    room = rows - 0.75  # the value of row 0 is in the middle of its cell, and a dot takes a quarter
    closest = max(2, math.ceil(rows / 8))
    scales = []
    for gap in range(closest, max(closest + 1, min(rows - 1, closest + 2) + 1)):
        for step in _steps(unit, needed * gap / room):
            if ticks := _linear_ticks(unit, step, gap, rows):
                scales.append(Scale(ticks, 0.0, gap / step, False))
                break
    return max(scales, key=lambda scale: scale.rows_per_unit)


class LogSteps(Struct, frozen=True):
    """The tick values of a logarithmic axis: ``multiples`` of the lowest, repeated ``ratio`` times higher."""

    multiples: tuple[int, ...]
    ratio: float

    def value(self, index: int, lowest: float) -> float:
        """Return the value of tick ``index``, where tick 0 is ``lowest``."""
        power, multiple = divmod(index, len(self.multiples))
        return self.multiples[multiple] * self.ratio**power * lowest

    def index_below(self, value: float, lowest: float) -> int:
        """Return the index of the highest tick that is not above ``value``, at least 0."""
        index = 0
        while self.value(index + 1, lowest) <= value * (1 + 1e-9):
            index += 1
        return index

    def values(self, low: float, high: float, lowest: float) -> list[float]:
        """Return the ticks from the last one not above ``low`` to the first one not below ``high``."""
        first = self.index_below(low, lowest)
        last = max(first, self.index_below(high * (1 - 1e-6), lowest)) + 1
        return [self.value(index, lowest) for index in range(first, last + 1)]


BINARY_LOG_STEPS = tuple(LogSteps((1,), 2.0**power) for power in (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20))
POWERS_OF_TEN = tuple(LogSteps((1,), 10.0**power) for power in (1, 2, 3, 6, 9))
ONE_TWO_FIVE = LogSteps((1, 2, 5), 10.0)
DECIMAL_LOG_STEPS = (ONE_TWO_FIVE, *POWERS_OF_TEN)

ROWS_PER_DECADE = 10
"""Rows from one power of ten to the next at which those of 2 and 5 are whole numbers too."""

LOW = 6
"""The rows of cells up to which ticks of a logarithmic axis may be adjacent: else there would be three."""

ROUNDING = 0.1
"""Rows by which such a tick may be off."""


def log_scale(unit: Unit, low: float, high: float, rows: int) -> Scale:
    """Return the logarithmic scale that shows ``low`` to ``high`` as high as possible on ``rows`` rows.

    The ticks of bytes are a power of two apart, all others go by 1-2-5 or by powers of ten. They are a whole
    number of rows apart, so that a label, its grid line and its value are in the same row.
    """
    low = min(max(low, unit.smallest), unit.largest)
    high = min(max(high, low), unit.largest)
    finest = ONE_TWO_FIVE if unit.base == 1000 else BINARY_LOG_STEPS[0]
    values = finest.values(low, high, unit.smallest)
    return _log_scale_between(unit, values[0], values[-1], rows)


@lru_cache(maxsize=64)
def _log_scale_between(unit: Unit, low: float, high: float, rows: int) -> Scale:
    """Return the scale from one of the closest ticks to another."""
    if unit.base == 1000:
        steps, per_decade = ONE_TWO_FIVE, (rows - 1) // ROWS_PER_DECADE * ROWS_PER_DECADE
        values = steps.values(low, high, unit.smallest)
        if per_decade and math.log10(values[-1] / values[0]) * per_decade <= rows - 1 + ROUNDING:
            return _log_scale(unit, steps, values, per_decade, rows)
    candidates = BINARY_LOG_STEPS if unit.base == 1024 else POWERS_OF_TEN
    scales = []
    for steps in candidates:
        values = steps.values(low, high, unit.smallest)
        gap = (rows - 1) // (len(values) - 1)
        if len(values) > 2 and gap >= (1 if rows <= LOW else 2):
            scales.append(_log_scale(unit, steps, values, gap / math.log10(values[1] / values[0]), rows))
    if scales:
        return max(scales, key=lambda scale: scale.rows_per_unit)  # of several, that with the most ticks
    # No tick between the ends: the tightest range.
    steps, gap = candidates[0], rows - 1
    values = steps.values(low, high, unit.smallest)
    values = [values[0], values[-1]]
    return _log_scale(unit, steps, values, gap / math.log10(values[1] / values[0]), rows)


def _log_scale(unit: Unit, steps: LogSteps, values: list[float], rows_per_decade: float, rows: int) -> Scale:
    """Return the scale with ticks at ``values``, and at those above them that still have a row."""
    scale = Scale((), math.log10(values[0]), rows_per_decade, True)
    index = steps.index_below(values[-1], unit.smallest) + 1
    while scale.row(value := steps.value(index, unit.smallest)) <= rows - 1 + ROUNDING:
        values.append(value)
        index += 1
    # Far above the largest value there is no prefix to format a label with.
    named = [(scale.row(value), unit.short(value)) for value in values if value <= 1.2 * unit.largest]
    ticks = tuple(AxisTick(round(row), label, row) for row, label in named)
    return Scale(ticks, scale.origin, scale.rows_per_unit, True)
