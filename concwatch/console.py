"""What the commands print: errors, lines of progress, the tables at the end; and the streams it goes to."""

import errno
import os
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import click

from concwatch.layout import Piece, padded
from concwatch.text import flat, plain

BAD_INPUT = 2
"""Exit status for what was asked wrongly."""

STREAMS = {"stdin": "r", "stdout": "w", "stderr": "w"}
"""The three by name, in the order of their descriptors, and what is done with each."""

UNWRITABLE = (errno.ENOSPC, errno.EFBIG, errno.EIO)
"""What comes of writing on a full disk, or to a terminal that is gone."""

UNREAD = 141
"""Exit status where nobody reads standard output any more: 128 + SIGPIPE."""


def fill_missing_streams() -> None:
    """Open the null device for each standard stream that was closed when the program was started.

    Otherwise a pipe or a file of this program's own takes the free descriptor, and what is meant for a
    person goes there.
    """
    for name, mode in STREAMS.items():
        if getattr(sys, name) is None:
            # The lowest free descriptor is the missing one's, since those before it are there by now.
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115  # open as long as the program runs


def is_unwritable(error: OSError) -> bool:
    """Return whether it was standard output that could not be written: an error with a file names that."""
    return error.filename is None and error.errno in UNWRITABLE


def discard_output(descriptor: int) -> None:
    """Lead a descriptor to the null device, with all that is still buffered for it."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, descriptor)
    os.close(nothing)


def print_note(text: str, nl: bool = True) -> None:
    """Write ``text`` on standard error; where nobody reads that, the work goes on all the same."""
    try:
        click.echo(text, err=True, nl=nl)
    except OSError:
        discard_output(sys.stderr.fileno())


def print_error(text: str) -> None:
    """Write ``text`` on standard error as one line, whatever a person typed into it."""
    print_note(f"concwatch: {plain(flat(text))}")


def print_json(value: object) -> None:
    """Write ``value`` on standard output."""
    import json  # only here: the screen has no use for it

    click.echo(json.dumps(value, indent=2))


_TONES: Mapping[str, Mapping[str, Any]] = {
    "heading": {"bold": True},
    "good": {"fg": "green"},
    "doubt": {"fg": "yellow"},
    "bad": {"fg": "red"},
    "quiet": {"dim": True},
    "copy": {"fg": "cyan"},
}


def print_lines(lines: "Iterable[Piece | Sequence[tuple[str, str]]]") -> None:
    """Print lines, each a piece or several, each piece in the colour of how it is meant."""
    for line in lines:
        pieces = [line] if isinstance(line, Piece) else line
        click.echo(
            "".join(
                click.style(plain(text), **_TONES[tone]) if tone else plain(text) for text, tone in pieces
            )
        )


def print_columns(rows: Sequence[Sequence[str | Piece]], left: Collection[int], heads: bool = True) -> None:
    """Print rows with columns ``left`` to the left, a piece in its colour, and the first row as ``heads``."""
    pieces = [[cell if isinstance(cell, Piece) else Piece(cell) for cell in row] for row in rows]
    texts = padded([[flat(plain(cell.text)) for cell in row] for row in pieces], left)
    for number, (row, cells) in enumerate(zip(pieces, texts, strict=True)):
        rest = len("  ".join(cells).rstrip())
        line = []
        for piece, text in zip(row, cells, strict=True):
            line.append((f"{text}  "[:rest], "heading" if heads and not number else piece.tone))
            rest = max(0, rest - len(text) - 2)
        print_lines([line])
