"""Exports of recordings as CSV, JSON and Parquet."""

import csv
import importlib
import io
import json
import os
import signal
import subprocess
import sys

import pytest
from click.testing import CliRunner
from msgspec.structs import astuple, replace

from concwatch.monitor.metrics.metrics import COLUMNS
from concwatch.monitor.metrics.settings import Settings
from concwatch.recordings.export import FORMATS, ExportFormat, read_columns, rows
from concwatch.recordings.load import load
from concwatch.recordings.recorder import Recorder
from concwatch.recordings.writers import open_writer
from concwatch.system.child import ROOT
from tests.command_line import PROGRAM, invoke, refused
from tests.lab_driver import Bench


@pytest.fixture(name="path", scope="module")
def recording_path(tmp_path_factory):
    path = tmp_path_factory.mktemp("export") / "a.jsonl"
    bench = Bench("asyncio", "pool", settings=Settings(trace=True))
    recorder = Recorder(path, open_writer(path), "concwatch", [lane.engine for lane in bench.lab.lanes])
    recorder.observe(bench.lab)
    for lane in bench.lab.lanes:
        bench.lab.set_target(lane, 1_000)
    bench.pass_(4)
    bench.lab.switch(bench.lab.lanes[1], False)
    bench.pass_(1)
    recorder.stop("done")
    return path


def export(*arguments):
    return invoke("export", *arguments)


def test_a_format_is_a_row(path, monkeypatch):
    def as_names(recording, columns):
        yield from (f"{lane.name}: {','.join(columns)}\n".encode() for lane in recording.lanes)

    monkeypatch.setitem(FORMATS, "names", ExportFormat(as_names, "The names of the lanes."))
    module = importlib.import_module("concwatch.commands.playing.export")
    try:
        command = importlib.reload(module).command
        assert "--names" in CliRunner().invoke(command, ["--help"]).stdout
        printed = CliRunner().invoke(command, [str(path), "--names", "--columns", "rss"]).stdout
        assert printed == "asyncio: lane,time,rss\npool: lane,time,rss\n"
        none = CliRunner().invoke(command, [str(path)])
        assert "choose a format: --csv, --json, --parquet, --names, --chart, --chart-svg" in none.output
    finally:
        monkeypatch.undo()
        importlib.reload(module)


def test_csv_and_json_have_a_row_for_each_sample_in_order_of_time(path):
    recording = load(path)
    expected = list(rows(recording))
    assert len(expected) == recording.samples > 80
    times = [row[1] for row in expected]
    assert times == sorted(times)
    for lane in recording.lanes:
        of_lane = [row[1:] for row in expected if row[0] == lane.name]
        assert of_lane == [astuple(sample)[1:] for sample in lane.samples()]
    header, *lines = csv.reader(io.StringIO(export(path, "--csv").stdout))
    assert tuple(header) == COLUMNS
    assert lines == [["" if value is None else str(value) for value in row] for row in expected]
    objects = json.loads(export(path, "--json").stdout)
    assert objects == [dict(zip(COLUMNS, row, strict=True)) for row in expected]
    last = [row for row in objects if row["lane"] == "pool"][-1]
    assert (objects[-1]["lane"], last["rss"]) == ("asyncio", None)  # the worker of the pool had ended


