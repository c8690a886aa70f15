"""``concwatch replay``: play a recording on the screen."""

import shlex
from pathlib import Path

import click

from concwatch.commands.basics import completion
from concwatch.commands.basics.console import BAD_INPUT, print_error
from concwatch.commands.basics.display import Display, check_display
from concwatch.commands.basics.options import cells, screenshots
from concwatch.commands.basics.values import Parsed, number_parser

_parse_speed = number_parser(0.1, 100, "not a speed; expected a number from 0.1 to 100, such as 2")


@click.command("replay")
@click.argument(
    "file", type=click.Path(path_type=Path), metavar="FILE", shell_complete=completion.complete_recording
)
@click.option(
    "--speed",
    type=Parsed("n", lambda text: _parse_speed(text.strip().removeprefix("×").removesuffix("x"))),
    default="1",
    help="Playback speed as a factor, from 0.1 to 100.",
)
@screenshots
@cells
@click.pass_context
def command(ctx: click.Context, file: Path, speed: float, screenshots: Path, cells: bool) -> None:
    """Play a recording on the same screen: pause, step, jump, change the speed.

    Needs a terminal. Press ? for the keys.
    """
    from concwatch.recordings.load import load

    check_display(f'use "{shlex.join(["concwatch", "export", str(file)])}"')
    try:
        recording = load(file)
    except ValueError as error:
        print_error(str(error))
        ctx.exit(BAD_INPUT)
    display = Display()
    display.picture_cells = cells
    from concwatch.ui.apps.replay_app import ReplayApp  # imported late: it takes 0.2 s

    ctx.exit(display.run(ReplayApp(recording, file.name, speed, screenshots, theme=display.theme)))
