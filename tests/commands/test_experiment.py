"""``concwatch experiment``: listing, running, files, invalid arguments, and interruption."""

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

import pytest

from concwatch.commands.basics.progress import ExperimentProgress
from concwatch.commands.basics.signals import run_until_signal
from concwatch.links.link import Ended
from concwatch.measure.experiments.loading import decode, load, shipped
from concwatch.measure.experiments.runner import Runner, Selection
from concwatch.system.child import ROOT
from tests.browser import until
from tests.command_line import PROGRAM, invoke, refused
from tests.fake_link import Fault
from tests.processes import PATIENCE, assert_ended, workers_of

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
series = [{ engine = "threads", published = { 10 = 0.1 } }, { engine = "asyncio" }]
"""

LONG = """
name = "long"
title = "An endless one"
about = "a"
method = "m"
[[table]]
title = "Time"
reading = "burst_seconds"
unit = "s"
sizes = [10]
repeats = 1
series = [{ engine = "asyncio", workload = "nop" }, { engine = "threads", workload = "sleep:600" }]
"""


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Change to a directory with two experiment files."""
    (tmp_path / "tiny.toml").write_text(TINY)
    (tmp_path / "long.toml").write_text(LONG)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments, status=0):
    done = invoke("experiment", *arguments)
    assert done.exit_code == status, done.output
    return done


def start(*arguments, **options):
    return subprocess.Popen(
        [*PROGRAM, "experiment", *arguments],
        env={**os.environ, "PYTHONPATH": ROOT},
        stdin=subprocess.DEVNULL,
        **options,
    )


def test_without_a_name_all_shipped_experiments_are_listed():
    listed = run()
    lines = listed.stdout.splitlines()
    assert listed.stderr == ""
    assert [line.split()[0] for line in lines] == [path.stem for path in shipped()]
    for line in lines:
        experiment = load(line.split()[0])
        assert line.endswith(experiment.title)
        assert ("ours" in line) is (experiment.source is None)
        assert re.search(r"  (about \d+ (s|min)|a few seconds)", line)
    assert run("--quick").stdout != listed.stdout  # it takes less time


# Running.


@pytest.mark.real
def test_running_a_file_prints_the_table_and_writes_all_formats(files, monkeypatch):
    monkeypatch.setattr("concwatch.measure.measurement.SETTLE", 0.05)
    arguments = ("tiny.toml", "--repeats", "1", "--sizes", "10", "--json", "a.json", "--markdown", "a.md")
    done = run(*arguments, "--csv", "a.csv")
    report = json.loads((files / "a.json").read_text())
    (table,) = report["tables"]
    assert report["command"] == f"concwatch experiment {' '.join(arguments)} --csv a.csv"
    assert [(row["engine"], row["size"], row["state"]) for row in table["rows"]] == [
        ("threads", 10, "done"),
        ("asyncio", 10, "done"),
    ]
    assert all(len(row["repeats"]) == 1 and 0.05 < row["here"] < 5 for row in table["rows"])
    assert table["rows"][0]["ratio"] == pytest.approx(table["rows"][0]["here"] / 0.1)
    for result in (result for cell in report["cells"] for result in cell["runs"]):
        assert result["seconds"] > result["own_seconds"] > 0.05
        assert result["figures"]["peak_rss"] > 1 << 20
        assert result["trail"]
        assert result["runtime"].startswith("CPython")
    lines = list(csv.DictReader((files / "a.csv").read_text().splitlines()))
    assert [float(line["here"]) for line in lines] == [row["here"] for row in table["rows"]]
    assert re.fullmatch(
        r"At 10: (threads = [\d.]+ × asyncio|asyncio = [\d.]+ × threads), from a single run\.",
        table["sentence"],
    )
    for text in ((files / "a.md").read_text(), " ".join(done.stdout.split())):
        assert table["sentence"] in text
    first, _ = done.stderr.splitlines()
    assert first.startswith("tiny: 1 of 2 · threads 10 · done in ")
    assert sorted(os.listdir(files)) == ["a.csv", "a.json", "a.md", "long.toml", "tiny.toml"]


