"""Plays a demo in the real program, a step after another, and sees to it that everything ends."""

import asyncio
import contextlib
import signal
from collections.abc import Callable
from typing import Any

from msgspec import Struct
from textual.pilot import Pilot

from concwatch.demos.demo import Demo
from concwatch.demos.hands import Hands
from concwatch.demos.looks import FAILED
from concwatch.demos.problem import CannotRun, StepFailed
from concwatch.demos.scene import Scene
from concwatch.demos.step import Stage
from concwatch.demos.takes import Takes
from concwatch.ui.app import ConcwatchApp

LOOK = 0.1
"""Seconds between two looks at which targets have been reached."""

GONE = 0.05
"""Seconds between two looks at whether the program still runs."""


class Played(Struct):
    """How far a demo has come."""

    steps: int = 0
    """How many have been done."""
    problem: str = ""
    """Why it went no further: one line, or nothing."""
    status: int = 0
    """The program's exit status, 0 when nothing went wrong."""


async def play(
    demo: Demo,
    app: ConcwatchApp,
    takes: Takes,
    say: Callable[[str], None],
    *,
    on_screen: bool = False,
    size: tuple[int, int] | None = None,
) -> Played:
    """Play a demo to its end, or as far as it goes; the app and its workers have ended then.

    Args:
        demo: what to play.
        app: the program, which has not run yet.
        takes: keeps what is wanted of it.
        say: is told one line a step, when it begins.
        on_screen: whether there is a terminal to show it on.
        size: columns and rows without a terminal.  [as the demo says]
    """
    played = Played()

    async def by_hand(pilot: Pilot[Any]) -> None:
        playing = asyncio.ensure_future(_play_steps(demo, app, pilot, takes, say, played))
        leaving = asyncio.ensure_future(_until_gone(app))
        try:
            await asyncio.wait((playing, leaving), return_when=asyncio.FIRST_COMPLETED)
        finally:
            leaving.cancel()
            playing.cancel()
        await asyncio.gather(playing, return_exceptions=True)
        error = None if playing.cancelled() else playing.exception()
        if error is not None and app.is_running:  # else it found the program gone
            raise error
        await app.finish_pictures()
        app.exit(return_code=1 if played.problem else app.return_code or 0)

    if demo.theme:
        app.theme = demo.theme
    recorded = takes.attach(app, on_screen)
    try:
        await app.run_async(
            headless=not on_screen and not recorded,
            size=None if on_screen else size or demo.size,
            auto_pilot=by_hand,
        )
    finally:
        played.status = app.return_code or 0
    if played.steps == len(demo.steps) - 1 and demo.steps[-1].may_end and not played.status:
        played.steps = len(demo.steps)
    if played.steps < len(demo.steps) and not played.problem:
        played.problem = f"step {played.steps + 1}: {_how_ended(played.status)} before it was done"
    return played


def _how_ended(status: int) -> str:
    """Say how the program ended, by its exit status."""
    return f"ended by {signal.Signals(status - 128).name}" if status > 128 else "the program ended"


async def _until_gone(app: ConcwatchApp) -> None:
    while app.is_running:  # noqa: ASYNC110  # Textual tells nobody when an app ends
        await asyncio.sleep(GONE)


async def _play_steps(
    demo: Demo,
    app: ConcwatchApp,
    pilot: Pilot[Any],
    takes: Takes,
    say: Callable[[str], None],
    played: Played,
) -> None:
    scene = Scene(app)
    app.set_interval(LOOK, scene.look)
    stage = Stage(Hands(pilot, app, scene), takes)
    await stage.hands.begin()
    takes.begin(app)
    width = len(str(len(demo.steps)))
    for number, step in enumerate(demo.steps, 1):
        place = f"{demo.name} {number:>{width}}/{len(demo.steps)}"
        lanes = [lane for lane in step.about(demo.engines) if lane in demo.optional]
        reason = next(filter(None, map(scene.cannot_run, lanes)), None)
        say(f"{place}  {step.told}" if reason is None else f"{place}  {step.told}; skipped: {reason}")
        try:
            if reason is None:
                await step.do(stage)
        except StepFailed as error:
            if isinstance(error, CannotRun) and error.lane in demo.optional:
                say(f"{place}  {step.told}; skipped: {error.reason}")
                played.steps = number
                continue
            played.problem = f"step {number}: {step.told}: {error}"
            with contextlib.suppress(StepFailed):  # it may be that very thing that has failed
                await stage.hands.look()
            takes.take_shot(FAILED, app)
            break
        played.steps = number
    takes.end(app)
