"""The report on a watched program as a JSON object, and expectations about its figures."""

import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct, structs

from concwatch.measure.expect import MetricExpectation
from concwatch.monitor.events import KINDS, WITHDRAWN
from concwatch.monitor.group import Group
from concwatch.monitor.resources import as_json
from concwatch.monitor.snapshot import Snapshot
from concwatch.monitor.unit import BYTES, COUNT, SECONDS, Unit
from concwatch.monitor.waits import place_json, waits_json
from concwatch.monitor.watched import WatchedProcess
from concwatch.monitor.watching import Watching

Combine = Callable[[Iterable[float]], float]


class WatchFigure(Struct, frozen=True):
    """A metric that an expectation can name."""

    unit: Unit
    combine: Combine
    """Combines the values of several processes or groups."""
    of_groups: bool = False
    """Whether groups have it, too."""


METRICS: Mapping[str, WatchFigure] = {
    "created": WatchFigure(COUNT, sum, True),
    "live": WatchFigure(COUNT, sum, True),
    "live_at_end": WatchFigure(COUNT, sum, True),
    "live_peak": WatchFigure(COUNT, sum, True),
    "left_over": WatchFigure(COUNT, sum, True),
    "destroyed": WatchFigure(COUNT, sum, True),
    "ended": WatchFigure(COUNT, sum, True),
    "failed": WatchFigure(COUNT, sum, True),
    "retained": WatchFigure(COUNT, sum, True),
    "leaks": WatchFigure(COUNT, sum, True),
    "queued": WatchFigure(COUNT, sum),
    "queued_peak": WatchFigure(COUNT, sum),
    "threads": WatchFigure(COUNT, sum),
    "rss_peak": WatchFigure(BYTES, max),
    "rss_last": WatchFigure(BYTES, sum),
    "cpu_seconds": WatchFigure(SECONDS, sum),
    "gc_seconds": WatchFigure(SECONDS, sum),
    "lag_p99": WatchFigure(SECONDS, max),
    "blocked": WatchFigure(SECONDS, max),
    "mean_life": WatchFigure(SECONDS, statistics.mean, True),
}


EVENTS = "events"
"""The subject of expectations of how many events of a kind there were: ``events.leak <= 0``."""


class ProcessRecord(Struct):
    """Figures of one process that its lane does not keep."""

    born: float | None = None
    rss_last: int | None = None
    rss_peak: int = 0
    cpu_seconds: float = 0.0
    threads: int = 0


class WatchRecord:
    """Collects the metrics of a program from its snapshots until it ends."""

    def __init__(self, watching: Watching) -> None:
        self._watching = watching
        self._records: dict[int, ProcessRecord] = {}
        watching.observers.append(self._update)

    def _update(self, snapshot: Snapshot) -> None:
        for number, lane in enumerate(snapshot.lanes):
            record, sample = self._records.setdefault(number, ProcessRecord(lane.status.born)), lane.sample
            if record.born != lane.status.born:  # the lane is another process's now
                record = self._records[number] = ProcessRecord(lane.status.born)
            if sample.rss is None:
                continue
            record.rss_last = sample.rss
            record.rss_peak = max(record.rss_peak, sample.rss, lane.status.peak_rss or 0)
            record.cpu_seconds = max(record.cpu_seconds, sample.cpu_seconds or 0.0)
            record.threads = max(record.threads, sample.threads or 0)

    def as_json(self, command: Sequence[str], exit_status: int | None, seconds: float) -> dict[str, Any]:
        """Return the report, in bytes and seconds."""
        return {
            "command": list(command),
            "exit": exit_status,
            "seconds": round(seconds, 3),
            "left_out": self._watching.left_out,
            "event_counts": self._event_counts(),
            "events": [
                {
                    "seconds": round(event.time, 3),
                    "process": event.lane,
                    "kind": event.kind,
                    "severity": event.severity,
                    "text": event.text,
                }
                for event in self._watching.events.since(0)
            ],
            "processes": [
                self._process(lane, self._records.get(lane.number, ProcessRecord()))
                for lane in self._watching.lanes
            ],
        }

    def _event_counts(self) -> dict[str, int]:
        """Return the events of each kind, also of those that are not kept, without those taken back."""
        kinds: Counter[str] = Counter(self._watching.events.kinds)
        return {kind: kinds[kind] - kinds[kind + WITHDRAWN] for kind in KINDS}

    def _process(self, lane: WatchedProcess, record: ProcessRecord) -> dict[str, Any]:
        tick = lane.tick
        return {
            "pid": lane.pid,
            "ppid": lane.ppid,
            "name": lane.process_name,
            "runtime": lane.ready.runtime if lane.ready else None,
            "how": "agent" if lane.ready else "outside",
            "reason": lane.reason,
            "rss_first": lane.rss_first,
            "rss_last": record.rss_last,
            "rss_peak": record.rss_peak or None,
            "cpu_seconds": round(record.cpu_seconds, 3),
            "threads": record.threads,
            "queued": getattr(tick, "queued", None),
            "queued_peak": lane.queued_peak,
            "created": tick.created + tick.missed if tick else None,
            "live": tick.live if tick else None,
            "live_peak": lane.live_peak or (None if tick and tick.created else lane.live_peak),
            "live_at_end": tick.live if tick and lane.exited_normally else None,
            **{name: _so_far(getattr(tick, name, None), lane) for name in ("left_over", "destroyed")},
            "ended": tick.ended + tick.missed if tick and tick.ended is not None else None,
            **{name: getattr(tick, name, None) for name in ("failed", "retained")},
            "missed": tick.missed if tick else None,
            "at_least": _at_least(lane),
            "lag_p99": lane.lags.quantile(0.99),
            "blocked": round(lane.blocks.longest, 3) if lane.ready and "blocks" in lane.ready.flags else None,
            "blocks": [place.as_json() for place in lane.blocks.ranked()],
            "gc_seconds": tick.gc if tick else None,
            "leaks": sum(group.leak for group in lane.groups.values())
            + sum(one.grows for one in lane.resources.all()),
            "thread_targets": [as_json(one) for one in lane.resources.of("threads")],
            "executors": [as_json(one) for one in lane.resources.all() if one.report.kind == "jobs"],
            "files": next((as_json(one) for one in lane.resources.of("files")), None),
            "groups": [
                _group(group, lane)
                for group in sorted(lane.groups.values(), key=lambda group: -group.report.created)
            ],
        }


