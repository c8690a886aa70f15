"""What a program that is left watched tells others: events as JSON lines, a command for each, OpenMetrics."""

import contextlib
import errno
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request

import pytest

from concwatch.exporters.event_command import MOST_WAITING, EventCommand
from concwatch.exporters.event_lines import RECOVERY, EventFile
from concwatch.exporters.openmetrics import MOST_FUNCTIONS, MetricsServer
from concwatch.monitor.events import EventLog
from concwatch.protocol.agent_messages import AgentEnd, AgentTick
from concwatch.system.child import concwatch_command
from tests.command_line import refused
from tests.processes import PATIENCE, assert_ended
from tests.watch_driver import WatchBench


@pytest.fixture
def bench():
    """Return a program with one process, whose agent has connected; that is no event any more."""
    bench = WatchBench()
    bench.first = bench.agent(40)
    bench.watching.events = EventLog()
    return bench


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def step_until(bench, condition, what):
    """Step, in real time, until ``condition()`` holds."""
    ends = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < ends, f"not within {PATIENCE:.0f} s: {what}"
        bench.advance()
        time.sleep(0.01)


def test_each_event_is_a_json_line_when_it_happens(bench, tmp_path):
    bench.watching.log("app.py 40", "it leaks", "warning", "leak")  # before it is observed
    log = EventFile(str(tmp_path / "events"))
    log.observe(bench.watching)
    bench.advance()
    (line,) = lines_of(tmp_path / "events")
    assert line.pop("time").endswith("+00:00")
    assert line == {"process": "app.py 40", "kind": "leak", "severity": "warning", "text": "it leaks"}
    bench.watching.log("", "the last one")
    log.close()
    assert [line["text"] for line in lines_of(tmp_path / "events")] == ["it leaks", "the last one"]


def test_samples_are_written_at_their_interval(bench, tmp_path):
    log = EventFile(str(tmp_path / "events"), sample_interval=2.0)
    log.observe(bench.watching)
    bench.first.report_groups(1.0, fetch=3)
    bench.advance(4.5)
    samples = lines_of(tmp_path / "events")
    assert [(sample["pid"], sample["live"], sample["rss"]) for sample in samples] == [(40, 3, 40 << 20)] * 2
    log.close()


@pytest.mark.skipif(not hasattr(shutil.os, "mkfifo"), reason="no /dev/full")
def test_a_full_disk_is_one_event_and_the_watching_goes_on(bench):
    log = EventFile("/dev/full")
    log.observe(bench.watching)
    for number in range(20):
        bench.watching.log("", f"event {number}")
        bench.advance()
    log.close()
    (text,) = [event.text for event in bench.watching.events.since(0) if event.kind == "export"]
    assert text == "--log /dev/full: No space left on device: lines are left out until there is room"


def test_a_disk_with_room_for_short_lines_only_is_reported_once_and_once_there_is_room(
    bench, tmp_path, monkeypatch
):
    def write(descriptor, data, original=os.write):
        if b"long" in data:
            raise OSError(errno.ENOSPC, "No space left on device")
        return original(descriptor, data)

    monkeypatch.setattr("concwatch.exporters.event_lines.os.write", write)
    log = EventFile(str(tmp_path / "events"))
    log.observe(bench.watching)
    for text in ("short", "long", "short", "long"):
        bench.watching.log("", text)
        bench.advance()
    bench.advance(RECOVERY + 1)
    log.close()
    assert [event.text.partition(": ")[2] for event in bench.watching.events.since(0) if event.kind] == [
        "No space left on device: lines are left out until there is room",
        "can be written again; 2 lines were left out",
    ]
    assert [line["text"] for line in lines_of(tmp_path / "events")].count("short") == 2


