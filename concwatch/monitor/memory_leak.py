"""Detect memory that keeps growing while the number of live tasks does not."""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from concwatch.monitor.events import EventSink, Kind
from concwatch.monitor.growth import LEAST_RISE, WARM_UP, GrowthMeter
from concwatch.monitor.growth_verdict import LEAST_GROWTH, GracePeriod, GrowthVerdict
from concwatch.monitor.holders import GrowingContainer
from concwatch.protocol.messages import TracedLines
from concwatch.protocol.text import plain, short_place
from concwatch.protocol.units import format_bytes, format_count, format_seconds

if TYPE_CHECKING:
    from concwatch.protocol.agent_messages import Objects

UNIT = 64 * 1024
"""Unit of memory in bytes: the allocator requests no less from the system at a time."""

PLAIN_WINDOWS, PLAIN_STEADY = 5, 0.85
"""Windows in each of which memory rises that grows beyond doubt, and the share of the first half of the rise
that the second half has at least."""

PLAIN_RISE, PLAIN_SHARE = 16, 0.02
"""Units by which it has then risen at least, and the same as a share of the memory."""

LINES = 3
"""Lines of source code, or types of objects, that are logged."""

WORTH = 0.05
"""Share of the growth of the first line or type that another one must have grown by to be logged."""

BETWEEN = 10.0
"""Seconds between the two readings of the lines of source code."""

COUNT_TIMEOUT = 8.0
"""Seconds until an answer is not expected any more; it takes 3 s, and 5 s with many objects."""

COUNT_VALID = 120.0
"""Seconds for which that is not asked again."""

UNKNOWN_CAUSE = "something keeps references to what they created"

WORTH_CAUSE = 0.05
"""Share of the growth of memory that the containers named as its cause explain at least."""

NOT_TRACKED = "no more objects that refer to others, but bytes, text or numbers, or memory of an extension"
"""What grows if no type of object that the garbage collector tracks does."""

LEAST_OBJECTS, LEAST_DEVIATIONS = 20, 3.0
"""Objects by which a type has grown, at least; the same as a multiple of the square root of their number."""


