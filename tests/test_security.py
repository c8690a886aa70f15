"""What concwatch/lab/README.md promises: whose code runs, what a name can become, where files lie."""

import ast
import asyncio
import gzip
import json
import os
import subprocess
import sys
from datetime import datetime
from functools import cache
from pathlib import Path

import pytest

import concwatch
from concwatch.comparing.comparison import compare
from concwatch.comparing.reading import read_side
from concwatch.experiments import loading as experiments
from concwatch.experiments.formats import check
from concwatch.files import MAX_DOTS, MAX_SIZE, read_toml
from concwatch.lab.catalog import find_engines
from concwatch.pictures.png import can_draw, draw_png
from concwatch.recordings.export import as_csv
from concwatch.recordings.listing import find_recordings
from concwatch.recordings.load import load, parse
from concwatch.recordings.reading import decompress, read_text
from concwatch.ui.picture_files import picture_path
from concwatch.ui.replay_app import ReplayApp
from tests.command_line import PROGRAM
from tests.made_recording import made_lines

PACKAGE = Path(concwatch.__file__).parent

TRAP = "import pathlib; pathlib.Path({marker!r}).write_text(__name__)\n"
"""A module that tells that it has been imported."""

PATIENCE = 60


@cache
def sources() -> tuple[tuple[str, ast.AST], ...]:
    """Every call and import of the package, with the file that it is in."""
    return tuple(
        (str(path.relative_to(PACKAGE)), node)
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(node, ast.Call | ast.Import | ast.ImportFrom)
    )


def dotted(node: ast.expr) -> str:
    """The dotted name of an expression, as far as it is one."""
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else "…"


@cache
def calls() -> tuple[tuple[str, str, ast.Call], ...]:
    """Every call: its file, the dotted name of what is called, and itself."""
    return tuple((file, dotted(node.func), node) for file, node in sources() if isinstance(node, ast.Call))


# Whose code runs.

SHELLS = (
    "os.system", "os.popen", "create_subprocess_shell", "subprocess_shell", "getoutput", "getstatusoutput",
)  # fmt: skip
EVALUATORS = ("eval", "exec", "compile", "__import__", "runpy.run_path", "runpy.run_module")
DEMO = "demos/demo.py"
"""Reads demos, which are Python files: one runs where somebody names it."""
BRIDGE = "hosts/memory_files.py"
"""Compiles on another host what came with it."""
REPLACEMENTS = "agent/replacements.py"
"""Compiles text of its own, with the names of the parameters of the function that it stands for."""
UNSAFE = {"pickle", "marshal", "shelve", "dill", "yaml"}
IMPORTERS = {
    "commands/group.py",  # one of its own commands
    "experiments/programs/tiny_tasks.py",  # the event loop that a published experiment names
    "experiments/formats.py",  # pyperf
    "system/processes.py",  # its own other half, which is not sent to other hosts
    "worker/user_function.py",  # what the workload module:function names
}


def test_no_shell_starts_anything():
    for file, name, node in calls():
        assert not name.endswith(SHELLS), f"{file}:{node.lineno}: {name}"
        assert not name.startswith(("os.spawn", "os.exec", "pty.")), f"{file}:{node.lineno}: {name}"
        assert "shell" not in {keyword.arg for keyword in node.keywords}, f"{file}:{node.lineno}"


def test_no_text_becomes_code_and_modules_named_by_text_are_imported_in_few_places():
    assert {file for file, name, _ in calls() if name in EVALUATORS} == {DEMO, BRIDGE, REPLACEMENTS}
    assert {file for file, name, _ in calls() if name.endswith("import_module")} == IMPORTERS
    for file, node in sources():
        if isinstance(node, ast.Import):
            unsafe = UNSAFE & {name.name.partition(".")[0] for name in node.names}
            assert not unsafe or (file, unsafe) == (BRIDGE, {"marshal"}), f"{file}:{node.lineno}"
        if isinstance(node, ast.ImportFrom):
            assert (node.module or "").partition(".")[0] not in UNSAFE, f"{file}:{node.lineno}"


