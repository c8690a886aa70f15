"""Trace allocations with ``tracemalloc``, and find the lines that hold memory. Imported on demand."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Tuple

MAX_LINES = 20
"""The most lines that are reported."""


class TracedLineReader:
    """The source lines that hold traced memory, compared with the previous reading."""

    def __init__(self) -> None:
        self._sizes: Dict[Tuple[str, int], int] = {}

    def reset(self) -> None:
        """Forget the previous reading."""
        self._sizes = {}

    def read(self) -> List[Dict[str, Any]]:
        """Return the lines that have grown most since the previous reading.

        Each has ``file``, ``line``, ``bytes`` and ``grown`` (bytes; may be negative), and ``blocks``.

        Raises:
            ValueError: nothing is traced.
        """
        tracemalloc = sys.modules.get("tracemalloc")
        if tracemalloc is None or not tracemalloc.is_tracing():
            raise ValueError("nothing is traced: send trace first")
        lines = []
        sizes = {}
        for one in tracemalloc.take_snapshot().statistics("lineno"):
            frame = one.traceback[0]
            key = (frame.filename, frame.lineno)
            sizes[key] = one.size
            grown = one.size - self._sizes.get(key, 0)
            lines.append((grown, one.size, one.count, key))
        self._sizes = sizes
        lines.sort(reverse=True)
        return [
            {"file": file[-200:], "line": line, "bytes": size, "grown": grown, "blocks": count}
            for grown, size, count, (file, line) in lines[:MAX_LINES]
        ]


class Tracing:
    """``tracemalloc`` in a watched process, switched on and off on request."""

    def __init__(self) -> None:
        self._started = False
        self._lines = TracedLineReader()

    def set(self, on: bool) -> None:
        """Start or stop tracing. Tracing that the program has started is not stopped."""
        if on == self._started:  # nothing is imported at exit: up to Python 3.12 that loses a Ctrl-C's status
            return
        import tracemalloc  # it imports pickle and linecache

        if on and not tracemalloc.is_tracing():
            tracemalloc.start()
            self._started = True
        elif not on:
            tracemalloc.stop()
            self._started = False
            self._lines.reset()

    def lines(self) -> List[Dict[str, Any]]:
        """Return what `TracedLineReader.read` does, with printable names."""
        from ..basics.names import printable  # not needed by a worker, which uses only `TracedLineReader`

        return [dict(line, file=printable(line["file"])) for line in self._lines.read()]
