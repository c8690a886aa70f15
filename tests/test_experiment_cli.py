"""``concwatch experiment``: what it lists, runs, writes and refuses, and how it ends when interrupted."""

import asyncio
import contextlib
import csv
import fcntl
import importlib.util
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import time

import psutil
import pytest
from click.testing import CliRunner

from concwatch.cli import main
from concwatch.console import ExperimentProgress
from concwatch.experiments.loading import decode, load, shipped
from concwatch.experiments.runner import Choice, Runner
from concwatch.system.child import ROOT

PATIENCE = 40.0
"""Seconds that any one thing may take; long, since the machine may be busy with other things."""

TINY = """
name = "tiny"
title = "A tiny one"
about = "Two engines, few tasks."
method = "None."

[[table]]
title = "Time of a burst"
reading = "burst_seconds"
unit = "s"
workload = "sleep:0.05"
sizes = [10, 50]
compare = { this = "threads", that = "asyncio" }

[[table.series]]
engine = "threads"
published = { 10 = 0.1 }

[[table.series]]
engine = "asyncio"
"""

LONG = """
name = "long"
title = "One that does not end"
about = "a"
method = "m"

[[table]]
title = "Time"
reading = "burst_seconds"
unit = "s"
sizes = [10]
repeats = 1

[[table.series]]
engine = "asyncio"
workload = "nop"

[[table.series]]
engine = "threads"
workload = "sleep:600"
"""


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A working directory with two experiments of one's own in it."""
    (tmp_path / "tiny.toml").write_text(TINY)
    (tmp_path / "long.toml").write_text(LONG)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def invoke(*arguments):
    return CliRunner().invoke(main, ("experiment", *arguments))


def start(*arguments, **options):
    return subprocess.Popen(
        [sys.executable, "-m", "concwatch", "experiment", *arguments],
        env={**os.environ, "PYTHONPATH": ROOT},
        stdin=subprocess.DEVNULL,
        **options,
    )


# The list, and help.


def test_without_a_name_all_that_are_shipped_are_listed():
    result = invoke()
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert [line.split()[0] for line in lines] == [path.stem for path in shipped()]
    for line in lines:
        experiment = load(line.split()[0])
        assert line.endswith(experiment.title)
        source = experiment.source
        assert (str(source.year) in line if source and source.year else True) or "…" in line
        assert ("ours" in line) is (source is None)
        assert re.search(r"  (about \d+ (s|min)|a few seconds)", line)


def test_the_list_tells_how_long_a_quick_look_takes():
    assert invoke("--quick").exit_code == 0
    assert invoke("--quick").stdout != invoke().stdout


def test_help_lists_the_options():
    text = " ".join(invoke("--help").stdout.split())
    for word in ("--quick", "--repeats", "--sizes", "--max-memory", "--json", "--markdown", "--csv",
                 "--pyperf", "Needs no terminal", "Without NAME"):  # fmt: skip
        assert word in text


# A run.


@pytest.mark.real
def test_a_run_of_ones_own_file_ends_with_the_table_and_all_files(files):
    arguments = ("tiny.toml", "--repeats", "2", "--sizes", "10", "--json", "a.json", "--markdown", "a.md")
    result = invoke(*arguments, "--csv", "a.csv")
    assert result.exit_code == 0, result.output
    told = json.loads((files / "a.json").read_text())
    (table,) = told["tables"]
    assert told["command"] == f"concwatch experiment {' '.join(arguments)} --csv a.csv"
    assert (told["partial"], told["experiment"]["name"], told["experiment"]["source"]) == (
        False,
        "tiny",
        None,
    )
    assert [(row["engine"], row["size"], row["state"]) for row in table["rows"]] == [
        ("threads", 10, "done"),
        ("asyncio", 10, "done"),
    ]
    assert all(len(row["repeats"]) == 2 and 0.05 < row["here"] < 5 for row in table["rows"])
    assert table["rows"][0]["ratio"] == pytest.approx(table["rows"][0]["here"] / 0.1)
    for cell in told["cells"]:
        assert cell["repeats"] == len(cell["runs"]) == 2
        for run in cell["runs"]:
            assert run["seconds"] > run["own_seconds"] > 0.05
            assert run["figures"]["peak_rss"] > 1 << 20
            assert run["trail"]
            assert run["runtime"].startswith("CPython")
    assert told["seconds"] >= sum(run["seconds"] for cell in told["cells"] for run in cell["runs"])

    lines = list(csv.DictReader((files / "a.csv").read_text().splitlines()))
    assert [float(line["here"]) for line in lines] == [row["here"] for row in table["rows"]]
    assert table["sentence"] in (files / "a.md").read_text()
    assert table["sentence"] in " ".join(result.stdout.split())
    assert table["sentence"].startswith("At 10 tasks threads take ")
    assert result.stderr.splitlines()[0].startswith("tiny: 1 of 2 · threads 10 · done in ")
    assert len(result.stderr.splitlines()) == 2
    assert sorted(os.listdir(files)) == ["a.csv", "a.json", "a.md", "long.toml", "tiny.toml"]


