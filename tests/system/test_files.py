"""The security promises of concwatch/monitor/README.md: what is read runs nothing, and becomes no path."""

import asyncio
import gzip
import json
import os
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pytest

from concwatch.measure.comparing.comparison import compare
from concwatch.measure.comparing.reading import read_side
from concwatch.measure.experiments import loading as experiments
from concwatch.measure.experiments.formats import check
from concwatch.monitor.workers.catalog import find_engines
from concwatch.pictures.png import can_draw, draw_png
from concwatch.recordings.export import as_csv
from concwatch.recordings.listing import find_recordings
from concwatch.recordings.load import load, parse
from concwatch.recordings.reading import decompress, read_text
from concwatch.system.files import MAX_DOTS, MAX_SIZE, read_toml
from concwatch.ui.apps.picture_files import picture_path
from concwatch.ui.apps.replay_app import ReplayApp
from tests.command_line import PROGRAM
from tests.made_recording import made_lines

TRAP = "import pathlib; pathlib.Path({marker!r}).write_text(__name__)\n"
"""A module that writes a file when it is imported."""

PATIENCE = 60


@pytest.fixture
def working_folder(tmp_path, monkeypatch):
    """Return a new working directory."""
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def add_traps(folder: Path, *names: str) -> Path:
    """Add modules that write a file when they are imported; return the path of that file."""
    marker = folder.parent / "imported"
    for name in names:
        (folder / f"{name}.py").write_text(TRAP.format(marker=str(marker)))
    return marker


@pytest.fixture
def trap(working_folder):
    """Return the file that exists once any module is imported from the working directory."""
    names = {*sys.stdlib_module_names, "textual", "psutil", "msgspec", "uvloop", "click", "resvg_py"}
    return add_traps(working_folder, *(names - {"__main__"}))


@pytest.fixture
def evil(working_folder, monkeypatch):
    """Return the file that exists once ``evil`` is imported; the working directory is on the path."""
    monkeypatch.syspath_prepend(str(working_folder))
    return add_traps(working_folder, "evil")


