"""The slider: its picture as plain strings, and the widget under mouse, wheel and keys."""

import pytest
from textual import events
from textual.app import App, ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input

from concwatch.ui.renderables.slider_bar import SliderBar
from concwatch.ui.widgets.slider import Slider

WIDTH = 34


@pytest.mark.parametrize(
    ("width", "knob", "live", "picture"),
    [
        (10, 0, 0, "●─────────"),
        (10, 6, 6, "━━━━━━●───"),
        (10, 6, 3, "━━━╍╍╍●───"),
        (10, 6, 0, "╍╍╍╍╍╍●───"),
        (10, 3, 6, "━━━●╍╍╍───"),
        (10, 0, 9, "●╍╍╍╍╍╍╍╍╍"),
        (10, 9, 9, "━━━━━━━━━●"),
        (10, 99, -5, "╍╍╍╍╍╍╍╍╍●"),
        (3, 1, 1, "━●─"),
        (2, 1, 0, "╍●"),
        (1, 0, 0, "●"),
        (0, 0, 0, ""),
    ],
)
def test_bar(width, knob, live, picture):
    assert str(SliderBar(width, knob, live)) == picture


def test_bar_fills_its_width_whatever_the_marks():
    for width in range(1, 12):
        for knob in range(width):
            for live in range(width):
                assert len(str(SliderBar(width, knob, live))) == width


class SliderApp(App[None]):
    """One slider in the middle of a screen, with room on every side to drag out of it."""

    CSS = f"Slider {{ width: {WIDTH}; margin: 2 5; }} Vertical {{ height: auto; }}"

    def __init__(self, **arguments):
        super().__init__()
        self.arguments = arguments
        self.seen = []

    def compose(self) -> ComposeResult:
        with Vertical():
            yield CountingSlider(**self.arguments)
            yield Input()

    @property
    def slider(self):
        return self.query_one(CountingSlider)

    def on_slider_dragged(self, message):
        assert message.control is message.slider is self.slider
        self.seen.append(("dragged", message.value))

    def on_slider_changed(self, message):
        assert message.control is self.slider
        self.seen.append(("changed", message.value))

    def on_slider_cancelled(self, message):
        self.seen.append(("cancelled", message.value))

    def outcomes(self):
        return [entry for entry in self.seen if entry[0] != "dragged"]

    def picture(self):
        return "".join(segment.text for segment in self.slider.render_line(0))


class CountingSlider(Slider):
    renders = 0

    def render(self):
        self.renders += 1
        return super().render()


async def test_a_drag_applies_once_where_it_ends():
    app = SliderApp()
    async with app.run_test() as pilot:
        await pilot.mouse_down(Slider, (10, 0))
        assert app.mouse_captured is app.slider
        assert (app.slider.value, app.slider.shown) == (0, app.slider.scale.value_at(10, WIDTH))
        for x in (12, 15, 20):
            await pilot.hover(Slider, (x, 0))
        assert app.outcomes() == []
        await pilot.mouse_up(Slider, (23, 0))
        assert app.outcomes() == [("changed", 10_000)]
        assert [kind for kind, _ in app.seen] == ["dragged"] * 5 + ["changed"]
        assert (app.slider.value, app.slider.held, app.mouse_captured) == (10_000, None, None)


@pytest.mark.parametrize("maximum", [1_000_000, 21_800, 7, 1])
async def test_both_ends_are_reached_by_mouse(maximum):
    app = SliderApp(maximum=maximum)
    async with app.run_test() as pilot:
        await pilot.click(Slider, (WIDTH - 1, 0))
        await pilot.click(Slider, (0, 0))
        assert app.outcomes() == [("changed", maximum), ("changed", 0)]


async def test_the_drag_goes_on_outside_and_stops_at_the_ends():
    app = SliderApp(value=10_000)
    async with app.run_test() as pilot:
        await pilot.mouse_down(Slider, (10, 0))
        await pilot.hover(offset=(79, 20))
        assert app.slider.shown == 1_000_000
        await pilot.hover(offset=(0, 0))
        assert app.slider.shown == 0
        await pilot.mouse_up(offset=(79, 0))
        assert app.outcomes() == [("changed", 1_000_000)]


