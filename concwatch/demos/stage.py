"""How to write a demo: a Python file that drives the real program and real workers.

    '''Ten thousand tasks

    One lane, untraced.
    '''

    async def play(stage):
        await stage.press("t")
        await stage.drag("asyncio", "10k")
        await stage.until(lambda lab: stage.lane("asyncio").settled, limit=60)
        await stage.caption("10,000 asyncio tasks")
        await stage.shot("held")

The first line of its docstring is the title of its pictures, the rest a description. The files are named
after it: mine-held.svg, mine.gif. These constants are optional:

    SIZE = "80x24"                columns and rows of the terminal; default 120x40, for films 100x36
    THEME = "concwatch-light"     the colour theme
    ENGINES = ("asyncio", "go")   the lanes; default the four of the program
    HOSTS = {"web1": "ssh -T web1"}  hosts to run the lanes on, name and command; default this machine
    WATCH = ("python", "app.py")  a program to watch instead of lanes; "lab" is then the Watching
    OPTIONAL = ("go",)            lanes that may be unable to run; steps about them are then skipped

The methods of a stage, each with await:

    press("t", "[")               press keys: a character, or enter, esc, pgup, left, ctrl+p, ...
    type("w", "sleep:10")         open a dialog with a key, type a text into it, and press enter
    click("default")              click on a text on the screen; click("off", "pool"): on the lane's card
    switch("asyncio")             switch a lane on or off
    choose("asyncio")             select a lane
    drag("asyncio", "10k")        drag a lane's slider to one of its stops
    until(condition, limit=30)    wait until a function of the lab returns true, at most 30 seconds;
                                  text="tokio runs" describes it in the output
    caption("10,000 tasks")       show a text of one or two lines above the keys, for at least two seconds
    shot("held")                  take a picture of the screen; with chart="rss" a slide of that chart,
                                  with size=(1280, 640) in these pixels, and with the sentence above
                                  the table as its title
    film()                        start the film here; without it, it starts with the first frame;
                                  film(speed=3): up to the next caption, it is three times as fast

A condition is called with the running concwatch.monitor.lanes.lab.Lab, which has a snapshot(). Most use a
text on the screen, stage.sees("done"), or a lane. stage.lane("asyncio") has:

    on, off                       whether its worker is running, or has ended
    live, target                  numbers of tasks
    settled                       whether it has reached its target, and the memory per task is known
    held(10)                      whether it has held its target for 10 seconds
    figure("completed_mean")      one of `concwatch metrics`, in bytes, seconds or tasks per second;
                                  NaN, for which all comparisons are false, until it is known

Each step is printed as a line. A step that fails ends the demo with a line that says why, and exit
status 1; files are written only if the demo is played to its end.
"""

import asyncio
import re
from collections.abc import Callable, Collection, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

from textual.geometry import Offset
from textual.pilot import Pilot
from textual.widgets import Input

from concwatch.demos.caption_line import CaptionLine, read_caption
from concwatch.demos.captures import Captures
from concwatch.demos.keyboard import character_event, key_event
from concwatch.demos.lane import CannotRun, DemoFailed, DemoLane
from concwatch.demos.mouse import EVENT_INTERVAL
from concwatch.demos.pilot import ScreenPilot
from concwatch.monitor.lanes.lab import Lab
from concwatch.monitor.metrics.settings import LARGEST_TARGET
from concwatch.monitor.watching.watching import Watching
from concwatch.portable.protocol.text import plain, suggest
from concwatch.portable.protocol.units import format_count, format_seconds, parse_count
from concwatch.ui.apps.app import ConcwatchApp
from concwatch.ui.apps.picture_files import chart_slide
from concwatch.ui.apps.watch_app import WatchApp
from concwatch.ui.base.dialog import TypeDialog
from concwatch.ui.panels.lanes import LanePanel
from concwatch.ui.widgets.bars.key_bar import KeyBar
from concwatch.ui.widgets.lanes.lane_card import LaneCard
from concwatch.ui.widgets.lanes.slider import Slider
from concwatch.ui.widgets.tables.cost_table import CostTable

FIRST_FRAME = 2.0
"""Seconds of the program after which a film may start: those before are about starting it."""

SHOT = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
"""Valid names of shots."""

MAX_LINES = 2
"""Most lines of a caption."""

Condition = Callable[[Any], object]
"""A function of the `Lab`, or of the `Watching` in a demo that watches a program."""


