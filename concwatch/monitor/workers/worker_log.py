"""The events of one worker: texts for its reports, and a rate limit."""

from concwatch.links.messages import BurstDone, Limit, Reached
from concwatch.monitor.verdicts.events import EventSink, Severity
from concwatch.portable.protocol.units import counted, format_bytes, format_count, format_rate, format_seconds

BURST = 30
PER_SECOND = 3.0
"""Size of the token bucket in events, and events added to it a second; a user at the slider causes fewer."""

SUMMARY = 10.0
"""Seconds between two summaries of what was dropped."""

MOST_GARBAGE = 100
"""Invalid lines after which a worker is stopped."""

LONGEST_MESSAGE = 1_000
LONGEST_DETAIL = 8_000
LONGEST_NOISE = 200
"""Characters kept: the first of a message or of standard error, the last of a traceback."""


def limit_with_value(limit: Limit) -> str:
    """Return a limit with its value: ``vm.max_map_count (65,530)``, ``memory budget (2 GiB)``."""
    if limit.value is None:
        return limit.name
    value = format_bytes(limit.value) if "memory" in limit.name else format_count(limit.value)
    return f"{limit.name} ({value})"


def limit_text(limit: Limit) -> str:
    """Return the text of a limit that was hit."""
    detail = f": {limit.detail}" if limit.detail else ""
    tasks = f"{format_count(limit.standing)} of {format_count(limit.wanted)} tasks"
    return f"{limit_with_value(limit)} reached at {tasks}{detail}"


def reached_text(reached: Reached) -> str:
    """Return the text of a target that was reached."""
    took = format_seconds(reached.seconds)
    if not reached.grew:
        left = f", {format_count(reached.target)} left" if reached.target else ""
        return f"{counted(reached.cancelled, 'task')} stopped in {took}{left}"
    how = format_rate(reached.created / reached.seconds) if reached.seconds > 0 else "at once"
    tasks = counted(reached.target, "task")
    if reached.live < reached.target:  # as tasks have ended meanwhile
        tasks = f"{format_count(reached.live)} of {tasks}"
        how = f"{format_count(reached.created)} created, {how}"
    return f"{tasks} live after {took} ({how})"


def burst_text(done: BurstDone) -> str:
    """Return the text of a burst that has ended."""
    took, created = format_seconds(done.seconds), format_seconds(done.create_seconds)
    return f"burst of {counted(done.tasks, 'task')} ended in {took}, created in {created}"


class WorkerLog:
    """Logs a worker's reports through a token bucket, and only the first of each kind of invalid output.

    Time is passed in, in seconds.
    """

    def __init__(self, log: EventSink, now: float) -> None:
        self._log = log
        self._tokens = float(BURST)
        self._refilled_at = self._summary_due = now
        self._dropped = 0
        self._garbage = 0
        self._first_garbage = ""
        self._logged: set[str] = set()

    def add(self, now: float, text: str, severity: Severity = "info", detail: str | None = None) -> None:
        """Log a report, or count it as dropped if there are too many."""
        self._tokens = min(BURST, self._tokens + (now - self._refilled_at) * PER_SECOND)
        self._refilled_at = now
        if self._tokens < 1:
            self._dropped += 1
            return
        self._tokens -= 1
        traceback = f"\n{detail[-LONGEST_DETAIL:].rstrip()}" if detail else ""
        self._log(text[:LONGEST_MESSAGE] + traceback, severity)

    def summarize(self, now: float) -> None:
        """Log how many reports were dropped, at most every `SUMMARY` seconds."""
        if self._dropped and now >= self._summary_due:
            self._log(f"{format_count(self._dropped)} more of its reports were dropped", "warning")
            self._dropped, self._summary_due = 0, now + SUMMARY

    def add_garbage(self, message: str) -> str:
        """Count an invalid line; return why the worker is to be stopped, or an empty string."""
        self._garbage += 1
        if self._garbage == 1:
            self._first_garbage = message
            self._log(message, "warning")
        if self._garbage <= MOST_GARBAGE:
            return ""
        return f"more than {MOST_GARBAGE} invalid lines, the first: {self._first_garbage}"

    def add_noise(self, text: str) -> None:
        """Log the first line written to standard error."""
        if text.strip():
            self._log_first("noise", f"wrote: {text.strip().splitlines()[0][:LONGEST_NOISE]}", "info")

    def add_flood(self, message: str) -> None:
        """Log once that the worker writes faster than the lab reads."""
        self._log_first(message, message, "warning")

    def _log_first(self, kind: str, text: str, severity: Severity) -> None:
        if kind not in self._logged:
            self._logged.add(kind)
            self._log(text, severity)
