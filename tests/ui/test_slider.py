"""The slider: its track as plain strings, and the widget with mouse, wheel and keys."""

from contextlib import asynccontextmanager

import pytest
from textual import events
from textual.app import App, ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input

from concwatch.monitor.metrics.metrics import EngineFacts, LaneSnapshot, LaneStatus, blank_sample
from concwatch.monitor.metrics.state import State
from concwatch.ui.widgets.lanes.lane_card import LaneCard
from concwatch.ui.widgets.lanes.slider import Slider
from concwatch.ui.widgets.lanes.slider_bar import SliderBar
from tests.screen import pilot_of, running, showing

WIDTH = 34
LEFT, TOP = 5, 2
"""The position of the slider."""


@pytest.mark.parametrize(
    ("width", "knob", "live", "picture"),
    [
        (10, 6, 6, "━━━━━━●───"),
        (10, 6, 3, "━━━╍╍╍●───"),
        (10, 3, 6, "━━━●╍╍╍───"),
        (10, 0, 9, "●╍╍╍╍╍╍╍╍╍"),
        (10, 99, -5, "╍╍╍╍╍╍╍╍╍●"),
        (2, 1, 0, "╍●"),
        (1, 0, 0, "●"),
        (0, 0, 0, ""),
    ],
)
def test_slider_bar(width, knob, live, picture):
    assert str(SliderBar(width, knob, live)) == picture


class CountingSlider(Slider):
    redraws = 0

    def redraw_rows(self, rows):
        self.redraws += 1
        super().redraw_rows(rows)


class SliderApp(App[None]):
    """An app with one slider, surrounded by space to which it can be dragged."""

    CSS = f"Slider {{ width: {WIDTH}; margin: {TOP} {LEFT}; }} Vertical {{ height: auto; }}"

    def __init__(self, **arguments):
        super().__init__()
        self.slider = CountingSlider()
        for name, value in arguments.items():
            setattr(self.slider, name, value)
        self.messages = []

    def compose(self) -> ComposeResult:
        with Vertical():
            yield self.slider
            yield Input()

    def on_slider_dragged(self, message):
        assert message.control is message.slider is self.slider
        self.messages.append(("dragged", message.value))

    def on_slider_changed(self, message):
        assert message.control is self.slider
        self.messages.append(("changed", message.value))

    def on_slider_cancelled(self, message):
        self.messages.append(("cancelled", message.value))

    def outcomes(self):
        return [entry for entry in self.messages if entry[0] != "dragged"]

    def picture(self):
        return "".join(segment.text for segment in self.slider.render_line(0))

    def post(self, kind, x, button=0):
        """Send a mouse event at cell ``x`` of the slider."""
        event = kind(self.slider, x, 0, 0, 0, button, False, False, False, x + LEFT, TOP)
        self.slider.post_message(event)


@asynccontextmanager
async def running_slider(**arguments):
    app = SliderApp(**arguments)
    async with app.run_test() as pilot:
        yield app, pilot_of(pilot)


async def test_a_drag_is_applied_once_at_its_end_and_ignores_values_set_meanwhile():
    async with running_slider() as (app, pilot):
        await pilot.mouse_down(Slider, (10, 0))
        assert app.mouse_captured is app.slider
        assert (app.slider.value, app.slider.shown) == (0, app.slider.scale.value_at(10, WIDTH))
        for x in (12, 15, 20):
            await pilot.hover(Slider, (x, 0))
        assert app.outcomes() == []
        await pilot.mouse_up(Slider, (23, 0))
        assert [kind for kind, _ in app.messages] == ["dragged"] * 5 + ["changed"]
        assert app.outcomes() == [("changed", 10_000)]
        assert (app.slider.value, app.slider.held, app.mouse_captured) == (10_000, None, None)
        await pilot.mouse_down(Slider, (30, 0))
        dragged_to = app.slider.shown
        app.slider.value = 5
        await pilot.pause()
        assert app.slider.shown == dragged_to
        await pilot.press("escape")
        assert app.slider.shown == 5
        for kind in (
            events.MouseDown,
            events.MouseUp,
            events.MouseDown,
        ):  # then another drag
            app.post(kind, 23, 1)
        await pilot.pause()
        assert (app.slider.held, app.mouse_captured) == (10_000, app.slider)
        assert app.outcomes()[-1] == ("changed", 10_000)


