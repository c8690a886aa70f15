"""The column on the left that holds the lanes, and says in its frame what all of them take."""

from typing import Self

from textual.containers import VerticalScroll
from textual.geometry import Region


class Side(VerticalScroll, can_focus=False):
    """Scrolls through the lanes; a change of what stands in its frame draws the frame's last row alone."""

    _quiet = False

    def note(self, text: str) -> None:
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
