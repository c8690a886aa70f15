"""The lines of source that hold traced memory; nothing is imported before somebody asks for them."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Tuple

MOST = 20
"""Lines that are reported."""


class TracedLines:
    """Remembers how much each line held at the last look, to tell which have grown."""

    def __init__(self) -> None:
        self._before: Dict[Tuple[str, int], int] = {}

    def forget(self) -> None:
        """Take the next look as the first: growth is what is held then."""
        self._before = {}

    def look(self) -> List[Dict[str, Any]]:
        """Return the lines that have grown most since the last look.

        Each has ``file``, ``line``, ``bytes`` and ``grown`` (bytes; grown may be negative), and ``blocks``.

        Raises:
            ValueError: nothing is traced.
        """
        tracemalloc = sys.modules.get("tracemalloc")
        if tracemalloc is None or not tracemalloc.is_tracing():
            raise ValueError("nothing is traced: send trace first")
        found = []
        now = {}
        for one in tracemalloc.take_snapshot().statistics("lineno"):
            frame = one.traceback[0]
            key = (frame.filename, frame.lineno)
            now[key] = one.size
            grown = one.size - self._before.get(key, 0)
            found.append((grown, one.size, one.count, key))
        self._before = now
        found.sort(reverse=True)
        return [
            {"file": file[-200:], "line": line, "bytes": size, "grown": grown, "blocks": count}
            for grown, size, count, (file, line) in found[:MOST]
        ]
