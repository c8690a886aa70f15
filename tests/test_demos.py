"""Demos: their files, what they wait for, how they play, and that nothing is left behind."""

import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from PIL import Image
from textual.widget import Widget

from concwatch.cli import main
from concwatch.demos import hands, mouse
from concwatch.demos import takes as takes_module
from concwatch.demos.conditions import MEANINGS, OPERATORS, TOTAL, Condition, parse_condition
from concwatch.demos.demo import Head, parse_size
from concwatch.demos.figures import LAB_FIGURES, LANE_FIGURES
from concwatch.demos.hands import way
from concwatch.demos.keyboard import key_event, keys_problem
from concwatch.demos.kinds import KINDS
from concwatch.demos.loading import decode, load, shipped
from concwatch.demos.looks import Caption, Shot
from concwatch.demos.player import Played, play
from concwatch.demos.scene import Scene
from concwatch.demos.takes import Takes, check_formats
from concwatch.lab.catalog import SHOWN, find
from concwatch.lab.fake import Costs, FakeWorkers
from concwatch.lab.lab import Lab
from concwatch.lab.settings import Settings
from concwatch.pictures.drawing import PicturesMissing
from concwatch.pictures.film import HELD
from concwatch.pictures.glyphs import HEIGHT, WIDTH
from concwatch.ui.app import ConcwatchApp
from concwatch.ui.screens.monitor import MonitorScreen
from concwatch.worker.walls import Wall
from tests.faults.terminal import Terminal
from tests.screen import MEMORY, WALLS, svg_lines

ROOT = Path(__file__).resolve().parents[1]
NAMES = [path.stem for path in shipped()]
LANES = [engine.name for engine in SHOWN]
PATIENCE = 60.0
"""Seconds that a real program may take on a loaded machine."""

HEAD = 'name = "mine"\ntitle = "Mine"\nabout = "What one sees."\n'


def steps_of(*steps: str) -> bytes:
    return (HEAD + "".join(f"[[step]]\n{step}\n" for step in steps)).encode()


# What the shipped files say.


@pytest.mark.parametrize("name", NAMES)
def test_a_shipped_demo_is_called_like_its_file_and_says_what_one_sees(name):
    demo = load(name)
    assert demo.name == name
    assert demo.about.endswith(".")
    assert not demo.title.endswith(".")
    captions = [step.caption for step in demo.steps if isinstance(step, Caption)]
    assert captions, "a picture needs a caption"
    assert max(map(len, captions)) <= demo.size[0] - 4, "a caption is one line"
    assert [step for step in demo.steps if isinstance(step, Shot)], "the gallery needs a picture"


@pytest.mark.parametrize("name", NAMES)
def test_a_shipped_demo_says_nothing_that_another_machine_makes_false(name):
    demo = load(name)
    captions = [step.caption for step in demo.steps if isinstance(step, Caption)]
    for text in (demo.title, demo.about, *captions):
        assert not re.search(r"\d ?(bytes|[KMG]iB)|about a minute|dozen|a tenth", text), text
    built = {engine.name for engine in find(demo.engines) if engine.ways}
    assert built == set(demo.optional), "what must be built first may be missing"


def test_the_gallery_has_what_it_promises():
    wanted = {"models", "million", "collector", "tracing", "pool", "experiment", "light", "small"}
    assert wanted <= set(NAMES)
    assert [name for name in NAMES if load(name).film] == ["models"]
    assert load("small").size == (80, 24)
    assert load("light").theme == "concwatch-light"


# What is wrong with a file.


