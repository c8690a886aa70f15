"""Child processes: starting and killing them, and describing how they ended."""

import asyncio
import contextlib
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from concwatch.portable.machine import open_files
from concwatch.portable.machine.limits import limit_hit
from concwatch.portable.machine.spawn import NICENESS, ChildSetup, kill_session
from concwatch.portable.protocol.units import format_count

ROOT = str(Path(__file__).resolve().parents[2])
"""The folder that holds the package ``concwatch``."""


def python_command(code: str, *arguments: str) -> list[str]:
    """Return the command that runs ``code``, which may import concwatch, in this Python.

    Not "-m", which puts the working directory first on the path: a user's ``queue.py`` would shadow the
    standard library's.
    """
    return [sys.executable, "-P", "-c", f"import sys; sys.path.insert(0, {ROOT!r}); {code}", *arguments]


def concwatch_command(*arguments: str) -> list[str]:
    """Return the command that runs concwatch with ``arguments``."""
    return python_command("from concwatch.__main__ import main; main()", *arguments)


async def start_child(
    command: Sequence[str],
    stderr: int = asyncio.subprocess.PIPE,
    folder: Path | None = None,
    variables: Mapping[str, str] | None = None,
) -> asyncio.subprocess.Process:
    """Start a program in a session of its own, with no standard input.

    If the caller is cancelled meanwhile, the whole session is killed.

    Raises:
        OSError: the program could not be started.
    """
    with ChildSetup(NICENESS) as setup:
        starting = asyncio.create_task(
            asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=stderr,
                cwd=folder,
                env=variables,
                start_new_session=True,
                pass_fds=setup.descriptors,
            )
        )
        try:
            child = await asyncio.shield(starting)
        except asyncio.CancelledError:
            # Without the shield asyncio would kill the program alone, not the processes that it has started.
            with contextlib.suppress(OSError):
                child = await starting
                kill_session(child.pid)
                await child.wait()
            raise
        setup.apply(child.pid)
    return child


def explain_start_error(error: BaseException) -> str:
    """Return why a process could not be started: the system's message, and the limit if one was hit."""
    if open_files.is_too_many_files(error):
        limit, value = open_files.NAME, open_files.open_file_limit()
    elif isinstance(error, BlockingIOError | RuntimeError):  # of processes, or of threads
        limit, value = limit_hit()
    else:
        return str(error)
    words = error.strerror if isinstance(error, OSError) else str(error)
    return f"{words}: {limit}" + ("" if value is None else f" ({format_count(value)})")


def shell_status(status: int) -> int:
    """Return an exit status as a shell reports it: 128 plus the signal if it is negative."""
    return 128 - status if status < 0 else status


def describe_exit(status: int) -> str:
    """Return how a process ended: the signal's name, or the exit status."""
    if status < 0:
        try:
            name = signal.Signals(-status).name
        except ValueError:
            name = f"signal {-status}"
        return f"killed by {name}"
    return f"exited with status {status}"


def error_line(stderr: str) -> str:
    """Return the line of standard error that explains an exit: the one that begins with "fatal", or the last.

    V8 and Go print the fatal error before a stack trace; Rust appends notes, which are skipped.
    """
    lines = [line.strip() for line in stderr.splitlines() if line.strip() and not line.startswith("note: ")]
    fatal = (line for line in lines if line.lower().startswith("fatal"))
    return next(fatal, lines[-1] if lines else "")[:300]
