"""Terminal recordings for asciinema: asciicast, version 2."""

import heapq
import json
from collections.abc import Iterable
from operator import itemgetter

from msgspec import Struct

VERSION = 2
"""Version of the format: https://docs.asciinema.org/manual/asciicast/v2/"""

TERM = "xterm-256color"
"""The terminal type that Textual's output is for."""


class Cast(Struct, frozen=True):
    """The header of a recording."""

    width: int
    """Columns."""
    height: int
    """Rows."""
    title: str = ""
    timestamp: int = 0
    """Start in seconds since 1970; 0 to omit it."""

    def text(
        self, output: Iterable[tuple[float, str]], sizes: Iterable[tuple[float, tuple[int, int]]] = ()
    ) -> str:
        """Return the whole file.

        Args:
            output: (seconds from the beginning, text written to the terminal), ascending.
            sizes: (seconds from the beginning, (columns, rows)) for each resize, ascending.
        """
        header: dict[str, object] = {"version": VERSION, "width": self.width, "height": self.height}
        if self.timestamp:
            header["timestamp"] = self.timestamp
        if self.title:
            header["title"] = self.title
        header["env"] = {"TERM": TERM}
        written = ((round(seconds, 6), "o", data) for seconds, data in output)
        resized = ((round(seconds, 6), "r", f"{width}x{height}") for seconds, (width, height) in sizes)
        # At the same time, a resize precedes the output, which is for the new size.
        events = heapq.merge(resized, written, key=itemgetter(0))
        return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in (header, *events))
