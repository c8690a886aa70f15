"""Charts in plain text, of a run or a recording, on terminals and in files."""

import fcntl
import io
import math
import os
import re
import struct
import subprocess
import sys

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from concwatch.charts.painters.plain import (
    HEIGHT,
    LABEL_WIDTH,
    LARGEST_WIDTH,
    SMALLEST_WIDTH,
    chart_console,
    chart_lines,
    check_writes_charts,
    draw_chart,
    has_colors,
    has_dark_background,
)
from concwatch.charts.painters.traces import Trace, traces_of_labs, traces_of_recording
from concwatch.charts.plot import Line, Plot
from concwatch.charts.table import CHARTS
from concwatch.charts.ticks import size_ticks
from concwatch.commands.cli import main
from concwatch.monitor.metrics.settings import Settings
from concwatch.monitor.metrics.unit import BYTES, SECONDS
from concwatch.recordings.load import load
from concwatch.recordings.recorder import Recorder
from concwatch.recordings.writers import open_writer
from concwatch.system.child import ROOT
from tests.lab_driver import Bench

NAMES = ("asyncio", "uvloop", "threads")
MIB = 1 << 20
TIMES = [index / 10 for index in range(100)]


def record(path, *benches):
    """Record lanes that start, hold and end tasks, one bench after another on one clock."""
    engines = [lane.engine for bench in benches for lane in bench.lab.lanes]
    recorder = Recorder(path, open_writer(path), "concwatch run", engines)
    for number, bench in enumerate(benches):
        bench.now += 60.0 * number
        recorder.observe(bench.lab)
        bench.pass_(0.5)
        for lane in bench.lab.lanes:
            bench.lab.set_target(lane, 1_000)
        bench.pass_(4.0)
        for lane in bench.lab.lanes:
            bench.lab.switch(lane, False)
        bench.pass_(1)
    recorder.stop("done")
    return path


@pytest.fixture(name="path", scope="module")
def recording_path(tmp_path_factory):
    """Return a recording as written by ``concwatch run --record``, with a lab for each engine."""
    benches = [Bench(name, settings=Settings("sleep:2")) for name in NAMES]
    return record(tmp_path_factory.mktemp("charts") / "a.jsonl", *benches)


def make_console(width=80, color=None):
    return Console(file=io.StringIO(), width=width, color_system=color, force_terminal=True, _environ={})


def draw(traces, console=None):
    """Return the lines of all charts."""
    return list(chart_lines(traces, console or make_console()))


def without_colors(text):
    return re.sub("\x1b[^m]*m", "", text)


def trace(name, times, values):
    """Return a trace with RSS only."""
    return Trace(name, {row.metric: ((), ()) for row in CHARTS} | {"rss": (times, values)})


# Drawing.


def test_an_export_is_plain_text_of_80_columns_with_readable_units(path, tmp_path):
    invoke, out = CliRunner().invoke, tmp_path / "a.txt"
    result = invoke(main, ["export", str(path), "--chart"])
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert "\x1b" not in result.stdout
    assert not [line for line in lines if line != line.rstrip()]
    titles = [line for line in lines if re.search(r"   o asyncio .+   x uvloop .+   \+ threads ", line)]
    assert [line.split("   ")[0] for line in titles] == ["RSS", "live tasks", "created / s", "ended / s"]
    assert "o asyncio 1 k   x uvloop 1 k   + threads 1 k" in titles[1]
    assert "tracemalloc" not in result.stdout  # nothing was traced
    rss = result.stdout.split("\n\n")[0].splitlines()
    assert len(rss) == 1 + HEIGHT
    labels = [line[:LABEL_WIDTH].strip() for line in rss[1:] if line[LABEL_WIDTH : LABEL_WIDTH + 1] == "┤"]
    assert labels[-1] == "0 B"
    assert len(labels) > 2
    assert all(label.endswith(" MiB") for label in labels[:-1])
    assert rss[-2].strip().startswith("└┬")
    assert rss[-1].split()[:2] == ["0s", "1s"]
    assert invoke(main, ["export", str(path), "--chart", "--out", str(out)]).stdout == ""
    assert out.read_text(encoding="utf-8") == result.stdout


