"""The commands: input, output, and one line for each error."""

import gc
import importlib.util
import json
import os
import signal
import subprocess
import sys

import pytest

from concwatch.commands.group import NAMES
from concwatch.links.link import Ended
from concwatch.links.messages import Error
from concwatch.monitor.workers.catalog import CATALOG
from concwatch.system.child import ROOT
from tests.command_line import PROGRAM, invoke, refused
from tests.fake_link import Costs, Fault

RUN = ("run", "asyncio", "--tasks", "5")


@pytest.mark.parametrize(
    ("message", "arguments"),
    [
        ('unknown command "rum"; did you mean "run"? expected one of attach, compare, completion', ("rum",)),
        ('unknown engine "x y"; "concwatch engines" lists all', ("engines", "x\ny")),
        ("name one or more engines: threads, pool", ("run", "--tasks", "5")),
        ("Missing option '--tasks'", ("run", "asyncio")),
        ("Option '--tasks' requires an argument", ("run", "asyncio", "--tasks")),
        ("No such option '--tofether'. Did you mean '--together'?", (*RUN, "--tofether")),
        ('--rate is an option of the screen, not of "engines"', ("--rate", "5", "engines")),
        ("asyncio is named twice", ("run", "asyncio", "asyncio", "--tasks", "5")),
        ("--tasks 0 leaves nothing to measure", ("run", "asyncio", "--tasks", "0")),
        ('"-5" is not a number of tasks; expected a whole number', ("run", "asyncio", "--tasks", "-5")),
        ('"5,10,5" has a number of tasks twice', ("run", "asyncio", "--tasks", "5,10,5")),
        ('"0" is not a number of runs; expected a whole number from 1 to 100', (*RUN, "--repeats", "0")),
        ('unknown workload "slep:3"; did you mean "sleep"? expected one of churn[:RATE/s]',
         (*RUN, "--workload", "slep:3")),
        ('--arg has no effect on the workload "hold", only on module:function',
         (*RUN, "--workload", "hold", "--arg", "x")),
        ('--arg has no effect on the workload "nop", only on module:function',
         ("sweep", "asyncio", "--workload", "nop", "--arg", "x")),
        ("an argument cannot contain a null character",
         (*RUN, "--workload", "jobs:fetch", "--arg", "a\0b")),
        ('"nan" is not a time; expected seconds from 0 to 86,400', (*RUN, "--seconds", "nan")),
        ('unknown collector mode "frozn"; did you mean "frozen"? expected one of default, frozen, off',
         (*RUN, "--gc", "frozn")),
        ("a pool of 0 threads runs nothing; it may have 1 to", (*RUN, "--pool-threads", "0")),
        ('"101%" is not a size; expected a positive number of bytes', (*RUN, "--max-memory", "101%")),
        ('"9PiB" is more memory than this machine has (', (*RUN, "--max-memory", "9PiB")),
        ("--chart and --json both print on standard output", (*RUN, "--chart", "--json")),
        ("--columns cannot be used with --chart", ("export", "x", "--chart", "--columns", "rss")),
        ('unknown engine "uvlop"; did you mean "uvloop"? "concwatch engines" lists all',
         ("--engines", "asyncio,uvlop")),
        ('"asyncio" is not ENGINE=N, such as "asyncio=10k', ("--tasks", "asyncio")),
        ('"asyncio=5,asyncio=6" names asyncio twice', ("--tasks", "asyncio=5,asyncio=6")),
        ('"2M" is too many; expected at most 1,000,000', ("--tasks", "asyncio=2M")),
        ('"inf" is not a rate; expected samples per second from 0.5 to 50', ("--rate", "inf")),
        ('"1s" is not a time window; expected 15 s to 8 h', ("--window", "1s")),
        ('unknown theme "solarised-dark"; did you mean "solarized-dark"? expected one of ansi-dark',
         ("--theme", "solarised-dark")),
        (f'"{__file__}" is not a folder, and no folder can be created there', ("--screenshots", __file__)),
        ('"65536" is not a port; expected a number from 0 (any free port)', ("serve", "--port", "65536")),
        ("the host is empty; give a name or an address", ("serve", "--host", "")),
        ('"box:80" is not a host name; expected the host name of an address', ("serve", "--name", "box:80")),
        ("cannot listen on 192.0.2.1, port 0 (", ("serve", "--host", "192.0.2.1", "--port", "0")),
        ('"9" is not a scale; expected a number from 0.25 to 8', ("export", "x", "--scale", "9")),
        ('"0" is not a speed; expected a number from 0.1 to 100', ("replay", "x", "--speed", "0")),
        ('unknown format "jpg"; did you mean "png"? expected one of svg',
         ("demo", "small", "--format", "jpg")),
        ("the screen needs a terminal on standard input", ()),
        ("the screen needs a terminal on standard input", ("watch", "--", "true")),
        ("no process with PID 4194304", ("attach", "4194304")),
        ("Option '--json' requires an argument. (see concwatch attach --help)", ("attach", "1", "--json")),
    ],
)  # fmt: skip
def test_bad_input_is_refused_with_one_line_naming_it_and_what_is_expected(message, arguments):
    line = refused(*arguments)
    assert line.startswith(message)
    assert line.endswith((" --help)", 'use "concwatch run"', "add --log - or --json FILE"))


