"""Demos: their files, their verbs, errors, and cleanup."""

import importlib.util
import inspect
import math
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from msgspec.structs import replace
from PIL import Image

from concwatch.demos import caption_line, pilot, stage
from concwatch.demos.captures import Captures, check_formats
from concwatch.demos.demo import FILM_SIZE, PICTURE_SIZE, Demo, load, shipped
from concwatch.demos.keyboard import key_event
from concwatch.demos.lane import DemoFailed
from concwatch.demos.player import PlayResult, play
from concwatch.demos.quiet import wait_until_quiet
from concwatch.demos.stage import Stage
from concwatch.links.link import Ended
from concwatch.monitor.lanes.host_lanes import LocalMachine
from concwatch.monitor.lanes.lab import Lab
from concwatch.monitor.metrics.settings import Settings
from concwatch.monitor.workers.catalog import SHOWN, find_engines
from concwatch.pictures.film import Frame
from concwatch.pictures.glyphs import HEIGHT, WIDTH
from concwatch.pictures.png import PicturesUnavailable
from concwatch.system.child import concwatch_command as command_line
from concwatch.system.machine import Load
from concwatch.ui.apps.app import ConcwatchApp
from tests import virtual_time
from tests.apart import ROOT
from tests.command_line import invoke, refused
from tests.fake_link import FakeWorkers, Fault
from tests.faults.terminal import Terminal
from tests.lab_driver import use_lab
from tests.processes import PATIENCE, assert_ended
from tests.screen import LIMITS, MEMORY, experiment_lab, svg_lines

NAMES = [path.stem for path in shipped()]
UNAVAILABLE = replace(find_engines(["uvloop"])[0], needs=("no_such_module",), install="pip install it")
REASON = "uvloop cannot run here: needs no_such_module: pip install it"


@pytest.fixture(autouse=True)
def fast_input(monkeypatch):
    """Send keys and mouse events without pauses."""
    monkeypatch.setattr(stage, "EVENT_INTERVAL", 0.001)
    monkeypatch.setattr(stage, "FIRST_FRAME", 0.0)
    monkeypatch.setattr(caption_line, "CAPTION_SECONDS", 0.0)
    monkeypatch.setattr(pilot, "POLL_INTERVAL", 0.01)


def fake_app(engines=SHOWN, speed=1.0, workers=None) -> ConcwatchApp:
    fakes = {"open_link": workers or FakeWorkers(), "machine": LocalMachine(lambda: MEMORY, lambda: LIMITS)}
    time = {"clock": lambda: virtual_time.now() * speed, "hz": 10 / speed}
    return ConcwatchApp(lambda: Lab(engines, settings=Settings(trace=True), **fakes, **time), experiment_lab)


async def play_script(
    script, app=None, formats=("svg",), optional=()
) -> tuple[PlayResult, list[str], Captures]:
    """Play a function on fake workers, and check that no worker is left."""
    demo = Demo(Path(__file__), "Mine", "", script, (120, 40), "", SHOWN, optional)
    app, lines, captures = app or fake_app(), [], Captures("mine", "Mine", formats, clock=virtual_time.now)
    done = await play(demo, app, captures, lines.append)
    assert all(lane.idle for lane in app.lab.lanes)
    return done, lines, captures


def screen_text(svg: str) -> str:
    return "\n".join(svg_lines(svg, 120, 40))


# Verbs.


