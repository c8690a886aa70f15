"""The x axis: the columns of x values, and labelled ticks.

An x value is a time in seconds, or another number such as the logarithm of a size.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

from concwatch.charts.scales import DECIMAL_LOG_STEPS, AxisTick
from concwatch.portable.protocol.units import format_short

LABEL_GAP = 3
"""The minimum number of cells between two labels of a time axis."""

TIME_STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800)
ELAPSED_STEPS = (0.05, 0.1, 0.2, 0.5, *TIME_STEPS)

XTicks = Callable[[float, float, int], tuple[AxisTick, ...]]
"""Returns the ticks of an x axis, given its end, its length, and its columns of cells."""


CELL = 2
"""Columns of dots in a cell."""


def column_grid(end: float, length: float, columns: int, together: int = 1) -> tuple[float, int]:
    """Return the width of a column, and the number of the leftmost one, counted from x value 0.

    The edges of columns are multiples of their width, so values stay in their column as the axis moves, by
    ``together`` columns at once: the right edge is at ``end`` or less than so many columns after it.
    """
    # Rounded, as the last bits of the length differ between calls and would move samples across edges.
    width = round(length / columns, 9)
    last = math.floor(end / width)
    return width, (last // together + 1) * together - columns


def column_of(x: float, end: float, length: float, columns: int, together: int = CELL) -> int:
    """Return the column of cells of ``x``, from 0 if it is within the chart; see `columns_of`."""
    return columns_of((x,), end, length, columns, together)[0]


def columns_of(
    places: Iterable[float], end: float, length: float, columns: int, together: int = CELL
) -> list[int]:
    """Return the column of cells of each x value, from 0 if it is within the chart.

    Args:
        places: the x values.
        end: the x value at the right end of the axis.
        length: the length of the axis.
        columns: its columns of cells.
        together: the columns of dots by which it moves at once: 1 for an axis that does not move.
    """
    width, first = column_grid(end, length, CELL * columns, together)
    return [(math.floor(x / width) - first) // CELL for x in places]


def time_of(column: int, end: float, length: float, columns: int) -> float:
    """Return the last time in a column of cells, at most ``end``. The arguments are those of `column_of`."""
    width, first = column_grid(end, length, CELL * columns, CELL)
    # Slightly before the edge, which belongs to the next column.
    return min(end, (first + CELL * (column + 1)) * width - 1e-6)


def time_label(seconds: float, step: float) -> str:
    """Return the label of a tick at ``seconds`` if ticks are ``step`` seconds apart: ``45s``, ``2m``."""
    size, unit = (3600, "h") if step % 3600 == 0 else (60, "m") if step % 60 == 0 else (1, "s")
    return f"{seconds / size:g}{unit}"


def _tick(x: float, label: str, end: float, length: float, columns: int, together: int = CELL) -> AxisTick:
    exact = (x - end + length) / length * columns
    return AxisTick(min(max(0, column_of(x, end, length, columns, together)), columns - 1), label, exact)


def _all_fit(ticks: Sequence[AxisTick], columns: int) -> bool:
    """Return whether there is a space between all labels, each centred on its tick."""
    ends = [tick.position - len(tick.label) // 2 + len(tick.label) for tick in ticks]
    starts = [min(tick.position - len(tick.label) // 2, columns - len(tick.label)) for tick in ticks]
    return all(start > end for end, start in zip(ends[:-1], starts[1:], strict=True))


def size_ticks(end: float, length: float, columns: int) -> tuple[AxisTick, ...]:
    """Return the ticks of a logarithmic axis of whole numbers: ``1``, ``10``, ``100``, ``1 k``, ….

    ``end`` is the decimal logarithm of the number at the right end, ``length`` a number of powers of ten.
    """
    ticks: list[AxisTick] = []
    for steps in DECIMAL_LOG_STEPS:
        values = [steps.value(index, 1) for index in range(steps.index_below(10 ** max(0.0, end), 1) + 1)]
        found = [
            _tick(math.log10(value), format_short(value), end, length, columns, together=1)
            for value in values
            if end - length - 1e-9 <= math.log10(value)
        ]
        ticks = found or ticks
        if found and _all_fit(found, columns):
            break
    return tuple(ticks) if _all_fit(ticks, columns) else tuple(ticks[:1])


def elapsed_ticks(end: float, length: float, columns: int, gap: int = LABEL_GAP) -> tuple[AxisTick, ...]:
    """Return the ticks of an axis of elapsed seconds: ``0s``, ``5s``, ``10s``, …."""
    for step in ELAPSED_STEPS:
        if columns * step / length < len("0s") + gap:
            continue  # the step is too short for any labels
        counts = range(math.ceil((end - length) / step), math.floor(end / step + 1e-9) + 1)
        labels = [time_label(count * step, step) for count in counts]
        if columns * step / length >= max(map(len, labels), default=0) + gap:
            return tuple(
                _tick(count * step, label, end, length, columns)
                for count, label in zip(counts, labels, strict=True)
            )
    return ()


def age_ticks(end: float, length: float, columns: int) -> tuple[AxisTick, ...]:
    """Return the ticks of a time axis that ends now, the oldest first: ``-60s`` … ``now``."""
    return _age_ticks(length, columns)


@lru_cache(maxsize=64)
def _age_ticks(length: float, columns: int) -> tuple[AxisTick, ...]:
    last = columns - 1
    for step in TIME_STEPS:
        count = math.floor((length + 1e-9) / step)
        if count and last * step / length >= len(f"-{time_label(count * step, step)}") + LABEL_GAP:
            ages = range(count * step, 0, -step)
            ticks = (
                AxisTick(
                    round(last * (1 - age / length)),
                    f"-{time_label(age, step)}",
                    columns * (1 - age / length),
                )
                for age in ages
            )
            return (*ticks, AxisTick(last, "now", columns))
    return (AxisTick(last, "now", columns),)
