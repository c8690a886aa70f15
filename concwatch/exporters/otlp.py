"""The figures of a watched program, pushed to an OpenTelemetry collector by OTLP over HTTP."""

import logging
import os
import time
from collections.abc import Mapping, Sequence
from functools import cached_property
from socket import gethostname
from threading import Event, Thread
from typing import Any
from urllib.parse import urlsplit

from opentelemetry.exporter.otlp.proto.http import metric_exporter as http
from opentelemetry.sdk.metrics import export as sdk
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from concwatch.exporters.collection import Collection
from concwatch.exporters.families import START_TIME, Collected, MetricType
from concwatch.monitor.metrics.snapshot import Snapshot
from concwatch.monitor.statistics.buckets import BOUNDS, Buckets
from concwatch.monitor.watching.watching import Watching
from concwatch.portable.protocol.text import one_line
from concwatch.system.machine import program_version

PATH = "/v1/metrics"
"""The path of metrics below an endpoint."""

INTERVAL = 60_000
"""Milliseconds between two pushes, unless the variable ``OTEL_METRIC_EXPORT_INTERVAL`` has others."""

END_LIMIT = 2.0
"""Seconds that the last push may take."""

UNITS = {"bytes": "By", "seconds": "s", "ratio": "1"}
"""The units as OpenTelemetry names them. Prometheus makes the same names of its metrics as ours."""

CUMULATIVE = sdk.AggregationTemporality.CUMULATIVE


def metrics_of(found: Sequence[Collected], began: int, now: int) -> Sequence[sdk.Metric]:
    """Return metrics as OpenTelemetry's SDK has them.

    ``began`` is when all counting began but that of processes, which began when they started; ``now`` is the
    time of the values. Both are in nanoseconds since the epoch.
    """
    starts = next((one.values for one in found if one.family is START_TIME), ())
    since = {labels: int(value * 1e9) for labels, value in starts if not isinstance(value, Buckets)}
    return [_metric(one, since, began, now) for one in found if one.values]


def _metric(one: Collected, since: Mapping[tuple[str, ...], int], began: int, now: int) -> sdk.Metric:
    family, unknown = one.family, None
    points: list[Any] = []
    for labels, value in one.values:
        when = dict(zip(family.labels, labels, strict=True)), since.get(labels, began), now
        if isinstance(value, Buckets):
            of_buckets: Any = (sum(value.counts), value.seconds, value.counts, BOUNDS, unknown, unknown)
            points.append(sdk.HistogramDataPoint(*when, *of_buckets))
        else:
            points.append(sdk.NumberDataPoint(*when, value))
    data: Any = sdk.Gauge(points)
    if family.type is MetricType.HISTOGRAM:
        data = sdk.Histogram(points, CUMULATIVE)
    elif family.type is MetricType.COUNTER:
        data = sdk.Sum(points, CUMULATIVE, is_monotonic=True)
    name = ".".join(filter(None, ("concwatch", family.subject, family.stem)))
    return sdk.Metric(name, family.meaning, UNITS.get(family.unit, ""), data)


class _LastMessage(logging.Handler):
    """Keeps the last message of the SDK, which says why a push failed, in place of printing it."""

    text = ""

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a message."""
        self.text = one_line(record.getMessage())


class OtlpExporter:
    """Pushes the metrics at regular times, and once more at the end, from a thread of its own.

    Headers, timeouts, certificates and resource attributes are those of OpenTelemetry's environment
    variables. An event of kind ``export`` says when pushing has begun to fail, and when it succeeds again.
    """

    def __init__(self, endpoint: str, interval: float | None = None) -> None:
        """Prepare to push to ``endpoint``, a URL to which `PATH` is appended, every ``interval`` seconds.

        Raises:
            ValueError: it is not a URL; the message is one line.
        """
        if urlsplit(endpoint).scheme not in ("http", "https") or not urlsplit(endpoint).netloc:
            raise ValueError(f"{endpoint}; expected a URL such as http://127.0.0.1:4318")
        milliseconds = float(os.environ.get("OTEL_METRIC_EXPORT_INTERVAL") or INTERVAL)
        self._interval = milliseconds / 1e3 if interval is None else interval
        self._endpoint = endpoint
        self._exporter = http.OTLPMetricExporter(f"{endpoint.rstrip('/').removesuffix(PATH)}{PATH}")
        self._message = _LastMessage()
        logger = logging.getLogger("opentelemetry")
        logger.addHandler(self._message)
        logger.propagate = False
        self._collection = Collection()
        self._began = time.time_ns()
        self._problem = self._reported = ""
        self._last: Sequence[Collected] = ()
        self._ending = Event()
        self._thread: Thread | None = None

    def observe(self, watching: Watching) -> None:
        """Push what is known of a program, which the caller steps."""
        self._watching = watching
        self._collection.observe(watching)
        watching.observers.append(self._report)
        self._thread = Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._ending.wait(self._interval):
            try:
                found = self._collection.wait()
            except Exception:  # the monitor takes no step, or has ended
                continue
            self._push(found)
        self._push(self._last)

    def _push(self, found: Sequence[Collected]) -> None:
        metrics = metrics_of(found, self._began, time.time_ns())
        scope = sdk.ScopeMetrics(InstrumentationScope("concwatch", program_version()), metrics, "")
        data = sdk.MetricsData([sdk.ResourceMetrics(self._resource, [scope], "")])
        done = self._exporter.export(data) is sdk.MetricExportResult.SUCCESS
        self._problem = "" if done else self._message.text or "failed"

    @cached_property
    def _resource(self) -> Resource:
        """The attributes of the program at the first push; those of the environment replace them."""
        first = next(iter(self._watching.lanes), None)
        name, pid = (first.current.name, first.pid) if first else ("concwatch", os.getpid())
        host = self._watching.host.name or gethostname()
        found = {"service.name": name, "service.instance.id": f"{host}:{pid}", "host.name": host}
        return Resource({**found, "process.pid": pid}).merge(OTELResourceDetector().detect())

    def _report(self, _: Snapshot) -> None:
        """Add an event when pushing has begun to fail, or succeeds again; in the monitor's thread."""
        if bool(self._problem) != bool(self._reported):
            text = self._problem or "succeeds again"
            self._watching.log("", f"--otlp {self._endpoint}: {text}", "warning", "export")
        self._reported = self._problem

    def close(self) -> None:
        """Push the last figures, for at most `END_LIMIT` seconds."""
        if self._thread is not None:
            self._last = self._collection.last()
            self._ending.set()
            self._collection.cancel()
            self._thread.join(END_LIMIT)
        self._exporter.shutdown()
        logging.getLogger("opentelemetry").removeHandler(self._message)