def _at_least(lane: WatchedProcess) -> list[str]:
    """Return the metrics that may be higher, since scans may have missed some tasks."""
    tick = lane.tick
    if tick is None:
        return []
    if tick.missed or any(group.report.direct for group in lane.groups.values()):
        return ["created", "ended", "live_peak"]
    return ["live_peak"] if (lane.live_peak or 0) < tick.created + (tick.since or 0) else []


def _so_far(count: int | None, lane: WatchedProcess) -> int | None:
    """Return a count that only rises; None for 0 if the process ended without its last report."""
    return count if count or lane.alive or lane.exited_normally else None


def _group(group: Group, lane: WatchedProcess) -> dict[str, Any]:
    status = group.status
    return {
        **{name: getattr(status, name) for name in ("name", "file", "line", "created", "live", "live_peak")},
        "live_at_end": status.live if lane.exited_normally else None,
        **{name: _so_far(getattr(status, name), lane) for name in ("left_over", "destroyed")},
        "left_over_lines": [{"line": line.line or None, "tasks": line.tasks} for line in status.left_lines],
        **{name: getattr(status, name) for name in ("ended", "failed", "mean_life", "retained")},
        "growth": structs.asdict(status.growth) if status.growth else None,
        "rss": None if status.rss is None else round(status.rss),
        "waits": [waits_json(place) for place in status.waits],
        "created_at": [place_json(place) for place in status.created_at],
        "awaited_by": [place_json(place) for place in status.awaited_by],
        "waits_age": None if group.waits_age is None else round(group.waits_age, 3),
        "at_least": list(status.at_least),
        "leak": status.leak,
        "leaks": int(status.leak),
    }


class WatchExpectation(MetricExpectation):
    """An expectation about the whole program, or about one group by name."""

    def judge(self, report: Mapping[str, Any]) -> "WatchVerdict":
        """Compare it with a report of `WatchRecord.as_json`."""
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
        measured = METRICS[self.metric].combine(values) if values else None
        holds = self.holds(measured)
        return WatchVerdict(self, measured, holds, "" if holds else self._culprits(found))

    def _culprits(self, found: "list[tuple[float, Mapping[str, Any]]]") -> str:
        """Return the groups with the highest values."""
        if self.subject or not METRICS[self.metric].of_groups:
            return ""
        rows = [
            (group.get(self.metric) or 0, f"{group['name']} ({group['file']}:{group['line']})")
            for _, row in found
            for group in row.get("groups", ())
        ]
        largest = sorted((row for row in rows if row[0]), reverse=True)[:5]
        return ", ".join(f"{METRICS[self.metric].unit.format(value)} {name}" for value, name in largest)


class WatchVerdict(Struct, frozen=True):
    """The result of an expectation."""

    expectation: WatchExpectation
    measured: float | None
    holds: bool
    culprits: str = ""

    def sentence(self) -> str:
        """Return the expectation and what was measured instead."""
        metric = METRICS.get(self.expectation.metric)
        form = (metric.unit if metric else COUNT).format
        found = "not measured" if self.measured is None else form(self.measured)
        return f"expected {self.expectation.text}: {found}" + (f": {self.culprits}" if self.culprits else "")

    def as_json(self) -> dict[str, object]:
        """Return its entry in the report."""
        return self.expectation.as_json(self.measured, group=self.expectation.subject or None)


def parse_watch_expectation(text: str) -> WatchExpectation:
    """Parse an expectation, such as ``left_over <= 0`` or ``fetch_page.live_peak < 100``.

    Raises:
        ValueError: it is malformed; the message is one line that says what was expected.
    """
    form = '[GROUP.]FIGURE OP VALUE, such as "left_over <= 0" or "events.leak <= 0"'
    return WatchExpectation.parse(
        text,
        form,
        lambda group: {
            **{name: row.unit for name, row in METRICS.items() if row.of_groups or not group},
            **(dict.fromkeys(KINDS, COUNT) if group == EVENTS else {}),
        },
    )