@pytest.mark.real
def test_a_function_no_engine_can_run_is_bad_input_otherwise_its_lane_fails(tmp_path, monkeypatch):
    (tmp_path / "jobs.py").write_text("def plain(): pass\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("concwatch.measure.measurement.SETTLE", 0.05)
    command = ("run", "asyncio", "--tasks", "5", "--workload", "jobs:plain", "--seconds", "0.1", "--json")
    wrong = 'workload "jobs:plain": plain is a plain function; an event loop needs a coroutine function'
    assert refused(*command).startswith(wrong)
    done = invoke(*command, "threads", "--together")
    assert done.exit_code == 1
    assert [lane["state"] for lane in json.loads(done.stdout)["lanes"]] == ["failed", "short"]
    assert f"asyncio: failed: {wrong}" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("-h",), ("needs a terminal", "--engines", "--max-memory", "--rate", "engines", "run")),
        (("run", "--help"),
         ("Needs --tasks.", "--workload", "--max-memory", "sleep[:SECONDS]",
          "module:function", "default|frozen|off")),
        (("--version",), ("concwatch, version ",)),
    ],
)  # fmt: skip
def test_help_names_options_and_requirements(arguments, words):
    done = invoke(*arguments)
    assert (done.exit_code, done.stderr) == (0, "")
    assert [word for word in words if word not in " ".join(done.stdout.split())] == []


@pytest.mark.parametrize("name", ["", *NAMES])
def test_a_default_in_words_has_one_pair_of_brackets(name):
    shown = invoke(*([name] if name else []), "--help").stdout
    assert "[default: (" not in " ".join(shown.split())


def test_a_command_keeps_its_former_name():
    assert invoke("figures").stdout == invoke("metrics").stdout
    assert "\n  figures " not in invoke("--help").stdout


# Engines.


@pytest.mark.real
def test_every_engine_is_listed_and_a_missing_one_names_what_to_install(monkeypatch):
    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == "uvloop" else real(name, *rest)
    )
    needs = "needs uvloop: pip install uvloop"
    gc.disable()  # as at the start of the screen
    try:
        lines = invoke("engines").stdout.splitlines()
        assert gc.isenabled()
    finally:
        gc.enable()
    assert [line.split()[0] for line in lines] == [row.name for row in CATALOG]
    rows = {row["engine"]: row for row in json.loads(invoke("engines", "--json").stdout)}
    assert list(rows) == [row.name for row in CATALOG]
    assert all(row["runs"] is (row["missing"] is None) for row in rows.values())
    assert (rows["threads"]["runs"], rows["uvloop"]["missing"]) == (True, needs)
    assert any(line.startswith("uvloop") and line.endswith(f"unavailable ({needs})") for line in lines)
    done = invoke("run", "uvloop", "--tasks", "5", "--json")
    (lane,) = json.loads(done.stdout)["lanes"]
    assert (done.exit_code, lane["state"], lane["reason"]) == (1, "failed", needs)


# Runs.


QUICK = ("--tasks", "1000", "--seconds", "0.1")


@pytest.mark.usefixtures("fakes")
def test_a_run_ends_with_a_table_and_shows_its_progress_on_standard_error():
    done = invoke("run", "asyncio", "threads", "--together", *QUICK)
    assert done.exit_code == 0
    header, first, second, note = done.stdout.splitlines()
    assert header.split()[:2] == ["engine", "state"]
    assert (first.split()[:3], "1.23 KiB" in first) == (["asyncio", "done", "1,000"], True)
    assert second.split()[:3] == ["threads", "done", "1,000"]
    assert note == "* so far: too few tasks have lived their whole life yet"
    assert "threads: holding 1,000 for 100 ms" in done.stderr
    assert all(": " in line for line in done.stderr.splitlines())
    traced = invoke("run", "asyncio", "--trace", *QUICK).stdout
    assert "MiB *" in traced
    assert traced.splitlines()[-1] == "* traced: about twice the memory, a third of the speed"


