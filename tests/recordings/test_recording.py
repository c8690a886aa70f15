"""Recordings: writing them while labs run, and reading them back."""

import asyncio
import errno
import gzip
import json
import math
import os
import re
import shlex
import signal
import subprocess
import sys
from array import array
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from concwatch.links.link import Ended
from concwatch.monitor.metrics.metrics import COLUMNS, LISTED, LaneStatus, blank_sample
from concwatch.monitor.metrics.series import BACKFILLED, CHARTED, Series
from concwatch.monitor.metrics.settings import Settings
from concwatch.monitor.metrics.state import State
from concwatch.monitor.verdicts.events import KEPT
from concwatch.portable.machine.limits import SystemLimit
from concwatch.recordings import format as specification
from concwatch.recordings import writers
from concwatch.recordings.format import KIND, VERSION, format_position, round_number, truncate_time
from concwatch.recordings.history import RecordedSeries
from concwatch.recordings.listing import FINISHED, find_recordings
from concwatch.recordings.load import load, parse
from concwatch.recordings.reading import CUT, DAMAGED, WRITTEN
from concwatch.recordings.recorder import Recorder
from concwatch.recordings.writers import open_writer
from concwatch.system.child import ROOT
from tests.browser import until
from tests.command_line import invoke, refused
from tests.fake_link import FakeWorkers, Fault
from tests.faults.terminal import Terminal
from tests.lab_driver import ENGINES, Bench, use_lab
from tests.processes import PATIENCE
from tests.screen import stage

LIMITS = (SystemLimit("vm.max_map_count", 65_530, 130),)


def record(bench, path, **more):
    """Start to record the lab of a bench."""
    recorder = Recorder(
        path, open_writer(path), "concwatch", [lane.engine for lane in bench.lab.lanes], **more
    )
    recorder.observe(bench.lab)
    return recorder


def finish(recorder):
    """Complete a recording and load it."""
    recorder.stop("done")
    return load(recorder.path)


def make_recording(path, seconds=5.0, names=("asyncio", "pool")):
    """Write a complete recording. Return its number of samples."""
    bench = Bench(*names)
    recorder = record(bench, path)
    for lane in bench.lab.lanes:
        bench.lab.set_target(lane, 1_000)
    bench.pass_(seconds)
    recorder.stop("done")
    return recorder.samples


# Recordings equal the live lab.


def near(live, read, digits=5):
    """Return whether two values are equal up to the rounding of recordings."""
    if not isinstance(live, float) or read is None:
        return live == read
    return (math.isnan(live) and math.isnan(read)) or math.isclose(
        live, read, rel_tol=5.1 * 10.0**-digits, abs_tol=6e-5
    )


NOT_RECORDED = {
    *("lane", "recorded_end", "series", "events", "marks", "blocks", "target", "refused", "idle", "wanted"),
    *("machine_name", "machine_cores"),
}
"""What differs from a live snapshot: recordings number lanes anew, and have later samples and no process."""


def assert_same(live, read, began, where="snapshot"):
    """Check that two snapshots, or parts of them, are equal; live times are relative to ``began``."""
    if hasattr(live, "__struct_fields__"):
        for name in set(live.__struct_fields__) - NOT_RECORDED:
            assert_same(getattr(live, name), getattr(read, name), began, f"{where}.{name}")
    elif isinstance(live, tuple):
        assert len(live) == len(read), where
        for one, other in zip(live, read, strict=True):
            assert_same(one, other, began, where)
    elif where.endswith((".time", ".elapsed", ".born")):
        assert where == "snapshot.elapsed" or near(max(0.0, live - began), max(0.0, read)), where
    elif live is not None or not where.endswith(BACKFILLED):  # a rate may come with a later tick
        assert near(live, read), (where, live, read)


def assert_same_figures(live, read):
    """Check that every metric of a lane is the same in two snapshots."""
    for metric in LISTED:
        if metric.value(live) is not None or metric.name not in BACKFILLED:
            # Not to 5 digits: it may be a ratio of rounded values.
            assert near(metric.value(live), metric.value(read), digits=4), metric.name
            assert metric.marks(live) == metric.marks(read), metric.name


