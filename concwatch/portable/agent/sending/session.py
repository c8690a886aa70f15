"""What is done for one monitor: the parts that count, look for something or answer, and their turns."""

from __future__ import annotations

from time import monotonic, thread_time

from ..basics.guard import ERRORS, guarded
from ..basics.part import FOR_EVER
from ..blocking.blocks import BLOCKED_AFTER, FAILED_INTERVAL, Blocks
from ..blocking.busy import Busy
from ..counting.counting import COUNTS
from ..counting.threads import find_thread_waits
from ..hooking.hooks import HOOKS
from ..waiting.cycles import CycleFinder
from .commands import INTERVAL, Commands, GrowthSearch, Requests, StackSampling, flag, number
from .connection import Lost, Outbox
from .figures import CollectionTimer, Figures
from .process import flags, identity, name
from .report import Ticks
from .scans import TaskScans, TimeSlices

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Collection, Dict, List

    from ..basics.part import Part
    from ..memory.traced import Tracing
    from .commands import Command, Fields
    from .connection import Connection

MIN_HZ, MAX_HZ = 0.1, 10.0

LASTING_AFTER = 1.0
"""Seconds after its start after which an agent looks for what lasts."""

LOOK_EARLY = 0.015
"""Seconds by which the loops may be checked early, if the thread is awake for something else."""

LEAST_DELAY = 0.0005
"""The least seconds between two steps."""


