"""The program that is watched: how it is started, what belongs to it, and how it is ended."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import IO

import psutil

from concwatch.agent.process import called_by
from concwatch.system.child import describe_exit, explain_start_error

END_LIMIT = 5.0
"""Seconds that it gets to end by itself once it is asked to."""

_PR_SET_PDEATHSIG = 1


def _end_with_monitor() -> Callable[[], None] | None:
    """Return what has a new child be asked to end when this process dies, where the system can do that."""
    if not sys.platform.startswith("linux"):
        return None
    import ctypes  # only here: few commands need it

    prctl, number = ctypes.CDLL(None).prctl, int(signal.SIGTERM)
    return lambda: prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)


class Program:
    """A command of the user's own, and all processes below it.

    Start it on the main thread: it is asked to end when the thread that started it dies.
    """

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        *,
        output: IO[bytes] | int | None = None,
        errors: IO[bytes] | int | None = None,
        apart: bool = False,
        keep: bool = False,
    ) -> None:
        """Start ``command``.

        Args:
            command: the program and its arguments.
            environment: its variables.
            output: where its standard output goes; None leaves it this program's own.
            errors: the same for standard error.
            apart: whether it gets a session of its own and nothing to read, as beside a screen.
            keep: whether it lives on when this process dies.

        Raises:
            ValueError: one line: it could not be started.
        """
        self.command = tuple(command)
        if shutil.which(command[0], path=environment.get("PATH")) is None:
            raise ValueError(f'"{command[0]}": no such program: expected a command after --')
        try:
            self._process = subprocess.Popen(
                list(command),
                env=dict(environment),
                stdin=subprocess.DEVNULL if apart else None,
                stdout=output,
                stderr=errors,
                start_new_session=apart,
                preexec_fn=None if keep else _end_with_monitor(),
            )
        except (OSError, subprocess.SubprocessError, ValueError) as error:
            raise ValueError(f'"{command[0]}": {explain_start_error(error)}') from None
        self._apart = apart
        self._group = self.pid if apart else os.getpgrp()
        self._known: dict[int, psutil.Process] = {}
        with contextlib.suppress(psutil.Error):
            self._known[self.pid] = psutil.Process(self.pid)

    @property
    def pid(self) -> int:
        """Its own process."""
        return self._process.pid

    @property
    def status(self) -> int | None:
        """Its exit status, negative for a signal; None while it runs."""
        return self._process.poll()

    @property
    def exit_status(self) -> int:
        """Its exit status as a shell has it: 128 and the number of a signal that killed it."""
        status = self.status or 0
        return 128 - status if status < 0 else status

    def how_it_ended(self) -> str:
        """Return how it ended, in words."""
        return describe_exit(self.status or 0)

    def family(self) -> Mapping[int, psutil.Process]:
        """Return its process and all that came of it and run now, by pid: also those without their parent."""
        self._known = {pid: process for pid, process in self._known.items() if runs(process)}
        children: dict[int, list[psutil.Process]] = {}
        for process in psutil.process_iter(["ppid"]):
            children.setdefault(process.info["ppid"], []).append(process)
        unseen = [*self._known, self.pid]
        while unseen:
            for child in children.get(unseen.pop(), ()):
                if child.pid not in self._known and runs(child):
                    self._known[child.pid] = child
                    unseen.append(child.pid)
        return self._known

    def ask_to_end(self) -> None:
        """Ask it to end, as a shell does that is told to."""
        if self.status is None:
            self.family()  # what has come of it is not found any more once it has ended
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(signal.SIGTERM)

    def left(self) -> Sequence[psutil.Process]:
        """Return what it has left behind: processes of its group. One in a group of its own is a daemon."""
        found = []
        # Beside a screen the group is the program's own; else that of a shell, with who knows what in it.
        for pid in psutil.pids() if self._apart else self.family():
            with contextlib.suppress(psutil.Error, OSError):
                if (
                    pid != self.pid
                    and os.getpgid(pid) == self._group
                    and runs(process := psutil.Process(pid))
                ):
                    found.append(process)
        return found

    def ask_left_to_end(self) -> None:
        """Ask what it has left behind to end."""
        for process in self.left():
            with contextlib.suppress(psutil.Error, OSError):
                process.terminate()

    def kill(self) -> None:
        """End it and what is left of its group, by force."""
        if self.status is None:
            self._process.kill()
        for process in self.left():
            with contextlib.suppress(psutil.Error, OSError):
                process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(END_LIMIT)


def runs(process: psutil.Process) -> bool:
    """Return whether a process runs, and is not one that has ended and waits for its parent."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except (psutil.Error, OSError):
        return False


def name_of(process: psutil.Process) -> str:
    """Return what a process is called by its command line."""
    try:
        parts = process.cmdline()
        program = os.path.basename(parts[0])[:60] if parts else process.name()
        return called_by(parts) if program.startswith(("python", "pypy")) else program
    except (psutil.Error, OSError, IndexError):
        return "process"


def why_outside(process: psutil.Process, address: str) -> str:
    """Return why there is no agent in a process, and what would bring one in.

    Args:
        process: the process.
        address: the socket that its agent would have connected to, from its environment.
    """
    try:
        program, options = os.path.basename(process.exe()), process.cmdline()[1:]
    except (psutil.Error, OSError):
        return "it may not be looked at: expected a process of this user"
    if "python" not in program and "pypy" not in program:
        return f"{program} is no Python"
    if any(option.startswith("-") and set(option[1:]) & set("IES") for option in _before_program(options)):
        return "its Python takes no sitecustomize (-I, -E or -S): call concwatch.agent.start() in its code"
    with contextlib.suppress(psutil.Error, OSError):
        if process.environ().get("CONCWATCH_AGENT") != address:
            return "its environment was emptied: call concwatch.agent.start() in its code"
    return "its Python has not started the agent: it may be older than 3.9"


def _before_program(options: Sequence[str]) -> Sequence[str]:
    """Return the interpreter's own short options."""
    found: list[str] = []
    for option in options:
        if not option.startswith("-") or option.startswith(("--", "-c", "-m")):
            break
        if not option.startswith(("-W", "-X")):
            found.append(option)
    return found