async def test_each_verb_acts_on_the_screen():
    async def script(stage):
        await stage.caption("Two  words")
        await stage.switch("asyncio")
        await stage.until(lambda lab: stage.lane("asyncio").on, text="asyncio runs")
        await stage.drag("asyncio", "10k")
        await stage.until(lambda lab: lab.snapshot().lanes[2].live >= 10_000, text="ten thousand")
        await stage.shot("dragged")
        await stage.choose("uvloop")
        await stage.type("enter", "12,345")
        await stage.until(lambda lab: stage.lane("uvloop").settled and stage.lane("uvloop").held(0.2))
        assert stage.lane("uvloop").figure("rss_per_task") > 1_000
        assert stage.lane("uvloop").target == stage.lane("uvloop").live == 12_345
        await stage.type("w", "payload:4KiB")
        await stage.press("t", "[")
        await stage.type("n", "64")
        await stage.click("○ off", "pool")
        await stage.until(lambda lab: stage.lane("pool").on)
        await stage.click("default")
        await stage.press("w")
        await stage.caption("Another caption")
        await stage.shot("dialog")
        await stage.press("esc")
        await stage.switch("asyncio")
        await stage.until(lambda lab: stage.lane("asyncio").off)
        await stage.until(lambda lab: stage.lane("uvloop").live == 12_345, text="uvloop is refilled")
        await stage.shot("end")

    app = fake_app()
    done, lines, captures = await play_script(script, app)
    assert done == PlayResult(completed=True)
    assert lines[:6] == [
        " 1  caption: Two words",
        " 2  switch asyncio",
        " 3  wait until asyncio runs",
        " 4  drag asyncio to 10k",
        " 5  wait until ten thousand",
        " 6  shot dragged",
    ]
    dragged, dialog, end = map(screen_text, captures.shots.values())
    assert "▸ Another caption" in dialog.splitlines()[38], "above the keys, also in front of a dialog"
    assert "▸ Two words" in dragged
    assert "10,000 live" in dragged
    assert "▸ Another caption" in end
    assert "Two words" not in end
    assert "12,345 live" in end
    settings = app.lab.settings.current
    assert (settings.trace, settings.gc, settings.threads) == (False, "frozen", 64)
    assert "holds 4 KiB" in end
    marks = [(mark.lane, mark.kind, mark.text) for mark in app.lab.marks.since(0)]
    assert ("asyncio", "target", "10,000") in marks, "the drag landed on the exact number"


def test_the_help_documents_every_verb_and_the_readme_example_loads(tmp_path):
    manual, shown = stage.__doc__, invoke("demo", "--help").stdout
    assert [line for line in map(str.strip, manual.splitlines()) if line not in shown] == []
    verbs = {
        name for name, verb in vars(Stage).items() if inspect.iscoroutinefunction(verb) and name[0] != "_"
    }
    assert set(re.findall(r"(?m)^    (\w+)\(", manual)) == verbs - {"begin", "end"} | {"held", "figure"}
    readme = (ROOT / "concwatch/demos/README.md").read_text("utf-8")
    (tmp_path / "mine.py").write_text(readme.partition("```python\n")[2].partition("```")[0])
    assert load(str(tmp_path / "mine.py")).about


def test_keys_become_terminal_events_and_unknown_ones_suggest_the_nearest():
    names = {"]": "right_square_bracket", "−": "minus", "pgup": "pageup", "shift+→": "shift+right", "S": "S"}
    assert {key: key_event(key).key for key in names} == names
    characters = {"plus": "+", "space": " ", "t": "t", "enter": None, "ctrl+p": None}
    assert {key: key_event(key).character for key in characters} == characters
    for key, nearest in {"entr": "enter", "shift+a": "A", "ctrl+P": "ctrl+p"}.items():
        with pytest.raises(ValueError, match=re.escape(f'unknown key "{key}"; ')) as error:
            key_event(key)
        assert f'did you mean "{nearest}"?' in str(error.value)


# Errors.


