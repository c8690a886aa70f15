"""Widgets that keep the lines that they have drawn, and draw only those again that have changed."""

from collections.abc import Collection, Iterable, Sequence
from typing import Self

from rich.segment import Segment
from textual.color import Color
from textual.containers import Container
from textual.geometry import Region, Size, Spacing
from textual.strip import Strip
from textual.widget import Widget


class KeptStrip(Strip):
    """A line of a widget, borders included, as wide as the widget.

    A strip caches its parts. If the only part is the strip itself, that is a reference cycle, and only the
    garbage collector frees it: with ten pictures a second, a pause of 40 ms every few seconds.
    """

    def divide(self, cuts: Iterable[int]) -> Sequence[Strip]:
        """Return the parts of the line that end at the cells ``cuts``."""
        cuts = list(cuts)
        return [self] if cuts == [self.cell_length] else super().divide(cuts)


class KeptLines(Widget):
    """A widget that keeps its lines, borders included, until it is refreshed.

    Whenever anything on the screen changes, Textual asks nearly all visible widgets for all their lines, and
    looks up the style, border and title of each first.
    """

    _kept: list[Strip] | None = None
    """The lines of `_area`; None if they are to be drawn again."""
    _area = Region()
    _whole = Size()
    """The size of the widget when they were drawn."""
    _spacing: Spacing | None = None
    _edges: tuple[list[Segment], list[Segment]] | None = None
    _background = Color(0, 0, 0)
    """What was behind them then."""
    _stale: Collection[int] = ()
    """The rows of the content that have changed since."""

    @property
    def spacing(self) -> Spacing:
        """The cells of border and padding, cached until the styles change."""
        if self._spacing is None:
            self._spacing = self.styles.gutter
        return self._spacing

    def redraw_rows(self, rows: Collection[int]) -> None:
        """Draw some rows of the content again."""
        self._stale = {*self._stale, *rows}
        # From edge to edge, as Textual cuts a part out of a line anew each time.
        left, width = -self.spacing.left, self.outer_size.width
        runs: list[list[int]] = []
        for row in sorted(rows):
            if runs and row == runs[-1][-1] + 1:
                runs[-1].append(row)
            else:
                runs.append([row])
        super().refresh(*(Region(left, run[0], width, len(run)) for run in runs))

    def refresh(
        self, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False
    ) -> Self:
        """Redraw ``regions``, or everything if there are none."""
        self._kept = self._spacing = None
        return super().refresh(*regions, repaint=repaint, layout=layout, recompose=recompose)

    def notify_style_update(self) -> None:
        """Draw all lines again."""
        self._kept = self._spacing = None
        super().notify_style_update()

    def render_lines(self, crop: Region) -> list[Strip]:
        """Return the lines of ``crop``."""
        if self._kept is None or crop != self._area or self.outer_size != self._whole:
            self._area, self._whole = crop, self.outer_size
            self._kept, self._edges, self._stale = self.draw_lines(crop), None, ()
            self._background = self.background_colors[1]
        elif self._stale:
            if crop.column_span == (0, self._whole.width):
                self._draw_stale(self._kept)
            else:
                self._kept = self.draw_lines(crop)
            self._stale = ()
        return self._kept

    def draw_lines(self, crop: Region) -> list[Strip]:
        """Draw the lines of ``crop``. A subclass whose lines are alike overrides it to draw one of them."""
        return super().render_lines(crop)

    def _draw_stale(self, kept: list[Strip]) -> None:
        """Replace the rows that have changed, between the same edges."""
        area, (width, height), around = self._area, self._whole, self.spacing
        filters = self.get_line_filters()
        for row in self._stale:
            y = row + around.top
            if not area.y <= y < min(area.bottom, height - around.bottom):
                continue
            if self._edges is None:
                before = kept[y - area.y]
                self._edges = [*before.crop(0, around.left)], [*before.crop(width - around.right)]
            left, right = self._edges
            segments: Iterable[Segment] = self.render_line(row)
            for each in filters:
                segments = each.apply([*segments], self._background)
            kept[y - area.y] = KeptStrip([*left, *segments, *right], width)


class Background(KeptLines):
    """A widget of which only the background is drawn, a single time for all lines."""

    def draw_lines(self, crop: Region) -> list[Strip]:
        """Draw the lines of ``crop``, which are all the same."""
        return super().draw_lines(Region(crop.x, crop.y, crop.width, 1)) * crop.height


class Transparent(Container):
    """A container of which nothing is drawn: what its children leave free shows the screen."""

    def render_lines(self, crop: Region) -> list[Strip]:
        """Return no lines."""
        return []
