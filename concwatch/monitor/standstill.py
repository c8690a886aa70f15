"""What lasts in a whole process: its agent reports it, or no code of it runs, which is seen from outside."""

import math
from collections.abc import Iterator

from concwatch.monitor.events import EventSink
from concwatch.monitor.ongoing import TOLD, Ongoing, OngoingStatus, told_after
from concwatch.protocol.agent_messages import Lasting
from concwatch.protocol.messages import Block
from concwatch.protocol.text import short_place
from concwatch.protocol.units import counted, format_percent
from concwatch.system.process import Reading

STOPPED = {"T": "by a signal, such as SIGSTOP; SIGCONT continues it", "t": "by a debugger"}
"""The states of a process that does not run, and what has stopped it."""

BUSY = 0.5
"""CPU seconds that a process has used since its agent reported last, from which on something holds the
interpreter's lock: else the agent would have got the lock by then, and a processor too."""

IDLE = 0.05
"""The share of a core below which a process that does not wait for a processor waits for something else."""

WAITING_STATES = ("S", "D")
"""The states of a process that waits for something else than a processor."""

REPORT_TIME = 1.0
"""Seconds in which an agent that reports again also reports what has blocked the loops meanwhile."""

RECENT = 5.0
"""Seconds after the end of a stop in which agents report that it has blocked their loops."""

MAX_LASTING = 100
"""The most things that last in one process by the reports of its agent."""

HOLDS_LOCK = "code that holds the interpreter's lock"


class Standstills:
    """The events about what lasts in one process, beside the blocks of its event loops.

    Args:
        log: adds an event.
    """

    def __init__(self, log: EventSink) -> None:
        self._log = log
        self._stopped, self._silent = Ongoing(log, "stopped"), Ongoing(log, "block")
        self._reported: dict[int, Ongoing] = {}
        """What its agent reports, by number."""
        self._stopped_since = self._explain_until = math.inf
        self._stopped_until = -math.inf
        self._heard = -math.inf
        """When the agent reported last."""
        self._silences = 0
        """How often nothing has run in the process but what held the interpreter's lock."""
        self._used = 0.0
        """The CPU seconds of the process then."""
        self._waits = True
        """Whether it has waited for something else than a processor in all readings since."""

    @property
    def ongoing(self) -> tuple[OngoingStatus, ...]:
        """What lasts."""
        return tuple(one.status for one in self._all() if one.status is not None and one.is_told)

    def _all(self) -> Iterator[Ongoing]:
        yield from (self._stopped, self._silent, *self._reported.values())

    def add(self, report: Lasting) -> None:
        """Add a report of the agent."""
        known = self._reported.pop(report.number, None)
        if known is None and len(self._reported) >= MAX_LASTING:
            return
        known = known or Ongoing(self._log, report.kind)
        known.update(_status(report))
        if report.ended:
            known.end()
        else:
            self._reported[report.number] = known

    def explains(self, block: Block, text: str, now: float) -> bool:
        """Return whether a block of a loop is what there have been events about; its ``text`` ends them."""
        if block.cause == "stopped":
            return self._stopped.status is not None or now < self._stopped_until + RECENT
        silent = self._silent.status
        if (
            not self._silent.is_told
            or silent is None
            or not block.ended
            or block.seconds < silent.seconds / 2
        ):
            return False
        return self._silent.end(text)

    def observe(self, now: float, reading: Reading, heard: float | None, has_loops: bool) -> None:
        """Observe the process from outside.

        Args:
            now: the time in seconds.
            reading: its figures.
            heard: when its agent reported last; None without one.
            has_loops: whether event loops run in it.
        """
        self._observe_stop(now, reading.state)
        if heard is None or heard > self._heard or reading.state in STOPPED:
            if self._silent.status is not None and self._explain_until == math.inf:
                self._explain_until = now + REPORT_TIME
            self._heard = now if heard is None or reading.state in STOPPED else heard
            self._used, self._waits = reading.cpu_seconds, True
        self._waits = self._waits and reading.state in WAITING_STATES
        if now >= self._explain_until:
            self._silent.end()
            self._explain_until = math.inf
        silent = now - self._heard
        if silent >= TOLD[0]:
            self._observe_silence(silent, reading.cpu_seconds - self._used, has_loops)

    def _observe_stop(self, now: float, state: str) -> None:
        if state in STOPPED:
            self._stopped_since = min(self._stopped_since, now)
            seconds = now - self._stopped_since
            self._stopped.update(
                OngoingStatus("stopped", seconds, "process", "stopped", f" {STOPPED[state]}")
            )
        elif self._stopped.status is not None:
            self._stopped.end()
            self._stopped_since, self._stopped_until = math.inf, now

    def _observe_silence(self, seconds: float, used: float, has_loops: bool) -> None:
        """Say that nothing runs in the process, unless it may only wait for a processor."""
        if used >= BUSY and (has_loops or seconds >= TOLD[1]):
            why = f" by {HOLDS_LOCK} and uses {format_percent(used / seconds)} of a core"
            rest = f"{why}, such as a regular expression, an extension module or the garbage collector"
        elif seconds >= TOLD[1] and used <= IDLE * seconds and self._waits:
            rest = f": it uses no CPU time, and its agent cannot report. It is frozen, or {HOLDS_LOCK} waits"
        else:
            return
        if self._silent.status is None:
            self._silences += 1
            self._silent = Ongoing(self._log, "block", told_after(self._silences))
        self._silent.update(OngoingStatus("block", seconds, "process", "blocked", rest))

    def lose(self, why: str) -> None:
        """End all that lasts, since nothing more is known of it for the reason ``why``."""
        for one in self._all():
            if one.status is not None:
                one.end(f"{one.status.ended}; {why}")
        self._reported.clear()


def _status(report: Lasting) -> OngoingStatus:
    """Return what an agent has reported."""
    places = report.places
    total = sum(place.tasks for place in places)
    texts = ", ".join(
        f"{place.in_} at {short_place(place.where)}" + (f" for {place.on}" if place.on else "")
        for place in places
    )
    first = places[0] if places else None
    where = {"function": first.in_, "where": first.where} if first is not None else {}
    if report.kind == "deadlock":
        why = "it waits for a lock that it holds" if total == 1 else "each waits for the next"
        what = (counted(total, "thread"), "deadlocked", f", {why}: {texts}")
    else:
        what = ("shutdown", "waiting", f" for {counted(total, 'cancelled task')}: {texts}")
    return OngoingStatus(report.kind, report.seconds, *what, **where)
