"""The card of a recorded lane."""

from collections.abc import Callable, Sequence
from functools import partial

from msgspec.structs import replace
from textual.color import Color
from textual.content import Content
from textual.events import Click
from textual.style import Style

from concwatch.ui.widgets.lanes.lane_card import LaneCard
from concwatch.ui.widgets.lanes.slider_bar import draw_bar
from concwatch.ui.widgets.text.text_lines import Cell


class RecordedCard(LaneCard, can_focus=False):
    """The card of a recorded lane. A click selects it, and notifies that nothing can be changed."""

    HINT = ""
    HAS_STEPS = False

    def __init__(
        self,
        select: Callable[[int], object],
        refuse: Callable[[], object],
        *rest: *tuple[int, str, int, int, str, bool],
    ) -> None:
        """Create the card of a lane.

        Args:
            select: selects a lane.
            refuse: notifies that nothing can be changed.
            rest: the arguments of `LaneCard` after the first.
        """
        super().__init__(None, *rest)
        self._choose, self._refuse = select, refuse

    def cell_rows(self, width: int) -> Sequence[Sequence[Cell]]:
        """Return the lines of a lane's card, without actions."""
        return [[replace(cell, action=None) for cell in line] for line in super().cell_rows(width)]

    def track_text(self, width: int) -> Content:
        """Return the track with a bar at the target in place of the knob."""
        _, background = self.background_colors
        color = Color.parse(self.color)
        lane, pending = (
            Style(foreground=background.blend(color, share, alpha=1.0)) for share in (0.75, 0.45)
        )
        return draw_bar(self.bar(width, "┃"), lane, pending, "$dim", "$foreground 20%")

    def on_click(self, event: Click) -> None:
        """Select the lane, and notify if the click was not on its name."""
        event.stop()
        self.post_message(self.ActionRequested(partial(self._choose, self._lane)))
        x, y = event.screen_offset - self.content_region.offset
        if y > 0 or x >= self.cell_rows(self.content_size.width)[0][0].width:
            self.post_message(self.ActionRequested(self._refuse))
