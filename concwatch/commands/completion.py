"""``concwatch completion``: what has a shell complete commands, options and their values."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import click

from concwatch.lab.catalog import CATALOG

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem  # the screen can do without

VARIABLE = "_CONCWATCH_COMPLETE"
"""The variable by which a shell asks this program for completions: click's name for it."""

SHELLS = ("bash", "zsh", "fish")

Complete = Callable[[click.Context, click.Parameter, str], "list[CompletionItem]"]


@click.command("completion")
@click.argument("shell", type=click.Choice(SHELLS), metavar="SHELL")
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print a script that has SHELL (bash, zsh or fish) complete commands, options and values.

    \b
    bash:  echo 'eval "$(concwatch completion bash)"' >> ~/.bashrc
    zsh:   echo 'eval "$(concwatch completion zsh)"' >> ~/.zshrc
    fish:  concwatch completion fish > ~/.config/fish/completions/concwatch.fish
    """
    from click.shell_completion import get_completion_class

    found = get_completion_class(shell)
    assert found is not None
    click.echo(found(ctx.find_root().command, {}, "concwatch", VARIABLE).source())
    if shell == "bash":
        click.echo("COMP_WORDBREAKS=${COMP_WORDBREAKS//:}  # a workload such as sleep:10 is one word")


def words(known: Callable[[], Iterable[str]], *, listed: bool = False) -> Complete:
    """Return what completes one of the words that ``known`` returns, or a list of them, by commas."""

    def complete(_: click.Context, __: click.Parameter, incomplete: str) -> "list[CompletionItem]":
        from click.shell_completion import CompletionItem

        before, comma, last = incomplete.rpartition(",") if listed else ("", "", incomplete)
        taken = before.split(",")
        return [
            CompletionItem(f"{before}{comma}{word}")
            for word in known()
            if word.startswith(last) and not (listed and word in taken)
        ]

    return complete


def engines() -> list[str]:
    """Return the names of engines."""
    return [engine.name for engine in CATALOG]


def expectations() -> list[str]:
    """Return the left side of expectations: an engine and a figure."""
    from concwatch.measure.figures import BY_NAME

    return [f"{engine}.{figure}" for engine in engines() for figure in BY_NAME]


def experiments() -> list[str]:
    """Return the names of the experiments that come with this program."""
    from concwatch.experiments.loading import shipped

    return [path.stem for path in shipped()]


def demos() -> list[str]:
    """Return the names of the demos that come with this program."""
    from concwatch.demos.demo import shipped

    return [path.stem for path in shipped()]


def files(_: click.Context, __: click.Parameter, incomplete: str) -> "list[CompletionItem]":
    """Have the shell complete the name of a file."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(incomplete, type="file")]


def recordings(ctx: click.Context, param: click.Parameter, incomplete: str) -> "list[CompletionItem]":
    """Complete a recording in the folder into which the screen records, or else the name of any file."""
    from pathlib import Path

    there = sorted(str(path) for path in Path("recordings").glob("*.jsonl*"))
    return words(lambda: there)(ctx, param, incomplete) or files(ctx, param, incomplete)
