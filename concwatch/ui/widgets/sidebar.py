"""The column on the left that holds the lanes, and says in its frame what all of them take."""

from typing import Self

from textual.containers import VerticalScroll
from textual.content import Content
from textual.geometry import Region

from concwatch.ui.scale import StopScale
from concwatch.units import format_short

PADDING = 1
"""Cells before a lane's slider."""

CARD_ROWS, SETTING_ROWS = 4, 6
"""Rows of a lane with the gap below it, and of the settings that stand below all lanes."""


class Sidebar(VerticalScroll, can_focus=False):
    """Scrolls through the lanes; a change of what stands in its frame draws the frame's last row alone."""

    TITLE = "lanes"
    SCALED = True
    """Whether the lanes have sliders, whose scale stands in the upper edge."""

    _quiet = False

    def on_resize(self) -> None:
        """Write the scale of the sliders into the upper edge: it is the same for all."""
        track, line = self.content_size.width - PADDING, f"{self.TITLE} "
        scale = StopScale()
        for stop in (*scale.decades[1:], scale.maximum) if self.SCALED else ():
            label = format_short(stop).replace(" ", "")
            start = scale.cell(stop, track) + PADDING - 1 - (len(label) + 1) // 2
            start = min(start, self.outer_size.width - len("╭─  ─╮") - len(label))
            if start > len(line):
                line += "─" * (start - len(line)) + label
        self.border_title = Content.assemble(self.TITLE, (line.removeprefix(self.TITLE).rstrip("─"), "$dim"))

    def make_room(self, lanes: int) -> None:
        """Close the gaps between so many lanes, and then the settings up, if else some were out of sight."""
        rows = self.content_size.height
        self.set_class(0 < rows < lanes * CARD_ROWS + SETTING_ROWS, "-close")
        self.set_class(0 < rows < lanes * (CARD_ROWS - 1) + SETTING_ROWS, "-closer")

    def set_subtitle(self, text: str) -> None:
        """Have ``text`` stand at the lower end of the frame."""
        if self.border_subtitle == text:
            return
        self._quiet = True
        self.border_subtitle = text
        self._quiet = False
        gutter, (width, height) = self.styles.gutter, self.outer_size
        self.refresh(Region(-gutter.left, height - gutter.top - 1, width, 1))

    def refresh(
        self, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False
    ) -> Self:
        """Draw ``regions`` again; without any, everything."""
        if self._quiet:
            return self
        return super().refresh(*regions, repaint=repaint, layout=layout, recompose=recompose)
