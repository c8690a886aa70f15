"""``concwatch completion``, and the completers for the values of options."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import click

from concwatch.monitor.workers.catalog import CATALOG

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem  # imported late: the screen does not need it

VARIABLE = "_CONCWATCH_COMPLETE"
"""The variable with which a shell requests completions; the name is click's."""

SHELLS = ("bash", "zsh", "fish")

Complete = Callable[[click.Context, click.Parameter, str], "list[CompletionItem]"]


@click.command("completion")
@click.argument("shell", type=click.Choice(SHELLS), metavar="SHELL")
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print a script that makes SHELL (bash, zsh or fish) complete commands, options and values.

    \b
    bash:  echo 'eval "$(concwatch completion bash)"' >> ~/.bashrc
    zsh:   echo 'eval "$(concwatch completion zsh)"' >> ~/.zshrc
    fish:  concwatch completion fish > ~/.config/fish/completions/concwatch.fish
    """
    from click.shell_completion import get_completion_class

    completion = get_completion_class(shell)
    assert completion is not None
    click.echo(completion(ctx.find_root().command, {}, "concwatch", VARIABLE).source())
    if shell == "bash":
        click.echo("COMP_WORDBREAKS=${COMP_WORDBREAKS//:}  # so that a workload such as sleep:10 is one word")


def completer(choices: Callable[[], Iterable[str]], *, comma_separated: bool = False) -> Complete:
    """Return a completer for one of ``choices()``, or for a comma-separated list of them."""

    def complete(_: click.Context, __: click.Parameter, incomplete: str) -> "list[CompletionItem]":
        from click.shell_completion import CompletionItem

        before, comma, last = incomplete.rpartition(",") if comma_separated else ("", "", incomplete)
        used = before.split(",")
        return [
            CompletionItem(f"{before}{comma}{word}")
            for word in choices()
            if word.startswith(last) and not (comma_separated and word in used)
        ]

    return complete


def engine_names() -> list[str]:
    """Return the names of all engines."""
    return [engine.name for engine in CATALOG]


def expectations() -> list[str]:
    """Return the left sides of all expectations, such as ``asyncio.rss_per_task``."""
    from concwatch.monitor.metrics.metrics import BY_NAME

    return [f"{engine}.{metric}" for engine in engine_names() for metric in BY_NAME]


def experiment_names() -> list[str]:
    """Return the names of the shipped experiments."""
    from concwatch.measure.experiments.loading import shipped

    return [path.stem for path in shipped()]


def demo_names() -> list[str]:
    """Return the names of the shipped demos."""
    from concwatch.demos.demo import shipped

    return [path.stem for path in shipped()]


def complete_file(_: click.Context, __: click.Parameter, incomplete: str) -> "list[CompletionItem]":
    """Let the shell complete a file name."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(incomplete, type="file")]


def complete_recording(ctx: click.Context, param: click.Parameter, incomplete: str) -> "list[CompletionItem]":
    """Complete a recording in the default folder of recordings; if none matches, any file name."""
    from pathlib import Path

    found = sorted(str(path) for path in Path("recordings").glob("*.jsonl*"))
    return completer(lambda: found)(ctx, param, incomplete) or complete_file(ctx, param, incomplete)
