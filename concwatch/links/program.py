"""The watched program: how it is started, which processes belong to it, and how it is terminated."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import IO, TYPE_CHECKING, Protocol

from concwatch.portable.machine.spawn import Terminator
from concwatch.portable.protocol.text import plain
from concwatch.system.child import describe_exit, error_line, explain_start_error, shell_status
from concwatch.system.local_processes import is_running, process_table, running

if TYPE_CHECKING:
    import psutil

TERMINATION_TIMEOUT = 5.0
"""Seconds that a program may take to exit after SIGTERM."""

TAIL = 4096
"""Bytes at the end of a program's output in which something is looked for."""


class HeldSignals(Protocol):
    """Signals that are blocked in this process, and are not to be in the program that it starts."""

    @property
    def numbers(self) -> Collection[int]:
        """Their numbers."""

    def take(self) -> Sequence[int]:
        """Return those that are pending here, which this process then no longer gets.

        Called once the program is a process, and gets what is sent to the process group by itself.
        """


class StartedProgram(ABC):
    """A program that has been started, on this host or a remote one."""

    def __init__(self, command: Sequence[str]) -> None:
        self.command = tuple(command)

    @property
    @abstractmethod
    def pid(self) -> int:
        """The pid of its main process; 0 before it is known."""

    @property
    @abstractmethod
    def status(self) -> int | None:
        """Its exit status, negative for a signal; None while it runs."""

    @property
    def exit_status(self) -> int:
        """Its exit status as a shell reports it: 128 plus the signal that killed it."""
        return shell_status(self.status or 0)

    def last_line(self) -> str:
        """Return the line of its output that explains its exit; empty if that is not kept in a file here."""
        return ""

    def describe_exit(self) -> str:
        """Return how it ended, in words."""
        return describe_exit(self.status or 0)


class Program(StartedProgram):
    """A command of the user's and all its descendants, on this host.

    Start it before there are other threads: code runs in it between fork and exec, which could wait for a
    lock of theirs. It gets SIGTERM, once, if this process is killed.

    Args:
        command: the program and its arguments.
        environment: its variables.
        output: where its standard output goes; None: to concwatch's own.
        errors: the same for standard error.
        background: whether it gets a session of its own and no standard input, as behind a screen.
        keep: whether it continues when this process is killed.
        held: signals that are blocked in this process; the program gets those that are pending here.

    Raises:
        ValueError: it could not be started; the message is one line.
    """

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        *,
        output: IO[bytes] | int | None = None,
        errors: IO[bytes] | int | None = None,
        background: bool = False,
        keep: bool = False,
        held: HeldSignals | None = None,
    ) -> None:
        super().__init__(command)
        if shutil.which(command[0], path=environment.get("PATH")) is None:
            raise ValueError(f'no program "{command[0]}" was found; what follows -- must be a command')
        terminator = None if keep else Terminator()
        try:
            with _handing_over(held) as take_over:
                self._process = subprocess.Popen(
                    list(command),
                    env=dict(environment),
                    stdin=subprocess.DEVNULL if background else None,
                    stdout=output,
                    stderr=errors,
                    start_new_session=background,
                    # With signals sent to the group at random moments of 300 starts, one came twice when they
                    # were passed on after the start, none when the program asks between fork and exec.
                    preexec_fn=take_over,
                )
        except (OSError, subprocess.SubprocessError, ValueError) as error:
            if terminator is not None:
                terminator.release()
            raise ValueError(f'"{command[0]}": {explain_start_error(error)}') from None
        if terminator is not None:
            terminator.watch(self.pid)
        self._terminator = terminator
        self._background = background
        self._output = output if background and isinstance(output, int) else None
        self._group = self.pid if background else os.getpgrp()
        self._below: dict[int, psutil.Process] = {}

    @property
    def pid(self) -> int:
        """The pid of its main process."""
        return self._process.pid

    @property
    def status(self) -> int | None:
        """Its exit status, negative for a signal; None while it runs."""
        status = self._process.poll()
        if status is not None:
            terminator, self._terminator = self._terminator, None  # several threads ask
            if terminator is not None:
                terminator.release()
        return status

    def last_line(self) -> str:
        """Return the line of its output that explains its exit; empty if that is not kept in a file here."""
        if self._output is None:
            return ""
        start = max(0, os.fstat(self._output).st_size - TAIL)
        return plain(error_line(os.pread(self._output, TAIL, start).decode(errors="replace")))

    def family(self) -> Collection[int]:
        """Return the pids of its process and of all running descendants, including orphaned ones."""
        own = {self.pid} if self.status is None else set()
        self._below = {pid: process for pid, process in self._below.items() if is_running(process)}
        known = own | self._below.keys()
        for pid in process_table().children_of(known) - known:
            process = running(pid)
            if process is not None:
                self._below[pid] = process
        return own | self._below.keys()

    def send_signal(self, number: int) -> None:
        """Send a signal to its main process."""
        if self.status is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(number)

    def signal_group(self, number: int) -> None:
        """Send a signal to its process group, if it has one of its own."""
        if self._background and self.status is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._group, number)

    def terminate(self) -> None:
        """Send SIGTERM to its main process."""
        self.family()  # orphans are found only if they are known before
        self.send_signal(signal.SIGTERM)

    def orphans(self) -> Collection[int]:
        """Return the pids of other processes in its process group. A leader of its own group is a daemon."""
        # In the foreground the group is the shell's, which may contain unrelated processes.
        candidates = process_table().pids() if self._background else self.family()
        others = (pid for pid in candidates if _group_of(pid) == self._group != pid)
        return [pid for pid in others if running(pid)]

    def signal_orphans(self, number: int) -> None:
        """Send a signal to the processes that it has left behind."""
        for pid in self.orphans():
            with contextlib.suppress(OSError):
                os.kill(pid, number)

    def kill(self) -> None:
        """Kill it and the rest of its process group."""
        if self.status is None:
            self._process.kill()
        self.signal_orphans(signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(TERMINATION_TIMEOUT)


@contextlib.contextmanager
def _handing_over(held: HeldSignals | None) -> Iterator[Callable[[], None] | None]:
    """Yield what a new process calls before it executes a program, to unblock signals; None without one.

    It then gets those that were sent before there was that process, even if to its whole process group. It
    asks for them: what comes after the answer, it has got by itself.
    """
    if held is None:
        yield None
        return
    numbers = held.numbers
    ours, its = socket.socketpair()

    def answer() -> None:
        if ours.recv(1):
            ours.sendall(bytes([0, *held.take()]))

    def take_over() -> None:
        ours.close()  # this process's copy: if the other one is killed, there is no answer to wait for
        its.sendall(b"?")
        before = set(its.recv(len(numbers) + 1)[1:])
        for number in numbers:  # what Python's handler gets now is lost with it
            signal.signal(number, signal.SIG_DFL)
        for number in before - signal.sigpending():
            os.kill(os.getpid(), number)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, numbers)

    answering = threading.Thread(target=answer, daemon=True)
    answering.start()
    try:
        yield take_over
    finally:
        its.close()
        answering.join()
        ours.close()


def _group_of(pid: int) -> int | None:
    """Return the process group of a process; None if it has ended."""
    try:
        return os.getpgid(pid)
    except OSError:
        return None
