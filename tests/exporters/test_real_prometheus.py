"""A watched program, a real Prometheus, the queries of the dashboard and the alerts."""

import subprocess
import sys

import pytest

from concwatch.exporters.alerts import ALERTS, rules
from concwatch.exporters.dashboard import dashboard
from concwatch.exporters.otlp import OtlpExporter
from concwatch.protocol.agent_messages import AgentTick
from concwatch.system.child import concwatch_command
from tests.programs import needs
from tests.prometheus import Prometheus, free_port, receives_otlp
from tests.watch_driver import WatchBench, step_until

HUNG = """
import asyncio, queue, time
async def tick():
    while True: await asyncio.create_task(work())
async def work(): await asyncio.sleep(0.05)
def wait_for_ever(): queue.Queue().get()
async def main():
    tasks = [asyncio.create_task(tick()) for _ in range(20)]
    await asyncio.sleep(3)
    wait_for_ever()
asyncio.run(main())
"""
"""A service that hangs after three seconds."""

BLOCKED = 'concwatch_function_blocked_seconds_total{function="wait_for_ever"}'


@pytest.mark.real
@needs("prometheus")
def test_prometheus_knows_of_a_hung_loop_while_it_hangs_and_answers_the_dashboard(tmp_path):
    port = free_port()
    (tmp_path / "app.py").write_text(HUNG)
    (tmp_path / "rules.yml").write_text(rules())
    app = [sys.executable, str(tmp_path / "app.py")]
    command = concwatch_command("watch", "--timing", "--metrics", str(port), "--", *app)
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with (
        subprocess.Popen(command, **quiet) as watched,
        Prometheus(tmp_path, port, rules="rules.yml") as prometheus,
    ):
        try:
            step_until(WatchBench(), lambda: prometheus.values(BLOCKED), "a block")
            first = prometheus.values(BLOCKED)
            step_until(WatchBench(), lambda: prometheus.values(BLOCKED) > [first[0] + 2], "more of it")
            assert prometheus.values(f"rate({BLOCKED}[1m])") > [0]
            buckets = "rate(concwatch_process_event_loop_lag_seconds_bucket[1m])"
            lag = f"histogram_quantile(0.99, sum by (le) ({buckets}))"
            step_until(WatchBench(), lambda: prometheus.values(lag) > [1.0], "a lag of seconds")
            durations = 'concwatch_function_task_duration_seconds_count{function="work"}'
            assert prometheus.values(durations) > [20]
            assert len(prometheus.ask("rules")["groups"][0]["rules"]) == len(ALERTS)
            empty = []
            for panel in dashboard()["panels"]:
                for target in panel.get("targets", ()):
                    query = target["expr"].replace("$__rate_interval", "1m")
                    for name in ("job", "instance"):
                        query = query.replace(f"${name}", ".*")
                    if not prometheus.rows(query):
                        empty.append(panel["title"])
        finally:
            watched.terminate()
    # Nothing leaks here, outcomes are not counted, nothing is an event, and there need not be limits.
    assert set(empty) <= {
        *("leaks", "failed tasks", "queued jobs", "throttled by a CPU quota", "memory", "events"),
        *("memory of the limit", "memory of the control group"),
    }


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
