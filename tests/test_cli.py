"""The commands: what they need, what they print, and one line for whatever is wrong."""

import gc
import importlib.util
import json
import os
import subprocess
import sys

import pytest
from click.testing import CliRunner

from concwatch.cli import main
from concwatch.lab.catalog import CATALOG
from concwatch.links.link import Ended
from concwatch.links.messages import Error
from concwatch.system.child import ROOT
from tests.fake import Costs, Fault
from tests.made_recording import made_lines


def invoke(*arguments):
    return CliRunner().invoke(main, arguments)


def refused(result):
    """Check that a command was refused as bad input is, and give the one line it said."""
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("concwatch: ")
    return line


RUN = ("run", "asyncio", "--tasks", "5")


@pytest.mark.parametrize(
    ("arguments", "named", "expected"),
    [
        (("run", "asyncoi", "--tasks", "5"), '"asyncoi"', 'did you mean "asyncio"?'),
        (("run", "asyncio", "thread", "--tasks", "5"), '"thread"', 'did you mean "threads"?'),
        (("run", "x\ny", "--tasks", "5"), "x y", "expected one of threads, pool, asyncio, uvloop"),
        (("run", "--tasks", "5"), "ENGINE", "expected one or more of threads, pool, asyncio, uvloop"),
        (("run", "asyncio"), "--tasks", "Missing option"),
        (("run", "asyncio", "--tasks"), "--tasks", "requires an argument"),
        (("run", "asyncio", "--tasks", "-5"), '"-5"', "expected a whole number from 0 to 1,000,000,000"),
        (("run", "asyncio", "--tasks", "1.5"), '"1.5"', "expected a whole number"),
        (("run", "asyncio", "--tasks", "many"), '"many"', "expected a whole number"),
        (("run", "asyncio", "--tasks", "1e99"), '"1e99"', "expected a whole number"),
        (("run", "asyncio", "--tasks", "9999999999"), '"9999999999"', "expected at most 1,000,000,000"),
        ((*RUN, "--workload", "slep:3"), '"slep:3"', 'did you mean "sleep"?'),
        ((*RUN, "--workload", "sleep"), '"sleep"', 'expected "sleep:SECONDS"'),
        ((*RUN, "--workload", "sleep:-1"), '"sleep:-1"', "expected seconds from 0"),
        ((*RUN, "--workload", "sleep:9e99"), '"sleep:9e99"', "expected seconds from 0"),
        ((*RUN, "--workload", "payload:big"), '"payload:big"', "expected bytes from 0"),
        ((*RUN, "--workload", "ticks:0x1"), '"ticks:0x1"', "expected COUNTxSECONDS"),
        ((*RUN, "--workload", ""), '""', "expected one of sleep:SECONDS"),
        ((*RUN, "--seconds", "-1"), '"-1"', "expected seconds from 0 to 86,400"),
        ((*RUN, "--seconds", "nan"), '"nan"', "expected seconds from 0 to 86,400"),
        ((*RUN, "--seconds", "1e9"), '"1e9"', "expected seconds from 0 to 86,400"),
        ((*RUN, "--max-memory", "2XB"), '"2XB"', 'expected a positive number of bytes such as "2GiB"'),
        ((*RUN, "--max-memory", "0"), '"0"', "expected a positive number of bytes"),
        ((*RUN, "--max-memory", "101%"), '"101%"', "expected a positive number of bytes"),
        ((*RUN, "--gc", "frozn"), '"frozn"', 'did you mean "frozen"?'),
        ((*RUN, "--pool-threads", "0"), "0 threads", "expected a number from 1 to 100,000"),
        ((*RUN, "--pool-threads", "100001"), '"100001"', "expected at most 100,000"),
        ((*RUN, "--tofether"), "--tofether", "--together"),
        (("rum",), '"rum"', 'did you mean "run"?'),
        (("engines", "extra"), "extra", "expected one of threads, pool"),
        (("--engines", "uvlop"), '"uvlop"', 'did you mean "uvloop"?'),
        (("--engines", ""), '""', "expected one of threads"),
        (("--tasks", "asyncio"), '"asyncio"', 'such as "asyncio=10k,threads=1k"'),
        (("--tasks", "asyncoi=5"), '"asyncoi"', 'did you mean "asyncio"?'),
        (("--tasks", "asyncio=5,asyncio=6"), '"asyncio=5,asyncio=6"', "expected asyncio once"),
        (("--tasks", "asyncio=2M"), '"2M"', "expected at most 1,000,000"),
        (("--window", "1s"), '"1s"', "expected from 15 s to 8 h"),
        (("--theme", "solarised-dark"), '"solarised-dark"', 'did you mean "solarized-dark"?'),
        (("run", "asyncio", "asyncio", "--tasks", "5"), "asyncio twice", "expected each engine once"),
        (("run", "asyncio", "--tasks", "0"), "--tasks 0", "expected 1 task or more"),
        (("--rate", "0"), '"0"', "expected samples a second from 0.5 to 50"),
        (("--rate", "inf"), '"inf"', "expected samples a second"),
        (("--rate", "fast"), '"fast"', "expected samples a second"),
        (("--max-memory", "-1"), '"-1"', "expected a positive number of bytes"),
        (("--rate", "5", "engines"), "--rate", 'options of "engines"'),
    ],
)
def test_bad_input_is_one_line_that_names_it_and_what_was_expected(arguments, named, expected):
    line = refused(invoke(*arguments))
    assert named in line
    assert expected in line