@pytest.mark.parametrize(
    ("step", "said", "expected"),
    [
        ('drg = { lane = "asyncio", to = "10k" }', 'unknown kind of step "drg"', 'did you mean "drag"?'),
        ("", "no kind of step", "expected one of switch, drag"),
        ('press = "t"\nshot = "a"', '"press" and "shot" in one step', "expected a step for each"),
        ('answer = { press = "n" }', 'key "answer.text"', "is missing"),
        ('answer = { press = "n 5", text = "5" }', '"n 5"', "expected the one key that opens the dialog"),
        ('answer = { press = "n", text = "" }', "answer", "expected a text that can be typed"),
        ("press = 5", 'key "press"', "expected text, got a whole number"),
        ('press = "t"\nlimit = 5', 'unknown key "limit"', "expected one of press"),
        ('press = ""', "press", "expected a key at least"),
        ('press = "t entr"', 'unknown key "entr"', 'did you mean "enter"?'),
        ('press = "ctrl+entr"', 'unknown key "ctrl+entr"', "expected a letter"),
        ('drag = "asyncio"', 'key "drag"', "expected a table, got text"),
        ('drag = { lane = "asyncio" }', 'key "drag.to"', "is missing"),
        (
            'drag = { lane = "asyncio", to = "10k", at = 5 }',
            'unknown key "drag.at"',
            "expected one of lane, to",
        ),
        ('drag = { lane = "asyncoi", to = "10k" }', 'unknown lane "asyncoi"', 'did you mean "asyncio"?'),
        ('drag = { lane = "asyncio", to = "30k" }', '"30k"', "expected a stop of the slider"),
        ('drag = { lane = "asyncio", to = "many" }', '"many"', "expected a whole number"),
        ('drag = { lane = "asyncio", to = "2M" }', '"2M"', "expected at most 1,000,000"),
        ('drag = { lane = "asyncio", to = -1 }', '"-1"', "expected a whole number"),
        ('type = { lane = "asyncio", tasks = true }', 'key "type.tasks"', "expected a whole number or text"),
        ('type = { lane = "gevent", tasks = 1 }', 'unknown lane "gevent"', "expected one of threads, pool"),
        ('switch = "nothing"', 'unknown lane "nothing"', "expected one of threads"),
        ('caption = "a\\u0001b"', "caption: U+0001", "expected characters that can be seen"),
        ('click = "\\u001b[2J"', "click: U+001B", "expected characters that can be seen"),
        ('click = " "', "click", "expected what can be read there"),
        ('click = { text = "on", lane = "x" }', 'unknown lane "x"', "expected one of"),
        ('workload = "slep:3"', '"slep:3"', 'did you mean "sleep"?'),
        ('theme = "concwatch-drak"', 'unknown theme "concwatch-drak"', 'did you mean "concwatch-dark"?'),
        ('wait = "soon"', '"soon" is no condition', 'expected "LANE.FIGURE >= VALUE"'),
        ('wait = "asyncio settled"\nlimit = 0', 'key "limit"', "expected seconds from 0 to 3,600"),
        ('wait = "asyncio settled"\nlimit = nan', 'key "limit"', "expected seconds from 0 to 3,600"),
        ('wait = "asyncio settled"\nlimit = "1 min"', 'key "limit"', "expected a number, got text"),
        ('shot = "Two Words"', '"Two Words"', "expected small letters, digits and hyphens"),
        ('shot = "failed"', '"failed"', "expected another name"),
        ('shot = "../up"', '"../up"', "expected small letters"),
        ('experiment = { name = "gc" }', 'unknown experiment "gc"', "expected one of batching"),
        ('experiment = { name = "gc-cost", quick = 1 }', 'key "experiment.quick"', "expected true or false"),
    ],
)
def test_a_wrong_step_is_one_line_with_file_number_and_what_was_expected(step, said, expected):
    with pytest.raises(ValueError, match=r"^mine\.toml: step 2: ") as caught:
        decode(steps_of('press = "t"', step), "mine.toml")
    line = str(caught.value)
    assert "\n" not in line
    assert said in line
    assert expected in line


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("name = ", "not TOML"),
        ("[[[[", "not TOML"),
        ('title = "x"', 'key "name" is missing'),
        (HEAD, 'key "step": expected one at least'),
        (HEAD + "step = 5", 'key "step": expected a list'),
        (HEAD + "step = [{press = 't'}, 5]", "mine.toml: step 2: expected a table, got a whole number"),
        (HEAD.replace("Mine", "a\\u001b[31m"), 'key "title": U+001B in the text: expected characters'),
        (HEAD.replace("What", "\\u0001"), 'key "about": U+0001 in the text: expected characters'),
        (HEAD + 'sise = "80x24"', 'unknown key "sise"'),
        (HEAD.replace("mine", "My demo"), "expected small letters, digits and hyphens"),
        (HEAD + 'size = "80"', 'key "size": "80" is not a size'),
        (HEAD + 'size = "8000x24"', "from 60x20 to 400x150"),
        (HEAD + 'theme = "drak"', 'key "theme": unknown theme "drak"'),
        (HEAD + 'optional = ["go"]\n[[step]]\npress = "t"', 'key "optional": unknown lane "go"'),
        (HEAD + 'engines = ["asyncoi"]', 'key "engines": unknown engine "asyncoi"'),
        (HEAD + "a" + ".a" * 3000 + " = 1", "mine.toml: "),
    ],
)
def test_a_wrong_head_is_one_line_with_file_key_and_what_was_expected(text, expected):
    with pytest.raises(ValueError, match=r"^mine\.toml: ") as caught:
        decode(text.encode(), "mine.toml")
    assert "\n" not in str(caught.value)
    assert expected in str(caught.value)


def test_two_shots_of_one_name_are_refused():
    with pytest.raises(ValueError, match=r'^mine\.toml: step 3: shot: a second "a"'):
        decode(steps_of('shot = "a"', 'press = "t"', 'shot = "a"'), "mine.toml")


@given(st.binary(max_size=200) | st.text(max_size=80).map(lambda text: steps_of(f"wait = '{text}'")))
def test_whatever_a_file_holds_it_is_read_or_refused_in_one_line(data):
    refusal = ""
    try:
        decode(data, "mine.toml")
    except ValueError as error:
        refusal = str(error)
    assert "\n" not in refusal


@given(st.text(max_size=12) | st.builds("{}x{}".format, st.integers(), st.integers()))
def test_a_size_is_columns_and_rows_or_refused(text):
    try:
        columns, rows = parse_size(text)
    except ValueError:
        return
    assert 60 <= columns <= 400
    assert 20 <= rows <= 150


