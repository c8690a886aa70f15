"""Plays a demo in the real program, and ends the program whatever happens."""

import asyncio
import signal
import warnings
from collections.abc import Callable
from typing import Any

from msgspec import Struct
from textual.pilot import Pilot

from concwatch.demos.captures import Captures
from concwatch.demos.demo import Demo, describe
from concwatch.demos.stage import Stage
from concwatch.ui.app import ConcwatchApp
from concwatch.ui.watch_app import WatchApp

LOOK = 0.05
"""Seconds between two looks at whether the program still runs."""

PATIENCE = 5.0
"""Seconds that a demo may take to end when the program has ended."""


class Played(Struct):
    """How a demo has ended."""

    whole: bool = False
    """Whether it was played to its end."""
    problem: str = ""
    """Why not: one line, or nothing."""
    status: int = 0
    """The program's exit status, 0 when nothing went wrong."""


async def play(
    demo: Demo,
    app: ConcwatchApp | WatchApp,
    captures: Captures,
    say: Callable[[str], None],
    *,
    on_screen: bool = False,
    size: tuple[int, int] | None = None,
) -> Played:
    """Play a demo as far as it goes; the app and its workers have ended then.

    Args:
        demo: what to play.
        app: the program, which has not run yet.
        captures: keeps what is wanted of it.
        say: is given one line a step, when it begins.
        on_screen: whether there is a terminal to show it on.
        size: columns and rows without a terminal.  [as the demo says]
    """
    played = Played()

    async def perform(pilot: Pilot[Any]) -> None:
        stage = Stage(app, pilot, captures, demo.optional, say)
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            try:
                await stage.begin()
                await demo.play(stage)
            except (Exception, SystemExit) as error:
                if app.is_running:
                    played.problem = describe(error, demo.path)
            else:
                played.whole = True
                captures.take_frame(app)
        for warning in warned:
            if "never awaited" in str(warning.message):  # the likeliest mistake, and else a silent one
                played.whole = False
                played.problem = f"{demo.path.name}: line {warning.lineno}: {warning.message}"

    async def auto_pilot(pilot: Pilot[Any]) -> None:
        performing = asyncio.ensure_future(perform(pilot))
        leaving = asyncio.ensure_future(_until_ended(app))
        try:
            await asyncio.wait((performing, leaving), return_when=asyncio.FIRST_COMPLETED)
        finally:
            leaving.cancel()
            performing.cancel()
        await asyncio.wait((performing,), timeout=PATIENCE)
        await app.finish_pictures()
        app.exit(return_code=1 if played.problem else app.return_code or 0)

    if demo.theme:
        app.theme = demo.theme
    recorded = captures.attach(app, on_screen)
    await app.run_async(
        headless=not on_screen and not recorded,
        size=None if on_screen else size or demo.size,
        auto_pilot=auto_pilot,
    )
    played.status = app.return_code or 0
    over = "before the demo was over"
    if played.status > 128:
        name = signal.Signals(played.status - 128).name
        played.whole, played.problem = False, f"{demo.path.name}: ended by {name} {over}"
    elif not played.whole and not played.problem:
        played.problem = f"{demo.path.name}: the program ended {over}"
    return played


async def _until_ended(app: ConcwatchApp | WatchApp) -> None:
    while app.is_running:  # noqa: ASYNC110  # Textual tells nobody when an app ends
        await asyncio.sleep(LOOK)