@pytest.mark.real
def test_sizes_are_the_callers_and_json_may_go_to_standard_output(files):
    result = invoke("./tiny.toml", "--quick", "--sizes", "0.02k", "--json", "-")
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert [row["size"] for row in told["tables"][0]["rows"]] == [20, 20]
    assert told["quick"] is True
    assert sorted(os.listdir(files)) == ["long.toml", "tiny.toml"]


@pytest.mark.real
def test_what_does_not_fit_is_skipped_and_no_failure(files):
    result = invoke("tiny.toml", "--quick", "--max-memory", "21100000")
    assert result.exit_code == 0
    (line,) = [line for line in result.stdout.splitlines() if "skipped" in line]
    assert line.split("  ")[-1] == "skipped: needs about 20.2 MiB, the memory budget is 20.1 MiB"
    assert max(map(len, result.stdout.splitlines())) <= 100
    assert "tiny: 1 of 2 · threads 10 · skipped: needs about" in result.stderr


@pytest.mark.real
def test_a_cell_that_fails_makes_the_exit_status_1(files):
    (files / "jobs.py").write_text("async def broken():\n    raise KeyError('the reason')\n")
    text = TINY.replace("sleep:0.05", "jobs:broken").replace('engine = "threads"', 'engine = "uvloop"')
    (files / "broken.toml").write_text(text.replace('this = "threads"', 'this = "uvloop"'))
    result = invoke("broken.toml", "--quick", "--csv", "a.csv")
    assert result.exit_code == 1
    assert "failed: 10 tasks failed" in result.stdout
    assert "Traceback" not in result.output
    assert (files / "a.csv").exists()


# What is refused.


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("arguments", "named", "expected"),
    [
        (("memory-per-taks",), '"memory-per-taks"', 'did you mean "memory-per-task"?'),
        (("none.toml",), "none.toml", "No such file or directory"),
        (("tiny.toml", "extra"), "extra", "unexpected extra argument"),
        (("tiny.toml", "--sizes", "10,5"), '"10,5"', "expected ascending sizes"),
        (("tiny.toml", "--sizes", "10,10"), '"10,10"', "expected ascending sizes"),
        (("tiny.toml", "--sizes", "0,5"), '"0,5"', "expected sizes from 1"),
        (("tiny.toml", "--sizes", "-1"), '"-1"', "expected a whole number"),
        (("tiny.toml", "--sizes", "1,,2"), '""', "expected a whole number"),
        (("tiny.toml", "--sizes", "many"), '"many"', "expected a whole number"),
        (("tiny.toml", "--repeats", "0"), '"0"', "expected a whole number from 1 to 100"),
        (("tiny.toml", "--repeats", "101"), '"101"', "expected a whole number from 1 to 100"),
        (("tiny.toml", "--repeats", "²"), '"²"', "expected a whole number from 1 to 100"),
        (("tiny.toml", "--max-memory", "x"), '"x"', "expected a positive number of bytes"),
        (("tiny.toml", "--json", "none/a.json"), '"none/a.json"', "No such file or directory"),
        (("tiny.toml", "--markdown", "."), '"."', "is a folder"),
        (("tiny.toml", "--csv", "tiny.toml/a.csv"), '"tiny.toml/a.csv"', "Not a directory"),
        (("tiny.toml", "--csv", ""), '""', "expected a file that can be written"),
        (("tiny.toml", "--csv", "a", "--json", "./a"), "--json and --csv", "expected different files"),
        (("tiny.toml", "--csv", "-", "--json", "-"), "--json and --csv", "expected different files"),
        (("--json", "a.json"), "no NAME", "expected one of"),
    ],
)
def test_bad_input_is_one_line_before_anything_runs(arguments, named, expected, monkeypatch):
    monkeypatch.setattr(Runner, "run", None)  # nothing is to get so far
    result = invoke(*arguments)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("concwatch: ")
    assert named in line
    assert expected in line
    assert sorted(os.listdir()) == ["long.toml", "tiny.toml"]


@pytest.mark.usefixtures("files")
def test_a_file_with_a_mistake_is_one_line_with_file_and_key():
    with open("wrong.toml", "w") as file:
        file.write(TINY.replace("reading", "readin"))
    result = invoke("wrong.toml")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith('concwatch: wrong.toml: unknown key "table[0].readin": expected one of ')
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.usefixtures("files")
def test_without_pyperf_it_is_said_what_to_install_before_anything_runs(monkeypatch):
    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == "pyperf" else real(name, *rest)
    )
    result = invoke("tiny.toml", "--pyperf", "a.json")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "--pyperf needs pyperf: pip install 'concwatch[pyperf]'" in result.stderr


