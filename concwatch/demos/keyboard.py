"""Keys by name, as events of a keyboard."""

import string
import unicodedata
from collections.abc import Iterable, Sequence

from textual.events import Key
from textual.keys import KEY_NAME_REPLACEMENTS, Keys, key_to_character

from concwatch.worker.workloads import nearest

MODIFIERS = ("ctrl", "shift", "alt", "meta", "super", "hyper")

ALIASES = {
    "esc": "escape",
    "return": "enter",
    "⏎": "enter",
    "pgup": "pageup",
    "pgdn": "pagedown",
    "←": "left",
    "→": "right",
    "↑": "up",
    "↓": "down",
    "−": "-",
}
"""What people and the program's own help call keys besides."""

NAMES = tuple(
    str(key.value) for key in Keys if not set("<+-") & set(key.value) and str(key.value) not in ALIASES
)
"""What keys are called that write nothing."""


def _spell(character: str) -> str:
    """Give the name under which a terminal's letter or sign arrives."""
    if character.isalnum():
        return character
    name = unicodedata.name(character, character).lower().replace("-", "_").replace(" ", "_")
    return KEY_NAME_REPLACEMENTS.get(name, name)


SIGNS = {_spell(sign): sign for sign in string.punctuation}
"""The signs of a keyboard by the names under which they arrive, which can be written as well."""


def key_event(key: str) -> Key:
    """Give the event of one key: a letter, or a name such as ``enter`` or ``ctrl+p``."""
    modifiers, plain = _split(key)
    if not modifiers and len(plain) == 1:
        return letter_event(plain)
    name = _spell(plain) if len(plain) == 1 else plain
    return Key(modifiers + name, None if modifiers else key_to_character(name))


def letter_event(letter: str) -> Key:
    """Give the event of a letter or sign that is typed."""
    return Key(_spell(letter), letter)


def keys_problem(keys: Sequence[str]) -> Iterable[str]:
    """Say what there is no key for."""
    if not keys:
        yield "expected a key at least"
    for key in keys:
        modifiers, plain = _split(key)
        written = len(plain) == 1 and plain.isprintable()
        if written and modifiers and (plain != plain.lower() or modifiers == "shift+"):
            # A terminal sends the letter that shift writes, and ctrl+p whichever case is meant.
            sent = plain.upper() if modifiers == "shift+" else modifiers + plain.lower()
            yield f'unknown key "{key[:40]}": expected what a terminal sends; did you mean "{sent}"?'
        elif not written and plain not in NAMES:
            yield (
                f'unknown key "{key[:40]}": expected a letter, or a name such as enter, space, left or ctrl+p'
                f"{_meant(plain[:40])}"
            )


def _meant(name: str) -> str:
    """Guess which key was meant: a sign by the name that Unicode has for it, or the nearest name."""
    sign = key_to_character(name)
    if len(name) > 1 and sign in SIGNS.values():
        return f'; did you mean "{sign}"?'
    return nearest(name, (*NAMES, *ALIASES, *SIGNS))


def _split(key: str) -> tuple[str, str]:
    """Give the modifiers of a key, such as ``ctrl+`` or nothing, and the key by its one name."""
    first, plus, rest = key.partition("+")
    if plus and rest and first in MODIFIERS:
        modifiers, plain = _split(rest)
        return f"{first}+{modifiers}", plain
    return "", SIGNS.get(key) or ALIASES.get(key, key)