FAILING_STEPS = (
    (
        lambda s: s.until(lambda lab: lab.lanes[2].live > 5, 0.1, text="five live"),
        "until five live: not within 100 ms",
    ),
    (lambda s: s.until(lambda lab: s.lane("asyncoi").on, text="so"), 'wait until so: unknown lane "asyncoi"'),
    (lambda s: s.until(lambda lab: s.lane("pool").figure("life") > 1), 'unknown metric "life": see'),
    (lambda s: s.press("t", "entr"), 'press t entr: unknown key "entr"'),
    (lambda s: s.drag("asyncio", "30k"), "drag asyncio to 30k: the slider stops at 40,000; expected one of"),
    (lambda s: s.drag("asyncio", "many"), 'drag asyncio to many: "many" is not a number of tasks'),
    (lambda s: s.click("nothing", "pool"), 's for "nothing" on the card of pool'),
    (lambda s: s.shot("../up"), "shot ../up: a name has only lower-case letters"),
    (lambda s: s.shot("taken"), "shot taken: this name is already used"),
    (lambda s: s.shot("b", "rs"), 'no chart of "rs" is visible; expected one of rss'),
    (lambda s: s.caption("1\n2\n3"), "a caption has at most 2 lines, not 3"),
    (lambda s: s.type("n", "0"), "type 0 after n: the dialog does not accept it: a pool of 0 threads"),
    (
        lambda s: s.drag("pool", "1k"),
        "drag pool to 1k: another screen or a dialog is in front",
    ),  # behind that dialog
)


async def test_a_failed_verb_reports_the_reason(monkeypatch):
    monkeypatch.setattr(pilot, "RESPONSE_TIMEOUT", 0.3)
    problems = []

    async def script(stage):
        await stage.shot("taken")
        for step, expected in FAILING_STEPS:
            with pytest.raises(DemoFailed, match=re.escape(expected)) as error:
                await step(stage)
            problems.append(str(error.value))

    done, _, _ = await play_script(script)
    assert done == PlayResult(completed=True)
    assert not any("\n" in problem for problem in problems)


SCRIPT_ERRORS = (
    ("stage.until(lambda lab: 1 / 0)", "line 2: ZeroDivisionError: division by zero"),
    ("stage.shot('a'); stage.press('t')", "line 2: coroutine 'Stage.press' was never awaited"),
    ("stage.caption(exit(3))", "line 2: SystemExit: 3"),
    ("stage.press('q'); await stage.until(lambda lab: False)", "the program ended before the demo was over"),
)


@pytest.mark.parametrize(("step", "problem"), SCRIPT_ERRORS)
async def test_an_error_in_the_script_ends_the_demo_with_a_one_line_problem(step, problem, tmp_path):
    (tmp_path / "mine.py").write_text(f"async def play(stage):\n    await {step}")
    app = fake_app()
    done = await play(load(str(tmp_path / "mine.py")), app, Captures("mine", "", ()), lambda line: None)
    assert not done.completed
    assert done.problem.startswith(f"mine.py: {problem}")
    assert "\n" not in done.problem
    assert all(lane.idle for lane in app.lab.lanes)


async def test_waiting_for_a_failed_worker_stops_at_once():
    async def script(stage):
        await stage.switch("asyncio")
        await stage.until(lambda lab: stage.lane("asyncio").live > 5, limit=600)

    workers = FakeWorkers(faults={"asyncio": [Fault(0.5, Ended("killed by SIGKILL"))]})
    done, _, _ = await play_script(script, fake_app(workers=workers))
    assert "asyncio has failed: " in done.problem
    assert "SIGKILL" in done.problem


UNAVAILABLE_STEPS = (
    lambda stage: stage.switch("uvloop"),
    lambda stage: stage.drag("uvloop", "10k"),
    lambda stage: stage.choose("uvloop"),
    lambda stage: stage.until(lambda lab: stage.lane("uvloop").on, limit=600),
)


async def test_steps_on_an_unavailable_engine_fail_at_once_or_are_skipped_if_optional():
    async def script(stage):
        for step in UNAVAILABLE_STEPS:
            await step(stage)

    async def failing(stage):
        for step in UNAVAILABLE_STEPS:
            with pytest.raises(DemoFailed, match=re.escape(REASON)):
                await step(stage)

    done, _, _ = await play_script(failing, fake_app((UNAVAILABLE,)))
    assert done.completed
    done, lines, _ = await play_script(script, fake_app((UNAVAILABLE,)), optional=("uvloop",))
    assert done.completed
    assert lines[:2] == [" 1  switch uvloop", f"    skipped: {REASON}"]
    assert lines[1::2] == [lines[1]] * 4


