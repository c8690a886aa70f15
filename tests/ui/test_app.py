"""Keys that close a screen or quit the program, pressed before the last one has been handled."""

import asyncio

import pytest

from concwatch.links.fake import FakeWorkers
from concwatch.monitor.catalog import SHOWN
from concwatch.monitor.lab import Lab
from concwatch.ui.app import ConcwatchApp
from tests.screen import experiment_lab, stage


async def test_a_key_pressed_three_times_closes_only_the_top_screen():
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
async def test_a_key_right_after_the_quit_key_is_ignored(key):
    async with stage() as s:
        await s.press_last("q", key)
        assert s.app.return_code == 0


@pytest.mark.parametrize("turns", range(0, 30, 2))
async def test_an_exit_during_the_first_layout_is_clean(turns):
    """Exit, as for a browser page that is closed at once, after different numbers of loop iterations."""
    app = ConcwatchApp(lambda: Lab(SHOWN, open_link=FakeWorkers()), experiment_lab)

    async def exit_early() -> None:
        while not app.screen_stack:  # noqa: ASYNC110  # Textual has no event for it
            await asyncio.sleep(0)
        for _ in range(turns):
            await asyncio.sleep(0)
        app.exit(return_code=129)

    exiting = asyncio.create_task(exit_early())
    await app.run_async(headless=True, size=(120, 40))
    await exiting
    assert app.return_code == 129
