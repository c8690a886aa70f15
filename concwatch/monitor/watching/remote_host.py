"""A remote host with a watched program, as its bridge reports it."""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Collection, Sequence

import msgspec

from concwatch.hosts.host import Host
from concwatch.hosts.link import HostLink
from concwatch.links.agent_link import AgentLink
from concwatch.links.link import Ended
from concwatch.links.messages import (
    AgentLine,
    Error,
    Exited,
    HostFigures,
    Output,
    Processes,
    ProcessRow,
    Started,
)
from concwatch.links.program import StartedProgram
from concwatch.links.readings import ReportedReadings
from concwatch.monitor.lanes.host_lanes import RemoteMachine
from concwatch.monitor.metrics.snapshot import HostStatus
from concwatch.monitor.processes.watched_host import WatchedHost
from concwatch.portable.protocol.text import one_line
from concwatch.system.machine import Load
from concwatch.system.memory import Memory
from concwatch.system.process import Reading

LOST = 255
"""The exit status of a program whose host is lost, as with ssh."""

FINISH_TIMEOUT = 5.0
"""Seconds that the program may take to exit, and then the bridge."""

MAX_UNREAD = 10_000
"""Reports of one agent that are buffered; older ones are dropped."""


class RelayTransport:
    """A connection to an agent on a remote host, whose bridge relays it.

    Args:
        number: the bridge's number of the connection.
        send: sends a command to the bridge.
    """

    def __init__(self, number: int, send: Callable[..., None]) -> None:
        self.open = True
        """Whether the connection is open."""
        self._number = number
        self._send = send
        self._lines: deque[bytes] = deque(maxlen=MAX_UNREAD)

    @property
    def waiting(self) -> bool:
        """Whether lines have been received and not been returned."""
        return bool(self._lines)

    def feed(self, line: bytes) -> None:
        """Add a line received from the agent; ``null`` ends the connection."""
        if line == b"null":
            self.open = False
        else:
            self._lines.append(line)

    def lines(self, most: int) -> Sequence[bytes]:
        """Return up to ``most`` received lines."""
        return [self._lines.popleft() for _ in range(min(most, len(self._lines)))]

    def send(self, line: bytes) -> None:
        """Send a line."""
        self._send("agent", connection=self._number, line=line.decode().rstrip("\n"))

    def close(self) -> None:
        """Close the connection."""
        if self.open:
            self._send("agent", connection=self._number, line=None)
            self.open = False


class RemoteProgram(StartedProgram):
    """A program on a remote host."""

    def __init__(self, command: Sequence[str]) -> None:
        super().__init__(command)
        self._pid = 0
        self._status: int | None = None
        self._problem = ""

    @property
    def pid(self) -> int:
        """The pid of its main process; 0 before it has started."""
        return self._pid

    @property
    def status(self) -> int | None:
        """Its exit status, negative for a signal, `LOST` if the host is lost; None while it runs."""
        return self._status

    def handle_start(self, pid: int) -> None:
        """Record that it has started."""
        self._pid = pid

    def handle_exit(self, status: int, problem: str = "") -> None:
        """Record its exit status, or the ``problem`` due to which it is not known."""
        self._status, self._problem = status, problem

    def describe_exit(self) -> str:
        """Return how it ended, or why that is not known, in words."""
        return self._problem or super().describe_exit()


class _RowReader:
    """Reads the figures of a process from the last report of the bridge."""

    def __init__(self, last_row: Callable[[], tuple[float, ProcessRow] | None]) -> None:
        self._last_row = last_row
        self._readings = ReportedReadings()

    def read(self) -> Reading | None:
        """Return the figures of the last report; None if the process has ended."""
        found = self._last_row()
        return self._readings.reading(*found) if found else None


