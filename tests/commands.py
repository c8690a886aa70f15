"""What ``python -m tests.faults``, ``.benchmarks`` and ``.fuzz`` share: options, processes, a table."""

import argparse
import contextlib
import multiprocessing
import os
import signal
import tempfile
import traceback
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import psutil

from concwatch.files import write_atomically

FORK = multiprocessing.get_context("fork")
"""All is imported once."""


class Impossible(Exception):
    """This machine cannot do it; the message says why."""


class Failed(Exception):
    """What went wrong in another process, with its traceback."""


def parse(parser: argparse.ArgumentParser, names: dict[str, str]) -> argparse.Namespace:
    """Add the options that all have, and parse; ``names`` are then those that were chosen.

    Nobody's settings and choices count from here on, in this process and those that it starts.
    """
    parser.add_argument("--only", metavar="NAME,…", help="these: whole names, or how some begin")
    parser.add_argument("--list", action="store_true", help="print the names")
    parser.add_argument("--json", metavar="FILE", help="write all figures there too")
    options = parser.parse_args()
    chosen = []
    for word in (options.only or "").split(","):
        found = [word] if word in names else [name for name in names if name.startswith(word)]
        if not found:
            parser.error(f'nothing begins with "{word}": see --list')
        chosen += found
    options.names = [name for name in names if name in chosen]
    if options.list:
        print(*(f"{name:32} {names[name]}" for name in options.names), sep="\n")
        parser.exit()
    options.state = tempfile.TemporaryDirectory(prefix="concwatch-state-")  # which goes with the options
    os.environ |= {"XDG_STATE_HOME": options.state.name, "CONCWATCH_SETTINGS": os.devnull}
    return options


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    return "\n".join(f"| {' | '.join(row)} |" for row in (header, ["---"] * len(header), *rows))


def in_process(function: Callable[..., Any], *arguments: object, seconds: float) -> Any:
    """Call a function in a process of its own, so that what hangs, dies or lowers a limit costs nothing else.

    Raises:
        Failed: it raised something, ended its process, or took longer than ``seconds``.
        Impossible: it raised that.
    """
    ours, theirs = FORK.Pipe(duplex=False)

    def answer() -> None:
        # Under nohup, or in a shell's background, what is started here would ignore these.
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
    found: Any = Failed(f"not over within {seconds:g} s")
    if ours.poll(seconds):
        try:
            found = ours.recv()
        except EOFError:
            found = Failed("it ended without an answer")
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
    """Write a file whole, if one is wanted."""
    if path:
        write_atomically(Path(path), text)