def test_sizes_override_quick_and_json_can_be_printed(files, fakes):
    report = json.loads(run("./tiny.toml", "--quick", "--sizes", "0.02k", "--json", "-").stdout)
    assert ([row["size"] for row in report["tables"][0]["rows"]], report["quick"]) == ([20, 20], True)
    assert sorted(os.listdir(files)) == ["long.toml", "tiny.toml"]


@pytest.mark.usefixtures("files")
def test_cells_that_do_not_fit_are_skipped_and_failed_ones_set_exit_status_1(fakes):
    result = run("tiny.toml", "--quick", "--max-memory", "21100000")
    (line,) = [line for line in result.stdout.splitlines() if "skipped" in line]
    assert line.split("  ")[-1] == "skipped: needs about 20.5 MiB, the memory budget is 20.1 MiB"
    assert max(map(len, result.stdout.splitlines())) <= 100
    assert "tiny: 1 of 2 · threads 10 · skipped: needs about" in result.stderr
    fakes.faults["asyncio"] = [Fault(0.0, Ended("killed by SIGKILL"))]
    result = run("tiny.toml", "--quick", "--csv", "a.csv", status=1)
    assert "failed: killed by SIGKILL" in result.stdout
    assert os.path.exists("a.csv")


# Invalid arguments.


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("arguments", "name", "expected"),
    [
        (("memory-per-taks",), '"memory-per-taks"', 'did you mean "memory-per-task"?'),
        (("none.toml",), "none.toml", "No such file or directory"),
        (("wrong.toml",), 'wrong.toml: unknown key "table[0].readin"', "expected one of"),
        (("tiny.toml", "extra"), "extra", "unexpected extra argument"),
        (("tiny.toml", "--sizes", "10,5"), '"10,5"', "expected ascending sizes"),
        (("tiny.toml", "--sizes", "0,5"), '"0,5"', "expected sizes from 1"),
        (("tiny.toml", "--sizes", "1,,2"), '""', "expected a whole number"),
        (("tiny.toml", "--repeats", "²"), '"²"', "expected a whole number from 1 to 100"),
        (("tiny.toml", "--max-memory", "x"), '"x"', "expected a positive number of bytes"),
        (("tiny.toml", "--json", "none/a.json"), '"none/a.json"', "No such file or directory"),
        (("tiny.toml", "--csv", ""), '""', "cannot be written"),
        (("tiny.toml", "--csv", "a", "--json", "./a"), "--json and --csv", "both name"),
        (("tiny.toml", "--pyperf", "a"), "--pyperf needs pyperf", "pip install 'concwatch[pyperf]'"),
        (("--json", "a.json"), "name an experiment", "batching"),
    ],
)
def test_invalid_arguments_are_a_one_line_error_before_anything_runs(arguments, name, expected, monkeypatch):
    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == "pyperf" else real(name, *rest)
    )
    monkeypatch.setattr(Runner, "run", None)  # must not be reached
    with open("wrong.toml", "w") as file:
        file.write(TINY.replace("reading", "readin"))
    line = refused("experiment", *arguments)
    assert name in line
    assert expected in line
    assert sorted(os.listdir()) == ["long.toml", "tiny.toml", "wrong.toml"]


# Interruption.


