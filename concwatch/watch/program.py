"""The program that is watched: how it is started, what belongs to it, and how it is ended."""

import contextlib
import os
import shutil
import signal
import subprocess
from collections.abc import Collection, Mapping, Sequence
from typing import IO

from concwatch.system.child import describe_exit, explain_start_error
from concwatch.system.processes import Process, children_of, find_process, pids
from concwatch.system.spawn import end_with_parent

END_LIMIT = 5.0
"""Seconds that it gets to end by itself once it is asked to."""


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
                preexec_fn=None if keep else end_with_parent(signal.SIGTERM),
            )
        except (OSError, subprocess.SubprocessError, ValueError) as error:
            raise ValueError(f'"{command[0]}": {explain_start_error(error)}') from None
        self._apart = apart
        self._group = self.pid if apart else os.getpgrp()
        self._known: dict[int, Process] = {}
        self.family()

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

    def family(self) -> Collection[int]:
        """Return its process and all that came of it and run now, also those without their parent."""
        self._known = {pid: known for pid, known in self._known.items() if _is_still(known)}
        own = {self.pid} if self.status is None else set()
        for pid in own | children_of(own | self._known.keys()):
            found = find_process(pid)
            if found is not None:
                self._known[pid] = found
        return self._known.keys()

    def ask_to_end(self) -> None:
        """Ask it to end, as a shell does that is told to."""
        if self.status is None:
            self.family()  # what has come of it is not found any more once it has ended
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(signal.SIGTERM)

    def left(self) -> Collection[int]:
        """Return what it has left behind: processes of its group. One in a group of its own is a daemon."""
        # Beside a screen the group is the program's own; else that of a shell, with who knows what in it.
        candidates = map(find_process, pids() if self._apart else self.family())
        return [found.pid for found in candidates if found and found.group == self._group != found.pid]

    def ask_left_to_end(self) -> None:
        """Ask what it has left behind to end."""
        self._signal_left(signal.SIGTERM)

    def _signal_left(self, number: int) -> None:
        for pid in self.left():
            with contextlib.suppress(OSError):
                os.kill(pid, number)

    def kill(self) -> None:
        """End it and what is left of its group, by force."""
        if self.status is None:
            self._process.kill()
        self._signal_left(signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(END_LIMIT)


def _is_still(known: Process) -> bool:
    """Return whether a process runs, and is not another one with its pid."""
    found = find_process(known.pid)
    return found is not None and found.started == known.started
