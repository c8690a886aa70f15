"""What a person does with keys and mouse, done on the running program."""

import asyncio
from collections.abc import Callable
from typing import Any

from textual.events import Key
from textual.geometry import Offset
from textual.pilot import Pilot, WaitForScreenTimeout
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Input

from concwatch.demos.keyboard import key_event, letter_event
from concwatch.demos.mouse import BEAT, Mouse
from concwatch.demos.problem import CannotRun, StepFailed
from concwatch.demos.scene import Scene
from concwatch.ui.app import ConcwatchApp
from concwatch.ui.screens.dialog import TypeDialog
from concwatch.ui.screens.fit_dialog import FitDialog
from concwatch.ui.screens.monitor import MonitorScreen
from concwatch.ui.widgets.caption_bar import CaptionBar
from concwatch.ui.widgets.key_bar import KeyBar
from concwatch.ui.widgets.lane_card import LaneCard
from concwatch.ui.widgets.slider import Slider
from concwatch.units import format_count

POLL = 0.05
"""Seconds between two looks at a condition."""

BEGINNING = 30.0
"""Seconds that the program may take to show its first frame."""

PROMPT = 30.0
"""Seconds that the program may take to answer a key or the mouse."""

MOVES = 12
"""Places at most at which the mouse is seen on the way of a drag."""


