"""The option ``--record``: a session kept in a file while it runs."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from concwatch.lab.catalog import Engine

if TYPE_CHECKING:
    from concwatch.recordings.recorder import Recorder

record = click.option(
    "--record",
    metavar="FILE",
    help='Record the session into FILE, a new file; compressed if its name ends in ".gz".',
)


def open_recorder(file: str | None, engines: Sequence[Engine]) -> "Recorder | None":
    """Make the file of a recording, if one is wanted; it begins with the first lab that is followed.

    Raises:
        click.UsageError: one line: there can be no such file.
    """
    if file is None:
        return None
    from concwatch.recordings.recorder import Recorder, called  # only here: few sessions are recorded
    from concwatch.recordings.writers import open_writer

    path = Path(file)
    try:
        return Recorder(path, open_writer(path), called(), engines)
    except ValueError as error:
        raise click.UsageError(f"--record: {error}") from None
