"""Programs that replace a worker: their figures, their errors, and that no process is left."""

import asyncio
import re
import sys
import textwrap
from itertools import chain
from pathlib import Path

import pytest

from concwatch.commands.basics.lab import open_process
from concwatch.measure.experiments import program
from concwatch.measure.experiments.cell import ExperimentCell, MissingError, NotMeasuredError
from concwatch.measure.experiments.loading import PROGRAMS, decode, load, shipped
from concwatch.measure.experiments.program import find_runtime, run_program
from concwatch.measure.experiments.runner import CellState, Runner, Selection
from concwatch.monitor.lanes.lab import Lab
from concwatch.monitor.metrics.settings import Settings
from concwatch.runtimes.pythons import find_interpreter
from tests.processes import PATIENCE, assert_ended

pytestmark = pytest.mark.real

MIB = 1 << 20

FILE = """
name = "mine"
title = "Mine"
about = "One."
method = "Two."
[[table]]
title = "T"
reading = "peak_rss"
unit = "MiB"
sizes = [1, 3]
[[table.series]]
label = "own"
engine = "asyncio"
program = "own.py"
"""


def cell(path, size=1, engine="asyncio", workload="sleep:10", **how):
    return ExperimentCell(engine, size, "burst", workload, program=str(path), **how)


@pytest.fixture
def write_program(tmp_path):
    """Write a program to a file. Return its path."""

    def write(text, name="own.py"):
        path = tmp_path / name
        path.write_text(textwrap.dedent(text))
        return path

    return write


def run(path, size=1, **how):
    """Return the result of a run; skip the test if tools of an engine given by name are missing.

    On a busy machine such a short program may end before its memory is read; it is then run again.
    """
    while True:
        try:
            return asyncio.run(run_program(Lab([], open_link=open_process), cell(path, size, **how)))
        except MissingError as error:
            if "engine" not in how:
                raise
            pytest.skip(str(error))
        except NotMeasuredError as error:
            if str(error) != "ended before its memory could be read":
                raise


def experiment(folder, text=FILE):
    return decode(text.encode(), "mine.toml", folder)


# Figures.


def test_a_run_reports_peak_memory_and_total_seconds(write_program):
    path = write_program("import sys, time; held = b'x' * (int(sys.argv[1]) << 20); del held; time.sleep(1)")
    few, many = run(path, 1), run(path, 200)
    assert 190 * MIB < many.metrics["peak_rss"] - few.metrics["peak_rss"] < 210 * MIB
    assert 1 <= many.metrics["burst_seconds"] <= many.seconds
    assert many.runtime.endswith("own.py")
    times, values = zip(*many.rss_curve, strict=True)
    assert sorted(times) == list(times)
    assert 0 < max(values) <= many.metrics["peak_rss"]


def test_figures_printed_by_a_program_are_used_and_it_gets_its_series_environment(write_program):
    path = write_program(
        "import os; print('three'); print('gc_seconds 1.5'); print(os.environ['TOY_SECONDS'])"
    )
    figures = run(path, environment=(("TOY_SECONDS", "0.125"),)).metrics
    assert (figures["gc_seconds"], figures["burst_seconds"]) == (1.5, 0.125)
    path = write_program("import time; print(0.125); time.sleep(0.2); print('over')")
    assert run(path).metrics["burst_seconds"] >= 0.2


def test_a_python_program_runs_on_its_engines_version(write_program, tmp_path, monkeypatch):
    path = write_program("print(0.125)")
    monkeypatch.setattr(program, "find_interpreter", lambda version: find_interpreter(sys.executable))
    assert run(path, engine="asyncio@3.77").runtime.startswith("CPython 3.")
    monkeypatch.undo()
    with pytest.raises(pytest.skip.Exception, match=r"^needs Python 3\.77: uv python install 3\.77"):
        run(path, engine="asyncio@3.77")


def test_a_program_gets_the_page_and_chunks_as_arguments(write_program):
    path = write_program("import sys, time; time.sleep(0.05); sys.exit(' '.join(sys.argv[1:]))")

    with pytest.raises(NotMeasuredError, match=r"exited with status 1: 7$"):
        run(path, 7)

    async def fetch():
        lab = Lab([], open_link=open_process, settings=Settings(workload="http"))
        try:
            with pytest.raises(NotMeasuredError, match=rf"7 {re.escape(lab.settings.current.url)} 5"):
                await run_program(lab, cell(path, 7, workload="http", chunks=5))
        finally:
            await lab.close()

    pytest.importorskip("aiohttp")
    asyncio.run(fetch())


def test_a_surviving_child_neither_delays_the_end_nor_is_left_running(write_program, tmp_path):
    short = LINGERING.replace("time.sleep(600)\n", "time.sleep(0.2)\n")
    assert run(write_program(short.format(pids=tmp_path / "pids"))).metrics["burst_seconds"] < PATIENCE
    assert_gone(tmp_path / "pids")


def test_an_executable_file_is_run_directly(write_program):
    path = write_program(f"#!{sys.executable}\nimport time; time.sleep(0.2); print(7)\n", "own")
    assert find_runtime(path, "asyncio", 1) is None
    path.chmod(0o755)
    assert run(path).metrics["burst_seconds"] == 7


SHIPPED = sorted(
    {
        (series.engine, series.program)
        for series in chain.from_iterable(table.series for table in load("million-tasks").table)
        if series.program
    }
)