async def test_a_last_step_may_quit_the_program():
    async def script(stage):
        await stage.shot("all")
        await stage.click("quit")

    done, _, captures = await play_script(script)
    assert done == PlayResult(completed=True)
    assert list(captures.shots) == ["all"]


def text_of(frame: Frame) -> str:
    """Return the text of a frame of a film."""
    return "\n".join("".join(segment.text for segment in row) for row in frame.rows)


async def test_a_film_starts_at_the_film_step():
    async def script(stage):
        await stage.caption("Before the film")
        await stage.caption("At its start")
        await stage.film()
        await stage.switch("asyncio")
        await stage.until(lambda lab: stage.lane("asyncio").on)

    _, _, captures = await play_script(script, formats=("gif",))
    ((name, film),) = captures.files()
    assert (name, film[:4]) == ("mine.gif", b"GIF8")
    shown = [text_of(frame) for frame in captures.frames]
    assert "At its start" in shown[0]
    assert not any("Before the film" in text for text in shown)


async def test_each_caption_is_shown_for_two_seconds_of_the_film(monkeypatch):
    monkeypatch.setattr(caption_line, "CAPTION_SECONDS", 2.0)
    began = virtual_time.now()

    async def script(stage):
        await stage.caption("First")
        await stage.film(speed=3)
        await stage.caption("Second")
        await stage.press("b")
        await stage.caption("Third")

    _, _, captures = await play_script(script, formats=("gif",))
    times = [
        next(frame.seconds for frame in captures.frames if text in text_of(frame))
        for text in ("First", "Second", "Third")
    ]
    assert times == pytest.approx([0.0, 2.0, 4.0], abs=0.2)
    assert captures.frames[-1].seconds >= 6.0 - 0.2, "the third, too"
    assert virtual_time.now() - began >= 3 * 2.0 + 2.0 + 2.0, "three times as fast up to the second"


class Cores:
    """The load of a machine of two cores, of which others use this share in one second after another."""

    def __init__(self, *shares: float) -> None:
        self.load, self._shares = Load(0.0, 0.0, 0.0, 2), iter(shares)

    async def sleep(self, seconds: float) -> None:
        busy = self.load.busy + 2 * seconds * next(self._shares)
        self.load = Load(self.load.time + seconds, busy, 0.0, 2)


async def test_a_film_waits_until_other_programs_leave_the_cores_alone():
    async def tried(*shares: float) -> tuple[str, list[str]]:
        cores, said = Cores(*shares), []
        return await wait_until_quiet(said.append, lambda: cores.load, cores.sleep), said

    assert await tried(0.01, 0.05, 0.0) == ("", [])
    waited = ["waiting until other programs use at most 10 % of the cores"]
    assert await tried(0.5, 0.01, 0.01, 0.3, 0.01, 0.01, 0.01) == ("", waited)
    assert await tried(math.nan, math.nan, math.nan) == ("", []), "it is not known here"
    problem, said = await tried(*[0.01, 0.01, 0.6] * 20)
    assert said == waited
    assert problem == (
        "within 60 s, other programs never left the cores alone for 3 s, and pictures would show that; "
        "--force makes them nevertheless"
    )


def test_a_picture_is_refused_on_a_busy_machine_unless_forced(fake_workers, tmp_path, monkeypatch):
    async def busy(say):
        return "others are busy"

    monkeypatch.setattr("concwatch.commands.screens.demo.wait_until_quiet", busy)
    (tmp_path / "mine.py").write_text("async def play(stage):\n    await stage.shot('a')")
    command = ("demo", tmp_path / "mine.py", f"--out={tmp_path}")
    result = invoke(*command, "--format=png")
    assert (result.exit_code, result.stderr) == (1, "concwatch: others are busy\n")
    assert invoke(*command, "--format=svg").exit_code == 0, "needs no quiet machine"
    assert invoke(*command, "--format=png", "--force").exit_code == 0
    assert (tmp_path / "mine-a.png").exists()


