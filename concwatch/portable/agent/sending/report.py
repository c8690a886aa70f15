"""The contents of ``tick`` and ``groups`` reports."""

from __future__ import annotations

import sys
from time import monotonic, perf_counter, thread_time

from ..basics.guard import guarded
from ..basics.kept import IS_ESTIMATED
from ..basics.part import Part
from ..counting.counted_group import GEVENT
from ..counting.counting import COUNTS
from ..counting.scan import task_objects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Tuple

    from ..counting.counted_group import CountedGroup
    from ..counting.scan import Scan
    from .connection import Outbox

TICKS_SHARE = 0.003
"""The share of the process's time that ticks may take; there are fewer of them with thousands of threads."""

PART = 20
"""The most groups in one report."""

TIME_SLICE = 0.0005
"""Seconds of a time slice in which groups are read."""

MAX_STARTS = 5

GROUPS_INTERVAL, MOST_PER_SECOND, LONGEST_INTERVAL = 0.5, 200, 1.0
"""Minimum seconds between two reports of groups; up to a second if more groups change in a second."""

LEAST_FOUND = 3
"""Scans that must have found a task of a group before the mean life of its tasks is known."""

UNCOUNTED = "greenlets are used without gevent, and are not counted"
"""Why the tasks of a process are unknown."""

OUTCOMES = ("completed", "failed", "cancelled")
FOUND = ("live", "ended", "since", "retained")
LEFT = ("left_over", "destroyed")


def _why_uncounted() -> str:
    """Return why tasks are not counted that this process may have; an empty string if all are."""
    module = sys.modules.get("greenlet._greenlet")
    if module is None or GEVENT in sys.modules or COUNTS.table.created():
        return ""
    # One for each thread that has used greenlets. Importing the package is not enough: many libraries do.
    used = getattr(module, "get_total_main_greenlets", lambda: 1)
    return UNCOUNTED if used() else ""


def _sums(groups: Iterable[CountedGroup], names: Tuple[str, ...]) -> Dict[str, int]:
    groups = list(groups)
    return {name: sum([getattr(group, name) for group in groups]) for name in names}


def task_fields(scan: Scan) -> Dict[str, Any]:
    """Return the fields of a tick about all tasks, as they were counted, and as of the last scan."""
    fields: Dict[str, Any] = {"created": COUNTS.table.created(), **COUNTS.unfinished.counts()}
    objects = task_objects()
    if objects is not None:
        fields["existing"] = objects
    if scan.began is not None:
        names = FOUND if objects is not None else FOUND[:3]
        fields.update({name: getattr(scan, name) for name in (*names, "scan_created", "live_peak")})
        fields["scan_time"] = scan.began
    uncounted = _why_uncounted()
    if uncounted:
        fields["uncounted"] = uncounted
    missed = COUNTS.unseen.missed()
    if missed:
        fields["missed"] = missed
    if COUNTS.outcomes:
        fields.update(_sums(COUNTS.groups.values(), OUTCOMES))
    return fields


class Ticks(Part):
    """Reports the figures of the process at regular intervals.

    Args:
        outbox: what sends them.
        parts: what has figures.
        state: returns fields that are only reported when they have changed.
        interval: seconds between two ticks.
    """

    def __init__(
        self, outbox: Outbox, parts: List[Part], state: Callable[[], Dict[str, Any]], interval: float
    ) -> None:
        self._outbox, self._parts, self._state = outbox, parts, state
        self._interval, self._cost = interval, 0.0
        self._number = 0
        self._reported: Dict[str, Any] = {}

    def set_interval(self, seconds: float) -> None:
        """Change the seconds between two ticks; the next one is due at once."""
        self._interval, self.due = seconds, 0.0

    def connect(self, descriptor: int) -> None:
        """Begin at once, after ``ready``, which has the state."""
        self._reported, self.due = self._state(), 0.0

    @guarded("")
    def step(self, now: float) -> None:
        """Send a tick, unless the monitor reads too slowly: ticks that are missed are not made up for."""
        self.due = now + self._interval
        if self._outbox.connection.behind:
            return
        began = thread_time()
        self._send(agent_cpu=round(began, 6))
        self._cost = 0.8 * self._cost + 0.2 * (thread_time() - began)
        self.due = now + max(self._interval, self._cost / TICKS_SHARE)

    def _send(self, **fields: Any) -> None:
        self._number += 1
        fields.update(time=monotonic(), number=self._number)
        for part in self._parts:
            fields.update(part.read())
        state = self._state()
        fields.update({key: value for key, value in state.items() if self._reported.get(key) != value})
        self._reported = state
        self._outbox.send("tick", **fields)

    def finish(self, deadline: float) -> None:
        """Send the last tick, from the program's thread: the agent's CPU time is not known there."""
        self._send()


