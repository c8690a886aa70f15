"""Charts in plain text: what they show of a run or a recording, and on what they are written."""

import contextlib
import fcntl
import io
import math
import os
import re
import struct
import subprocess
import sys
import termios

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.color import ColorSystem

from concwatch.charts.lines import Line
from concwatch.charts.paper import LARGEST_WIDTH, SMALLEST_WIDTH, Paper, check_writes_charts
from concwatch.charts.plain import HEIGHT, LABEL_WIDTH, draw_chart, seconds_ticks
from concwatch.charts.plain_page import chart_lines
from concwatch.charts.scales import BYTES
from concwatch.charts.table import CHARTS
from concwatch.charts.traces import Trace, traces_of_labs, traces_of_recording
from concwatch.cli import main
from concwatch.lab.settings import Settings
from concwatch.recordings.load import load
from concwatch.recordings.recorder import Recorder
from concwatch.recordings.writers import open_writer
from concwatch.system.child import ROOT
from tests.lab_driver import Bench

PATIENCE = 80
NAMES = ("asyncio", "uvloop", "threads")
COLORED = Paper(100, ColorSystem.TRUECOLOR)
MIB = 1 << 20


def measured(bench, seconds=4.0, tasks=1_000):
    """Have every lane of a bench start tasks, hold them, and end."""
    bench.pass_(0.5)
    for lane in bench.lab.lanes:
        bench.lab.set_target(lane, tasks)
    bench.pass_(seconds)
    for lane in bench.lab.lanes:
        bench.lab.switch(lane, False)
    bench.pass_(1)


@pytest.fixture(name="path", scope="module")
def a_recording(tmp_path_factory):
    """What ``concwatch run --record`` writes: a lab an engine, one after another on one clock."""
    path = tmp_path_factory.mktemp("charts") / "a.jsonl"
    benches = [Bench(name, settings=Settings("sleep:2")) for name in NAMES]
    engines = [lane.engine for bench in benches for lane in bench.lab.lanes]
    recorder = Recorder(path, open_writer(path), "concwatch run", engines)
    for number, bench in enumerate(benches):
        bench.now += 60.0 * number
        recorder.follow(bench.lab)
        measured(bench)
    recorder.stop("done")
    return path


def drawn(traces, paper=None):
    """Return the lines of all charts."""
    return list(chart_lines(traces, paper or Paper()))


def trace(name, times, values, metric="rss"):
    """Return a trace that has one metric."""
    return Trace(name, {row.metric: ((), ()) for row in CHARTS} | {metric: (times, values)})


def export(*arguments):
    return CliRunner().invoke(main, ["export", *map(str, arguments)])


def refused(*arguments):
    result = CliRunner().invoke(main, list(map(str, arguments)))
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    return line


def on_a_terminal(*arguments, columns):
    """Return what the real command writes on a terminal of so many columns."""
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    environ = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "COLORFGBG")}
    with subprocess.Popen(
        [sys.executable, "-m", "concwatch", *map(str, arguments)],
        cwd=ROOT,
        stdout=theirs,
        env={**environ, "TERM": "xterm-256color", "COLORTERM": "truecolor"},
    ) as process:
        os.close(theirs)
        got = b""
        with contextlib.suppress(OSError):  # it has ended, and its terminal with it
            while part := os.read(ours, 65_536):
                got += part
        os.close(ours)
        assert process.wait(PATIENCE) == 0
    return got.decode().replace("\r\n", "\n")


# What is drawn.


def test_an_export_is_plain_text_of_80_columns(path, tmp_path):
    result = export(path, "--chart")
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert "\x1b" not in result.stdout
    assert not [line for line in lines if line != line.rstrip()]
    titles = [line for line in lines if " o asyncio " in line]
    assert [line.split("   ")[0] for line in titles] == ["RSS", "live tasks", "created / s", "completed / s"]
    for title in titles:
        assert re.search(r"   o asyncio .+   x uvloop .+   \+ threads ", title)
    assert "o asyncio 1 k   x uvloop 1 k   + threads 1 k" in titles[1]
    assert "tracemalloc" not in result.stdout  # nothing was traced
    out = tmp_path / "a.txt"
    assert export(path, "--chart", "--out", out).stdout == ""
    assert out.read_text(encoding="utf-8") == result.stdout


