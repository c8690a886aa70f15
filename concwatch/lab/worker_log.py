"""What one worker adds to the event log, however much it says and whatever nonsense."""

from collections.abc import Callable

from concwatch.lab.events import Severity
from concwatch.units import format_count

AT_ONCE = 30
A_SECOND = 3.0
"""Events: so many at once, then so many a second. A person at the slider causes fewer."""

SUMMARY = 10.0
"""Seconds between two summaries of what was not told."""

MOST_GARBAGE = 100
"""Lines that are not of the wire, or cannot be, after which a worker is given up."""

LONGEST_MESSAGE = 1_000
LONGEST_DETAIL = 8_000
LONGEST_NOISE = 200
"""Characters that are kept: of a message and of noise the first, of a traceback the last."""


class WorkerLog:
    """A token bucket for a worker's reports; of what it says wrongly only the first is told.

    Time is passed in, in seconds.
    """

    def __init__(self, say: Callable[[str, Severity], None], now: float) -> None:
        self._say = say
        self._left = float(AT_ONCE)
        self._at = self._summary_due = now
        self._refused = 0
        self._garbage = 0
        self._first_garbage = ""
        self._told: set[str] = set()

    def add(self, now: float, text: str, severity: Severity = "info", detail: str | None = None) -> None:
        """Log a report, or count it where there are too many."""
        self._left = min(AT_ONCE, self._left + (now - self._at) * A_SECOND)
        self._at = now
        if self._left < 1:
            self._refused += 1
            return
        self._left -= 1
        traceback = f"\n{detail[-LONGEST_DETAIL:].rstrip()}" if detail else ""
        self._say(text[:LONGEST_MESSAGE] + traceback, severity)

    def summarize(self, now: float) -> None:
        """Log how many reports were dropped, `SUMMARY` seconds apart."""
        if self._refused and now >= self._summary_due:
            self._say(f"{format_count(self._refused)} more of its reports are not told here", "warning")
            self._refused, self._summary_due = 0, now + SUMMARY

    def add_garbage(self, message: str) -> str:
        """Take what is not of the wire, or cannot be; return why to give the worker up, or nothing."""
        self._garbage += 1
        if self._garbage == 1:
            self._first_garbage = message
            self._say(message, "warning")
        if self._garbage <= MOST_GARBAGE:
            return ""
        return f"more than {MOST_GARBAGE} of its lines could not be used, the first: {self._first_garbage}"

    def add_noise(self, text: str) -> None:
        """Take what was written to standard error."""
        if text.strip():
            self._log_first("noise", f"wrote: {text.strip().splitlines()[0][:LONGEST_NOISE]}", "info")

    def add_flood(self, message: str) -> None:
        """Take that the worker is made to wait."""
        self._log_first(message, message, "warning")

    def _log_first(self, kind: str, text: str, severity: Severity) -> None:
        if kind not in self._told:
            self._told.add(kind)
            self._say(text, severity)