# Interrupted.


def has_ended(process):
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def wait_until(condition, what):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.01)


def second_cell(process):
    """Wait until the first cell is over and the next one's worker runs its tasks; give that worker."""
    line = process.stderr.readline()
    assert "long: 1 of 2 · asyncio 10 · done in" in line
    monitor = psutil.Process(process.pid)
    found = []

    def runs():
        with contextlib.suppress(psutil.NoSuchProcess):
            found[:] = [child for child in monitor.children() if child.num_threads() > 10]
        return found

    wait_until(runs, "no worker with ten threads")
    return found[0]


@pytest.fixture
def interrupted(files):
    """A run in the middle of its second cell, and that one's worker."""
    arguments = ("long.toml", "--json", "a.json", "--markdown", "a.md", "--csv", "a.csv")
    process = start(*arguments, cwd=files, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        yield process, second_cell(process)
    finally:
        process.kill()
        process.communicate()


@pytest.mark.real
@pytest.mark.parametrize(
    ("signals", "status"),
    [(["SIGINT"], 130), (["SIGTERM"], 143), (["SIGINT", "SIGINT"], 130)],
    ids=lambda value: "+".join(value) if isinstance(value, list) else "",
)
def test_interrupted_it_prints_and_saves_what_it_has_and_leaves_no_worker(
    interrupted, files, signals, status
):
    process, worker = interrupted
    for name in signals:
        process.send_signal(getattr(signal, name))
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == status
    wait_until(lambda: has_ended(worker), "the worker outlived its run")
    assert "Traceback" not in err
    assert "partial: stopped after 1 of 2 cells" in out
    assert "threads  not run" in out
    told = json.loads((files / "a.json").read_text())
    assert told["partial"] is True
    assert [row["state"] for row in told["tables"][0]["rows"]] == ["done", "waiting"]
    assert "**Partial: stopped after 1 of 2 cells.**" in (files / "a.md").read_text()
    assert (files / "a.csv").read_text().splitlines()[2].endswith(",0,waiting,")
    assert not list(files.glob("*.part"))


# The line on a terminal.


@pytest.fixture
def on_terminal(files):
    """A run on a terminal of 60 columns; gives the process and the terminal's other end."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
    process = start(
        "long.toml", "--json", "a.json", cwd=files, stdout=theirs, stderr=theirs, start_new_session=True
    )
    os.close(theirs)
    try:
        yield process, ours
    finally:
        process.kill()
        process.wait()
        with contextlib.suppress(OSError):
            os.close(ours)


def read_until(terminal, word):
    """Return what the terminal was sent, up to a line with ``word`` in it."""
    text = b""
    while word not in text.decode(errors="ignore"):
        text += os.read(terminal, 65_536)
    return text.decode(errors="ignore")


@pytest.mark.real
def test_on_a_terminal_one_line_is_written_over_and_fits_it(on_terminal, files):
    process, terminal = on_terminal
    text = read_until(terminal, "2 of 2 · threads 10")
    lines = [re.sub(r"\x1b\[[\d;]*m", "", line) for line in text.split("\r\x1b[2K")[1:]]
    assert all(len(line) <= 60 and "\n" not in line for line in lines)
    wanted = r"^[━╸╺ ]+long: 1 of 2 · asyncio 10 · (about \d+ (s|min)|a few seconds)"
    assert any(re.search(wanted, line) for line in lines)
    process.send_signal(signal.SIGINT)
    # What comes after it stands in a line of its own.
    assert "\x1b[2K\x1b[1mlong · One that does not end" in read_until(terminal, "not run")
    assert process.wait(PATIENCE) == 130


@pytest.mark.real
@pytest.mark.parametrize("told", [True, False])
def test_a_terminal_that_goes_away_ends_it_with_what_it_has(on_terminal, files, told):
    process, terminal = on_terminal
    read_until(terminal, "2 of 2 · threads 10")
    os.close(terminal)
    if told:  # it is not the terminal's own session, which would be sent it
        process.send_signal(signal.SIGHUP)
    assert process.wait(PATIENCE) == 129
    assert json.loads((files / "a.json").read_text())["partial"] is True


def test_the_line_of_progress_says_which_cell_and_run_it_is():
    runner = Runner(decode(TINY.encode(), "tiny.toml"), Choice(repeats=3), make_lab=None)
    runner.current = list(runner.outcomes)[1]
    runner._began = runner._run_began = 0.0

    async def text():
        return ExperimentProgress(runner).text()

    assert "2 of 4 · threads 50 (1st of 3) · a" in asyncio.run(text())