def test_engines_measured_one_after_another_start_at_the_same_time_axis_origin(path):
    recording = load(path)
    assert recording.duration > 120
    traces = traces_of_recording(recording)
    assert [trace.name for trace in traces] == list(NAMES)
    for found in traces:
        times, values = found.metrics["live"]
        assert 0.5 <= times[0] < 0.8  # relative to the start of its own bench
        assert 4 < found.seconds < 6
        assert max(value for value in values if not math.isnan(value)) == 1_000


def test_a_run_and_its_recording_have_the_same_charts(tmp_path):
    bench = Bench("asyncio", "pool", settings=Settings("sleep:60", trace=True))
    assert draw(traces_of_labs([bench.lab])) == draw([]) == ["no samples: nothing to draw"]
    path = record(tmp_path / "a.jsonl", bench)
    lines = draw(traces_of_labs([bench.lab]))
    assert lines == draw(traces_of_recording(load(path)))
    assert any(line.startswith("tracemalloc   o asyncio ") for line in lines)
    assert [line for line in lines if line.startswith("ended")] == ["ended / s: always 0"]


@pytest.mark.usefixtures("fakes")
def test_run_prints_charts_after_its_table():
    done = CliRunner().invoke(main, ["run", "asyncio", "--chart", "--tasks", "300", "--seconds", "0.1"])
    assert done.exit_code == 0, done.stderr
    table, *charts = done.stdout.split("\n\n")
    assert table.startswith("engine")
    assert [chart.split("   ")[0] for chart in charts[:3]] == ["RSS", "live tasks", "created / s"]
    assert "   o asyncio 300\n" in charts[1]


def test_lines_have_marks_without_colors():
    same = [float(MIB)] * 100
    lines = draw([trace("asyncio", TIMES, same), trace("uvloop", TIMES, same)])
    (row,) = [line for line in lines if line.startswith("   1 MiB")]
    assert min(row.count("o"), row.count("x")) >= 5
    colored = "\n".join(draw([trace("asyncio", TIMES, same)], make_console(100, "truecolor")))
    assert re.search("[⠀-⣿]", colored)
    assert "┤o" not in colored


def test_the_highest_sample_is_marked_even_if_it_is_a_short_peak():
    values = [float(MIB)] * 100
    values[37] = 64.0 * MIB
    marked = next(row for row in draw([trace("asyncio", TIMES, values)])[1:] if "o" in row)
    assert marked[LABEL_WIDTH + 1 :].count("o") == 1
    assert marked.index("o") - LABEL_WIDTH - 1 == pytest.approx(0.37 / 0.99 * 71, abs=1)


def test_each_lane_has_its_color_of_the_screen(path):
    text = "\n".join(draw(traces_of_recording(load(path)), make_console(100, "truecolor")))
    colors = re.findall(r"\x1b\[38;2;(\d+);(\d+);(\d+)m━━ (\w+)", text)
    assert {name: tuple(map(int, rgb)) for *rgb, name in colors} == {
        "threads": (0xFF, 0x7A, 0x85),
        "asyncio": (0x59, 0xC9, 0xF0),
        "uvloop": (0xA5, 0xE0, 0x65),
    }
    assert "\x1b[48;" not in text  # the background stays the terminal's own


def test_a_gap_is_not_bridged():
    values = [float(MIB) if not 30 <= index < 70 else math.nan for index in range(100)]
    rows = map(without_colors, draw([trace("asyncio", TIMES, values)], make_console(100, "truecolor")))
    plot = next(row for row in rows if "   1 MiB" in row)[LABEL_WIDTH + 1 :]
    assert [bool(re.search("[⠁-⣿]", part)) for part in (plot[:25], plot[30:62], plot[70:])] == [1, 0, 1]