class AgentSession:
    """Counts for one monitor, over one connection or, if the program closes it, several in turn.

    Args:
        options: the commands that are in effect from the beginning: ``"outcomes"``, ``"timing"``,
            ``"by_name"``, ``"trace"``, ``"blocked-after:SECONDS"`` (``inf``: what blocks
            the loops is not looked for).
    """

    def __init__(self, options: Collection[str] = ()) -> None:
        self._started = monotonic()
        outbox = self._outbox = Outbox()
        # First: the program creates tasks meanwhile.
        self._scans = scans = TaskScans(outbox, options, 1 / MAX_HZ)
        collector, busy = CollectionTimer(), Busy()
        self._blocks = blocks = Blocks(lambda: collector.seconds, outbox.keeper("block"), _after(options))
        self._sampling = StackSampling(outbox)
        self._growth, requests = GrowthSearch(outbox), Requests(outbox)
        self._slices = TimeSlices(scans, requests, CycleFinder(outbox.sender("cycle")))
        self._parts: List[Part] = [scans, Figures(collector, blocks.loops), collector, busy, blocks]
        self._ticks = Ticks(outbox, self._parts, self._state, 1 / MAX_HZ)
        self._commands = Commands(outbox, self._state, self._known_commands(requests, busy))
        self._parts += [self._sampling, self._growth, self._slices, self._ticks, scans.groups]
        self._asked: List[Part] = [self._commands, self._growth]
        self._timed: List[Part] = [self._slices, busy, self._ticks]
        """The parts that do something at times of their own, in this order."""
        self._lasting_due = self._started + LASTING_AFTER
        self._due = 0.0
        if "trace" in options:
            self._tracing().set(True)

    def _known_commands(self, requests: Requests, busy: Busy) -> Dict[str, Command]:
        def answered(type_: str, fields: Fields) -> bool:
            self._outbox.send(type_, **fields)
            return True

        return {
            "rate": lambda fields: self._set_rate(_hz(fields)),
            "waits": requests.waits,
            "finished": requests.finished,
            "thread_waits": lambda fields: answered(
                "thread_waits", find_thread_waits(str(fields.get("name")), bool(fields.get("pool")))
            ),
            "outcomes": lambda fields: HOOKS.set_outcomes(flag(fields)),
            "timing": lambda fields: busy.set_timing(flag(fields)),
            "by_name": lambda fields: setattr(COUNTS, "by_name", flag(fields)),
            "blocked_after": lambda fields: self._blocks.set_after(_seconds(fields)),
            "trace": lambda fields: self._tracing().set(flag(fields)),
            "lines": lambda fields: answered("lines", {"lines": self._tracing().lines()}),
            "objects": lambda fields: self._growth.start(),
            "profile": lambda fields: self._sampling.start(fields, self._blocks.loop_frames),
            "memory": requests.memory,
            "detach": _detach,
        }

    def _set_rate(self, hz: float) -> None:
        self._ticks.set_interval(1 / hz)
        self._scans.set_interval(1 / hz)

    def _tracing(self) -> Tracing:
        from ..memory.traced import Tracing  # few programs need it

        for part in self._parts:
            if isinstance(part, Tracing):
                return part
        tracing = Tracing()
        self._parts.append(tracing)
        return tracing

    def _state(self) -> Dict[str, Any]:
        on = {"blocks": self._blocks.looks, "timing": COUNTS.timing}
        return {"name": name(), "flags": [*flags(), *[flag for flag in on if on[flag]]]}

    def report_to(self, connection: Connection) -> None:
        """Send ``ready``, and report over ``connection`` from now on."""
        self._outbox.connection = connection
        for part in self._parts:
            part.connect(connection.descriptor)
        known = list(self._commands.known)
        connection.send(
            "ready", **identity(), **self._state(), started=self._started, can=known, workloads=[]
        )
        connection.send_errors()
        connection.flush()

    def step(self, due: float) -> float:
        """Do what is due, and return the seconds until the next step; raises only `Lost`.

        Args:
            due: when this step was due.
        """
        delay = self._step(due)
        if delay is None:  # it has failed
            self._outbox.flush()
            return FAILED_INTERVAL
        return delay

    @guarded("", passes=(Lost,))
    def _step(self, due: float) -> float:
        self._sampling.resume()
        now = monotonic()
        if now >= self._sampling.due:
            self._sampling.step(now)
            self._sampling.catch_up()
            now = monotonic()
        if now >= self._blocks.due - LOOK_EARLY:
            self._check_loops(now, due)
            self._sampling.catch_up()
        if now >= self._due or self._outbox.kept:
            self._due = self._count_and_report()
        self._sampling.wait()
        return max(LEAST_DELAY, min(self._due, self._blocks.due, self._sampling.due) - monotonic())

    @guarded("blocked event loops")
    def _check_loops(self, now: float, due: float) -> None:
        self._blocks.step(now, due)

    def _count_and_report(self) -> float:
        """Handle commands, scan, and send what is due; return when that is due again.

        Each call of the system lets the interpreter's lock go, and interrupts a busy program to get it back:
        so commands are read once a tick, and all reports are sent at once.
        """
        # What these take does not make scans rarer: they may take a snapshot of all traced memory.
        _do_due_steps(self._asked)
        self._sampling.catch_up()
        if monotonic() >= self._lasting_due:
            self._lasting_due = FOR_EVER
            self._look_for_what_lasts()
        began = thread_time()
        _do_due_steps(self._timed)
        self._outbox.send_kept()
        self._outbox.flush()
        self._slices.charge(thread_time() - began)
        self._sampling.catch_up()
        return min(monotonic() + INTERVAL, self._slices.due, self._ticks.due, self._growth.due)

    @guarded("deadlocks and shutdowns")
    def _look_for_what_lasts(self) -> None:
        from ..waiting.lasting import LastingSearch  # short programs do not need it

        lasting = LastingSearch(self._outbox.keeper("lasting"))
        lasting.connect(self._outbox.connection.descriptor)
        self._parts.append(lasting)
        self._timed.append(lasting)

    def finish(self, timeout: float) -> None:
        """Send the last figures when the process exits, within ``timeout`` seconds."""
        connection = self._outbox.connection
        connection.timeout = timeout
        deadline = monotonic() + timeout
        for part in self._parts:
            _finish(part, deadline)
        self._outbox.send_kept()
        if ERRORS.changed:
            connection.send_errors()
        connection.send("end")
        connection.flush()

    def close(self) -> None:
        """Remove all hooks and stop tracing."""
        for part in self._parts:
            _close(part)
        COUNTS.clear()
        ERRORS.clear()


def _do_due_steps(parts: List[Part]) -> None:
    now = monotonic()
    for part in parts:
        if now >= part.due:
            part.step(now)


@guarded("the end of the process")
def _finish(part: Part, deadline: float) -> None:
    part.finish(deadline)


@guarded("")
def _close(part: Part) -> None:
    part.close()


def _after(options: Collection[str]) -> float:
    """Return the seconds after which a loop counts as blocked."""
    for option in options:
        name, _, value = option.partition(":")
        if name == "blocked-after":
            return float(value)
    return BLOCKED_AFTER


def _hz(fields: Fields) -> float:
    expected = f"ticks a second from {MIN_HZ} to {MAX_HZ:.0f}"
    return number(fields, "hz", lambda value: MIN_HZ <= value <= MAX_HZ, expected)


def _seconds(fields: Fields) -> float:
    """Return the seconds after which a loop counts as blocked."""
    if "seconds" in fields and fields["seconds"] is None:
        return FOR_EVER
    return number(fields, "seconds", lambda value: value > 0, "more than 0, or null for never")


def _detach(fields: Fields) -> bool:
    raise Lost