@pytest.fixture
def jobs(tmp_path, monkeypatch):
    """A working directory with the module ``jobs`` in it."""
    (tmp_path / "jobs.py").write_text(
        "def plain(): pass\nasync def fetch(): pass\nasync def needs(argument): pass\nnumber = 7\n"
    )
    (tmp_path / "broken.py").write_text("import nothing_like_this\n")
    monkeypatch.chdir(tmp_path)


@pytest.mark.real
@pytest.mark.usefixtures("jobs")
@pytest.mark.parametrize(
    ("engine", "workload", "expected"),
    [
        ("asyncio", "jbos:fetch", 'no module "jbos"'),
        ("asyncio", "jobs:fetsh", 'did you mean "fetch"?'),
        ("asyncio", "jobs:plain", "a plain function: an event loop needs a coroutine function"),
        ("threads", "jobs:fetch", "a coroutine function: a thread needs a plain function"),
        ("asyncio", "jobs:number", "expected a function"),
        ("asyncio", "jobs:needs", "expected a function that needs no arguments"),
        ("asyncio", "broken:fetch", "nothing_like_this, which is not installed"),
    ],
)
def test_a_function_that_cannot_be_run_is_bad_input_too(engine, workload, expected):
    line = refused(invoke("run", engine, "--tasks", "5", "--workload", workload))
    assert f'workload "{workload}"' in line
    assert expected in line


@pytest.mark.real
@pytest.mark.usefixtures("jobs")
def test_a_function_that_only_one_engine_can_run_fails_the_other_lane():
    result = invoke(
        "run", "asyncio", "threads", "--together", "--tasks", "5", "--workload", "jobs:plain",
        "--seconds", "0.1", "--json",
    )  # fmt: skip
    assert result.exit_code == 1
    assert [lane["state"] for lane in json.loads(result.stdout)["lanes"]] == ["failed", "short"]
    assert "asyncio: failed: workload" in result.stderr


# Help.


@pytest.mark.parametrize(
    ("arguments", "needs"),
    [
        (("--help",), "needs a terminal"),
        (("-h",), "needs a terminal"),
        (("run", "--help"), "Needs --tasks, and no terminal"),
        (("engines", "--help"), "Needs nothing"),
    ],
)
def test_help_says_what_a_command_needs(arguments, needs):
    result = invoke(*arguments)
    assert result.exit_code == 0
    assert result.stderr == ""
    assert needs in " ".join(result.stdout.split())


