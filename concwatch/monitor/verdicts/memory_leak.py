"""Detect memory that keeps growing while the number of live tasks does not."""

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from concwatch.links.messages import TracedLines
from concwatch.monitor.verdicts.events import EventSink, Kind
from concwatch.monitor.verdicts.growth import LEAST_RISE, WARM_UP, GrowthMeter
from concwatch.monitor.verdicts.growth_verdict import GrowthVerdict
from concwatch.monitor.verdicts.holders import GrowingContainer
from concwatch.monitor.verdicts.leak_rule import GracePeriod, grace_period
from concwatch.portable.protocol.text import plain, short_place
from concwatch.portable.protocol.units import format_bytes, format_count, format_percent, format_seconds

if TYPE_CHECKING:
    from concwatch.links.agent_messages import Objects

UNIT = 64 * 1024
"""Unit of memory in bytes: the allocator requests at least this much from the system at a time."""

EVIDENT_WINDOWS, EVIDENT_STEADY = 5, 0.85
"""Memory certainly grows if it rises in each of this many windows, and if the second half of them
contributes at least this share of the rise of the first half."""

EVIDENT_RISE, EVIDENT_SHARE = 16, 0.02
"""The least rise over these windows, in units and as a share of the memory; the larger one applies."""

LINES = 3
"""Lines of source code, types of objects, or functions whose tasks grow that are logged."""

LEAST_OF_FIRST = 0.05
"""Share of the growth of the first line or type that another one must exceed to be logged."""

LINES_INTERVAL = 10.0
"""Seconds between the two readings of the lines of source code."""

COUNT_TIMEOUT = 40.0
"""Seconds to wait for an answer, which takes 5 s, or up to 30 s if there are many objects."""

COUNT_VALID = 120.0
"""Seconds until the objects are counted again."""

HINT = "`--trace` names the lines that allocate it"

UNKNOWN_CAUSE = f"what keeps it is not known: {HINT}"

NOT_FOUND = f"in nothing that was found from modules, classes, closures, tasks and threads: {HINT}"
"""Where memory grows if no container grows, and no type of object has become more numerous."""

NOT_SEARCHED = f"in nothing that was found, but there are too many objects to search all: {HINT}"

MOSTLY = 0.95
"""Share of the growth that is shared memory from which on all of it is called so."""

LEAST_EXPLAINED = 0.05
"""Share of the growth of memory that a container must explain to be named as a cause."""

LEAST_OBJECTS, LEAST_DEVIATIONS = 20, 3.0
"""The least growth of a type: in objects, and in square roots of their number; the larger one applies."""


