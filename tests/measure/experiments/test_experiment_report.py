"""Reports of experiments: golden files, sentences, the pyperf format, and writing of files."""

import importlib.util
import os
import subprocess
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from concwatch.measure.experiments.experiment_report import RunInfo
from concwatch.measure.experiments.formats import (
    FORMATS,
    check,
    pyperf_problem,
    report_csv,
    report_json,
    report_markdown,
    report_pyperf,
    save,
)
from concwatch.measure.experiments.loading import decode
from concwatch.measure.experiments.runner import CellState, Runner, Selection
from concwatch.measure.experiments.sentences import sentence
from concwatch.measure.experiments.table import WIDTH, table_lines
from concwatch.measure.result import Result
from concwatch.system.child import ROOT
from concwatch.system.files import why_not_writable, write_atomically

GOLDEN = Path(ROOT) / "tests" / "golden"
KIB, MIB = 1 << 10, 1 << 20
DONE, FAILED, SKIPPED = CellState.DONE, CellState.FAILED, CellState.SKIPPED

INFO = RunInfo(
    command="concwatch experiment toy --repeats 3",
    begun=datetime(2026, 11, 21, 9, 30, 5, tzinfo=timezone(timedelta(hours=1))),
    concwatch="1.2.3",
    machine={
        "system": "Linux 6.1.0",
        "architecture": "x86_64",
        "cores": 2,
        "memory_total": 8 << 30,
        "memory_available": 6 << 30,
        "python": "CPython 3.11.7",
    },
)

TOY = """
name = "toy"
title = "Do coroutines | threads differ?"
about = "All there is to see in a report."
method = "Ten sleeps\\nof 0.1 s each."
[source]
article = "Coroutines Use Less Memory Than Threads"
author = "Jason Brownlee"
year = 2023
site = "SuperFastPython.com"
[[table]]
title = "Traced memory"
reading = "traced_added"
unit = "KiB"
workload = "ticks:10x0.1"
trace = true
read_after = 0.5
sizes = [1, 1000, 5000]
compare = { this = "threads", that = "asyncio" }
note = "Python's own allocations <alone>."
series = [
    { engine = "threads", published = { 1 = 7.848, 1000 = 5166.721, 5000 = 16939.733 } },
    { engine = "asyncio", published = { 1 = 9.015, 1000 = 2153.204 } },
]
[[table]]
title = "Peak memory"
reading = "peak_rss"
unit = "MiB"
sizes = [1000, 1000000]
[[table.series]]
engine = "asyncio"
label = "Python, all at once | a very long label that nobody can read"
published = { 1000 = 30, 1000000 = 2232.5 }
[[table.series]]
engine = "smalltalk"
label = "Smalltalk"
optional = true
published = { 1000000 = 1200 }
[[table.series]]
engine = "uvloop"
[[table]]
title = "Created"
reading = "create_rate_cpu"
unit = "tasks/s"
workload = "sleep:1"
sizes = [100000]
series = [{ engine = "asyncio" }, { engine = "uvloop" }]
[[table]]
title = "Nothing"
reading = "burst_seconds"
unit = "ms"
workload = "nop"
sizes = [7]
[[table.series]]
engine = "threads"
"""

RSS_CURVE = [(-0.01, 20 * MIB), (0.09, 24 * MIB), (0.19, 38 * MIB), (0.29, 31 * MIB)]
READINGS = {
    "Traced memory": "traced_added", "Peak memory": "peak_rss", "Created": "create_rate_cpu",
    "Nothing": "burst_seconds",
}  # fmt: skip


def fill(runner, table, engine, size, *values, state=DONE, reason="", **about):
    """Set the outcome of a cell, with a run for each value."""
    cells = {(entry.table.title, entry.series.engine, entry.size): entry.cell for entry in runner.entries}
    about = {"seconds": 2.25, "own_seconds": 1.5, "runtime": "CPython 3.11.7", **about}
    outcome = runner.outcomes[cells[table, engine, size]]
    outcome.state, outcome.reason = state, reason
    outcome.runs = [Result("", metrics={READINGS[table]: value}, **about) for value in values]