class MemoryLeakDetector(GrowthVerdict):
    """Compares the memory of one process with its live tasks, and logs when only the memory grows or stops.

    The test is that of a leak of tasks: low-water marks that rise significantly for at least half a minute.
    Memory that rises evenly while no more tasks are live is told after a quarter.

    Args:
        log: adds an event to the event log.
        request_lines: requests the lines that hold traced memory; the answer goes to `add_lines`.
        growing: returns the names of what else leaks; an empty string if nothing does.
        request_objects: asks which objects grow; the answer goes to `add_objects`; None: not here.
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
        self._traced = False
        self._rises = False  # stays until it is told, which takes until the objects are known
        self._asked = -math.inf
        self._objects: Objects | None = None
        self.restart()

    def restart(self) -> None:
        """Discard all readings, since those that follow cannot be compared with them."""
        self.meter, self._held = GrowthMeter(), GrowthMeter()

    def add(self, time: float, rss: int, held: int, traced: bool) -> None:
        """Add a reading at ``time`` in seconds.

        Args:
            time: when it was made.
            rss: bytes.
            held: tasks, jobs, threads and connections, whose growth takes memory.
            traced: whether allocations are traced.
        """
        self._units, self._traced = rss // UNIT, traced
        self.meter.add(time, self._units, 0)
        self._held.add(time, held, 0)
        if time >= self._request_due:
            self._request_due = math.inf
            self._request_lines()
        is_asked = self._asked > -math.inf
        self._rises = not self.leaks and ((self._rises and is_asked) or self._has_grown())
        if not self.grows and not self._rises and self.meter.may_leak and not self._is_held():
            self._is_known(time)  # which takes some seconds
        told = self.judge(time)
        if told is not None:
            self._log(*told)
            self._rises, self._asked = False, -math.inf
            self._answers, self._request_due = 0, math.inf
            if self.grows and traced:
                self._request_due = time + BETWEEN
                self._request_lines()

    @property
    def rises(self) -> bool:
        """Whether it grows now."""
        return self._rises

    @property
    def is_plain(self) -> bool:
        """Whether it has grown evenly and by much, while no more tasks were live."""
        return (
            self.meter.rises_over(PLAIN_WINDOWS, PLAIN_STEADY)
            and self.meter.rises_from_highest(PLAIN_WINDOWS)
            and self.meter.rise >= max(PLAIN_RISE, PLAIN_SHARE * self._units)
            and not self._held.rises_significantly(PLAIN_WINDOWS)
            and not self._is_held()
        )

    def _has_grown(self) -> bool:
        """Return whether memory grows that nothing takes of which it is not known that it leaks."""
        if self.meter.leaks:
            return bool(self._growing()) or not self._is_held()
        return self.is_plain and not self.was_withdrawn

    def grace_period(self, sockets: int = 0) -> GracePeriod:
        """Return what may end the growth."""
        return GracePeriod(LEAST_GROWTH, "a cache may be filling")

    def _is_held(self) -> bool:
        """Return whether what grows, and is not called a leak yet, takes the memory."""
        growth = self._held.growth
        return growth is not None and growth.low > 0 and self._held.rise_from(WARM_UP) >= LEAST_RISE

    def _is_known(self, now: float, ask: Callable[[], object] | None = None) -> bool:
        """Ask which objects grow; return whether that is known, or will not be."""
        if self._traced or self._request_objects is None:
            return True
        if self.grows and self.meter.lasting < self.grace_period().seconds:
            return False  # nothing else is told until then
        if now >= self._asked + COUNT_VALID:
            self._asked, self._objects = now, None
            self._request_objects()
        return self._objects is not None or now >= self._asked + COUNT_TIMEOUT

    def add_objects(self, found: "Objects") -> None:
        """Handle the answer."""
        self._objects = found

    def stop_counting(self) -> None:
        """Handle that the objects cannot be counted."""
        self._request_objects = None

    def text(self) -> str:
        """Return how fast it grows, what grows with it, and which containers and types of objects do."""
        growth = self.meter.growth
        rate = growth.text(lambda units: format_bytes(units * UNIT)) if growth else ""
        also = self._growing()
        causes = [f"{also} grow too"] if also else []
        containers = [one.text() for one in self._containers()]
        causes += containers
        causes += self._kinds(bool(containers)) or ([] if causes else [UNKNOWN_CAUSE])
        return f"memory grows{rate}, while live tasks do not: {'; '.join(causes)}"

    @property
    def containers(self) -> tuple[GrowingContainer, ...]:
        """The containers that take the memory, while it was told to grow."""
        return self._containers() if self.grows else ()

    def _containers(self) -> tuple[GrowingContainer, ...]:
        """Return the containers that grow by a share of the memory."""
        found, growth = self._objects, self.meter.growth
        if found is None or growth is None:
            return ()
        least = WORTH_CAUSE * growth.low * UNIT * found.since / 60
        return tuple(GrowingContainer(one, found.since) for one in found.containers if one.bytes >= least)

    def _kinds(self, is_explained: bool) -> list[str]:
        """Return in words which types of objects have become more; empty if that is not known."""
        found = self._objects
        if found is None:
            return []
        grown = [
            one
            for one in found.types
            if one.grown >= max(LEAST_OBJECTS, LEAST_DEVIATIONS * math.sqrt(one.count))
        ]
        if not grown:
            return [] if is_explained else [NOT_TRACKED]
        kinds = [
            f"{format_count(one.grown)} {one.name}"
            for one in grown[:LINES]
            if one.grown > WORTH * grown[0].grown
        ]
        return [f"{', '.join(kinds)} more than {format_seconds(found.since)} ago"]

    def add_lines(self, found: TracedLines) -> None:
        """Handle an answer; after the second one, log the lines that have grown most since the first."""
        self._answers += self.grows
        if self._answers != 2:
            return
        most = max((line.grown for line in found.lines), default=0)
        for line in [line for line in found.lines if line.grown > WORTH * most][:LINES]:
            self._log(
                f"{plain(short_place(line.file))}:{line.line} holds {format_bytes(line.bytes)}, "
                f"{format_bytes(line.grown)} more than {BETWEEN:.0f} s ago",
                "warning",
            )