# Conditions.


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("asyncoi.live > 5", 'unknown lane "asyncoi": expected one of threads, pool, asyncio, uvloop, total'),
        ("asyncio.life > 5", 'unknown figure of asyncio "life": expected one of live'),
        ("asyncio.life > 5", 'did you mean "live"?'),
        ("total.traced > 5", 'unknown figure of total "traced": expected one of live, rss, elapsed'),
        ("asyncio.live != 5", 'unknown sign "!=": expected one of >=, <=, ==, >, <'),
        ("asyncio.live > many", '"many" is not a number of tasks'),
        ("asyncio.rss > 5 apples", "expected bytes"),
        ("asyncio.lag > soon", "expected seconds"),
        ("asyncio.gc_share > 5", 'expected a share such as "5%"'),
        ("asyncio held", "is no condition"),
        ("asyncio held long", '"long" is not a time'),
        ("total settled", 'unknown lane "total"'),
        ("asyncio on and", "is no condition"),
        ("asyncio on and soon", '"soon" is no condition'),
        ("samples >= few", '"few" is not a number'),
        ("", '"" is no condition'),
        ("x" * 500, "is no condition"),
    ],
)
def test_a_wrong_condition_is_one_line_that_says_what_was_expected(text, said):
    with pytest.raises(ValueError) as caught:  # noqa: PT011  # its text is looked at below
        parse_condition(text, LANES)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def scene_at(seconds: float, *targets: tuple[str, int]) -> Scene:
    """A lab of fake workers that has run for so long."""
    now = [1_000.0]
    lab = Lab(
        SHOWN,
        settings=Settings(),
        open_link=FakeWorkers(),
        clock=lambda: now[0],
        memory=lambda: MEMORY,
        walls=lambda: WALLS,
    )
    scene = Scene(SimpleNamespace(lab=lab, runs=None))
    for name, tasks in targets:
        lab.set_target(scene.lane(name), tasks)
    for _ in range(round(seconds * 10)):
        now[0] += 0.1
        lab.step()
        scene.look()
    return scene


@pytest.fixture(scope="module")
def scene():
    """Asyncio has held 10,000 tasks for a while; nothing else is on."""
    return scene_at(8, ("asyncio", 10_000))


@pytest.mark.parametrize(
    ("text", "holds", "seen"),
    [
        ("asyncio.live >= 10k", True, "asyncio.live is 10,000"),
        ("asyncio.live > 10,000", False, "asyncio.live is 10,000"),
        ("asyncio.live == 10000", True, ""),
        (" asyncio.live  <10001 ", True, ""),
        ("asyncio.cost > 1KiB", True, "KiB"),
        ("asyncio.cost < 1KiB", False, "KiB"),
        ("threads.cost > 0", False, "threads.cost is –"),
        ("asyncio.traced > 0", False, "asyncio.traced is –"),
        ("total.rss > 20MiB", True, "MiB"),
        ("total.live >= 10k", True, ""),
        ("total.elapsed > 7.5 s", True, ""),
        ("asyncio.lag < 1s", True, ""),
        ("asyncio.ratio <= 1", True, ""),
        ("asyncio on", True, "asyncio is running"),
        ("asyncio off", False, "asyncio is running"),
        ("threads off", True, "threads is off"),
        ("asyncio settled", True, ""),
        ("threads settled", False, "threads holds 0 of 0, cost not known"),
        ("asyncio held 2s", True, "asyncio has held 10,000 for"),
        ("asyncio held 1min", False, "asyncio has held 10,000 for"),
        ("threads held 0s", False, "threads holds 0 of 0"),
        ("samples >= 20", True, " samples"),
        ("samples >= 1k", False, " samples"),
        ("experiment done", False, "no experiment has been started"),
        ("asyncio.completed_now >= 0", True, "/s"),
        ("asyncio on and asyncio.live >= 10k", True, "asyncio is running; asyncio.live is 10,000"),
        ("asyncio on and threads on", False, "asyncio is running; threads is off"),
    ],
)
def test_a_condition_tells_whether_it_holds_and_what_is_so(scene, text, holds, seen):
    condition = parse_condition(text, LANES)
    assert condition.holds(scene) is holds
    assert seen in condition.seen(scene)


def test_a_new_target_is_not_settled_by_the_cost_of_the_last_one():
    scene = scene_at(8, ("asyncio", 10_000))
    settled, held = parse_condition("asyncio settled", LANES), parse_condition("asyncio held 1s", LANES)
    assert settled.holds(scene)
    scene.lab.set_target(scene.lane("asyncio"), 20_000)
    assert not settled.holds(scene)
    assert not held.holds(scene)
    assert "asyncio holds 10,000 of 20,000" in held.seen(scene)


def test_what_holds_a_lane_back_is_told():
    workers = FakeWorkers(costs={"threads": Costs(most=500)})
    now = [1_000.0]
    lab = Lab(
        SHOWN,
        open_link=workers,
        clock=lambda: now[0],
        memory=lambda: MEMORY,
        walls=lambda: (Wall("pid_max", 9, 0),),
    )
    scene = Scene(SimpleNamespace(lab=lab, runs=None))
    lab.set_target(scene.lane("threads"), 1_000)
    for _ in range(50):
        now[0] += 0.1
        lab.step()
    assert "limited by" in parse_condition("threads.live >= 1k", LANES).seen(scene)


WORDS = st.sampled_from(
    [*LANES, TOTAL, *LANE_FIGURES, *LAB_FIGURES, *OPERATORS, "settled", "held", "samples", "."]
)
VALUES = st.sampled_from(["10k", "1.5", "5%", "2KiB", "10s", "0", "-1", "nan", "1e99", "9" * 30, "µs", "١"])


