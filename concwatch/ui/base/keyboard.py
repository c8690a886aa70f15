"""The keys of a screen: rows from which its bindings, key bar, help and palette are made."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from inspect import isawaitable
from itertools import groupby
from operator import itemgetter
from typing import Any, Generic, TypeVar

from msgspec import Struct
from textual.app import SystemCommand
from textual.binding import Binding, BindingType

from concwatch.ui.widgets.bars.key_bar import HelpKey, Key

SIGNS = {
    "left": "←", "right": "→", "up": "↑", "down": "↓", "enter": "⏎", "escape": "esc", "pageup": "page up",
    "pagedown": "down", "plus": "+", "minus": "−", "comma": ",", "full_stop": ".", "slash": "/",
    "question_mark": "?", "less_than_sign": "<", "greater_than_sign": ">", "left_square_bracket": "[",
    "right_square_bracket": "]",
}  # fmt: skip
"""How keys are written, where that differs from Textual's name."""

On = TypeVar("On", contravariant=True)
"""What the keys of a screen act on."""


SAME = "″"
"""The help of a row that shares a line of the help with the row before."""


class Row(Struct, Generic[On], frozen=True):
    """A key, what it does, and how the bar, the help and the palette describe it."""

    keys: str
    """Textual's names of the key, separated by commas; empty if there is none or another widget binds it."""
    run: Callable[[On], object] | None = None
    """Does it; what it returns is awaited if it can be. None if another widget does it."""
    help: str = ""
    """Its description in the help and the palette; empty to omit it from both.

    Consecutive rows with the same help share one line of it.
    """
    bar: str = ""
    """A word for the bar; empty to omit it there."""
    rank: int = 0
    """Its position in the bar, which shows as many keys as fit, lowest rank first."""
    title: str = ""
    """Its name in the palette; empty to omit it there."""
    sign: str = ""
    """How the key is written, if not as in `SIGNS`."""
    always: bool = False
    """Whether the bar shows it even when there is little room."""
    about: str = ""
    """Its description in the palette, if it is not in the help."""
    bar_sign: str = ""
    """How the key is written in the bar, if not as elsewhere."""

    @property
    def names(self) -> Sequence[str]:
        """Textual's names of its keys, or its title if it has none."""
        return self.keys.split(",") if self.keys else [self.title]

    @property
    def shown(self) -> str:
        """How the first of its keys is written."""
        first = self.keys.partition(",")[0]
        return self.sign or SIGNS.get(first, first)


class Keyboard(Generic[On]):
    """The keys of one screen, bound to what they act on."""

    def __init__(self, rows: Sequence[Row[On]], on: On) -> None:
        self.rows, self.on = rows, on
        self._by_key = {name: row for row in rows for name in row.names if row.run is not None}

    def __contains__(self, key: object) -> bool:
        return key in self._by_key

    async def press(self, key: str) -> None:
        """Do what a key does, given one of the `Row.names` of its row."""
        run = self._by_key[key].run
        assert run is not None
        await finish(run(self.on))


async def finish(result: object) -> None:
    """Wait for what a function has returned, if it is awaitable."""
    if isawaitable(result):
        await result


def bindings(rows: Iterable[Row[Any]]) -> list[BindingType]:
    """Return the bindings for the keys of ``rows``; each runs the action ``press`` with its name."""
    names = dict.fromkeys(key for row in rows if row.keys for key in row.names)
    return [Binding(key, f"press({key!r})", show=False) for key in names]


def bar(rows: Iterable[Row[Any]], words: Mapping[str, str] | None = None) -> list[Key]:
    """Return the keys in the bar at the bottom, by rank.

    ``words`` has other words for some keys, by name; an empty one omits the key. Of rows with the same name,
    the first by rank is shown.
    """
    words = words or {}
    shown = sorted((row for row in rows if row.bar or row.names[0] in words), key=lambda row: row.rank)
    first = {row.names[0]: row for row in reversed(shown)}
    named = ((row, words.get(row.names[0], row.bar)) for row in shown if first[row.names[0]] is row)
    return [
        Key(row.bar_sign or row.shown, word, row.names[0] if row.run else "", row.always)
        for row, word in named
        if word
    ]


def _described(rows: Iterable[Row[Any]]) -> Iterator[tuple[Row[Any], str]]:
    """Yield each row with its help."""
    text = ""
    for row in rows:
        text = text if row.help == SAME else row.help
        yield row, text


def help_lines(rows: Iterable[Row[Any]]) -> list[tuple[list[HelpKey], str]]:
    """Return the lines of the help: keys, and what they do."""
    described = ((row, text) for row, text in _described(rows) if text)
    return [
        ([HelpKey(row.shown, row.names[0] if row.run else "") for row, _ in same], text)
        for text, same in groupby(described, key=itemgetter(1))
    ]


def palette(rows: Iterable[Row[Any]], press: Callable[[str], object]) -> Iterable[SystemCommand]:
    """Yield the commands that the palette offers on a screen, whose keys ``press`` presses."""
    for row, text in _described(rows):
        if row.title:
            yield SystemCommand(
                row.title, f"{row.shown}  {text or row.about}".strip(), partial(press, row.names[0])
            )
