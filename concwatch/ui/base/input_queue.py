"""A queue of keys and pastes, so that fast input reaches the screen that it was meant for."""

from collections import deque
from collections.abc import Iterator

from textual.app import App
from textual.dom import DOMNode
from textual.events import Event, Key, Paste
from textual.widget import Widget


def is_interrupt(event: Key | Paste) -> bool:
    """Return whether it is ctrl+c, which bypasses the queue."""
    return isinstance(event, Key) and event.key == "ctrl+c"


class InputQueue(App[None]):
    """An app that handles one key or paste at a time.

    Textual delivers a key to the widget that has the focus at that moment, and runs the key's binding after
    the event has bubbled up. If several keys arrive at once, as from a script, those after one that opens a
    dialog would go to the screen below it, and those after one that closes a dialog would go to its field.
    Here the next key is delivered after all messages caused by the last one have been handled.
    """

    def __init__(self) -> None:
        super().__init__()
        self._queue: deque[Key | Paste] = deque()
        self._busy = False

    async def on_event(self, event: Event) -> None:
        """Queue keys and pastes; handle other events at once."""
        if isinstance(event, Key | Paste) and not self.screen_stack:
            return  # the app is exiting
        if not isinstance(event, Key | Paste) or event.is_forwarded or is_interrupt(event):
            await super().on_event(event)
            return
        self._queue.append(event)
        if not self._busy:
            await self._deliver()

    async def _deliver(self) -> None:
        """Deliver the oldest event, followed by a callback along the same path."""
        self._busy = bool(self._queue and self.screen_stack)
        if self._busy:
            target = self._target
            await super().on_event(self._queue.popleft())
            self._follow(iter(target.ancestors_with_self), None)

    def _follow(self, path: Iterator[DOMNode], target: Widget | None) -> None:
        """Schedule a callback on each node that a key bubbles through in turn, then on the app."""
        for node in path:
            if node.call_later(self._follow, path, target):  # false if the node has been removed
                return
        self.call_later(self._settle, target)

    async def _settle(self, target: Widget | None) -> None:
        """Deliver the next event if the focus is still on ``target``; else follow the path of the new focus.

        The first callback arrives right after the key and has no ``target``. The key's action may have posted
        more messages or moved the focus; then another callback follows those.
        """
        if not self.screen_stack or self._target is target:
            await self._deliver()
        else:
            self._follow(iter(self._target.ancestors_with_self), self._target)

    @property
    def _target(self) -> Widget:
        return self.focused or self.screen
