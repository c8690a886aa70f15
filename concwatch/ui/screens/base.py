"""What all screens have: the terminal's present size, and an end that comes once."""

from collections.abc import Sequence
from typing import ClassVar, TypeVar

from textual.app import App
from textual.await_complete import AwaitComplete
from textual.command import CommandPalette
from textual.events import Click, Resize
from textual.geometry import Size
from textual.screen import Screen

from concwatch.ui.keys import Row

Answer = TypeVar("Answer")


def is_ending(app: App[object]) -> bool:
    """Return whether the program ends: a screen that has just come may then lack some of its parts."""
    return app.return_code is not None


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


class StyledOnce(Sized[Answer]):
    """A screen whose widgets are styled once before its first frame.

    Textual finds the classes of a screen's size at the first resize only, and then styles every widget again.
    """

    def __init__(self, size: Size) -> None:
        """Have the classes of a terminal of this size, in cells, from the start."""
        width = _last_reached(self.HORIZONTAL_BREAKPOINTS, size.width)
        super().__init__(classes=f"{width} {_last_reached(self.VERTICAL_BREAKPOINTS, size.height)}")
        self._laid_out = False

    def update_node_styles(self, animate: bool = True) -> None:
        """Style every widget anew, but for the first frame, for which all have just been styled."""
        if self._laid_out:
            super().update_node_styles(animate)

    def on_resize(self, _: Resize, /) -> None:
        """Style widgets anew from now on."""
        self._laid_out = True


def _last_reached(breakpoints: Sequence[tuple[int, str]] | None, cells: int) -> str:
    """Return the class of the last of ``breakpoints`` that ``cells`` reach."""
    return [name for least, name in breakpoints or () if cells >= least][-1]


class Leaving(Sized[Answer]):
    """A screen that goes when it is answered.

    A second key that answers can come in the same moment, before the screen is gone; Textual would take the
    screen below off as well.
    """

    _left = False

    def dismiss(self, result: Answer | None = None) -> AwaitComplete:
        """Go, with an answer; what comes behind that is no answer any more."""
        if self._left:
            return AwaitComplete()
        self._left = True
        return super().dismiss(result)

    def on_screen_resume(self) -> None:
        """Be there, perhaps not for the first time."""
        self._left = False


class Commands(CommandPalette):
    """Textual's list of commands, in a terminal that may shrink while the mouse is on its way."""

    def on_click(self, event: Click) -> None:
        """Leave a click alone where nothing is any more; Textual would look what is there, and crash."""
        if not self.region.contains_point(event.screen_offset):
            event.prevent_default()