@settings(max_examples=300)
@given(
    st.text(max_size=60)
    | st.lists(WORDS | VALUES, max_size=6).map(" ".join)
    | st.builds("{}.{} {} {}".format, WORDS, WORDS, WORDS, VALUES | st.text(max_size=8))
)
def test_whatever_is_written_it_is_a_condition_or_refused_in_one_line(scene, text):
    said = ""
    try:
        condition: Condition = parse_condition(text, LANES)
    except ValueError as error:
        said = str(error)
    else:
        assert condition.holds(scene) in (True, False)
        said = condition.seen(scene)
    assert said
    assert "\n" not in said


# Hands.


@given(st.integers(0, 200), st.integers(0, 200), st.integers(1, 20))
def test_the_way_of_a_drag_ends_where_it_should_in_few_steps_one_way(start, end, most):
    cells = way(start, end, most)
    assert len(cells) <= most
    assert (cells or [start])[-1] == end
    assert cells == sorted(cells, reverse=end < start)


@pytest.mark.parametrize(
    ("key", "name", "character"),
    [
        ("t", "t", "t"),
        ("]", "right_square_bracket", "]"),
        ("+", "plus", "+"),
        (":", "colon", ":"),
        (".", "full_stop", "."),
        ("_", "underscore", "_"),
        ("enter", "enter", None),
        ("space", "space", " "),
        ("ctrl+p", "ctrl+p", None),
        ("plus", "plus", "+"),
        ("-", "minus", "-"),
        ("−", "minus", "-"),
        ("?", "question_mark", "?"),
        ("[", "left_square_bracket", "["),
        ("S", "S", "S"),
        ("pgup", "pageup", None),
        ("pagedown", "pagedown", None),
        ("pgdn", "pagedown", None),
        ("←", "left", None),
        ("shift+→", "shift+right", None),
        ("ctrl++", "ctrl+plus", None),
    ],
)
def test_a_key_is_called_as_a_terminal_calls_it(key, name, character):
    event = key_event(key)
    assert (event.key, event.character) == (name, character)
    assert list(keys_problem([key])) == []


def test_what_readme_says_can_be_pressed_is_a_key():
    table = (ROOT / "README.md").read_text("utf-8").partition("## Keys")[2].partition("## Commands")[0]
    named = re.findall(r"`([^` ]+)`", "".join(re.findall(r"(?m)^\| (.*?) \|", table)))
    others = ["esc", "escape", "enter", "pgup", "pgdn", "home", "end", "shift+left"]
    assert {"+", "-", "?", "[", "]", "ctrl+p", "space"} <= set(named)
    assert list(keys_problem([*named, *others])) == []


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("plus_sign", "+"),
        ("bell", ""),
        ("greek_small_letter_alpha", ""),
        ("escpe", "escape"),
        ("pgupp", "pgup"),
        ("shift+a", "A"),
        ("ctrl+P", "ctrl+p"),
        ("ctrl-at", ""),
        ("\x07", ""),
    ],
)
def test_a_key_that_no_terminal_sends_is_refused_with_the_nearest(key, meant):
    (problem,) = keys_problem([key])
    assert f'unknown key "{key}": expected ' in problem
    assert not meant or f'did you mean "{meant}"?' in problem


async def test_plus_asks_for_ten_thousand_more():
    done, _, _, _ = await played(steps_of('press = "3 +"', 'wait = "asyncio.target == 10k"\nlimit = 5'))
    assert done.problem == ""


# Playing, with fake workers.


@pytest.fixture(autouse=True)
def nimble(monkeypatch):
    """Hands and a mouse that nobody needs to follow with the eye."""
    monkeypatch.setattr(hands, "BEAT", 0.005)
    monkeypatch.setattr(mouse, "BEAT", 0.005)


def fake_app(walls=WALLS, engines=SHOWN, pictures=Path("screenshots")) -> ConcwatchApp:
    return ConcwatchApp(
        lambda: Lab(
            engines,
            settings=Settings(trace=True),
            open_link=FakeWorkers(),
            memory=lambda: MEMORY,
            walls=lambda: walls,
        ),
        pictures=pictures,
    )


async def played(data: bytes, formats=("svg",), app=None) -> tuple[Played, list[str], Takes, ConcwatchApp]:
    demo, lines = decode(data, "mine.toml"), []
    app, takes = app or fake_app(), Takes(demo.name, demo.title, formats)
    done = await play(demo, app, takes, lines.append)
    return done, lines, takes, app


def read(svg: str) -> str:
    return "\n".join(svg_lines(svg, 120, 40))


EVERYTHING = steps_of(
    'caption = "Everything a person does"',
    'switch = "asyncio"',
    'wait = "asyncio on"',
    'drag = { lane = "asyncio", to = "10k" }',
    'wait = "asyncio.live >= 10k"',
    'shot = "dragged"',
    'type = { lane = "uvloop", tasks = "12,345" }',
    'wait = "uvloop.live == 12345"',
    'workload = "payload:4KiB"',
    'press = "t ["',
    'answer = { press = "n", text = "64" }',
    'click = { lane = "pool", text = "○ off" }',
    'wait = "pool on"',
    'click = "default"',
    'theme = "concwatch-light"',
    'caption = "Something else is said"',
    'wait = "samples >= 5"',
    'switch = "asyncio"',
    'wait = "asyncio off"',
    'shot = "end"',
)
TOLD = """\
mine  1/20  caption: Everything a person does
mine  2/20  switch asyncio
mine  3/20  wait until asyncio on
mine  4/20  drag asyncio to 10,000
mine  5/20  wait until asyncio.live >= 10k
mine  6/20  shot dragged
mine  7/20  type 12,345 for uvloop
mine  8/20  wait until uvloop.live == 12345
mine  9/20  workload payload:4KiB
mine 10/20  press t [
mine 11/20  answer n with 64
mine 12/20  click "○ off" of pool
mine 13/20  wait until pool on
mine 14/20  click "default"
mine 15/20  theme concwatch-light
mine 16/20  caption: Something else is said
mine 17/20  wait until samples >= 5
mine 18/20  switch asyncio
mine 19/20  wait until asyncio off
mine 20/20  shot end"""


