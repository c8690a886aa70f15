"""The metrics of a watched program, pushed to a receiver of OpenTelemetry's protocol."""

import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

from concwatch.exporters.families import FAMILIES
from concwatch.exporters.otlp import UNITS, OtlpExporter
from concwatch.links.agent_messages import AgentTick
from concwatch.links.messages import Block, StackFrame
from concwatch.system.child import concwatch_command
from tests.command_line import refused
from tests.processes import PATIENCE
from tests.prometheus import Prometheus, receives_otlp
from tests.watch_driver import step_until


class Receiver:
    """A collector that keeps what it receives; it answers with ``status``."""

    def __init__(self):
        self.received = []
        self.paths = set()
        self.status = 200
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.paths.add(self.path)
                receiver.received.append(ExportMetricsServiceRequest.FromString(body))
                self.send_response(receiver.status)
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.endpoint = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def receiver():
    receiver = Receiver()
    yield receiver
    receiver.close()


@pytest.fixture
def pushed(bench, receiver):
    """Return a function that returns the next metrics that are pushed, by name, and their resource."""
    exporter = OtlpExporter(receiver.endpoint, 0.05)
    exporter.observe(bench.watching)

    def next_push():
        seen = len(receiver.received)
        # The next one may have been read before this call.
        step_until(bench, lambda: len(receiver.received) > seen + 1, "the metrics")
        (resource,) = receiver.received[-1].resource_metrics
        (scope,) = resource.scope_metrics
        attributes = {
            one.key: one.value.string_value or one.value.int_value for one in resource.resource.attributes
        }
        return {metric.name: metric for metric in scope.metrics}, attributes

    yield next_push
    exporter.close()


def attributes_of(point):
    return {one.key: one.value.string_value for one in point.attributes}


def test_all_kinds_of_metrics_are_pushed_with_labels_and_what_they_are_of(bench, receiver, pushed):
    stack = (StackFrame("sync_queue", "/srv/app.py:68"),)
    bench.watching.lanes[0].readings.reader.further = {"started": 1_700_000_000.0}
    bench.first.report_groups(1.0, fetch=(3, 10))
    bench.first.report(AgentTick(2.0, lag=3.0), Block(1, "loop", 2.0, ended=False, stack=stack, own=(0,)))
    bench.advance()
    metrics, resource = pushed()
    assert receiver.paths == {"/v1/metrics"}
    assert resource["service.name"] == "app.py"
    assert resource["process.pid"] == 40
    assert resource["service.instance.id"] == f"{resource['host.name']}:40"
    (live,) = metrics["concwatch.function.tasks"].gauge.data_points
    assert (live.as_int or live.as_double) == 3
    assert attributes_of(live) == {"function": "fetch", "file": "/srv/app.py", "line": "10"}
    blocked = metrics["concwatch.function.blocked"]
    assert (blocked.unit, blocked.sum.is_monotonic, blocked.sum.data_points[0].as_double) == ("s", True, 2.0)
    assert attributes_of(blocked.sum.data_points[0])["function"] == "sync_queue"
    (lag,) = metrics["concwatch.process.event_loop_lag"].histogram.data_points
    assert (lag.count, sum(lag.bucket_counts), lag.sum) == (2, 2, pytest.approx(3.001))
    assert len(lag.bucket_counts) == len(lag.explicit_bounds) + 1
    assert attributes_of(lag) == {"process": "app.py", "pid": "40"}
    assert lag.start_time_unix_nano == 1_700_000_000_000_000_000
    assert not lag.HasField("min")  # they are not known


def test_prometheus_makes_the_same_names_of_them(bench, pushed):
    bench.first.report_groups(1.0, fetch=(3, 10))
    ours = {family.name for family in FAMILIES}
    suffixes = {"By": "_bytes", "s": "_seconds", "1": "_ratio"}
    metrics, _ = pushed()
    assert {name.replace(".", "_") + suffixes.get(one.unit, "") for name, one in metrics.items()} <= ours
    assert set(UNITS.values()) == set(suffixes)


def test_the_environment_names_the_service(bench, receiver, pushed, monkeypatch):
    monkeypatch.setenv("OTEL_SERVICE_NAME", "orders")
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=test,host.name=web1")
    _, resource = pushed()
    assert (resource["service.name"], resource["deployment.environment"]) == ("orders", "test")
    assert resource["host.name"] == "web1"


def test_the_last_figures_are_pushed_at_the_end(bench, receiver):
    exporter = OtlpExporter(f"{receiver.endpoint}/v1/metrics", 600.0)
    exporter.observe(bench.watching)
    bench.first.report_groups(1.0, fetch=(3, 10))
    bench.advance()
    exporter.close()
    assert len(receiver.received) == 1
    assert receiver.paths == {"/v1/metrics"}


def test_an_event_says_when_pushing_begins_to_fail_and_when_it_succeeds_again(bench, receiver, monkeypatch):
    receiver.status = 400  # not tried again
    exporter = OtlpExporter(receiver.endpoint, 0.02)
    exporter.observe(bench.watching)
    try:
        step_until(bench, lambda: bench.texts(), "an event")
        step_until(bench, lambda: len(receiver.received) > 4, "more pushes")
        receiver.status = 200
        step_until(bench, lambda: len(bench.texts()) > 1, "another event")
    finally:
        exporter.close()
    first, last = bench.texts()
    assert first.startswith(f": --otlp {receiver.endpoint}: ")
    assert "400" in first
    assert last == f": --otlp {receiver.endpoint}: succeeds again"


@pytest.mark.real
def test_watch_pushes_the_figures_of_a_program_that_ends_before_the_first_push_is_due(receiver):
    code = "import asyncio\nasync def work(): await asyncio.sleep(0.2)\nasyncio.run(work())"
    command = concwatch_command("watch", "--otlp", receiver.endpoint, "--", sys.executable, "-c", code)
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    (scope,) = receiver.received[-1].resource_metrics[0].scope_metrics
    created = next(one for one in scope.metrics if one.name == "concwatch.function.tasks_created")
    assert "work" in [attributes_of(point)["function"] for point in created.sum.data_points]


def test_an_endpoint_that_is_no_url_is_refused():
    said = refused("watch", "--otlp", "localhost:4318", "--", "true")
    assert said.startswith("--otlp: localhost:4318; expected a URL such as http://127.0.0.1:4318")


@pytest.mark.real
@pytest.mark.skipif(not receives_otlp(), reason="there is no Prometheus that receives OTLP")
def test_prometheus_receives_the_same_metrics_by_otlp(bench, tmp_path):
    with Prometheus(tmp_path, 1, "--web.enable-otlp-receiver") as prometheus:
        exporter = OtlpExporter(f"{prometheus.address}/api/v1/otlp", 0.2)
        exporter.observe(bench.watching)
        try:
            bench.first.report_groups(1.0, fetch=(3, 10))
            bench.first.report(AgentTick(2.0, lag=3.0))
            tasks = "concwatch_function_tasks"
            step_until(bench, lambda: prometheus.values(tasks) == [3], "the metrics")
            assert prometheus.values("concwatch_process_event_loop_lag_seconds_count") == [2]
            assert prometheus.values("concwatch_process_resident_memory_bytes") == [40 << 20]
            assert prometheus.values("concwatch_function_tasks_created_total") == [10]
            ((labels, _),) = prometheus.rows(tasks)
            assert (labels["job"], labels["function"]) == ("app.py", "fetch")
            assert labels["instance"].endswith(":40")
        finally:
            exporter.close()
