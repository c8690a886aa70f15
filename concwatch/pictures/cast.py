"""Recordings of a terminal that asciinema plays: asciicast, version 2."""

import json
from collections.abc import Iterable

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

    def text(self, output: Iterable[tuple[float, str]]) -> str:
        """Give the whole file.

        Args:
            output: what was written to the terminal, and when: seconds from the beginning, ascending.
        """
        header: dict[str, object] = {"version": VERSION, "width": self.width, "height": self.height}
        if self.timestamp:
            header["timestamp"] = self.timestamp
        if self.title:
            header["title"] = self.title
        header["env"] = {"TERM": TERM}
        lines: list[object] = [header, *([round(seconds, 6), "o", data] for seconds, data in output)]
        return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
