"""Leaving a screen, or the program, faster than it can follow."""

import asyncio

import pytest

from concwatch.lab.catalog import SHOWN
from concwatch.lab.lab import Lab
from concwatch.ui.app import ConcwatchApp
from concwatch.ui.screens.monitor import MonitorScreen
from tests.fake import FakeWorkers
from tests.screen import stage


@pytest.mark.parametrize(
    ("key", "text"),
    [("enter", "5"), ("w", "hold"), ("m", "note"), ("n", "7"), ("question_mark", ""), ("e", "")],
)
async def test_a_dialog_answered_twice_at_once_is_answered_once(key, text):
    async with stage() as s:
        await s.press(key)
        await s.until(lambda: not isinstance(s.app.screen, MonitorScreen), "a screen before the lanes")
        for letter in text:
            await s.press(letter)
        twice = "enter" if text else "escape"
        s.press_at_once(twice, twice, twice)
        await s.until(lambda: isinstance(s.app.screen, MonitorScreen), "the lanes")
        await s.settle()
        assert s.app.is_running
        assert s.app.return_code is None


async def test_a_screen_that_was_left_can_be_left_again():
    async with stage() as s:
        for _ in range(2):
            await s.press("e")
            await s.until(lambda: not isinstance(s.app.screen, MonitorScreen), "the experiments")
            s.press_at_once("escape", "escape")
            await s.until(lambda: isinstance(s.app.screen, MonitorScreen), "the lanes")


@pytest.mark.parametrize("key", ["m", "enter", "w", "e", "n", "question_mark", "i"])
async def test_a_key_right_behind_the_one_that_quits_does_no_harm(key):
    async with stage() as s:
        s.press_at_once("q", key)
        await s.until(lambda: not s.app.is_running, "the end")
        assert s.app.return_code == 0


@pytest.mark.parametrize("turns", range(30))
async def test_a_program_that_ends_while_its_first_screen_is_laid_out_ends_in_order(turns):
    """As when a page is closed at once; asked for after some turns of the loop, and so at many a moment."""
    app = ConcwatchApp(lambda: Lab(SHOWN, open_link=FakeWorkers()))

    async def leave() -> None:
        while not app.screen_stack:  # noqa: ASYNC110  # Textual tells nobody
            await asyncio.sleep(0)
        for _ in range(turns):
            await asyncio.sleep(0)
        app.exit(return_code=129)

    leaving = asyncio.create_task(leave())
    await app.run_async(headless=True, size=(120, 40))
    await leaving
    assert app.return_code == 129
