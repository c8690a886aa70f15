"""The player: runs a demo in the real program, which has always exited afterwards."""

import asyncio
import signal
import warnings
from collections.abc import Callable
from typing import Any

from msgspec import Struct
from textual.pilot import Pilot

from concwatch.demos.captures import Captures
from concwatch.demos.demo import FILM_SIZE, PICTURE_SIZE, Demo, describe
from concwatch.demos.stage import Stage
from concwatch.ui.apps.app import ConcwatchApp
from concwatch.ui.apps.watch_app import WatchApp

POLL_INTERVAL = 0.05
"""Seconds between two checks whether the program is still running."""

EXIT_TIMEOUT = 5.0
"""Seconds to wait for the demo's coroutine after the program has exited."""


class PlayResult(Struct):
    """The result of playing a demo."""

    completed: bool = False
    """Whether it was played to its end."""
    problem: str = ""
    """Why it was not, in one line, or an empty string."""
    status: int = 0
    """The program's exit status, negative for a signal."""


async def play(
    demo: Demo,
    app: ConcwatchApp | WatchApp,
    captures: Captures,
    log: Callable[[str], None],
    *,
    on_screen: bool = False,
    size: tuple[int, int] | None = None,
) -> PlayResult:
    """Play a demo to its end or its first failure, then stop the app and its workers.

    Args:
        demo: the demo.
        app: the program, which has not run yet.
        captures: stores the pictures and the film.
        log: called with a line at the beginning of each step.
        on_screen: whether to show it on the terminal.
        size: columns and rows without a terminal.  [the demo's own, or those of a picture or film]
    """
    result = PlayResult()

    async def auto_pilot(pilot: Pilot[Any]) -> None:
        stage = Stage(app, pilot, captures, demo.optional, log)
        performing = asyncio.ensure_future(_perform(demo, stage, result))
        leaving = asyncio.ensure_future(_until_ended(app))
        try:
            await asyncio.wait((performing, leaving), return_when=asyncio.FIRST_COMPLETED)
        finally:
            leaving.cancel()
            performing.cancel()
        await asyncio.wait((performing,), timeout=EXIT_TIMEOUT)
        await app.pictures.finish()
        app.exit(return_code=1 if result.problem else app.return_code or 0)

    if demo.theme:
        app.theme = demo.theme
    await app.run_async(
        headless=not on_screen,
        size=None if on_screen else size or demo.size or (FILM_SIZE if captures.filming else PICTURE_SIZE),
        auto_pilot=auto_pilot,
    )
    result.status = app.return_code or 0
    over = "before the demo was over"
    if result.status < 0:
        name = signal.Signals(-result.status).name
        result.completed, result.problem = False, f"{demo.path.name}: ended by {name} {over}"
    elif not result.completed and not result.problem:
        result.problem = f"{demo.path.name}: the program ended {over}"
    return result


async def _perform(demo: Demo, stage: Stage, result: PlayResult) -> None:
    """Play the steps of a demo."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            await stage.begin()
            await demo.play(stage)
        except (Exception, SystemExit) as error:
            if stage.app.is_running:
                result.problem = describe(error, demo.path)
        else:
            result.completed = True
            await stage.end()
    for warning in warned:
        if "never awaited" in str(warning.message):  # a likely mistake, otherwise silent
            result.completed = False
            result.problem = f"{demo.path.name}: line {warning.lineno}: {warning.message}"


async def _until_ended(app: ConcwatchApp | WatchApp) -> None:
    while app.is_running:  # noqa: ASYNC110  # Textual has no event for an app's exit
        await asyncio.sleep(POLL_INTERVAL)
