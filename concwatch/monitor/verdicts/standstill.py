"""What lasts in a whole process: its agent reports it, or no code of it runs, which is seen from outside."""

import math
from collections.abc import Callable, Iterator
from itertools import takewhile

from concwatch.links.agent_messages import Lasting, RawFrame
from concwatch.links.messages import Block
from concwatch.monitor.verdicts.events import EventSink
from concwatch.monitor.verdicts.ongoing import TOLD, Ongoing, OngoingStatus, told_after
from concwatch.portable.protocol.text import short_place
from concwatch.portable.protocol.units import counted, format_percent
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

FIRST_STACK, STACK_TIME = 0.7, 0.3
"""Seconds without a report after which the stack is first asked for, and before each event."""

RUNS = 0.4
"""Seconds for which the main thread must have run, or waited for a processor, to be what holds the lock."""

MAX_FRAMES = 100

RUNNING = "R"
"""The state of a process that runs or waits for a processor."""

LOOP = "asyncio/events.py"
"""The file of the function that calls everything that an event loop of asyncio runs."""

LIBRARIES = ("/site-packages/", "/dist-packages/", "/lib/python3", "<frozen ", "<string>")
"""Parts of the paths of code that is not the program's own."""

HOLDS_LOCK = "code that holds the interpreter's lock"


class Standstills:
    """The events about what lasts in one process, beside the blocks of its event loops.

    Args:
        log: adds an event.
        request_stack: asks for the stack of the main thread, which is given to `add_frame`.
    """

    def __init__(self, log: EventSink, request_stack: Callable[[], object] = int) -> None:
        self._log, self._request_stack = log, request_stack
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
        self._state, self._state_since = "", -math.inf
        """The state of its main thread in the last readings, all of which had it since then."""
        self._ask_due = FIRST_STACK
        """After how many seconds without a report the stack is asked for next."""
        self._frames: list[RawFrame] = []
        """The stack, innermost first; empty if unknown."""

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
            is_stopped = self._stopped.status is not None or now < self._stopped_until + RECENT
            return is_stopped or self._silent.is_told
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
            self._used = reading.cpu_seconds
            self._ask_due, self._frames = FIRST_STACK, []
        if reading.state != self._state:
            self._state, self._state_since = reading.state, now
        if now >= self._explain_until:
            self._silent.end()
            self._explain_until = math.inf
        silent, used = now - self._heard, reading.cpu_seconds - self._used
        runs = reading.state == RUNNING and now >= self._state_since + RUNS
        if silent >= self._ask_due and runs and used >= BUSY * FIRST_STACK:
            after = silent + STACK_TIME
            self._ask_due = next((seconds for seconds in TOLD if seconds > after), math.inf) - STACK_TIME
            self._frames = []
            self._request_stack()
        if silent >= TOLD[0]:
            waits = reading.state in WAITING_STATES and now >= self._state_since + silent / 2
            self._observe_silence(silent, used, waits, has_loops)

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

    def _observe_silence(self, seconds: float, used: float, waits: bool, has_loops: bool) -> None:
        """Report that nothing runs in the process, unless it may only wait for a processor."""
        if used >= BUSY and (has_loops or seconds >= TOLD[1]):
            place, where = self._place()
            rest = f"{place} by {HOLDS_LOCK} and uses {format_percent(used / seconds)} of a core"
            if not place:
                rest += ", such as a regular expression, an extension module or the garbage collector"
        elif seconds >= TOLD[1] and used <= IDLE * seconds and waits:
            where = {}
            rest = f" without using CPU time: it is frozen, or {HOLDS_LOCK} waits"
        else:
            return
        if self._silent.status is None:
            self._silences += 1
            self._silent = Ongoing(self._log, "block", told_after(self._silences))
        self._silent.update(OngoingStatus("block", seconds, "process", "blocked", rest, **where))

    def _place(self) -> tuple[str, dict[str, str]]:
        """Return where the main thread is, in words and as fields of a status; empty if that is unknown."""
        frames = takewhile(lambda frame: not frame.where.partition(":")[0].endswith(LOOP), self._frames)
        own = [frame for frame in frames if not any(part in frame.where for part in LIBRARIES)]
        if not own:
            return "", {}
        places = [f"{frame.function} ({short_place(frame.where)})" for frame in own]
        text = f" in {', called by '.join(places[:2])}"
        return text, {"function": own[0].function, "where": own[0].where}

    def add_frame(self, frame: RawFrame) -> None:
        """Add the next frame of the stack that was asked for."""
        if len(self._frames) < MAX_FRAMES:
            self._frames.append(frame)

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