@pytest.mark.real
def test_sigterm_saves_partial_results_and_leaves_no_worker(files):
    arguments = ("long.toml", "--json", "a.json", "--markdown", "a.md", "--csv", "a.csv")
    process = start(*arguments, cwd=files, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert "long: 1 of 2 · asyncio 10 · done in" in process.stderr.readline()
        (worker,) = until(lambda: workers_of(process.pid), "the worker of the second cell")
        process.terminate()
        out, err = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == -signal.SIGTERM
    assert_ended([worker])
    assert "Traceback" not in err
    assert "partial: stopped after 1 of 2 cells" in out
    assert "threads  not run" in out
    report = json.loads((files / "a.json").read_text())
    assert report["partial"] is True
    assert [row["state"] for row in report["tables"][0]["rows"]] == ["done", "waiting"]
    assert "**Partial: stopped after 1 of 2 cells.**" in (files / "a.md").read_text()
    assert (files / "a.csv").read_text().splitlines()[2].endswith(",0,waiting,")
    assert not list(files.glob("*.part"))


# Progress on a terminal.


@pytest.fixture
def on_terminal(files):
    """Run on a terminal of 60 columns. Yield the process and the terminal's controlling end."""
    controller, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
    process = start(
        "long.toml", "--json", "a.json", cwd=files, stdout=terminal, stderr=terminal, start_new_session=True
    )
    os.close(terminal)
    try:
        yield process, controller
    finally:
        process.kill()
        process.wait()
        with contextlib.suppress(OSError):
            os.close(controller)


def read_until(terminal, word):
    """Return the output on the terminal up to ``word``."""
    text = b""
    while word not in text.decode(errors="ignore"):
        text += os.read(terminal, 65_536)
    return text.decode(errors="ignore")


@pytest.mark.real
@pytest.mark.parametrize("hangup", [True, False])
def test_progress_is_one_line_on_a_terminal_until_ctrl_c_or_hangup(on_terminal, files, hangup):
    process, terminal = on_terminal
    text = read_until(terminal, "2 of 2 · threads 10")
    lines = [re.sub(r"\x1b\[[\d;]*m", "", line) for line in text.split("\r\x1b[2K")[1:]]
    assert all(len(line) <= 60 and "\n" not in line for line in lines)
    expected = r"^[━╸╺ ]+long: 1 of 2 · asyncio 10 · (about \d+ (s|min)|a few seconds)"
    assert any(re.search(expected, line) for line in lines)
    if hangup:  # without SIGHUP, since it is not the session's controlling terminal
        os.close(terminal)
        assert process.wait(PATIENCE) == -signal.SIGHUP
    else:
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGINT)
        # The result starts on a new line.
        assert "\x1b[2K\x1b[1mlong · An endless one" in read_until(terminal, "not run")
        assert process.wait(PATIENCE) == -signal.SIGINT
    assert json.loads((files / "a.json").read_text())["partial"] is True


SAVES = """
import asyncio, time
from concwatch.commands.basics.signals import run_until_signal
async def work():
    print("working", flush=True)
    await asyncio.sleep(600)
found = run_until_signal(work())
print("saving", flush=True)
time.sleep(0.5)
print(*found, "saved", flush=True)
"""


@pytest.mark.real
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_second_signal_does_not_end_it_before_results_are_saved(name):
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", SAVES], text=True, cwd=ROOT, **pipes) as process:
        for said in ("working", "saving"):
            assert process.stdout.readline() == f"{said}\n"
            process.send_signal(getattr(signal, name))
        expected = f"None {int(getattr(signal, name))} saved\n", ""
        assert process.communicate(timeout=PATIENCE) == expected


@pytest.mark.real
def test_without_a_signal_the_handlers_are_those_of_before():
    names = ("SIGINT", "SIGTERM", "SIGHUP")
    before = [signal.getsignal(getattr(signal, name)) for name in names]
    assert run_until_signal(asyncio.sleep(0, "done")) == ("done", 0)
    assert [signal.getsignal(getattr(signal, name)) for name in names] == before


def test_the_progress_line_names_cell_and_run():
    runner = Runner(decode(TINY.encode(), "tiny.toml"), Selection(repeats=3), make_lab=None)
    runner.current = list(runner.outcomes)[1]
    runner._began = runner._run_began = 0.0

    async def text():
        return ExperimentProgress(runner).text()

    assert "2 of 4 · threads 50 (run 1 of 3) · a" in asyncio.run(text())