@pytest.mark.parametrize(
    ("values", "drawn"),
    [
        ([1e-6, 0.99e-6], True),  # the axis begins at 1 µs
        ([0.0, 2e-6], True),
        ([2e-6, 0.0, 3e-6, math.nan, 0.5e-6], True),
        ([0.0, 0.0], False),
    ],
)
def test_what_is_below_a_logarithmic_axis_is_a_gap(values, drawn):
    line = Line("threads", "#ff0000", [float(place) for place in range(len(values))], values)
    plot = Plot("p99", SECONDS, [line], 5.0, 5.0, logarithmic=True, over_time=False, x_ticks=size_ticks)
    lines = [text.plain for text in draw_chart(plot, 60, False)]
    assert len(lines) == HEIGHT
    braille = any("\u2801" <= character <= "\u28ff" for line in lines for character in line)
    assert braille == drawn


def test_the_middle_of_the_lowest_row_is_0():
    line = Line("asyncio", "#59c9f0", [0.0, 10.0], [0.0, 10.0 * MIB], "o")
    rows = [row.plain for row in draw_chart(Plot("", BYTES, [line], 10.0, 10.0), 80, False)]
    assert rows[-3].startswith("     0 B┤o")
    assert next(row for row in rows if row.startswith("  10 MiB")).endswith("o")


VALUES = st.floats(allow_nan=True, allow_infinity=True) | st.sampled_from([0.0, math.nan, -1.0, 1e9])


@given(st.lists(st.lists(VALUES, max_size=40), max_size=9), st.floats(1e-3, 1e12), st.integers(30, 120))
@settings(max_examples=20, deadline=None)
def test_any_values_are_drawn_within_the_width(columns, seconds, width):
    traces = [
        trace("a" * 40, [seconds * (index + 1) / len(values) for index in range(len(values))], values)
        for values in columns
    ]
    for console in (make_console(width), make_console(width, "256")):
        for line in draw(traces, console)[:-1]:  # without the note below them
            assert len(without_colors(line)) <= width


# The output.


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals")
@pytest.mark.parametrize(
    ("variables", "system", "colored", "dark", "columns", "width"),
    [
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor"}, "truecolor", True, True, 10, SMALLEST_WIDTH),
        ({"TERM": "xterm-256color", "COLORFGBG": "0;15"}, "256", True, False, 100, 100),
        ({"TERM": "xterm", "COLORFGBG": "15;0"}, "standard", True, True, 200, LARGEST_WIDTH),
        ({"TERM": "dumb"}, None, False, True, 100, 100),
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor", "NO_COLOR": "1"}, "truecolor", False, True, 90,
         90),
    ],
)  # fmt: skip
def test_charts_use_the_width_and_colors_of_the_terminal(
    monkeypatch, variables, system, colored, dark, columns, width
):
    import termios

    for name in ("NO_COLOR", "FORCE_COLOR", "COLORTERM", "COLORFGBG"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    with open(ours, "rb"), open(theirs, "w", encoding="utf-8") as terminal:
        console = chart_console(terminal)
        assert (console.width, console.color_system, has_colors(console)) == (width, system, colored)
        assert has_dark_background() is dark
        lines = draw([trace("threads", TIMES, [float(MIB)] * 100)], console)
    assert len(without_colors(next(line for line in lines if "└" in line))) == width


def test_a_file_gets_80_columns_without_colors_and_an_ascii_stream_is_rejected(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    console = chart_console(io.StringIO())
    assert (console.width, has_colors(console)) == (80, False)
    narrow = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    with pytest.raises(ValueError, match="the encoding of standard output is ascii; expected UTF-8"):
        check_writes_charts(narrow)


@pytest.mark.real
def test_drawing_libraries_are_imported_only_when_needed():
    code = (
        "import sys, concwatch.commands.measuring.run, concwatch.commands.playing.export;"
        "sys.exit(' '.join({'plotext', 'rich', 'textual'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, stderr=subprocess.PIPE, text=True)
    assert done.stderr.strip() == ""