class RemoteHost(WatchedHost):
    """A host behind a bridge. Its first step needs a running event loop.

    Args:
        host: the host to connect to.
        command: the program to start there and its arguments; empty to only attach to processes.
        write: called with the program's output.
        options: the commands of agents that are in effect from the beginning.
    """

    def __init__(
        self,
        host: Host,
        command: Sequence[str] = (),
        write: Callable[[str], object] = str,
        options: Sequence[str] = (),
    ) -> None:
        self.host, self.name = host, host.name
        self.program = RemoteProgram(command) if command else None
        self.problem = ""
        """Why the host cannot be reached, or was lost, in one line."""
        self._write = write
        self._link: HostLink | None = None
        self._unsent: list[tuple[str, dict[str, object]]] = []
        if command:
            self._unsent.append(("watch", {"command": list(command), "options": list(options)}))
        self._machine = RemoteMachine()
        self._agents: dict[int, tuple[int, RelayTransport]] = {}
        """By the bridge's number of the connection: the pid of the agent's process, and the connection."""
        self._new: list[AgentLink] = []
        self._ending = self._ended = False  # the connection
        self._rows_time = 0.0
        self._rows: dict[int, ProcessRow] = {}

    def _send(self, type_: str, **fields: object) -> None:
        if self._link is None:
            self._unsent.append((type_, fields))
        elif not self._ending:
            self._link.send(type_, **fields)

    def step(self) -> None:
        """Process the messages received since the last step; connect on the first one."""
        if self._ended:
            return
        if self._link is None:
            self._link = HostLink(self.host, None, plain=True)
            for type_, fields in self._unsent:
                self._link.send(type_, **fields)
        for arrival in self._link.arrivals(time.monotonic()):
            match arrival:
                case HostFigures():
                    self._machine.update(arrival)
                case Processes(at, rows):
                    self._rows_time, self._rows = at, {row.pid: row for row in rows}
                case AgentLine(number, pid, report):
                    self._feed_agent(number, pid, report)
                case Output(text):
                    self._write(text)
                case Started(pid) if self.program:
                    self.program.handle_start(pid)
                case Exited(status) if self.program:
                    self.program.handle_exit(status)
                case Error(message=message):
                    self._handle_problem(message)
                case Ended(reason=reason):
                    if not self._ending:
                        self._handle_problem(reason)
                    self._ended = True

    def _feed_agent(self, number: int, pid: int, report: msgspec.Raw) -> None:
        line = bytes(report)
        if number not in self._agents and line != b"null":
            transport = RelayTransport(number, self._send)
            self._agents[number] = pid, transport
            self._new.append(AgentLink(transport, pid))
        if number in self._agents:
            self._agents[number][1].feed(line)
        if line == b"null":  # what has been received is with its lane
            self._agents.pop(number, None)

    def _handle_problem(self, reason: str) -> None:
        self.problem = self.problem or f"{self.host.name}: {one_line(reason)}"
        self._rows.clear()
        for _, transport in self._agents.values():
            transport.open = False
        if self.program and self.program.status is None:
            self.program.handle_exit(LOST, self.problem)

    def accept(self) -> Sequence[AgentLink]:
        """Return the agents that have connected since the last call."""
        agents, self._new = self._new, []
        return agents

    def family(self) -> Collection[int]:
        """Return the pids of the watched processes that are running."""
        return self._rows.keys()

    def parent_and_name(self, pid: int) -> tuple[int, str]:
        """Return the pid of a process's parent, and the process's name; raises LookupError."""
        row = self._rows[pid]
        return row.ppid, one_line(row.name)[:200]

    def attach(self, pid: int, gdb: bool) -> None:
        """Make the bridge load the agent into a running process, if possible."""
        self._send("attach", pid=pid, gdb=gdb)

    def why_no_agent(self, pid: int) -> str:
        """Return why a process has no agent; empty while one may still connect."""
        row = self._rows.get(pid)
        return one_line(row.why) if row else ""

    def reader(self, pid: int) -> _RowReader:
        """Return a reader of the reported figures of a process, which may not have been reported yet."""
        return _RowReader(lambda: (self._rows_time, self._rows[pid]) if pid in self._rows else None)

    def exists(self, pid: int) -> bool:
        """Return whether a process was in the last report, or its agent is connected."""
        return pid in self._rows or any(
            agent == pid and transport.open for agent, transport in self._agents.values()
        )

    def load(self) -> Load:
        """Return the CPU time used by all programs as of the last report."""
        return self._machine.load()

    def memory(self) -> Memory:
        """Return the memory of the host as of the last report."""
        return self._machine.memory()

    def hosts(self, busy: float | None) -> tuple[HostStatus, ...]:
        """Return the status of the host, once it has been reported."""
        status = self._machine.status(self.name, busy, self._link.delay if self._link else None)
        return (status,) if status else ()

    async def finish(self) -> None:
        """Terminate the program, and then close the connection."""
        if self._link is None or self._ending:
            return
        program = self.program
        if program:
            self._send("stop")
            await self._step_until(lambda: program.status is not None)
        for _, transport in self._agents.values():
            transport.close()
        self._link.send("end")
        self._ending = True
        await self._step_until(lambda: False)
        await self._link.close()

    async def _step_until(self, condition: Callable[[], bool]) -> None:
        """Step until a condition is true, the connection has ended, or `FINISH_TIMEOUT` has passed."""
        deadline = time.monotonic() + FINISH_TIMEOUT
        while not condition() and not self._ended and time.monotonic() < deadline:
            self.step()
            await asyncio.sleep(0.02)

    def close(self) -> None:
        """Send no more commands; `finish` closes the connection."""
        self._ending = True
