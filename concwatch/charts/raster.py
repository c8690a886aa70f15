"""The canvas: lines as quadrant blocks, two dots a cell across and two up, which join to solid strokes.

Braille has twice the dots up, but between them a terminal leaves gaps: where a value jumps a line is a
ladder, and from a few steps away it is not seen.
"""

from functools import lru_cache

Dot = tuple[int, int]
"""Column from the left, row from the bottom."""

Path = tuple[Dot, ...]
"""Dots that a pen visits without being lifted, never to the left."""

Cell = tuple[str, str]
"""A character and its colour."""

DASH = 2
"""Cells in a row that one line gets where several lines share their cells."""

UP = 2
"""Dots a cell has from bottom to top."""

_CHARACTERS = " ▖▘▌▗▄▚▙▝▞▀▛▐▟▜█"
"""By the dots of the left column (the lower two bits, the lower dot first) and of the right one."""

_DOTS = {character: dots for dots, character in enumerate(_CHARACTERS)}

LOWER_FREE = frozenset("▘▀▛▝▜")
"""Characters whose free dots all lie below a dot that is set."""


def _stroke(columns: list[int], start: Dot, end: Dot) -> None:
    """Set the dots of the straight line from ``start`` to ``end``, no thicker than one dot.

    A column is one number, its lowest bit the lowest dot, so a run of dots is set at once, however high.
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
            # The rows that are nearer to this column than to the next.
            beyond = min(steps + 1, ((2 * column + 1) * steps - 1) // (2 * across) + 1)
            low, high = (y + first, y + beyond) if up > 0 else (y - beyond + 1, y - first + 1)
            columns[x + column] |= (1 << high) - (1 << low)
            first = beyond


@lru_cache(maxsize=64)
def rasterize(paths: tuple[Path, ...], columns: int, rows: int) -> tuple[str, ...]:
    """Draw the paths of one line as rows of blocks and blanks, the top row first.

    Paths lie within ``2 * columns`` by ``UP * rows`` dots, and never go back.
    """
    dots = [0] * (2 * columns)
    for path in paths:
        for start, end in zip(path, path[1:] or path, strict=False):  # one dot: a stroke to itself
            _stroke(dots, start, end)
    used = 0
    for column in dots:
        used |= column
    blank = " " * columns
    pairs = list(zip(dots[::2], dots[1::2], strict=True))
    return tuple(
        "".join([_CHARACTERS[left >> low & 3 | (right >> low & 3) << 2] for left, right in pairs])
        if used >> low & 3
        else blank
        for low in range(UP * (rows - 1), -1, -UP)
    )


@lru_cache(maxsize=16)
def below(rows: tuple[str, ...]) -> tuple[tuple[bool, ...], ...]:
    """Return which cells of each row lie in the area below a line, floor and gaps left out."""
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
    """Return which cells of each row lie between two lines, or on one, the floor left out."""
    height = len(lower)
    areas = []
    for low, high in zip(zip(*lower, strict=True), zip(*upper, strict=True), strict=True):
        top = next((at for at in range(height) if high[at] != " "), height)
        bottom = max((at for at in range(height) if low[at] != " "), default=-1)
        areas.append([top <= at <= bottom and at < height - 1 for at in range(height)])
    return tuple(zip(*areas, strict=True))


def merge(layers: list[tuple[str, str]], columns: int) -> list[Cell | None]:
    """Merge one row of all lines: each cell's character and colour, or None where no line passes.

    Cells that lines share show the dots of all of them, and take turns in their colours. ``layers`` are the
    characters and the colour of each line that passes the row, the topmost last.
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
        last = max(characters)  # any block comes after a blank
        if characters.count(" ") == len(layers) - 1:
            cells[column] = (last, layers[characters.index(last)][1])
            continue
        here = [color for (_, color), character in zip(layers, characters, strict=True) if character != " "]
        dots = 0
        for character in characters:
            dots |= _DOTS[character]
        cells[column] = (_CHARACTERS[dots], here[-1 - column // DASH % len(here)])
    return cells
