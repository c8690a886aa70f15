"""The figures of a watched program as OpenMetrics, which Prometheus scrapes."""

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from socket import SOCK_STREAM, getaddrinfo
from threading import Thread
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from prometheus_client import CollectorRegistry, make_wsgi_app
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import ThreadingWSGIServer
from prometheus_client.registry import Collector

from concwatch.exporters.exporter import PROCESS_EXPORTED
from concwatch.monitor.group_status import GROUP_METRICS
from concwatch.monitor.metric import Known
from concwatch.monitor.metrics import LaneSnapshot
from concwatch.monitor.snapshot import Snapshot
from concwatch.monitor.unit import BYTES, SECONDS
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


Function = tuple[str, str, str]
"""A coroutine function: its name, its file and its line."""

Totals = defaultdict[Function, float]

EXPORTED = tuple(row for row in GROUP_METRICS if row.openmetrics)
COUNTERS = tuple(row for row in EXPORTED if row.known is Known.AT_END)
GAUGES = tuple(row for row in EXPORTED if row.known is not Known.AT_END)
"""The metrics of a function: those that are totals, and the others."""

NOTHING = (0,) * len(COUNTERS)


class FunctionTotals:
    """Sums over all processes by function. The counters never fall, whatever ends."""

    def __init__(self) -> None:
        self.values: dict[str, Totals] = {row.name: Totals(float) for row in EXPORTED}
        """The sums of each metric."""
        self._last: dict[tuple[int, float, int], tuple[float, ...]] = {}
        """The counts of each group at the last update, by its process and its number."""
        self._ended: set[tuple[int, float]] = set()
        """The ended processes whose last counts are included."""
        self._labelled: set[Function] = set()

    def update(self, lanes: Iterable[LaneSnapshot]) -> None:
        """Add what has been counted since the last update, and sum up what is live."""
        gauges = [Totals(float) for _ in GAUGES]
        self.values |= {row.name: sums for row, sums in zip(GAUGES, gauges, strict=True)}
        counters = [self.values[row.name] for row in COUNTERS]
        by_process = {(lane.status.pid or 0, lane.status.born): lane for lane in lanes}
        alive = {process for process, lane in by_process.items() if lane.on}
        # The groups of one that has lost its agent are unknown, and come again when it ends.
        last = {key: counts for key, counts in self._last.items() if key[:2] in alive}
        ended = set()
        for process, lane in by_process.items():
            running = lane.on
            if not running:
                ended.add(process)
                if process in self._ended:
                    continue
            for group in lane.groups:
                name, file, line = group.function
                function = self._label((name, file, str(line)))
                key = (*process, group.figure("group"))
                last[key] = counts = tuple([row.value(group) or 0 for row in COUNTERS])
                before = self._last.get(key, NOTHING)
                if counts != before:
                    for sums, now, then in zip(counters, counts, before, strict=True):
                        sums[function] += max(0, now - then)
                if running:
                    for row, sums in zip(GAUGES, gauges, strict=True):
                        sums[function] += row.value(group) or 0
        self._last, self._ended = last, ended

    def _label(self, function: Function) -> Function:
        """Return a function if it is one of the first `MOST_FUNCTIONS`, else `OTHER`."""
        if len(self._labelled) < MOST_FUNCTIONS:
            self._labelled.add(function)
        return function if function in self._labelled else OTHER


def _family(
    name: str, unit: str, meaning: str, counter: bool, labels: Sequence[str]
) -> CounterMetricFamily | GaugeMetricFamily:
    # Both take the same arguments, and both add a sample by add_metric(labels, value).
    kind = CounterMetricFamily if counter else GaugeMetricFamily
    return kind(f"concwatch_{name}", meaning, labels=labels, unit=unit)


class SilentHandler(WSGIRequestHandler):
    """Answers a request, and logs nothing."""

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""


def _listen(host: str, port: int, registry: CollectorRegistry) -> WSGIServer:
    """Return a server that listens, and answers nothing yet."""
    family, _, _, _, address = getaddrinfo(host, port, type=SOCK_STREAM)[0]

    class Server(ThreadingWSGIServer):
        address_family = family

    return make_server(str(address[0]), port, make_wsgi_app(registry), Server, handler_class=SilentHandler)


class MetricsServer(Collector):
    """Serves ``/metrics`` over HTTP, from `observe` on: a program is started before there are other threads.

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
            self._server = _listen(host, port, registry)
        except OSError as error:
            raise ValueError(f"{host}:{port}: {error.strerror}: expected a free port") from None
        self._thread: Thread | None = None
        self.address = f"http://{host}:{self._server.server_port}/metrics"

    def observe(self, watching: Watching) -> None:
        """Answer scrapes from a program, which the caller steps."""
        self._watching = watching
        watching.observers.append(self._update)
        self._thread = Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

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
            try:
                request.set_result(self._families(snapshot))
            except Exception as error:  # the scrape fails, not the watching
                request.set_exception(error)

    def _families(self, snapshot: Snapshot) -> list[Metric]:
        assert self._watching is not None
        info = GaugeMetricFamily("concwatch_info", "The version of concwatch.", labels=("version",))
        info.add_metric((program_version(),), 1)
        running = [lane for lane in snapshot.lanes if lane.on]
        found: list[Metric] = [
            info,
            GaugeMetricFamily("concwatch_processes", "Processes that run.", len(running)),
        ]
        for row in PROCESS_EXPORTED:
            name, unit = f"process_{row.openmetrics}", UNITS.get(row.unit, "")
            family = _family(name, unit, row.meaning, row.known is Known.AT_END, PROCESS_LABELS)
            for lane in running:
                value = row.value(lane)
                if value is not None:
                    pid = str(lane.status.pid)
                    family.add_metric((lane.name.removesuffix(f" {pid}"), pid), value)
            found.append(family)
        self._totals.update(snapshot.lanes)
        for row in EXPORTED:
            name, unit = f"function_{row.openmetrics}", UNITS.get(row.unit, "")
            family = _family(name, unit, row.meaning, row in COUNTERS, FUNCTION_LABELS)
            for function, value in self._totals.values[row.name].items():
                family.add_metric(function, value)
            found.append(family)
        events = CounterMetricFamily("concwatch_events", "Events by kind.", labels=("kind",))
        kinds: Counter[str] = Counter(self._watching.events.kinds)
        for kind, count in sorted(kinds.items()):
            events.add_metric((kind or "other",), count)
        return [*found, events]

    def close(self) -> None:
        """Stop listening."""
        if self._thread is not None:
            self._server.shutdown()
            self._thread.join()
        self._server.server_close()