NAMES = ("threads", "pool", "asyncio")
LANES = st.integers(0, len(NAMES) - 1)
ACTIONS = st.one_of(
    st.tuples(st.just("target"), LANES, st.sampled_from((0, 50, 1_000, 30_000, 1_000_000))),
    st.tuples(st.just("switch"), LANES, st.booleans()),
    st.tuples(st.just("trim"), LANES),
    st.tuples(st.just("workload"), st.sampled_from(("sleep:2", "ticks:5x0.1", "hold", "payload:4KiB"))),
    st.tuples(st.just("trace"), st.booleans()),
    st.tuples(st.just("refill"), st.booleans()),
    st.tuples(st.just("gc"), st.sampled_from(("default", "frozen", "off"))),
    st.tuples(st.just("stop")),
    st.tuples(st.just("wait"), st.sampled_from((0.1, 0.5, 3.0))),
)
FAULTS = st.dictionaries(
    st.sampled_from(NAMES),
    st.builds(
        lambda after, arrival, silence: [Fault(after, arrival, silence)],
        st.floats(0.3, 6.0),
        st.sampled_from((None, Ended("killed by SIGKILL"), Ended("exit status 1"))),
        st.sampled_from((0.0, 0.3, 2.5)),
    ),
)


def act(bench, action, hz):
    """Perform one of the user's actions, and let some time pass."""
    lab, (name, *values) = bench.lab, action
    if name in ("target", "switch", "trim"):
        lane, *more = values
        getattr(lab, {"target": "set_target"}.get(name, name))(lab.lanes[lane], *more)
    elif name == "stop":
        lab.stop_all()
    elif name != "wait":
        getattr(lab.settings, f"set_{name}")(values[0])
    bench.pass_(values[0] if name == "wait" else 0.2, 1 / hz)


@given(
    actions=st.lists(ACTIONS, min_size=1, max_size=15),
    faults=FAULTS,
    tracing=st.booleans(),
    before=st.integers(0, 8),
    compressed=st.booleans(),
    hz=st.sampled_from((10.0, 20.0)),
)
@example(  # recording starts while a worker is silent
    actions=[("target", 2, 50), ("wait", 3.0)],
    faults={"asyncio": [Fault(1.0, Ended("killed by SIGKILL"), 2.5)]},
    tracing=False, before=2, compressed=False, hz=10.0,
)  # fmt: skip
@settings(max_examples=25, deadline=None)
def test_every_snapshot_and_sample_is_read_back(actions, faults, tracing, before, compressed, hz):
    with TemporaryDirectory() as folder:
        path = Path(folder) / ("a.jsonl.gz" if compressed else "a.jsonl")
        bench = Bench(
            *NAMES, links=FakeWorkers(faults=faults), settings=Settings(trace=tracing), hz=hz, limits=LIMITS
        )
        for action in actions[:before]:  # recording may start at any time
            act(bench, action, hz)
        began, recorder = bench.now, record(bench, path)
        snapshots, samples = [bench.lab.snapshot()], [[] for _ in NAMES]
        events, marks = bench.lab.events.count, bench.lab.marks.count
        bench.lab.observers.append(snapshots.append)
        for action in actions[before:]:
            act(bench, action, hz)
        found = finish(recorder)
    assert not recorder.problem

    assert (found.cut, found.damaged, found.end.why) == ("", 0, "done")
    for live in snapshots:
        read = found.snapshot(truncate_time(live.time - began))
        assert_same(live, read, began)
        for lane, other, expected in zip(live.lanes, read.lanes, samples, strict=True):
            assert_same_figures(lane, other)
            if lane.sample.time > live.time - 1e-9:
                expected.append(lane.sample)
    for lane, expected in zip(found.lanes, samples, strict=True):
        read = list(lane.samples())
        assert len(expected) <= len(read) <= len(expected) + 1  # with the last sample before the start
        for one, other in zip(expected, read[len(read) - len(expected) :], strict=True):
            assert_same(one, other, began, "sample")
    assert found.samples == recorder.samples

    def entries(log, start):
        return [(entry.lane, entry.text, getattr(entry, "kind", "")) for entry in log.since(start)]

    assert entries(found.events(math.inf), 0) == entries(bench.lab.events, events)
    assert entries(found.marks(math.inf), 0) == entries(bench.lab.marks, marks)


def test_series_of_a_recording_equal_the_live_ones(tmp_path):
    bench = Bench("asyncio", settings=Settings(trace=True))
    recorder = record(bench, tmp_path / "a.jsonl")
    (lane,) = bench.lab.lanes
    bench.lab.set_target(lane, 20_000)
    bench.pass_(20)
    (found,) = finish(recorder).lanes
    for metric in CHARTED:
        times, values = lane.series.since(metric, 1_010.0)
        own_times, own_values = found.series.since(metric, 10.0)
        assert [time_ - 1_000 for time_ in times] == pytest.approx(own_times, abs=2e-6)
        assert all(map(near, values, own_values)), metric
        assert near(lane.series.last(metric), found.series.last(metric))


