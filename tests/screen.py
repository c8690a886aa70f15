"""The screen under test: the app with fake workers, and readers for what a person sees on it."""

import asyncio
import html
import os
import re
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from textual import _time, events
from textual._compositor import Compositor
from textual.app import App
from textual.css.query import NoMatches
from textual.pilot import Pilot
from textual.widget import Widget

from concwatch.demos.keyboard import key_event
from concwatch.hosts.host import Host
from concwatch.lab.catalog import SHOWN, Engine
from concwatch.lab.lab import Lab
from concwatch.lab.lane import Lane
from concwatch.lab.settings import Settings
from concwatch.links.link import Arrival, Link
from concwatch.system.machine import Load
from concwatch.system.memory import Memory
from concwatch.system.process import Reading
from concwatch.system.walls import Wall
from concwatch.ui.app import ConcwatchApp, plain_lab
from concwatch.ui.recording_driver import RecordedTerminal
from concwatch.ui.screen_strips import screen_strips
from concwatch.ui.screens.monitor import MonitorScreen
from concwatch.ui.widgets.chart import Chart
from concwatch.ui.widgets.lane_card import LaneCard
from concwatch.ui.widgets.slider import Slider
from tests import virtual_time
from tests.fake import FakeLink, FakeWorkers, Fault

GOLDEN = Path(__file__).parent / "golden"

GIB = 1 << 30
MEMORY = Memory(16 * GIB, 12 * GIB, "memory")
WALLS = (Wall("vm.max_map_count", 65_530, 130), Wall("pid_max", 4_194_304, 500))
"""With these the machine holds 21,800 threads."""

ITSELF = Reading(41 << 20, 0.031, 5)
"""What concwatch itself takes, on a screen that must come out the same every time."""

LIMIT = 20.0
"""Seconds that anything may take to show, on however loaded a machine."""

FRAME = 0.02
"""Seconds in which the screen is drawn at least once."""

_CELL = 12.2  # the width that rich gives a character in its SVG
_TEXT = re.compile(r'<text class="[^"]*" x="([\d.]+)" y="[\d.]+" [^>]*-line-(\d+)\)">([^<]*)</text>')


def svg_lines(svg: str, width: int, height: int) -> list[str]:
    """Read the text of a screenshot: one plain line a row, without blanks at its end."""
    rows = [[" "] * width for _ in range(height)]
    for x, row, text in _TEXT.findall(svg):
        plain = html.unescape(text).replace("\xa0", " ")
        column = round(float(x) / _CELL)
        rows[int(row)][column : column + len(plain)] = plain
    return ["".join(row).rstrip() for row in rows]


def looks_golden(lines: list[str], file: Path) -> None:
    """Compare a screen with what a file holds; with ``CONCWATCH_GOLDEN=write`` write it anew instead."""
    if os.environ.get("CONCWATCH_GOLDEN") == "write":
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert lines == file.read_text(encoding="utf-8").splitlines()


class ScriptedLink(FakeLink):
    """A fake worker that can be told what to report."""

    answers: dict[tuple[str, object], Arrival]

    def __init__(self, engine: Engine, workers: "Workers") -> None:
        super().__init__(engine, workers.costs.get(engine.name), workers.faults.get(engine.name, ()))
        self.answers = workers.answers.get(engine.name, {})
        self.said: list[Arrival] = []

    def send(self, type_: str, **fields: object) -> None:
        """Answer as scripted, or else as a fake worker does."""
        answer = self.answers.get((type_, next(iter(fields.values()), None)))
        if answer is None:
            super().send(type_, **fields)
        else:
            self.sent.append((type_, fields))
            self.said.append(answer)

    def arrivals(self, now: float) -> Sequence[Arrival]:
        """Return what was scripted after what a fake worker says."""
        said, self.said = self.said, []
        return [*super().arrivals(now), *said]

    def commands(self, type_: str) -> list[dict[str, object]]:
        """List the fields of every command of one type, oldest first."""
        return [fields for sent, fields in self.sent if sent == type_]


