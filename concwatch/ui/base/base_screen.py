"""The base classes of all screens, which work around limits of Textual's."""

from typing import Any, TypeVar

from textual import on
from textual.app import App
from textual.await_complete import AwaitComplete
from textual.events import Resize, ScreenResume, ScreenSuspend
from textual.screen import Screen

from concwatch.ui.base.keyboard import Keyboard, finish
from concwatch.ui.widgets.bars.key_bar import KeyBar
from concwatch.ui.widgets.text.text_lines import ClickableLines

Result = TypeVar("Result")


def is_exiting(app: App[object]) -> bool:
    """Return whether the app is exiting: a screen mounted just before may then lack some of its widgets."""
    return app.return_code is not None


class BaseScreen(Screen[Result]):
    """A screen that is laid out only at the terminal's current size.

    Every layout reports the screen's size once more, and a dialog in front causes layouts too. While the
    terminal is resized, two sizes could be reported in turn forever, which would block all keys and signals.
    """

    keyboard: Keyboard[Any] | None = None
    """The screen's keys; None for a dialog, whose keys are in no bar and no palette."""

    def update_now(self) -> None:
        """Update everything on the screen now; for a picture."""

    def show_changes(self) -> None:
        """Show what a key or the mouse has changed; a screen that does not do so by itself overrides this."""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Return whether a key does something here: bindings may be those of other screens, too."""
        return action != "press" or (self.keyboard is not None and parameters[0] in self.keyboard)

    async def action_press(self, key: str) -> None:
        """Do what a key does: for its binding, and for clicks in the bar and the help."""
        if self.keyboard is not None:
            await self.keyboard.press(key)
            self.show_changes()

    @on(ClickableLines.ActionRequested)
    async def run_requested(self, event: ClickableLines.ActionRequested) -> None:
        """Run what the mouse asks for, and show what it has changed."""
        event.stop()
        await finish(event.action())
        self.show_changes()

    @on(ScreenSuspend)
    @on(ScreenResume)
    def _show_whose_keys(self, event: ScreenSuspend | ScreenResume) -> None:
        """Offer the keys of this screen only while no other one is in front."""
        for bar in self.query(KeyBar):
            bar.set_behind(isinstance(event, ScreenSuspend))

    def on_resize(self, event: Resize, /) -> None:
        """Ignore an outdated size; the current one is reported too."""
        if event.size != self.app.size:
            event.prevent_default()


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
