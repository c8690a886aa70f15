"""Injection of the agent into processes, and why it is missing. Standard library: bridges use it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import threading

from concwatch.portable.agent.attaching.inject import BEGUN, DONE, MARK, PACKAGE, gdb_command
from concwatch.portable.agent.basics.names import printable
from concwatch.portable.agent.sending.places import ADDRESS
from concwatch.portable.agent.sending.process import script_name
from concwatch.portable.machine import processes
from concwatch.portable.machine.limits import read_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from concwatch.portable.machine.process_table import ProcessTable

REMOTE_EXEC = (3, 14)
"""The first version of Python with ``sys.remote_exec``."""

INJECTION_LIMIT = 20.0
"""Seconds that an injection may take."""

NOT_PYTHON = "is not Python"
"""How `why_no_agent` ends of a program in another language."""

HOW = "start it with concwatch watch, or call concwatch.agent.start() in its code"


def process_name(pid: int, table: ProcessTable = processes) -> str:
    """Return a short name of a process, from its command line, without control characters.

    ``table``, here and below, is where the process is read: `processes`, unless there is no ``/proc``.
    """
    return printable(_name(pid, table))


def _name(pid: int, table: ProcessTable) -> str:
    parts = table.command_of(pid)
    program = os.path.basename(parts[0])[:60] if parts else ""
    if program.startswith(("python", "pypy")):
        return script_name(parts)
    return program or os.path.basename(_program(pid, table)) or "process"


def _program(pid: int, table: ProcessTable) -> str:
    try:
        return table.program_of(pid)
    except OSError:
        return ""


def why_no_agent(pid: int, address: str, table: ProcessTable = processes) -> str:
    """Return why a child of the watched program has no agent, and how it would get one.

    Args:
        pid: the process.
        address: the socket that agents connect to, which its environment should have.
        table: where the process is read.
    """
    try:
        program, options = os.path.basename(table.program_of(pid)), table.command_of(pid)[1:]
    except OSError:
        return "no permission to inspect it; it may belong to another user"
    if "python" not in program and "pypy" not in program:
        return f"{printable(program)} {NOT_PYTHON}"
    if any(
        option.startswith("-") and set(option[1:]) & set("IES") for option in _interpreter_options(options)
    ):
        return "its Python ignores sitecustomize (-I, -E or -S): call concwatch.agent.start() in its code"
    if _effective_user(pid) not in (None, os.geteuid()):
        return "it runs as another user, who cannot open concwatch's socket"
    try:
        if table.variable_of(pid, ADDRESS) != address:
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


def python_version(pid: int, table: ProcessTable = processes) -> tuple[int, int] | None:
    """Return a process's Python version by the names of its executable and libraries; None if unknown."""
    try:
        names = [table.program_of(pid), *table.mapped_files(pid)]
    except OSError:
        return None
    for name in names:
        found = re.search(r"python(\d)\.(\d+)", name)
        if found:
            return int(found[1]), int(found[2])
    return None


def needs_gdb(pid: int, table: ProcessTable = processes) -> bool:
    """Return whether only gdb can load the agent into a process, and is there."""
    try:
        is_python = _is_python(table.program_of(pid))
    except OSError:
        return False
    version = python_version(pid, table) if is_python else None
    return is_python and (version or (0, 0)) < REMOTE_EXEC and shutil.which("gdb") is not None


def _is_python(program: str) -> bool:
    return os.path.basename(program).startswith(("python", "pypy"))


def inject(
    pid: int, file: str, gdb: bool, package: str = PACKAGE, table: ProcessTable = processes
) -> str | None:
    """Make a process run a script, by ``sys.remote_exec`` or gdb.

    Args:
        pid: the process.
        file: the script.
        gdb: whether gdb may be used, which stops the process for a moment.
        package: the folder of the agent.
        table: where the process is read.

    Returns:
        None on success; else why it failed, and what would help.
    """
    found = table.find_process(pid)
    try:
        program = table.program_of(pid)
    except OSError:
        return f"no permission to inspect it: {CAPABILITY}"
    if not _is_python(program):
        return f"{printable(os.path.basename(program))} {NOT_PYTHON}"
    if found is not None and found.state == "T":
        return "it is stopped: send it SIGCONT, then attach again"
    if not _can_read(pid, file):
        return (
            "it has another file system, as in a container: attach from inside, such as with "
            "--host 'docker exec -i NAME'"
        )
    version = python_version(pid, table)
    if version is not None and version >= REMOTE_EXEC:
        return _inject_by_itself(pid, program, file)
    known = f"Python {version[0]}.{version[1]}" if version else "its Python"
    if shutil.which("gdb") is None:
        return f"{known} can only load the agent through gdb: install gdb, or {HOW}"
    if not gdb:
        return f"{known} can only load the agent through gdb, which stops it for 0.3 to 1 s: add --yes"
    return _inject_by_gdb(pid, file, package)


