"""Keyboard events from key names."""

import re
import string
import unicodedata

from textual.events import Key
from textual.keys import KEY_NAME_REPLACEMENTS, Keys, key_to_character

from concwatch.portable.protocol.text import suggest

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
"""Other common names of keys, also from concwatch's help → Textual's names."""

NAMES = tuple(
    str(key.value) for key in Keys if not set("<+-") & set(key.value) and str(key.value) not in ALIASES
)
"""Names of keys that do not type a character."""

_KEY = re.compile(r"((?:(?:ctrl|shift|alt|meta|super|hyper)\+)*)(.+)", re.DOTALL)


def _name_of(character: str) -> str:
    """Return Textual's name of a character's key."""
    if character.isalnum():
        return character
    name = unicodedata.name(character, character).lower().replace("-", "_").replace(" ", "_")
    return KEY_NAME_REPLACEMENTS.get(name, name)


SIGNS = {_name_of(sign): sign for sign in string.punctuation}
"""Textual's name → punctuation character."""


def key_event(key: str) -> Key:
    """Return the event of a key: a character, or a name such as ``enter`` or ``ctrl+p``.

    Raises:
        ValueError: the key is unknown, or terminals do not send it.
    """
    found = _KEY.fullmatch(key)
    modifiers, plain = found.groups() if found else ("", key)
    plain = SIGNS.get(plain) or ALIASES.get(plain, plain)
    printable = len(plain) == 1 and plain.isprintable()
    if printable and modifiers and (plain != plain.lower() or modifiers == "shift+"):
        # Terminals send the upper-case letter for shift, and ctrl+p for either case.
        sent = plain.upper() if modifiers == "shift+" else modifiers + plain.lower()
        raise ValueError(
            f'unknown key "{key[:40]}"; expected a key that a terminal can send; did you mean "{sent}"?'
        )
    if not printable and plain not in NAMES:
        meant = suggest(plain[:40], (*NAMES, *ALIASES, *SIGNS))
        raise ValueError(
            f'unknown key "{key[:40]}"; expected a letter, or a name such as enter, left or ctrl+p{meant}'
        )
    if printable and not modifiers:
        return character_event(plain)
    name = _name_of(plain) if printable else plain
    return Key(modifiers + name, None if modifiers else key_to_character(name))


def character_event(character: str) -> Key:
    """Return the event of typing a character."""
    return Key(_name_of(character), character)