def toy(text=TOY, **choice):
    return Runner(decode(text.encode(), "toy.toml"), Selection(**choice), make_lab=None)


@pytest.fixture
def runner():
    """Return a result with every state and every kind of figure."""
    runner = toy()
    for engine, size, values, about in (
        ("threads", 1, (3.1, 3.0, 3.05), {"live": 1}),
        ("threads", 1000, (2_900, 2_200, 2_950.123), {"live": 980}),
        ("threads", 5000, (6_000.5,), {"live": 623}),
        ("asyncio", 1, (2.069,), {"live": 1}),
        ("asyncio", 1000, (1_472, 1_473), {"live": 1000}),
        ("asyncio", 5000, (7_000,),
         {"live": 5000, "state": FAILED, "reason": "7 tasks failed: a task failed: KeyError: 7"}),
    ):  # fmt: skip
        fill(runner, "Traced memory", engine, size, *(value * KIB for value in values), **about)
    fill(runner, "Peak memory", "asyncio", 1000, 40 * MIB, 38 * MIB, rss_curve=RSS_CURVE)
    too_large = "needs about 1.41 GiB, the memory budget is 800 MiB"
    fill(runner, "Peak memory", "asyncio", 1_000_000, state=SKIPPED, reason=too_large)
    missing = "needs uvloop: pip install uvloop"
    fill(runner, "Peak memory", "uvloop", 1000, state=SKIPPED, reason=missing)
    fill(runner, "Created", "asyncio", 100_000, 150_321.5, 151_000, 149_000)
    flags = ["uvloop 0.22.1"]
    fill(runner, "Created", "uvloop", 100_000, 181_234.6, state=CellState.WAITING, flags=flags)
    return runner


def text_table(runner, info):
    return "".join(f"{line.text}\n" for line in table_lines(runner, info))


@pytest.mark.parametrize(
    ("name", "report"),
    [("json", report_json), ("md", report_markdown), ("csv", report_csv), ("txt", text_table)],
)
def test_a_report_matches_its_golden_file(runner, name, report):
    # CONCWATCH_GOLDEN=write rewrites the files.
    file, text = GOLDEN / f"experiment.{name}", report(runner, INFO)
    if os.environ.get("CONCWATCH_GOLDEN") == "write":
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")


# Properties of each format.


def test_a_complete_result_does_not_mention_partial():
    runner = toy()
    for outcome in runner.outcomes.values():
        outcome.state = DONE
    for report in (report_markdown, text_table):
        assert "partial" not in report(runner, INFO).lower()


def test_markdown_tables_have_the_same_number_of_cells_in_every_row(runner):
    text = report_markdown(runner, INFO)
    for block in text.split("\n\n"):
        rows = [line for line in block.splitlines() if line.startswith("|")]
        assert len({line.replace("\\|", "").count("|") for line in rows}) <= 1
    assert "<alone>" not in text
    # Empty columns are omitted.
    assert "| size | engine | here | spread |" in text
    assert "| size | engine | here |\n" in text


def test_the_text_table_wraps_long_reasons_at_a_hundred_columns(runner):
    for outcome in runner.outcomes.values():
        if outcome.state is FAILED:
            outcome.reason = "a reason that does not end: " + "word " * 60
    lines = text_table(runner, INFO).splitlines()
    assert max(map(len, lines)) <= WIDTH
    assert sum(line.count("word") for line in lines) == 60


# Sentences.

TITLES = ["Traced memory", "Peak memory", "Created", "Nothing"]
COMPARE = 'compare = { this = "threads", that = "asyncio" }'
AT_ONE = COMPARE.replace(" }", ", size = 1 }")
UVLOOP = 'title = "Created"\ncompare = { this = "uvloop", that = "asyncio" }'
NOTHING = 'workload = "nop"\n'
SECOND = '\n[[table.series]]\nengine = "asyncio"\n'


def traced(engine, size, kib):
    return "Traced memory", engine, size, kib * KIB, kib * KIB


def created(engine, *values):
    return "Created", engine, 100_000, *values