class MemoryLeakDetector(GrowthVerdict):
    """Compares the memory of one process with its live tasks.

    Its memory is anonymous and shared memory: the system may drop pages of files at any time. It logs when
    memory grows although the number of tasks does not, and when that growth stops. The test is that for
    leaking tasks: low-water marks that rise significantly for at least half a minute. Memory that rises
    steadily is reported after a quarter of a minute.

    Args:
        log: adds an event to the event log.
        request_lines: requests the lines that hold traced memory; the answer goes to `add_lines`.
        growing: returns the names of what else leaks; an empty string if nothing does.
        request_objects: requests the objects that grow; the answer goes to `add_objects`. None if objects
            cannot be counted.
    """

    leak_kind: Kind = "memory"
    label = "memory"

    def __init__(
        self,
        log: EventSink,
        request_lines: Callable[[], None],
        growing: Callable[[], str] = str,
        request_objects: Callable[[], None] | None = None,
    ) -> None:
        super().__init__()
        self._log = log
        self._request_lines = request_lines
        self._growing = growing
        self._request_objects = request_objects
        self._answers = 0
        self._request_due = math.inf
        self._units = 0
        self._traced = self._has_tasks = False
        self._growing_tasks: Sequence[str] = ()
        self._rises = False  # kept until the growth is reported, which waits for the objects
        self._asked = -math.inf
        self._objects: Objects | None = None
        self._refused = ""  # why objects cannot be searched
        self.restart()

    def restart(self) -> None:
        """Discard all readings, because later ones cannot be compared with them."""
        self.meter, self._held, self._shared = GrowthMeter(), GrowthMeter(), GrowthMeter()

    def add(
        self,
        time: float,
        memory: int,
        held: int,
        traced: bool,
        shared: int = 0,
        has_tasks: bool = True,
        growing_tasks: Sequence[str] = (),
    ) -> None:
        """Add a reading at ``time`` in seconds.

        Args:
            time: when it was made.
            memory: bytes.
            held: the number of tasks, jobs, threads and connections, all of which take memory.
            traced: whether allocations are traced.
            shared: bytes of the memory that are shared memory.
            has_tasks: whether the process has had any task.
            growing_tasks: the names of functions whose tasks grow, also if the sum of all tasks does not.
        """
        self._units, self._traced = memory // UNIT, traced
        self._has_tasks, self._growing_tasks = has_tasks, growing_tasks
        self.meter.add(time, self._units, 0)
        self._shared.add(time, shared // UNIT, 0)
        self._held.add(time, held, 0)
        if time >= self._request_due:
            self._request_due = math.inf
            self._request_lines()
        is_asked = self._asked > -math.inf
        self._rises = not self.leaks and ((self._rises and is_asked) or self._has_grown())
        if not self.grows and not self._rises and self.meter.may_leak and not self._is_held():
            self._is_known(time)  # ask early: the answer takes some seconds
        event = self.judge(time)
        if event is not None:
            self._log(*event)
            self._rises, self._asked = False, -math.inf
            self._answers, self._request_due = 0, math.inf
            if self.grows and traced:
                self._request_due = time + LINES_INTERVAL
                self._request_lines()

    @property
    def rises(self) -> bool:
        """Whether memory is growing now."""
        return self._rises

    @property
    def is_evident(self) -> bool:
        """Whether memory has grown steadily and by much, while the number of live tasks has not."""
        return (
            self.meter.rises_over(EVIDENT_WINDOWS, EVIDENT_STEADY)
            and self.meter.rises_from_highest(EVIDENT_WINDOWS)
            and self.meter.rise >= max(EVIDENT_RISE, EVIDENT_SHARE * self._units)
            and not self._held.rises_significantly(EVIDENT_WINDOWS)
            and not self._is_held()
        )

    def _has_grown(self) -> bool:
        """Return whether memory has grown, and nothing but a known leak accounts for it."""
        if self.meter.leaks:
            return bool(self._growing()) or not self._is_held()
        return self.is_evident and not self.was_withdrawn

    def grace_period(self, sockets: int = 0) -> GracePeriod:
        """Return what may end the growth."""
        return grace_period("memory")

    def _is_held(self) -> bool:
        """Return whether a growing number of tasks, jobs, threads or connections accounts for the memory."""
        growth = self._held.growth
        return growth is not None and growth.low > 0 and self._held.rise_from(WARM_UP) >= LEAST_RISE

    def _is_known(self, now: float, ask: Callable[[], object] | None = None) -> bool:
        """Ask which objects grow; return whether that is known, or no answer is expected."""
        if self._traced or self._request_objects is None:
            return True
        if self.grows and self.meter.lasting < self.grace_period().seconds:
            return False  # the next event is due only then
        if now >= self._asked + COUNT_VALID:
            self._asked, self._objects = now, None
            self._request_objects()
        return self._objects is not None or now >= self._asked + COUNT_TIMEOUT

    def add_objects(self, found: "Objects") -> None:
        """Record which objects grow."""
        self._objects = found

    def stop_counting(self, why: str = "") -> None:
        """Stop asking for objects, because they cannot be searched."""
        self._request_objects, self._refused = None, why

    def text(self) -> str:
        """Return how fast memory grows, and which leaks, containers and types of objects grow with it."""
        growth = self.meter.growth
        rate = growth.text(lambda units: format_bytes(units * UNIT)) if growth else ""
        also = [*self._growing_tasks[:LINES], *filter(None, [self._growing()])]
        causes = [f"along with {', '.join(also)}"] if also else []
        containers = [one.text() for one in self._containers()]
        causes += containers
        shared = self._shared_share()
        # What grows in shared memory is not in objects, but these may be its segments.
        causes += self._types_text(bool(containers) or shared >= MOSTLY)
        if not causes and shared < MOSTLY:
            causes = [self._unknown]
        what = "shared memory" if shared >= MOSTLY else "memory"
        part = f", {format_percent(shared)} of it shared memory" if LEAST_EXPLAINED <= shared < MOSTLY else ""
        tasks = ", while live tasks do not" if self._has_tasks and not self._growing_tasks else ""
        return f"{what} grows{rate}{part}{tasks}{': ' if causes else ''}{'; '.join(causes)}"

    def _shared_share(self) -> float:
        """Return the share of the growth that is shared memory."""
        growth, shared = self.meter.growth, self._shared.growth
        if growth is None or shared is None or growth.per_minute <= 0:
            return 0.0
        return min(1.0, max(0.0, shared.per_minute / growth.per_minute))

    @property
    def _unknown(self) -> str:
        """Why it is not known what keeps the memory."""
        if self._traced:
            return "the lines that have allocated most follow"
        return f"{self._refused}: {HINT}" if self._refused else UNKNOWN_CAUSE

    @property
    def containers(self) -> tuple[GrowingContainer, ...]:
        """The containers that account for the growth; empty while none is reported."""
        return self._containers() if self.grows else ()

    def _containers(self) -> tuple[GrowingContainer, ...]:
        """Return the containers whose growth is a significant share of that of memory."""
        found, growth = self._objects, self.meter.growth
        if found is None or growth is None:
            return ()
        least = LEAST_EXPLAINED * growth.low * UNIT
        growing = [GrowingContainer(one, one.seconds or found.since) for one in found.containers]
        return tuple(one for one in growing if one.bytes_per_minute is None or one.bytes_per_minute >= least)

    def _types_text(self, is_explained: bool) -> list[str]:
        """Return a text on the types of objects that have become more numerous; empty if unknown."""
        found = self._objects
        if found is None:
            return []
        grown = [
            one
            for one in found.types
            if one.grown >= max(LEAST_OBJECTS, LEAST_DEVIATIONS * math.sqrt(one.count))
        ]
        if not grown:
            return [] if is_explained else [NOT_FOUND if found.complete else NOT_SEARCHED]
        kinds = [
            f"+{format_count(one.grown)} {one.name}"
            for one in grown[:LINES]
            if one.grown > LEAST_OF_FIRST * grown[0].grown
        ]
        return [f"{', '.join(kinds)} in {format_seconds(found.since)}"]

    def add_lines(self, found: TracedLines) -> None:
        """Handle an answer to `request_lines`; after the second, log the lines that have grown most."""
        self._answers += self.grows
        if self._answers != 2:
            return
        most = max((line.grown for line in found.lines), default=0)
        for line in [line for line in found.lines if line.grown > LEAST_OF_FIRST * most][:LINES]:
            self._log(
                f"{plain(short_place(line.file))}:{line.line} holds {format_bytes(line.bytes)}, "
                f"{format_bytes(line.grown)} more than {LINES_INTERVAL:.0f} s ago",
                "warning",
            )
