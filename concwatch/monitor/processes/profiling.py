"""The profile of a watched process: asked for, and received when it is done."""

from collections.abc import Callable

from concwatch.links.agent_messages import Profile

COMMAND = "profile"
"""The agent's command, and its answer."""

SECONDS = 10.0
"""For how long stacks are sampled."""

MAX_SECONDS = 600.0
"""The most seconds for which an agent samples them."""

OVERDUE = 5.0
"""Seconds after the end at which no answer is expected any more."""


class Profiling:
    """Asks an agent where CPU time goes.

    Args:
        send: sends a command to the agent.
    """

    def __init__(self, send: Callable[..., object]) -> None:
        self._send = send
        self._ends = 0.0
        self.seconds = 0.0
        """For how long stacks are sampled."""
        self.asked = False
        """Whether an answer is expected."""
        self.profile: Profile | None = None
        """The answer; None before it has arrived."""
        self.problem = ""
        """Why there will be none; empty while that is not known."""

    def start(self, now: float, seconds: float = SECONDS) -> None:
        """Ask for a profile, unless one is being made."""
        if not self.asked:
            self.asked, self.profile, self.problem = True, None, ""
            self._ends, self.seconds = now + seconds, seconds
            self._send(COMMAND, seconds=seconds)

    def end(self) -> None:
        """Ask for what has been sampled so far."""
        if self.asked:
            self._send(COMMAND, seconds=0)

    def add(self, profile: Profile) -> None:
        """Handle the answer."""
        self.profile, self.asked = profile, False

    def refuse(self, problem: str) -> None:
        """Handle the reason why there will be no answer."""
        self.problem, self.asked = problem, False

    def left(self, now: float) -> float:
        """Return how many seconds are left at ``now``; there will be no answer if it is overdue."""
        if self.asked and now > self._ends + OVERDUE:
            self.refuse("its agent has not answered")
        return max(0.0, self._ends - now)