class Workers(FakeWorkers):
    """Opens scripted links; ``answers`` gives, by engine, what is reported for a command and its value."""

    def __init__(
        self,
        faults: dict[str, Sequence[Fault]] | None = None,
        answers: dict[str, dict[tuple[str, object], Arrival]] | None = None,
    ) -> None:
        super().__init__(faults=faults or {})
        self.answers = answers or {}

    def __call__(self, engine: Engine) -> Link:
        """Open one for ``engine``."""
        link = ScriptedLink(engine, self)
        self.links[engine.name] = link
        return link


_time.get_time = virtual_time.now  # the clock of Textual's timers, which sleep on the loop's

_render_update = Compositor.render_update


def _render_in_full_only(self: Compositor, full: bool = False, **options: Any) -> object:
    self._dirty_regions.clear()
    return _render_update(self, full, **options) if full else None


def no_frames() -> AbstractContextManager[object]:
    """Render no frames, which no terminal shows; `Stage.lines` draws the screen when a test reads it."""
    return patch.object(Compositor, "render_update", _render_in_full_only)


class Clock:
    """Seconds that pass when the test says so."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        """Read it."""
        return self.now


class HandDrivenLab(Lab):
    """A lab whose time stands still until `Stage.run`, on a machine that is always the same."""

    async def run(self) -> None:
        """Leave the steps to the test."""
        await asyncio.Event().wait()

    def step(self, now: float | None = None) -> None:
        """Step, and give concwatch itself fixed figures."""
        super().step(now)
        self.local.meter.own = ITSELF


@dataclass
class Stage:
    """A running app, its pilot, and what a test wants to do and to see."""

    app: ConcwatchApp
    pilot: Pilot[None]
    workers: Workers
    clock: Clock | None

    # What is there.

    @property
    def lab(self) -> Lab:
        """The lab behind the screen."""
        assert self.app.lab is not None
        return self.app.lab

    @property
    def monitor(self) -> MonitorScreen:
        """The monitor, whatever dialog stands before it."""
        return next(screen for screen in self.app.screen_stack if isinstance(screen, MonitorScreen))

    def lane(self, name: str) -> Lane:
        """The lane of one engine."""
        return next(lane for lane in self.lab.lanes if lane.engine.name == name)

    def link(self, name: str) -> ScriptedLink:
        """The fake worker of one engine, the last that was started."""
        link = self.workers.links[name]
        assert isinstance(link, ScriptedLink)
        return link

    def card(self, name: str) -> LaneCard:
        """The card of one engine."""
        number = [lane.engine.name for lane in self.lab.lanes].index(name) + 1
        return self.monitor.query_one(f"#lane-{number}", LaneCard)

    def slider(self, name: str) -> Slider:
        """The slider of one engine."""
        return self.card(name).slider

    def chart(self, metric: str) -> Chart:
        """The chart of one metric."""
        return self.monitor.query_one(f"#chart-{metric}", Chart)

    # What a person sees.

    def lines(self) -> list[str]:
        """Every row of the terminal as plain text."""
        return [strip.text.rstrip() for strip in screen_strips(self.app) or ()]

    def text(self, widget: Widget | None = None) -> str:
        """What stands in the terminal, or in the part of it that ``widget`` covers; a blank for blanks."""
        lines = self.lines()
        if widget is not None:
            try:
                area = self.app.screen.find_widget(widget).visible_region
            except NoMatches:
                return ""
            lines = [line.ljust(area.right)[area.x : area.right] for line in lines[area.y : area.bottom]]
        return " ".join(" ".join(lines).split())

    def place(self, text: str, within: Widget) -> tuple[int, int]:
        """Where the first letter of ``text`` stands on a widget of which all can be seen."""
        area = within.region
        rows = [line[area.x : area.right] for line in self.lines()[area.y : area.bottom]]
        found = [(row.index(text), y) for y, row in enumerate(rows) if text in row]
        assert found, f"{text!r} is not to be read on {within}"
        return found[0]

    def query(self, selector: str) -> Widget:
        """One widget of the screen in front."""
        return self.app.screen.query_one(selector)

    def shown_charts(self) -> list[str]:
        """The titles of the charts that can be seen, in order."""
        return [
            chart.plot.title for chart in self.monitor.query(Chart) if chart.display and chart.size.height
        ]

    def row(self, name: str) -> str:
        """One engine's line of the cost table, blanks run together."""
        table = self.monitor.query_one("CostTable")
        area = self.app.screen.find_widget(table).visible_region
        rows = [" ".join(line.split()) for line in self.lines()[area.y : area.bottom]]
        return next(row.strip("│ ") for row in rows if row.strip("│ ").startswith(name))

    def color(self, widget: Widget, x: int = 0, y: int = 0) -> str:
        """The colour, ``#rrggbb``, in which the cell at ``x``, ``y`` of a widget is painted."""
        region = widget.region
        color = self.app.screen.get_style_at(region.x + x, region.y + y).color
        assert color is not None
        return color.get_truecolor().hex

    def ground(self, widget: Widget, x: int, y: int) -> str:
        """The colour, ``#rrggbb``, behind the cell at ``x``, ``y`` of a widget."""
        color = self.app.screen.get_style_at(widget.region.x + x, widget.region.y + y).bgcolor
        assert color is not None
        return color.get_truecolor().hex

    def toast(self) -> Widget:
        """The last notification."""
        return self.app.screen.query("Toast").last()

    # What happens.

    async def settle(self) -> None:
        """Have every message and what follows from it handled; what takes time needs `until`."""
        await self.pilot.pause()
        assert not self.app.return_code, "the app has crashed"

    async def until(
        self, condition: Callable[[], object], what: str | Callable[[], str], limit: float = LIMIT
    ) -> None:
        """Wait until ``condition`` holds; fail with the screen as it was when it did not in ``limit`` s."""
        deadline = asyncio.get_running_loop().time() + limit
        await self.settle()
        while not condition():
            assert not self.app.return_code, "the app has crashed"
            if asyncio.get_running_loop().time() > deadline:
                said = what if isinstance(what, str) else what()
                raise AssertionError(f"{said}: not within {limit:g} s\n" + "\n".join(self.lines()))
            await self.pilot.pause(0.02)

    async def sees(self, *texts: str, within: Widget | Callable[[], Widget] | None = None) -> None:
        """Wait until all of ``texts`` can be read on the screen, or on ``within``."""

        def missing() -> list[str]:
            widget = within if within is None or isinstance(within, Widget) else within()
            seen = self.text(widget)
            return [text for text in texts if text not in seen]

        await self.until(lambda: not missing(), lambda: f"not to be read: {missing()}")

    async def run(self, seconds: float) -> None:
        """Let this much of the hand-driven clock pass, ten steps a second, and look at what has come."""
        assert self.clock is not None
        for _ in range(round(seconds * 10)):
            self.clock.now = round(self.clock.now + 0.1, 3)
            self.lab.step()
        self.monitor.show_snapshot()
        await self.settle()

    async def press(self, *keys: str) -> None:
        """Press keys by their names, and have the screen take each in."""
        for key in keys:
            # pilot.press() waits 40 ms of idle time besides, which over all tests is most of a minute.
            self.app.simulate_key(key)
            await self.settle()

    def post_keys(self, *keys: str) -> None:
        """Send keys that all come in one read of the terminal."""
        for key in keys:
            self.app.post_message(key_event(key))

    async def press_at_once(self, *keys: str) -> None:
        """Press keys that all come in one read of the terminal, and have the screen take them in."""
        self.post_keys(*keys)
        await self.settle()

    async def press_last(self, *keys: str) -> None:
        """Press keys at once of which one ends the app, and wait for that."""
        self.post_keys(*keys)
        while self.app.is_running:
            await self.pilot.pause(FRAME)

    async def click(self, widget: Widget | str, x: int = 0) -> None:
        """Click on a widget, ``x`` cells from its left end."""
        assert await self.pilot.click(widget, offset=(x, 0)), f"{widget} is not where the mouse points"
        await self.settle()

    async def tap(self, text: str, within: Widget) -> None:
        """Click on the first letter of ``text``, where it stands in the part that ``within`` covers."""
        assert await self.pilot.click(within, offset=self.place(text, within))
        await self.settle()

    async def enter(self, text: str) -> None:
        """Put ``text`` in place of what the field in front holds."""
        await self.until(lambda: self.app.screen.query("#field"), "a dialog")
        field = self.query("#field")
        field.action_select_all()  # type: ignore[attr-defined]
        self.app.post_message(events.Paste(text))
        await self.settle()

    async def switch_on(self, *names: str, tasks: int = 0) -> None:
        """Have lanes on, by the lab, with so many tasks asked for."""
        for name in names:
            self.lab.switch(self.lane(name), True)
            if tasks:
                self.lab.set_target(self.lane(name), tasks)
        await self.run(0.5)

    async def drag(self, name: str, tasks: int, by_way_of: Sequence[int] = ()) -> None:
        """Press on a slider, and draw the knob to ``tasks``, without letting go."""
        slider = self.slider(name)
        await self.pilot.mouse_down(slider, offset=(1, 0))
        for stop in (*by_way_of, tasks):
            await self.pilot.hover(slider, offset=(self.cell(name, stop), 0))
        await self.settle()

    async def drop(self, name: str, tasks: int) -> None:
        """Let go of the knob where ``tasks`` are."""
        await self.pilot.mouse_up(self.slider(name), offset=(self.cell(name, tasks), 0))
        await self.settle()

    def cell(self, name: str, tasks: int) -> int:
        """The cell of a slider at which ``tasks`` stand."""
        slider = self.slider(name)
        return slider.scale.cell(tasks, slider.content_size.width)


