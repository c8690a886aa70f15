"""The column of lanes on the left, with their total memory in its border."""

from typing import Self

from textual.containers import VerticalScroll
from textual.content import Content
from textual.geometry import Region
from textual.strip import Strip

from concwatch.portable.protocol.units import format_short
from concwatch.ui.widgets.lanes.slider_scale import StopScale
from concwatch.ui.widgets.text.kept_lines import KeptLines

BEFORE, SCROLLBAR = 1, 1
"""The cells before a lane's slider, and after it for a scrollbar."""

CORNER = len("╭─ ")
"""The cells of the border before its title."""

APART = 2
"""The fewest cells between two labels, so that they do not read as a range."""


class Sidebar(VerticalScroll, KeptLines, can_focus=False):
    """Scrolls the lanes. A new subtitle redraws only the last row of the border."""

    TITLE = "lanes"
    SCALED = True
    """Whether the upper border shows the scale of the sliders."""

    _quiet = False

    def on_resize(self) -> None:
        """Write the scale, which all sliders share, into the upper border."""
        track, line = self.content_size.width - BEFORE - SCROLLBAR, f"{self.TITLE} "
        scale = StopScale()
        for stop in (*scale.decades[1:], scale.maximum) if self.SCALED else ():
            label = format_short(stop).replace(" ", "")
            # Above the middle of the label, or the cell before it, is the stop of the slider.
            start = self.gutter.left + BEFORE + scale.cell(stop, track) - CORNER - (len(label) - 1) // 2
            start = min(start, self.outer_size.width - 2 * CORNER - len(label))
            if start >= len(line) + APART:
                line += "─" * (start - len(line)) + label
        self.border_title = Content.assemble(self.TITLE, (line.removeprefix(self.TITLE).rstrip("─ "), "$dim"))

    def draw_lines(self, crop: Region) -> list[Strip]:
        """Draw the lines of ``crop``; those between the first and the last are all the same."""
        if crop != self.outer_size.region or crop.height < 3:
            return super().draw_lines(crop)
        first, between = super().draw_lines(Region(0, 0, crop.width, 2))
        (last,) = super().draw_lines(Region(0, crop.height - 1, crop.width, 1))
        return [first, *[between] * (crop.height - 2), last]

    def set_subtitle(self, text: str) -> None:
        """Show ``text`` in the lower border."""
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
        """Redraw ``regions``, or everything if there are none."""
        if self._quiet:
            return self
        return super().refresh(*regions, repaint=repaint, layout=layout, recompose=recompose)
