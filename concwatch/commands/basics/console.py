"""What the commands print, errors, progress and tables, and the standard streams they print to."""

import errno
import io
import os
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from concwatch.commands.basics.exits import INTERRUPTED, exit_with
from concwatch.portable.protocol.text import flat, plain

if TYPE_CHECKING:
    from concwatch.measure.layout import Piece

BAD_INPUT = 2
"""Exit status of a command whose arguments are wrong."""

STREAMS = {"stdin": "r", "stdout": "w", "stderr": "w"}
"""The standard streams in the order of their descriptors, each with the mode to open it in."""


def fill_missing_streams() -> None:
    """Open the null device for each standard stream that was closed when the program started.

    Otherwise the next file or pipe would get the free descriptor, and messages would be written to it.
    """
    for name, mode in STREAMS.items():
        if getattr(sys, name) is None:
            # This opens the lowest free descriptor, which is the missing one, as those before it are open.
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115  # open as long as the program runs


def replace_unencodable() -> None:
    """Make the standard streams replace characters that their encoding, the locale's, does not have."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def is_unwritable(error: OSError) -> bool:
    """Return whether standard output is on a full disk, or is a terminal that is gone."""
    return error.filename is None and error.errno in (errno.ENOSPC, errno.EFBIG, errno.EIO)


def discard_output(descriptor: int) -> None:
    """Redirect a descriptor to the null device, and with it what is still buffered."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, descriptor)
    os.close(null)


@contextmanager
def clean_exit() -> Iterator[None]:
    """Exit when the user interrupts the program, or with a line if standard output cannot be written."""
    try:
        yield
    except KeyboardInterrupt:
        exit_with(INTERRUPTED)
    except OSError as error:
        if not is_unwritable(error):
            raise
        discard_output(sys.stdout.fileno())
        print_error(f"the output is incomplete (standard output: {error.strerror})")
        sys.exit(1)


def print_note(text: str, nl: bool = True) -> None:
    """Write ``text`` to standard error, and ignore that standard error cannot be written."""
    import click  # as below: not needed for the first frame

    try:
        click.echo(text, err=True, nl=nl)
    except OSError:
        discard_output(sys.stderr.fileno())


def print_error(text: str) -> None:
    """Write ``text`` to standard error as one line without control characters."""
    print_note(f"concwatch: {plain(flat(text))}")


def print_json(value: object) -> None:
    """Write ``value`` to standard output as indented JSON."""
    import json  # only here: the screen does not need it

    import click

    click.echo(json.dumps(value, indent=2))


_TONES: Mapping[str, Mapping[str, Any]] = {
    "heading": {"bold": True},
    "good": {"fg": "green"},
    "caution": {"fg": "yellow"},
    "bad": {"fg": "red"},
    "quiet": {"dim": True},
    "copy": {"fg": "cyan"},
}


def print_lines(lines: "Iterable[Piece | Sequence[tuple[str, str]]]") -> None:
    """Print lines of one or several pieces, each piece in the colour of its tone."""
    import click

    from concwatch.measure.layout import Piece

    for line in lines:
        pieces = [line] if isinstance(line, Piece) else line
        click.echo(
            "".join(
                click.style(plain(text), **_TONES[tone]) if tone else plain(text) for text, tone in pieces
            )
        )


def print_columns(
    rows: "Sequence[Sequence[str | Piece]]", left: Collection[int], header: bool = True
) -> None:
    """Print rows in columns.

    Args:
        rows: the cells of each row; a piece is printed in the colour of its tone.
        left: the columns that are aligned to the left.
        header: whether the first row is a header.
    """
    from concwatch.measure.layout import Piece, padded

    pieces = [[cell if isinstance(cell, Piece) else Piece(cell) for cell in row] for row in rows]
    texts = padded([[flat(plain(cell.text)) for cell in row] for row in pieces], left)
    for number, (row, cells) in enumerate(zip(pieces, texts, strict=True)):
        rest = len("  ".join(cells).rstrip())
        line = []
        for piece, text in zip(row, cells, strict=True):
            line.append((f"{text}  "[:rest], "heading" if header and not number else piece.tone))
            rest = max(0, rest - len(text) - 2)
        print_lines([line])
