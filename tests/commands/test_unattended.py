"""Watching and attaching without a screen."""

import json
import signal
import socket
import subprocess
import sys
import urllib.request

import pytest

from concwatch.system.child import ROOT, concwatch_command
from tests.command_line import refused
from tests.processes import PATIENCE
from tests.programs import needs
from tests.prometheus import Prometheus, free_port
from tests.watch_driver import WatchBench, step_until


def test_a_port_in_use_is_refused_before_the_program_starts(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = refused("watch", "--metrics", str(port), "--", "touch", str(tmp_path / "started"))
    assert said.startswith(f"--metrics: cannot listen on 127.0.0.1:{port} (Address already in use)")
    assert not (tmp_path / "started").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--sample-log", "5"), "--sample-log has no effect without --log FILE"),
        (
            ("--json", "-", "--log", "-"),
            "--json - and --log - print to the same place; give one of them a FILE",
        ),
        (
            ("--metrics", "a:b"),
            '"a:b" is not an address; expected a port or HOST:PORT, such as 9464 or 0.0.0.0:9464',
        ),
        (("--log", "/"), '--log: file "/" cannot be written (Is a directory)'),
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


@pytest.mark.real
@needs("prometheus")
def test_prometheus_scrapes_a_watched_program_and_may_be_killed(tmp_path):
    metrics = free_port()
    (tmp_path / "app.py").write_text(SERVICE.replace("agent.start()\n", ""))
    app = [sys.executable, str(tmp_path / "app.py")]
    command = concwatch_command("watch", "--metrics", str(metrics), "--", *app)
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, **quiet) as watched, Prometheus(tmp_path, metrics) as prometheus:
        try:
            live = 'concwatch_function_tasks{function="tick"}'
            step_until(WatchBench(), lambda: prometheus.values(live) == [20], "20 live tasks in Prometheus")
            prometheus.close()
            with urllib.request.urlopen(f"http://127.0.0.1:{metrics}/metrics", timeout=PATIENCE) as answer:
                assert b"concwatch_processes 1.0" in answer.read()
            watched.send_signal(signal.SIGINT)
            assert watched.wait(PATIENCE) == -signal.SIGINT
        finally:
            watched.kill()


COUNTED = """
import subprocess, sys, threading
from concwatch.commands.cli import main

class CountingPopen(subprocess.Popen):
    def __init__(self, *arguments, **options):
        if options.get("preexec_fn"):
            print("threads:", len(threading.enumerate()), flush=True)
        super().__init__(*arguments, **options)

subprocess.Popen = CountingPopen
main(sys.argv[1:])
"""


@pytest.mark.real
def test_the_program_is_started_before_there_are_threads_but_the_one_that_hands_it_signals(tmp_path):
    options = ["--metrics", "0", "--log", str(tmp_path / "log"), "--json", str(tmp_path / "report")]
    command = [sys.executable, "-c", COUNTED, "watch", *options, "--on-event", "true", "--", "true"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE)
    assert (done.returncode, done.stdout) == (0, "threads: 2\n"), done.stderr
