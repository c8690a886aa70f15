"""The connection to the agent in a watched process."""

from collections.abc import Callable, Iterable

from concwatch.links.agent_link import AgentArrival, AgentLink
from concwatch.links.agent_messages import AgentTick
from concwatch.monitor.processes.agent_errors import AgentErrorLog
from concwatch.monitor.processes.profiling import Profiling
from concwatch.monitor.verdicts.events import EventSink
from concwatch.monitor.workers.worker_log import WorkerLog

STALL = 1.0
"""Seconds without a report after which a process is stalled. The agent reports from its own thread."""


class AgentConnection:
    """Sends commands to one agent after another of a process, and receives their messages.

    Args:
        log: adds an event.
        request_stack: sends the process a signal that makes it write its stack.
        now: the time in seconds.
    """

    def __init__(self, log: EventSink, request_stack: Callable[[int], object], now: float) -> None:
        self.heard = now
        """When the agent connected or sent its last tick."""
        self.log = WorkerLog(log, now)
        """What it has refused, and invalid messages."""
        self.errors = AgentErrorLog(log)
        self.profiling = Profiling(self.send)
        self._request_stack = request_stack
        self._stack_signal = 0
        """That signal; 0 if unknown."""
        self._link: AgentLink | None = None

    @property
    def is_open(self) -> bool:
        """Whether there is a connection."""
        return self._link is not None

    def open(self, link: AgentLink, now: float) -> None:
        """Use a new connection."""
        self._link, self.heard = link, now

    def arrivals(self) -> Iterable[AgentArrival]:
        """Return the messages that have been received since the last call."""
        return self._link.arrivals() if self._link else ()

    def send(self, type_: str, **fields: object) -> None:
        """Send a command to the agent."""
        if self._link is not None:
            self._link.send(type_, **fields)

    def request_stack(self) -> None:
        """Ask for the stack of the main thread, which the agent itself cannot read now."""
        if self._stack_signal:
            self._request_stack(self._stack_signal)

    def add_tick(self, tick: AgentTick, now: float) -> None:
        """Record that a tick has arrived."""
        self.heard = now
        self._stack_signal = tick.stack_signal or self._stack_signal

    def stalled_for(self, tick: AgentTick | None, now: float) -> float:
        """Return the seconds since the last ``tick``, or its lag if longer; 0 if below `STALL`."""
        if self._link is None or tick is None:
            return 0.0
        longest = max(now - self.heard, tick.lag or 0.0)
        return longest if longest >= STALL else 0.0

    def forget(self) -> None:
        """Forget the connection, which has ended."""
        self._link = None

    def refuse(self, why: str) -> None:
        """End what was asked for, of which nothing is expected any more."""
        if self.profiling.asked:
            self.profiling.refuse(why)

    def detach(self) -> None:
        """Make the agent remove its hooks; the process continues."""
        self.send("detach")
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self.refuse("the process has ended")
        if self._link is not None:
            self._link.close()
            self._link = None
