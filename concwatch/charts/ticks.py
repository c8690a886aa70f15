"""Round tick values for a chart's two axes, and the scale between them."""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

from msgspec import Struct

from concwatch.units import format_bytes, format_percent, format_rate, format_seconds, format_short

AIR = 1.04
"""How much higher than its highest value a linear axis reaches at least."""

LABEL_GAP = 3
"""Blank cells that stay between two labels of the time axis."""

DECIMAL_STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 500)
CROSSING_STEPS = (128, 256, 512)
"""Steps for bytes where the ticks pass from one prefix to the next: 512 MiB, 1 GiB, 1.5 GiB."""
BINARY_STEPS = tuple(sorted((*DECIMAL_STEPS, *CROSSING_STEPS)))
SHORT_STEPS = (0.05, 0.1, 0.2, 0.5)
TIME_STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800)


class Kind(Struct, frozen=True):
    """What a chart's values are: how they are written, and which of them are round."""

    format: Callable[[float], str]
    """Writes a value; every tick label comes from it."""
    base: int
    """The factor from one prefix to the next: 1,024 or 1,000."""
    smallest: float
    """The finest tick step, and the lowest floor of a logarithmic axis."""
    calm: float
    """The least range a linear axis shows, so that noise around zero stays small."""
    largest: float
    """The highest value drawn; a higher one sits at the top edge."""
    unit: float = 1.0
    """The value that is written as 1 without a prefix."""


BYTES = Kind(format_bytes, base=1024, smallest=1, calm=64 * 1024, largest=1e15)
COUNT = Kind(format_short, base=1000, smallest=1, calm=10, largest=1e15)
RATE = Kind(format_rate, base=1000, smallest=0.1, calm=10, largest=1e15)
SECONDS = Kind(format_seconds, base=1000, smallest=1e-6, calm=0.005, largest=1e5, unit=1e-6)
SHARE = Kind(format_percent, base=1000, smallest=0.001, calm=0.1, largest=100, unit=0.01)


class Tick(Struct, frozen=True):
    """One labelled place on an axis."""

    position: int
    """Cells from the axis' start: rows above the bottom, or columns from the left."""
    label: str


class Scale(Struct, frozen=True):
    """A y axis: its ticks, and where between them a value belongs."""

    ticks: tuple[Tick, ...]
    origin: float
    """The value (its decimal logarithm, on a logarithmic axis) at row 0."""
    rows_per_unit: float
    logarithmic: bool

    def row(self, value: float) -> float:
        """Return how many rows above the bottom ``value`` belongs; a value below the floor sits on it."""
        if self.logarithmic:
            value = math.log10(value) if value > 0 else self.origin
        return max(0.0, (value - self.origin) * self.rows_per_unit)


def _number(value: float, kind: Kind) -> float:
    """Return the number that stands before the prefix when ``value`` is written."""
    number = value / kind.unit
    while number >= kind.base:
        number /= kind.base
    return number


def _is_said_exactly(value: float, kind: Kind) -> bool:
    """Return whether three digits and a prefix write ``value`` without rounding it."""
    number = _number(value, kind)
    digits = 0 if number >= 100 else 1 if number >= 10 else 2
    return number < 1000 and math.isclose(round(number, digits), number, rel_tol=1e-9)


