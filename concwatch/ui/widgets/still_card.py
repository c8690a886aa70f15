"""A lane as it was recorded: everything is seen, and nothing can be moved."""

from collections.abc import Sequence
from typing import ClassVar

from textual import events
from textual.style import Style

from concwatch.ui.messages import LaneSelected
from concwatch.ui.renderables.slider_bar import SliderBar, SliderStyles
from concwatch.ui.widgets.lane_card import LaneCard
from concwatch.ui.widgets.phrase import Cell
from concwatch.ui.widgets.slider import Slider


class Gauge(SliderBar, frozen=True):
    """A track with a stroke at what was asked for, where a slider has a knob to take hold of."""

    KNOB: ClassVar[str] = "┃"


class StillSlider(Slider, can_focus=False):
    """A slider that shows, and leaves mouse and wheel to the card behind it."""

    DEFAULT_CSS = """
    StillSlider { pointer: default; }
    """

    def _bar(self) -> Gauge:
        bar = super()._bar()
        return Gauge(bar.width, bar.knob, bar.live)

    def _styles(self) -> SliderStyles:
        _, _, background, color = self.colors
        lane = Style(foreground=background.blend(color, 0.75, alpha=1.0))
        pending = Style(foreground=background.blend(color, 0.45, alpha=1.0))
        knob = "$foreground 70%" if self.shown or self.live else "$foreground 35%"
        return SliderStyles(lane, pending, knob, "$foreground 20%")

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Leave it to the card."""
        event.prevent_default()

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Leave it to what can be scrolled."""
        event.prevent_default()

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Leave it to what can be scrolled."""
        event.prevent_default()


class StillCard(LaneCard):
    """Shows one `LaneView`; a click chooses the lane, and says that nothing can be switched."""

    HINT = ""
    NUDGES = False

    def __init__(self, lane: int, name: str, maximum: int, color: str, selected: bool) -> None:
        """Make the card of a lane; the arguments are those of a `LaneCard`."""
        super().__init__(lane, name, maximum, color, selected)
        self.slider = StillSlider(maximum=maximum, color=color)

    def lines(self, width: int) -> Sequence[Sequence[Cell]]:
        """Say all that a lane's card says, with nothing to click."""
        return [[cell._replace(tap="") for cell in line] for line in super().lines(width)]

    async def on_click(self, event: events.Click) -> None:
        """Choose the lane; what it shows was recorded."""
        event.stop()
        self.post_message(LaneSelected(self._lane))
        x, y = event.screen_offset - self.content_region.offset
        name = self.lines(self.content_size.width)[0][0]
        if y > 0 or x >= name.width:
            await self.run_action("screen.refuse")
