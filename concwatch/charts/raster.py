"""Lines as dots, and dots as characters."""

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import accumulate, groupby
from operator import ge, le, or_

from concwatch.charts.symbols import Symbols

Dot = tuple[int, int]
"""Column from the left, row from the bottom."""

Path = Sequence[Dot | None]
"""Dots from left to right, joined by straight lines except where None is between them."""

Dots = tuple[int, ...]
"""The dots of each column of dots: an integer, whose lowest bit is the lowest dot."""

Cell = tuple[str, str]
"""A character and its colour."""

MOST_ROWS = 1024
"""More rows of dots than any terminal has."""


def rasterize(path: Path, columns: int, dashed: bool = False) -> Dots:
    """Draw one line within ``columns`` columns of dots, one dot thick.

    The first dot may be to the left of them, so that the line enters from there. Between adjacent columns the
    line jumps: the riser stands in the column of its upper end, so that a step is one column wide, and so is
    a spike.
    """
    drawn = [0] * columns
    last: Dot | None = None
    for dot in path:
        if dot is None or last is None:
            last = dot
            if dot is not None and dot[0] >= 0:
                drawn[dot[0]] |= 1 << dot[1]
            continue
        if last[0] < 0 <= dot[0]:
            last = _at_left_edge(last, dot)
        (x, y), (right, top) = last, dot
        last = dot
        if right < 0:
            continue
        if right - x > 1:
            _draw_line(drawn, x, y, right, top)
        elif y < top:
            drawn[x] |= 1 << y
            drawn[right] |= (2 << top) - ((2 if x < right else 1) << y)
        else:
            drawn[right] |= 1 << top
            drawn[x] |= (2 << y) - ((2 if x < right and top < y else 1) << top)
    if dashed:
        drawn = [column if at % 4 < 2 else 0 for at, column in enumerate(drawn)]
    return tuple(drawn)


def _at_left_edge(outside: Dot, inside: Dot) -> Dot:
    """Return where the line from ``outside`` to ``inside`` crosses column 0."""
    share = -outside[0] / (inside[0] - outside[0])
    return (0, round(outside[1] + share * (inside[1] - outside[1])))