async def test_every_step_is_done_in_order_and_its_effect_is_there():
    done, lines, takes, app = await played(EVERYTHING)
    assert done == Played(steps=20, problem="", status=0)
    assert lines == TOLD.splitlines()
    assert list(takes.shots) == ["dragged", "end"]
    dragged, end = (read(svg) for svg in takes.shots.values())
    assert "▸ Everything a person does" in dragged
    assert "10,000 live" in dragged
    assert "▸ Something else is said" in end
    assert "Everything a person does" not in end
    assert "12,345 live" in end
    assert "payload:4KiB" in end
    assert app.lab.settings.trace is False
    assert app.lab.settings.gc == "frozen"
    assert app.lab.settings.threads == 64
    assert app.theme == "concwatch-light"
    marks = [(mark.lane, mark.kind, mark.text) for mark in app.lab.marks.since(0)]
    assert ("asyncio", "target", "10,000") in marks, "the drag landed on the exact number"
    assert ("uvloop", "target", "12,345") in marks
    assert ("threads", "switch", "on") not in marks
    assert all(lane.idle for lane in app.lab.lanes)


async def test_two_runs_say_the_same():
    steps = steps_of(
        'switch = "pool"', 'wait = "pool on"', 'caption = "On"', 'wait = "samples >= 3"', 'shot = "on"'
    )
    _, first, _, _ = await played(steps)
    _, second, _, _ = await played(steps)
    assert first == second == [line for line in first if line.startswith("mine ")]


async def test_every_kind_of_step_but_experiments_has_been_done():
    kinds = {next(key for key in table if key in KINDS) for table in _tables(EVERYTHING)}
    assert kinds == set(KINDS) - {"experiment"}


def _tables(data: bytes):
    import tomllib

    return tomllib.loads(data.decode())["step"]


async def test_a_caption_is_seen_in_front_of_a_dialog_and_when_it_is_gone():
    _, _, takes, _ = await played(
        steps_of(
            'press = "w"',
            'caption = "What each task does"',
            'shot = "dialog"',
            'press = "escape"',
            'shot = "lanes"',
            'press = "w"',
            'caption = "And again"',
            'shot = "dialog-again"',
        )
    )
    for name, caption in (("dialog", "What each"), ("lanes", "What each"), ("dialog-again", "And again")):
        lines = read(takes.shots[name]).splitlines()
        assert f"▸ {caption}" in lines[38], "above the keys"
        assert "q quit" in lines[39]
        assert ("what shall each task do?" in "".join(lines)) == name.startswith("dialog")


async def test_a_condition_that_is_never_met_ends_the_demo_with_a_last_picture():
    done, lines, takes, app = await played(
        steps_of(
            'drag = { lane = "asyncio", to = "1k" }',
            'wait = "asyncio settled"',
            'wait = "asyncio.live >= 20k"\nlimit = 0.3',
            'shot = "never"',
        )
    )
    assert done.status == 1
    assert done.steps == 2
    assert done.problem == (
        "step 3: wait until asyncio.live >= 20k: not within 300 ms; seen instead: asyncio.live is 1,000"
    )
    assert lines[-1] == "mine 3/4  wait until asyncio.live >= 20k"
    assert list(takes.shots) == ["failed"]
    assert "1,000 live" in read(takes.shots["failed"])
    assert all(lane.idle for lane in app.lab.lanes)


async def test_a_drag_beyond_what_the_slider_has_is_a_failed_step_that_says_what_to_do():
    app = fake_app(walls=(Wall("pid_max", 600, 100),))
    done, _, _, _ = await played(steps_of('drag = { lane = "threads", to = "10k" }'), app=app)
    assert done.status == 1
    assert done.problem.startswith("step 1: drag threads to 10,000: a drag of this slider lands on 500:")
    assert "type, which sets any number" in done.problem


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ('click = "not to be read"', 'expected "not to be read" to be read on the screen'),
        ('click = { lane = "pool", text = "RSS" }', "on the card of pool"),
    ],
)
async def test_what_cannot_be_read_cannot_be_clicked(step, said, monkeypatch):
    monkeypatch.setattr(hands, "PROMPT", 0.3)
    done, _, _, _ = await played(steps_of(step))
    assert done.status == 1
    assert said in done.problem


async def test_a_slider_that_comes_into_sight_late_is_drawn_when_it_can_be_seen(monkeypatch):
    at_once = Widget.scroll_visible

    def late(widget, **how):
        widget.set_timer(0.5, partial(at_once, widget, **how))

    monkeypatch.setattr(Widget, "scroll_visible", late)
    monkeypatch.setattr(hands, "PROMPT", 3.0)
    steps = b'size = "100x24"\n' + steps_of('drag = { lane = "uvloop", to = "1k" }')
    done, _, _, app = await played(steps)
    assert done.problem == ""
    assert app.lab.marks.since(0)[-1].lane == "uvloop"