def test_options_are_sent_to_the_worker(fakes):
    options = ("--no-refill", "--trace", "--gc", "off", "--pool-threads", "9", "--workload", "hold", "--json")
    found = json.loads(invoke("run", "pool", *options, *QUICK).stdout)
    (lane,) = found["lanes"]
    assert (found["workload"], lane["traced"], lane["gc"]) == ("hold", True, "off")
    assert lane["traced_per_task"] > 0
    commands = [
        ("refill", {"on": False}), ("trace", {"on": True}), ("gc", {"mode": "off"}),
        ("threads", {"count": 9}), ("target", {"tasks": 1_000}),
    ]  # fmt: skip
    assert [command for command in commands if command not in fakes.links["pool"].sent] == []


@pytest.mark.parametrize("command", [("run", "asyncio", *QUICK), ("sweep", "asyncio", "--to", "1")])
def test_arguments_of_a_function_are_sent_and_reported(fakes, command):
    words = ("--workload", "app.jobs:fetch", "--arg", "http://host/a b", "--arg", "", "--json")
    found = json.loads(invoke(*command, *words).stdout)
    assert (found["workload"], found["arguments"]) == ("app.jobs:fetch", ["http://host/a b", ""])
    (sent,) = fakes.links["asyncio"].commands("workload")
    assert sent == {
        "spec": "app.jobs:fetch", "word": "module:function", "arguments": "http://host/a b\0\0",
    }  # fmt: skip


def test_tasks_that_fail_are_reported_by_type_and_line(fakes):
    fakes.costs["asyncio"] = Costs(refused=100)
    done = invoke("run", "asyncio", *QUICK, "--no-refill")
    assert done.exit_code == 1
    failing = "asyncio: failing: 900 tasks failed: ConnectionRefusedError at app/jobs.py:12: 900 times"
    assert failing in done.stdout.splitlines()


def test_a_limited_lane_is_a_failure_unless_expected(fakes):
    fakes.costs["asyncio"] = Costs(most=300, limit="pid_max")
    done = invoke("run", "asyncio", *QUICK)
    assert done.exit_code == 1
    assert "asyncio: limited: pid_max (65,530)" in done.stdout.splitlines()
    assert "pid_max (65,530) reached at 300 of 1,000 tasks" in done.stderr
    assert invoke("run", "asyncio", *QUICK, "--expect", "asyncio.peak_live >= 300").exit_code == 0


@pytest.mark.parametrize(
    ("fault", "status", "message"),
    [
        (Ended("killed by SIGKILL"), 1, "asyncio: failed: killed by SIGKILL\n"),
        (Error("a task failed: KeyError: 7", None, "Traceback\n  here"), 0,
         "asyncio: a task failed: KeyError: 7\nTraceback\n  here\n"),
    ],
)  # fmt: skip
def test_failures_are_printed(fakes, fault, status, message):
    fakes.faults["asyncio"] = [Fault(0.05, fault)]
    done = invoke("run", "asyncio", *QUICK)
    assert (done.exit_code, message in done.stderr) == (status, True)
    assert (message in done.stdout) is bool(status)


# Real processes.


@pytest.mark.real
def test_without_a_terminal_the_screen_is_refused_before_textual_is_imported():
    options = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True, "timeout": 60}
    env = {**os.environ, "PYTHONPROFILEIMPORTTIME": "1"}
    done = subprocess.run(PROGRAM, cwd=ROOT, env=env, **options)
    lines = [line for line in done.stderr.splitlines() if not line.startswith("import time:")]
    assert (done.returncode, done.stdout, len(lines)) == (2, "", 1)
    assert lines[0].endswith('without one, use "concwatch run"')
    assert "textual" not in done.stderr


@pytest.mark.real
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such pipes")
def test_a_closed_output_ends_a_command_silently_by_sigpipe():
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [*PROGRAM, "--help"], cwd=ROOT, stdout=writing, stderr=subprocess.PIPE, text=True, timeout=60
    )
    os.close(writing)
    assert (done.stderr, done.returncode) == ("", -signal.SIGPIPE)
