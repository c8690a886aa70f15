"""Keys that come faster than screens change: typed, pasted or sent by a script in one piece."""

from weakref import WeakKeyDictionary

from textual.app import App
from textual.events import Event, Key
from textual.widget import Widget


class LateKeys(App[None]):
    """Has a key that nobody took go on to what has the focus by then.

    Textual sends a key to what has the focus when it comes, and looks up what it does when it has returned
    from there: the keys right behind one that opens a dialog are sent to the screen below, and would be lost.
    """

    def __init__(self) -> None:
        super().__init__()
        self._sent: WeakKeyDictionary[Key, Widget] = WeakKeyDictionary()

    async def on_event(self, event: Event) -> None:
        """Keep to what each key is sent."""
        if isinstance(event, Key):
            if not self.screen_stack:
                return  # the program ends, and nothing is left that a key could be for
            if not event.is_forwarded:
                self._sent[event] = self._aim
        await super().on_event(event)

    def on_key(self, event: Key) -> None:
        """Send a key that has come back once more, where it would now be sent elsewhere."""
        if self._sent.pop(event, self._aim) is not self._aim:
            event.prevent_default()  # what it does here was not asked for there
            self.post_message(Key(event.key, event.character))

    @property
    def _aim(self) -> Widget:
        return self.focused or self.screen
