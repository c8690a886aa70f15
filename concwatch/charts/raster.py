"""Lines drawn as quadrant blocks: two by two dots a cell, which join to solid lines.

Braille has twice as many dots vertically, but terminals leave gaps between them: steep lines would be faint.
"""

from functools import lru_cache

Dot = tuple[int, int]
"""Column from the left, row from the bottom."""

Path = tuple[Dot, ...]
"""Dots joined by straight lines, from left to right."""

Cell = tuple[str, str]
"""A character and its colour."""

DASH = 2
"""Adjacent cells of one colour where several lines share their cells."""

ROW_DOTS = 2
"""Rows of dots in a cell."""

_CHARACTERS = " ▖▘▌▗▄▚▙▝▞▀▛▐▟▜█"
"""Indexed by the dots of the left column (the lower two bits, lower dot first) and of the right one."""

_DOTS = {character: dots for dots, character in enumerate(_CHARACTERS)}

LOWER_FREE = frozenset("▘▀▛▝▜")
"""Characters whose unset dots are all below a set one."""


def _draw_line(columns: list[int], start: Dot, end: Dot) -> None:
    """Set the dots of the straight line from ``start`` to ``end``, one dot thick.

    A column is an integer, its lowest bit the lowest dot, so that a vertical run is set in one operation.
    """
    (x, y), (right, top) = start, end
    across, up = right - x, top - y
    if not across:
        columns[x] |= (2 << max(y, top)) - (1 << min(y, top))
    elif not up:
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


@lru_cache(maxsize=64)
def rasterize(paths: tuple[Path, ...], columns: int, rows: int) -> tuple[str, ...]:
    """Draw the paths of one line as rows of blocks and spaces, the top row first.

    All dots must be within ``2 * columns`` by ``ROW_DOTS * rows``.
    """
    dots = [0] * (2 * columns)
    for path in paths:
        for start, end in zip(path, path[1:] or path, strict=False):  # a single dot: a line to itself
            _draw_line(dots, start, end)
    used = 0
    for column in dots:
        used |= column
    blank = " " * columns
    pairs = list(zip(dots[::2], dots[1::2], strict=True))
    return tuple(
        "".join([_CHARACTERS[left >> low & 3 | (right >> low & 3) << 2] for left, right in pairs])
        if used >> low & 3
        else blank
        for low in range(ROW_DOTS * (rows - 1), -1, -ROW_DOTS)
    )


@lru_cache(maxsize=16)
def below(rows: tuple[str, ...]) -> tuple[tuple[bool, ...], ...]:
    """Return which cells of each row are below a line, without the bottom row."""
    height = len(rows)
    areas = []
    for column in zip(*rows, strict=True):
        lowest = max((at for at in range(height) if column[at] != " "), default=height)
        if lowest < height and column[lowest] not in LOWER_FREE:
            lowest += 1
        areas.append([lowest <= at < height - 1 for at in range(height)])
    return tuple(zip(*areas, strict=True))


@lru_cache(maxsize=16)
def between(lower: tuple[str, ...], upper: tuple[str, ...]) -> tuple[tuple[bool, ...], ...]:
    """Return which cells of each row are between two lines or on one of them, without the bottom row."""
    height = len(lower)
    areas = []
    for low, high in zip(zip(*lower, strict=True), zip(*upper, strict=True), strict=True):
        top = next((at for at in range(height) if high[at] != " "), height)
        bottom = max((at for at in range(height) if low[at] != " "), default=-1)
        areas.append([top <= at <= bottom and at < height - 1 for at in range(height)])
    return tuple(zip(*areas, strict=True))


def merge(layers: list[tuple[str, str]], columns: int) -> list[Cell | None]:
    """Merge the lines of one row into cells, None where there is no line.

    Cells that lines share show the dots of all of them, in alternating colours.

    Args:
        layers: the characters and the colour of each line in this row, the topmost last.
        columns: the cells of the row.
    """
    if not layers:
        return [None] * columns
    if len(layers) == 1:
        text, color = layers[0]
        return [None if character == " " else (character, color) for character in text]
    cells: list[Cell | None] = [None] * columns
    blanks = (" ",) * len(layers)
    for column, characters in enumerate(zip(*(text for text, _ in layers), strict=True)):
        if characters == blanks:
            continue
        last = max(characters)  # every block is greater than a space
        if characters.count(" ") == len(layers) - 1:
            cells[column] = (last, layers[characters.index(last)][1])
            continue
        colors = [color for (_, color), character in zip(layers, characters, strict=True) if character != " "]
        dots = 0
        for character in characters:
            dots |= _DOTS[character]
        cells[column] = (_CHARACTERS[dots], colors[-1 - column // DASH % len(colors)])
    return cells