def run(*arguments: str, home: Path) -> subprocess.CompletedProcess[str]:
    """Run ``concwatch`` as its script does, with the working directory not on the path."""
    (home / "tmp").mkdir(parents=True, exist_ok=True)
    variables = {
        "HOME": str(home),
        "TMPDIR": str(home / "tmp"),
        "XDG_CONFIG_HOME": "",
        "CONCWATCH_SETTINGS": "",
    }
    return subprocess.run(
        [sys.executable, "-P", *PROGRAM[1:], *arguments],
        env={**os.environ, **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def files_in(folder: Path) -> set[str]:
    """Return the paths of all files and folders below a folder."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


@pytest.mark.real
def test_a_run_imports_nothing_from_the_working_directory_and_leaves_no_files(trap, tmp_path):
    home = tmp_path / "home"
    before = files_in(Path.cwd())
    done = run("run", "threads", "asyncio", "--tasks", "20", "--seconds", "0.2", "--json", home=home)
    assert done.returncode == 0, done.stderr
    assert {lane["created"] for lane in json.loads(done.stdout)["lanes"]} == {20}
    assert not trap.exists(), trap.read_text()
    assert files_in(Path.cwd()) == before
    assert files_in(home) == {"tmp"}


@pytest.mark.real
def test_only_the_module_of_a_workload_is_imported(working_folder, tmp_path):
    marker = add_traps(working_folder, "evil", "conftest", "setup")
    (working_folder / "mine.py").write_text("import pathlib\npathlib.Path('ran').touch()\ndef work(): pass\n")
    words = ("run", "threads", "--tasks", "2", "--seconds", "0", "--workload", "mine:work")
    done = run(*words, "--expect", "threads.peak_live >= 0", home=tmp_path / "home")
    assert done.returncode == 0, done.stderr
    assert (working_folder / "ran").exists()
    assert not marker.exists()


@pytest.mark.real
@pytest.mark.skipif(not can_draw(), reason="resvg_py is not installed")
def test_drawing_a_picture_imports_nothing_from_the_working_directory(trap):
    svg = '<svg xmlns="http://www.w3.org/2000/svg" width="2" height="2"/>'
    assert asyncio.run(draw_png(svg)).startswith(b"\x89PNG")
    assert not trap.exists(), trap.read_text()


EXPERIMENT = """
name = {name}
title = "t"
about = "a"
method = "m"
[[table]]
title = "../../t"
reading = "burst_seconds"
unit = "s"
sizes = [10]
workload = "evil:run"
series = [{{engine = "asyncio", label = "../../s"}}]
"""

EVIL = b'"workload":"evil:run"'


@pytest.fixture
def evil_recording(working_folder):
    """Return a recording that names the module ``evil``."""
    path = working_folder / "evil.jsonl"
    text = b"".join(made_lines(12.0, 4.0, 2)).replace(b'"workload":"sleep:10"', EVIL)
    path.write_bytes(text.replace(b'"name":"threads"', b'"name":"evil"'))
    assert EVIL in path.read_bytes()
    return path


async def test_reading_recordings_and_experiments_runs_none_of_their_names(
    evil_recording, evil, working_folder, monkeypatch
):
    def fail(*_: object, **__: object) -> None:
        raise AssertionError("a process is started")

    monkeypatch.setattr(subprocess, "Popen", fail)
    monkeypatch.setattr(asyncio, "create_subprocess_exec", fail)
    recording = load(evil_recording)
    assert recording.snapshot(2.0).settings.workload == "evil:run"
    assert b"".join(as_csv(recording)).count(b"\n") > 4
    assert len(find_recordings(working_folder)) == 1
    side = read_side(evil_recording, "evil")
    assert compare(side, side).differences
    app = ReplayApp(recording, evil_recording.name, 1.0)
    async with app.run_test(size=(120, 40)) as pilot:
        for key in ("space", "right", "end", "home"):
            await pilot.press(key)
        await pilot.pause()
    experiments.decode(EXPERIMENT.format(name='"x"').encode(), "x.toml")
    assert not evil.exists()


# Names in paths.

NAMES = (
    "", ".", "..", "../x", "/x", "x/y", "x\\y", "-x", "--out=x", "~x", "x\0", "x\ny", "x y", "$(x)", "X",
    "é", "x.",
)  # fmt: skip


def test_names_cannot_become_paths_or_options(tmp_path):
    for name in NAMES:
        with pytest.raises(ValueError, match='key "name"'):
            experiments.decode(EXPERIMENT.format(name=json.dumps(name)).encode(), "x.toml")
        with pytest.raises(ValueError, match="unknown engine"):
            find_engines([name])
        picture = picture_path(tmp_path, datetime(2026, 11, 21), name)
        assert (picture.parent, picture.name.startswith("concwatch-")) == (tmp_path, True)


def test_the_names_in_an_experiment_do_not_become_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    experiment = experiments.decode(EXPERIMENT.format(name='"x"').encode(), "x.toml")
    check({"json": "a.json", "markdown": "-"}, experiment)
    assert files_in(tmp_path) == set()


# Sizes of files.


def test_a_decompression_bomb_is_rejected_early(tmp_path):
    bomb = gzip.compress(b"\n" * 20_000_000)
    assert len(bomb) < 40_000
    assert len(decompress(bomb, 1_000).data) == 1_000
    path = tmp_path / "bomb.jsonl.gz"
    path.write_bytes(bomb)
    with pytest.raises(ValueError, match=r"holds more than 9\.77 KiB of text") as caught:
        read_text(path, most=10_000)
    assert "\n" not in str(caught.value)
    assert len(read_text(path).data) == 20_000_000


def test_a_file_of_line_ends_is_not_a_recording():
    header = next(made_lines(1.0))
    assert parse(header + b"\n" * 5_000, "x").damaged
    with pytest.raises(ValueError, match="its lines are too short"):
        parse(header + b"\n" * 5_000_000, "x")


def test_toml_files_are_limited_in_size_and_in_dots_per_line():
    read_toml(b"a=1\n" + b"#" * (MAX_SIZE - 4), "x.toml")
    with pytest.raises(ValueError, match=r"x\.toml: more than 256 KiB"):
        read_toml(b"#" * (MAX_SIZE + 1), "x.toml")
    read_toml(b"a." * MAX_DOTS + b"b=1", "x.toml")
    with pytest.raises(ValueError, match=r"x\.toml: not TOML: more than 200 dots in a line \(at line 2\)"):
        read_toml(b"\n" + b"a." * (MAX_DOTS + 1) + b"b=1", "x.toml")