# Shipped demos.


@pytest.mark.parametrize("name", NAMES)
def test_captions_of_a_shipped_demo_fit_on_a_line_and_hold_on_any_machine(name):
    demo = load(name)
    assert demo.about.endswith(".")
    assert not demo.title.endswith(".")
    captions = re.findall(r'caption\(\s*"(.*)"\s*\)', demo.path.read_text("utf-8"))
    assert captions, "a picture needs a caption"
    # In a film, there must be room for the keys beside it.
    room = FILM_SIZE[0] - 28 if demo.filmed else (demo.size or PICTURE_SIZE)[0]
    assert max(map(len, captions)) <= room - 4, "a caption is one line"
    for text in (demo.title, demo.about, *captions):
        assert not re.search(r"\d ?(bytes|[KMG]iB)|about a minute|dozen|a tenth", text), text
    assert {engine.name for engine in demo.engines if engine.ways} == set(demo.optional), "engines to build"
    assert demo.filmed == (name in ("blocked", "hosts", "leak", "models", "sweep"))


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name == "small" else pytest.mark.apart)
        for name in sorted(
            set(NAMES)
            - {"blocked", "experiment", "hosts", "leak", "pool", "runtimes", "connections", "sweep"}
        )
    ],
)
async def test_a_shipped_demo_takes_the_pictures_of_the_gallery(name):
    demo, captures = load(name), Captures(name, "", ("png",))
    done = await play(demo, fake_app(speed=10), captures, lambda line: None)
    assert done == PlayResult(completed=True)
    assert [f"{name}-{shot}.png" for shot in captures.shots] == [
        path.name for path in sorted((ROOT / "screenshots").glob(f"{name}-*.png"))
    ]


