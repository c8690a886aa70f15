"""A lane as it was recorded: everything is seen, and nothing can be moved."""

from collections.abc import Iterable, Sequence

from textual import events
from textual.color import Color
from textual.content import Content
from textual.style import Style
from textual.widget import Widget

from concwatch.ui.widgets.lane_card import LaneCard
from concwatch.ui.widgets.text_lines import Cell, do


class StillCard(LaneCard):
    """Shows one `LaneSnapshot`; a click chooses the lane, and says that nothing can be switched.

    Its slider only knows what it would show: the card draws that as a line of its own, for a jump would wait
    for six widgets more.
    """

    HINT = ""
    NUDGES = False

    def compose(self) -> Iterable[Widget]:
        """Nothing stands over the text."""
        return ()

    def lines(self, width: int) -> Sequence[Sequence[Cell]]:
        """Return the lines of a lane's card, with nothing to click."""
        lines = [[cell._replace(tap="") for cell in line] for line in super().lines(width)]
        if len(lines) == 1:
            room = lines[0][2].width
            lines[0][2] = Cell(room, self._gauge(room - 1))
        elif lines:
            lines[1] = [Cell(width, self._gauge(width))]
        return lines

    def _gauge(self, width: int) -> Content:
        gauge = self.slider.bar(width, "┃")
        _, _, background, _ = self.colors
        color = Color.parse(self.color)
        lane = Style(foreground=background.blend(color, 0.75, alpha=1.0))
        pending = Style(foreground=background.blend(color, 0.45, alpha=1.0))
        return gauge.content(lane, pending, "$dim", "$foreground 20%")

    async def on_click(self, event: events.Click) -> None:
        """Select the lane; what it shows was recorded."""
        event.stop()
        await self.run_action(f"screen.{do('choose', self._lane)}")
        x, y = event.screen_offset - self.content_region.offset
        name = self.lines(self.content_size.width)[0][0]
        if y > 0 or x >= name.width:
            await self.run_action(f"screen.{do('refuse')}")