@pytest.mark.timeout(300)  # it may have to be built first
@pytest.mark.parametrize(
    ("engine", "path"),
    [
        pytest.param(*each, id=each[1].name, marks=() if each[0] == "asyncio" else pytest.mark.apart)
        for each in SHIPPED
    ],
)
def test_every_program_of_the_article_runs(engine, path, write_program):
    shorter = write_program(re.sub(r"\b10(000)?\b", r"1\1", path.read_text()), path.name)
    figures = run(shorter, 100, engine=engine, workload="sleep:1").metrics
    assert 1 <= figures["burst_seconds"] < PATIENCE
    assert MIB < figures["peak_rss"] < 200 * MIB


@pytest.mark.timeout(300)  # it may have to be built first
@pytest.mark.parametrize(
    ("engine", "name", "size"),
    [
        ("asyncio", "async_tree.py", 43),
        ("asyncio", "tiny_tasks.py", 6_000),
        ("threads", "count_primes.py", 1),
        pytest.param("java-virtual", "PinnedVirtual.java", 20, marks=pytest.mark.apart),
        pytest.param("go", "small_objects.go", 1_000, marks=pytest.mark.apart),
    ],
)
def test_every_other_program_reports_its_own_seconds(engine, name, size):
    result = run(PROGRAMS / name, size, engine=engine, workload="nop")
    assert 0 < result.metrics["burst_seconds"] < result.seconds
    assert ("gc_seconds" in result.metrics) == (engine == "go")


# Errors.


def test_a_failure_is_one_line_with_the_end_of_standard_error(write_program):
    path = write_program("print('out'); raise OSError('no cups\\nleft')")
    with pytest.raises(NotMeasuredError, match=r"^exited with status 1: left$"):
        run(path)


def test_a_failed_build_is_a_one_line_error(write_program):
    if find_runtime(Path("own.go"), "go", 1).missing():
        pytest.skip("no go")
    path = write_program("package main\nfunc main() { no }\n", "own.go")
    with pytest.raises(NotMeasuredError, match=r"^build failed: .*undefined: no"):
        run(path)


@pytest.mark.parametrize(
    ("text", "name", "reason"),
    [
        ("import nothing_of_that_name.at_all", "own.py", "needs nothing_of_that_name: pip install nothing"),
        ("class own { }", "own.java", "needs javac 21 or newer: apt install "),
    ],
)
def test_a_missing_dependency_skips_the_cell_and_says_how_to_install_it(
    text, name, reason, write_program, tmp_path, monkeypatch
):
    tools = {"JAVAC": program.JAVAC, "JAVA": program.JAVA}
    for constant, tool in tools.items():
        monkeypatch.setattr(program, constant, type(tool)(tool.name, tool.install_hint, least=tool.least))
    monkeypatch.setenv("PATH", str(tmp_path))
    write_program(text, name)
    runner = Runner(experiment(tmp_path, FILE.replace("own.py", name)), Selection(repeats=1), make_lab)
    asyncio.run(runner.run())
    for outcome in runner.outcomes.values():
        assert (outcome.state, outcome.runs) == (CellState.SKIPPED, [])
        assert outcome.reason.startswith(reason)


def make_lab(engines, settings):
    return Lab(engines, open_link=open_process, settings=settings)


def test_a_program_that_never_ends_is_killed(write_program, tmp_path, monkeypatch):
    monkeypatch.setattr(program, "BURST_LIMIT", 0.5)
    path = write_program(LINGERING.format(pids=tmp_path / "pids"))
    while not (tmp_path / "pids").exists():  # it may not have started in time
        with pytest.raises(NotMeasuredError, match="did not end within 500 ms: killed"):
            run(path)
    assert_gone(tmp_path / "pids")


# Cleanup.

LINGERING = """
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
with open("{pids}.part", "w") as file:
    file.write(f"{{os.getpid()}} {{child.pid}}")
os.rename("{pids}.part", "{pids}")
time.sleep(600)
"""


def assert_gone(pids):
    assert_ended(map(int, pids.read_text().split()))


def test_a_cancelled_run_leaves_no_process(write_program, tmp_path):
    pids = tmp_path / "pids"
    write_program(LINGERING.format(pids=pids))

    async def cancel():
        runner = Runner(experiment(tmp_path), Selection(), make_lab)
        running = asyncio.get_running_loop().create_task(runner.run())
        end = asyncio.get_running_loop().time() + PATIENCE
        while not pids.exists():
            assert asyncio.get_running_loop().time() < end
            await asyncio.sleep(0.02)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        return runner

    runner = asyncio.run(cancel())
    assert runner.partial
    assert_gone(pids)


# Programs in experiment files.


def test_a_program_is_beside_the_file_or_shipped(write_program, tmp_path):
    path = write_program("")
    text = FILE + '[[table.series]]\nlabel = "shipped"\nengine = "go"\nprogram = "sleep.go"\n'
    mine, shipped = experiment(tmp_path, text).table[0].series
    assert (mine.program, shipped.program) == (path, PROGRAMS / "sleep.go")
    (tmp_path / "mine.toml").write_text(FILE)
    assert load(str(tmp_path / "mine.toml")).table[0].series[0].program == path


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('"own.py"', '"none.py"', 'series[0].program": "none.py"; expected a file beside the experiment'),
        ('"own.py"', '"own.txt"', 'series[0]": program "own.txt"; expected a known suffix, or an executable'),
        ('"peak_rss"', '"rss"\naction = "hold"', "only peak_rss, burst_seconds, throughput, "),
    ],
)
def test_an_invalid_program_is_rejected(old, new, expected, write_program, tmp_path):
    write_program("")
    write_program("", "own.txt")
    with pytest.raises(ValueError, match=re.escape(expected)):
        experiment(tmp_path, FILE.replace(old, new))


def test_every_shipped_program_is_used():
    experiments = [load(path.stem) for path in shipped()]
    used = {series.program for each in experiments for table in each.table for series in table.series}
    assert {path for path in PROGRAMS.iterdir() if path.is_file()} == used - {None}
