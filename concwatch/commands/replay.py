"""``concwatch replay``: a recording, in the screen that it was taken of."""

import shlex
from pathlib import Path

import click

from concwatch.commands import completion
from concwatch.commands.options import screenshots
from concwatch.commands.place import Place, check_place
from concwatch.commands.values import Parsed, number
from concwatch.console import BAD_INPUT, print_error

_read_speed = number(0.1, 100, "not a speed: expected a number from 0.1 to 100, such as 2")


@click.command("replay")
@click.argument("file", type=click.Path(path_type=Path), metavar="FILE", shell_complete=completion.recordings)
@click.option(
    "--speed",
    type=Parsed("n", lambda text: _read_speed(text.strip().removeprefix("×").removesuffix("x"))),
    default="1",
    help="Seconds of the recording a second, from 0.1 to 100.",
)
@screenshots
@click.pass_context
def command(ctx: click.Context, file: Path, speed: float, screenshots: Path) -> None:
    """Play a recording in the same screen: pause, step, jump, faster and slower.

    It needs a terminal. Press ? there for its keys.
    """
    from concwatch.recordings.load import load

    check_place(shlex.join(["concwatch", "export", str(file)]))
    try:
        recording = load(file)
    except ValueError as error:
        print_error(str(error))
        ctx.exit(BAD_INPUT)
    place = Place()
    from concwatch.ui.replay_app import ReplayApp  # only here: the screen takes a fifth of a second

    ctx.exit(place.run(ReplayApp(recording, file.name, speed, screenshots, theme=place.theme)))
