"""Another host as the place of a watched program: what its bridge reports, as `Watching` asks for it."""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Collection, Sequence

import msgspec

from concwatch import wire
from concwatch.hosts.host import Host
from concwatch.hosts.link import HostLink
from concwatch.lab.host_lanes import OtherMachine
from concwatch.lab.snapshot import HostStatus
from concwatch.links.agent_messages import AgentReport, decode_report
from concwatch.links.link import Ended, Garbage
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
from concwatch.links.pipe_bytes import MAX_LINES
from concwatch.system.child import describe_exit
from concwatch.system.machine import Load
from concwatch.system.memory import Memory
from concwatch.system.process import CpuShare, Reading
from concwatch.text import one_line

LOST = 255
"""The exit status of a program whose host is lost, as of ssh."""

END_LIMIT = 5.0
"""Seconds that the program there gets to end, and then the bridge."""

MOST_WAITING = 10_000
"""Reports of one agent that are kept until they are reset at."""


class RelayedAgent:
    """A connection to an agent on another host."""

    def __init__(self, number: int, pid: int, send: Callable[..., None]) -> None:
        """Relay what has the ``number``; ``send`` sends a command to the bridge."""
        self.pid = pid
        self._number = number
        self._send = send
        self._lines: deque[bytes] = deque(maxlen=MOST_WAITING)
        self.open = True
        self._over = False

    def feed(self, line: bytes) -> None:
        """Take a line; ``null`` is the end."""
        if line == b"null":
            self.end()
        else:
            self._lines.append(line)

    def end(self) -> None:
        """Note that nothing more will come."""
        self.open = False

    def arrivals(self, most: int = MAX_LINES) -> Sequence[AgentReport | Garbage | Ended]:
        """Return what has come since the last call, so many at most; `Ended` is the last."""
        found: list[AgentReport | Garbage | Ended] = []
        while self._lines and len(found) < most:
            try:
                report = decode_report(self._lines.popleft())
            except ValueError as error:
                found.append(Garbage(str(error)))
                continue
            if report is not None:
                found.append(report)
        if not self.open and not self._lines and not self._over and len(found) < most:
            self._over = True
            found.append(Ended("the agent's connection ended"))
        return found

    def send(self, type_: str, **fields: object) -> None:
        """Send one command."""
        if self.open:
            line = wire.encode(type_, **fields).decode().rstrip("\n")
            self._send("agent", connection=self._number, line=line)

    def close(self) -> None:
        """Close the connection: the agent takes its hooks back, and the process goes on."""
        if self.open:
            self._send("agent", connection=self._number, line=None)
            self.open = False


class RelayedProgram:
    """The program there."""

    def __init__(self, command: Sequence[str], stop: Callable[[], None]) -> None:
        """Follow what ``command`` started; ``stop`` asks it to end."""
        self.command = tuple(command)
        self.pid = 0
        self.status: int | None = None
        self.reason = ""
        """Why it cannot be followed any more, if so."""
        self.ask_to_end = stop

    @property
    def exit_status(self) -> int:
        """Its exit status as a shell has it: 128 and the number of a signal that killed it."""
        status = self.status or 0
        return 128 - status if status < 0 else status

    def how_it_ended(self) -> str:
        """Return how it ended, in words."""
        return self.reason or describe_exit(self.status or 0)


class _Reader:
    """The figures of a process that were reported last."""

    def __init__(self, row: Callable[[], tuple[float, ProcessRow] | None]) -> None:
        self._row = row
        self._share: CpuShare | None = None

    def read(self) -> Reading | None:
        """Return what was reported last; None when the process has gone."""
        found = self._row()
        if found is None:
            return None
        at, row = found
        if self._share is None:
            self._share = CpuShare(at, row.cpu_seconds)
        return Reading(
            rss=row.rss,
            cpu=self._share.at(at, row.cpu_seconds),
            threads=row.threads,
            virtual=row.virtual,
            cpu_seconds=row.cpu_seconds,
            peak_rss=row.peak_rss,
        )


