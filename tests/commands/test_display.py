"""The initial state of the screen, and the state saved for the next start."""

import os
import select
import sys

import pytest

from concwatch.commands.basics.display import ScreenState, ask_terminal, load_state, save_state, state_path
from concwatch.monitor.lanes.lab import Lab
from concwatch.monitor.workers.catalog import SHOWN
from concwatch.ui.apps.app import ConcwatchApp, InitialState
from tests import virtual_time
from tests.fake_link import FakeWorkers
from tests.screen import experiment_lab, stage

if sys.platform != "win32":
    import termios


@pytest.fixture(autouse=True)
def state_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


def test_a_saved_state_is_loaded_unchanged():
    assert load_state() == ScreenState()
    for state in (ScreenState("nord", 300.0), ScreenState("", 15.0), ScreenState(symbols="blocks")):
        save_state(state)
        assert load_state() == state


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"theme": 7}', '{"theme": "gone", "window": 17.5, "symbols": "dots"}', "\x00"]
)
def test_an_invalid_state_file_is_ignored(text):
    save_state(ScreenState("nord"))
    state_path().write_text(text)
    assert load_state() == ScreenState()


def test_a_state_folder_that_cannot_be_written_is_ignored(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    save_state(ScreenState("nord"))
    assert load_state() == ScreenState()


async def test_theme_and_window_selected_on_the_screen_are_saved_and_logged():
    async with stage() as s:
        assert (s.app.selected_theme, s.app.window) == ("", None)
        s.app.theme = "nord"
        await s.press("right_square_bracket")
        assert (s.app.selected_theme, s.app.window) == ("nord", 15.0)
        assert s.app.symbols.chosen == ""
        s.app.symbols.choose_next()
        assert s.app.symbols.chosen == "octants"
        await s.sees("theme nord", "charts show 15 s", within=s.monitor.query_one("EventView"))


async def test_the_app_starts_with_the_theme_window_and_tasks_passed_to_it():
    initial = InitialState("dracula", 300.0, {"asyncio": 100})
    app = ConcwatchApp(
        lambda: Lab(SHOWN, open_link=FakeWorkers(), clock=virtual_time.now), experiment_lab, initial=initial
    )
    async with app.run_test(size=(120, 40)) as pilot:
        assert app.current_theme.name == "dracula"
        await pilot.pause(1)
        assert [lane.live for lane in app.lab.lanes] == [0, 0, 100, 0]
        assert (app.selected_theme, app.window) == ("", None), "nothing was selected on the screen"


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")
@pytest.mark.parametrize(
    ("answer", "name"),
    [
        (b"\x1bP>|kitty(0.40.1)\x1b\\\x1b[?62;c", "kitty(0.40.1)"),
        (b"\x1b[?1;2c", ""),
        (b"q", ""),
    ],
    ids=["says", "ignores the question", "never answers"],
)
def test_a_terminal_is_asked_for_its_name_and_left_as_it_was(answer, name, monkeypatch):
    monkeypatch.setattr("concwatch.commands.basics.display.ANSWER_TIMEOUT", 0.2)
    ours, theirs = os.openpty()
    try:
        before = termios.tcgetattr(theirs)
        os.write(ours, answer)
        assert ask_terminal(theirs, theirs) == name
        assert termios.tcgetattr(theirs) == before
        shown = b""  # the terminal's echo of the answer, and the question
        while b"\x1b[>0q\x1b[c" not in shown:
            assert select.select([ours], [], [], 10.0)[0], shown
            shown += os.read(ours, 100)
    finally:
        os.close(ours)
        os.close(theirs)