@pytest.mark.parametrize(
    ("expected", "text", "filled"),
    [
        # Two series are compared at the largest size where both were measured, or at one that the file names.
        ("at 1,000: threads = 2.0 × asyncio (published: 2.4 ×)", TOY,
         [traced("threads", 1, 9), traced("asyncio", 1, 1), traced("threads", 1000, 3000),
          traced("asyncio", 1000, 1500), traced("threads", 5000, 8000)]),
        ("at 5,000: threads = 0.080 × asyncio", TOY,  # nothing published for both
         [traced("threads", 5000, 800), traced("asyncio", 5000, 10_000)]),
        ("at 1: threads = 78 × asyncio (published: 0.87 ×)", TOY,
         [traced("threads", 1, 78.48), traced("asyncio", 1, 1)]),
        ("at 1: threads = 9.0 × asyncio (published: 0.87 ×)", TOY.replace(COMPARE, AT_ONE),
         [traced("threads", 1, 9), traced("asyncio", 1, 1), traced("threads", 1000, 3000),
          traced("asyncio", 1000, 1500)]),
        # Otherwise each is compared with its published figure.
        ("here 0.50 × published", TOY, [traced("threads", 1, 3.924)]),
        ("here 0.50 to 1.0 × published", TOY,
         [traced("threads", 1, 3.924), traced("threads", 1000, 5166.721)]),
        ("here 0.50 to 1.0 × published (threads 0.50 ×, asyncio 1.0 ×)",
         TOY.replace(COMPARE, ""), [traced("threads", 1, 3.924), traced("asyncio", 1, 9.015)]),
        # Otherwise the lowest and the highest are named.
        ("at 100,000: asyncio least (150,000 tasks/s), uvloop most (180,000 tasks/s, 1.2 ×)", TOY,
         [created("asyncio", 150_000, 150_000), created("uvloop", 180_000, 180_000)]),
        ("threads: 250.0 ms at 7", TOY, [("Nothing", "threads", 7, 0.25, 0.25)]),
        # Zero is not used as a denominator.
        ("at 7: threads 250.0 ms, asyncio 0 ms",
         TOY.replace(NOTHING, f"{NOTHING}{COMPARE}\n") + SECOND,
         [("Nothing", "threads", 7, 0.25, 0.25), ("Nothing", "asyncio", 7, 0.0, 0.0)]),
        # A single run or unsteady runs are mentioned.
        ("here 0.50 × published, from a single run", TOY,
         [("Traced memory", "threads", 1, 3.924 * KIB)]),
        ("at 100,000: uvloop = 1.2 × asyncio, from a single run",
         TOY.replace('title = "Created"', UVLOOP),
         [created("asyncio", 150_000), created("uvloop", 180_000, 180_000)]),
        ("at 100,000: uvloop = 1.2 × asyncio, from unsteady runs",
         TOY.replace('title = "Created"', UVLOOP),
         [created("asyncio", 140_000, 160_000), created("uvloop", 180_000, 180_000)]),
    ],
)  # fmt: skip
def test_a_table_is_summarized_in_a_line(expected, text, filled):
    runner = toy(text)
    for each in filled:
        fill(runner, *each)
    table = runner.experiment.table[TITLES.index(filled[0][0])]
    assert sentence(table, runner.figures()) == expected


def test_the_line_of_an_unmeasured_table_counts_the_states():
    runner = toy()
    fill(runner, "Traced memory", "threads", 1, 5, state=FAILED, reason="killed")
    fill(runner, "Traced memory", "asyncio", 1, state=SKIPPED, reason="too large")
    sentences = [sentence(table, runner.figures()) for table in runner.experiment.table]
    assert sentences[:2] == [
        "nothing was measured: 1 failed, 4 not run, 1 skipped",
        "nothing was measured: 4 not run, 2 published only",
    ]


# pyperf.

needs_pyperf = pytest.mark.skipif(importlib.util.find_spec("pyperf") is None, reason="needs pyperf")