def test_consecutive_labs_share_one_clock(tmp_path):
    path = tmp_path / "a.jsonl"
    recorder = Recorder(path, open_writer(path), "concwatch run", [ENGINES["asyncio"], ENGINES["pool"]])
    for number, name in enumerate(("asyncio", "pool")):
        bench = Bench(name, budget=len(name) << 30)
        bench.now += 10.0 * number
        bench.lab.began = bench.now
        recorder.observe(bench.lab)
        bench.lab.set_target(bench.lab.lanes[0], 500)
        bench.pass_(3)
        bench.lab.stop_all()
        bench.pass_(0.5)
    found = finish(recorder)
    assert [lane.name for lane in found.lanes] == ["asyncio", "pool"]
    assert found.duration == pytest.approx(13.5, abs=1e-3)
    first, last = found.snapshot(2.0), found.snapshot(12.0)
    assert [[lane.live for lane in moment.lanes] for moment in (first, last)] == [[500, 0], [0, 500]]
    assert [lane.status.state for lane in last.lanes] == [State.OFF, State.RUNNING]
    assert (first.budget, last.budget) == (7 << 30, 4 << 30)
    assert first.lanes[1].status.bytes_per_task == pytest.approx(ENGINES["pool"].bytes_per_task)
    times = [event.time for event in found.events(math.inf).since(0)]
    assert times == sorted(times)
    assert times[-1] > 13


def test_events_and_marks_appear_from_their_time_on(tmp_path):
    bench = Bench("asyncio")
    bench.pass_(2)
    recorder = record(bench, tmp_path / "a.jsonl")
    bench.lab.add_note("before", bench.now - 1)  # not part of the recording
    bench.pass_(2)
    bench.lab.set_target(bench.lab.lanes[0], 10)
    bench.pass_(2)
    bench.lab.add_note("late", bench.now - 3)  # a note may be about a past moment
    bench.pass_(1)
    found = finish(recorder)
    assert [mark.kind for mark in found.marks(math.inf).since(0)] == ["note", "switch", "target"]
    assert (found.marks(0.5).count, found.events(1.0).count) == (0, 1)  # the log has the earlier note
    assert [mark.text for mark in found.marks(1.5).since(0)] == ["late"]
    assert [mark.number for mark in found.marks(math.inf).since(1)] == [2, 3]
    log = found.events(math.inf)
    assert [event.number for event in log.since(log.count - 1)] == [log.count]
    assert not log.since(log.count)


