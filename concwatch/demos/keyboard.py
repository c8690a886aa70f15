"""Keys by name, as events of a keyboard."""

import unicodedata
from collections.abc import Iterable, Sequence

from textual.events import Key
from textual.keys import KEY_NAME_REPLACEMENTS, Keys, key_to_character

from concwatch.worker.workloads import nearest

MODIFIERS = ("ctrl", "shift", "alt", "meta", "super", "hyper")

NAMES = tuple(str(key.value) for key in Keys if "<" not in key.value and "+" not in key.value)
"""What keys are called that write nothing."""


def key_event(key: str) -> Key:
    """Give the event of one key: a letter, or a name such as ``enter`` or ``ctrl+p``."""
    if len(key) > 1 or key.isalnum():
        return Key(key, key_to_character(key))
    name = unicodedata.name(key, key).lower().replace("-", "_").replace(" ", "_")
    return Key(KEY_NAME_REPLACEMENTS.get(name, name), key)


def keys_problem(keys: Sequence[str]) -> Iterable[str]:
    """Say what there is no key for."""
    if not keys:
        yield "expected a key at least"
    for key in keys:
        plain = _without_modifiers(key)
        if plain not in NAMES and key_to_character(plain) is None:
            yield (
                f'unknown key "{key[:40]}": expected a letter, or a name such as enter, space, left or ctrl+p'
                f"{nearest(plain[:40], NAMES)}"
            )


def _without_modifiers(key: str) -> str:
    first, plus, rest = key.partition("+")
    return _without_modifiers(rest) if plus and rest and first in MODIFIERS else key