def test_parquet_has_the_same_rows_with_typed_columns(path, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet", reason="the extra parquet is not installed")
    out = tmp_path / "a.parquet"
    assert export(path, "--parquet", "--out", out).exit_code == 0
    table = parquet.read_table(out)
    assert tuple(table.schema.names) == COLUMNS
    assert [tuple(row.values()) for row in table.to_pylist()] == list(rows(load(path)))
    assert str(table.schema.field("rss").type) == "int64"
    assert str(table.schema.field("lag").type) == "double"
    assert json.loads(table.schema.metadata[b"concwatch"])["type"] == "concwatch-recording"
    piped = export(path, "--parquet")  # binary output is allowed if it is not a terminal
    assert parquet.read_table(io.BytesIO(piped.stdout_bytes)).num_rows == table.num_rows


def test_columns_can_be_selected_and_an_empty_recording_exported(path):
    header, first, *_ = export(path, "--csv", "--columns", "live, rss").stdout.splitlines()
    assert (header, first.count(",")) == ("lane,time,live,rss", 3)
    assert read_columns("rss,lane,rss") == ("lane", "time", "rss")
    empty = path.with_name("empty.jsonl")
    empty.write_bytes(path.read_bytes().splitlines(keepends=True)[0])
    assert export(empty, "--csv").stdout.splitlines() == [",".join(COLUMNS)]
    assert json.loads(export(empty, "--json").stdout) == []


def test_out_writes_the_same_as_standard_output(path, tmp_path):
    out = tmp_path / "a.csv"
    assert export(path, "--csv", "--out", out).stdout == ""
    assert out.read_text() == export(path, "--csv").stdout
    assert os.listdir(tmp_path) == ["a.csv"]


def test_an_export_never_overwrites_the_recording_itself(path, tmp_path):
    recording = tmp_path / "a.jsonl"
    recording.write_bytes(path.read_bytes())
    os.symlink(recording, tmp_path / "symlink")
    os.link(recording, tmp_path / "link")
    for out in (recording, tmp_path / "symlink", tmp_path / "link"):
        error = refused("export", recording, "--csv", "--out", out)
        assert error.startswith(f'--out: "{out}" is the recording itself')
        assert out.read_bytes() == path.read_bytes()


def test_invalid_arguments_are_a_one_line_error(path, tmp_path, monkeypatch):
    (tmp_path / "text").write_text("not a recording")
    pip = "pip install 'concwatch[parquet]'"
    monkeypatch.setitem(FORMATS, "parquet", replace(FORMATS["parquet"], problem=lambda: pip))
    for expected, *arguments in (
        ("choose a format: --csv, --json, --parquet", path),
        ("--json and --csv cannot be combined", path, "--json", "--csv", "--json"),
        ('unknown column "rsss"', path, "--csv", "--columns", "rsss"),
        ("--columns cannot be used with --chart; expected --csv, --json or", path, "--chart",
         "--columns", "rss"),
        ("cannot be written", path, "--csv", "--out", tmp_path / "no" / "a.csv"),
        ("is a folder", path, "--csv", "--out", tmp_path),
        ("exists; --force overwrites it", path, "--csv", "--out", tmp_path / "text"),
        ("is a folder, not a recording", tmp_path, "--csv"),
        ('does not exist', tmp_path / "missing", "--csv"),
        ("is not a recording", tmp_path / "text", "--json"),
        (pip, path, "--parquet"),
    ):  # fmt: skip
        assert expected in refused("export", *arguments)


def test_missing_and_damaged_parts_are_reported_on_standard_error(path):
    cut = path.with_name("cut.jsonl")
    lines = path.read_bytes().splitlines(keepends=True)
    damaged = next(number for number, line in enumerate(lines) if line.startswith(b"[0"))
    lines[damaged] = lines[damaged].rpartition(b",")[0] + b',"?"]\n'  # its last column is not a number
    cut.write_bytes(b"".join(lines[:-1]))
    result = export(cut, "--csv")
    assert result.exit_code == 0
    assert len(result.stdout.splitlines()) == load(path).samples
    assert "cut off after 00:0" in result.stderr
    assert "1 damaged line was skipped" in result.stderr


@pytest.mark.real
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGPIPE")
def test_a_closed_pipe_ends_the_export_without_a_traceback(path):
    long = path.with_name("long.jsonl")
    header, *lines = path.read_bytes().splitlines(keepends=True)
    samples = [line for line in lines if line.startswith(b"[")]
    long.write_bytes(b"".join([header, *samples * 200]))  # more than a pipe holds
    with subprocess.Popen(
        [*PROGRAM, "export", long, "--csv"], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout.readline().startswith(b"lane,time")
        process.stdout.close()
        errors = process.stderr.read().decode()
        assert process.wait(60) == -signal.SIGPIPE
    assert errors.splitlines() == [f'concwatch: "{long}": {load(long).cut}']


@pytest.mark.real
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
def test_standard_output_on_a_full_disk_is_a_one_line_error(path):
    with open("/dev/full", "wb") as full:
        command = [*PROGRAM, "export", path, "--csv"]
        done = subprocess.run(command, cwd=ROOT, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("concwatch: the output is incomplete (standard output: No space left on device)")
