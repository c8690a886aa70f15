"""``concwatch watch`` and ``attach`` around real programs."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time

import psutil
import pytest

from concwatch.system.child import concwatch_command

pytestmark = pytest.mark.real

LIMIT = 60.0

PROGRAM = """
import asyncio, sys
async def worker(): await asyncio.sleep(0.05)
async def left_behind(): await asyncio.sleep(60)
async def main():
    await asyncio.gather(*[worker() for _ in range(500)])
    tasks = [asyncio.ensure_future(left_behind()) for _ in range(3)]
    await asyncio.sleep(0.3)
    print("said on stdout"); print("said on stderr", file=sys.stderr)
loop = asyncio.new_event_loop()
loop.set_exception_handler(lambda loop, context: None)  # it would tell of tasks that are left behind
loop.run_until_complete(main())
sys.exit(7)
"""

SERVICE = """
import asyncio, os, sys
async def tick():
    while True:
        await asyncio.sleep(0.02)
async def main():
    print(os.getpid(), flush=True)
    await asyncio.gather(*[tick() for _ in range(20)])
asyncio.run(main())
"""


def write(tmp_path, source, name="app.py"):
    path = tmp_path / name
    path.write_text(textwrap.dedent(source))
    return str(path)


def watch(*arguments, **how):
    return subprocess.run(
        concwatch_command("watch", *arguments),
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
        **how,
    )


def until(condition, what):
    deadline = time.monotonic() + LIMIT
    while not (found := condition()):
        assert time.monotonic() < deadline, what
        time.sleep(0.02)
    return found


def test_the_report_counts_the_programs_tasks_and_its_exit_status_is_passed_on(tmp_path):
    app, out = write(tmp_path, PROGRAM), tmp_path / "out.json"
    done = watch("--json", str(out), "--", sys.executable, app)
    assert (done.returncode, done.stdout, done.stderr) == (7, "said on stdout\n", "said on stderr\n")
    report = json.loads(out.read_text())
    assert (report["command"], report["exit"]) == ([sys.executable, app], 7)
    (process,) = report["processes"]
    assert (process["name"], process["how"], process["live_at_end"]) == ("app.py", "agent", 3)
    groups = {group["name"]: (group["created"], group["live"]) for group in process["groups"]}
    assert (groups["worker"], groups["left_behind"]) == ((500, 0), (3, 3))


def test_with_a_dash_the_report_has_standard_output_for_itself(tmp_path):
    done = watch("--json", "-", "--", sys.executable, write(tmp_path, PROGRAM))
    assert json.loads(done.stdout)["exit"] == 7
    assert {"said on stdout", "said on stderr"} <= set(done.stderr.splitlines())


def test_an_expectation_that_fails_names_the_coroutines_and_is_exit_status_1(tmp_path):
    app, out = write(tmp_path, PROGRAM), str(tmp_path / "out.json")
    expected = ("--expect", "live_at_end <= 0", "--expect", "worker.created <= 500")
    done = watch("--json", out, *expected, "--", sys.executable, app)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last == f"concwatch: expected live_at_end <= 0: 3: 3 left_behind ({app}:4)"
    held = [row["holds"] for row in json.loads((tmp_path / "out.json").read_text())["expectations"]]
    assert held == [False, True]


def test_after_its_seconds_a_program_is_ended_and_it_is_known_where_its_tasks_wait(tmp_path):
    app = write(tmp_path, SERVICE)
    done = watch("--json", "-", "--seconds", "2", "--", sys.executable, app)
    report = json.loads(done.stdout)
    assert (done.returncode, report["exit"]) == (143, 143)
    groups = {group["name"]: group for group in report["processes"][0]["groups"]}
    assert groups["tick"]["waits"] == [{"where": f"{app}:5", "tasks": 20}]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux ends a child with its parent")
def test_a_monitor_that_is_killed_has_the_program_end_unless_it_is_to_be_kept(tmp_path):
    app = write(tmp_path, SERVICE)
    for keep in ((), ("--keep",)):
        command = concwatch_command(
            "watch", "--json", str(tmp_path / "o"), *keep, "--", sys.executable, "-u", app
        )
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as monitor:
            program = psutil.Process(int(monitor.stdout.readline()))
            monitor.send_signal(signal.SIGKILL)
            monitor.wait(LIMIT)
        try:
            if keep:
                assert program.is_running()
            else:
                until(lambda: not program.is_running() or program.status() == "zombie", "it ends")  # noqa: B023
        finally:
            if program.is_running():
                program.kill()


CHILDREN = """
import asyncio, multiprocessing, subprocess, sys
async def job():
    await asyncio.gather(*[asyncio.sleep(0.2) for _ in range(50)])
def child():
    asyncio.run(job())
if __name__ == "__main__":
    multiprocessing.set_start_method("spawn")
    children = [multiprocessing.Process(target=child) for _ in range(3)]
    for each in children: each.start()
    isolated = [sys.executable, "-I", "-c", "import time; time.sleep(3)"]
    others = [subprocess.Popen(command) for command in (isolated, ["sleep", "3"])]
    for each in children: each.join()
    for each in others: each.wait()
"""


def test_every_process_that_comes_of_it_is_a_lane_those_without_an_agent_from_outside(tmp_path):
    done = watch("--json", "-", "--", sys.executable, write(tmp_path, CHILDREN))
    processes = json.loads(done.stdout)["processes"]
    jobs = [row for row in processes if any(group["name"] == "job" for group in row["groups"])]
    assert len(jobs) == 3
    assert {group["created"] for row in jobs for group in row["groups"] if group["name"] == "sleep"} == {50}
    outside = {row["name"]: row["created"] for row in processes if row["how"] == "outside"}
    assert outside == {"python -c": None, "sleep": None}
    assert min(row["rss_peak"] for row in processes if row["how"] == "outside") > 1 << 18


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("watch", "--json", "-"), "no COMMAND: expected one after --"),
        (("watch", "--json", "-", "--", "no-such-program"), '"no-such-program": no such program'),
        (("watch", "--json", "-", "--expect", "lives < 3", "--", "true"), 'unknown figure "lives"'),
        (("watch", "--json", "/", "--", "true"), "--json: /: is a folder"),
        (
            ("watch", "--json", "-", "--keep", "--host", "env A=1", "--", "true"),
            "--keep cannot be used with --host: a program on another",
        ),
        (("attach", "999999999"), '"999999999" is not a PID: expected'),
        (("attach",), "Missing argument 'PID...'"),
    ],
)
def test_bad_input_is_one_line_and_starts_nothing(arguments, said):
    done = subprocess.run(
        concwatch_command(*arguments), capture_output=True, text=True, timeout=LIMIT, check=False
    )
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert said in done.stderr


def test_no_socket_is_left_behind(tmp_path):
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    assert watch("--json", "-", "--", "true", env=environment).returncode == 0
    assert not list(tmp_path.iterdir())