def test_help_lists_the_commands_the_options_and_the_workloads():
    top, run = invoke("--help").stdout, invoke("run", "--help").stdout
    for word in ("--engines", "--max-memory", "--rate", "engines", "run"):
        assert word in top
    for word in ("--tasks", "--workload", "--seconds", "--refill", "--trace", "--gc", "--together", "--json",
                 "--max-memory", "sleep:SECONDS", "module:function", "default|frozen|off"):  # fmt: skip
        assert word in run


def test_the_version_is_told():
    result = invoke("--version")
    assert (result.exit_code, result.stdout.startswith("concwatch, version ")) == (0, True)


def test_without_a_terminal_the_screen_is_refused():
    line = refused(invoke())
    assert "needs a terminal" in line
    assert "concwatch run" in line
    refused(invoke("--engines", "asyncio,threads", "--rate", "5", "--max-memory", "50%"))


# Engines.


@pytest.mark.real
def test_every_engine_is_listed():
    result = invoke("engines")
    assert result.exit_code == 0
    assert [line.split()[0] for line in result.stdout.splitlines()] == [row.name for row in CATALOG]
    rows = json.loads(invoke("engines", "--json").stdout)
    assert [row["engine"] for row in rows] == [row.name for row in CATALOG]
    assert all(row["runs"] is (row["missing"] is None) for row in rows)
    assert rows[0]["runs"] is True


@pytest.mark.real
def test_a_command_collects_garbage_again_which_the_start_has_left_off():
    gc.disable()
    try:
        invoke("engines")
        assert gc.isenabled()
    finally:
        gc.enable()


@pytest.fixture
def no_uvloop(monkeypatch):
    """Make believe that uvloop is not installed."""
    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == "uvloop" else real(name, *rest)
    )


@pytest.mark.real
@pytest.mark.usefixtures("no_uvloop")
def test_an_engine_that_is_not_there_says_why_and_what_to_install():
    text = invoke("engines").stdout
    assert "cannot: needs uvloop: pip install uvloop" in text
    row = next(row for row in json.loads(invoke("engines", "--json").stdout) if row["engine"] == "uvloop")
    assert (row["runs"], row["missing"]) == (False, "needs uvloop: pip install uvloop")


@pytest.mark.usefixtures("no_uvloop")
def test_running_an_engine_that_is_not_there_fails_its_lane():
    result = invoke("run", "uvloop", "--tasks", "5", "--json")
    assert result.exit_code == 1
    (lane,) = json.loads(result.stdout)["lanes"]
    assert (lane["state"], lane["reason"]) == ("failed", "needs uvloop: pip install uvloop")
    assert "pip install uvloop" in result.stderr


# Runs.


QUICK = ("--tasks", "1000", "--seconds", "0.1")


@pytest.mark.usefixtures("fakes")
def test_a_run_ends_with_a_table_and_shows_its_progress_on_standard_error():
    result = invoke("run", "asyncio", "threads", "--together", *QUICK)
    assert result.exit_code == 0
    header, first, second = result.stdout.splitlines()
    assert header.split()[:2] == ["engine", "state"]
    assert first.split()[:3] == ["asyncio", "done", "1,000"]
    assert second.split()[:3] == ["threads", "done", "1,000"]
    assert "1.23 KiB" in first
    assert "threads: holding 1,000 for 100 ms" in result.stderr
    assert all(": " in line for line in result.stderr.splitlines())


@pytest.mark.usefixtures("fakes")
def test_a_traced_table_is_marked():
    text = invoke("run", "asyncio", "--trace", *QUICK).stdout
    assert "MiB ᵗ" in text
    assert text.splitlines()[-1] == "ᵗ taken while traced: about twice the memory, a third of the speed"


@pytest.mark.usefixtures("fakes")
def test_json_is_one_object_and_nothing_else():
    result = invoke("run", "asyncio", "--json", "--workload", "hold", *QUICK)
    assert json.loads(result.stdout)["workload"] == "hold"