DOWN, MOVE, UP = events.MouseDown, events.MouseMove, events.MouseUp
WHEEL_UP, WHEEL_DOWN = events.MouseScrollUp, events.MouseScrollDown
KNOB = SliderApp(value=12_345).slider.scale.cell(12_345, WIDTH)

GESTURES = [
    ("the right end is reached", 5, [(DOWN, 33), (UP, 33)], [("changed", 10**6)]),
    ("the left end is reached", 5, [(DOWN, 0), (UP, 0)], [("changed", 0)]),
    ("a drag outside stops at the end", 5, [(DOWN, 10), (MOVE, 74), (UP, 74)], [("changed", 10**6)]),
    ("a drag outside on the left stops at 0", 5, [(DOWN, 10), (MOVE, -5), (UP, -5)], [("changed", 0)]),
    ("a click on the knob keeps an exact number", 12_345, [(DOWN, KNOB), (UP, KNOB)], [("changed", 12_345)]),
    ("a missed release ends the drag", 0, [(DOWN, 10), (MOVE, 23), (MOVE, 30, 0)], [("changed", 10_000)]),
    ("a second press without a release", 10_000, [(DOWN, 10), (DOWN, 0)], [("cancelled", 10_000)]),
    ("other buttons do nothing", 5, [(DOWN, 10, 3), (UP, 10, 3)], []),
    ("moving without a press does nothing", 5, [(MOVE, 10, 0)], []),
    ("keys do not move a dragged knob", 5, [(DOWN, 30), "left", "home"], []),
    ("escape cancels a drag", 5, [(DOWN, 30), "escape", (MOVE, 5, 0), (UP, 5)], [("cancelled", 5)]),
    (
        "the wheel steps one stop",
        12_345,
        [(WHEEL_UP, 3), (WHEEL_UP, 3), (WHEEL_DOWN, 3)],
        [("changed", 20_000), ("changed", 50_000), ("changed", 20_000)],
    ),
    ("a step beyond an end applies nothing", 10**6, ["right", "shift+right", "pageup", "end"], []),
    *(
        (f"{key} applies at once", 10_000, [key], [("changed", value)])
        for key, value in (
            ("right", 20_000),
            ("left", 5_000),
            ("shift+right", 11_000),
            ("shift+left", 9_500),
            ("pageup", 100_000),
            ("pagedown", 1_000),
            ("home", 0),
            ("end", 10**6),
        )
    ),
]  # fmt: skip


async def test_mouse_wheel_and_keys_send_the_expected_messages():
    async with running_slider() as (app, pilot):
        for name, value, steps, outcomes in GESTURES:
            app.slider.value = value
            await pilot.pause()
            assert app.messages == [], "setting the value in code sends no message"
            for step in steps:
                if isinstance(step, str):
                    app.simulate_key(step)
                else:
                    kind, x, *button = step
                    app.post(kind, x, *(button or (1,)))
                await pilot.pause()
            assert app.outcomes() == outcomes, name
            dragged = app.mouse_captured is app.slider
            assert dragged is (app.slider.held is not None), name
            if not dragged and outcomes:
                assert app.slider.value == outcomes[-1][1], name
            app.simulate_key("escape")
            await pilot.pause()
            app.messages.clear()