@pytest.mark.real
def test_a_command_is_run_for_each_event_one_at_a_time(bench, tmp_path):
    overlap = f"mkdir {tmp_path}/lock || touch {tmp_path}/overlap"
    command = EventCommand(f"{overlap}; cat >> {tmp_path}/got; rmdir {tmp_path}/lock")
    command.observe(bench.watching)
    for number in range(5):
        bench.watching.log("", f"event {number}")
    bench.advance()
    command.close()
    assert [line["text"] for line in lines_of(tmp_path / "got")] == [f"event {number}" for number in range(5)]
    assert not (tmp_path / "overlap").exists()


@pytest.mark.real
def test_a_command_that_fails_is_one_event_and_is_not_run_for_that(bench, tmp_path):
    command = EventCommand(f"echo run >> {tmp_path}/runs; exit 3")
    command.observe(bench.watching)
    for number in range(3):
        bench.watching.log("", f"event {number}")
    runs = tmp_path / "runs"
    step_until(bench, lambda: runs.exists() and len(runs.read_text().split()) == 3, "three runs")
    command.close()
    assert [event.text for event in bench.watching.events.since(0) if event.kind == "export"] == [
        f"--on-event echo run >> {tmp_path}/runs; exit 3: exited with status 3"
    ]
    assert len((tmp_path / "runs").read_text().split()) == 3


@pytest.mark.real
def test_a_command_that_hangs_blocks_nothing_and_is_killed_at_the_end(bench, tmp_path, monkeypatch):
    monkeypatch.setattr("concwatch.exporters.event_command.END_LIMIT", 0.1)
    command = EventCommand(f"echo $$ > {tmp_path}/pid; exec sleep 1000")
    command.observe(bench.watching)
    for number in range(MOST_WAITING + 10):
        bench.watching.log("", f"event {number}")
    step_until(bench, lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text().strip(), "a run")
    command.close()
    assert_ended([int((tmp_path / "pid").read_text())])
    (text,) = [event.text for event in bench.watching.events.since(0) if event.kind == "export"]
    assert text.endswith("too slow: 10 events were dropped")


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
    found = samples_of(scrape())
    process, function = '{pid="40",process="app.py"}', '{file="/srv/app.py",function="fetch",line="10"}'
    assert found["concwatch_processes"] == 1
    assert found[f"concwatch_process_tasks{process}"] == 3
    assert found[f"concwatch_process_tasks_created_total{process}"] == 10
    assert found[f"concwatch_process_resident_memory_bytes{process}"] == 40 << 20
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


def test_a_scrape_that_fails_leaves_the_watching_alone(bench, scrape, monkeypatch):
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


def test_open_metrics_are_served_to_who_asks_for_them(scrape):
    assert scrape("application/openmetrics-text; version=1.0.0").endswith("# EOF\n")


def test_a_port_in_use_is_refused_before_the_program_starts(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = refused("watch", "--metrics", str(port), "--", "touch", str(tmp_path / "started"))
    assert said.startswith(f"--metrics: 127.0.0.1:{port}: Address already in use: expected a free port")
    assert not (tmp_path / "started").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--sample-log", "5"), "--sample-log has no effect without --log: expected --log FILE with it"),
        (
            ("--json", "-", "--log", "-"),
            "--json - and --log - print to the same place: expected a FILE for one",
        ),
        (
            ("--metrics", "a:b"),
            '"a:b" is not an address: expected a port or HOST:PORT, such as 9464 or 0.0.0.0:9464',
        ),
        (("--log", "/"), "--log: /: Is a directory: expected a file that can be written"),
    ],
)
def test_options_that_cannot_be_used_are_refused(options, said):
    assert said in refused("watch", *options, "--", "true")


SERVICE = """
import asyncio, sys
from concwatch import agent
async def tick(): await asyncio.sleep(600)
async def main():
    tasks = [asyncio.create_task(tick()) for _ in range(20)]
    print("ready", flush=True)
    await asyncio.gather(*tasks)
agent.start()
asyncio.run(main())
"""