@pytest.mark.real
@pytest.mark.apart
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", ["blocked", "leak"])
def test_a_shipped_demo_of_a_watched_program_is_played_to_its_end(name, tmp_path):
    """These need what really happens in a program: fakes would be told what to find."""
    command = command_line("demo", name, f"--out={tmp_path}", "--format=svg")
    done = subprocess.run(command, capture_output=True, text=True, timeout=290, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [path.name for path in tmp_path.iterdir()] == [f"{name}-found.svg"]


# The command.


@pytest.fixture
def fake_workers(monkeypatch):
    """Let the command play on fake workers."""
    use_lab(monkeypatch, open_link=FakeWorkers(), machine=LocalMachine(lambda: MEMORY, lambda: LIMITS))


def play_file(folder: Path, script: str, *options: str):
    """Run the command on a file of this script, which saves its pictures to ``out``."""
    (folder / "mine.py").write_text(f"async def play(stage):\n    {script}\n")
    return invoke("demo", folder / "mine.py", f"--out={folder / 'out'}", "--force", *options)


def test_a_demo_file_plays_and_its_pictures_are_saved(fake_workers, tmp_path):
    script = """
    await stage.switch('asyncio')
    await stage.until(lambda lab: stage.lane('asyncio').on)
    await stage.caption('One\\nTwo')
    await stage.shot('a')
    await stage.shot('b', 'rss')
    await stage.drag('asyncio', '10k')
    await stage.until(lambda lab: stage.sees('1 asyncio task takes'))
    await stage.shot('c', 'rss', (1280, 640))"""
    result = play_file(tmp_path, script.strip(), "--format=svg,png", "--theme=concwatch-light")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.splitlines()[2:] == [
        " 3  caption: One / Two",
        " 4  shot a",
        " 5  shot b of rss",
        " 6  drag asyncio to 10k",
        " 7  wait until a condition holds",
        " 8  shot c of rss",
    ]
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names == [f"mine-{shot}.{kind}" for shot in "abc" for kind in ("png", "svg")]
    screen, slide, shared = ((tmp_path / "out" / f"mine-{shot}.svg").read_text() for shot in "abc")
    assert re.search(r"▸ One *\n *Two", screen_text(screen))
    assert 'fill="#f' in screen, "the light theme"
    assert ">RSS<" in slide
    assert 'width="1280" height="640"' in shared
    assert ">1 asyncio task takes" in shared


def test_a_film_shows_pressed_keys_beside_the_caption(fake_workers, tmp_path):
    caption = "await stage.caption('Compare')"
    shown = "await stage.until(lambda lab: stage.sees('▸ Compare' + 87 * ' ' + 'b'))"
    script = f"{caption}\n    await stage.film()\n    await stage.press('b')\n    {shown}"
    assert play_file(tmp_path, script, "--format=gif").exit_code == 0
    with Image.open(tmp_path / "out" / "mine.gif") as film:
        assert film.is_animated


def test_a_failed_demo_reports_the_reason_and_writes_nothing(fake_workers, tmp_path):
    script = "await stage.shot('a')\n    await stage.until(lambda lab: lab.lanes == [], limit=0.1)"
    result = play_file(tmp_path, script, "--format=svg,gif")
    assert result.exit_code == 1
    assert result.stderr == (
        "concwatch: mine.py: line 3: wait until a condition holds: not within 100 ms; "
        "seen instead: all lanes are off\n"
    )
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def play(", "mine.py: line 1: SyntaxError: '(' was never closed"),
        ("x = 1", 'mine.py: there is no function "async def play(stage)"'),
        ("def play(stage): pass", 'mine.py: there is no function "async def play(stage)"'),
        ("x = 1\nraise SystemExit('no')", "mine.py: line 2: SystemExit: no"),
        ("import no_such_module", "mine.py: line 1: ModuleNotFoundError"),
        ("\0", "mine.py: "),
        ("SIZE = (80, 24)\nasync def play(stage): pass", "Expected `str`, got `array` - at `$.SIZE`"),
        ("SIZE = '80'\nasync def play(stage): pass", 'mine.py: "80" is not a size'),
        ("THEME = 'drak'\nasync def play(stage): pass", 'unknown theme "drak"'),
        ("ENGINES = ('asyncoi',)\nasync def play(stage): pass", 'unknown engine "asyncoi"'),
        ("OPTIONAL = ('go',)\nasync def play(stage): pass", "OPTIONAL names go, but ENGINES does not"),
    ],
)
def test_an_invalid_demo_file_is_a_one_line_error(tmp_path, text, expected):
    (tmp_path / "mine.py").write_text(text)
    assert expected in refused("demo", tmp_path / "mine.py")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("modles",), 'did you mean "models"?'),
        (("none.py",), 'none.py" cannot be read (No such file or directory)'),
        (("models", "--all"), "NAME and --all cannot be combined"),
        (("models", "--format", "pgn"), 'unknown format "pgn"; did you mean "png"? expected one of svg'),
        (("models", "--size", "80"), '"80" is not a size; expected columns and rows'),
        (("models", "--size", "80x24", "--screen"), "--screen cannot be used with --size or --all"),
        (("models", "--screen"), "--screen: the screen needs a terminal"),
        (("models", "--out", "/dev/null/x"), "cannot be written to"),
        (("--format", "png"), "--format needs a demo: NAME, FILE.py or --all"),
    ],
)
def test_invalid_arguments_are_a_one_line_error(arguments, expected):
    assert expected in refused("demo", *arguments)


def test_without_a_name_the_demos_are_listed():
    result = invoke("demo")
    assert result.exit_code == 0
    for name in NAMES:
        assert f"{name} " in result.stdout
        assert load(name).about in result.stdout


def test_a_missing_library_is_named_as_pip_names_it(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name != "PIL" or None)
    with pytest.raises(PicturesUnavailable, match=r"^pillow is not installed"):
        check_formats(["svg", "gif"])