class Stage:
    """Presses, clicks, drags and types in a running app, and waits until each has its effect."""

    def __init__(
        self,
        app: ConcwatchApp | WatchApp,
        pilot: Pilot[Any],
        captures: Captures,
        optional: Collection[str],
        log: Callable[[str], None],
    ) -> None:
        assert app.lab is not None
        self.app = app
        self.lab: Lab | Watching = app.lab
        self._pilot = ScreenPilot(app, pilot, EVENT_INTERVAL)
        self._captures = captures
        self._optional = optional
        self._log = log
        self._steps, self._began = 0, 0.0
        self._line = CaptionLine(app, captures.clock, keys=captures.filming or not app.is_headless)
        self._lanes: dict[str, DemoLane] = {}
        if isinstance(app.lab, Lab):
            self._lanes = {lane.engine.name: DemoLane(app.lab, lane) for lane in app.lab.lanes}

    async def begin(self) -> None:
        """Wait for the first frame."""
        keys = self._pilot.monitor.query_one(KeyBar)
        await self._pilot.expect(lambda: keys.region.bottom == self.app.size.height, "the first frame")
        await self._pilot.settle()
        self._began = self.lab.clock()
        self._captures.film(self.app)

    async def end(self) -> None:
        """Wait until the last caption has been read, and take the last frame."""
        await self._line.wait()
        self._captures.add_frame(self.app)

    # The steps.

    async def press(self, *keys: str) -> None:
        """Press keys, waiting for the program after each."""
        with self._step(f"press {' '.join(keys)}", may_exit=True):
            for key, event in [(key, key_event(key)) for key in keys]:
                await self._line.show_keys(key)
                await self._pilot.send(event)
                await self._pilot.settle()

    async def type(self, key: str, text: str) -> None:
        """Open a dialog with a key, type a text into it, and press enter."""
        with self._step(f"type {text} after {key}"):
            await self._line.show_keys(f"{key}  {text}  enter")
            await self._pilot.send(key_event(key))
            await self._pilot.expect(
                lambda: isinstance(self.app.screen, TypeDialog) and isinstance(self.app.focused, Input),
                f"a dialog that the key {key} opens",
            )
            dialog = self.app.screen
            assert isinstance(dialog, TypeDialog)
            await self._pilot.send(*map(character_event, text), key_event("enter"))

            def refused() -> str:
                return dialog.error or self._pilot.fit_question

            await self._pilot.expect(
                lambda: self.app.screen is not dialog or refused(), f"the dialog to accept {text}"
            )
            if refused():
                raise DemoFailed(f"the dialog does not accept it: {refused()}")

    async def click(self, text: str, lane: str | None = None) -> None:
        """Click on the first letter of a text that is visible on the screen, or on a lane's card."""
        where = "on the screen" if lane is None else f"on the card of {lane}"
        with self._step(f'click "{text}" {where}', may_exit=True):
            await self._pilot.expect(lambda: self.sees(text, lane), f'"{text}" {where}')
            if at := self._find(text, lane):
                await self._pilot.mouse.click(at)
            await self._pilot.settle()

    async def choose(self, lane: str) -> None:
        """Select a lane, for the keys that act on one."""
        with self._step(f"choose {lane}"):
            await self._choose(lane)

    async def switch(self, lane: str) -> None:
        """Switch a lane on or off."""
        with self._step(f"switch {lane}"):
            found = self.lane(lane)
            wanted = not found.wanted
            await self._line.show_keys("space")
            await self._choose(lane)
            await self._pilot.send(key_event("space"))
            await self._pilot.expect(
                lambda: self.lane(lane).wanted == wanted, f"{lane} switched {'on' if wanted else 'off'}"
            )

    async def drag(self, lane: str, tasks: int | str) -> None:
        """Drag a lane's slider to one of its stops, such as 5_000 or "10k"."""
        with self._step(f"drag {lane} to {tasks}"):
            count, pilot = parse_count(str(tasks), LARGEST_TARGET), self._pilot
            slider = await self._slider(lane)
            start, end = pilot.stop(slider, slider.shown), pilot.stop(slider, count)
            scale, track = slider.scale, slider.track_region
            stop = scale.value_at(end.x - track.x, track.width)
            if stop != count:
                raise DemoFailed(
                    f"the slider stops at {format_count(stop)}; expected one of its stops, such as 1k, 2k "
                    f'or 5k, up to {format_count(scale.reachable)}; any number with choose("{lane}") and '
                    f'type("enter", "{count}")'
                )
            await self._line.show_keys(f"drag {lane} → {format_count(count)}")
            await pilot.mouse.press(start)
            await pilot.expect(lambda: slider.held is not None, f"the knob of {lane} held by the mouse")
            await pilot.mouse.move(end)
            await pilot.expect(lambda: slider.held == count, f"the knob of {lane} at {format_count(count)}")
            await pilot.mouse.release()
            await pilot.expect(
                lambda: self.lane(lane).target == count or self.lane(lane).held_back or pilot.fit_question,
                f"target {format_count(count)} of {lane}",
            )
            if pilot.fit_question:
                raise DemoFailed(pilot.fit_question)

    async def until(self, condition: Condition, limit: float = 30.0, text: str = "a condition holds") -> None:
        """Wait until a condition of the lab is true, at most ``limit`` seconds; ``text`` describes it."""
        with self._step(f"wait until {text}"):
            if not await self._pilot.wait(lambda: condition(self.lab), limit):
                running = [str(lane) for lane in self._lanes.values() if lane.wanted]
                seen = "; ".join(running) or "all lanes are off"
                raise DemoFailed(f"not within {format_seconds(limit)}; seen instead: {seen}")

    async def caption(self, text: str) -> None:
        """Show a text of one or two lines above the keys, also in front of a dialog."""
        text = read_caption(text)
        lines = text.splitlines()
        with self._step(f"caption: {' / '.join(lines)}"):
            if len(lines) > MAX_LINES:
                raise DemoFailed(f"a caption has at most {MAX_LINES} lines, not {len(lines)}")
            await self._line.show(text)
            self._captures.clock.run(1.0)
            await self._pilot.settle()

    async def shot(self, name: str, chart: str = "", size: tuple[int, int] | None = None) -> None:
        """Take a picture of the current screen, or of the chart of one metric, such as ``"rss"``.

        With a ``size`` in pixels, the sentence above the table is the title of the chart.
        """
        with self._step(f"shot {name} of {chart}" if chart else f"shot {name}"):
            if not SHOT.fullmatch(name):
                raise DemoFailed("a name has only lower-case letters, digits and hyphens")
            if name in self._captures.shots:
                raise DemoFailed("this name is already used")
            self.app.update_now()
            await self._pilot.settle()
            if not chart:
                self._captures.add_shot(name, self.app)
                return
            shown = self._pilot.shown_charts()
            if chart not in shown:
                raise DemoFailed(f'no chart of "{chart}" is visible; expected one of {", ".join(shown)}')
            title = self._pilot.monitor.query_one(CostTable).answer if size else ""
            conditions, dark = self.app.conditions(), self.app.current_theme.dark
            self._captures.shots[name] = chart_slide(shown[chart], conditions, dark, size, title)

    async def film(self, speed: float = 1.0) -> None:
        """Start the film here; up to the next caption, it is ``speed`` times as fast as the program."""
        with self._step("film" if speed == 1.0 else f"film, {speed:g} times as fast"):
            await self._pilot.expect(
                lambda: self.lab.clock() - self._began >= FIRST_FRAME, "the first figures of the program"
            )
            self._captures.film(self.app, speed)
            self._line.count_anew()

    # For conditions.

    def lane(self, name: str) -> DemoLane:
        """Return a lane by the name of its engine.

        Raises:
            CannotRun: its engine cannot run on this machine.
            DemoFailed: the lane is unknown, or its worker has failed.
        """
        if name not in self._lanes:
            known = ", ".join(self._lanes)
            raise DemoFailed(f'unknown lane "{name}"; expected one of {known}{suggest(name, self._lanes)}')
        self._lanes[name].check()
        return self._lanes[name]

    def sees(self, text: str, lane: str | None = None) -> bool:
        """Return whether a text is visible on the screen, or on a lane's card."""
        return self._find(text, lane) is not None

    # Implementation of the steps.

    @contextmanager
    def _step(self, description: str, may_exit: bool = False) -> Iterator[None]:
        """Log a step and run its body; skip it if its lane is optional and cannot run.

        Args:
            description: the step in words.
            may_exit: whether it may end the program, as the last step of a demo.
        """
        self._steps += 1
        self._log(f"{self._steps:>2}  {plain(description)}")
        if not self.app.is_running:
            raise DemoFailed(f"{description}: the program has ended")
        try:
            yield
        except CannotRun as error:
            if error.lane not in self._optional:
                raise DemoFailed(f"{description}: {error}") from None
            self._log(f"    skipped: {error}")
        except (DemoFailed, ValueError) as error:
            raise DemoFailed(f"{description}: {error}") from error
        except asyncio.CancelledError:
            if not may_exit or self.app.is_running:
                raise

    async def _choose(self, name: str) -> None:
        self.lane(name)
        panel, index = self._pilot.in_front.side, list(self._lanes).index(name)
        assert isinstance(panel, LanePanel)
        await self._pilot.send(key_event(str(index + 1)))
        await self._pilot.settle()
        await self._pilot.expect(lambda: panel.selected == index, f"lane {name} selected")

    def _card(self, name: str) -> LaneCard:
        self.lane(name)
        return list(self._pilot.in_front.query(LaneCard))[list(self._lanes).index(name)]

    async def _slider(self, name: str) -> Slider:
        """Scroll to a lane's slider and return it."""
        slider = self._card(name)
        slider.scroll_visible(animate=False)  # happens later, when the screen processes it
        find = self.app.screen.find_widget
        await self._pilot.expect(
            lambda: find(slider).visible_region == find(slider).region, f"the slider of {name} to be visible"
        )
        await self._pilot.settle()
        return slider

    def _find(self, text: str, lane: str | None) -> Offset | None:
        """Return the cell of the terminal where a text is visible first, or None."""
        return self._pilot.find(text, self.app.screen if lane is None else self._card(lane))


Play = Callable[[Stage], Coroutine[Any, Any, None]]
"""The ``play`` function of a demo's file."""
