"""Injecting the agent into running processes, and why one has none. Standard library: bridges use it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess

from concwatch.agent.inject import gdb_command
from concwatch.agent.names import printable
from concwatch.agent.places import ADDRESS
from concwatch.agent.process import script_name
from concwatch.system.processes import command_of, find_process, mapped_files, program_of, variable_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

REMOTE_EXEC = (3, 14)
"""The first version of Python with ``sys.remote_exec``."""

INJECTION_LIMIT = 20.0
"""Seconds that an injection may take."""

HOW = "start it with concwatch watch, or call concwatch.agent.start() in its code"


def process_name(pid: int) -> str:
    """Return a short name of a process, from its command line, without control characters."""
    return printable(_name(pid))


def _name(pid: int) -> str:
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
    """Return why a child of the watched program has no agent, and how it would get one.

    Args:
        pid: the process.
        address: the socket that agents connect to, which its environment should have.
    """
    try:
        program, options = os.path.basename(program_of(pid)), command_of(pid)[1:]
    except OSError:
        return "no permission to inspect it: expected a process of this user"
    if "python" not in program and "pypy" not in program:
        return f"{printable(program)} is not Python"
    if any(
        option.startswith("-") and set(option[1:]) & set("IES") for option in _interpreter_options(options)
    ):
        return "its Python ignores sitecustomize (-I, -E or -S): call concwatch.agent.start() in its code"
    if _effective_user(pid) not in (None, os.geteuid()):
        return "it runs as another user, who cannot open concwatch's socket"
    try:
        if variable_of(pid, ADDRESS) != address:
            return "its environment was emptied: call concwatch.agent.start() in its code"
    except OSError:
        pass
    return "its Python has not started the agent: it may be older than 3.9"


def _effective_user(pid: int) -> "int | None":
    """Return the user as whom a process acts; None if unknown."""
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as status:
            return next((int(line.split()[2]) for line in status if line.startswith("Uid:")), None)
    except OSError:
        return None


def _interpreter_options(options: Sequence[str]) -> Sequence[str]:
    """Return the interpreter's short options, which come before the script."""
    found: list[str] = []
    for option in options:
        if not option.startswith("-") or option.startswith(("--", "-c", "-m")):
            break
        if not option.startswith(("-W", "-X")):
            found.append(option)
    return found


def python_version(pid: int) -> tuple[int, int] | None:
    """Return a process's Python version by the names of its executable and libraries; None if unknown."""
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
    """Make a process run a script, by ``sys.remote_exec`` or gdb.

    Args:
        pid: the process.
        file: the script.
        gdb: whether gdb may be used, which pauses the process for a moment.

    Returns:
        None on success; else why it failed, and what would help.
    """
    found = find_process(pid)
    try:
        program = program_of(pid)
    except OSError as error:
        return f"no permission to inspect it: {error}"
    if not re.match(r"(python|pypy)", os.path.basename(program)):
        return f"{printable(os.path.basename(program))} is not Python"
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
        return f"{known} cannot load an agent from outside: {HOW}"
    if shutil.which("gdb") is None:
        return "gdb is not installed: apt install gdb"
    return _run(gdb_command(pid, file), lambda words: f"gdb failed: {words}")


def _run(command: list[str], problem: Callable[[str], str]) -> str | None:
    """Run a command. Return None on success, else the problem."""
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
    words = done.stderr.strip().splitlines()
    refused = next((line for line in words if "not permitted" in line), "")  # gdb's own status is 0 then
    if refused:
        return problem(f"{refused.strip().rstrip('.')}: {_how_to_permit()}")
    if done.returncode:
        return problem(words[-1] if words else f"exit status {done.returncode}")
    return None


def _how_to_permit() -> str:
    """Return what lets this user trace a process."""
    try:
        with open("/proc/sys/kernel/yama/ptrace_scope", encoding="ascii") as file:
            scope = int(file.read())
    except (OSError, ValueError):
        scope = 0
    if scope == 3:
        return "kernel.yama.ptrace_scope is 3, which only a restart of the system changes"
    if scope:
        return "sudo sysctl kernel.yama.ptrace_scope=0 permits it to processes of the same user"
    return "it needs the capability SYS_PTRACE, such as docker run --cap-add SYS_PTRACE, or the same user"
