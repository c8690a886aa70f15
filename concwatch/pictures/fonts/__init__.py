"""The fonts that pictures are drawn with: DejaVu Sans Mono with joined boxes and braille (see LICENSE)."""

from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent

FAMILY = "Concwatch Mono"
"""Not DejaVu's own name, since the font is changed; ``tests/build_fonts.py`` says how."""

FILES = ("ConcwatchMono.ttf", "ConcwatchMono-Bold.ttf")

CHARACTERS = "characters.txt"
"""What the fonts have: the first and the last of characters in a row, by their numbers, a row a line."""


def is_drawn(character: str) -> bool:
    """Return whether the fonts have ``character``, or it needs no shape."""
    return ord(character) < 0x20 or character in drawn()


@cache
def drawn() -> frozenset[str]:
    """Return the characters that the fonts have."""
    rows = (FOLDER / CHARACTERS).read_text().split()
    ends = ([int(end, 16) for end in row.split("-")] for row in rows)
    return frozenset(chr(code) for first, last in ends for code in range(first, last + 1))
