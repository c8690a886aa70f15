"""The canvas: lines as braille characters, two dots a cell across and four up."""

from functools import lru_cache

Dot = tuple[int, int]
"""Column from the left, row from the bottom."""

Path = tuple[Dot, ...]
"""Dots that a pen visits without being lifted, never to the left."""

Cell = tuple[str, str]
"""A character and its colour."""

DASH = 2
"""Cells in a row that one line gets where several lines share their cells."""

_LEFT = (0x40, 0x04, 0x02, 0x01)
_RIGHT = (0x80, 0x20, 0x10, 0x08)
"""The bit of each dot in a braille character's code, from the bottom up."""


def _character(left: int, right: int) -> str:
    dots = sum(bit for row, bit in enumerate(_LEFT) if left >> row & 1)
    dots += sum(bit for row, bit in enumerate(_RIGHT) if right >> row & 1)
    return chr(0x2800 | dots) if dots else " "


_CHARACTERS = tuple(_character(dots & 15, dots >> 4) for dots in range(256))
"""By the dots of the left column (the lower four bits) and of the right one."""


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
    """Draw the paths of one line; a line that has not changed comes from the cache.

    Args:
        paths: within ``2 * columns`` by ``4 * rows`` dots; columns never go back.
        columns: width in cells.
        rows: height in cells.

    Returns:
        One string for each row, top row first, of braille characters and blanks.
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
        "".join([_CHARACTERS[left >> low & 15 | (right >> low & 15) << 4] for left, right in pairs])
        if used >> low & 15
        else blank
        for low in range(4 * rows - 4, -1, -4)
    )


def merge(layers: list[tuple[str, str]], columns: int) -> list[Cell | None]:
    """Merge one row of all lines: each cell's character and colour, or None where no line passes.

    Cells that lines share show the dots of all of them, and take turns in their colours.

    Args:
        layers: the characters and the colour of each line that passes the row, the topmost last.
        columns: width in cells.
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
        last = max(characters)  # any braille character comes after a blank
        if characters.count(" ") == len(layers) - 1:
            cells[column] = (last, layers[characters.index(last)][1])
            continue
        here = [color for (_, color), character in zip(layers, characters, strict=True) if character != " "]
        dots = 0x2800
        for character in characters:
            if character != " ":
                dots |= ord(character)  # the upper bits are the same in every braille character
        cells[column] = (chr(dots), here[-1 - column // DASH % len(here)])
    return cells