@lru_cache(maxsize=1024)
def _linear_ticks(kind: Kind, step: float, gap: int, rows: int) -> tuple[Tick, ...]:
    """Return a tick each ``gap`` rows, or none at all where ``step`` does not make round labels."""
    values = [step * index for index in range((rows - 1) // gap + 1)]
    if not all(_is_said_exactly(value, kind) for value in values):
        return ()
    number = _number(step, kind)
    if number in CROSSING_STEPS and values[-1] < step / number * kind.base:
        return ()
    return tuple(Tick(gap * index, kind.format(value)) for index, value in enumerate(values))


def _steps(kind: Kind, least: float) -> Iterator[float]:
    """Yield the round steps of ``kind`` from ``least`` up, without end."""
    least = max(least, kind.smallest) * (1 - 1e-9)
    power = math.floor(math.log(least / kind.unit, kind.base)) - 1
    while True:
        for step in BINARY_STEPS if kind.base == 1024 else DECIMAL_STEPS:
            if (size := step * float(kind.base) ** power * kind.unit) >= least:
                yield size
        power += 1


def linear_scale(kind: Kind, peak: float, rows: int) -> Scale:
    """Return the scale from 0 that shows ``peak`` with the least room lost.

    Ticks are a whole number of rows apart, so a label, its grid line and the value it names
    always meet in one row, and the limits move only when ``peak`` outgrows them.

    Args:
        kind: what the values are.
        peak: the highest value to show.
        rows: height of the plot, cells.
    """
    needed = max(min(peak, kind.largest) * AIR, kind.calm)
    room = rows - 0.5  # the value of row 0 sits in the middle of its cell
    closest = max(2, math.ceil(rows / 8))
    scales = []
    for gap in range(closest, max(closest + 1, min(rows - 1, closest + 2) + 1)):
        for step in _steps(kind, needed * gap / room):
            if ticks := _linear_ticks(kind, step, gap, rows):
                scales.append(Scale(ticks, 0.0, gap / step, False))
                break
    return max(scales, key=lambda scale: scale.rows_per_unit)


class Ladder(Struct, frozen=True):
    """The tick values of a logarithmic axis: ``rungs``, and the same again ``ratio`` times higher."""

    rungs: tuple[int, ...]
    ratio: float

    def value(self, index: int, lowest: float) -> float:
        """Return the value of rung ``index``, where rung 0 is ``lowest``."""
        power, rung = divmod(index, len(self.rungs))
        return self.rungs[rung] * self.ratio**power * lowest

    def index_below(self, value: float, lowest: float) -> int:
        """Return the highest rung that is not above ``value``, 0 or more."""
        index = 0
        while self.value(index + 1, lowest) <= value * (1 + 1e-9):
            index += 1
        return index

    def values(self, low: float, high: float, lowest: float) -> list[float]:
        """Return the rungs from the last not above ``low`` to the first not below ``high``: two at least."""
        first = self.index_below(low, lowest)
        last = max(first, self.index_below(high * (1 - 1e-6), lowest)) + 1
        return [self.value(index, lowest) for index in range(first, last + 1)]


BINARY_LADDERS = tuple(Ladder((1,), 2.0**power) for power in (1, 2, 3, 5, 10, 20))
DECIMAL_LADDERS = (Ladder((1, 2, 5), 10.0), *(Ladder((1,), 10.0**power) for power in (1, 2, 3, 6, 9)))


def log_scale(kind: Kind, low: float, high: float, rows: int) -> Scale:
    """Return the logarithmic scale over ``low`` to ``high`` with the densest ticks that fit.

    Bytes climb by a power of two from tick to tick, so their rows are evenly apart; the rest by
    1-2-5 or by decades.

    Args:
        kind: what the values are.
        low: the lowest value above zero to show.
        high: the highest value to show.
        rows: height of the plot, cells.
    """
    low = min(max(low, kind.smallest), kind.largest)
    high = min(max(high, low), kind.largest)
    ladders = BINARY_LADDERS if kind.base == 1024 else DECIMAL_LADDERS
    for ladder in ladders:
        values = ladder.values(low, high, kind.smallest)
        if len(values) > 2 and (rows - 1) / (len(values) - 1) >= 2:
            break
    else:  # no tick between the ends, which are then as close as they come
        values = ladders[0].values(low, high, kind.smallest)
        values = [values[0], values[-1]]
    bottom, top = math.log10(values[0]), math.log10(values[-1])
    scale = Scale((), bottom, (rows - 1) / (top - bottom), True)
    # Far above what is drawn there is no prefix to write a value with.
    named = [value for value in values if value <= 1.2 * kind.largest]
    ticks = {round(scale.row(value)): kind.format(value) for value in reversed(named)}
    placed = tuple(Tick(position, label) for position, label in sorted(ticks.items()))
    return Scale(placed, scale.origin, scale.rows_per_unit, True)


Across = Callable[[float, float, int], tuple[Tick, ...]]
"""Gives the ticks of an x axis by the place at its right end, its length, and its columns.

Places are seconds, or whatever else grows evenly from left to right, such as the logarithm of a size.
"""


def column_at(place: float, end: float, length: float, columns: int) -> int:
    """Return the column, from 0, in which ``place`` is drawn on an axis that ends at ``end``.

    It counts columns from a place 0 that stays where it is, as the drawing of lines does.
    """
    size = round(length / columns, 9)
    return math.floor(place / size) - math.floor(end / size) + columns - 1


def _cell_at(place: float, end: float, length: float, columns: int) -> int:
    return min(max(0, column_at(place, end, length, 2 * columns) // 2), columns - 1)  # two dots a cell


def _all_fit(ticks: Sequence[Tick], columns: int) -> bool:
    """Return whether at least one blank stands between any two labels, each centred on its tick."""
    ends = [tick.position - len(tick.label) // 2 + len(tick.label) for tick in ticks]
    starts = [min(tick.position - len(tick.label) // 2, columns - len(tick.label)) for tick in ticks]
    return all(start > end for end, start in zip(ends[:-1], starts[1:], strict=True))


def size_ticks(end: float, length: float, columns: int) -> tuple[Tick, ...]:
    """Return the ticks of a logarithmic axis of whole numbers: ``1``, ``10``, ``100``, ``1 k``, ….

    Args:
        end: the decimal logarithm of the number at the right end.
        length: so many powers of ten lie between both ends.
        columns: width of the plot, cells.
    """
    ticks: list[Tick] = []
    for ladder in DECIMAL_LADDERS:
        values = [ladder.value(index, 1) for index in range(ladder.index_below(10 ** max(0.0, end), 1) + 1)]
        found = [
            Tick(_cell_at(math.log10(value), end, length, columns), format_short(value))
            for value in values
            if end - length - 1e-9 <= math.log10(value)
        ]
        ticks = found or ticks
        if found and _all_fit(found, columns):
            break
    return tuple(ticks) if _all_fit(ticks, columns) else tuple(ticks[:1])


def elapsed_ticks(end: float, length: float, columns: int) -> tuple[Tick, ...]:
    """Return the ticks of an axis of seconds since something began: ``0s``, ``5s``, ``10s``, ….

    Args:
        end: seconds at the right end.
        length: seconds from the left end to the right one.
        columns: width of the plot, cells.
    """
    steps = [step for step in (*SHORT_STEPS, *TIME_STEPS) if columns * step / length >= len("0s") + LABEL_GAP]
    for step in steps:  # those so short that not even the shortest label fits would be ticks without number
        size, unit = (3600, "h") if step % 3600 == 0 else (60, "m") if step % 60 == 0 else (1, "s")
        counts = range(math.ceil((end - length) / step), math.floor(end / step + 1e-9) + 1)
        ticks = [
            Tick(_cell_at(count * step, end, length, columns), f"{count * step / size:g}{unit}")
            for count in counts
        ]
        if columns * step / length >= max((len(tick.label) for tick in ticks), default=0) + LABEL_GAP:
            return tuple(ticks)
    return ()


def age_ticks(end: float, length: float, columns: int) -> tuple[Tick, ...]:
    """Return the ticks of a time axis that ends now."""
    return time_ticks(length, columns)


@lru_cache(maxsize=64)
def time_ticks(window: float, columns: int) -> tuple[Tick, ...]:
    """Return the ticks of a time axis that ends now, oldest first: ``-60s`` … ``now``.

    Args:
        window: seconds from the left edge to the right one.
        columns: width of the plot, cells.
    """
    now = Tick(columns - 1, "now")
    for step in TIME_STEPS:
        size, unit = (3600, "h") if step % 3600 == 0 else (60, "m") if step % 60 == 0 else (1, "s")
        ages = range(step, math.floor(window + 1e-9) + 1, step)
        labels = [f"-{age // size}{unit}" for age in ages]
        if ages and (columns - 1) * step / window >= len(labels[-1]) + LABEL_GAP:
            positions = [round((columns - 1) * (1 - age / window)) for age in ages]
            return (*map(Tick, reversed(positions), reversed(labels)), now)
    return (now,)
