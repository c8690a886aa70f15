"""What a watched process is at one moment."""

from typing import Literal

from msgspec import Struct

from concwatch.links.agent_messages import AgentReady
from concwatch.links.messages import TracedLines
from concwatch.monitor.metrics.state import State
from concwatch.monitor.verdicts.rss_parts import RssParts
from concwatch.system.process import Reading


class ProcessNow(Struct, frozen=True):
    """What a process is now, and how it is watched, apart from its tasks."""

    name: str
    """The name that the system or its agent reports."""
    ppid: int
    """Its parent."""
    state: State = State.STARTING
    how: Literal["starting", "agent", "outside"] = "starting"
    """``"outside"`` if it has no agent, ``"starting"`` while one may still connect."""
    reason: str = ""
    """Why it has no agent, or how it ended."""
    waiting: bool = False
    """Whether its agent is not connected yet, because it has had no tasks and no threads so far."""
    exited_normally: bool = False
    """Whether its agent has reported the exit."""
    time_is_up: bool = False
    """Whether it is ended because its time is up, so that its last figures are the result."""
    ready: AgentReady | None = None
    """What its agent is; None before it has connected."""
    reading: Reading | None = None
    """The system's figures, when they were last read."""
    memory: RssParts | None = None
    """What RSS is made of, as its agent has answered last."""
    lines: TracedLines | None = None
    """The lines that hold traced memory; None before its agent has answered."""

    @property
    def alive(self) -> bool:
        """Whether it is running, as far as is known."""
        return self.state not in (State.OFF, State.FAILED)

    @property
    def ended_unreported(self) -> bool:
        """Whether it has ended without the last report of its agent."""
        return not (self.alive or self.exited_normally or self.time_is_up)

    @property
    def detects_blocks(self) -> bool:
        """Whether its agent detects blocked event loops."""
        return self.ready is not None and "blocks" in self.ready.flags

    @property
    def rss(self) -> int | None:
        """Its RSS in bytes; None before it was read."""
        return self.reading.rss if self.reading else None

    @property
    def agent_began(self) -> float | None:
        """When its agent started, on the agent's clock; None if unknown."""
        return self.ready.started if self.ready else None

    def so_far(self, count: int | None) -> int | None:
        """Return a count that never falls; None for 0 if it has ended without its last report."""
        return count if count or self.alive or self.exited_normally else None

    def was_replaced_by(self, ready: AgentReady) -> bool:
        """Return whether ``ready`` comes from another program that this process has executed."""
        before = self.agent_began if self.alive and not self.waiting else None
        return before is not None and ready.started != before
