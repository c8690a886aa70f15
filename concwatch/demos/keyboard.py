"""Keys by name, as events of a keyboard."""

import re
import string
import unicodedata

from textual.events import Key
from textual.keys import KEY_NAME_REPLACEMENTS, Keys, key_to_character

from concwatch.text import nearest

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

_KEY = re.compile(r"((?:(?:ctrl|shift|alt|meta|super|hyper)\+)*)(.+)", re.DOTALL)


def _spell(character: str) -> str:
    """Return the name under which Textual reports a letter or sign."""
    if character.isalnum():
        return character
    name = unicodedata.name(character, character).lower().replace("-", "_").replace(" ", "_")
    return KEY_NAME_REPLACEMENTS.get(name, name)


SIGNS = {_spell(sign): sign for sign in string.punctuation}
"""The signs of a keyboard by the names under which Textual reports them."""


def key_event(key: str) -> Key:
    """Return the event of one key: a letter or sign, or a name such as ``enter`` or ``ctrl+p``.

    Raises:
        ValueError: no terminal sends such a key.
    """
    found = _KEY.fullmatch(key)
    modifiers, plain = found.groups() if found else ("", key)
    plain = SIGNS.get(plain) or ALIASES.get(plain, plain)
    written = len(plain) == 1 and plain.isprintable()
    if written and modifiers and (plain != plain.lower() or modifiers == "shift+"):
        # A terminal sends the letter that shift writes, and ctrl+p whichever case is meant.
        sent = plain.upper() if modifiers == "shift+" else modifiers + plain.lower()
        raise ValueError(f'unknown key "{key[:40]}": expected what a terminal sends; did you mean "{sent}"?')
    if not written and plain not in NAMES:
        meant = nearest(plain[:40], (*NAMES, *ALIASES, *SIGNS))
        raise ValueError(
            f'unknown key "{key[:40]}": expected a letter, or a name such as enter, left or ctrl+p{meant}'
        )
    if written and not modifiers:
        return letter_event(plain)
    name = _spell(plain) if written else plain
    return Key(modifiers + name, None if modifiers else key_to_character(name))


def letter_event(letter: str) -> Key:
    """Return the event of a letter or sign that is typed."""
    return Key(_spell(letter), letter)
