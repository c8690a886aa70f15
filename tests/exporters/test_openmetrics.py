"""The metrics of a watched program, as Prometheus scrapes them."""

import contextlib
import shutil
import subprocess
import threading
import urllib.request

import pytest

from concwatch.exporters.openmetrics import MOST_FUNCTIONS, MetricsServer
from concwatch.protocol.agent_messages import AgentEnd, AgentTick
from tests.processes import PATIENCE
from tests.watch_driver import step_until


@pytest.fixture
def scrape(bench):
    """Return a function that reads the metrics of ``bench`` as Prometheus does; None if that fails."""
    server = MetricsServer("127.0.0.1", 0)
    server.observe(bench.watching)

    def read(accept="text/plain"):
        found = []

        def request():
            asked = urllib.request.Request(server.address, headers={"Accept": accept})
            with contextlib.suppress(OSError), urllib.request.urlopen(asked, timeout=PATIENCE) as answer:
                found.append(answer.read().decode())

        thread = threading.Thread(target=request)
        thread.start()
        step_until(bench, lambda: not thread.is_alive(), "the metrics")
        return found[0] if found else None

    yield read
    server.close()


def samples_of(text):
    """Return each sample of a text by its name and labels."""
    rows = [line.rpartition(" ") for line in text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in rows}


def test_metrics_have_the_figures_of_each_process_and_function(bench, scrape):
    bench.first.report_groups(1.0, fetch=(3, 10))
    bench.watching.log("", "it leaks", "warning", "leak")
    bench.watching.lanes[0]._reader.throttling = {"cpu_quota": 0.5, "throttled": 1.8}
    bench.advance()
    found = samples_of(scrape())
    process, function = '{pid="40",process="app.py"}', '{file="/srv/app.py",function="fetch",line="10"}'
    assert found["concwatch_processes"] == 1
    assert found[f"concwatch_process_tasks{process}"] == 3
    assert found[f"concwatch_process_tasks_created_total{process}"] == 10
    assert found[f"concwatch_process_resident_memory_bytes{process}"] == 40 << 20
    assert found[f"concwatch_process_cpu_throttled_seconds_total{process}"] == 1.8
    assert found[f"concwatch_function_tasks{function}"] == 3
    assert found[f"concwatch_function_tasks_ended_total{function}"] == 7
    assert found['concwatch_events_total{kind="leak"}'] == 1
    assert f"concwatch_process_traced_memory_bytes{process}" not in found  # unknown is not 0


def test_functions_beyond_the_first_fifty_are_one(bench, scrape):
    bench.first.report_groups(1.0, **{f"function_{number}": (1, 2) for number in range(MOST_FUNCTIONS + 7)})
    found = samples_of(scrape())
    live = {name: value for name, value in found.items() if name.startswith("concwatch_function_tasks{")}
    assert len(live) == MOST_FUNCTIONS + 1
    assert live['concwatch_function_tasks{file="",function="other",line=""}'] == 7


def test_totals_of_functions_never_fall(bench, scrape):
    bench.first.report_groups(1.0, fetch=(3, 10))
    before = samples_of(scrape())
    bench.first.report(AgentEnd())
    bench.running.clear()
    bench.advance(1.0)
    bench.watching.lanes.clear()  # as when its lane is given to another process
    bench.agent(41).report_groups(2.0, fetch=(1, 1))
    after = samples_of(scrape())
    created = 'concwatch_function_tasks_created_total{file="/srv/app.py",function="fetch",line="10"}'
    live = created.replace("_created_total", "")
    assert (before[created], before[live]) == (10, 3)
    assert (after[created], after[live]) == (11, 1)


def test_a_process_that_has_lost_its_agent_has_no_tasks_and_is_counted_once(bench, scrape):
    bench.first.report_groups(1.0, fetch=(3, 10))
    scrape()
    bench.first.disconnect()
    bench.advance()
    process, function = '{pid="40",process="app.py"}', '{file="/srv/app.py",function="fetch",line="10"}'
    for running in (True, False):
        found = samples_of(scrape())
        assert f"concwatch_process_tasks{process}" not in found
        assert found.get(f"concwatch_function_tasks{function}", 0) == 0
        assert found[f"concwatch_function_tasks_created_total{function}"] == 10
        if running:
            bench.running.clear()
            bench.advance(1.0)


def test_a_process_that_ends_between_two_scrapes_is_counted_once(bench, scrape):
    bench.first.report_groups(1.0, fetch=(3, 10))
    scrape()
    bench.first.report_groups(2.0, fetch=(2, 14))
    bench.first.report(AgentEnd())
    bench.advance()
    bench.running.clear()
    bench.advance(1.0)
    function = '{file="/srv/app.py",function="fetch",line="10"}'
    for _ in range(3):
        found = samples_of(scrape())
        assert found[f"concwatch_function_tasks_created_total{function}"] == 14
        assert found.get(f"concwatch_function_tasks{function}", 0) == 0


def test_a_failed_scrape_does_not_disturb_watching(bench, scrape, monkeypatch):
    monkeypatch.setattr("concwatch.exporters.openmetrics.FunctionTotals.update", lambda *_: 1 / 0)
    assert scrape() is None
    monkeypatch.undo()
    assert "concwatch_processes 1.0" in scrape()


@pytest.mark.real
@pytest.mark.skipif(not shutil.which("promtool"), reason="promtool is not installed")
def test_promtool_accepts_the_metrics(bench, scrape):
    bench.first.report(AgentTick(1.0, created=10, live=3, ended=7, queued=2, lag=0.001, gc=0.1, traced=1))
    checked = subprocess.run(["promtool", "check", "metrics"], input=scrape(), capture_output=True, text=True)
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, "", "")


def test_openmetrics_are_served_to_clients_that_accept_them(scrape):
    assert scrape("application/openmetrics-text; version=1.0.0").endswith("# EOF\n")
