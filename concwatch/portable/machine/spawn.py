"""How child processes are started: their priority, and their end with this process. Bridges use it, too."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional, Tuple

NICENESS = 5
"""The niceness of workers, which keeps the screen responsive while they use all cores."""

_KILLED_FIRST = b"1000"
"""The highest ``oom_score_adj``; raising it needs no privilege."""

_pipe: Optional[Tuple[int, int]] = None
"""A pipe whose only write end is this process's: it closes when this process ends."""


class ChildSetup:
    """Sets up a child process from outside: its niceness, and on Linux its end with this process.

    A ``preexec_fn`` could deadlock, since this process has threads. The child must have a session of its own
    and inherit `descriptors`; once it has started, `apply` sets up the rest::

        with ChildSetup(NICENESS) as setup:
            child = Popen(command, start_new_session=True, pass_fds=setup.descriptors)
            setup.apply(child.pid)

    Args:
        niceness: how much is added to this process's.
        group: whether the processes that it starts end with this process as well.

    Raises:
        OSError: too many files are open.
    """

    def __init__(self, niceness: int, *, group: bool = False) -> None:
        self._niceness = niceness
        self._group = group
        self.descriptors: Tuple[int, ...] = ()
        """What the child inherits: a read end of the pipe, of whose closing it is notified by ``SIGKILL``."""
        if sys.platform.startswith("linux"):
            global _pipe
            _pipe = _pipe or os.pipe()
            # Opened anew for each child: owner and signal are those of an open file, not of a pipe.
            self.descriptors = (os.open(f"/proc/self/fd/{_pipe[0]}", os.O_RDONLY | os.O_NONBLOCK),)

    def apply(self, pid: int) -> None:
        """Set the niceness of a child that has started, and have it killed when this process ends.

        It is also the first to be killed when memory runs out. A child that has ended already is ignored.
        """
        if sys.platform == "win32":
            return
        try:
            # The group, which is the child's own: the process alone would be its first thread only.
            niceness = os.getpriority(os.PRIO_PROCESS, 0) + self._niceness
            os.setpriority(os.PRIO_PGRP, pid, niceness)
            for descriptor in self.descriptors:
                _send_when_closed(descriptor, -pid if self._group else pid, signal.SIGKILL)
                with open(f"/proc/{pid}/oom_score_adj", "wb", buffering=0) as file:
                    file.write(_KILLED_FIRST)
        except OSError:
            pass

    def __enter__(self) -> ChildSetup:
        return self

    def __exit__(self, *_: Any) -> None:
        for descriptor in self.descriptors:
            os.close(descriptor)


def kill_session(pid: int) -> None:
    """Kill all processes of a session, of which ``pid`` is the leader."""
    try:
        if sys.platform == "win32":
            os.kill(pid, signal.SIGTERM)
        else:
            os.killpg(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass


def _send_when_closed(descriptor: int, pid: int, number: int) -> None:
    """Have a signal sent when the write end of a pipe closes, as by the end of this process.

    ``pid`` is that of a process; if negative, that of a process group.
    """
    import fcntl

    if sys.platform == "linux":
        fcntl.fcntl(descriptor, fcntl.F_SETOWN, pid)
        fcntl.fcntl(descriptor, fcntl.F_SETSIG, number)
        fcntl.fcntl(descriptor, fcntl.F_SETFL, fcntl.fcntl(descriptor, fcntl.F_GETFL) | os.O_ASYNC)


class Terminator:
    """A shell that sends ``SIGTERM`` to a process once this process has ended, however it ends.

    For programs of the user's: they inherit nothing from it, and no code runs in them before they are
    executed. The kernel's own signal (``PR_SET_PDEATHSIG``) would come once for each thread of this process.
    """

    def __init__(self) -> None:
        """Start the shell, which waits until its input is closed. Do so before the process is started."""
        self._shell: Optional[subprocess.Popen[bytes]] = None
        with contextlib.suppress(OSError):  # there is no shell, or the system has no more processes
            self._shell = subprocess.Popen(
                ["/bin/sh", "-c", 'read -r pid && { read -r _ || kill -s TERM "$pid"; }'],
                stdin=subprocess.PIPE,
                bufsize=0,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )

    def watch(self, pid: int) -> None:
        """Set the process that gets the signal, directly after its start."""
        if self._shell is not None and self._shell.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self._shell.stdin.write(b"%d\n" % pid)

    def release(self) -> None:
        """End the shell: the process has ended, and its pid may become another one's."""
        if self._shell is not None:
            self._shell.communicate(b"\n")