async def test_a_lane_cannot_be_reached_behind_a_dialog():
    done, _, _, _ = await played(steps_of('press = "w"', 'drag = { lane = "pool", to = "1k" }'))
    assert "step 2: drag pool to 1,000: expected the lanes in front" in done.problem


async def test_quitting_in_between_is_told():
    done, _, _, app = await played(
        steps_of('switch = "asyncio"', 'wait = "asyncio on"', 'press = "q"', 'wait = "asyncio.live >= 5"')
    )
    assert done.problem.endswith("the program ended before it was done")
    assert all(lane.idle for lane in app.lab.lanes)


@pytest.mark.parametrize("last", ['press = "q"', 'click = "quit"'])
async def test_a_last_step_that_ends_the_program_is_done(last):
    done, _, takes, app = await played(steps_of('shot = "all"', last))
    assert done == Played(steps=2, problem="", status=0)
    assert list(takes.shots) == ["all"]
    assert all(lane.idle for lane in app.lab.lanes)


async def test_a_picture_that_the_last_step_asks_for_is_drawn_too(tmp_path):
    pytest.importorskip("resvg_py")
    done, _, _, _ = await played(steps_of('press = "s S"'), app=fake_app(pictures=tmp_path))
    assert done.problem == ""
    assert [path.suffix for path in sorted(tmp_path.iterdir())] == [".png", ".svg"] * 2


async def test_what_a_dialog_objects_to_fails_at_once_with_what_it_says(monkeypatch):
    monkeypatch.setattr(hands, "PROMPT", 600)
    done, _, _, _ = await played(steps_of('answer = { press = "n", text = "0" }'))
    assert done.problem == (
        "step 1: answer n with 0: expected the dialog to take 0; it says: "
        "a pool of 0 threads runs nothing: expected a number from 1 to 100,000"
    )


BARRED = replace(find(["uvloop"])[0], needs=("nothing_like_this",), install="look elsewhere")
REASON = "needs nothing_like_this: look elsewhere"


def barred_app() -> ConcwatchApp:
    return fake_app(engines=(*find(["threads", "asyncio"]), BARRED))


@pytest.mark.parametrize(
    "step",
    [
        'switch = "uvloop"',
        'drag = { lane = "uvloop", to = "10k" }',
        'type = { lane = "uvloop", tasks = 5 }',
        'wait = "uvloop on"\nlimit = 600',
    ],
)
async def test_a_step_about_an_engine_that_cannot_run_fails_at_once_with_the_reason(step, monkeypatch):
    monkeypatch.setattr(hands, "PROMPT", 600)
    head = b'engines = ["threads", "asyncio", "uvloop"]\n'
    done, _, _, _ = await played(HEAD.encode() + head + steps_of(step)[len(HEAD) :], app=barred_app())
    assert done.problem.startswith("step 1: ")
    assert done.problem.endswith(f"uvloop cannot run here: {REASON}")


async def test_steps_about_an_optional_engine_that_cannot_run_are_skipped_with_the_reason():
    head = b'engines = ["threads", "asyncio", "uvloop"]\noptional = ["uvloop"]\n'
    steps = steps_of(
        'switch = "uvloop"',
        'drag = { lane = "uvloop", to = "10k" }',
        'wait = "uvloop settled"',
        'switch = "asyncio"',
        'wait = "asyncio on"',
        'shot = "all"',
    )[len(HEAD) :]
    done, lines, takes, _ = await played(HEAD.encode() + head + steps, app=barred_app())
    assert done == Played(steps=6, problem="", status=0)
    assert lines[:4] == [
        f"mine 1/6  switch uvloop; skipped: {REASON}",
        f"mine 2/6  drag uvloop to 10,000; skipped: {REASON}",
        f"mine 3/6  wait until uvloop settled; skipped: {REASON}",
        "mine 4/6  switch asyncio",
    ]
    assert list(takes.shots) == ["all"]


def test_an_experiment_that_was_stopped_or_broke_off_is_not_done():
    done = parse_condition("experiment done", LANES)

    def at(**runs) -> tuple[bool, bool, str]:
        state = {"running": None, "last": "gc-cost", "stopping": False, "problems": {}, "told": "", **runs}
        scene = SimpleNamespace(runs=SimpleNamespace(**state))
        return done.holds(scene), done.hopeless(scene), done.seen(scene)

    assert at()[0]
    assert at(running="gc-cost", told="experiment 5 %") == (False, False, "experiment 5 %")
    assert at(stopping=True) == (False, True, "gc-cost was stopped")
    assert at(problems={"gc-cost": "why"}) == (False, True, "gc-cost broke off: why")
    assert at(problems={"batching": "an earlier one"})[0]
    assert at(last=None) == (False, True, "no experiment has been started")


async def test_a_crash_of_the_program_is_told_and_leaves_no_worker(monkeypatch):
    def fall(self):
        raise RuntimeError("what nobody foresaw")

    monkeypatch.setattr(MonitorScreen, "action_pause", fall)
    done, _, _, app = await played(
        steps_of('switch = "asyncio"', 'wait = "asyncio on"', 'press = "p"', 'wait = "asyncio.live >= 5"')
    )
    assert done.status == 1
    assert "the program ended before it was done" in done.problem
    assert all(lane.idle for lane in app.lab.lanes)


