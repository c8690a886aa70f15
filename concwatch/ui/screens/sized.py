"""Screens that are as large as the terminal is now."""

from collections.abc import Sequence
from typing import ClassVar, TypeVar

from textual.events import Resize
from textual.screen import Screen

from concwatch.ui.keys import Row

Answer = TypeVar("Answer")


class Sized(Screen[Answer]):
    """A screen that is laid out at the terminal's present size, and at no other.

    Each layout tells the screen its size once more, and a dialog before it has it laid out as well. While a
    terminal's size changes, two sizes can be told in turn for ever, in which no key and no signal is heard.
    """

    KEYS: ClassVar[Sequence[Row]] = ()
    """Its keys, for the bar, the help and the palette."""

    def on_resize(self, event: Resize, /) -> None:
        """Leave out a size that the terminal has no more; the present one is told too."""
        if event.size != self.app.size:
            event.prevent_default()