async def test_escape_gives_the_drag_up():
    app = SliderApp(value=10_000)
    async with app.run_test() as pilot:
        await pilot.mouse_down(Slider, (30, 0))
        await pilot.press("escape")
        assert app.outcomes() == [("cancelled", 10_000)]
        await pilot.hover(Slider, (5, 0))
        await pilot.mouse_up(Slider, (5, 0))
        assert app.outcomes() == [("cancelled", 10_000)]
        assert (app.slider.shown, app.mouse_captured) == (10_000, None)


async def test_a_value_from_outside_leaves_the_knob_in_the_hand():
    app = SliderApp(value=10_000)
    async with app.run_test() as pilot:
        await pilot.mouse_down(Slider, (30, 0))
        held = app.slider.shown
        app.slider.value = 5
        await pilot.pause()
        assert app.slider.shown == held
        await pilot.press("escape")
        assert app.slider.shown == 5


async def test_a_click_on_the_knob_keeps_an_exact_number():
    app = SliderApp(value=12_345)
    async with app.run_test() as pilot:
        await pilot.click(Slider, (app.slider.scale.cell(12_345, WIDTH), 0))
        assert app.outcomes() == [("changed", 12_345)]


async def test_keys_do_not_move_a_knob_in_the_hand():
    app = SliderApp(value=10_000)
    async with app.run_test() as pilot:
        await pilot.mouse_down(Slider, (30, 0))
        held = app.slider.shown
        await pilot.press("left", "home")
        assert (app.slider.shown, app.outcomes()) == (held, [])


async def test_a_new_screen_takes_the_mouse():
    app = SliderApp(value=10_000)
    async with app.run_test() as pilot:
        await pilot.mouse_down(Slider, (30, 0))
        await app.push_screen(ModalScreen())
        await pilot.pause()
        assert (app.seen[-1], app.mouse_captured) == (("cancelled", 10_000), None)


@pytest.mark.parametrize("change", ["disabled", "hidden", "blurred", "parent disabled"])
async def test_what_takes_the_slider_away_ends_the_drag(change):
    app = SliderApp(value=10_000)
    async with app.run_test() as pilot:
        await pilot.mouse_down(Slider, (30, 0))
        match change:
            case "disabled":
                app.slider.disabled = True
            case "hidden":
                app.slider.display = False
            case "blurred":
                await pilot.press("tab")
            case "parent disabled":
                app.query_one(Vertical).disabled = True
        await pilot.pause()
        assert app.outcomes() == [("cancelled", 10_000)]
        assert app.mouse_captured is None


async def test_a_removed_slider_gives_the_mouse_back():
    app = SliderApp()
    async with app.run_test() as pilot:
        await pilot.mouse_down(Slider, (30, 0))
        await app.slider.remove()
        assert app.mouse_captured is None


async def test_a_release_nobody_heard_of_ends_the_drag():
    app = SliderApp()
    async with app.run_test() as pilot:
        await pilot.mouse_down(Slider, (10, 0))
        for x, button in ((23, 1), (30, 0)):
            app.slider.post_message(
                events.MouseMove(app.slider, x, 0, 0, 0, button, False, False, False, x + 5, 2)
            )
        await pilot.pause()
        assert app.outcomes() == [("changed", 10_000)]
        assert app.mouse_captured is None


async def test_a_second_press_without_a_release_gives_the_drag_up():
    app = SliderApp(value=10_000)
    async with app.run_test() as pilot:
        await pilot.mouse_down(Slider, (10, 0))
        await pilot.mouse_down(offset=(0, 0))
        assert app.outcomes() == [("cancelled", 10_000)]


async def test_a_press_right_after_a_release_is_a_drag_of_its_own():
    app = SliderApp()
    async with app.run_test() as pilot:
        for kind in (events.MouseDown, events.MouseUp, events.MouseDown):
            app.slider.post_message(kind(app.slider, 23, 0, 0, 0, 1, False, False, False, 28, 2))
        await pilot.pause()
        assert (app.slider.held, app.mouse_captured) == (10_000, app.slider)
        assert app.outcomes() == [("changed", 10_000)]


async def test_other_buttons_do_nothing():
    app = SliderApp()
    async with app.run_test() as pilot:
        await pilot.mouse_down(Slider, (10, 0), button=3)
        await pilot.mouse_up(Slider, (10, 0))
        assert app.seen == []


async def test_moving_without_a_press_does_nothing():
    app = SliderApp()
    async with app.run_test() as pilot:
        await pilot.hover(Slider, (10, 0))
        assert app.seen == []