@pytest.fixture
def here(tmp_path, monkeypatch):
    """The working directory."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def lay(folder: Path, *names: str) -> Path:
    """Put modules into a folder that tell when they are imported; give the file that tells it."""
    marker = folder.parent / "imported"
    for name in names:
        (folder / f"{name}.py").write_text(TRAP.format(marker=str(marker)))
    return marker


@pytest.fixture
def trap(here):
    """What tells that something has been imported from the working directory, where any name is taken."""
    names = {*sys.stdlib_module_names, "textual", "psutil", "msgspec", "uvloop", "click", "resvg_py"}
    return lay(here, *(names - {"__main__"}))


@pytest.fixture
def evil(here, monkeypatch):
    """What tells that ``evil`` has been imported, which could be: the working directory is on the path."""
    monkeypatch.syspath_prepend(str(here))
    return lay(here, "evil")


def run(*arguments: str, home: Path) -> subprocess.CompletedProcess[str]:
    """Run ``concwatch`` as its script does: the working directory is not on the path."""
    (home / "tmp").mkdir(parents=True, exist_ok=True)
    places = {"HOME": str(home), "TMPDIR": str(home / "tmp"), "XDG_CONFIG_HOME": "", "CONCWATCH_SETTINGS": ""}
    return subprocess.run(
        [sys.executable, "-P", *PROGRAM[1:], *arguments],
        env={**os.environ, **places},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def listed(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


@pytest.mark.real
def test_nothing_is_taken_from_the_working_directory_and_nothing_is_left_anywhere(trap, tmp_path):
    home = tmp_path / "home"
    before = listed(Path.cwd())
    done = run("run", "threads", "asyncio", "--tasks", "20", "--seconds", "0.2", "--json", home=home)
    assert done.returncode == 0, done.stderr
    assert {lane["created"] for lane in json.loads(done.stdout)["lanes"]} == {20}
    assert not trap.exists(), trap.read_text()
    assert listed(Path.cwd()) == before
    assert listed(home) == {"tmp"}


@pytest.mark.real
def test_a_workload_of_the_users_own_is_imported_and_nothing_beside_it(here, tmp_path):
    marker = lay(here, "evil", "conftest", "setup")
    (here / "mine.py").write_text("import pathlib\npathlib.Path('ran').touch()\ndef work(): pass\n")
    words = ("run", "threads", "--tasks", "2", "--seconds", "0", "--workload", "mine:work")
    done = run(*words, "--expect", "threads.peak_live >= 0", home=tmp_path / "home")
    assert done.returncode == 0, done.stderr
    assert (here / "ran").exists()
    assert not marker.exists()


@pytest.mark.real
@pytest.mark.skipif(not can_draw(), reason="resvg_py is not installed")
def test_pictures_are_drawn_by_nothing_from_the_working_directory(trap):
    svg = '<svg xmlns="http://www.w3.org/2000/svg" width="2" height="2"/>'
    assert asyncio.run(draw_png(svg)).startswith(b"\x89PNG")
    assert not trap.exists(), trap.read_text()


EVIL = b'"workload":"evil:run"'


@pytest.fixture
def evil_recording(here):
    path = here / "evil.jsonl"
    text = b"".join(made_lines(12.0, 4.0, 2)).replace(b'"workload":"sleep:10"', EVIL)
    path.write_bytes(text.replace(b'"name":"threads"', b'"name":"evil"'))
    assert EVIL in path.read_bytes()
    return path


async def test_a_recording_is_looked_at_and_never_run(evil_recording, evil, here, monkeypatch):
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a process was to be started")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    monkeypatch.setattr(asyncio, "create_subprocess_exec", refuse)
    recording = load(evil_recording)
    assert recording.snapshot(2.0).settings.workload == "evil:run"
    assert b"".join(as_csv(recording)).count(b"\n") > 4
    assert len(find_recordings(here)) == 1
    side = read_side(evil_recording, "evil")
    assert compare(side, side).differences
    app = ReplayApp(recording, evil_recording.name, 1.0)
    async with app.run_test(size=(120, 40)) as pilot:
        for key in ("space", "right", "end", "home"):
            await pilot.press(key)
        await pilot.pause()
    assert not evil.exists()


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


def test_to_read_what_an_experiment_names_imports_nothing(evil):
    experiments.decode(EXPERIMENT.format(name='"x"').encode(), "x.toml")
    assert not evil.exists()


# What a name can become.

NAMES = (
    "", ".", "..", "../x", "/x", "x/y", "x\\y", "-x", "--out=x", "~x", "x\0", "x\ny", "x y", "$(x)", "X",
    "é", "x.",
)  # fmt: skip


def test_a_name_becomes_no_path_and_no_option(tmp_path):
    for name in NAMES:
        with pytest.raises(ValueError, match='key "name"'):
            experiments.decode(EXPERIMENT.format(name=json.dumps(name)).encode(), "x.toml")
        with pytest.raises(ValueError, match="unknown engine"):
            find_engines([name])
        picture = picture_path(tmp_path, datetime(2026, 11, 21), name)
        assert (picture.parent, picture.name.startswith("concwatch-")) == (tmp_path, True)


def test_the_result_of_an_experiment_goes_where_its_user_says_and_nowhere_else(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    experiment = experiments.decode(EXPERIMENT.format(name='"x"').encode(), "x.toml")
    check({"json": "a.json", "markdown": "-"}, experiment)
    assert listed(tmp_path) == set()


# What a file can take.


def test_a_bomb_is_refused_before_it_goes_off(tmp_path):
    bomb = gzip.compress(b"\n" * 20_000_000)
    assert len(bomb) < 40_000
    assert len(decompress(bomb, 1_000).data) == 1_000
    path = tmp_path / "bomb.jsonl.gz"
    path.write_bytes(bomb)
    with pytest.raises(ValueError, match=r"holds more than 9\.77 KiB of text") as caught:
        read_text(path, most=10_000)
    assert "\n" not in str(caught.value)
    assert len(read_text(path).data) == 20_000_000


def test_what_is_all_line_ends_is_no_recording():
    header = next(made_lines(1.0))
    assert parse(header + b"\n" * 5_000, "x").damaged
    with pytest.raises(ValueError, match="its lines are too short"):
        parse(header + b"\n" * 5_000_000, "x")


def test_a_text_file_is_no_larger_than_a_person_writes_them():
    read_toml(b"a=1\n" + b"#" * (MAX_SIZE - 4), "x.toml")
    with pytest.raises(ValueError, match=r"x\.toml: more than 256 KiB"):
        read_toml(b"#" * (MAX_SIZE + 1), "x.toml")
    read_toml(b"a." * MAX_DOTS + b"b=1", "x.toml")
    with pytest.raises(ValueError, match=r"x\.toml: not TOML: more than 200 dots in a line \(at line 2\)"):
        read_toml(b"\n" + b"a." * (MAX_DOTS + 1) + b"b=1", "x.toml")
