"""The contents of ``tick`` and ``groups`` reports."""

from __future__ import annotations

import sys
from time import monotonic, perf_counter

from ..basics.kept import IS_ESTIMATED
from ..counting.counted_group import GEVENT
from ..counting.counting import COUNTS
from ..counting.scan import task_objects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Iterable, Iterator, List, Tuple

    from ..counting.counted_group import CountedGroup
    from ..counting.scan import Scan
    from .connection import Connection
    from .figures import Figures

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


def tick(number: int, scan: Scan, figures: Figures, outcomes: bool) -> Dict[str, Any]:
    """Return the fields of a tick."""
    fields: Dict[str, Any] = {
        "time": monotonic(),
        "number": number,
        "created": COUNTS.table.created(),
        **COUNTS.unfinished.counts(),
    }
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
    if outcomes:
        fields.update(_sums(COUNTS.groups.values(), OUTCOMES))
    fields.update(figures.read())
    return fields


class ChangedGroups:
    """Selects the groups that have changed since they were last reported over a connection."""

    def __init__(self) -> None:
        self._due = 0.0
        for group in list(COUNTS.groups.values()):
            group.reported = None

    def send(
        self, connection: Connection, now: float, scan: Scan, outcomes: bool, last: bool = False
    ) -> Iterator[None]:
        """Send the changed groups, if there are any and the last report is not too recent.

        A generator: one time slice per step.
        """
        if not last and now < self._due:
            return
        groups = list(COUNTS.groups.values())
        known = FOUND if task_objects() is not None else FOUND[:3]
        names = known + LEFT + (OUTCOMES if outcomes else ())
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
                    connection.send("groups", time=scan.began, groups=part, more=True)
                    part = []
                part.append(_group_fields(group, figures))
                group.reported = figures
                changed += 1
        COUNTS.sample_next(groups)
        self._due = now + min(LONGEST_INTERVAL, max(GROUPS_INTERVAL, changed / MOST_PER_SECOND))
        if part:
            connection.send("groups", time=scan.began, groups=part, more=False)


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