async def test_a_drag_is_cancelled_when_the_slider_is_disabled_hidden_covered_or_removed():
    async with running_slider(value=10_000) as (app, pilot):
        slider, parent = app.slider, app.query_one(Vertical)
        for disable, restore in (
            (lambda: setattr(slider, "disabled", True), lambda: setattr(slider, "disabled", False)),
            (lambda: setattr(slider, "display", False), lambda: setattr(slider, "display", True)),
            (lambda: app.simulate_key("tab"), slider.focus),
            (lambda: setattr(parent, "disabled", True), lambda: setattr(parent, "disabled", False)),
            (lambda: app.push_screen(ModalScreen()), app.pop_screen),
            (slider.remove, None),
        ):
            await pilot.mouse_down(Slider, (30, 0))
            assert app.mouse_captured is slider
            app.messages.clear()
            disable()
            await pilot.pause()
            assert app.outcomes() == ([("cancelled", 10_000)] if restore else [])
            assert app.mouse_captured is None
            if restore:
                restore()
                await pilot.pause()


async def test_the_mouse_reaches_both_ends_with_any_padding_width_and_maximum():
    async with running_slider() as (app, pilot):
        app.slider.styles.padding = (0, 2)
        await pilot.pause()
        await pilot.click(Slider, (2, 0))
        await pilot.click(Slider, (WIDTH - 3, 0))
        assert app.outcomes() == [("changed", 0), ("changed", 1_000_000)]
        app.slider.styles.padding = 0
        for width in (1, 2, 3):
            app.slider.styles.width = width
            await pilot.pause()
            assert app.picture().count("●") == 1
            await pilot.click(Slider, (width - 1, 0))
            assert app.slider.value == (1_000_000 if width > 1 else 0)
        app.slider.styles.width = WIDTH
        for maximum in (21_800, 7, 1):
            app.slider.maximum = maximum
            await pilot.pause()
            await pilot.click(Slider, (WIDTH - 1, 0))
            assert app.outcomes()[-1] == ("changed", maximum)
            assert app.picture().rstrip().endswith("●"), "the track ends at the maximum"


async def test_a_disabled_slider_ignores_mouse_and_keys():
    async with running_slider(value=10_000, disabled=True) as (app, pilot):
        await pilot.click(Slider, (30, 0))
        app.simulate_key("right")
        app.post(WHEEL_UP, 3)
        await pilot.pause()
        assert (app.messages, app.slider.value) == ([], 10_000)


async def test_the_track_shows_target_and_live_tasks_and_is_drawn_again_only_when_a_cell_changes():
    async with running_slider(value=10_000, live=500) as (app, pilot):
        await pilot.pause()
        assert app.picture() == "━━━━━━━┯━━━━┯━━━╍╍╍╍╍╍╍●────┬─────"
        before = app.slider.redraws
        for live in range(500, 510):
            app.slider.live = live
            await pilot.pause()
        assert app.slider.redraws == before
        app.slider.live = 5_000
        await pilot.pause()
        assert app.slider.redraws == before + 1
        app.slider.maximum = 10_000
        await pilot.pause()
        assert app.picture().endswith("●          "), "the track ends at the maximum"


async def test_the_slider_changes_with_colour_focus_and_theme():
    async with running_slider(value=10_000, live=10_000, color="#ff6b7a") as (app, pilot):

        def colours():
            return [str(segment.style.color.name) for segment in app.slider.render_line(0)]

        focused = colours()
        await pilot.press("tab")
        blurred = colours()
        assert focused[0] == blurred[0] == blurred[1] == "#ff6b7a"
        assert focused[1:3] != blurred[1:3]
        app.theme = "textual-light"
        await pilot.pause()
        light = colours()
        assert light[0] == "#ff6b7a"
        assert light[2] != blurred[2]
        app.slider.color = "#59c9f0"
        await pilot.pause()
        assert colours()[0] == "#59c9f0"


@pytest.mark.parametrize("state", [State.STARTING, State.RUNNING])
async def test_a_target_without_refill_is_finished_once_its_tasks_have_run(state):
    card = LaneCard(None, 0, "asyncio", 8, 1_000, "#ffffff", False)
    async with running(showing(card), (60, 10)):
        sample = blank_sample(0, 1.0, live=0)
        card.show(LaneSnapshot(EngineFacts("asyncio"), LaneStatus(state, target=10), sample), refill=False)
        assert card.finished is (state is State.RUNNING)