async def test_a_film_has_frames_and_the_cast_what_was_written():
    _, _, takes, _ = await played(
        steps_of('caption = "Said in the film"', 'switch = "asyncio"', 'wait = "asyncio on"'),
        formats=("gif", "cast"),
    )
    files = dict(takes.films())
    assert set(files) == {"mine.cast", "mine.gif"}
    header, *events = (json.loads(line) for line in files["mine.cast"].splitlines())
    assert (header["width"], header["height"], header["title"]) == (120, 40, "Mine")
    assert "Said in the film" in "".join(text for _, _, text in events)
    assert files["mine.gif"][:4] == b"GIF8"
    (shown, _, _), (taken_back, _, _) = events[-2:]
    assert taken_back - shown >= HELD, "there is time to look at the last frame"


# The command.


def refused(*arguments: str) -> str:
    result = CliRunner().invoke(main, ("demo", *arguments))
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    return line


def test_without_a_name_it_lists_the_demos():
    result = CliRunner().invoke(main, ("demo",))
    assert result.exit_code == 0
    for name in NAMES:
        assert f"{name} " in result.stdout
        assert load(name).about in result.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("modles",), 'did you mean "models"?'),
        (("none.toml",), "none.toml: No such file or directory: expected the file of a demo"),
        (("models", "--all"), "NAME and --all: expected one of them"),
        (
            ("models", "--format", "pgn"),
            'unknown format "pgn": expected one of svg, png, gif, cast; did you mean "png"?',
        ),
        (("models", "--size", "80"), '"80" is not a size: expected columns and rows'),
        (("models", "--size", "80x24", "--screen"), "expected one of them"),
        (("--all", "--screen"), "expected one of them"),
        (("models", "--screen"), "--screen: the screen needs a terminal"),
        (("models", "--out", "/dev/null/x"), "expected a folder with room to write in"),
        (("--format", "png"), "--format without a demo: expected a NAME, a FILE.toml or --all"),
        (("--screen",), "--screen without a demo: expected a NAME, a FILE.toml or --all"),
    ],
)
def test_bad_input_is_one_line(arguments, said):
    assert said in refused(*arguments)


def test_a_wrong_file_is_one_line(tmp_path):
    (tmp_path / "mine.toml").write_bytes(steps_of('press = "t"', 'wait = "soon"'))
    assert 'mine.toml: step 2: wait: "soon" is no condition' in refused(str(tmp_path / "mine.toml"))


@pytest.mark.parametrize(("module", "package"), [("resvg_py", "resvg-py"), ("PIL", "pillow")])
def test_what_is_missing_for_a_film_is_called_as_pip_calls_it(module, package, monkeypatch):
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == module else find_spec(name))
    with pytest.raises(PicturesMissing, match=f"^{package} is not installed"):
        check_formats(["gif"])


def test_a_step_that_fails_is_told_with_file_and_step(tmp_path):
    (tmp_path / "own.toml").write_bytes(steps_of('wait = "samples >= 1M"\nlimit = 0.1'))
    result = CliRunner().invoke(main, ("demo", str(tmp_path / "own.toml"), "--out", str(tmp_path)))
    assert result.exit_code == 1
    assert "concwatch: own.toml: step 1: wait until samples >= 1M: not within 100 ms" in result.stderr


def test_without_what_draws_it_says_what_to_install_before_it_plays(tmp_path, monkeypatch):
    monkeypatch.setitem(takes_module.FORMATS, "png", ("nothing_like_this",))
    line = refused("models", "--format", "svg,png", "--out", str(tmp_path))
    assert "pip install 'concwatch[shots]'" in line
    assert list(tmp_path.iterdir()) == []


def test_help_tells_how_a_demo_is_written():
    text = CliRunner().invoke(main, ("demo", "--help")).stdout
    lines = [line.strip() for line in text.splitlines()]
    for name in Head.__struct_fields__:
        assert any(line.startswith(f"{name} ") for line in lines), name
    for kind, step in KINDS.items():
        assert step.example.startswith(f"{kind} = ")
        assert step.example in text
        decode(steps_of(step.example), "mine.toml")
    for form in MEANINGS:
        assert form in text
        written = form.replace("LANE.FIGURE", "asyncio.live").replace("LANE", "asyncio")
        parse_condition(written.replace("VALUE", "5"), LANES)
    for name, figure in (LANE_FIGURES | LAB_FIGURES).items():
        assert re.search(rf"(?m)^ +{figure.kind.example} .*\b{name}\b", text), name
        figure.kind.read(figure.kind.example)


def test_the_demo_in_readme_can_be_loaded():
    text = (ROOT / "README.md").read_text("utf-8").partition("**Writing a demo.**")[2]
    demo = decode(text.partition("```toml\n")[2].partition("```")[0].encode(), "README.md")
    assert {type(step) for step in demo.steps} >= {Caption, Shot}


# Real workers.