@pytest.mark.real
def test_all_plays_each_demo_and_film_in_its_own_process(tmp_path, monkeypatch):
    started = []

    def concwatch_command(*arguments):
        started.append(arguments[:3])
        return [sys.executable, "-c", f"raise SystemExit({len(started) % 2})"]

    monkeypatch.setattr("concwatch.commands.screens.demo.concwatch_command", concwatch_command)
    result = invoke("demo", "--all", f"--out={tmp_path}")
    assert result.exit_code == 1, "the highest exit status"
    films = [("demo", name, "--format=gif") for name in ("blocked", "hosts", "leak", "models", "sweep")]
    assert sorted(started) == sorted([("demo", name, "--format=png") for name in NAMES] + films)


# Real workers.

WAITING = """\
    await stage.caption("Play along")
    await stage.shot("on")
    await stage.until(lambda lab: stage.lane("asyncio").live >= 5, limit=600)
"""


@pytest.mark.real
def test_a_signal_ends_the_demo_and_its_workers_and_keeps_earlier_files(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.gif").write_text("earlier")
    (tmp_path / "mine.py").write_text(f"async def play(stage):\n    await stage.switch('asyncio')\n{WAITING}")
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "concwatch",
            "demo",
            "mine.py",
            "--out=out",
            "--force",
            "--format=svg,gif",
        ],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert any(line.startswith(" 4  wait until") for line in process.stdout)
    workers = psutil.Process(process.pid).children(recursive=True)
    assert workers
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == -signal.SIGTERM, err
    assert_ended(workers)
    assert err == "concwatch: mine.py: ended by SIGTERM before the demo was over\n"
    assert [path.read_text() for path in (tmp_path / "out").iterdir()] == ["earlier"]


SAVED = ("--out=out", "--format=svg,gif", "--screen", "--force")


def on_terminal(folder: Path, script: str, *options: str) -> Terminal:
    (folder / "mine.py").write_text(f"async def play(stage):\n{script}")
    code = f"import os; os.chdir({str(folder)!r}); from concwatch.__main__ import main; main()"
    return Terminal("-c", code, "demo", "mine.py", *options)


@pytest.mark.real
@pytest.mark.parametrize("options", [(), ("--screen",)])
def test_a_demo_on_the_screen_writes_files_only_if_asked(options, tmp_path):
    with on_terminal(tmp_path, "    await stage.shot('on')\n", *options) as terminal:
        assert terminal.wait_exit() == 0
        assert " 1  shot on" in terminal.text()
    assert [path.name for path in tmp_path.iterdir() if path.name != "__pycache__"] == ["mine.py"]


@pytest.mark.real
def test_a_demo_on_the_screen_accepts_the_users_keys_and_prints_its_steps_afterwards(tmp_path):
    with on_terminal(tmp_path, WAITING, *SAVED) as terminal:
        terminal.until(lambda: "Play along" in terminal.text(), "the demo started")
        terminal.resize(100, 30)
        terminal.type("3+")
        assert terminal.wait_exit() == 0
        terminal.assert_restored()
        assert " 2  shot on" in terminal.text()
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names == ["mine-on.svg", "mine.gif"]
    with Image.open(tmp_path / "out" / "mine.gif") as film:
        assert film.size == (120 * WIDTH, 40 * HEIGHT)


@pytest.mark.real
def test_quitting_a_demo_on_the_screen_fails_and_leaves_no_worker(tmp_path):
    with on_terminal(tmp_path, f"    await stage.switch('asyncio')\n{WAITING}", *SAVED) as terminal:
        terminal.until(lambda: "● on" in terminal.text(), "a worker is running")
        workers = terminal.processes()
        terminal.type("\x03")
        assert terminal.wait_exit() == 1
        assert_ended(workers)
        terminal.assert_restored()
        assert "the program ended before the demo was over" in " ".join(terminal.text().split())
