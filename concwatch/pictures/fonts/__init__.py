"""The fonts of pictures: DejaVu Sans Mono with joined box drawing and braille (see LICENSE)."""

from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent

FAMILY = "Concwatch Mono"
"""Not DejaVu's name, since the font is changed by ``tests/build_fonts.py``."""

FILES = ("ConcwatchMono.ttf", "ConcwatchMono-Bold.ttf")

CHARACTERS = "characters.txt"
"""The characters of the fonts: the first and last code point of each range, one range per line."""


def has_glyph(character: str) -> bool:
    """Return whether the fonts have ``character``, or it is a control character."""
    return ord(character) < 0x20 or character in font_characters()


@cache
def font_characters() -> frozenset[str]:
    """Return the characters of the fonts."""
    rows = (FOLDER / CHARACTERS).read_text().split()
    ends = ([int(end, 16) for end in row.split("-")] for row in rows)
    return frozenset(chr(code) for first, last in ends for code in range(first, last + 1))