@pytest.mark.real
@pytest.mark.parametrize("ended_by", ["--seconds", "SIGINT", "its end"])
def test_attach_without_a_screen_writes_a_report_and_leaves_the_process_alone(tmp_path, ended_by):
    report, events = tmp_path / "report.json", tmp_path / "events"
    with subprocess.Popen([sys.executable, "-c", SERVICE], stdout=subprocess.PIPE) as service:
        try:
            service.stdout.readline()
            limit = ["--seconds", "3"] if ended_by == "--seconds" else []
            command = concwatch_command("attach", str(service.pid), "--json", str(report))
            with subprocess.Popen([*command, "--log", str(events), *limit]) as attached:
                step_until(
                    WatchBench(), lambda: events.exists() and "watched" in events.read_text(), "an event"
                )
                if ended_by == "SIGINT":
                    attached.send_signal(signal.SIGINT)
                elif ended_by == "its end":
                    service.kill()
                assert attached.wait(PATIENCE) == 0
            assert (service.poll() is None) == (ended_by != "its end")
        finally:
            service.kill()
    (process,) = json.loads(report.read_text())["processes"]
    assert (process["pid"], process["how"]) == (service.pid, "agent")


@pytest.mark.real
def test_attach_on_another_host_waits_until_its_processes_are_found(tmp_path):
    report = tmp_path / "report.json"
    with subprocess.Popen([sys.executable, "-c", SERVICE], stdout=subprocess.PIPE) as service:
        try:
            service.stdout.readline()
            command = concwatch_command("attach", "--host", "env HOST=other", str(service.pid))
            limit = ["--json", str(report), "--seconds", str(PATIENCE)]
            with subprocess.Popen([*command, *limit]) as attached:
                step_until(
                    WatchBench(),
                    lambda: report.exists() and json.loads(report.read_text())["event_counts"]["agent"],
                    "a report",
                )
                attached.send_signal(signal.SIGINT)
                assert attached.wait(PATIENCE) == 0
            assert service.poll() is None
        finally:
            service.kill()
    (process,) = json.loads(report.read_text())["processes"]
    assert (process["pid"], process["how"]) == (service.pid, "agent")


SCRAPE = """
scrape_configs:
  - job_name: app
    scrape_interval: 500ms
    static_configs: [{targets: ["127.0.0.1:%d"]}]
"""


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return listening.getsockname()[1]


@pytest.mark.real
@pytest.mark.skipif(not shutil.which("prometheus"), reason="Prometheus is not installed")
def test_prometheus_scrapes_a_watched_program_and_may_be_killed(tmp_path):
    metrics, web = free_port(), free_port()
    (tmp_path / "prometheus.yml").write_text(SCRAPE % metrics)
    (tmp_path / "app.py").write_text(SERVICE.replace("agent.start()\n", ""))
    server = [
        "prometheus",
        f"--config.file={tmp_path}/prometheus.yml",
        f"--storage.tsdb.path={tmp_path}/data",
        f"--web.listen-address=127.0.0.1:{web}",
    ]
    app = [sys.executable, str(tmp_path / "app.py")]
    command = concwatch_command("watch", "--metrics", str(metrics), "--", *app)
    query = f"http://127.0.0.1:{web}/api/v1/query?query=concwatch_function_tasks%7Bfunction=%22tick%22%7D"

    def live():
        try:
            with urllib.request.urlopen(query, timeout=PATIENCE) as answer:
                return [row["value"][1] for row in json.load(answer)["data"]["result"]]
        except OSError:
            return []

    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, **quiet) as watched, subprocess.Popen(server, **quiet) as prometheus:
        try:
            step_until(WatchBench(), lambda: live() == ["20"], "20 live tasks in Prometheus")
            prometheus.kill()
            prometheus.wait(PATIENCE)
            with urllib.request.urlopen(f"http://127.0.0.1:{metrics}/metrics", timeout=PATIENCE) as answer:
                assert b"concwatch_processes 1.0" in answer.read()
            watched.send_signal(signal.SIGINT)
            assert watched.wait(PATIENCE) == 130
        finally:
            prometheus.kill()
            watched.kill()
