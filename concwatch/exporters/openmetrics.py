"""The figures of a watched program as OpenMetrics, which Prometheus scrapes."""

from collections.abc import Iterable
from socket import SOCK_STREAM, getaddrinfo
from threading import Thread
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from prometheus_client import CollectorRegistry, make_wsgi_app
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import ThreadingWSGIServer
from prometheus_client.registry import Collector

from concwatch.exporters.collection import Collection
from concwatch.exporters.families import Collected, Kind
from concwatch.monitor.buckets import BOUNDS, Buckets
from concwatch.monitor.watching import Watching

BOUND_LABELS = (*map(str, BOUNDS), "+Inf")
"""The upper bounds of the buckets of a histogram."""


def metric_of(collected: Collected) -> Metric:
    """Return a metric as prometheus_client has it."""
    family, found = collected.family, collected.values
    options: dict[str, Any] = {"labels": family.labels, "unit": family.unit}
    if family.kind is Kind.HISTOGRAM:
        histogram = HistogramMetricFamily(family.name, family.meaning, **options)
        for labels, value in found:
            assert isinstance(value, Buckets)
            buckets = [*zip(BOUND_LABELS, value.cumulative, strict=True)]
            histogram.add_metric(labels, buckets, value.seconds)
        return histogram
    kind = CounterMetricFamily if family.kind is Kind.COUNTER else GaugeMetricFamily
    metric = kind(family.name, family.meaning, **options)
    for labels, value in found:
        assert not isinstance(value, Buckets)
        metric.add_metric(labels, value)
    return metric


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
    """Serves ``/metrics`` over HTTP from `observe` on: a program is started before there are threads."""

    def __init__(self, host: str, port: int) -> None:
        """Listen on ``host`` and ``port``; 0 for any free port.

        Raises:
            ValueError: that is not possible; the message is one line.
        """
        self._collection = Collection()
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
        self._collection.observe(watching)
        self._thread = Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def describe(self) -> Iterable[Metric]:
        """Return nothing: the names are not needed before the first scrape."""
        return ()

    def collect(self) -> Iterable[Metric]:
        """Return the metrics as of the monitor's next step."""
        return map(metric_of, self._collection.wait())

    def close(self) -> None:
        """Stop listening."""
        if self._thread is not None:
            self._server.shutdown()
            self._thread.join()
        self._server.server_close()