def test_a_long_log_keeps_its_last_entries_and_targets_are_limited_by_limit(tmp_path):
    bench = Bench("threads", "asyncio", limits=LIMITS)
    recorder = record(bench, tmp_path / "a.jsonl")
    for number in range(3):
        for _ in range(KEPT // 2):
            bench.lab.events.add(number, "", f"{number}")
        bench.pass_()
    found = finish(recorder)
    log = found.events(math.inf)
    assert (log.count, len(log.since(0))) == (KEPT // 2 * 3, KEPT)
    assert [lane.slider_end for lane in found.snapshot(0.0).lanes[:2]] == [21_800, 1_000_000]


# Long recordings.


def test_recorded_series_are_thinned_like_live_ones_and_keep_the_newest_sample():
    live, times, values = Series(), array("d"), array("d")
    for index in range(9_000):
        live.append(blank_sample(0, index / 10, rss=index % 77))
        times.append(index / 10)
        values.append(index % 77)
    read = RecordedSeries(times, dict.fromkeys(CHARTED, values))
    assert read.since("rss", times[-1] - 290) == live.since("rss", times[-1] - 290)
    assert len(read.since("rss", 0.0)[0]) < 1_900
    for last in range(8_950, 9_000, 7):  # at any position within a group of samples
        thinned_times, thinned = read.until(times[last]).since("rss", 0.0)
        assert (thinned_times[-1], thinned[-1]) == (times[last], values[last])
    assert len(read) == 9_000
    assert read.until(0.05).last("rss") == 0
    assert math.isnan(read.until(-1.0).last("rss"))


# Cut, damaged and changed files.


@pytest.mark.parametrize(("name", "lost"), [("a.jsonl", 3), ("a.jsonl.gz", 15)])
def test_a_recording_cut_anywhere_in_its_last_200_bytes_can_be_read(tmp_path, name, lost):
    samples = make_recording(tmp_path / name)
    data = (tmp_path / name).read_bytes()
    for cut in range(1, 201, 7):
        (tmp_path / "b").write_bytes(data[:-cut])  # compression is detected by content, not by name
        found = load(tmp_path / "b")
        assert samples - lost <= found.samples <= samples
        assert found.damaged == 0
        if name == "a.jsonl":
            assert found.samples == sum(
                line[:1] == b"[" and line[-1:] == b"]" for line in data[:-cut].split(b"\n")
            )
            assert cut == 1 or found.cut.startswith("cut off after 00:0"), cut
    assert load(tmp_path / name).cut == ""


@pytest.mark.parametrize("place", [-5, -3, -300])  # in the checksum, in the length, in the text
def test_a_damaged_byte_of_a_compressed_recording_loses_only_what_follows(tmp_path, place):
    path = tmp_path / "a.jsonl.gz"
    samples = make_recording(path)
    data = bytearray(path.read_bytes())
    data[place] ^= 0xFF
    path.write_bytes(data)
    found = load(path)
    assert samples - 30 <= found.samples <= samples
    assert found.cut.startswith("its compressed text is damaged")
    assert (": cut off after 00:0" in found.cut) is (found.end is None)
    (listed,) = find_recordings(tmp_path)
    assert listed.state == DAMAGED
    if place > -8:
        assert (found.samples, found.end.why) == (samples, "done")
        path.write_bytes(bytes(data) + bytes(data))  # nothing after the damage is read
        assert load(path).samples == samples


def test_recordings_are_ordinary_gzip_and_may_be_compressed_later(tmp_path):
    samples = make_recording(tmp_path / "a.jsonl.gz")
    data = (tmp_path / "a.jsonl.gz").read_bytes()
    text = gzip.decompress(data)
    half = len(text) // 2
    # Several members and trailing zeros are valid gzip.
    for content in (data, text, gzip.compress(text[:half]) + gzip.compress(text[half:]), data + b"\0" * 512):
        (tmp_path / "b.gz").write_bytes(content)
        found = load(tmp_path / "b.gz")
        assert (found.samples, found.cut) == (samples, "")
    assert len(text) > 2 * len(data)


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])
def test_a_recording_can_be_read_while_it_is_written(tmp_path, name):
    bench = Bench("asyncio")
    recorder = record(bench, tmp_path / name)
    bench.lab.set_target(bench.lab.lanes[0], 10)
    bench.pass_(3)
    found = load(tmp_path / name)
    assert found.samples == recorder.samples == 30
    assert found.cut == f"being written, so far {format_position(found.duration)}, 30 samples"
    recorder.stop("done")


def test_damaged_lines_are_skipped_and_counted(tmp_path):
    samples = make_recording(tmp_path / "a.jsonl")
    lines = (tmp_path / "a.jsonl").read_bytes().splitlines()
    places = [number for number, line in enumerate(lines) if line.startswith(b"[1,")]
    values = lines[places[20]].split(b",")
    damage = {
        3: lines[places[3]][:20],
        5: b"\xff\xfe\x00 not text",
        7: b"[99" + lines[places[7]][2:],  # no such lane
        9: b'[1,"soon"]',
        11: lines[places[11]] + b"," + lines[places[12]],  # two on one line
        13: b'{"type":"event"}',
        17: b",".join([values[0], b"1e11", *values[2:]]),  # a time 3,000 years later
        20: b",".join([*values[:13], b'"x"', *values[14:]]),
        25: b",".join([*values[:2], b"1.5", *values[3:]]),  # memory must be whole bytes
    }
    for number, line in damage.items():
        lines[places[number]] = line
    lines[places[30]], lines[places[31]] = lines[places[31]], lines[places[30]]  # order does not matter
    lines.insert(places[15], b'{"type":"unknown","time":1}')
    found = parse(b"\n".join(lines), "a.jsonl")
    assert (found.damaged, found.samples, found.cut) == (len(damage), samples - len(damage), "")
    for lane in found.lanes:
        assert list(lane.times) == sorted(lane.times)
        assert len(lane) == len(list(lane.samples()))
    assert [found.snapshot(at).lanes[1].name for at in (0.0, 1.0, 4.0)] == ["pool"] * 3


HEADER = {"type": KIND, "version": VERSION, "began": "", "concwatch": "", "machine": {}, "command": "",
          "rate": 10.0, "lanes": [], "budget": 1}  # fmt: skip