class Hands:
    """Presses, clicks, drags and types, and sees to it that each has its effect."""

    def __init__(self, pilot: Pilot[Any], app: ConcwatchApp, scene: Scene) -> None:
        self.app = app
        self.scene = scene
        self._pilot = pilot
        self._mouse = Mouse(app)

    async def begin(self) -> None:
        """Wait until the lanes can be seen."""
        keys = self.monitor().query_one(KeyBar)
        if not await self.until(lambda: keys.region.bottom == self.app.size.height, BEGINNING):
            raise StepFailed(f"expected the first frame within {BEGINNING:g} s")
        await self.come_to_rest()

    # Waiting.

    async def until(self, condition: Callable[[], bool], limit: float) -> bool:
        """Wait until ``condition`` holds; False when it did not within ``limit`` seconds."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + limit
        while not condition():
            if loop.time() > deadline:
                return False
            await asyncio.sleep(POLL)
        return True

    async def expect(self, condition: Callable[[], bool], expected: str) -> None:
        """Wait a little until the program has answered.

        Raises:
            StepFailed: it has not.
        """
        if not await self.until(condition, PROMPT):
            raise StepFailed(f"expected {expected} within {PROMPT:g} s")

    # Keys.

    async def press(self, *keys: str) -> None:
        """Press keys, each when what the one before asked for is there.

        Raises:
            StepFailed: the program does not answer.
        """
        for key in keys:
            await self._strike(key_event(key))
            await self.come_to_rest()

    async def _strike(self, key: Key) -> None:
        self.app.post_message(key)
        await asyncio.sleep(BEAT)

    async def choose(self, name: str) -> None:
        """Have the keys act on a lane.

        Raises:
            StepFailed: the lanes are not in front.
        """
        monitor = self.monitor()
        index = self._index(name)
        await self.press(str(index + 1))
        await self.expect(lambda: monitor.selected == index, f"lane {name} chosen")

    async def answer(self, key: str, text: str) -> None:
        """Press the key that opens a dialog, put ``text`` into it, and enter.

        Raises:
            StepFailed: there came no dialog, or it did not take the text.
        """
        behind = self.app.screen
        await self._strike(key_event(key))
        await self.expect(self._is_asked, f"a dialog that the key {key} opens")
        dialog = self.app.screen
        assert isinstance(dialog, TypeDialog)
        for event in (*map(letter_event, text), key_event("enter")):
            await self._strike(event)
        await self.expect(
            lambda: self.app.screen is behind or bool(self._objection() or dialog.refusal),
            f"the dialog to take {text}",
        )
        if dialog.refusal:
            raise StepFailed(f"expected the dialog to take {text}; it says: {dialog.refusal}")

    def _is_asked(self) -> bool:
        return isinstance(self.app.screen, TypeDialog) and isinstance(self.app.focused, Input)

    # Mouse.

    async def drag(self, name: str, tasks: int) -> None:
        """Draw a lane's knob to ``tasks`` and let go.

        Raises:
            StepFailed: the slider cannot be moved there.
        """
        slider = await self._slider(name)
        scale, width = slider.scale, slider.content_size.width
        start, end = scale.cell(slider.shown, width), scale.cell(tasks, width)
        lands = scale.value_at(end, width)
        if lands != tasks:
            raise StepFailed(
                f"a drag of this slider lands on {format_count(lands)}: expected a stop that it has here "
                f"(it ends at {format_count(scale.maximum)}), or type, which sets any number"
            )
        origin = slider.content_region.offset
        await self._mouse.press(origin + Offset(start, 0))
        await self.expect(lambda: slider.held is not None, f"the knob of {name} held by the mouse")
        for cell in way(start, end, MOVES):
            await self._mouse.move(origin + Offset(cell, 0))
        await self.expect(lambda: slider.held == tasks, f"the knob of {name} at {format_count(tasks)}")
        await self._mouse.release()
        await self._holds(name, tasks)

    async def _slider(self, name: str) -> Slider:
        self.must_run(name)
        slider = self._card(name).slider
        slider.scroll_visible(animate=False)  # which is done when the screen comes to it
        seen = self.app.screen.find_widget
        await self.expect(
            lambda: seen(slider).visible_region == seen(slider).region, f"the slider of {name} to be seen"
        )
        await self.come_to_rest()
        return slider

    async def type(self, name: str, tasks: int) -> None:
        """Type the exact number of tasks that a lane shall hold.

        Raises:
            StepFailed: it was not taken.
        """
        self.must_run(name)
        await self.choose(name)
        await self.answer("enter", str(tasks))
        await self._holds(name, tasks)

    async def _holds(self, name: str, tasks: int) -> None:
        lane = self.scene.lane(name)
        await self.expect(
            lambda: (
                lane.target == tasks
                or lane.limit is not None
                or bool(self._objection())
                or self.scene.cannot_run(name) is not None
            ),
            f"{name} asked for {format_count(tasks)}",
        )
        self.must_run(name)
        if self._objection():
            raise StepFailed(f"{name} is not to hold {format_count(tasks)} here: {self._objection()}")

    def _objection(self) -> str:
        """Give the reason why a target will not fit, if that is what the program asks about."""
        return self.app.screen.said if isinstance(self.app.screen, FitDialog) else ""

    async def click(self, text: str, name: str | None) -> None:
        """Click on the first letter of ``text``, where it can be read on the screen, or on a lane's card.

        Raises:
            StepFailed: it is not to be read there.
        """
        within = self.app.screen if name is None else self._card(name)
        where = "on the screen" if name is None else f"on the card of {name}"
        await self.expect(lambda: self._find(text, within) is not None, f'"{text}" to be read {where}')
        at = self._find(text, within)
        if at is not None:
            await self._mouse.click(at)
            await self.come_to_rest()

    def _find(self, text: str, within: Widget) -> Offset | None:
        """Give the first place of the terminal at which ``text`` can be read on a widget or in it."""
        for widget in (within, *within.query(Widget)):
            where = find_text(widget, text)
            if where is not None:
                at: Offset = widget.region.offset + where
                if self.app.get_widget_at(*at)[0] is widget:
                    return at
        return None

    # The rest.

    async def say(self, caption: str) -> None:
        """Show a caption above the keys."""
        for screen in self.app.screen_stack:
            for bar in screen.query(CaptionBar):
                bar.say(caption)
        # Where a dialog is in front, also in it: what is behind it is seen only in part, and later again.
        stack = self.app.screen_stack
        behind = next(screen for screen in reversed(stack) if not screen.is_modal)
        for screen in dict.fromkeys((behind, self.app.screen)):
            if not screen.query(CaptionBar):
                keys = screen.query(KeyBar)
                await screen.mount(CaptionBar(caption), before=keys.first() if keys else None)
        await self.come_to_rest()

    async def run_experiment(self, name: str, quick: bool) -> None:
        """Open the experiments if need be, choose one, and start it.

        Raises:
            StepFailed: it did not start.
        """
        from concwatch.ui.screens.experiments import ExperimentsScreen  # only here, as in the app

        if not isinstance(self.app.screen, ExperimentsScreen):
            self.monitor()
            await self.press("e")
            await self.expect(lambda: isinstance(self.app.screen, ExperimentsScreen), "the experiments")
        screen, runs = self.app.screen, self.scene.runs
        assert isinstance(screen, ExperimentsScreen)
        assert runs is not None
        index = list(runs.experiments).index(name)
        for _ in range(abs(index - screen.chosen)):
            await self.press("down" if index > screen.chosen else "up")
        if runs.quick != quick:
            await self.press("k")
        await self.press("enter")
        await self.expect(lambda: runs.running == name, f"{name} running")

    async def look(self) -> None:
        """Have the screen show what is so now, and not what was when it last looked.

        Raises:
            StepFailed: the program does not answer.
        """
        self.app.look_now()
        await self.come_to_rest()

    async def come_to_rest(self) -> None:
        """Have everything handled that has been asked for.

        Raises:
            StepFailed: the program does not answer.
        """
        try:
            await self._pilot.pause(0)
        except WaitForScreenTimeout:
            raise StepFailed("expected the program to answer; it is busy with something else") from None

    # What is there.

    def monitor(self) -> MonitorScreen:
        """Give the screen of lanes, which must be in front.

        Raises:
            StepFailed: another is.
        """
        screen: Screen[object] = self.app.screen
        if not isinstance(screen, MonitorScreen):
            raise StepFailed("expected the lanes in front, not another screen or a dialog")
        return screen

    def must_run(self, name: str) -> None:
        """See that a lane's engine can run here, as far as is known.

        Raises:
            CannotRun: it cannot.
        """
        reason = self.scene.cannot_run(name)
        if reason is not None:
            raise CannotRun(name, reason)

    def _index(self, name: str) -> int:
        return [lane.engine.name for lane in self.scene.lab.lanes].index(name)

    def _card(self, name: str) -> LaneCard:
        return list(self.monitor().query(LaneCard))[self._index(name)]


def way(start: int, end: int, most: int) -> list[int]:
    """Give at most ``most`` cells from the one after ``start`` to ``end``, evenly apart."""
    length = abs(end - start)
    stops = min(most, length)
    return [start + round((end - start) * stop / stops) for stop in range(1, stops + 1)]


def find_text(widget: Widget, text: str) -> Offset | None:
    """Give the cell of a widget, from its upper left corner, at which ``text`` can be read, or None."""
    if not widget.display or not widget.outer_size:
        return None
    lines: list[Strip] = widget.render_lines(widget.outer_size.region)
    return next((Offset(line.text.index(text), y) for y, line in enumerate(lines) if text in line.text), None)