class OtherHost:
    """A `concwatch.watch.place.Place` over a bridge. Its first step must be on a running event loop."""

    def __init__(self, host: Host, command: Sequence[str] = (), write: Callable[[str], object] = str) -> None:
        """Watch what ``command`` starts there, or only what is attached to.

        Args:
            host: where.
            command: the program and its arguments.
            write: takes what the program writes.
        """
        self.host, self.name = host, host.name
        self.program = RelayedProgram(command, lambda: self._send("stop")) if command else None
        self.problem = ""
        """Why the host cannot be reached, or was lost, in one line."""
        self._write = write
        self._link: HostLink | None = None
        self._waiting: list[tuple[str, dict[str, object]]] = []
        if command:
            self._waiting.append(("watch", {"command": list(command)}))
        self._machine = OtherMachine()
        self._agents: dict[int, RelayedAgent] = {}
        self._new: list[RelayedAgent] = []
        self._over = self._gone = False  # whether its end is wanted, and whether it has come
        self._at = 0.0
        self._rows: dict[int, ProcessRow] = {}
        self._attached: set[int] = set()

    def _send(self, type_: str, **fields: object) -> None:
        if self._link is None:
            self._waiting.append((type_, fields))
        elif not self._over:
            self._link.send(type_, **fields)

    def step(self) -> None:
        """Take in what has come; the first time, connect."""
        if self._gone:
            return
        if self._link is None:
            self._link = HostLink(self.host, None, plain=True)
            for type_, fields in self._waiting:
                self._link.send(type_, **fields)
        for arrival in self._link.arrivals(time.monotonic()):
            match arrival:
                case HostFigures():
                    self._machine.take(arrival)
                case Processes(at, rows):
                    self._at, self._rows = at, {row.pid: row for row in rows}
                case AgentLine(number, pid, report):
                    self._take_line(number, pid, report)
                case Output(text):
                    self._write(text)
                case Started(pid) if self.program:
                    self.program.pid = pid
                case Exited(status) if self.program:
                    self.program.status = status
                case Error(message=message):
                    self._lose(message)
                case Ended(reason=reason):
                    if not self._over:
                        self._lose(reason)
                    self._gone = True

    def _take_line(self, number: int, pid: int, report: msgspec.Raw) -> None:
        line = bytes(report)
        if number not in self._agents and line != b"null":
            self._agents[number] = RelayedAgent(number, pid, self._send)
            self._new.append(self._agents[number])
        if number in self._agents:
            self._agents[number].feed(line)

    def _lose(self, reason: str) -> None:
        self.problem = self.problem or f"{self.host.name}: {one_line(reason)}"
        self._rows.clear()
        for agent in self._agents.values():
            agent.end()
        if self.program and self.program.status is None:
            self.program.status, self.program.reason = LOST, self.problem

    def accept(self) -> Sequence[RelayedAgent]:
        """Return the agents that have connected since the last call."""
        found, self._new = self._new, []
        return found

    def family(self) -> Collection[int]:
        """Return the processes that run there and are watched."""
        return self._rows.keys()

    def facts(self, pid: int) -> tuple[int, str]:
        """Return a process's parent and what it is called.

        Raises:
            LookupError: it has gone.
        """
        row = self._rows[pid]
        return row.ppid, one_line(row.name)[:200]

    def attach(self, pid: int, gdb: bool) -> None:
        """Have a process that runs already report, where it can be made to."""
        self._attached.add(pid)
        self._send("attach", pid=pid, gdb=gdb)

    def why_outside(self, pid: int) -> str:
        """Return why there is no agent in a process; nothing while one may still come."""
        row = self._rows.get(pid)
        return one_line(row.why) if row else ""

    def look(self, pid: int) -> _Reader:
        """Return what reads the figures of a process, as far as they are reported."""
        return _Reader(lambda: (self._at, self._rows[pid]) if pid in self._rows else None)

    def exists(self, pid: int) -> bool:
        """Return whether a process was there when it was last reset, or its agent is."""
        return pid in self._rows or any(agent.open and agent.pid == pid for agent in self._agents.values())

    def load(self) -> Load:
        """Return the CPU time used there, at the last report."""
        return self._machine.load()

    def memory(self) -> Memory:
        """Return the memory there, at the last report."""
        return self._machine.memory()

    def hosts(self, busy: float | None) -> tuple[HostStatus, ...]:
        """Return what is known of it, as soon as it has answered."""
        status = self._machine.status(self.name, busy, self._link.delay if self._link else None)
        return (status,) if status else ()

    async def finish(self) -> None:
        """End the program there, and then the connection, while there is an event loop."""
        if self._link is None or self._over:
            return
        program = self.program
        if program:
            program.ask_to_end()
            await self._until(lambda: program.status is not None)
        for agent in self._agents.values():
            agent.close()
        self._link.send("end")
        self._over = True
        await self._until(lambda: False)
        self._link.kill()

    async def _until(self, condition: Callable[[], bool]) -> None:
        """Take in what comes until a condition is true or the connection has ended."""
        deadline = time.monotonic() + END_LIMIT
        while not condition() and not self._gone and time.monotonic() < deadline:
            self.step()
            await asyncio.sleep(0.02)

    def close(self) -> None:
        """Do nothing more: `finish` has ended the connection."""
        self._over = True