def header(**more):
    return json.dumps(HEADER | more).encode()


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"\n\n", "is empty"),
        (gzip.compress(b""), "is empty"),
        (b"\x00\xff\xfe\n", "is not a recording"),
        (b"[1,2]\n", "is not a recording"),
        (b"[" * 100_000, "is not a recording"),
        (header(type="other"), "is not a recording"),
        (header()[:-20], "is not a recording"),
        (
            header(version=VERSION + 1, all="else"),
            r"written by a newer concwatch \(version 4 of the format, not 3 or older\)",
        ),
        (
            header(version=2, concwatch="0.1.0", lanes="x"),
            "unknown version: 2, which concwatch 0.1.0 wrote; expected 3",
        ),
        (header(version=-7), "unknown version"),
        (header(columns=["time", "lane"]), "unknown version"),
        (header(rate="fast"), "first line is damaged"),
        (b"\x1f\x8b\x08 broken", "is damaged, and no part of it can be decompressed"),
        (gzip.compress(b"hello")[:10], "is cut off, and no part of it can be decompressed"),
    ],
    ids=range(14),
)
def test_a_file_that_is_not_a_recording_is_a_one_line_error(tmp_path, content, expected):
    path = tmp_path / "a.jsonl"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=expected) as error:
        load(path)
    assert "\n" not in str(error.value)
    assert str(path) in str(error.value)


def test_a_header_alone_is_an_empty_recording():
    found = parse(json.dumps(HEADER | {"lanes": [{"name": "asyncio"}]}).encode(), "a")
    assert found.cut == "cut off after 00:00.0, 0 samples"
    assert found.snapshot(0.0).lanes[0].status.state is State.OFF
    assert found.snapshot(1.0).series[0].since("rss", 0.0) == (array("d"), array("d"))
    assert found.lanes[0].slider_end == 1_000_000


KERNEL = ("kernel", "kernel_stack_per_task", "page_tables_per_task", "kernel_objects_per_task")


@pytest.mark.parametrize("gone", [("duration",), KERNEL, ("throttled", "throttled_share")])
def test_a_recording_of_an_older_version_without_some_columns_can_be_read(tmp_path, gone):
    path = tmp_path / "a.jsonl"
    bench = Bench("asyncio", settings=Settings("sleep:1", trace=True))
    recorder = record(bench, path)
    bench.lab.set_target(bench.lab.lanes[0], 1_000)
    bench.pass_(5)
    (newer,) = finish(recorder).lanes
    assert newer.sample(math.inf).duration == 1
    kept = [place for place, name in enumerate(COLUMNS) if name not in gone]
    first, *lines = path.read_text().splitlines(keepends=True)
    older = [json.dumps(json.loads(first) | {"columns": [COLUMNS[place] for place in kept]})]
    for line in lines:
        values = json.loads(line)
        if isinstance(values, list):
            values = [values[place] for place in kept if place < len(values)]
        older.append(json.dumps(values))
    older.append("[0,true]")
    found = parse("\n".join(older).encode(), "a")
    assert found.damaged == 1
    without = dict.fromkeys(gone)
    assert [*found.lanes[0].samples()] == [replace(each, **without) for each in newer.samples()]
    traced, expected = (lane.series.until(math.inf).since("traced", 2.0) for lane in (found.lanes[0], newer))
    assert traced == expected


# Errors while recording.


def fill_disk(monkeypatch, room=0):
    """Let writers fail for lack of space after ``room`` more lines."""
    write, left = writers.FileWriter._write, [None] * room

    def refuse(writer, line):
        if not left:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        left.pop()
        write(writer, line)

    monkeypatch.setattr(writers.FileWriter, "_write", refuse)


@pytest.mark.parametrize(("room", "name"), [(0, "a.jsonl.gz"), (3, "a.jsonl"), (40, "a.jsonl.gz")])
def test_a_full_disk_ends_the_recording_but_not_the_session(tmp_path, monkeypatch, room, name):
    path = tmp_path / name
    fill_disk(monkeypatch, room)
    bench = Bench("asyncio")
    recorder = record(bench, path)
    bench.lab.set_target(bench.lab.lanes[0], 1_000)
    bench.pass_(10)
    assert bench.lab.lanes[0].live == 1_000
    recorder.stop("done")
    assert (recorder.on, bench.texts("error")) == (False, [recorder.problem])
    full = f"No space left on device ({path}); "
    if not room:
        assert recorder.problem == f"not recorded: {full}nothing of this session is kept"
        assert not path.exists()
        return
    began = f"recording stopped: {full}what came after "
    assert re.fullmatch(re.escape(began) + r"00:0\d\.\d is not in it", recorder.problem)
    # Lines of at most one step follow the reported time.
    complete = float(recorder.problem.removeprefix(began).split()[0].partition(":")[2])
    assert load(path).duration <= complete + 0.3


@pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot delete an open file")
@pytest.mark.parametrize(
    ("name", "seconds", "destroy", "why"),
    [  # just before its end, or while it is written
        ("a.jsonl", 0, os.unlink, "it was deleted"),
        ("a.jsonl.gz", 2, os.unlink, "it was deleted"),
        ("a.jsonl", 2, lambda path: os.truncate(path, 0), "another program truncated it"),
        ("a.jsonl.gz", 0, lambda path: os.truncate(path, 0), "another program truncated it"),
    ],
)
def test_a_deleted_or_truncated_recording_is_reported(tmp_path, name, seconds, destroy, why):
    bench = Bench("asyncio")
    recorder = record(bench, tmp_path / name)
    bench.pass_(2)
    destroy(tmp_path / name)
    bench.pass_(seconds)
    assert recorder.on is (seconds == 0)
    recorder.stop("done")
    assert bench.texts("error") == [recorder.problem] * bool(seconds)
    assert recorder.problem == f"recording stopped: {why} ({tmp_path / name}); all of it is lost"


def test_a_partial_write_is_continued(tmp_path, monkeypatch):
    write = os.write
    sink = open_writer(tmp_path / "a.jsonl")
    with monkeypatch.context() as slow:
        slow.setattr(os, "write", lambda file, data: write(file, data[:3]))
        sink.write(b"one line\n")
    sink.close()
    assert ((tmp_path / "a.jsonl").read_bytes(), sink.size) == (b"one line\n", 9)


@contextmanager
def recorded_run(path):
    """Run the real command, recording to ``path``; kill it afterwards."""
    command = [sys.executable, "-m", "concwatch", "run", "asyncio", "--tasks", "10", "--seconds", "60"]
    with subprocess.Popen(
        [*command, "--record", str(path)], cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.real
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
def test_a_killed_run_loses_at_most_one_line(tmp_path):
    path = tmp_path / "a.jsonl.gz"
    with recorded_run(path) as process:
        until(lambda: path.exists() and path.stat().st_size, "no recording")
        until(lambda: load(path).samples >= 10, "no samples")
        assert [listed.state for listed in find_recordings(tmp_path)] == [WRITTEN]
        process.kill()
    found = load(path)
    assert (found.samples >= 10, found.damaged) == (True, 0)
    assert found.cut.startswith("cut off after")
    assert found.lanes[0].times[-1] >= found.duration - 1.5
    (listed,) = find_recordings(tmp_path)
    assert (listed.state, listed.samples) == (CUT, found.samples)


# Commands.


@pytest.fixture
def run(fakes, monkeypatch):
    """Run a command with fake workers, on a clock that stops when its event loop ends."""
    loops = []

    def now():
        with suppress(RuntimeError):
            loops.append(asyncio.get_running_loop())
        return loops[-1].time()

    def call(*command):
        monkeypatch.setattr(sys, "argv", ["concwatch", *map(str, command)])
        return invoke(*command)

    use_lab(monkeypatch, clock=now)
    return call


def test_a_file_that_cannot_be_recorded_to_is_rejected_before_anything_starts(tmp_path):
    existing, new, pipe = (tmp_path / name for name in ("a.jsonl", "b.jsonl", "pipe"))
    existing.write_text("old")
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)  # so that opening it for writing would succeed
    os.symlink("pipe", tmp_path / "link")
    irregular = "is not a regular file; give the name of a new one"
    for engine, path, expected in (
        ("asyncio", existing, "exists; delete it first, or give the name of a new one"),
        ("asyncio", tmp_path / "missing" / "a.jsonl", "No such file or directory"),
        ("asyncio", tmp_path, "regular file"),
        ("asyncio", "a\0b", "null"),
        ("asyncio", pipe, irregular),
        ("asyncio", tmp_path / "link", irregular),
        ("asyncoi", new, "asyncoi"),
    ):
        assert expected in refused("run", engine, "--tasks", 5, "--record", path)
    os.close(reader)
    assert existing.read_text() == "old"
    assert not new.exists()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
def test_a_run_with_an_incomplete_recording_prints_its_figures_and_exits_1(run):
    result = run("run", "asyncio", "--tasks", "5", "--seconds", "0.1", "--record", "/dev/full")
    assert result.exit_code == 1
    assert "asyncio  done" in result.stdout
    problem = "not recorded: No space left on device (/dev/full); nothing of this session is kept"
    assert problem in result.stderr
    assert Path("/dev/full").exists()


def test_a_recorder_that_observed_nothing_leaves_no_file(tmp_path):
    path = tmp_path / "a.jsonl"
    unused = Recorder(path, open_writer(path), "concwatch", [ENGINES["asyncio"]])
    unused.stop("failed")
    assert (path.exists(), unused.problem) == (False, "")


