"""Processes without an agent: why, and what brings one in. Standard library only: bridges ask the same."""

from __future__ import annotations

import os
import re
import shutil
import subprocess

from concwatch.agent.inject import gdb_command
from concwatch.agent.places import ADDRESS
from concwatch.agent.process import script_name
from concwatch.system.processes import command_of, find_process, mapped_files, program_of, variable_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

REMOTE_EXEC = (3, 14)
"""The first Python that runs a script in another process by itself."""

INJECTION_LIMIT = 20.0
"""Seconds that gdb, or another Python, gets."""

HOW = "start it by concwatch watch, or call concwatch.agent.start() in its code"


def process_name(pid: int) -> str:
    """Return what a process is called by its command line."""
    parts = command_of(pid)
    program = os.path.basename(parts[0])[:60] if parts else ""
    if program.startswith(("python", "pypy")):
        return script_name(parts)
    return program or os.path.basename(_program(pid)) or "process"


def _program(pid: int) -> str:
    try:
        return program_of(pid)
    except OSError:
        return ""


def why_no_agent(pid: int, address: str) -> str:
    """Return why there is no agent in a process, and what would bring one in.

    Args:
        pid: the process.
        address: the socket that its agent would have connected to, from its environment.
    """
    try:
        program, options = os.path.basename(program_of(pid)), command_of(pid)[1:]
    except OSError:
        return "it may not be looked at: expected a process of this user"
    if "python" not in program and "pypy" not in program:
        return f"{program} is no Python"
    if any(
        option.startswith("-") and set(option[1:]) & set("IES") for option in _interpreter_options(options)
    ):
        return "its Python takes no sitecustomize (-I, -E or -S): call concwatch.agent.start() in its code"
    try:
        if variable_of(pid, ADDRESS) != address:
            return "its environment was emptied: call concwatch.agent.start() in its code"
    except OSError:
        pass
    return "its Python has not started the agent: it may be older than 3.9"


def _interpreter_options(options: Sequence[str]) -> Sequence[str]:
    """Return the interpreter's own short options."""
    found: list[str] = []
    for option in options:
        if not option.startswith("-") or option.startswith(("--", "-c", "-m")):
            break
        if not option.startswith(("-W", "-X")):
            found.append(option)
    return found


def python_version(pid: int) -> tuple[int, int] | None:
    """Return the version of the Python that a process runs, as far as its program's name or library shows."""
    try:
        names = [program_of(pid), *mapped_files(pid)]
    except OSError:
        return None
    for name in names:
        found = re.search(r"python(\d)\.(\d+)", name)
        if found:
            return int(found[1]), int(found[2])
    return None


def inject(pid: int, file: str, gdb: bool) -> str | None:
    """Have a process run a script, as far as it can be made to.

    Args:
        pid: the process.
        file: the script.
        gdb: whether gdb may be used, for development: the process stands still for a moment.

    Returns:
        Why it will be seen from outside only, with what would bring more; None where an agent comes.
    """
    found = find_process(pid)
    try:
        program = program_of(pid)
    except OSError as error:
        return f"it may not be looked at: {error}"
    if not re.match(r"(python|pypy)", os.path.basename(program)):
        return f"{os.path.basename(program)} is no Python"
    if found is not None and found.state == "T":
        return "it is stopped: send it SIGCONT, then attach again"
    version = python_version(pid)
    if version is not None and version >= REMOTE_EXEC:
        return _run(
            [program, "-c", f"import sys; sys.remote_exec({pid}, {file!r})"],
            lambda words: f"sys.remote_exec was refused: {words}",
        )
    if not gdb:
        known = f"Python {version[0]}.{version[1]}" if version else "its Python"
        return f"{known} takes no agent from outside: {HOW}"
    if shutil.which("gdb") is None:
        return "gdb is not installed: apt install gdb"
    return _run(gdb_command(pid, file), lambda words: f"gdb could not: {words}")


def _run(command: list[str], problem: Callable[[str], str]) -> str | None:
    """Run what injects; return what is wrong, or None."""
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=INJECTION_LIMIT,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return problem(str(error))
    if done.returncode:
        last = done.stderr.strip().splitlines()
        return problem(last[-1] if last else f"exit status {done.returncode}")
    return None
