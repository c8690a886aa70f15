"""Run the app with fake workers, press its keys, and read what is on its screen."""

import asyncio
import html
import os
import re
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from textual import events
from textual.app import App
from textual.css.query import NoMatches
from textual.geometry import Offset, Region
from textual.pilot import Pilot
from textual.widget import Widget

from concwatch.commands.basics.lab import open_process
from concwatch.demos.keyboard import key_event
from concwatch.demos.pilot import ScreenPilot
from concwatch.hosts.host import Host
from concwatch.monitor.lanes.host_lanes import LocalMachine
from concwatch.monitor.lanes.lab import Lab
from concwatch.monitor.lanes.lane import Lane
from concwatch.monitor.metrics.settings import Settings
from concwatch.monitor.workers.catalog import SHOWN, Engine
from concwatch.portable.machine.limits import SystemLimit
from concwatch.system.machine import Load
from concwatch.system.memory import Memory
from concwatch.system.process import Reading
from concwatch.ui.apps.app import ConcwatchApp
from concwatch.ui.screens.monitor import MonitorScreen
from concwatch.ui.widgets.charts.chart import Chart
from concwatch.ui.widgets.lanes.lane_card import LaneCard
from concwatch.ui.widgets.lanes.slider import Slider
from tests import virtual_time
from tests.fake_link import FakeLink, FakeWorkers

GOLDEN = Path(__file__).parent / "golden"

GIB = 1 << 30
MEMORY = Memory(16 * GIB, 12 * GIB, "memory")
LIMITS = (SystemLimit("vm.max_map_count", 65_530, 130), SystemLimit("pid_max", 4_194_304, 500))
"""With these limits the machine can run 21,800 threads."""

ITSELF = Reading(41 << 20, 0.031, 5)
"""concwatch's own CPU and memory, fixed so that screens are reproducible."""

LIMIT = 20.0
"""Seconds to wait for anything on the screen, however loaded the machine."""

FRAME = 0.02
"""Seconds in which the screen is updated at least once."""

Place = Region | Widget | type[Widget] | str
"""A part of the screen: its cells, a widget, or the widget of a selector or a class."""

_CELL = 12.2  # width of a character in Rich's SVG
_TEXT = re.compile(r'<text class="[^"]*" x="([\d.]+)" y="[\d.]+" [^>]*-line-(\d+)\)">([^<]*)</text>')


def svg_lines(svg: str, width: int, height: int) -> list[str]:
    """Return the text of a screenshot: one line per row, without trailing blanks."""
    rows = [[" "] * width for _ in range(height)]
    for x, row, text in _TEXT.findall(svg):
        plain = html.unescape(text).replace("\xa0", " ")
        column = round(float(x) / _CELL)
        rows[int(row)][column : column + len(plain)] = plain
    return ["".join(row).rstrip() for row in rows]


def assert_golden(lines: list[str], file: Path) -> None:
    """Compare a screen with a file; with ``CONCWATCH_GOLDEN=write`` write the file instead."""
    if os.environ.get("CONCWATCH_GOLDEN") == "write":
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert lines == file.read_text(encoding="utf-8").splitlines()