class ChangedGroups(Part):
    """Reports the groups that have changed since they were last reported over a connection.

    Args:
        outbox: what sends them.
        scan: what has found their tasks.
    """

    def __init__(self, outbox: Outbox, scan: Scan) -> None:
        self._outbox, self._scan = outbox, scan
        self._next = 0.0
        self._complete: Optional[float] = None  # the scan whose changes were all reported last

    def connect(self, descriptor: int) -> None:
        """Report all groups anew."""
        self._next, self._complete = 0.0, None
        for group in list(COUNTS.groups.values()):
            group.reported = None

    def finish(self, deadline: float) -> None:
        """Report all groups for the last time."""
        for _ in self.send(monotonic(), last=True):
            pass

    def send(self, now: float, last: bool = False) -> Iterator[None]:
        """Send the changed groups, if there are any and the last report is not too recent.

        A generator: one time slice per step.
        """
        if not last and now < self._next:
            return
        groups = list(COUNTS.groups.values())
        known = FOUND if task_objects() is not None else FOUND[:3]
        names = known + LEFT + (OUTCOMES if COUNTS.outcomes else ())
        part: List[Dict[str, Any]] = []
        changed = 0
        slice_ends = perf_counter() + TIME_SLICE
        for group in groups:
            if perf_counter() >= slice_ends:
                yield
                slice_ends = perf_counter() + TIME_SLICE
            figures: Dict[str, float] = {name: getattr(group, name) for name in names}
            figures["busy"] = round(group.busy, 4)
            if IS_ESTIMATED:
                figures["kept"] = group.kept.count(group.counted())
            if not group.reported and not any(figures.values()):  # a wrapper's, or counted but not found
                continue
            if group.reported is None and not (figures["live"] or figures["ended"] or last):
                # Tasks of a wrapper that are just ending: their function is unknown, and they are gone soon.
                group.reported = {}
                continue
            if last or group.reported != figures:
                if len(part) == PART:
                    self._outbox.send("groups", time=self._scan.began, groups=part, more=True)
                    part = []
                part.append(_group_fields(group, figures))
                group.reported = figures
                changed += 1
        COUNTS.sample_next(groups)
        self._next = now + min(LONGEST_INTERVAL, max(GROUPS_INTERVAL, changed / MOST_PER_SECOND))
        if part:
            self._outbox.send("groups", time=self._scan.began, groups=part, more=False)
        self._complete = self._scan.began

    def read(self) -> Dict[str, Any]:
        """Return the time of the scan as of which all groups that had changed were reported."""
        return {} if self._complete is None else {"groups_time": self._complete}


def _most(lines: Dict[str, int]) -> List[Tuple[str, int]]:
    ranked = list(lines.items())  # a copy: other threads add to it
    ranked.sort(key=lambda item: -item[1])
    return ranked[:MAX_STARTS]


def _group_fields(group: CountedGroup, figures: Dict[str, float]) -> Dict[str, Any]:
    fields: Dict[str, Any] = {
        "group": group.number,
        **{name: getattr(group, name) for name in ("name", "file", "line", "kind", "own")},
        "created": max(0, group.live + group.ended - group.since),
        "live_peak": group.live_peak,
        "direct": group.direct,
        "moved": max(0, group.moved),
        **figures,
    }
    if group.found >= LEAST_FOUND and group.moved <= 0 and (not group.direct or group.observed is not None):
        fields["task_seconds"] = round(group.task_seconds, 3)
    oldest = group.oldest()
    if oldest is not None:
        fields["oldest"] = round(monotonic() - oldest[1], 3)
    durations = group.durations
    if durations.unsent:
        fields["durations"] = durations.take_unsent()
    if durations.live:
        fields["timing"] = durations.ages()
    fields["starts"] = [line for line, _ in _most(group.starts)]
    if group.left:
        fields["left_lines"] = [{"line": line, "tasks": tasks} for line, tasks in _most(group.left_lines)]
    return fields
