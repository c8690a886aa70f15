"""Operate a running app as a person does, with keys and a mouse, and read what is on its screen."""

import asyncio
from collections.abc import Callable
from typing import Any

from textual.app import App
from textual.errors import NoWidget
from textual.events import Event
from textual.geometry import Offset
from textual.pilot import Pilot, WaitForScreenTimeout
from textual.widget import Widget

from concwatch.demos.lane import DemoFailed
from concwatch.demos.mouse import Mouse
from concwatch.demos.screen_strips import screen_strips
from concwatch.ui.dialogs.fit_dialog import FitDialog
from concwatch.ui.screens.monitor import MonitorScreen
from concwatch.ui.widgets.charts.chart import Chart
from concwatch.ui.widgets.lanes.slider import Slider

POLL_INTERVAL = 0.05
"""Seconds between two evaluations of a condition."""

RESPONSE_TIMEOUT = 30.0
"""Seconds to wait for the first frame, and for the effect of a key or the mouse."""


class ScreenPilot:
    """The keys, the mouse and the text of a running app."""

    def __init__(self, app: App[Any], pilot: Pilot[Any], interval: float) -> None:
        """Operate ``app``.

        Args:
            app: the app, which is running.
            pilot: Textual's, which knows when all messages have been handled.
            interval: seconds between two events; 0 for none, not even a turn of the loop.
        """
        self.app = app
        self.mouse = Mouse(app, interval)
        self._interval = interval
        self._pilot = pilot

    # Reading.

    @property
    def monitor(self) -> MonitorScreen:
        """The monitor's screen, even behind a dialog."""
        return next(screen for screen in self.app.screen_stack if isinstance(screen, MonitorScreen))

    @property
    def in_front(self) -> MonitorScreen:
        """The monitor's screen.

        Raises:
            DemoFailed: another screen or a dialog is in front of it.
        """
        if not isinstance(self.app.screen, MonitorScreen):
            raise DemoFailed("another screen or a dialog is in front of the lanes")
        return self.app.screen

    @property
    def fit_question(self) -> str:
        """The text of the dialog about a target that does not fit, or an empty string."""
        return self.app.screen.reason if isinstance(self.app.screen, FitDialog) else ""

    def shown_charts(self) -> dict[str, Chart]:
        """Return the visible charts by metric, in order: those of a dialog, or else of the monitor."""
        found = self.app.screen.query(Chart) or self.monitor.query(Chart)
        charts = [chart for chart in found if chart.display and chart.outer_size]
        return {(chart.id or "").removeprefix("chart-"): chart for chart in charts}

    def lines(self) -> list[str]:
        """Return every row of the terminal as plain text."""
        return [strip.text.rstrip() for strip in screen_strips(self.app) or ()]

    def lines_of(self, widget: Widget) -> list[str]:
        """Return the rows of the visible part of a widget, with what covers it."""
        area = self.app.screen.find_widget(widget).visible_region
        return [line.ljust(area.right)[area.x : area.right] for line in self.lines()[area.y : area.bottom]]

    def find(self, text: str, within: Widget) -> Offset | None:
        """Return the cell where a text is visible first on a widget of the top screen, or None."""
        try:
            area = self.app.screen.find_widget(within).visible_region
        except NoWidget:  # a screen that is new has no layout yet
            return None
        for y, line in enumerate(self.lines_of(within), area.y):
            at = line.find(text)
            while at >= 0:
                shown = self.app.get_widget_at(area.x + at, y)[0]
                if shown is not self.app.screen and within in shown.ancestors_with_self:
                    return Offset(area.x + at, y)
                at = line.find(text, at + 1)
        return None

    def stop(self, slider: Slider, tasks: int) -> Offset:
        """Return the cell of the terminal where a slider's knob stands at ``tasks``."""
        track = slider.track_region
        return track.offset + Offset(slider.scale.cell(tasks, track.width), 0)

    # Operating.

    async def send(self, *sent: Event) -> None:
        """Post events as if they came from the terminal; without an interval, all in one read of it."""
        for event in sent:
            self.app.post_message(event)
            if self._interval:
                await asyncio.sleep(self._interval)

    async def settle(self) -> None:
        """Wait until all messages have been handled; for what takes time use `wait`.

        Raises:
            DemoFailed: the app does not respond.
        """
        try:
            await self._pilot.pause(0)
        except WaitForScreenTimeout:
            raise DemoFailed("the program does not respond, since it is busy with something else") from None

    async def expect(self, condition: Callable[[], object], expected: str) -> None:
        """Wait for the effect of an event; ``expected`` describes it.

        Raises:
            DemoFailed: there was none within `RESPONSE_TIMEOUT`.
        """
        if not await self.wait(condition, RESPONSE_TIMEOUT):
            raise DemoFailed(f"waited {RESPONSE_TIMEOUT:g} s for {expected}")

    async def wait(self, condition: Callable[[], object], limit: float) -> bool:
        """Wait for a condition, at most ``limit`` seconds. Return whether it became true."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + limit
        while not condition():
            if loop.time() > deadline:
                return False
            await asyncio.sleep(POLL_INTERVAL)
        return True