def _can_read(pid: int, file: str) -> bool:
    """Return whether a process has the same file at a path; True if that cannot be known."""
    try:
        return os.path.samefile(f"/proc/{pid}/root{file}", file)
    except FileNotFoundError:
        return not os.path.exists(f"/proc/{pid}")
    except OSError:
        return True


def _inject_by_itself(pid: int, program: str, file: str) -> str | None:
    """Make a process run a script by ``sys.remote_exec`` of its own Python. Return None, or the problem."""
    try:
        done = subprocess.run(
            [program, "-c", f"import sys; sys.remote_exec({pid}, {file!r})"],
            capture_output=True,
            text=True,
            timeout=INJECTION_LIMIT,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"sys.remote_exec failed: {error}"
    words = done.stderr.strip().splitlines()
    if done.returncode == 0:
        return None
    return _refused(pid, done.stderr) or f"sys.remote_exec failed: {words[-1] if words else done.returncode}"


def _inject_by_gdb(pid: int, file: str, package: str) -> str | None:
    """Make a process run a script through gdb. Return None, or the problem.

    gdb is not killed while it calls functions of the process, which would crash: neither by Ctrl-C, nor after
    the limit. What it prints goes to a file, which does not end with this process, as a pipe would.
    """
    with tempfile.TemporaryFile() as output:
        try:
            gdb = subprocess.Popen(
                gdb_command(pid, file, package),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            return f"gdb failed: {error.strerror}"
        try:
            gdb.wait(INJECTION_LIMIT)
        except subprocess.TimeoutExpired:
            pass
        output.seek(0)
        lines = output.read().decode(errors="replace").splitlines()
        said = [line[len(MARK) :] for line in lines if line.startswith(MARK)]
        if gdb.poll() is None and BEGUN not in said:
            gdb.kill()
            gdb.wait()
            return f"gdb has not read the symbols in {INJECTION_LIMIT:.0f} s"
    if gdb.returncode is None:
        threading.Thread(target=gdb.wait, daemon=True).start()
        return None  # it waits for the GIL
    if DONE in said:
        return None
    text = "\n".join(lines)
    if "No symbol" in text:
        return f"its Python has no symbols for gdb, as in a stripped static build: {HOW}"
    if "Python scripting is not supported" in text:
        return "this gdb has no Python support; expected the full gdb package"
    if said and said[-1] != BEGUN:
        return printable(said[-1])
    return _refused(pid, text) or f"gdb failed: {printable(lines[-1].strip() if lines else 'no output')}"


CAPABILITY = "it needs sudo, or in a container the capability SYS_PTRACE (docker run --cap-add SYS_PTRACE)"


def _refused(pid: int, text: str) -> str | None:
    """Return why a process may not be traced, and the setting that would change it; None if it may be."""
    if "not permitted" not in text:
        return None
    tracer = next(
        (line.split()[1] for line in read_text(f"/proc/{pid}/status").splitlines() if "TracerPid" in line),
        "0",
    )
    if tracer != "0":
        return f"it may not be traced: process {tracer}, such as a debugger or strace, already traces it"
    scope = read_text("/proc/sys/kernel/yama/ptrace_scope").strip()
    if scope == "3":
        return "it may not be traced: kernel.yama.ptrace_scope is 3 until the system is restarted"
    if scope in ("1", "2"):
        return (
            f"it may not be traced: kernel.yama.ptrace_scope is {scope}; use sudo, or "
            "sudo sysctl kernel.yama.ptrace_scope=0, which allows it for processes of the same user"
        )
    return f"it may not be traced: {CAPABILITY}"
