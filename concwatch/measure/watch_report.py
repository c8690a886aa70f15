"""The report on a watched program as a JSON object, and expectations about its figures."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct, structs

from concwatch.measure.expect import METRICS_LISTED_BY, MetricExpectation
from concwatch.monitor.metrics.group_status import GROUP_METRICS, GroupFigures, GroupStatus
from concwatch.monitor.metrics.metric import Metric, combined_value
from concwatch.monitor.metrics.metrics import LaneSnapshot
from concwatch.monitor.metrics.process_status import PROCESS_METRICS
from concwatch.monitor.metrics.snapshot import Snapshot
from concwatch.monitor.metrics.unit import COUNT
from concwatch.monitor.verdicts.events import KINDS, WITHDRAWN
from concwatch.monitor.verdicts.waits import place_json, waits_json
from concwatch.portable.protocol.text import flat

METRICS = {row.name: row for row in (*GROUP_METRICS, *PROCESS_METRICS)}
"""The metrics that an expectation can name; those of whole processes first count for the program."""

OF_GROUPS = frozenset(row.name for row in GROUP_METRICS)
"""Those that groups have."""


EVENTS = "events"
"""The subject of expectations of how many events of a kind there were: ``events.leak <= 0``."""


def watch_report(snapshot: Snapshot, command: Sequence[str], exit_status: int | None) -> dict[str, Any]:
    """Return the report on a program, in bytes and seconds."""
    return {
        "command": list(command),
        "exit": exit_status,
        "seconds": round(snapshot.elapsed, 3),
        "left_out": snapshot.left_out,
        "event_counts": _event_counts(snapshot.event_kinds),
        "events": [
            {
                "seconds": round(event.time, 3),
                "process": event.lane,
                **event.identity,
            }
            for event in snapshot.events.since(0)
        ],
        "processes": [_process(lane, snapshot.time - snapshot.elapsed) for lane in snapshot.lanes],
    }


def _event_counts(kinds: Mapping[Any, int]) -> dict[str, int]:
    """Return the events of each kind, without those that were withdrawn."""
    return {kind: kinds.get(kind, 0) - kinds.get(kind + WITHDRAWN, 0) for kind in KINDS}


def _values(rows: Iterable[Metric], of: LaneSnapshot | GroupStatus) -> dict[str, float | None]:
    """Return the values of metrics by name, rounded to their decimals."""
    found = {}
    for row in rows:
        value = row.value(of)
        found[row.name] = (
            value if value is None or row.decimals is None else round(value, row.decimals or None)
        )
    return found


def _process(lane: LaneSnapshot, began: float) -> dict[str, Any]:
    """Return the record of a process, given when the watching began."""
    facts, process = lane.facts, lane.process
    assert facts is not None
    assert process is not None
    threads, executors, lines, files = (
        [one.as_json() for one in lane.resources if one.kind == kind and (one.count or kind == "jobs")]
        for kind in ("threads", "jobs", "executors", "files")
    )
    return {
        "pid": facts.pid,
        "ppid": facts.ppid,
        "name": facts.name,
        "runtime": lane.status.runtime,
        "how": "agent" if facts.has_agent else "outside",
        "reason": lane.status.reason,
        "as_of": None if facts.reported is None else round(facts.reported - began, 3),
        **_values(PROCESS_METRICS, lane),
        "at_least": list(process.at_least),
        "memory": lane.memory.as_json(began) if lane.memory else None,
        "blocks": [place.as_json() for place in lane.blocks],
        "agent_error_kinds": [structs.asdict(one) for one in lane.agent_errors],
        "ongoing": [one.as_json() for one in lane.status.ongoing],
        "containers": [one.as_json() for one in lane.containers],
        "thread_targets": threads,
        "executors": executors,
        "executor_lines": lines,
        "files": files[0] if files else None,
        "groups": [
            _group(group) for group in sorted(lane.groups, key=lambda group: -group.figure("created"))
        ],
    }


def _group(group: GroupFigures) -> dict[str, Any]:
    status = group.status
    return {
        **{name: getattr(status, name) for name in ("name", "file", "line")},
        **_values(GROUP_METRICS, status),
        "left_over_lines": [{"line": line.line or None, "tasks": line.tasks} for line in status.left_lines],
        "busy_interval": _interval(status.busy, status.busy_half),
        "growth": structs.asdict(status.growth) if status.growth else None,
        "waits": [waits_json(place) for place in status.waits],
        "created_at": [place_json(place) for place in status.created_at],
        "awaited_by": [place_json(place) for place in status.awaited_by],
        "waits_age": None if group.waits_age is None else round(group.waits_age, 3),
        "at_least": list(status.at_least),
        "grows": status.grows,
        "leak": status.leak,
    }


def _interval(value: float | None, half: float | None) -> list[float] | None:
    if value is None or half is None:
        return None
    return [round(max(0.0, value - half), 4), round(value + half, 4)]


class WatchExpectation(MetricExpectation):
    """An expectation about the whole program, or about one group by name."""

    def judge(self, report: Mapping[str, Any]) -> "WatchVerdict":
        """Compare it with a report of `watch_report`."""
        if self.subject == EVENTS and self.metric in KINDS:
            count = report["event_counts"][self.metric]
            texts = [event["text"] for event in report["events"] if event["kind"] == self.metric]
            return WatchVerdict(
                self, count, self.holds(count), "" if self.holds(count) else "; ".join(texts[-3:])
            )
        rows = report["processes"]
        if self.subject:
            rows = [group for row in rows for group in row["groups"] if group["name"] == self.subject]
        found = [(row[self.metric], row) for row in rows if row.get(self.metric) is not None]
        values = [value for value, _ in found]
        measured = combined_value(METRICS[self.metric].combine, values, [1] * len(values))
        holds = self.holds(measured)
        return WatchVerdict(self, measured, holds, "" if holds else self._culprits(found))

    def _culprits(self, found: "list[tuple[float, Mapping[str, Any]]]") -> str:
        """Return the groups with the highest values."""
        if self.subject or self.metric not in OF_GROUPS:
            return ""
        rows = [
            (group.get(self.metric) or 0, f"{group['name']}, {group['file']}:{group['line']}")
            for _, row in found
            for group in row.get("groups", ())
        ]
        largest = sorted((row for row in rows if row[0]), reverse=True)[:5]
        form = METRICS[self.metric].unit.format
        return "; ".join(name if len(largest) == 1 else f"{form(value)} in {name}" for value, name in largest)


class WatchVerdict(Struct, frozen=True):
    """The result of an expectation."""

    expectation: WatchExpectation
    measured: float | None
    holds: bool
    culprits: str = ""

    def sentence(self) -> str:
        """Return whether it holds, and what was measured."""
        metric = METRICS.get(self.expectation.metric)
        form = (metric.unit if metric else COUNT).format
        found = "not measured" if self.measured is None else form(self.measured)
        return self.expectation.sentence(self.measured, found, self.culprits)

    def as_json(self) -> dict[str, object]:
        """Return its entry in the report."""
        return self.expectation.as_json(self.measured, group=self.expectation.subject or None)


def parse_watch_expectation(text: str) -> WatchExpectation:
    """Parse an expectation, such as ``left_over <= 0`` or ``fetch_page.live_peak < 100``.

    Raises:
        ValueError: it is malformed; the message is one line that says what was expected.
    """
    form = '[GROUP.]METRIC OP VALUE, such as "left_over <= 0" or "events.leak <= 0"'
    return WatchExpectation.parse(
        text,
        form,
        lambda group: {
            **{name: row.unit for name, row in METRICS.items() if name in OF_GROUPS or not group},
            **(dict.fromkeys(KINDS, COUNT) if group == EVENTS else {}),
        },
        "" if flat(text).startswith(f"{EVENTS}.") else METRICS_LISTED_BY,
    )