def test_options_reach_the_worker(fakes):
    invoke("run", "pool", "--no-refill", "--trace", "--gc", "off", "--pool-threads", "9", *QUICK)
    sent = fakes.links["pool"].sent
    for command in (
        ("refill", {"on": False}),
        ("trace", {"on": True}),
        ("gc", {"mode": "off"}),
        ("threads", {"count": 9}),
        ("target", {"tasks": 1_000}),
    ):
        assert command in sent


def test_a_lane_held_back_is_limited_and_a_failure_unless_expected(fakes):
    fakes.costs["asyncio"] = Costs(most=300, wall="pid_max")
    result = invoke("run", "asyncio", *QUICK)
    assert result.exit_code == 1
    assert "asyncio: limited: pid_max (65,530)" in result.stdout.splitlines()
    assert "pid_max (65,530) reached at 300 of 1,000 tasks" in result.stderr
    assert invoke("run", "asyncio", *QUICK, "--expect", "asyncio.peak_live >= 300").exit_code == 0


def test_a_failed_lane_is_told_and_the_exit_status_is_1(fakes):
    fakes.faults["asyncio"] = [Fault(0.05, Ended("killed by SIGKILL"))]
    result = invoke("run", "asyncio", "uvloop", *QUICK)
    assert result.exit_code == 1
    assert "asyncio: failed: killed by SIGKILL" in result.stdout
    assert "asyncio: failed: killed by SIGKILL" in result.stderr


def test_a_failing_workload_is_told_with_its_traceback(fakes):
    fakes.faults["asyncio"] = [Fault(0.1, Error("a task failed: KeyError: 7", None, "Traceback\n  here"))]
    result = invoke("run", "asyncio", *QUICK)
    assert result.exit_code == 0
    assert "asyncio: a task failed: KeyError: 7\nTraceback\n  here\n" in result.stderr


# Real processes.


def start(*arguments, **options):
    return subprocess.Popen(
        [sys.executable, "-m", "concwatch", *arguments],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


@pytest.mark.real
def test_the_module_is_the_command():
    process = start("run", "asyncio", "--tasks", "-1")
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert err.startswith('concwatch: "-1" is not a number of tasks: ')
    assert err.endswith("(see concwatch run --help)\n")


@pytest.mark.real
def test_the_screen_is_refused_without_a_terminal_before_anything_heavy_is_loaded():
    process = start(env={**os.environ, "PYTHONPROFILEIMPORTTIME": "1"})
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (2, "")
    lines = [line for line in err.splitlines() if not line.startswith("import time:")]
    assert len(lines) == 1
    assert "textual" not in err


@pytest.mark.real
@pytest.mark.parametrize(
    "arguments",
    [
        ("--help",),
        ("--version",),
        ("compare", "{recording}", "{recording}"),
        ("compare", "{recording}", "{recording}", "--json"),
        ("compare", "{recording}", "{recording}", "--markdown", "-"),
        ("doctor",),
        ("engines",),
        ("experiment",),
        ("export", "{recording}", "--csv"),
        ("export", "{recording}", "--json"),
        ("recordings",),
        ("run", "--help"),
        ("settings",),
    ],
    ids=" ".join,
)
@pytest.mark.skipif(sys.platform == "win32", reason="it has no such pipes")
def test_a_command_whose_output_nobody_reads_ends_quietly_with_141(tmp_path, arguments):
    recording = tmp_path / "a.jsonl"
    recording.write_bytes(b"".join(made_lines(10)))
    reading, writing = os.pipe()
    os.close(reading)
    process = subprocess.run(
        [
            *(sys.executable, "-m", "concwatch"),
            *(argument.format(recording=recording) for argument in arguments),
        ],
        cwd=ROOT,
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
    )
    os.close(writing)
    assert process.stderr == ""
    assert process.returncode == 141
