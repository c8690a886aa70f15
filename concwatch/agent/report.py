"""What a tick and a report of groups hold."""

from __future__ import annotations

from time import monotonic, thread_time

from .counting import COUNTS
from .scan import existing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional

    from .counting import Group
    from .figures import Figures
    from .scan import Scan

MOST_GROUPS = 200
"""Groups that are told one by one."""

MOST_STARTS = 5

GROUPS_EVERY = 0.5
"""Seconds between two reports of groups, at least."""

OUTCOMES = ("completed", "failed", "cancelled")
FIGURES = ("live", "ended", "since", "retained")


def _sums(groups: List[Group], names: Any) -> Dict[str, int]:
    return {name: sum([getattr(group, name) for group in groups]) for name in names}


def tick(number: int, scan: Scan, figures: Figures, outcomes: bool) -> Dict[str, Any]:
    """Return the fields of a tick."""
    fields: Dict[str, Any] = {"time": monotonic(), "number": number, "created": COUNTS.created()}
    if scan.began is not None:
        fields.update(
            live=scan.live,
            ended=scan.ended,
            since=scan.since,
            scan_created=scan.scan_created,
            scan_time=scan.began,
        )
    objects = existing()
    if objects is not None:
        fields["existing"] = objects
        if scan.began is not None:
            fields["retained"] = scan.retained
    if outcomes:
        fields.update(_sums(list(COUNTS.groups.values()), OUTCOMES))
    fields.update(figures.read())
    fields["agent_cpu"] = round(thread_time(), 6)
    return fields


class Groups:
    """Tells of the groups that have changed."""

    def __init__(self) -> None:
        self._due = 0.0

    def report(self, now: float, scan: Scan, outcomes: bool, last: bool = False) -> Optional[Dict[str, Any]]:
        """Return the fields of a report, or None when nothing has changed or the last one was just now."""
        if not last and now < self._due:
            return None
        self._due = now + GROUPS_EVERY
        groups = list(COUNTS.groups.values())
        groups.sort(key=lambda group: (-group.live, -group.ended, group.number))
        shown, others = groups[:MOST_GROUPS], groups[MOST_GROUPS:]
        told = []
        for group in shown:
            figures = tuple([getattr(group, name) for name in (*FIGURES, *(OUTCOMES if outcomes else ()))])
            if last or group.sent != figures:
                told.append(_told(group, outcomes))
                group.sent = figures
        COUNTS.note_next(shown)
        for group in others:
            group.sent = None  # tell all of it when it comes up again
        if not told and not others:
            return None
        report: Dict[str, Any] = {"time": scan.began, "groups": told}
        if others:
            sums = _sums(others, FIGURES)
            report["rest"] = {
                "groups": len(others),
                "created": sums["live"] + sums["ended"] - sums["since"],
                **sums,
            }
        return report


def _told(group: Group, outcomes: bool) -> Dict[str, Any]:
    fields: Dict[str, Any] = {
        "group": group.number,
        "name": group.name,
        "file": group.file,
        "line": group.line,
        "kind": group.kind,
        "own": group.own,
        "created": max(0, group.live + group.ended - group.since),
        **{name: getattr(group, name) for name in FIGURES},
    }
    if outcomes:
        fields.update({name: getattr(group, name) for name in OUTCOMES})
    oldest = group.oldest()
    if oldest is not None:
        fields["oldest"] = round(monotonic() - oldest[1], 3)
    ranked = list(group.starts.items())  # a copy: other threads add to it
    ranked.sort(key=lambda item: -item[1])
    fields["starts"] = [start for start, _ in ranked[:MOST_STARTS]]
    return fields
