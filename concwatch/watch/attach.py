"""Attaching to a process that runs already, by whatever way it offers."""

import contextlib
import os
import re
import shutil
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import psutil

from concwatch.agent.inject import gdb_command, script
from concwatch.agent.places import socket_paths
from concwatch.links.agent_link import AgentLink, peer

REMOTE_EXEC = (3, 14)
"""The first Python that runs a script in another process by itself."""

GDB_LIMIT = 20.0
"""Seconds that gdb gets."""

HOW = "start it by concwatch watch, or call concwatch.agent.start() in its code"


def listening(pid: int) -> AgentLink | None:
    """Connect to a process that called ``agent.start()``; None where it did not."""
    try:
        user = psutil.Process(pid).uids().effective
    except (psutil.Error, OSError):
        return None
    for path in socket_paths(pid, user):
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.settimeout(1.0)
            connection.connect(path)
            if peer(connection)[1] == user:
                return AgentLink(connection)
        except OSError:
            pass
        connection.close()
    return None


def python_version(process: psutil.Process) -> tuple[int, int] | None:
    """Return the version of the Python that a process runs, as far as its program's name or library tell."""
    with contextlib.suppress(psutil.Error, OSError):
        names = [process.exe(), *(region.path for region in process.memory_maps())]
        for name in names:
            found = re.search(r"python(\d)\.(\d+)", name)
            if found:
                return int(found[1]), int(found[2])
    return None


def why_not(pid: int) -> str | None:
    """Return why a process cannot be watched at all, in one line, or None."""
    if pid == os.getpid():
        return f"{pid} is concwatch itself: expected another process"
    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return f"{pid} has ended: expected a process that runs"
        user = process.uids().effective
    except psutil.NoSuchProcess:
        return f"there is no process {pid}: expected one that runs"
    except (psutil.Error, OSError) as error:
        return f"{pid} may not be looked at: {error}"
    if user != os.geteuid() and os.geteuid() != 0:
        return f"{pid} is another user's: expected a process of this user"
    return None


def inject(pid: int, address: str, folder: Path, gdb: bool) -> str | None:
    """Have a process report to ``address``, as far as it can be made to.

    Args:
        pid: the process.
        address: the monitor's socket.
        folder: where a script may be put that only this user can read.
        gdb: whether gdb may be used, for development: the process stands still for a moment.

    Returns:
        Why it will be seen from outside only, with what would bring more; None where an agent comes.
    """
    try:
        process = psutil.Process(pid)
        program, stopped = process.exe(), process.status() == psutil.STATUS_STOPPED
    except (psutil.Error, OSError) as error:
        return f"it may not be looked at: {error}"
    if not re.match(r"(python|pypy)", Path(program).name):
        return f"{Path(program).name} is no Python"
    if stopped:
        return "it is stopped: send it SIGCONT, then attach again"
    version = python_version(process)
    file = folder / f"attach-{pid}.py"
    file.write_text(script(address))
    if version is not None and version >= REMOTE_EXEC:
        return _run(
            [program, "-c", f"import sys; sys.remote_exec({pid}, {str(file)!r})"],
            lambda words: f"sys.remote_exec was refused: {words}",
        )
    if not gdb:
        known = f"Python {version[0]}.{version[1]}" if version else "its Python"
        return f"{known} takes no agent from outside: {HOW}"
    if shutil.which("gdb") is None:
        return "gdb is not installed: apt install gdb"
    return _run(gdb_command(pid, str(file)), lambda words: f"gdb could not: {words}")


def _run(command: list[str], problem: Callable[[str], str]) -> str | None:
    """Run what injects; return what is wrong, or None."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=GDB_LIMIT, check=False, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return problem(str(error))
    if done.returncode:
        last = done.stderr.strip().splitlines()
        return problem(last[-1] if last else f"exit status {done.returncode}")
    return None
