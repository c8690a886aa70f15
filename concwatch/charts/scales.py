"""The y axis: kinds of values, their round ticks, and the scales that place values."""

import math
from collections.abc import Callable, Iterator
from functools import lru_cache

from msgspec import Struct

from concwatch.units import format_bytes, format_percent, format_rate, format_seconds, format_short

HEADROOM = 1.04
"""The minimum ratio of the top of a linear axis to its highest value."""

DECIMAL_STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 500)
CROSSING_STEPS = (128, 256, 512)
"""Steps for bytes whose ticks go from one prefix to the next: 512 MiB, 1 GiB, 1.5 GiB."""
BINARY_STEPS = tuple(sorted((*DECIMAL_STEPS, *CROSSING_STEPS)))


class Kind(Struct, frozen=True):
    """A kind of values: their format, and which of them are round."""

    format: Callable[[float], str]
    """Formats a value; also used for tick labels."""
    base: int
    """The factor from one prefix to the next: 1,024 or 1,000."""
    smallest: float
    """The smallest tick step, and the lowest value of a logarithmic axis."""
    least_range: float
    """The minimum range of a linear axis, so that noise around zero looks small."""
    largest: float
    """The highest value drawn; higher ones are drawn at the top edge."""
    unit: float = 1.0
    """The value that is formatted as 1 without a prefix."""


BYTES = Kind(format_bytes, base=1024, smallest=1, least_range=64 * 1024, largest=1e15)
COUNT = Kind(format_short, base=1000, smallest=1, least_range=10, largest=1e15)
RATE = Kind(format_rate, base=1000, smallest=0.1, least_range=10, largest=1e15)
SECONDS = Kind(format_seconds, base=1000, smallest=1e-6, least_range=0.005, largest=1e5, unit=1e-6)
SHARE = Kind(format_percent, base=1000, smallest=0.001, least_range=0.1, largest=100, unit=0.01)


class Tick(Struct, frozen=True):
    """A labelled position on an axis."""

    position: int
    """Cells from the start of the axis: rows above the bottom, or columns from the left."""
    label: str
    exact: float = 0.0
    """The same without rounding, for painters that have no cells."""


class Scale(Struct, frozen=True):
    """A y axis: its ticks, and the rows of values."""

    ticks: tuple[Tick, ...]
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


def _number(value: float, kind: Kind) -> float:
    """Return the number before the prefix of the formatted ``value``."""
    number = value / kind.unit
    while number >= kind.base:
        number /= kind.base
    return number


def _is_exact(value: float, kind: Kind) -> bool:
    """Return whether ``value`` can be formatted with three digits and a prefix without rounding."""
    number = _number(value, kind)
    digits = 0 if number >= 100 else 1 if number >= 10 else 2
    return number < 1000 and math.isclose(round(number, digits), number, rel_tol=1e-9)


@lru_cache(maxsize=1024)
def _linear_ticks(kind: Kind, step: float, gap: int, rows: int) -> tuple[Tick, ...]:
    """Return a tick every ``gap`` rows, or no ticks if ``step`` does not make round labels."""
    values = [step * index for index in range((rows - 1) // gap + 1)]
    if not all(_is_exact(value, kind) for value in values):
        return ()
    number = _number(step, kind)
    if number in CROSSING_STEPS and values[-1] < step / number * kind.base:
        return ()
    return tuple(Tick(gap * index, kind.format(value), gap * index) for index, value in enumerate(values))


def _steps(kind: Kind, least: float) -> Iterator[float]:
    """Yield the round steps of ``kind`` from ``least`` up, infinitely."""
    least = max(least, kind.smallest) * (1 - 1e-9)
    power = math.floor(math.log(least / kind.unit, kind.base)) - 1
    while True:
        for step in BINARY_STEPS if kind.base == 1024 else DECIMAL_STEPS:
            if (size := step * float(kind.base) ** power * kind.unit) >= least:
                yield size
        power += 1


def linear_scale(kind: Kind, peak: float, rows: int) -> Scale:
    """Return the scale from 0 that shows ``peak`` as high as possible on ``rows`` rows of cells.

    Ticks are a whole number of rows apart, so that a label, its grid line and its value are in the same row,
    and the top changes only when ``peak`` exceeds it.
    """
    needed = max(min(peak, kind.largest) * HEADROOM, kind.least_range)
    room = rows - 0.75  # the value of row 0 is in the middle of its cell, and a dot takes a quarter
    closest = max(2, math.ceil(rows / 8))
    scales = []
    for gap in range(closest, max(closest + 1, min(rows - 1, closest + 2) + 1)):
        for step in _steps(kind, needed * gap / room):
            if ticks := _linear_ticks(kind, step, gap, rows):
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


BINARY_LOG_STEPS = tuple(LogSteps((1,), 2.0**power) for power in (1, 2, 3, 4, 5, 6, 8, 10, 20))
POWERS_OF_TEN = tuple(LogSteps((1,), 10.0**power) for power in (1, 2, 3, 6, 9))
ONE_TWO_FIVE = LogSteps((1, 2, 5), 10.0)
DECIMAL_LOG_STEPS = (ONE_TWO_FIVE, *POWERS_OF_TEN)

ROWS_PER_DECADE = 10
"""Rows from one power of ten to the next at which those of 2 and 5 are whole numbers too."""

ROUNDING = 0.1
"""Rows by which such a tick may be off."""


def log_scale(kind: Kind, low: float, high: float, rows: int) -> Scale:
    """Return the logarithmic scale from ``low`` to ``high`` with the densest ticks that fit on ``rows`` rows.

    The ticks of bytes are a power of two apart, all others go by 1-2-5 or by powers of ten. They are a whole
    number of rows apart, so that a label, its grid line and its value are in the same row.
    """
    low = min(max(low, kind.smallest), kind.largest)
    high = min(max(high, low), kind.largest)
    if kind.base == 1000:
        steps, per_decade = ONE_TWO_FIVE, (rows - 1) // ROWS_PER_DECADE * ROWS_PER_DECADE
        values = steps.values(low, high, kind.smallest)
        if per_decade and math.log10(values[-1] / values[0]) * per_decade <= rows - 1 + ROUNDING:
            return _log_scale(kind, steps, values, per_decade, rows)
    candidates = BINARY_LOG_STEPS if kind.base == 1024 else POWERS_OF_TEN
    for steps in candidates:
        values = steps.values(low, high, kind.smallest)
        gap = (rows - 1) // (len(values) - 1)
        if len(values) > 2 and gap >= 2:
            break
    else:  # no tick between the ends: the tightest range
        steps, gap = candidates[0], rows - 1
        values = steps.values(low, high, kind.smallest)
        values = [values[0], values[-1]]
    return _log_scale(kind, steps, values, gap / math.log10(values[1] / values[0]), rows)


def _log_scale(kind: Kind, steps: LogSteps, values: list[float], rows_per_decade: float, rows: int) -> Scale:
    """Return the scale with ticks at ``values``, and at those above them that still have a row."""
    scale = Scale((), math.log10(values[0]), rows_per_decade, True)
    index = steps.index_below(values[-1], kind.smallest) + 1
    while scale.row(value := steps.value(index, kind.smallest)) <= rows - 1 + ROUNDING:
        values.append(value)
        index += 1
    # Far above the largest value there is no prefix to format a label with.
    named = [(scale.row(value), kind.format(value)) for value in values if value <= 1.2 * kind.largest]
    ticks = tuple(Tick(round(row), label, row) for row, label in named)
    return Scale(ticks, scale.origin, scale.rows_per_unit, True)
