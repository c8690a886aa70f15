"""Keys that come faster than screens change: typed, pasted or sent by a script in one piece."""

from collections import deque
from collections.abc import Iterator

from textual.app import App
from textual.dom import DOMNode
from textual.events import Event, Key, Paste
from textual.widget import Widget


def is_way_out(event: Key | Paste) -> bool:
    """Tell whether it is the key that waits for nothing."""
    return isinstance(event, Key) and event.key == "ctrl+c"


class InputQueue(App[None]):
    """Sends each key, and each paste, when all that the one before it has set off is over.

    Textual sends them to what has the focus when they come, and looks up what a key does when it has returned
    from there: the keys right behind one that opens a dialog would go to the screen below, and those right
    behind the one that closes it would go into its field.
    """

    def __init__(self) -> None:
        super().__init__()
        self._typed: deque[Key | Paste] = deque()
        self._under_way = False

    async def on_event(self, event: Event) -> None:
        """Put what is typed at the end of what waits."""
        if isinstance(event, Key | Paste) and not self.screen_stack:
            return  # the program ends, and nothing is left that it could be for
        if not isinstance(event, Key | Paste) or event.is_forwarded or is_way_out(event):
            await super().on_event(event)
            return
        self._typed.append(event)
        if not self._under_way:
            await self._send_typed()

    async def _send_typed(self) -> None:
        """Send what has waited longest, and have a callback go behind it."""
        self._under_way = bool(self._typed and self.screen_stack)
        if self._under_way:
            aim = self._aim
            await super().on_event(self._typed.popleft())
            self._go_up(self._way_from(aim), None)

    def _go_up(self, way: Iterator[DOMNode], aim: Widget | None) -> None:
        """Come to each node of a way when it has handled all that it was sent before, and in the end here."""
        for node in way:
            if node.call_later(self._go_up, way, aim):  # else it is gone
                return
        self.call_later(self._arrive, aim)

    async def _arrive(self, aim: Widget | None) -> None:
        """Send the next one, or have a callback go up once more.

        The first, with no ``aim``, arrives right behind the key, and what the key does may send more up the
        same way. The next is for that, and another where the focus is no more at the ``aim`` that it had.
        """
        if not self.screen_stack or self._aim is aim:
            await self._send_typed()
        else:
            self._go_up(self._way_from(self._aim), self._aim)

    @staticmethod
    def _way_from(aim: Widget) -> Iterator[DOMNode]:
        """Give the way up that a key takes which nobody wants."""
        return iter(aim.ancestors_with_self)

    @property
    def _aim(self) -> Widget:
        return self.focused or self.screen