@pytest.mark.real
@needs_pyperf
def test_pyperf_loads_and_compares_the_written_files(runner, tmp_path):
    import pyperf

    before, after = (tmp_path / name for name in ("before.json", "after.json"))
    fill(runner, "Nothing", "threads", 7, 0.25)
    before.write_text(report_pyperf(runner, INFO))
    suite = pyperf.BenchmarkSuite.load(str(before))
    assert {bench.get_name(): bench.get_values() for bench in suite.get_benchmarks()} == {
        "toy: Created: asyncio 100,000": pytest.approx([1e5 / rate for rate in (150_321.5, 151e3, 149e3)]),
        "toy: Created: uvloop 100,000": pytest.approx([1e5 / 181_234.6]),
        "toy: Nothing: threads 7": (0.25,),
    }
    fill(runner, "Created", "asyncio", 100_000, 75_000, 75_500, 75_100)
    fill(runner, "Created", "uvloop", 100_000, 181_234.6 * 2)
    after.write_text(report_pyperf(runner, INFO))
    command = [sys.executable, "-m", "pyperf", "compare_to", before, after]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert "2.00x slower" in done.stdout
    assert "[before] 552 ms -> [after] 276 ms: 2.00x faster" in done.stdout  # one value in each


@needs_pyperf
def test_pyperf_output_needs_times(tmp_path):
    path, runner = str(tmp_path / "times.json"), toy()
    check({"pyperf": path}, runner.experiment)
    assert save({"pyperf": path}, runner, INFO) == (
        "", [f'--pyperf: "{path}" not written: nothing was timed'],
    )  # fmt: skip
    assert list(tmp_path.iterdir()) == []
    untimed = toy(TOY[: TOY.index('[[table]]\ntitle = "Created"')]).experiment
    assert pyperf_problem(untimed) == '--pyperf holds times, and no table of "toy" is of times or rates'


# Files.


def test_each_format_is_written_to_its_file(runner, tmp_path):
    paths = {name: str(tmp_path / name) for name in FORMATS if name not in ("pyperf", "csv")}
    check({**paths, "csv": "-"}, runner.experiment)
    output, problems = save({**paths, "csv": "-"}, runner, INFO)
    assert (output, problems) == (report_csv(runner, INFO), [])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["json", "markdown"]
    assert (tmp_path / "json").read_text() == report_json(runner, INFO)


def test_a_file_is_replaced_completely_or_not_at_all(tmp_path, monkeypatch):
    file, link, part = tmp_path / "a.txt", tmp_path / "link", tmp_path / f".concwatch-{bytes(8).hex()}.part"
    file.write_text("old")
    link.symlink_to(file)
    assert why_not_writable(link) is None
    write_atomically(link, "new – complete")
    assert link.is_symlink()  # its target is replaced, not the link
    assert file.read_text(encoding="utf-8") == "new – complete"

    def fail(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", fail)
        with pytest.raises(OSError, match="No space left"):
            write_atomically(file, "newer")
    part.write_text("other")
    monkeypatch.setattr("os.urandom", bytes)  # makes the name of the temporary file that of an existing one
    assert why_not_writable(file) == "File exists"
    with pytest.raises(FileExistsError):
        write_atomically(file, "newer")
    assert (part.read_text(), file.read_text(encoding="utf-8")) == ("other", "new – complete")
    assert sorted(tmp_path.iterdir()) == sorted([file, link, part])
    assert why_not_writable(Path("/dev/null")) is None
    write_atomically(Path("/dev/null"), "discarded")
    assert Path("/dev/null").is_char_device()


def test_unwritable_files_are_detected_beforehand(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("old")
    for name, problem in (
        (".", "is a folder"), ("none/a", "No such file or directory"), ("file/a", "Not a directory"),
        ("a" * 300, "File name too long"), ("new", None), ("file", None),
    ):  # fmt: skip
        assert why_not_writable(tmp_path / name) == problem
    assert why_not_writable(tmp_path / "a\0b") is not None
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("file", "old")]

    def refuse(path, **_):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "touch", refuse)  # tests may run as root, who may write anywhere
    assert why_not_writable(tmp_path / "a") == "Permission denied"