def test_discarding_a_recording_keeps_a_file_that_replaced_it(tmp_path):
    sink = open_writer(tmp_path / "a.jsonl")
    (tmp_path / "a.jsonl").rename(tmp_path / "b.jsonl")
    (tmp_path / "a.jsonl").write_text("other")
    sink.discard()
    assert (tmp_path / "a.jsonl").read_text() == "other"


def test_run_records_all_of_its_labs(tmp_path, run):
    path = tmp_path / "a.jsonl"
    done = run("run", "asyncio", "threads", "--tasks", 20, "--seconds", 0.3, "--record", path)
    assert done.exit_code == 0, done.stderr
    found = load(path)
    assert (found.cut, found.damaged, found.end.why) == ("", 0, "done")
    assert [max(one.live or 0 for one in lane.samples()) for lane in found.lanes] == [20, 20]
    assert found.header.command.endswith(f"--record {path}")
    assert found.header.machine["cores"] >= 1
    kinds = [(mark.lane, mark.kind) for mark in found.marks(math.inf).since(0)]
    expected = ["switch", "target", "target", "switch"]
    assert kinds == [(lane, kind) for lane in ("asyncio", "threads") for kind in expected]
    assert any(event.text == "off" for event in found.events(math.inf).since(0))
    (listed,) = find_recordings(tmp_path)
    assert (listed.state, listed.samples) == (FINISHED, found.samples)


@pytest.mark.real
def test_sigterm_completes_the_recording(tmp_path):
    path = tmp_path / "a.jsonl"
    with recorded_run(path) as process:
        until(lambda: path.exists() and b'"running"' in path.read_bytes(), "no recording")
        process.terminate()
        assert process.wait(PATIENCE) == -signal.SIGTERM
    assert load(path).end.why == "ended by SIGTERM"


