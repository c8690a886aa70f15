"""The figures of a watched program as OpenMetrics, which Prometheus scrapes."""

import contextlib
from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from typing import NamedTuple

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from concwatch.monitor.metrics import EXPORTED, Known
from concwatch.monitor.ranking import identity
from concwatch.monitor.snapshot import Snapshot
from concwatch.monitor.unit import BYTES, SECONDS
from concwatch.monitor.watched import WatchedProcess
from concwatch.monitor.watching import Watching
from concwatch.system.machine import program_version

MOST_FUNCTIONS = 50
"""Functions with labels of their own: the first that create tasks. The rest are summed as `OTHER`."""

OTHER = ("other", "", "")

TIMEOUT = 5.0
"""Seconds that a scrape waits for the monitor."""

PROCESS_LABELS = ("process", "pid")
FUNCTION_LABELS = ("function", "file", "line")


UNITS = {BYTES: "bytes", SECONDS: "seconds"}
"""The units that OpenMetrics has in the names of metrics."""


class FunctionFigures(NamedTuple):
    """The tasks of one coroutine function in one process."""

    live: int = 0
    created: int = 0
    ended: int = 0
    left_over: int = 0
    leaks: int = 0

    def plus(self, other: "FunctionFigures") -> "FunctionFigures":
        """Return the sums."""
        return FunctionFigures(*(this + that for this, that in zip(self, other, strict=True)))


FUNCTION_METRICS: Sequence[tuple[str, str, str, bool]] = (
    ("live", "tasks", "Live tasks of a coroutine function.", False),
    ("created", "tasks_created", "Tasks created of a coroutine function.", True),
    ("ended", "tasks_ended", "Tasks of a coroutine function that have ended.", True),
    ("left_over", "tasks_left_over", "Tasks that were pending when their main coroutine was done.", True),
    ("leaks", "leaking_processes", "Processes in which the tasks of a coroutine function leak.", False),
)

Function = tuple[str, str, str]


class FunctionTotals:
    """Sums over all processes by function, which never fall when processes end and their lanes are reused."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, float], Mapping[Function, FunctionFigures]] = {}
        self._gone: dict[Function, FunctionFigures] = {}
        self._labelled: dict[Function, None] = {}

    def update(self, lanes: Iterable[WatchedProcess]) -> Mapping[Function, FunctionFigures]:
        """Return the figures by function: the first `MOST_FUNCTIONS`, and those of all others as `OTHER`."""
        now = {(lane.pid, lane.began): self._of(lane) for lane in lanes}
        for key, figures in self._known.items():
            if key not in now:
                _add(self._gone, {name: each._replace(live=0, leaks=0) for name, each in figures.items()})
        self._known = now
        totals = dict(self._gone)
        for figures in now.values():
            _add(totals, figures)
        return totals

    def _of(self, lane: WatchedProcess) -> Mapping[Function, FunctionFigures]:
        found: dict[Function, FunctionFigures] = {}
        for group in lane.groups.values():
            report, alive = group.report, lane.alive
            one = FunctionFigures(
                report.live if alive else 0,
                report.created,
                report.ended,
                report.left_over or 0,
                int(group.leak and alive),
            )
            name, file, line = identity(report)
            _add(found, {self._label((name, file, str(line))): one})
        return found

    def _label(self, function: Function) -> Function:
        if function not in self._labelled and len(self._labelled) < MOST_FUNCTIONS:
            self._labelled[function] = None
        return function if function in self._labelled else OTHER


def _add(totals: dict[Function, FunctionFigures], figures: Mapping[Function, FunctionFigures]) -> None:
    for function, each in figures.items():
        totals[function] = totals[function].plus(each) if function in totals else each


def _family(
    name: str, unit: str, meaning: str, counter: bool, labels: Sequence[str]
) -> CounterMetricFamily | GaugeMetricFamily:
    # Both take the same arguments, and both add a sample by add_metric(labels, value).
    kind = CounterMetricFamily if counter else GaugeMetricFamily
    return kind(f"concwatch_{name}", meaning, labels=labels, unit=unit)


class MetricsServer(Collector):
    """Serves ``/metrics`` over HTTP.

    A scrape is answered by the monitor's own thread, at its next step: nothing is computed in between, and
    what is read does not change meanwhile.
    """

    def __init__(self, host: str, port: int) -> None:
        """Listen on ``host`` and ``port``; 0 for any free port.

        Raises:
            ValueError: that is not possible; the message is one line.
        """
        self._watching: Watching | None = None
        self._totals = FunctionTotals()
        self._requests: deque[Future[list[Metric]]] = deque()
        registry = CollectorRegistry(auto_describe=False)
        registry.register(self)
        try:
            self._server, self._thread = start_http_server(port, host, registry)
        except OSError as error:
            raise ValueError(f"{host}:{port}: {error.strerror}: expected a free port") from None
        self.address = f"http://{host}:{self._server.server_port}/metrics"

    def observe(self, watching: Watching) -> None:
        """Answer scrapes from a program, which the caller steps."""
        self._watching = watching
        watching.observers.append(self._update)

    def describe(self) -> Iterable[Metric]:
        """Return nothing: the names are not needed before the first scrape."""
        return ()

    def collect(self) -> Iterable[Metric]:
        """Return the metrics as of the monitor's next step."""
        request: Future[list[Metric]] = Future()
        self._requests.append(request)
        return request.result(TIMEOUT)

    def _update(self, snapshot: Snapshot) -> None:
        while self._requests:
            request = self._requests.popleft()
            with contextlib.suppress(Exception):  # one that nobody waits for any more
                request.set_result(self._families(snapshot))

    def _families(self, snapshot: Snapshot) -> list[Metric]:
        assert self._watching is not None
        info = GaugeMetricFamily("concwatch_info", "The version of concwatch.", labels=("version",))
        info.add_metric((program_version(),), 1)
        running = [lane for lane in snapshot.lanes if lane.on]
        found: list[Metric] = [
            info,
            GaugeMetricFamily("concwatch_processes", "Processes that run.", len(running)),
        ]
        for row in EXPORTED:
            name, unit = f"process_{row.openmetrics}", UNITS.get(row.unit, "")
            family = _family(name, unit, row.meaning, row.known is Known.AT_END, PROCESS_LABELS)
            for lane in running:
                value = row.value(lane)
                if value is not None:
                    pid = str(lane.status.pid)
                    family.add_metric((lane.name.removesuffix(f" {pid}"), pid), value)
            found.append(family)
        totals = self._totals.update(self._watching.lanes)
        for figure, name, meaning, counter in FUNCTION_METRICS:
            family = _family(f"function_{name}", "", meaning, counter, FUNCTION_LABELS)
            for function, figures in totals.items():
                family.add_metric(function, getattr(figures, figure))
            found.append(family)
        events = CounterMetricFamily("concwatch_events", "Events by kind.", labels=("kind",))
        kinds: Counter[str] = Counter(self._watching.events.kinds)
        for kind, count in sorted(kinds.items()):
            events.add_metric((kind or "other",), count)
        return [*found, events]

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
