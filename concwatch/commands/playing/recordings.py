"""``concwatch recordings``: list the recordings of a folder."""

import shlex
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import click
import msgspec

from concwatch.commands.basics import configuration
from concwatch.commands.basics.configuration import SCREEN
from concwatch.commands.basics.console import print_columns, print_json
from concwatch.measure.layout import Piece
from concwatch.portable.protocol.text import flat, plain
from concwatch.portable.protocol.units import format_bytes, format_count
from concwatch.recordings.format import format_position
from concwatch.recordings.listing import FINISHED, Summary, find_recordings
from concwatch.recordings.reading import CUT, DAMAGED, WRITTEN

TONES = {FINISHED: "good", WRITTEN: "copy", CUT: "caution", DAMAGED: "bad"}
HEADER = ("file", "started", "length", "samples", "size", "state", "lanes")


@click.command("recordings")
@click.argument("folder", type=click.Path(path_type=Path), metavar="[FOLDER]", required=False)
@click.option("--json", is_flag=True, help="Print one JSON list.")
@click.pass_context
def command(ctx: click.Context, folder: Path | None, json: bool) -> None:
    """List the recordings in FOLDER, newest first: start, length, and whether they were finished.

    The default FOLDER is the one in which the key r saves recordings: "recordings", or the value of the
    screen's option --recordings in the settings.
    """
    path = folder or _default_folder(ctx)
    try:
        found = find_recordings(path)
    except FileNotFoundError:
        if folder is not None:
            raise click.UsageError(f'folder "{folder}" does not exist', ctx) from None
        found = []
    except OSError as error:
        raise click.UsageError(f'folder "{path}" cannot be read ({error.strerror})', ctx) from None
    if json:
        print_json(msgspec.to_builtins(found))
    elif found:
        _print(found, path)
    else:
        click.echo(
            f'no recordings in "{plain(str(path))}": press r on the screen, or record with '
            "concwatch --record FILE or concwatch run … --record FILE"
        )


def _default_folder(ctx: click.Context) -> Path:
    """Return the folder in which the screen saves recordings."""
    screen, _ = configuration.resolve(SCREEN, ctx.find_root().command, configuration.read_tables())
    return Path(screen.params["recordings"])


def _print(found: Sequence[Summary], folder: Path) -> None:
    rows = [
        (
            Path(summary.file).name,
            _local(summary.began),
            format_position(summary.seconds),
            format_count(summary.samples),
            format_bytes(summary.size),
            Piece(summary.state, TONES[summary.state]),
            " ".join(summary.lanes),
        )
        for summary in found
    ]
    print_columns([HEADER, *rows], (0, 1, 5, 6))
    newest = folder / Path(found[0].file).name
    replay = flat(plain(shlex.join(["concwatch", "replay", str(newest)])))
    click.echo(f"replay the newest: {replay}")


def _local(began: str) -> str:
    """Format a UTC time as local time. Return text that is not a time unchanged."""
    try:
        return f"{datetime.fromisoformat(began).astimezone():%Y-%m-%d %H:%M:%S}"
    except ValueError:
        return began[:20]
