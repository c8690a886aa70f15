"""Write the man page from the commands' own help: ``python -m tests.build_man``."""

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import click

from concwatch.commands.cli import main
from concwatch.system.machine import program_version

PAGE = Path(__file__).parent.parent / "concwatch" / "commands" / "concwatch.1"


def roff(text: str) -> str:
    """Return text such that roff shows it as it is."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    escaped = re.sub(r"[^\x00-\x7f]", lambda sign: f"\\[u{ord(sign[0]):04X}]", escaped)
    return re.sub(r"^([.'])", r"\\&\1", escaped, flags=re.MULTILINE)


def paragraphs(text: str) -> Iterator[str]:
    """Yield the lines of a help text; what click does not wrap stays as it is."""
    for part in inspect.cleandoc(text or "").split("\n\n"):
        kept = part.startswith("\b")
        body = part.removeprefix("\b").strip("\n")
        yield from (".nf", roff(body), ".fi", ".PP") if kept else (roff(" ".join(body.split())), ".PP")


def options(command: click.Command, ctx: click.Context) -> Iterator[str]:
    """Yield the lines of a command's options."""
    for option in command.get_params(ctx):
        record = option.get_help_record(ctx) if isinstance(option, click.Option) else None
        if record:
            yield from (".TP", f".B {roff(record[0])}", roff(record[1]))


def lines() -> Iterator[str]:
    """Yield the lines of the page."""
    ctx = click.Context(main, info_name="concwatch", **main.context_settings)
    yield f'.TH CONCWATCH 1 "" "concwatch {program_version()}" "User Commands"'
    first = inspect.cleandoc(main.help or "").partition("\n")[0].rstrip(".")
    yield from (".SH NAME", f"concwatch \\- {first[0].lower()}{roff(first[1:])}")
    yield from (".SH SYNOPSIS", ".B concwatch", roff("[OPTIONS] [COMMAND] [ARGS]..."))
    yield from (".SH DESCRIPTION", *paragraphs(main.help or ""))
    yield from (".SH OPTIONS", *options(main, ctx), ".SH COMMANDS")
    assert isinstance(main, click.Group)
    for name in main.list_commands(ctx):
        command = main.get_command(ctx, name)
        assert command is not None
        inner = click.Context(command, info_name=name, parent=ctx)
        usage = " ".join(command.collect_usage_pieces(inner))
        yield from (f'.SS "{roff(f"concwatch {name} {usage}")}"', *paragraphs(command.help or ""))
        yield from options(command, inner)


def page() -> str:
    """Return the page."""
    return "\n".join(lines()) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
