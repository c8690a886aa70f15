"""Screens that are left: each once, however fast the keys come."""

from typing import TypeVar

from textual.app import App
from textual.await_complete import AwaitComplete

from concwatch.ui.screens.sized import Sized

Answer = TypeVar("Answer")


def is_ending(app: App[object]) -> bool:
    """Return whether the program ends: a screen that has just come may then lack some of its parts."""
    return app.return_code is not None


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