def test_axes_are_named_in_units_a_person_reads(path):
    text = export(path, "--chart").stdout
    rss = text.split("\n\n")[0].splitlines()
    assert len(rss) == 1 + HEIGHT
    labels = [line[:LABEL_WIDTH].strip() for line in rss[1:] if line[LABEL_WIDTH : LABEL_WIDTH + 1] == "┤"]
    assert labels[-1] == "0 B"
    assert len(labels) > 2
    assert all(label.endswith(" MiB") for label in labels[:-1])
    seconds = rss[-1].split()
    assert seconds[:2] == ["0s", "1s"]
    assert rss[-2].strip().startswith("└┬")


def test_engines_measured_one_after_another_lie_over_each_other(path):
    recording = load(path)
    assert recording.duration > 120
    traces = traces_of_recording(recording)
    assert [trace.name for trace in traces] == list(NAMES)
    for found in traces:
        times, values = found.metrics["live"]
        assert 0.5 <= times[0] < 0.8  # as in each bench, from its own beginning
        assert 4 < found.seconds < 6
        assert max(value for value in values if not math.isnan(value)) == 1_000


def test_a_run_is_drawn_as_its_recording_is(tmp_path):
    bench = Bench("asyncio", "pool", settings=Settings("sleep:60", trace=True))
    assert drawn(traces_of_labs([bench.lab])) == drawn([]) == ["no samples: nothing to draw"]
    path = tmp_path / "a.jsonl"
    recorder = Recorder(path, open_writer(path), "concwatch", [lane.engine for lane in bench.lab.lanes])
    recorder.follow(bench.lab)
    measured(bench)
    recorder.stop("done")
    lines = drawn(traces_of_labs([bench.lab]))
    assert lines == drawn(traces_of_recording(load(path)))
    assert any(line.startswith("tracemalloc   o asyncio ") for line in lines)
    assert [line for line in lines if line.startswith("completed")] == ["completed / s: 0 all the time"]


def test_marks_tell_lines_apart_where_there_are_no_colors():
    times = [index / 10 for index in range(100)]
    same = [float(MIB)] * 100
    lines = drawn([trace("asyncio", times, same), trace("uvloop", times, same)])
    (row,) = [line for line in lines if line.startswith("   1 MiB")]
    assert row.count("o") >= 5
    assert row.count("x") >= 5
    colored = "\n".join(drawn([trace("asyncio", times, same)], COLORED))
    assert re.search("[⠀-⣿]", colored)
    assert "┤o" not in colored


def test_the_highest_sample_is_marked_however_short():
    values = [float(MIB)] * 100
    values[37] = 64.0 * MIB
    rows = drawn([trace("asyncio", [index / 10 for index in range(100)], values)])[1:]
    marked = next(row for row in rows if "o" in row)
    assert marked[LABEL_WIDTH + 1 :].count("o") == 1
    assert marked.index("o") - LABEL_WIDTH - 1 == pytest.approx(0.37 / 0.99 * 71, abs=1)


def test_each_lane_has_the_color_that_it_has_on_the_screen(path):
    text = "\n".join(drawn(traces_of_recording(load(path)), COLORED))
    colors = re.findall(r"\x1b\[38;2;(\d+);(\d+);(\d+)m━━ (\w+)", text)
    assert {name: tuple(map(int, rgb)) for *rgb, name in colors} == {
        "threads": (0xFF, 0x7A, 0x85),
        "asyncio": (0x59, 0xC9, 0xF0),
        "uvloop": (0xA5, 0xE0, 0x65),
    }
    assert "\x1b[48;" not in text  # the background stays the terminal's own


def test_a_gap_is_not_bridged():
    times = [index / 10 for index in range(100)]
    values = [float(MIB) if not 30 <= index < 70 else math.nan for index in range(100)]
    rows = drawn([trace("asyncio", times, values)], COLORED)
    row = next(re.sub("\x1b[^m]*m", "", row) for row in rows if "   1 MiB" in row)
    plot = row[LABEL_WIDTH + 1 :]
    assert not re.search("[⠁-⣿]", plot[30:62])
    assert re.search("[⠁-⣿]", plot[:25])
    assert re.search("[⠁-⣿]", plot[70:])


SOME = st.floats(allow_nan=True, allow_infinity=True) | st.sampled_from([0.0, math.nan, -1.0, 1e9])


