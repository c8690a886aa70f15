"""Where a watched program runs: how its processes are found there, and its agents reached."""

import os
import socket
from collections.abc import Collection, Sequence
from typing import Protocol

from concwatch.agent.inject import script
from concwatch.agent.places import socket_paths
from concwatch.lab.snapshot import HostStatus
from concwatch.links.agent_link import Agent, AgentLink, AgentListener, peer_credentials
from concwatch.links.injection import inject, process_name, why_no_agent
from concwatch.system.machine import Load, load_now
from concwatch.system.memory import Memory, memory_now
from concwatch.system.process import Reading, Sampler
from concwatch.system.processes import find_process
from concwatch.watch.program import Program


class ProcessReader(Protocol):
    """What reads the figures of one process."""

    def read(self) -> Reading | None:
        """Return what is so now; None when the process has gone or may not be looked at."""
        ...


class Started(Protocol):
    """The program that is watched."""

    command: tuple[str, ...]

    @property
    def pid(self) -> int:
        """Its own process; 0 before it is known."""
        ...

    @property
    def status(self) -> int | None:
        """Its exit status, negative for a signal; None while it runs."""
        ...

    @property
    def exit_status(self) -> int:
        """Its exit status as a shell has it."""
        ...

    def how_it_ended(self) -> str:
        """Return how it ended, in words."""
        ...


class Place(Protocol):
    """A machine with processes that are watched."""

    name: str
    """The host's; empty for this machine."""
    problem: str
    """Why it cannot be reached any more, in one line; else empty."""

    def step(self) -> None:
        """Take in what has come."""
        ...

    def accept(self) -> Sequence[Agent]:
        """Return the agents that have connected since the last call."""
        ...

    def family(self) -> Collection[int]:
        """Return the processes of the program, and those attached to, that run."""
        ...

    def facts(self, pid: int) -> tuple[int, str]:
        """Return a process's parent and what it is called.

        Raises:
            LookupError: it has gone.
        """
        ...

    def attach(self, pid: int, gdb: bool) -> None:
        """Have a process that runs already report, where it can be made to."""
        ...

    def why_outside(self, pid: int) -> str:
        """Return why there is no agent in a process; nothing while one may still come."""
        ...

    def look(self, pid: int) -> ProcessReader:
        """Return what reads the figures of a process.

        Raises:
            LookupError: there is no such process.
        """
        ...

    def exists(self, pid: int) -> bool:
        """Return whether a process is there."""
        ...

    def load(self) -> Load:
        """Return the CPU time used on the machine so far."""
        ...

    def memory(self) -> Memory:
        """Return the machine's memory now."""
        ...

    async def finish(self) -> None:
        """End what only an event loop can end, before it ends itself."""
        ...

    def hosts(self, busy: float | None) -> tuple[HostStatus, ...]:
        """Return what is known of another host, whose cores are ``busy`` to such a share; nothing here."""
        ...

    def close(self) -> None:
        """Listen no more."""
        ...


class Here:
    """This machine."""

    name = problem = ""

    def __init__(self, listener: AgentListener, program: Program | None = None) -> None:
        """Find the processes of ``program``, whose agents connect to ``listener``."""
        self._listener = listener
        self._program = program
        self._attached: dict[int, str] = {}
        self._new: list[Agent] = []
        self.load, self.memory = load_now, memory_now

    def step(self) -> None:
        """Do nothing: what has come is looked at when it is asked for."""

    def accept(self) -> Sequence[Agent]:
        """Return the agents that have connected since the last call."""
        found, self._new = [*self._new, *self._listener.accept()], []
        return found

    def family(self) -> Collection[int]:
        """Return the processes of the program, and those attached to, that run."""
        own = self._program.family() if self._program else ()
        return {*own, *(pid for pid in self._attached if find_process(pid))}

    def facts(self, pid: int) -> tuple[int, str]:
        """Return a process's parent and what it is called.

        Raises:
            LookupError: it has gone.
        """
        found = find_process(pid)
        if found is None:
            raise LookupError(pid)
        return found.parent, process_name(pid)

    def attach(self, pid: int, gdb: bool) -> None:
        """Have a process that runs already report, where it can be made to."""
        link = listening(pid)
        if link is not None:
            self._new.append(link)
            self._attached[pid] = ""
            return
        file = self._listener.path.parent / f"attach-{pid}.py"
        file.write_text(script(str(self._listener.path)))
        self._attached[pid] = inject(pid, str(file), gdb) or ""

    def why_outside(self, pid: int) -> str:
        """Return why there is no agent in a process; nothing while one may still come."""
        if pid in self._attached:
            return self._attached[pid]
        return why_no_agent(pid, str(self._listener.path))

    def look(self, pid: int) -> ProcessReader:
        """Return what reads the figures of a process.

        Raises:
            LookupError: there is no such process.
        """
        if find_process(pid) is None:
            raise LookupError(pid)
        return Sampler(pid)

    def exists(self, pid: int) -> bool:
        """Return whether a process is there."""
        return (
            os.path.exists(f"/proc/{pid}") if os.path.isdir("/proc/self") else find_process(pid) is not None
        )

    def hosts(self, busy: float | None) -> tuple[HostStatus, ...]:
        """Return nothing: it is no other host."""
        return ()

    async def finish(self) -> None:
        """Do nothing: a program here is ended when the screen has gone."""

    def close(self) -> None:
        """Listen no more."""
        self._listener.close()


def listening(pid: int) -> AgentLink | None:
    """Connect to a process that called ``agent.start()``; None where it did not."""
    found = find_process(pid)
    for path in socket_paths(pid, found.user) if found else ():
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.settimeout(1.0)
            connection.connect(path)
            if found and peer_credentials(connection)[1] == found.user:
                return AgentLink(connection)
        except OSError:
            pass
        connection.close()
    return None


def why_not(pid: int) -> str | None:
    """Return why a process cannot be watched at all, in one line, or None."""
    if pid == os.getpid():
        return f"{pid} is concwatch itself: expected another process"
    found = find_process(pid)
    if found is None:
        return f"there is no process {pid}: expected one that runs"
    if found.user != os.geteuid() and os.geteuid() != 0:
        return f"{pid} is another user's: expected a process of this user"
    return None
