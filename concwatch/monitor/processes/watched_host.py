"""The host that a watched program runs on: how its processes are found and their agents reached."""

import contextlib
import os
import socket
from collections.abc import Collection, Sequence
from typing import Protocol

from concwatch.links.agent_link import AgentLink, AgentListener, SocketTransport, peer_credentials
from concwatch.links.program import Program
from concwatch.monitor.metrics.snapshot import HostStatus
from concwatch.portable.agent.attaching.inject import script
from concwatch.portable.agent.sending.places import socket_paths
from concwatch.portable.bridge.injection import inject, needs_gdb, process_name, why_no_agent
from concwatch.portable.machine.cpu_quota import throttling_of
from concwatch.portable.machine.kernel_objects import KernelObjectsSource
from concwatch.portable.machine.limits import read_fields
from concwatch.portable.machine.memory_limit import memory_limit_of
from concwatch.portable.machine.process_reader import PssReader
from concwatch.system.child import ROOT
from concwatch.system.local_processes import process_table
from concwatch.system.machine import Load, load_now
from concwatch.system.memory import Memory, memory_now
from concwatch.system.process import Reading, Sampler

CALIBRATION_DELAY = 2.0
"""Seconds of watching after which it is measured what the kernel holds for a thread and a socket."""


_objects = KernelObjectsSource(ROOT, CALIBRATION_DELAY)


class ProcessReader(Protocol):
    """Reads the memory, CPU time and threads of one process."""

    def read(self) -> Reading | None:
        """Return the current figures; None if the process has ended or may not be read."""
        ...


class WatchedHost(Protocol):
    """A host with watched processes. What a local host has no use for does nothing."""

    name: str
    """Its name; empty for this host."""
    problem: str
    """Why it cannot be reached any more, in one line; empty otherwise."""

    def step(self) -> None:
        """Process the messages received since the last step."""
        return

    def accept(self) -> Sequence[AgentLink]:
        """Return the agents that have connected since the last call."""
        ...

    def family(self) -> Collection[int]:
        """Return the pids of the program's processes and of those attached to that are running."""
        ...

    def parent_and_name(self, pid: int) -> tuple[int, str]:
        """Return the pid of a process's parent, and the process's name.

        Raises:
            LookupError: the process has ended.
        """
        ...

    def attach(self, pid: int, gdb: bool) -> None:
        """Load the agent into a running process, if possible. ``gdb``: whether gdb may stop it for that."""
        ...

    def why_no_agent(self, pid: int) -> str:
        """Return why a process has no agent; empty while one may still connect."""
        ...

    def reader(self, pid: int) -> ProcessReader:
        """Return a reader of a process's figures.

        Raises:
            LookupError: there is no such process.
        """
        ...

    def request_stack(self, pid: int, signal: int) -> None:
        """Send a process the ``stack_signal`` of its agent, if it still has a handler for it."""
        return

    def exists(self, pid: int) -> bool:
        """Return whether a process exists."""
        ...

    def load(self) -> Load:
        """Return the CPU time used by all programs so far."""
        ...

    def memory(self) -> Memory:
        """Return the current memory of the host."""
        ...

    async def finish(self) -> None:
        """Close what needs a running event loop to be closed."""
        return

    def hosts(self, busy: float | None) -> tuple[HostStatus, ...]:
        """Return the status of a remote host, whose cores are busy by the share ``busy``."""
        return ()

    def close(self) -> None:
        """Stop listening for agents."""


class LocalHost(WatchedHost):
    """This host, with the processes of ``program``, whose agents connect to ``listener``."""

    name = problem = ""

    def __init__(self, listener: AgentListener, program: Program | None = None) -> None:
        self._listener = listener
        self._program = program
        self._attached: dict[int, str] = {}  # pid → why it has no agent, or ""
        self._new: list[AgentLink] = []

    def load(self) -> Load:
        """Return the CPU time used by all programs so far."""
        return load_now()

    def memory(self) -> Memory:
        """Return the current memory of the host."""
        return memory_now()

    def accept(self) -> Sequence[AgentLink]:
        """Return the agents that have connected since the last call."""
        agents, self._new = [*self._new, *self._listener.accept()], []
        return agents

    def family(self) -> Collection[int]:
        """Return the pids of the program's processes and of those attached to that are running."""
        own = self._program.family() if self._program else ()
        return {*own, *(pid for pid in self._attached if self.exists(pid))}

    def parent_and_name(self, pid: int) -> tuple[int, str]:
        """Return the pid of a process's parent, and the process's name; raises LookupError."""
        table = process_table()
        process = table.find_process(pid)
        if process is None:
            raise LookupError(pid)
        return process.parent, process_name(pid, table)

    def attach(self, pid: int, gdb: bool) -> None:
        """Connect to a process that listens, or load the agent into it."""
        link = connect_to_listening(pid)
        if link is not None:
            self._new.append(link)
            self._attached[pid] = ""
            return
        file = self._listener.path.parent / f"attach-{pid}.py"
        file.write_text(script(str(self._listener.path)))
        self._attached[pid] = inject(pid, str(file), gdb, table=process_table()) or ""

    def why_no_agent(self, pid: int) -> str:
        """Return why a process has no agent; empty while one may still connect."""
        if pid in self._attached:
            return self._attached[pid]
        return why_no_agent(pid, str(self._listener.path), process_table())

    def reader(self, pid: int) -> ProcessReader:
        """Return a reader of a process's figures; raises LookupError."""
        if not self.exists(pid):
            raise LookupError(pid)
        try:
            return Sampler(pid, PssReader(pid), _objects.of(pid), throttling_of(pid), memory_limit_of(pid))
        except OSError:  # it has ended meanwhile
            raise LookupError(pid) from None

    def request_stack(self, pid: int, signal: int) -> None:
        """Send a process the ``stack_signal`` of its agent, if it still has a handler for it."""
        status = read_fields(f"/proc/{pid}/status")
        caught, blocked = (
            int(status.get(name, "0"), 16) >> (signal - 1) & 1 for name in ("SigCgt", "SigBlk")
        )
        if caught and not blocked:
            with contextlib.suppress(OSError):
                os.kill(pid, signal)

    def exists(self, pid: int) -> bool:
        """Return whether a process is running; one that waits to be reaped has ended."""
        return process_table().find_process(pid) is not None

    def close(self) -> None:
        """Stop listening for agents."""
        self._listener.close()


def connect_to_listening(pid: int) -> AgentLink | None:
    """Connect to a process that has called ``agent.start()``; None if it has not."""
    process = process_table().find_process(pid)
    for path in socket_paths(pid, process.user) if process else ():
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.settimeout(1.0)
            connection.connect(path)
            peer, user = peer_credentials(connection)
            if process and user == process.user:
                return AgentLink(SocketTransport(connection), peer)
        except OSError:
            pass
        connection.close()
    return None


def loads_by_gdb(pid: int) -> bool:
    """Return whether only gdb, which stops a process for a moment, can load the agent into it."""
    table = process_table()
    process = table.find_process(pid)
    listens = process is not None and any(map(os.path.exists, socket_paths(pid, process.user)))
    return not listens and needs_gdb(pid, table)


def why_not_attachable(pid: int) -> str | None:
    """Return why a process cannot be watched at all, in one line, or None."""
    if pid == os.getpid():
        return f"process {pid} is concwatch itself"
    process = process_table().find_process(pid)
    if process is None:
        return f"no process with PID {pid}"
    if process.user != os.geteuid() and os.geteuid() != 0:
        return f"process {pid} belongs to another user"
    return None