async def test_padding_is_no_part_of_the_track():
    app = SliderApp()
    async with app.run_test() as pilot:
        app.slider.styles.padding = (0, 2)
        await pilot.pause()
        await pilot.click(Slider, (2, 0))
        await pilot.click(Slider, (WIDTH - 3, 0))
        assert app.outcomes() == [("changed", 0), ("changed", 1_000_000)]


def wheel(slider, kind):
    slider.post_message(kind(slider, 3, 0, 0, 0, 0, False, False, False, 8, 2))


async def test_the_wheel_steps_one_stop():
    app = SliderApp(value=12_345)
    async with app.run_test() as pilot:
        for kind in (events.MouseScrollUp, events.MouseScrollUp, events.MouseScrollDown):
            wheel(app.slider, kind)
        await pilot.pause()
        assert app.seen == [("changed", 20_000), ("changed", 50_000), ("changed", 20_000)]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("right", 20_000),
        ("left", 5_000),
        ("shift+right", 11_000),
        ("shift+left", 9_500),
        ("pageup", 100_000),
        ("pagedown", 1_000),
        ("home", 0),
        ("end", 1_000_000),
    ],
)
async def test_a_key_applies_at_once(key, value):
    app = SliderApp(value=10_000)
    async with app.run_test() as pilot:
        await pilot.press(key)
        assert app.seen == [("changed", value)]
        assert app.slider.value == value


async def test_a_step_beyond_an_end_applies_nothing():
    app = SliderApp(value=1_000_000)
    async with app.run_test() as pilot:
        await pilot.press("right", "shift+right", "pageup", "end")
        assert app.seen == []


async def test_a_disabled_slider_does_nothing():
    app = SliderApp(value=10_000, disabled=True)
    async with app.run_test() as pilot:
        await pilot.click(Slider, (30, 0))
        await pilot.press("right")
        wheel(app.slider, events.MouseScrollUp)
        await pilot.pause()
        assert (app.seen, app.slider.value) == ([], 10_000)


async def test_a_value_set_by_the_program_is_no_change_by_the_user():
    app = SliderApp()
    async with app.run_test() as pilot:
        app.slider.value = 10_000
        await pilot.pause()
        assert app.seen == []


async def test_the_picture_shows_target_and_live():
    app = SliderApp(value=10_000, live=500)
    async with app.run_test(size=(80, 12)) as pilot:
        assert app.picture() == "━━━━━━━┯━━━━┯━━━╍╍╍╍╍╍╍●────┬─────"
        app.slider.maximum = 10_000
        await pilot.pause()
        assert app.picture().endswith("●          "), "there is no track that cannot be reached"
        app.slider.maximum = -1
        await pilot.pause()
        assert app.picture().endswith("●          ")


async def test_only_a_change_of_a_cell_is_drawn():
    app = SliderApp(value=1_000_000, live=10_000)
    async with app.run_test() as pilot:
        await pilot.pause()
        before = app.slider.renders
        for live in range(10_000, 10_100):
            app.slider.live = live
            await pilot.pause()
        assert app.slider.renders == before
        app.slider.live = 20_000
        await pilot.pause()
        assert app.slider.renders == before + 1


async def test_colour_focus_and_theme_are_seen():
    app = SliderApp(value=10_000, live=10_000, color="#ff6b7a")
    async with app.run_test() as pilot:

        def colours():
            return [str(segment.style.color.name) for segment in app.slider.render_line(0)]

        focused = colours()
        assert focused[0] == "#ff6b7a"
        await pilot.press("tab")
        left = colours()
        assert left[0] == left[1] == "#ff6b7a"
        assert focused[1] != left[1]
        assert focused[2] != left[2]
        app.theme = "textual-light"
        await pilot.pause()
        light = colours()
        assert light[0] == "#ff6b7a"
        assert light[2] != left[2]
        app.slider.color = ""
        await pilot.pause()
        assert colours()[0] not in ("#ff6b7a", light[2])


@pytest.mark.parametrize("width", [1, 2, 3])
async def test_it_works_on_a_track_of_a_few_cells(width):
    app = SliderApp(value=10_000)
    async with app.run_test() as pilot:
        app.slider.styles.width = width
        await pilot.pause()
        assert app.picture().count("●") == 1
        await pilot.click(Slider, (width - 1, 0))
        assert app.slider.value == (1_000_000 if width > 1 else 0)
