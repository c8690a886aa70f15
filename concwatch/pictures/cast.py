"""Recordings of a terminal that asciinema plays: asciicast, version 2."""

import heapq
import json
from collections.abc import Iterable
from operator import itemgetter

from msgspec import Struct

VERSION = 2
"""Of the format: https://docs.asciinema.org/manual/asciicast/v2/"""

TERM = "xterm-256color"
"""The kind of terminal that what Textual writes is meant for."""


class Cast(Struct, frozen=True):
    """What a recording says of itself before it begins."""

    width: int
    """Columns."""
    height: int
    """Rows."""
    title: str = ""
    timestamp: int = 0
    """When it began, seconds since 1970; 0 leaves it out."""

    def text(
        self, output: Iterable[tuple[float, str]], sizes: Iterable[tuple[float, tuple[int, int]]] = ()
    ) -> str:
        """Return the whole file.

        Args:
            output: what was written to the terminal, and when: seconds from the beginning, ascending.
            sizes: columns and rows that the terminal took later, and when: as above.
        """
        header: dict[str, object] = {"version": VERSION, "width": self.width, "height": self.height}
        if self.timestamp:
            header["timestamp"] = self.timestamp
        if self.title:
            header["title"] = self.title
        header["env"] = {"TERM": TERM}
        written = ((round(seconds, 6), "o", data) for seconds, data in output)
        resized = ((round(seconds, 6), "r", f"{width}x{height}") for seconds, (width, height) in sizes)
        # Of one moment the size comes first, since what is written then is meant for it.
        events = heapq.merge(resized, written, key=itemgetter(0))
        return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in (header, *events))