class Clock:
    """A clock that the test advances."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        """Return the time in seconds."""
        return self.now


class HandDrivenLab(Lab):
    """A lab that is stepped by `ScreenStage.run`, on a machine with fixed figures."""

    async def run(self) -> None:
        """Wait: the test steps."""
        await asyncio.Event().wait()

    def step(self, now: float | None = None) -> None:
        """Step, with fixed figures of concwatch itself."""
        super().step(now)
        self.fleet.local.meter.own = ITSELF


class ScreenStage(ScreenPilot):
    """A running app and its fake workers, with the actions and queries of tests.

    With a ``clock``, the lab and the screen advance by `run`.
    """

    def __init__(
        self,
        app: App[Any],
        pilot: Pilot[None],
        workers: FakeWorkers | None = None,
        clock: Clock | None = None,
    ) -> None:
        super().__init__(app, pilot, interval=0)
        self.workers = workers or FakeWorkers()
        self.clock = clock

    @property
    def lab(self) -> Lab:
        """The lab behind the screen."""
        assert self.app.lab is not None
        return self.app.lab

    def lane(self, name: str) -> Lane:
        """The lane of one engine."""
        return next(lane for lane in self.lab.lanes if lane.engine.name == name)

    def link(self, name: str) -> FakeLink:
        """The last started fake worker of one engine."""
        return self.workers.links[name]

    def card(self, name: str) -> LaneCard:
        """The card of one engine."""
        number = [lane.engine.name for lane in self.lab.lanes].index(name) + 1
        return self.monitor.query_one(f"#lane-{number}", LaneCard)

    def slider(self, name: str) -> Slider:
        """The slider of one engine."""
        return self.card(name)

    def track(self, name: str) -> Region:
        """The cells of one engine's slider."""
        return self.card(name).track_region

    def chart(self, metric: str) -> Chart:
        """The chart of one metric."""
        return self.monitor.query_one(f"#chart-{metric}", Chart)

    def text(self, widget: Widget | None = None) -> str:
        """The text of the terminal, or of a widget, with every run of blanks as one."""
        try:
            lines = self.lines() if widget is None else self.lines_of(widget)
        except NoMatches:
            return ""
        return " ".join(" ".join(lines).split())

    def place(self, text: str, within: Widget) -> Offset:
        """The position of ``text`` on a widget."""
        place = self.find(text, within)
        assert place is not None, f"{text!r} is not on {within}"
        return place - within.region.offset

    def query(self, selector: str) -> Widget:
        """A widget of the top screen."""
        return self.app.screen.query_one(selector)

    def chart_titles(self) -> list[str]:
        """The titles of the visible charts, in order."""
        return [chart.plot.title for chart in self.shown_charts().values()]

    def row(self, name: str) -> str:
        """One engine's line of the cost table, with every run of blanks as one."""
        rows = [" ".join(line.split()) for line in self.lines_of(self.monitor.query_one("CostTable"))]
        return next(row.strip("│ ") for row in rows if row.strip("│ ").startswith(name))

    def color(self, widget: Widget, x: int = 0, y: int = 0) -> str:
        """The foreground, ``#rrggbb``, of the cell at ``x``, ``y`` of a widget."""
        region = widget.region
        color = self.app.screen.get_style_at(region.x + x, region.y + y).color
        assert color is not None
        return color.get_truecolor().hex

    def background(self, widget: Widget, x: int, y: int) -> str:
        """The background, ``#rrggbb``, of the cell at ``x``, ``y`` of a widget."""
        color = self.app.screen.get_style_at(widget.region.x + x, widget.region.y + y).bgcolor
        assert color is not None
        return color.get_truecolor().hex

    def toast(self) -> Widget:
        """The last notification."""
        return self.app.screen.query("Toast").last()

    async def settle(self) -> None:
        """Wait until all messages have been handled and the screen has been updated."""
        await self._pilot.pause()
        assert not self.app.return_code, "the app has crashed"

    async def until(
        self, condition: Callable[[], object], what: str | Callable[[], str], limit: float = LIMIT
    ) -> None:
        """Wait until ``condition`` holds; fail with the screen's text after ``limit`` seconds."""
        await self.settle()
        if not await self.wait(lambda: condition() or self.app.return_code, limit):
            expected = what if isinstance(what, str) else what()
            raise AssertionError(f"{expected}: not within {limit:g} s\n" + "\n".join(self.lines()))
        assert not self.app.return_code, "the app has crashed"

    async def sees(self, *texts: str, within: Widget | Callable[[], Widget] | None = None) -> None:
        """Wait until all of ``texts`` are on the screen, or on ``within``."""

        def missing() -> list[str]:
            widget = within if within is None or isinstance(within, Widget) else within()
            seen = self.text(widget)
            return [text for text in texts if text not in seen]

        await self.until(lambda: not missing(), lambda: f"not on the screen: {missing()}")

    async def run(self, seconds: float) -> None:
        """Advance the clock, with ten steps of the lab a second, and update the screen."""
        assert self.clock is not None
        for _ in range(round(seconds * 10)):
            self.clock.now = round(self.clock.now + 0.1, 3)
            self.lab.step()
        self.monitor.show_snapshot()
        await self.settle()

    async def press(self, *keys: str) -> None:
        """Press keys by name, each after the last has been handled."""
        for event in map(key_event, keys):
            await self.send(event)
            await self.settle()

    async def press_at_once(self, *keys: str) -> None:
        """Press keys as if all arrived in one read of the terminal."""
        await self.send(*map(key_event, keys))
        await self.settle()

    async def press_last(self, *keys: str) -> None:
        """Press keys that include one that quits the app, and wait for its exit."""
        await self.send(*map(key_event, keys))
        await self.wait(lambda: not self.app.is_running, LIMIT)

    def _cell(self, place: Place, offset: tuple[int, int]) -> Offset:
        """The cell of the terminal at ``offset`` on a region, a widget, or that of a selector or a class."""
        if isinstance(place, Region):
            return place.offset + offset
        found = place if isinstance(place, Widget) else self.app.screen.query_one(place)
        return found.region.offset + offset

    async def hover(self, widget: Place, offset: tuple[int, int] = (0, 0)) -> None:
        """Move the mouse over a widget."""
        await self.mouse.jump(self._cell(widget, offset))
        await self.settle()

    async def mouse_down(self, widget: Place, offset: tuple[int, int]) -> None:
        """Press the button of the mouse over a widget."""
        await self.mouse.press(self._cell(widget, offset))
        await self.settle()

    async def mouse_up(self, widget: Place, offset: tuple[int, int]) -> None:
        """Move the mouse over a widget, and release its button."""
        await self.hover(widget, offset)
        await self.mouse.release()
        await self.settle()

    async def click(self, widget: Place, x: int = 0, y: int = 0) -> None:
        """Click on a widget, ``x``, ``y`` cells from its corner."""
        await self.mouse.click(self._cell(widget, (x, y)))
        await self.settle()

    async def wheel(self, event: type[events.MouseEvent], widget: Place, offset: tuple[int, int]) -> None:
        """Turn the mouse wheel over a cell of a widget."""
        await self.mouse.wheel(event, self._cell(widget, offset))
        await self.settle()

    async def tap(self, text: str, within: Widget) -> None:
        """Click on ``text`` on a widget."""
        await self.click(within, *self.place(text, within))

    async def resize(self, columns: int, rows: int) -> None:
        """Resize the terminal."""
        await self._pilot.resize_terminal(columns, rows)

    async def enter(self, text: str) -> None:
        """Replace the text of the dialog's field."""
        await self.until(lambda: self.app.screen.query("#field"), "a dialog")
        field = self.query("#field")
        field.action_select_all()  # type: ignore[attr-defined]
        self.app.post_message(events.Paste(text))
        await self.settle()

    async def switch_on(self, *names: str, tasks: int = 0) -> None:
        """Switch lanes on and set their targets, without the screen."""
        for name in names:
            self.lab.switch(self.lane(name), True)
            if tasks:
                self.lab.set_target(self.lane(name), tasks)
        await self.run(0.5)

    async def drag(self, name: str, tasks: int, via: Sequence[int] = ()) -> None:
        """Drag the knob of a slider to ``tasks``, without releasing it."""
        slider = self.slider(name)
        await self.mouse.press(self.stop(slider, slider.shown))
        for each in (*via, tasks):
            await self.mouse.jump(self.stop(slider, each))
        await self.settle()

    async def drop(self, name: str, tasks: int) -> None:
        """Release the knob at ``tasks``."""
        await self.mouse.jump(self.stop(self.slider(name), tasks))
        await self.mouse.release()
        await self.settle()


