"""The layout of text and tables for a terminal, and for Markdown."""

import textwrap
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from concwatch.portable.protocol.text import flat
from concwatch.portable.protocol.units import UNKNOWN

WIDTH = 100
"""The longest line, in columns."""


class Piece(NamedTuple):
    """Text with a tone, which `concwatch.commands.basics.console` prints in a colour."""

    text: str
    tone: str = ""
    """`heading`, `good`, `caution`, `bad`, `quiet`, `copy` (a command), or empty."""


def cut(text: str, width: int) -> str:
    """Return ``text``, truncated with ``…`` if it is longer than ``width``."""
    return text if len(text) <= width else text[: width - 1] + "…"


def wrapped(text: str, tone: str = "", indent: str = "", start: str = "") -> Iterable[Piece]:
    """Wrap ``text`` at `WIDTH` columns, the first line after ``start``, the others after ``indent``."""
    whole = f"{start.replace(' ', chr(0xA0))}  {flat(text)}" if start else flat(text)
    for line in textwrap.wrap(whole, WIDTH, subsequent_indent=indent) or [""]:
        yield Piece(line.replace("\xa0", " "), tone)


def padded(rows: Sequence[Sequence[str]], left: Collection[int]) -> Iterable[list[str]]:
    """Pad the cells of each column to the same width, on the right in columns ``left``, else on the left."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = enumerate(zip(row, widths, strict=True))
        yield [cell.ljust(width) if at in left else cell.rjust(width) for at, (cell, width) in cells]


def aligned(rows: Sequence[Sequence[str]], left: Collection[int]) -> list[str]:
    """Return each row as one line, its cells padded as by `padded`."""
    return ["  ".join(cells).rstrip() for cells in padded(rows, left)]


def without_unknown(table: Sequence[Sequence[str]], keep: str = "") -> list[list[str]]:
    """Return a table, header first, without the columns that have no value, except the one named ``keep``."""
    columns = [
        column
        for column in zip(*table, strict=True)
        if column[0] == keep or any(cell not in ("", UNKNOWN) for cell in column[1:])
    ]
    return [list(row) for row in zip(*columns, strict=True)]


def markdown(text: str) -> str:
    """Return ``text`` as one line, with characters escaped that would end a table's cell or begin a tag."""
    return flat(text).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")


def markdown_table(rows: Sequence[Sequence[str]], left: Collection[int]) -> Iterable[str]:
    """Yield the lines of a Markdown table, header first."""
    header, *rest = ([markdown(cell) for cell in row] for row in rows)
    rule = ["---" if at in left else "---:" for at in range(len(header))]
    for row in (header, rule, *rest):
        yield f"| {' | '.join(row)} |"