class QuickPilot(Pilot[None]):
    """A pilot on a virtual clock, which lets time pass only when all that is to be done has been done."""

    async def pause(self, delay: float | None = None) -> None:
        """Have so much time pass: a frame and more."""
        await asyncio.sleep(FRAME if delay is None else delay)


def pilot_of(pilot: Pilot[None]) -> Pilot[None]:
    """Return the pilot for the running loop, given Textual's own, which waits until the CPU is idle."""
    virtual = isinstance(asyncio.get_running_loop(), virtual_time.VirtualLoop)
    return QuickPilot(pilot.app) if virtual else pilot


def showing(*widgets: Widget) -> App[None]:
    """An app that shows these widgets, and has nothing else of ours but what its themes add."""

    class Showing(App[None]):
        def get_theme_variable_defaults(self) -> dict[str, str]:
            return {"dim": "#888888"}

        def compose(self) -> Sequence[Widget]:
            return widgets

    return Showing()


@asynccontextmanager
async def stage(
    size: tuple[int, int] = (120, 40),
    *,
    engines: Sequence[Engine] = SHOWN,
    budget: int | None = None,
    workers: Workers | None = None,
    settings: Settings | None = None,
    pictures: Path = Path("screenshots"),
    by_hand: bool = True,
    make_run_lab: Callable[[Sequence[Engine], Settings], Lab] = plain_lab,
    terminal: RecordedTerminal | None = None,
    cluster: Callable[[], Sequence[Host]] | None = None,
) -> AsyncIterator[Stage]:
    """Run the app with fake workers, on a clock driven by hand unless told otherwise."""
    workers = workers or Workers()
    clock = Clock() if by_hand else None

    def make_lab() -> Lab:
        return (HandDrivenLab if clock else Lab)(
            engines,
            settings=settings,
            budget=budget,
            open_link=workers,
            memory=lambda: MEMORY,
            walls=lambda: WALLS,
            load=lambda: Load(time.monotonic(), 0.0, 0.0, 2),
            cluster=cluster,
            clock=clock or virtual_time.now,
        )

    app = ConcwatchApp(make_lab, pictures, make_run_lab)
    if terminal is not None:
        app.driver_class = terminal.driver_class()
    with nullcontext() if terminal else no_frames():
        async with app.run_test(headless=terminal is None, size=size, notifications=True) as pilot:
            found = Stage(app, pilot_of(pilot), workers, clock)
            await found.until(
                lambda: isinstance(app.screen, MonitorScreen) and app.screen.is_mounted, "a monitor"
            )
            found.monitor.show_snapshot()
            await found.settle()
            yield found
