"""A demo as its file says: what it is about, on what terminal it plays, and its steps."""

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from concwatch.demos.step import Step

SIZE = "120x40"
"""Columns and rows of the terminal unless the file says otherwise."""

LEAST, MOST = (60, 20), (400, 150)
"""Columns and rows that a terminal of a demo can have."""


class Head(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The keys of the file."""

    name: str
    """Small letters, digits and hyphens; pictures are called after it."""
    title: str
    about: str
    """What one sees, in a sentence."""
    size: str = SIZE
    """Columns and rows of the terminal."""
    theme: str = ""
    """The colours at first.  [the program's own]"""
    engines: tuple[str, ...] = ()
    """The lanes.  [those that have one without being asked for]"""
    film: bool = False
    """Whether the gallery has it as a film besides its pictures."""
    step: tuple[dict[str, Any], ...] = ()


class Demo(msgspec.Struct, frozen=True):
    """A demo that can be played."""

    name: str
    title: str
    about: str
    size: tuple[int, int]
    theme: str
    engines: Sequence[str]
    film: bool
    steps: tuple[Step, ...]

    @property
    def captioned(self) -> bool:
        """Whether it says anything."""
        return any(step.caption_said for step in self.steps)


def parse_size(text: str) -> tuple[int, int]:
    """Read the size of a terminal: ``120x40``.

    Raises:
        ValueError: naming ``text`` and what was expected.
    """
    found = re.fullmatch(r"(\d{1,4})x(\d{1,4})", text.strip(), re.ASCII)
    if found:
        size = int(found[1]), int(found[2])
        if all(least <= cells <= most for least, cells, most in zip(LEAST, size, MOST, strict=True)):
            return size
    least, most = (f"{columns}x{rows}" for columns, rows in (LEAST, MOST))
    raise ValueError(
        f'"{text[:40]}" is not a size: expected columns and rows such as "120x40", from {least} to {most}'
    )