def test_recordings_are_listed_newest_first(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    empty = invoke("recordings")
    assert (empty.exit_code, 'no recordings in "recordings": press r' in empty.output) == (0, True)
    assert 'folder "missing" does not exist' in refused("recordings", "missing")
    folder = tmp_path / "recordings"
    (folder / "more").mkdir(parents=True)
    make_recording(folder / "b-first.jsonl")
    make_recording(folder / "a-second.jsonl.gz", 62.0, ("asyncio",))
    make_recording(folder / "c-third.jsonl")
    cut = folder / "c-third.jsonl"
    cut.write_bytes(cut.read_bytes()[:-100])
    (folder / "notes.txt").write_text("mine")
    (folder / "newer.jsonl").write_text(json.dumps(HEADER | {"version": VERSION + 1}) + "\n")
    lines = invoke("recordings").output.splitlines()
    assert [line.split()[0] for line in lines[1:4]] == ["c-third.jsonl", "a-second.jsonl.gz", "b-first.jsonl"]
    assert "cut off" in lines[1]
    assert re.search(r"01:0(2\.0|1\.9).*finished  asyncio", lines[2])
    assert lines[4].startswith(f"replay the newest: concwatch replay {Path('recordings') / 'c-third.jsonl'}")
    listed = json.loads(invoke("recordings", folder, "--json").output)
    assert [row["state"] for row in listed] == [CUT, FINISHED, FINISHED]
    for row in listed:
        read = load(Path(row["file"]))
        assert (row["samples"], row["seconds"]) == (read.samples, pytest.approx(read.duration))
    monkeypatch.setenv("CONCWATCH_SCREEN_RECORDINGS", "elsewhere")
    assert 'no recordings in "elsewhere"' in invoke("recordings").output


def test_printed_commands_for_a_recording_can_be_copied(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make_recording(tmp_path / "it's $HOME of a.jsonl")
    last_line = invoke("recordings", ".").output.splitlines()[-1]
    replay = shlex.split(last_line.removeprefix("replay the newest: "))
    error = refused(*replay[1:])
    assert "needs a terminal" in error
    export = shlex.split(error.split('use "')[1].rstrip().removesuffix('"'))
    assert invoke(*export[1:], "--csv").exit_code == 0
    assert (replay[:2], export[:2]) == (["concwatch", "replay"], ["concwatch", "export"])


def test_line_breaks_in_names_are_replaced_in_the_list(tmp_path):
    name = "two\nlines\x1b"
    content = json.dumps(HEADER | {"lanes": [{"name": name}], "began": name}) + "\n"
    (tmp_path / "a\nfile.jsonl").write_text(content)
    lines = invoke("recordings", tmp_path).output.splitlines()
    assert len(lines) == 3
    assert lines[1].startswith("a file.jsonl")
    assert lines[1].endswith("two lines\ufffd")
    assert [lane.name for lane in load(tmp_path / "a\nfile.jsonl").lanes] == ["two lines\ufffd"]


# The screen.


async def test_the_key_r_starts_and_stops_recording(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    async with stage() as s:
        await s.run(1.0)
        await s.press("r")
        await s.sees("to recordings/concwatch-", ".jsonl")
        await s.switch_on("asyncio", tasks=2_000)
        await s.run(12.0)
        await s.sees("● rec 00:12 · ")
        await s.press("r")
        await s.sees("saved recordings/concwatch-")
        await s.run(0.1)
        assert "● rec" not in s.text()
        await s.press("r")  # a second recording within the same second gets another name
        await s.run(1.0)
    first, second = sorted(find_recordings(tmp_path / "recordings"), key=lambda listed: listed.began)
    assert (first.state, second.state) == (FINISHED, FINISHED)
    found = load(Path(first.file))
    assert found.end.why == "ended by key"
    assert found.snapshot(12.0).lanes[2].live == 2_000
    assert load(Path(second.file)).end.why == "quit"
    assert second.seconds == pytest.approx(1.0, abs=0.01)


async def test_the_key_r_reports_a_full_disk_and_an_unusable_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    async with stage() as s:
        await s.press("r")
        await s.sees("to recordings/concwatch-", within=s.toast)
        with monkeypatch.context() as full:
            fill_disk(full)
            await s.press("r")
            await s.sees("recording stopped:", "No space")
            (kept,) = (tmp_path / "recordings").iterdir()
            await s.press("r")
            await s.sees("not recorded:", "No space", within=s.toast)
            assert not s.app.recording.on
        assert list((tmp_path / "recordings").iterdir()) == [kept]
        kept.unlink()
        (tmp_path / "recordings").rmdir()
        (tmp_path / "recordings").write_text("in the way")
        await s.press("r")
        await s.sees('not recorded: "recordings" is a file, not a folder')


@pytest.mark.real
@pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot delete an open file")
def test_a_lost_recording_is_also_reported_after_the_program_exits(tmp_path):
    path = tmp_path / "a.jsonl"
    with Terminal("-m", "concwatch", "--engines", "asyncio", "--record", str(path)) as terminal:
        terminal.until(lambda: "● rec 00:0" in terminal.text(), "it is recorded")
        path.unlink()
        terminal.type("q")
        terminal.wait_exit()
        assert f"concwatch: recording stopped: it was deleted ({path}); all of it is lost" in terminal.text()


@pytest.mark.real
def test_sighup_completes_the_recording(tmp_path):
    path = tmp_path / "a.jsonl"
    with Terminal("-m", "concwatch", "--engines", "asyncio", "--record", str(path)) as terminal:
        terminal.until(lambda: "● rec 00:0" in terminal.text(), "it is recorded")
        terminal.type(" ")
        terminal.until(lambda: load(path).samples, "samples are recorded")
        terminal.process.send_signal(signal.SIGHUP)
        terminal.wait_exit()
    found = load(path)
    assert (found.end.why, found.cut, found.header.rate) == ("ended by SIGHUP", "", 10.0)


# Formatting.


@pytest.mark.parametrize(
    ("seconds", "digits", "text"),
    [(0, 1, "00:00.0"), (12.39, 1, "00:12.3"), (59.99, 1, "00:59.9"), (59.99, 0, "00:59"), (60, 0, "01:00"),
     (3_723.45, 1, "1:02:03.4"), (-1, 1, "00:00.0"), (754.0, 0, "12:34")],
)  # fmt: skip
def test_positions_are_truncated_and_not_rounded(seconds, digits, text):
    assert format_position(seconds, digits) == text


@given(st.floats(-1e300, 1e300, allow_subnormal=False) | st.sampled_from([math.nan, math.inf, -math.inf]))
def test_derived_figures_keep_five_digits(value):
    found = round_number(value)
    if not math.isfinite(value):
        assert found is None
    else:
        assert found == pytest.approx(value, rel=5.1e-5)
        assert len(f"{found:e}".partition("e")[0].replace(".", "").strip("-").rstrip("0")) <= 5


def test_rounded_whole_numbers_are_written_without_a_decimal_point():
    sample = blank_sample(0, 1.5, rss=10, lag=0.0, cpu=1.0, tick_time=7.00001, gc=1e-7, others=0.0)
    line = specification.encode(specification.round_sample(sample, 0, 0.0))
    assert line.count(b".") == 1, "only the time has one"


def test_the_specification_documents_every_field():
    text = specification.__doc__
    for kind in specification.Line.__args__:
        assert f"\n``{kind.__struct_config__.tag}``" in text
        for field in kind.__struct_encode_fields__:
            assert f"``{field}``" in text or field in LaneStatus.__struct_encode_fields__, field
