"""The symbols that lines are drawn with: characters of two by four, or two by two, dots."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, lru_cache

AUTO = "auto"
"""The choice of the best symbols that the terminal is known to draw."""


class Symbols:
    """A set of characters, one for each combination of the dots of a cell."""

    def __init__(self, name: str, rows: int, by_row: Callable[[], Iterable[str]]) -> None:
        """Create a set.

        Args:
            name: its name.
            rows: rows of dots in a cell; there are two columns.
            by_row: returns the characters in the order of Unicode's names.
        """
        self.name, self.rows = name, rows
        self._in_unicode_order = by_row

    @cached_property
    def characters(self) -> str:
        """Indexed by the dots of the left column, and from bit `rows` on of the right; lowest dot first."""
        characters = list(self._in_unicode_order())
        return "".join(characters[_by_row(self.rows, dots)] for dots in range(4**self.rows))


def _by_row(rows: int, dots: int) -> int:
    """Return ``dots`` in the order of Unicode's names: row by row from the top, left before right."""
    found = 0
    for row in range(rows):
        low = rows - 1 - row
        found |= (dots >> low & 1) << 2 * row | (dots >> rows + low & 1) << 2 * row + 1
    return found


_OLDER_OCTANTS = dict(
    zip(
        (0, 1, 2, 3, 5, 10, 15, 20, 40, 63, 64, 80, 85, 90, 95, 128, 160, 165, 170, 175, 192, 240, 245, 250,
         252, 255),
        " \U0001cea8\U0001ceab\U0001fb82▘▝▀\U0001fbe6\U0001fbe7\U0001fb85\U0001cea3▖▌▞▛\U0001cea0▗▚▐▜▂▄▙▟▆█",
        strict=True,
    )
)  # fmt: skip
"""Combinations that had a character before Unicode 16; the others follow each other from U+1CD00 on."""


def _octants() -> Iterator[str]:
    newer = iter(range(0x1CD00, 0x1CDE6))
    return (_OLDER_OCTANTS.get(dots) or chr(next(newer)) for dots in range(256))


_BRAILLE_BITS = (0, 3, 1, 4, 2, 5, 6, 7)
"""The bit of a braille character for each dot, row by row from the top."""


def _braille() -> Iterator[str]:
    for dots in range(256):
        yield chr(0x2800 + sum(1 << bit for at, bit in enumerate(_BRAILLE_BITS) if dots >> at & 1))


OCTANTS = Symbols("octants", 4, _octants)
"""Solid, of Unicode 16: the finest, and drawn by few terminals and fonts."""

BRAILLE = Symbols("braille", 4, _braille)
"""As fine, with gaps between the dots."""

BLOCKS = Symbols("blocks", 2, lambda: " ▘▝▀▖▌▞▛▗▚▐▜▄▙▟█")
"""Solid and coarse, drawn by every terminal."""

SYMBOLS = {each.name: each for each in (OCTANTS, BRAILLE, BLOCKS)}

CHOICES = (AUTO, *SYMBOLS)
"""The names of all choices."""

_DRAWS_OCTANTS = {"kitty": (0, 40), "ghostty": (1, 2), "foot": (1, 20), "vte": (7800,)}
"""Terminals that draw octants themselves, whatever their font has, each with the first version that does.

VTE's 7800 is 0.78."""

ASKED = ("xterm-kitty", "xterm-ghostty", "foot")
"""The first part of TERM in such terminals, whose version only they themselves can say."""

_WITHOUT_BRAILLE = ("linux", "cygwin", "ansi")
"""Values of TERM for consoles whose fonts have no braille."""


def best_symbols(answer: str, environment: Mapping[str, str]) -> Symbols:
    """Return the best symbols that a terminal is known to draw.

    Looked at beside btop 1.2 and bottom 0.15 in tmux 3.3 at 80×24, 120×40 and 200×60: lines of braille are as
    thin as theirs; those of blocks are twice as thick, so that close lines merge; and tmux, which does not
    know how wide octants are, shifts all that follows one.

    Args:
        answer: what it says it is (XTVERSION), such as ``kitty(0.40.1)`` or ``ghostty 1.2.0``; may be empty.
        environment: the environment, in which some terminals name themselves.
    """
    if environment.get("TERM", "") in _WITHOUT_BRAILLE:
        return BLOCKS
    named = f"{environment.get('TERM_PROGRAM', '')} {environment.get('TERM_PROGRAM_VERSION', '')}"
    if named == " " and "VTE_VERSION" in environment:
        named = f"vte {environment['VTE_VERSION']}"
    found = re.match(r"([a-z]+)[ (]*([\d.]+)", (answer or named).lower())
    least = _DRAWS_OCTANTS.get(found[1]) if found else None
    if found is None or least is None:
        return BRAILLE
    return OCTANTS if tuple(int(part) for part in found[2].split(".") if part) >= least else BRAILLE


def chosen_symbols(choice: str, best: Symbols) -> Symbols:
    """Return the symbols of a choice, one of `CHOICES`; ``best`` for `AUTO`."""
    return SYMBOLS.get(choice, best)


@lru_cache(maxsize=1)
def octant_dots() -> Mapping[str, int]:
    """Return the dots of each octant that fonts do not have, for pictures."""
    return {character: dots for dots, character in enumerate(OCTANTS.characters) if ord(character) > 0xFFFF}
