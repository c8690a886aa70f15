"""The event loops of this process, as far as they are known."""

from __future__ import annotations

from _weakref import ref

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List


class Loops:
    """Weak references to the event loops in which tasks were found."""

    def __init__(self) -> None:
        self.known: Dict[int, Any] = {}
        """By ``id``: a weak reference to each."""

    def add(self, loop: Any) -> None:
        """Add an event loop to the known ones."""
        if id(loop) not in self.known:
            try:
                self.known[id(loop)] = ref(loop)
            except TypeError:  # a custom class without weak references
                pass

    def open(self) -> List[Any]:
        """Return the known event loops that are not closed."""
        found = []
        for key, reference in list(self.known.items()):
            loop = reference()
            if loop is None or loop.is_closed():
                self.known.pop(key, None)
            else:
                found.append(loop)
        return found
