"""What a page sends: its size, and what is typed in it, both within bounds."""

import re
from typing import cast

MIN_SIZE, MAX_SIZE = (20, 5), (1_000, 500)
"""Columns and lines that a page may ask for. What is larger is a mistake, and would take gigabytes."""

SEQUENCE = 32
"""Letters of the longest key or report that the screen takes for one."""

RESIZED = re.compile(r"\x1b\[48(?:;[^\x1b;]{0,32}){4,}t")
"""A terminal's own report of its size: that of a page is told by another way, which has bounds."""

KEY = re.compile(r"\x1b\[([\d:;]{0,32})[u~A-HPQRS]")
"""A key, or a place, as numbers."""


def _is_letter(number: str) -> bool:
    """Return whether a number is empty or that of a letter in Unicode, of which keys are made."""
    return not number or int(number) < 0xD800 or 0xDFFF < int(number) <= 0x10FFFF


class InputFilter:
    """Drops input that would crash or resize the screen; it may come in pieces, so their end is kept."""

    def __init__(self) -> None:
        self._end = ""

    def filter(self, text: str) -> str:
        """Return ``text``, or nothing if together with what came before it is unsound."""
        whole = self._end + text
        numbers = (number for key in KEY.findall(whole) for number in re.split("[:;]", key))
        if RESIZED.search(whole) or not all(map(_is_letter, numbers)):
            return ""
        self._end = whole[-SEQUENCE:]
        return text


def clamp_size(width: object, height: object) -> tuple[int, int]:
    """Bring the size of a page, in columns and lines, within bounds; what is no number becomes 80 × 24."""
    size = []
    for given, usual, least, most in zip((width, height), (80, 24), MIN_SIZE, MAX_SIZE, strict=True):
        try:
            number = int(cast("str", given))
        except (TypeError, ValueError, OverflowError):
            number = usual
        size.append(min(max(number, least), most))
    return size[0], size[1]
