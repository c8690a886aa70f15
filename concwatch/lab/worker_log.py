"""What one worker adds to the event log: its reports as sentences, however many and whatever nonsense."""

from concwatch.lab.events import EventSink, Severity
from concwatch.links.messages import BurstDone, Limit, Reached
from concwatch.units import counted, format_bytes, format_count, format_rate, format_seconds

AT_ONCE = 30
A_SECOND = 3.0
"""Size of the token bucket, in events, and events a second. A person at the slider causes fewer."""

SUMMARY = 10.0
"""Seconds between two summaries of what was dropped."""

MOST_GARBAGE = 100
"""Lines that are not of the wire, or cannot be, after which a worker is given up."""

LONGEST_MESSAGE = 1_000
LONGEST_DETAIL = 8_000
LONGEST_NOISE = 200
"""Characters that are kept: of a message and of noise the first, of a traceback the last."""


def name_wall(limit: Limit) -> str:
    """Name what was hit, with its value: ``vm.max_map_count (65,530)``, ``memory budget (2 GiB)``."""
    if limit.value is None:
        return limit.wall
    value = format_bytes(limit.value) if "memory" in limit.wall else format_count(limit.value)
    return f"{limit.wall} ({value})"


def limit_text(limit: Limit) -> str:
    """Return how many tasks there are, and what stops the rest."""
    detail = f": {limit.detail}" if limit.detail else ""
    tasks = f"{format_count(limit.standing)} of {format_count(limit.wanted)} tasks"
    return f"{name_wall(limit)} reached at {tasks}{detail}"


def reached_text(reached: Reached) -> str:
    """Return what became of a target, how long it took, and how fast that was."""
    took = format_seconds(reached.seconds)
    if not reached.created:
        left = f", {format_count(reached.target)} left" if reached.target else ""
        return f"{counted(reached.cancelled, 'task')} stopped in {took}{left}"
    speed = format_rate(reached.created / reached.seconds) if reached.seconds > 0 else "at once"
    live = "" if reached.live >= reached.target else f", {format_count(reached.live)} still live"
    return f"{counted(reached.created, 'task')} started in {took} ({speed}){live}"


def burst_text(done: BurstDone) -> str:
    """Return how long a burst took, and how much of that was spent creating it."""
    took, created = format_seconds(done.seconds), format_seconds(done.create_seconds)
    return f"burst of {counted(done.tasks, 'task')} finished in {took}, created in {created}"


class WorkerLog:
    """A token bucket for a worker's reports; of noise and nonsense only the first is logged.

    Time is passed in, in seconds.
    """

    def __init__(self, say: EventSink, now: float) -> None:
        self._say = say
        self._left = float(AT_ONCE)
        self._at = self._summary_due = now
        self._dropped = 0
        self._garbage = 0
        self._first_garbage = ""
        self._logged: set[str] = set()

    def add(self, now: float, text: str, severity: Severity = "info", detail: str | None = None) -> None:
        """Log a report, or count it where there are too many."""
        self._left = min(AT_ONCE, self._left + (now - self._at) * A_SECOND)
        self._at = now
        if self._left < 1:
            self._dropped += 1
            return
        self._left -= 1
        traceback = f"\n{detail[-LONGEST_DETAIL:].rstrip()}" if detail else ""
        self._say(text[:LONGEST_MESSAGE] + traceback, severity)

    def summarize(self, now: float) -> None:
        """Log how many reports were dropped, at most every `SUMMARY` seconds."""
        if self._dropped and now >= self._summary_due:
            self._say(f"{format_count(self._dropped)} more of its reports were dropped", "warning")
            self._dropped, self._summary_due = 0, now + SUMMARY

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
        if kind not in self._logged:
            self._logged.add(kind)
            self._say(text, severity)
