"""Shared by ``python -m tests.benchmarks`` and ``.fuzz``, and tests of faults: options, processes, tables."""

import argparse
import contextlib
import multiprocessing
import os
import signal
import traceback
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import psutil

from concwatch.commands.basics.settings_file import PATH_VARIABLE
from concwatch.system.files import write_atomically
from tests.temporary import use_temporary_folder

FORK = multiprocessing.get_context("fork")
"""Forked processes need not import anything again."""


class Impossible(Exception):
    """This machine cannot run it; the message says why."""


class Failed(Exception):
    """An error in another process, with its traceback."""


def parse(parser: argparse.ArgumentParser, names: dict[str, str]) -> argparse.Namespace:
    """Add the common options and parse the command line; ``options.names`` are the selected names.

    From then on, this process and its children ignore the user's settings.
    """
    parser.add_argument("words", metavar="NAME", nargs="*", help="run only these names")
    parser.add_argument("--only", metavar="NAME,…", help="run only these names, or names with these prefixes")
    parser.add_argument("--list", action="store_true", help="print the names")
    parser.add_argument("--json", metavar="FILE", help="also write all figures to FILE")
    options = parser.parse_args()
    chosen = []
    for word in options.words or (options.only or "").split(","):
        found = [word] if word in names else [name for name in names if name.startswith(word)]
        if not found:
            parser.error(f'no name begins with "{word}": see --list')
        chosen += found
    options.names = [name for name in names if name in chosen]
    if options.list:
        print(*(f"{name:32} {names[name]}" for name in options.names), sep="\n")
        parser.exit()
    use_temporary_folder()
    os.environ["XDG_CONFIG_HOME"] = os.environ["XDG_STATE_HOME"]
    os.environ.pop(PATH_VARIABLE, None)
    return options


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    return "\n".join(f"| {' | '.join(row)} |" for row in (header, ["---"] * len(header), *rows))


def in_process(function: Callable[..., Any], *arguments: object, seconds: float) -> Any:
    """Call a function in a process of its own, which may hang, crash or lower a limit.

    Raises:
        Failed: it raised an exception, ended its process, or took longer than ``seconds``.
        Impossible: it raised this.
    """
    ours, theirs = FORK.Pipe(duplex=False)

    def answer() -> None:
        # Children of a process under nohup, or in a shell's background, would ignore these.
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        try:
            theirs.send(function(*arguments))
        except Impossible as reason:
            theirs.send(reason)
        except BaseException:
            theirs.send(Failed(traceback.format_exc()[-3000:]))

    process = FORK.Process(target=answer)
    process.start()
    theirs.close()
    found: Any = Failed(f"did not end within {seconds:g} s")
    if ours.poll(seconds):
        try:
            found = ours.recv()
        except EOFError:
            found = Failed("it ended without a result")
        process.join(seconds)
    if process.exitcode is None:
        top = psutil.Process(process.pid)
        for member in (top, *top.children(recursive=True)):
            with contextlib.suppress(psutil.NoSuchProcess):
                member.kill()
        process.join()
    if isinstance(found, Exception):
        raise found
    return found


def save(path: str | None, text: str) -> None:
    """Write a file if a path is given."""
    if path:
        write_atomically(Path(path), text)
