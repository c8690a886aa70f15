"""What charts are written on: how wide it is, and whether it takes colours."""

import os
from typing import TextIO

from msgspec import Struct
from rich.color import Color, ColorSystem
from rich.console import COLOR_SYSTEMS, Console

USUAL_WIDTH = 80
"""Columns where there is no terminal that says how many it has."""

SMALLEST_WIDTH, LARGEST_WIDTH = 30, 120
"""Columns that charts have at least, and at most."""

LIGHT = ("7", "15")
"""What terminals that tell their colours call a light background."""

Ink = int | tuple[int, int, int]
"""A colour: its number in the terminal's palette, or red, green and blue from 0 to 255."""


class Paper(Struct, frozen=True):
    """A terminal, or what has none of its abilities, such as a file."""

    width: int = USUAL_WIDTH
    """Columns that lines may take."""
    system: ColorSystem | None = None
    """The colours that it has; None for none."""
    dark: bool = True
    """Whether its background is."""

    @classmethod
    def of(cls, stream: TextIO) -> "Paper":
        """Return what ``stream`` can take: only terminals have colours, and not all of them."""
        if not stream.isatty():
            return cls()
        console = Console(file=stream)
        named = console.color_system
        bare = console.no_color or console.legacy_windows
        return cls(
            min(max(_columns(stream), SMALLEST_WIDTH), LARGEST_WIDTH),
            None if bare or named is None else COLOR_SYSTEMS[named],
            os.environ.get("COLORFGBG", "").rpartition(";")[2] not in LIGHT,
        )

    def ink(self, color: str) -> Ink | None:
        """Return the nearest that it has to ``#rrggbb``, or None where it has no colours."""
        if self.system is None:
            return None
        nearest = Color.parse(color).downgrade(self.system)
        return nearest.triplet or nearest.number


def _columns(stream: TextIO) -> int:
    try:
        return os.get_terminal_size(stream.fileno()).columns or USUAL_WIDTH
    except (OSError, ValueError):  # ValueError: not a file at all
        return USUAL_WIDTH


def check_writes_charts(stream: TextIO) -> None:
    """Check that ``stream`` can take what charts are drawn with.

    Raises:
        ValueError: one line that says what to do.
    """
    try:
        "⠿┤".encode(stream.encoding or "utf-8")
    except UnicodeEncodeError:
        raise ValueError(
            f"--chart: standard output takes {stream.encoding} alone: "
            "expected UTF-8, such as with PYTHONIOENCODING=utf-8"
        ) from None
