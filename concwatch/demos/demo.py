"""A demo as its file says: what it is about, on what terminal it plays, and its steps."""

import re
from collections.abc import Collection, Sequence
from typing import Annotated, Any

import msgspec

from concwatch.demos.step import Step

SIZE = "120x40"
"""Columns and rows of the terminal unless the file says otherwise."""

LEAST, MOST = (60, 20), (400, 150)
"""Columns and rows that a terminal of a demo can have."""


def _key(meaning: str) -> msgspec.Meta:
    """Say what a key is for, where ``concwatch demo --help`` finds it."""
    return msgspec.Meta(description=meaning)


class Head(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The keys of the file."""

    name: Annotated[str, _key("small letters, digits and hyphens; its pictures are called after it")]
    title: Annotated[str, _key("a line above the pictures")]
    about: Annotated[str, _key("what one sees, in a sentence")]
    size: Annotated[str, _key("columns and rows of the terminal  [120x40]")] = SIZE
    theme: Annotated[str, _key("the colours at first  [the program's own]")] = ""
    engines: Annotated[tuple[str, ...], _key('the lanes, as in ["asyncio", "go"]  [the usual four]')] = ()
    optional: Annotated[
        tuple[str, ...], _key("lanes it can do without: if one cannot run here, steps about it are skipped")
    ] = ()
    film: Annotated[bool, _key("whether the gallery has it as a film besides its pictures  [false]")] = False
    step: Annotated[tuple[dict[str, Any], ...], _key("its steps, each a table of its own")] = ()


class Demo(msgspec.Struct, frozen=True):
    """A demo that can be played."""

    file: str
    """What its file is called."""
    name: str
    title: str
    about: str
    size: tuple[int, int]
    theme: str
    engines: Sequence[str]
    optional: Collection[str]
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
