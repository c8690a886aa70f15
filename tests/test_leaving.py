"""Leaving a screen, or the program, faster than it can follow."""

import asyncio

import pytest

from concwatch.lab.catalog import SHOWN
from concwatch.lab.lab import Lab
from concwatch.ui.app import ConcwatchApp
from tests.fake import FakeWorkers
from tests.screen import stage


async def test_a_screen_answered_twice_at_once_is_left_once_and_can_be_left_again():
    async with stage() as s:
        for key, text in (
            ("enter", "5"), ("w", "hold"), ("m", "note"), ("n", "7"), ("question_mark", ""), *2 * [("e", "")]
        ):  # fmt: skip
            await s.press(key)
            assert s.app.screen is not s.monitor
            await s.press(*text)
            await s.press_at_once(*["enter" if text else "escape"] * 3)
            assert s.app.screen is s.monitor
        assert s.app.return_code is None


@pytest.mark.parametrize("key", ["enter", "e", "question_mark"])
async def test_a_key_right_behind_the_one_that_quits_does_no_harm(key):
    async with stage() as s:
        await s.press_last("q", key)
        assert s.app.return_code == 0


@pytest.mark.parametrize("turns", range(0, 30, 2))
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
