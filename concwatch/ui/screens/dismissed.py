"""The base class of screens that are dismissed, which works around a limit of Textual's."""

from textual.await_complete import AwaitComplete

from concwatch.ui.screens.base import BaseScreen, Result


class DismissOnceScreen(BaseScreen[Result]):
    """A screen that can be dismissed only once each time it is shown.

    A second key that dismisses it can arrive before the screen is removed; Textual would then pop the screen
    below as well.
    """

    _dismissed = False

    def dismiss(self, result: Result | None = None) -> AwaitComplete:
        """Dismiss the screen with a result; do nothing if it has been dismissed already."""
        if self._dismissed:
            return AwaitComplete()
        self._dismissed = True
        return super().dismiss(result)

    def on_screen_resume(self) -> None:
        """Allow the screen to be dismissed."""
        self._dismissed = False
