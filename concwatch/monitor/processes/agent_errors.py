"""The errors of the agent itself in one watched process."""

from operator import attrgetter

from concwatch.links.agent_messages import AgentErrorKind, AgentErrors
from concwatch.monitor.verdicts.events import EventSink

kind_of_error = attrgetter("error", "where", "figures")
"""Returns what the errors of one kind have in common."""


def error_text(kind: AgentErrorKind) -> str:
    """Return the text of an event about an error of an agent."""
    what = f"what it reports of {kind.figures}" if kind.figures else "what it reports"
    return f"error in its agent: {kind.error} at {kind.where}; {what} may be missing or wrong"


class AgentErrorLog:
    """Keeps the last report of an agent's errors, and logs each kind once.

    Args:
        log: adds an event.
    """

    def __init__(self, log: EventSink) -> None:
        self.found: AgentErrors | None = None
        """The last report; None if it is unknown whether there were any."""
        self._log = log
        self._told: set[tuple[str, ...]] = set()
        """The kinds that were logged."""

    def add(self, found: AgentErrors) -> None:
        """Record a report."""
        for one in found.kinds:
            if kind_of_error(one) not in self._told:
                self._told.add(kind_of_error(one))
                self._log(error_text(one), "warning", "agent_error")
        self.found = found
