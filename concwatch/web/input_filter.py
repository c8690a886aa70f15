"""What is typed in a page, without what no browser types and no program should be handed."""

import re

SEQUENCE = 32
"""Letters of the longest key or report that the screen takes for one."""

RESIZED = re.compile(r"\x1b\[48(?:;[^\x1b;]{0,32}){4,}t")
"""A terminal's own report of its size: that of a page is told by another way, which has bounds."""

KEY = re.compile(r"\x1b\[([\d:;]{0,32})[u~A-HPQRS]")
"""A key, or a place, as numbers."""


def is_letter(number: str) -> bool:
    """Whether a number is empty or that of a letter in Unicode, of which keys are made."""
    return not number or int(number) < 0xD800 or 0xDFFF < int(number) <= 0x10FFFF


def is_sound(text: str) -> bool:
    """Whether ``text`` resizes nothing, and names no letter that there is not."""
    keys = KEY.findall(text)
    return not RESIZED.search(text) and all(is_letter(n) for key in keys for n in re.split("[:;]", key))


class InputFilter:
    """What one page types. It may come in pieces, so the end of the last ones is kept."""

    def __init__(self) -> None:
        self._end = ""

    def take(self, text: str) -> str:
        """Return ``text``, or nothing if together with what came before it is unsound."""
        whole = self._end + text
        if not is_sound(whole):
            return ""
        self._end = whole[-SEQUENCE:]
        return text