def start(tmp_path: Path, *steps: str, formats: str = "svg,cast") -> subprocess.Popen:
    (tmp_path / "mine.toml").write_bytes(steps_of(*steps))
    return subprocess.Popen(
        [sys.executable, "-m", "concwatch", "demo", "mine.toml", "--out", "out", "--format", formats],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def children_of(process: subprocess.Popen) -> list[psutil.Process]:
    """Wait until it has a worker."""
    deadline = time.monotonic() + PATIENCE
    monitor = psutil.Process(process.pid)
    while not (found := monitor.children(recursive=True)):
        assert time.monotonic() < deadline, "no worker"
        time.sleep(0.05)
    return found


def assert_gone(processes: list[psutil.Process]) -> None:
    _, alive = psutil.wait_procs(processes, timeout=PATIENCE)
    assert alive == []


def test_a_demo_with_real_workers_leaves_its_files_and_nothing_else(tmp_path):
    process = start(
        tmp_path,
        'caption = "Five thousand real tasks"',
        'drag = { lane = "asyncio", to = "5k" }',
        'wait = "asyncio settled"',
        'shot = "held"',
    )
    workers = children_of(process)
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, err
    assert out.splitlines() == [
        "mine 1/4  caption: Five thousand real tasks",
        "mine 2/4  drag asyncio to 5,000",
        "mine 3/4  wait until asyncio settled",
        "mine 4/4  shot held",
    ]
    assert_gone(workers)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["mine-held.svg", "mine.cast"]
    picture = read((tmp_path / "out" / "mine-held.svg").read_text())
    assert "5,000 live" in picture
    assert "▸ Five thousand real tasks" in picture
    lines = (tmp_path / "out" / "mine.cast").read_text().splitlines()
    assert json.loads(lines[0])["version"] == 2
    assert "5,000" in "".join(json.loads(line)[2] for line in lines[1:])


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_a_signal_ends_it_with_its_workers_and_films_of_an_earlier_run_stay(tmp_path, number, status):
    films = [tmp_path / "out" / name for name in ("mine.gif", "mine.cast")]
    (tmp_path / "out").mkdir()
    for path in films:
        path.write_text("of an earlier run")
    process = start(
        tmp_path,
        'switch = "asyncio"',
        'wait = "asyncio on"',
        'shot = "on"',
        'wait = "asyncio.live >= 5"\nlimit = 600',
        formats="svg,gif,cast",
    )
    for line in process.stdout:
        if "4/4" in line:
            break
    workers = children_of(process)
    process.send_signal(number)
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == status, err
    assert_gone(workers)
    assert "Traceback" not in err
    assert f"mine.toml: step 4: ended by {signal.Signals(number).name} before it was done" in err
    assert "no gif and no cast of mine: it did not get to its end" in err
    assert {path.read_text() for path in films} == {"of an earlier run"}
    assert (tmp_path / "out" / "mine-on.svg").exists(), "what had been taken is kept"


def on_terminal(tmp_path: Path, *steps: str, formats: str = "svg,cast") -> Terminal:
    (tmp_path / "mine.toml").write_bytes(steps_of(*steps))
    place = (str(tmp_path / "mine.toml"), "--out", str(tmp_path / "out"))
    return Terminal("-m", "concwatch", "demo", *place, "--format", formats, "--screen")


def test_on_the_screen_it_is_seen_and_its_steps_are_told_in_the_end(tmp_path):
    with on_terminal(
        tmp_path,
        'caption = "Seen on the terminal"',
        'switch = "asyncio"',
        'wait = "asyncio on"',
        'shot = "on"',
    ) as terminal:
        assert terminal.ended() == 0
        terminal.assert_sane()
        shown, _, told = terminal.text().partition("mine 1/4  caption: Seen on the terminal")
        assert "Seen on the terminal" in shown
        assert "mine 4/4  shot on" in told
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["mine-on.svg", "mine.cast"]
    _, *events = map(json.loads, (tmp_path / "out" / "mine.cast").read_text().splitlines())
    kept = "".join(data for _, _, data in events)
    assert "Seen on the terminal" in kept
    assert events[-1][0] - events[-2][0] >= HELD
    # Where it is played nothing is asked of the terminal, and its mouse is left alone.
    modes = re.findall(r"\x1b\[[?<=>][\d;]*\$?[a-zA-Z]", kept)
    assert modes == ["\x1b[?1049h", "\x1b[?25l", "\x1b[?25h", "\x1b[?1049l"]


def test_a_terminal_that_is_resized_meanwhile_has_its_film_and_its_cast(tmp_path):
    steps = 'caption = "Play along"', 'wait = "asyncio.live >= 10k"\nlimit = 600'
    with on_terminal(tmp_path, *steps, formats="gif,cast") as terminal:
        terminal.until(lambda: "Play along" in terminal.text(), "it has begun")
        terminal.resize(100, 30)
        terminal.type("3+")
        assert terminal.ended() == 0
        assert "Traceback" not in terminal.text()
    header, *events = map(json.loads, (tmp_path / "out" / "mine.cast").read_text().splitlines())
    assert (header["width"], header["height"]) == (120, 40)
    assert [data for _, kind, data in events if kind == "r"] == ["100x30"]
    with Image.open(tmp_path / "out" / "mine.gif") as film:
        assert film.size == (120 * WIDTH, 40 * HEIGHT)


def test_leaving_it_on_the_screen_is_no_success_and_leaves_no_worker(tmp_path):
    with on_terminal(tmp_path, 'switch = "asyncio"', 'wait = "asyncio.live >= 5"\nlimit = 600') as terminal:
        terminal.until(lambda: "● on" in terminal.text(), "a worker stands")
        workers = terminal.workers()
        terminal.type("\x03")
        assert terminal.ended() == 1
        assert_gone(workers)
        terminal.assert_sane()
        assert "the program ended before it was done" in " ".join(terminal.text().split())