@given(st.lists(st.lists(SOME, max_size=40), max_size=9), st.floats(1e-3, 1e9), st.integers(30, 120))
@settings(max_examples=50, deadline=None)
def test_whatever_the_values_it_is_drawn_within_the_width(columns, seconds, width):
    traces = [
        trace("a" * 40, [seconds * (index + 1) / len(values) for index in range(len(values))], values)
        for values in columns
    ]
    for paper in (Paper(width), Paper(width, ColorSystem.EIGHT_BIT)):
        for line in drawn(traces, paper)[:-1]:  # without the note below them
            assert len(re.sub("\x1b[^m]*m", "", line)) <= width


@pytest.mark.parametrize("seconds", [0.1, 3.0, 61.0, 3_600.0, 86_400.0, 1e12])
def test_times_across_are_round_and_have_room(seconds):
    times, labels = seconds_ticks(seconds, 71)
    assert 2 <= len(times) == len(labels) <= 8
    assert times[0] == 0
    assert times[-1] <= seconds
    assert max(map(len, labels)) < 10 or seconds > 1e9


def test_the_middle_of_the_lowest_row_is_0():
    line = Line("asyncio", "#59c9f0", [0.0, 10.0], [0.0, 10.0 * MIB], "o")
    rows = draw_chart([line], BYTES, 10.0, Paper())
    assert rows[-3].startswith("     0 B┤o")
    ten = next(row for row in rows if row.startswith("  10 MiB"))
    assert ten.endswith("o")


# What it is written on.


class Terminal(io.StringIO):
    """Says that it is a terminal."""

    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("told", "ink", "dark"),
    [
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor"}, (0x59, 0xC9, 0xF0), True),
        ({"TERM": "xterm-256color", "COLORFGBG": "0;15"}, 81, False),
        ({"TERM": "xterm", "COLORFGBG": "15;0"}, 14, True),
        ({"TERM": "dumb"}, None, True),
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor", "NO_COLOR": "1"}, None, True),
    ],
)
@pytest.mark.skipif(sys.platform == "win32", reason="its terminals tell otherwise")
def test_a_terminal_gets_the_colors_that_it_has(monkeypatch, told, ink, dark):
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert Paper.of(io.StringIO()) == Paper() == Paper(80, None)  # what is no terminal
    for name in ("NO_COLOR", "FORCE_COLOR", "COLORTERM", "COLORFGBG"):
        monkeypatch.delenv(name, raising=False)
    for name, value in told.items():
        monkeypatch.setenv(name, value)
    paper = Paper.of(Terminal())
    assert (paper.ink("#59c9f0"), paper.dark) == (ink, dark)


@pytest.mark.real
@pytest.mark.skipif(sys.platform == "win32", reason="it has no such terminals")
@pytest.mark.parametrize(("columns", "width"), [(10, SMALLEST_WIDTH), (200, LARGEST_WIDTH)])
def test_charts_are_as_wide_as_the_terminal(path, columns, width):
    text = on_a_terminal("export", path, "--chart", columns=columns)
    assert "\x1b[38;2;89;201;240m" in text
    bare = re.sub("\x1b[^m]*m", "", text)
    (axis, *_) = [line for line in bare.splitlines() if "└" in line]
    assert len(axis) == width


# The commands.


def test_what_is_asked_wrongly_is_one_line(path):
    assert "--columns with --chart: expected it with --csv" in refused(
        "export", path, "--chart", "--columns", "rss"
    )
    wrong = refused("run", "asyncio", "--tasks", "5", "--chart", "--json")
    assert "--chart and --json both go to standard output: expected one of them" in wrong
    narrow = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    with pytest.raises(ValueError, match="standard output takes ascii alone: expected UTF-8"):
        check_writes_charts(narrow)


@pytest.mark.real
def test_a_real_run_ends_with_its_charts():
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "concwatch",
            "run",
            "asyncio",
            "--chart",
            "--tasks",
            "300",
            "--seconds",
            "0.1",
        ],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    table, *charts = done.stdout.split("\n\n")
    assert table.startswith("engine")
    assert [chart.split("   ")[0] for chart in charts[:-1]] == ["RSS", "live tasks", "created / s"]
    assert "   o asyncio 300\n" in charts[1]
    assert charts[-1].startswith("completed / s: 0 all the time\n")


@pytest.mark.real
def test_what_draws_is_loaded_only_when_it_is_asked_for():
    code = (
        "import sys, concwatch.commands.run, concwatch.commands.export;"
        "sys.exit(' '.join({'plotext', 'rich', 'textual'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, stderr=subprocess.PIPE, text=True)
    assert done.stderr.strip() == ""
