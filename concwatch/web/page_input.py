"""Validation of what a page sends: its size and its input."""

import re
from typing import cast

MIN_SIZE, MAX_SIZE = (20, 5), (1_000, 500)
"""Bounds of a page's size in columns and lines; a larger screen would take gigabytes."""

MAX_SEQUENCE = 32
"""Characters of the longest escape sequence that the screen accepts."""

RESIZE = re.compile(r"\x1b\[48(?:;[^\x1b;]{0,32}){4,}t")
"""A terminal's in-band size report; pages send their size in a message of its own, which is validated."""

KEY = re.compile(r"\x1b\[([\d:;]{0,32})[u~A-HPQRS]")
"""The escape sequence of a key or a cursor position."""


def _is_code_point(number: str) -> bool:
    """Return whether a number is empty or a Unicode code point, as the screen expects of a key."""
    return not number or int(number) < 0xD800 or 0xDFFF < int(number) <= 0x10FFFF


class InputFilter:
    """Drops input that would crash or resize the screen, even if it arrives in several messages."""

    def __init__(self) -> None:
        self._tail = ""

    def filter(self, text: str) -> str:
        """Return ``text``, or an empty string if it completes an invalid sequence."""
        whole = self._tail + text
        numbers = (number for key in KEY.findall(whole) for number in re.split("[:;]", key))
        if RESIZE.search(whole) or not all(map(_is_code_point, numbers)):
            return ""
        self._tail = whole[-MAX_SEQUENCE:]
        return text


def clamp_size(width: object, height: object) -> tuple[int, int]:
    """Return a page's size in columns and lines, clamped to the bounds; 80 × 24 if it is not a number."""
    size = []
    for given, default, least, most in zip((width, height), (80, 24), MIN_SIZE, MAX_SIZE, strict=True):
        try:
            number = int(cast("str", given))
        except (TypeError, ValueError, OverflowError):
            number = default
        size.append(min(max(number, least), most))
    return size[0], size[1]
