"""Address space kept back, so that a worker without memory can still say so and obey."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

SIZE = 32 << 20 if sys.implementation.name == "cpython" else 0
"""Bytes: a list of all tasks has room in it. CPython has them zeroed by the system and never touches them,
so that they weigh nothing; where that is not known, nothing is kept back."""


class Reserve:
    """Is let go when memory runs out, and taken again before a worker grows anew."""

    def __init__(self) -> None:
        self._bytes: Optional[bytes] = bytes(SIZE)

    @property
    def kept(self) -> bool:
        """Whether it has not been let go."""
        return self._bytes is not None

    def take(self) -> None:
        """Keep it back again.

        Raises:
            MemoryError: there is no room for it.
        """
        self._bytes = bytes(SIZE)

    def let_go(self) -> None:
        """Free it for whatever needs it now."""
        self._bytes = None