def _draw_line(columns: list[int], x: int, y: int, right: int, top: int) -> None:
    """Set the dots of a straight line over more than two columns."""
    across, up = right - x, top - y
    if not up:
        for column in range(x, right + 1):
            columns[column] |= 1 << y
    elif abs(up) <= across:
        for step in range(across + 1):
            columns[x + step] |= 1 << y + (2 * step * up + across) // (2 * across)
    else:
        steps, first = abs(up), 0
        for column in range(across + 1):
            # The rows nearer to this column than to the next.
            beyond = min(steps + 1, ((2 * column + 1) * steps - 1) // (2 * across) + 1)
            low, high = (y + first, y + beyond) if up > 0 else (y - beyond + 1, y - first + 1)
            columns[x + column] |= (1 << high) - (1 << low)
            first = beyond


@lru_cache(maxsize=8)
def _inner(rows: int) -> tuple[int, int]:
    """Return masks of all dots except the highest of each cell, and except the lowest."""
    lowest = sum(1 << row for row in range(0, MOST_ROWS, rows))
    every = (1 << MOST_ROWS) - 1
    return every ^ lowest << rows - 1, every ^ lowest


def merge(
    layers: Iterable[tuple[Dots, str]], symbols: Symbols, columns: Sequence[int] | None = None
) -> dict[int, dict[int, Cell]]:
    """Return the cells of several lines: row from the bottom → column → cell.

    A cell has one colour, that of the topmost line in it. Other lines show in it where a gap remains between
    them and the lines on top; where they touch, they are hidden, so that the line on top stays as thin as it
    is.

    Args:
        layers: the dots and the colour of each line, the topmost first.
        symbols: the characters to draw with.
        columns: the columns of cells to draw; None for all.
    """
    rows, characters = symbols.rows, symbols.characters
    below_top, above_bottom = _inner(rows)
    full, taken = (1 << rows) - 1, []  # type: int, list[int]
    drawn: dict[int, dict[int, tuple[int, str]]] = {}
    for dots, color in layers:
        if columns is not None:
            dots = tuple([dots[at] for column in columns for at in (2 * column, 2 * column + 1)])
        visible = dots
        if taken:
            visible = tuple(
                [
                    new & ~(old | (old & below_top) << 1 | (old & above_bottom) >> 1) if new and old else new
                    for new, old in zip(dots, taken, strict=True)
                ]
            )
            taken = [old | new for old, new in zip(taken, visible, strict=True)]
        else:
            taken = list(dots)
        places = range(len(visible) // 2) if columns is None else columns
        for column, left, right in zip(places, visible[::2], visible[1::2], strict=True):
            both = left | right
            while both:
                row = ((both & -both).bit_length() - 1) // rows
                low = row * rows
                inside = left >> low & full | (right >> low & full) << rows
                cells = drawn.setdefault(row, {})
                old = cells.get(column)
                cells[column] = (inside, color) if old is None else (inside | old[0], old[1])
                both &= ~(full << low)
    return {
        row: {column: (characters[inside], color) for column, (inside, color) in cells.items()}
        for row, cells in drawn.items()
    }


NOTCH, SPIKE = 12, 4
"""The least cells of a notch one cell deep, and of a spike, of a filled area; others are left out."""

Areas = tuple[int, ...]
"""The columns of each row of cells, from the bottom, that are in an area: an integer with a bit for each."""

Fill = tuple[Dots, Areas]
"""The dots of a line that is thickened where it must be, and the area below it."""


@lru_cache(maxsize=16)
def fill(dots: Dots, rows: int, symbols: Symbols) -> Fill:
    """Return the area from a line down to the axis, which is in the middle of the bottom row.

    A cell has two colours, but one that the line crosses would need three: above, on and below the line. So
    the area ends at the edge of a cell that is nearest to the line: a quarter of a cell above it at most, or
    below it, where the line is thickened by one dot. Where a line jumps up and down, the area has no notches.
    """
    each, half = symbols.rows, symbols.rows // 2
    heights = []
    for left, right in zip(dots[::2], dots[1::2], strict=True):
        low = min((left & -left).bit_length(), (right & -right).bit_length()) - 1
        heights.append(-1 if low < 0 else (low + half) // each if low >= each else 0)
    thick, column = list(dots), 0
    ends = [0] * (rows + 1)  # by height, the columns of that height
    for known, part in groupby(heights, key=(-1).__lt__):
        for height in _smooth([*part]):
            ends[max(0, height)] |= 1 << column
            for at in (2 * column, 2 * column + 1):
                if known and height and dots[at] & -dots[at] == 2 << each * height:
                    thick[at] |= 1 << each * height
            column += 1
    areas = [*accumulate(reversed(ends[1:]), or_)]
    return tuple(thick), tuple(reversed(areas))


def _smooth(heights: Sequence[int]) -> Iterable[int]:
    """Return heights without narrow notches and spikes, as the closing and opening of morphology.

    A rise is left as it is.
    """
    if all(map(le, heights, heights[1:])) or all(map(ge, heights, heights[1:])):
        return heights
    closed = _windows(min, _windows(max, heights, -1, NOTCH), 0, NOTCH)[NOTCH - 1 : 1 - NOTCH]
    shallow = [min(new, old + 1) for new, old in zip(closed, heights, strict=True)]
    return _windows(max, _windows(min, shallow, MOST_ROWS, SPIKE), 0, SPIKE)[SPIKE - 1 : 1 - SPIKE]


def _windows(pick: Callable[..., int], values: Sequence[int], beyond: int, size: int) -> list[int]:
    """Return what ``pick`` picks of all ``size`` adjacent values; ``beyond`` stands outside."""
    padded = [*[beyond] * (size - 1), *values, *[beyond] * (size - 1)]
    return list(map(pick, *(padded[at : len(padded) - size + 1 + at] for at in range(size))))


@lru_cache(maxsize=16)
def between(lower: Dots, upper: Dots, rows: int, symbols: Symbols) -> Areas:
    """Return the area between two lines, and on them, without the bottom row."""
    areas = [0] * rows
    for column in range(len(lower) // 2):
        low, high = (lines[2 * column] | lines[2 * column + 1] for lines in (lower, upper))
        if low and high:
            bottom, top = (low & -low).bit_length() - 1, high.bit_length() - 1
            for row in range(max(1, bottom // symbols.rows), top // symbols.rows + 1):
                areas[row] |= 1 << column
    return tuple(areas)