class QuickPilot(Pilot[None]):
    """A pilot on a virtual clock, which advances only when the loop is idle."""

    async def pause(self, delay: float | None = None) -> None:
        """Sleep on the virtual clock, by default for one frame."""
        await asyncio.sleep(FRAME if delay is None else delay)


def pilot_of(pilot: Pilot[None]) -> Pilot[None]:
    """Return a quick pilot on a virtual loop, else Textual's own, which waits until the CPU is idle."""
    virtual = isinstance(asyncio.get_running_loop(), virtual_time.VirtualLoop)
    return QuickPilot(pilot.app) if virtual else pilot


@asynccontextmanager
async def running(app: App[None], size: tuple[int, int]) -> AsyncIterator[Pilot[None]]:
    """Run an app."""
    async with app.run_test(size=size, notifications=True) as pilot:
        yield pilot_of(pilot)


def showing(*widgets: Widget) -> App[None]:
    """Return an app that shows only these widgets, with the variable of concwatch's themes."""

    class Showing(App[None]):
        def get_theme_variable_defaults(self) -> dict[str, str]:
            return {"dim": "#888888"}

        def compose(self) -> Sequence[Widget]:
            return widgets

    return Showing()


def experiment_lab(engines: Sequence[Engine], settings: Settings) -> Lab:
    """Return a lab with real workers, as an experiment uses it."""
    return Lab(engines, settings=settings, open_link=open_process)


@asynccontextmanager
async def stage(
    size: tuple[int, int] = (120, 40),
    *,
    engines: Sequence[Engine] = SHOWN,
    budget: int | None = None,
    workers: FakeWorkers | None = None,
    settings: Settings | None = None,
    pictures: Path = Path("screenshots"),
    by_hand: bool = True,
    make_run_lab: Callable[..., Lab] = experiment_lab,
    cluster: Callable[[], Sequence[Host]] | None = None,
    trials: bool = False,
) -> AsyncIterator[ScreenStage]:
    """Run the app with fake workers, ``by_hand`` on a clock that only `ScreenStage.run` advances."""
    workers = workers or FakeWorkers()
    clock = Clock() if by_hand else None

    def make_lab() -> Lab:
        return (HandDrivenLab if clock else Lab)(
            engines,
            settings=settings,
            budget=budget,
            open_link=workers,
            machine=LocalMachine(lambda: MEMORY, lambda: LIMITS, lambda: Load(time.monotonic(), 0.0, 0.0, 2)),
            cluster=cluster,
            clock=clock or virtual_time.now,
            trials=trials,
        )

    app = ConcwatchApp(make_lab, make_run_lab, pictures)
    async with running(app, size) as pilot:
        running_stage = ScreenStage(app, pilot, workers, clock)
        await running_stage.until(
            lambda: isinstance(app.screen, MonitorScreen) and app.screen.is_mounted, "a monitor"
        )
        running_stage.monitor.show_snapshot()
        await running_stage.settle()
        yield running_stage
