"""The reports of an experiment: golden files, sentences made of figures, and a file that pyperf reads."""

import csv
import importlib.util
import json
import os
import subprocess
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from concwatch.experiments.loading import decode
from concwatch.experiments.outputs import FORMATS, outputs, save
from concwatch.experiments.report import Occasion, sheets
from concwatch.experiments.report_data import CSV_HEADER, report_csv, report_json
from concwatch.experiments.report_markdown import report_markdown
from concwatch.experiments.report_pyperf import report_pyperf, why_not_pyperf
from concwatch.experiments.runner import CellState, Choice, Runner
from concwatch.experiments.sentences import sentence
from concwatch.experiments.table import WIDTH, table_lines
from concwatch.files import why_not_writable, write_whole
from concwatch.measure.result import Result
from concwatch.units import format_exactly, format_figure

GOLDEN = Path(__file__).parent / "golden"
MIB = 1 << 20

OCCASION = Occasion(
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

[[table.series]]
engine = "threads"

[table.series.published]
1 = 7.848
1000 = 5166.721
5000 = 16939.733

[[table.series]]
engine = "asyncio"

[table.series.published]
1 = 9.015
1000 = 2153.204

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

[[table.series]]
engine = "asyncio"

[[table.series]]
engine = "uvloop"

[[table]]
title = "Nothing"
reading = "burst_seconds"
unit = "ms"
workload = "nop"
sizes = [7]

[[table.series]]
engine = "threads"
"""

TRAIL = [(-0.01, 20 * MIB), (0.09, 24 * MIB), (0.19, 38 * MIB), (0.29, 31 * MIB)]


def ran(reading, *values, **about):
    """Return runs with one figure each."""
    about = {"seconds": 2.25, "own_seconds": 1.5, "runtime": "CPython 3.11.7", **about}
    return [Result("", figures={reading: value}, **about) for value in values]


def fill(runner, table, series, size, state, runs=(), reason=""):
    """Write by hand what has become of a cell."""
    (cell,) = [
        entry.cell
        for entry in runner.entries
        if (entry.table.title, entry.series.engine, entry.size) == (table, series, size)
    ]
    outcome = runner.outcomes[cell]
    outcome.state, outcome.reason, outcome.runs = state, reason, list(runs)


def toy(text=TOY, **choice):
    return Runner(decode(text.encode(), "toy.toml"), Choice(**choice), make_lab=None)


@pytest.fixture
def runner():
    """A result with everything in it that there can be."""
    runner = toy()
    done, kib = CellState.DONE, 1024
    fill(
        runner,
        "Traced memory",
        "threads",
        1,
        done,
        ran("traced_added", 3.1 * kib, 3.0 * kib, 3.05 * kib, live=1),
    )
    fill(
        runner, "Traced memory", "threads", 1000, done,
        ran("traced_added", 2_900 * kib, 2_200 * kib, 2_950.123 * kib, live=980),
    )  # fmt: skip
    fill(runner, "Traced memory", "threads", 5000, done, ran("traced_added", 6_000.5 * kib, live=623))
    fill(runner, "Traced memory", "asyncio", 1, done, ran("traced_added", 2.069 * kib, live=1))
    fill(
        runner,
        "Traced memory",
        "asyncio",
        1000,
        done,
        ran("traced_added", 1_472 * kib, 1_473 * kib, live=1000),
    )
    fill(
        runner, "Traced memory", "asyncio", 5000, CellState.FAILED,
        ran("traced_added", 7_000 * kib, live=5000), "7 tasks failed: a task failed: KeyError: 7",
    )  # fmt: skip
    fill(runner, "Peak memory", "asyncio", 1000, done, ran("peak_rss", 40 * MIB, 38 * MIB, trail=TRAIL))
    fill(
        runner, "Peak memory", "asyncio", 1_000_000, CellState.SKIPPED,
        reason="needs about 1.41 GiB, the memory budget is 800 MiB",
    )  # fmt: skip
    fill(
        runner, "Peak memory", "uvloop", 1000, CellState.SKIPPED, reason="needs uvloop: pip install uvloop",
    )  # fmt: skip
    flags = ["uvloop 0.22.1"]
    fill(runner, "Created", "asyncio", 100_000, done, ran("create_rate_cpu", 150_321.5, 151_000, 149_000))
    fill(
        runner,
        "Created",
        "uvloop",
        100_000,
        CellState.WAITING,
        ran("create_rate_cpu", 181_234.6, flags=flags),
    )
    return runner


def hold_against(name, text):
    # To write the files anew: CONCWATCH_GOLDEN=write python -m pytest tests/test_experiment_report.py
    file = GOLDEN / name
    if os.environ.get("CONCWATCH_GOLDEN") == "write":
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")


def text_table(runner):
    return "".join(f"{line.text}\n" for line in table_lines(runner, OCCASION))


@pytest.mark.parametrize(
    ("name", "report"),
    [
        ("experiment.json", lambda runner: report_json(runner, OCCASION)),
        ("experiment.md", lambda runner: report_markdown(runner, OCCASION)),
        ("experiment.csv", lambda runner: report_csv(runner, OCCASION)),
        ("experiment.txt", text_table),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_report_looks_as_its_golden_file_does(runner, name, report):
    hold_against(name, report(runner))


# What each format promises.


def test_the_json_has_every_figure_every_run_and_what_it_was_measured_with(runner):
    told = json.loads(report_json(runner, OCCASION))
    assert (told["concwatch"], told["command"]) == ("1.2.3", "concwatch experiment toy --repeats 3")
    assert told["machine"]["memory_total"] == 8 << 30
    assert told["begun"] == "2026-11-21T09:30:05+01:00"
    assert (told["partial"], told["quick"]) == (True, False)
    assert told["experiment"]["source"]["author"] == "Jason Brownlee"
    assert [len(table["rows"]) for table in told["tables"]] == [6, 5, 2, 1]
    assert len(told["cells"]) == len(runner.outcomes)
    for table in told["tables"]:
        for row in table["rows"]:
            if row["cell"] is None:
                assert row["state"] == "absent"
                continue
            cell = told["cells"][row["cell"]]
            assert (cell["engine"], cell["size"], cell["state"]) == (row["engine"], row["size"], row["state"])
            assert len(row["repeats"]) == len(cell["runs"])
    (peak,) = [cell for cell in told["cells"] if cell["engine"] == "asyncio" and cell["runs"][0:1] == []][:1]
    assert peak["reason"] == "needs about 1.41 GiB, the memory budget is 800 MiB"
    trails = [run["trail"] for cell in told["cells"] for run in cell["runs"] if run["trail"]]
    assert trails == [[list(point) for point in TRAIL]] * 2


def test_a_failed_cell_has_no_figure_but_keeps_its_runs(runner):
    told = json.loads(report_json(runner, OCCASION))
    (failed,) = [row for table in told["tables"] for row in table["rows"] if row["state"] == "failed"]
    assert (failed["here"], failed["ratio"], failed["spread"]) == (None, None, None)
    assert failed["repeats"] == [7_000]


def test_lists_of_numbers_take_one_line_each(runner):
    text = report_json(runner, OCCASION)
    assert "            [-0.01, 20971520],\n" in text
    assert '"repeats": [3.1, 3.0, 3.05],' in text


def test_the_csv_has_one_line_a_figure(runner):
    lines = list(csv.DictReader(report_csv(runner, OCCASION).splitlines()))
    assert tuple(lines[0]) == CSV_HEADER
    assert len(lines) == len(runner.figures()) - 1  # of an engine that is not there, unpublished
    by = {(line["table"], line["engine"], line["size"]): line for line in lines}
    assert float(by["Traced memory", "threads", "1000"]["here"]) == 2_900
    assert by["Peak memory", "smalltalk", "1000000"]["state"] == "absent"
    assert by["Created", "uvloop", "100000"]["repeats"] == "1"


def test_markdown_tables_have_as_many_cells_in_every_row(runner):
    text = report_markdown(runner, OCCASION)
    for block in text.split("\n\n"):
        rows = [line for line in block.splitlines() if line.startswith("|")]
        assert len({line.replace("\\|", "").count("|") for line in rows}) <= 1
    assert "<alone>" not in text
    assert "**Partial: stopped after 10 of 13 cells.**" in text


def test_no_line_of_the_text_table_is_wider_than_a_hundred_columns(runner):
    for figure in runner.figures():
        if figure.entry.cell is not None and figure.state is CellState.FAILED:
            runner.outcomes[figure.entry.cell].reason = "a reason that does not end: " + "word " * 60
    lines = text_table(runner).splitlines()
    assert max(map(len, lines)) <= WIDTH
    assert sum(line.count("word") for line in lines) == 60


def test_a_whole_result_says_nothing_of_partial():
    runner = toy()
    for outcome in runner.outcomes.values():
        outcome.state = CellState.DONE
    for report in (report_markdown(runner, OCCASION), text_table(runner)):
        assert "partial" not in report.lower()
    assert json.loads(report_json(runner, OCCASION))["partial"] is False


def test_a_column_in_which_nothing_is_known_is_left_out(runner):
    assert "| size | engine | here | spread |" in report_markdown(runner, OCCASION)
    assert "| size | engine | here |\n" in report_markdown(runner, OCCASION)


# Sentences.


def sentences(text, *filled):
    """Return the sentence of each table, once cells have been filled."""
    runner = toy(text)
    for each in filled:
        fill(runner, *each)
    return [sentence(table, runner.figures()) for table in runner.experiment.table]


def done(table, engine, size, reading, *values):
    """Return a cell that was run twice at least: what rests on a single run says so."""
    return table, engine, size, CellState.DONE, ran(reading, *(values * 2 if len(values) == 1 else values))


def test_two_series_are_compared_at_the_largest_size_where_both_were_measured():
    def traced(engine, size, kib):
        return done("Traced memory", engine, size, "traced_added", kib * 1024)

    found = sentences(
        TOY, traced("threads", 1, 9), traced("asyncio", 1, 1), traced("threads", 1000, 3000),
        traced("asyncio", 1000, 1500), traced("threads", 5000, 8000),
    )  # fmt: skip
    assert found[0] == "at 1,000 tasks threads take 2.0 × what asyncio takes (published: 2.4 ×)"
    both = sentences(TOY, traced("threads", 5000, 800), traced("asyncio", 5000, 10_000))
    assert both[0] == "at 5,000 tasks threads take 0.080 × what asyncio takes"  # nothing published for both
    one = sentences(TOY, traced("threads", 1, 78.48), traced("asyncio", 1, 1))
    assert one[0] == "at 1 task threads take 78 × what asyncio takes (published: 0.87 ×)"


def test_without_a_comparison_it_is_the_range_over_what_was_published():
    def traced(size, kib):
        return done("Traced memory", "threads", size, "traced_added", kib * 1024)

    assert sentences(TOY, traced(1, 3.924))[0] == "here 0.50 × the published figure for 1 task"
    assert (
        sentences(TOY, traced(1, 3.924), traced(1000, 5166.721))[0]
        == "here 0.50 to 1.0 × the published figures"
    )


def test_each_of_a_few_series_is_held_against_what_was_published():
    text = TOY.replace('compare = { this = "threads", that = "asyncio" }\n', "")
    found = sentences(
        text,
        done("Traced memory", "threads", 1, "traced_added", 3.924 * 1024),
        done("Traced memory", "asyncio", 1, "traced_added", 9.015 * 1024),
    )
    assert found[0] == "here 0.50 to 1.0 × the published figures (threads 0.50 ×, asyncio 1.0 ×)"


def test_without_published_figures_the_lowest_and_the_highest_are_named():
    found = sentences(
        TOY,
        done("Created", "asyncio", 100_000, "create_rate_cpu", 150_000),
        done("Created", "uvloop", 100_000, "create_rate_cpu", 180_000),
    )
    assert found[2] == (
        "at 100,000 tasks asyncio reaches least (150,000 tasks/s) "
        "and uvloop most (180,000 tasks/s, 1.2 × that)"
    )


def test_a_conclusion_from_a_single_run_or_from_runs_far_apart_says_so():
    once = "Created", "asyncio", 100_000, CellState.DONE, ran("create_rate_cpu", 150_000)
    found = sentences(TOY, once, done("Created", "uvloop", 100_000, "create_rate_cpu", 180_000))
    assert found[2].endswith("1.2 × that), by a single run")
    text = TOY.replace(
        'title = "Created"', 'title = "Created"\ncompare = { this = "uvloop", that = "asyncio" }'
    )
    found = sentences(text, once, done("Created", "uvloop", 100_000, "create_rate_cpu", 180_000))
    assert found[2] == "at 100,000 tasks uvloop reaches 1.2 × what asyncio reaches, by a single run"
    apart = done("Created", "asyncio", 100_000, "create_rate_cpu", 140_000, 160_000)
    found = sentences(text, apart, done("Created", "uvloop", 100_000, "create_rate_cpu", 180_000))
    assert found[2] == "at 100,000 tasks uvloop reaches 1.2 × what asyncio reaches, by unsteady runs"
    traced = "Traced memory", "threads", 1, CellState.DONE, ran("traced_added", 3.924 * 1024)
    assert sentences(TOY, traced)[0] == "here 0.50 × the published figure for 1 task, by a single run"


def test_a_comparison_may_name_its_size():
    def traced(engine, size, kib):
        return done("Traced memory", engine, size, "traced_added", kib * 1024)

    text = TOY.replace('that = "asyncio" }', 'that = "asyncio", size = 1 }')
    found = sentences(
        text, traced("threads", 1, 9), traced("asyncio", 1, 1), traced("threads", 1000, 3000),
        traced("asyncio", 1000, 1500),
    )  # fmt: skip
    assert found[0] == "at 1 task threads take 9.0 × what asyncio takes (published: 0.87 ×)"


def test_a_single_series_says_its_figures():
    found = sentences(TOY, done("Nothing", "threads", 7, "burst_seconds", 0.25))
    assert found[3] == "threads take 250.0 ms at 7 tasks"


def test_nothing_measured_is_said_with_what_became_of_it():
    found = sentences(
        TOY,
        ("Traced memory", "threads", 1, CellState.FAILED, ran("traced_added", 5), "killed"),
        ("Traced memory", "asyncio", 1, CellState.SKIPPED, (), "too large"),
    )
    assert found[0] == "nothing was measured: 1 failed, 4 not run, 1 skipped"
    assert found[1] == "nothing was measured: 4 not run, 2 published only"


def test_a_figure_of_nothing_is_no_denominator():
    text = TOY.replace(
        'unit = "ms"\nworkload = "nop"',
        'unit = "ms"\nworkload = "nop"\ncompare = { this = "threads", that = "asyncio" }',
    )
    text += '\n[[table.series]]\nengine = "asyncio"\n'
    found = sentences(
        text,
        done("Nothing", "threads", 7, "burst_seconds", 0.25),
        done("Nothing", "asyncio", 7, "burst_seconds", 0.0),
    )
    assert found[3] == "at 7 tasks threads take 250.0 ms, asyncio takes 0 ms"


@pytest.mark.parametrize(
    ("label", "verb"),
    [
        ("threads", "take"), ("Python threads", "take"), ("coroutines, traced", "take"),
        ("pool of 20 threads", "takes"), ("asyncio with requests", "takes"), ("Node.JS", "takes"),
        ("five chunks", "take"), ("all at once", "takes"), ("one process", "takes"),
    ],
)  # fmt: skip
def test_the_verb_goes_with_the_series(label, verb):
    text = TOY + f'\nlabel = "{label}"\n'
    assert sentences(text, done("Nothing", "threads", 7, "burst_seconds", 1))[3].startswith(
        f"{label} {verb} "
    )


def test_where_fewer_were_live_when_read_it_is_said(runner):
    traced, *rest = sheets(runner)
    assert traced.live == (
        "threads: 980 of 1,000 live when read",
        "threads: 623 of 5,000 live when read",
    )
    assert all(sheet.live == () for sheet in rest)


# pyperf.


needs_pyperf = pytest.mark.skipif(
    importlib.util.find_spec("pyperf") is None,
    reason="pyperf is not installed: pip install concwatch[pyperf]",
)


def compare(*files):
    return subprocess.run(
        [sys.executable, "-m", "pyperf", "compare_to", *files], capture_output=True, text=True, timeout=60
    )


@needs_pyperf
def test_pyperf_reads_its_file_with_every_run_as_a_value_in_seconds(runner, tmp_path):
    import pyperf

    fill(runner, "Nothing", "threads", 7, CellState.DONE, ran("burst_seconds", 0.25))
    file = tmp_path / "times.json"
    file.write_text(report_pyperf(runner, OCCASION))
    suite = pyperf.BenchmarkSuite.load(str(file))
    assert {bench.get_name(): bench.get_values() for bench in suite.get_benchmarks()} == {
        "toy: Created: asyncio 100,000": pytest.approx(
            (100_000 / 150_321.5, 100_000 / 151_000, 100_000 / 149_000)
        ),
        "toy: Created: uvloop 100,000": pytest.approx((100_000 / 181_234.6,)),
        "toy: Nothing: threads 7": (0.25,),
    }


@pytest.mark.real
@needs_pyperf
def test_pyperf_compares_two_files(runner, tmp_path):
    files = [str(tmp_path / "before.json"), str(tmp_path / "after.json")]
    Path(files[0]).write_text(report_pyperf(runner, OCCASION))
    fill(
        runner, "Created", "asyncio", 100_000, CellState.DONE, ran("create_rate_cpu", 75_000, 75_500, 75_100)
    )
    fill(runner, "Created", "uvloop", 100_000, CellState.DONE, ran("create_rate_cpu", 181_234.6 * 2))
    Path(files[1]).write_text(report_pyperf(runner, OCCASION))
    found = compare(*files)
    assert (found.returncode, found.stderr) == (0, "")
    assert "toy: Created: asyncio 100,000" in found.stdout
    assert "2.00x slower" in found.stdout
    assert "[before] 552 ms -> [after] 276 ms: 2.00x faster" in found.stdout  # one value in each


@needs_pyperf
def test_nothing_timed_makes_no_file(tmp_path):
    wanted = outputs({"pyperf": str(tmp_path / "times.json")}, toy().experiment)
    assert save(wanted, toy(), OCCASION) == (
        [],
        [f'--pyperf: "{tmp_path}/times.json" not written: nothing was timed'],
    )
    assert list(tmp_path.iterdir()) == []


def test_without_pyperf_it_is_said_what_to_install(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert why_not_pyperf(toy().experiment) == "--pyperf needs pyperf: pip install 'concwatch[pyperf]'"


@needs_pyperf
def test_without_a_table_of_times_there_is_nothing_for_pyperf():
    text = TOY[: TOY.index('[[table]]\ntitle = "Created"')]
    assert why_not_pyperf(toy(text).experiment) == (
        '--pyperf holds times, and no table of "toy" is of times or rates'
    )


# Files.


def test_a_format_is_written_where_it_was_asked_for(runner, tmp_path):
    places = {name: str(tmp_path / f"result.{name}") for name in FORMATS if name != "pyperf"}
    assert save(outputs(places, runner.experiment), runner, OCCASION) == ([], [])
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "result.csv",
        "result.json",
        "result.markdown",
    ]
    assert json.loads((tmp_path / "result.json").read_text())["experiment"]["name"] == "toy"


def test_one_format_may_go_to_standard_output(runner):
    (text,), problems = save(outputs({"csv": "-"}, runner.experiment), runner, OCCASION)
    assert text.startswith("experiment,table,")
    assert problems == []


@pytest.mark.parametrize("places", [("a.json", "./a.json"), ("-", "-"), ("a.json", "link.json")])
def test_two_formats_in_one_file_are_refused(runner, places, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link.json").symlink_to("a.json")
    with pytest.raises(ValueError, match="--json and --csv both name"):
        outputs(dict(zip(("json", "csv"), places, strict=True)), runner.experiment)


def test_a_file_is_replaced_as_a_whole_and_nothing_stays_beside_it(tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("old")
    write_whole(file, "new – whole")
    assert file.read_text(encoding="utf-8") == "new – whole"
    assert list(tmp_path.iterdir()) == [file]


def test_what_cannot_be_written_leaves_the_old_file(tmp_path, monkeypatch):
    file = tmp_path / "a.txt"
    file.write_text("old")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        write_whole(file, "new")
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]


def test_a_neighbour_of_whatever_name_stays(tmp_path, monkeypatch):
    names = ["a.txt.part", f".concwatch-{bytes(8).hex()}.part"]
    for name in names:
        (tmp_path / name).write_text("mine")
    assert why_not_writable(tmp_path / "a.txt") is None
    write_whole(tmp_path / "a.txt", "new")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["a.txt", *names])
    monkeypatch.setattr("os.urandom", bytes)
    assert why_not_writable(tmp_path / "a.txt") == "File exists"
    with pytest.raises(FileExistsError):
        write_whole(tmp_path / "a.txt", "newer")
    assert {(tmp_path / name).read_text() for name in names} == {"mine"}


def test_a_link_stays_one_and_its_file_is_replaced(tmp_path):
    (tmp_path / "there").mkdir()
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "there" / "file")
    assert why_not_writable(link) is None
    write_whole(link, "new")
    assert link.is_symlink()
    assert (tmp_path / "there" / "file").read_text() == "new"


def test_a_device_is_written_to_and_not_replaced():
    assert why_not_writable(Path("/dev/null")) is None
    write_whole(Path("/dev/null"), "gone")
    assert Path("/dev/null").is_char_device()


def test_it_is_known_beforehand_what_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("kept")
    assert why_not_writable(tmp_path) == "is a folder"
    assert why_not_writable(tmp_path / "none" / "a") == "No such file or directory"
    assert why_not_writable(tmp_path / "file" / "a") == "Not a directory"
    assert why_not_writable(tmp_path / ("a" * 300)) == "File name too long"
    assert why_not_writable(tmp_path / "a\0b") is not None
    assert why_not_writable(tmp_path / "new") is None
    assert why_not_writable(tmp_path / "file") is None
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_text() == "kept"


def test_a_folder_that_may_not_be_written_in_is_known_beforehand(tmp_path, monkeypatch):
    def refuse(path, **_):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "touch", refuse)  # root, as whom tests may run, may write anywhere
    assert why_not_writable(tmp_path / "a") == "Permission denied"


# Numbers.


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"), (5166.721, "5,167"), (0.41134, "0.4113"), (12, "12.00"), (9_999.6, "10,000"),
        (999.96, "1,000"), (12_345_678, "12,350,000"), (-3.14159, "-3.142"), (float("inf"), "–"),
    ],
)  # fmt: skip
def test_a_figure_has_four_significant_digits(value, text):
    assert format_figure(value) == text


@given(st.floats(1e-6, 1e12), st.integers(1, 8))
def test_a_figure_is_off_by_half_a_digit_at_most(value, digits):
    shown = float(format_figure(value, digits).replace(",", ""))
    assert abs(shown - value) <= value * 0.51 * 10 ** (1 - digits)


@pytest.mark.parametrize(
    ("value", "text"), [(5166.721, "5,166.721"), (32.0, "32"), (1_000_000, "1,000,000"), (0.1, "0.1")]
)
def test_a_published_figure_is_shown_as_it_is(value, text):
    assert format_exactly(value) == text
