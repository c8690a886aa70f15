"""Injecting the agent into running processes, and why one has none. Standard library: bridges use it."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import tempfile

from concwatch.agent.inject import gdb_command
from concwatch.agent.names import printable
from concwatch.agent.places import ADDRESS, check_folder
from concwatch.agent.process import script_name
from concwatch.system.processes import command_of, find_process, mapped_files, program_of, variable_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Dict

REMOTE_EXEC = (3, 14)
"""The first version of Python with ``sys.remote_exec``."""

INJECTION_LIMIT = 20.0
"""Seconds that an injection may take."""

PREFIX, LOCK = "watch-", "lock"
"""How the names of folders for sockets begin, and the file in each that its process has locked."""

ATTEMPTS = 10
"""Attempts to create one while other processes remove theirs."""

MAX_TEMP_PATH = 70
"""Longest path of the temporary folder, in bytes, for which a socket's path in it is not too long."""

HOW = "start it with concwatch watch, or call concwatch.agent.start() in its code"


_locks: Dict[str, int] = {}
"""Path of a folder for a socket → the descriptor that locks it, as long as this process runs."""


def socket_folder() -> str:
    """Create a folder of mode 0700 for the socket that agents connect to; return its path.

    It is to be removed with `remove_socket_folder`. It is in one private folder of this user, from which
    those of processes that were killed are removed.

    Raises:
        OSError: it cannot be created.
    """
    for _ in range(ATTEMPTS):
        private = _private_folder()
        try:
            path = tempfile.mkdtemp(prefix=PREFIX, dir=private)
            lock = os.open(os.path.join(path, LOCK), os.O_CREAT | os.O_RDWR, 0o600)
        except FileNotFoundError:  # another process has just removed the private folder, which was empty
            continue
        fcntl.flock(lock, fcntl.LOCK_EX)
        if os.path.exists(path):  # nobody has swept it before it was locked
            _locks[path] = lock
            _sweep(private)
            return path
        os.close(lock)
    raise FileNotFoundError("no folder for a socket")


def remove_socket_folder(path: str) -> None:
    """Remove a folder that `socket_folder` has created."""
    shutil.rmtree(path, ignore_errors=True)
    lock = _locks.pop(path, None)
    if lock is not None:
        os.close(lock)
    try:
        os.rmdir(os.path.dirname(path))
    except OSError:  # others use it
        pass


def _private_folder() -> str:
    """Return a folder that only this user can access; the one for temporary files if there is none."""
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    for base in (runtime, tempfile.gettempdir(), "/tmp"):
        path = os.path.join(base, f"concwatch-{os.geteuid()}")
        if os.path.isabs(path) and len(os.fsencode(path)) <= MAX_TEMP_PATH:
            try:
                if not os.path.isdir(path):
                    os.mkdir(path, 0o700)
                check_folder(path)
                return path
            except OSError:
                pass
    return "/tmp"


def _sweep(private: str) -> None:
    """Remove the folders of processes that have ended without doing so."""
    for name in os.listdir(private) if private != "/tmp" else ():
        path = os.path.join(private, name)
        if not name.startswith(PREFIX) or path in _locks:
            continue
        try:
            lock = os.open(os.path.join(path, LOCK), os.O_RDWR)
        except OSError:  # it is being created, or removed
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(path, ignore_errors=True)
        except OSError:  # its process runs
            pass
        finally:
            os.close(lock)


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
    if done.returncode:
        last = done.stderr.strip().splitlines()
        return problem(last[-1] if last else f"exit status {done.returncode}")
    return None
