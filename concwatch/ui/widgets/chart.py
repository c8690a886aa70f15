"""A chart of lines over time, with each line's current value in its title."""

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence

from rich.color import Color
from textual.app import RenderResult
from textual.content import Content, Span
from textual.dom import DOMNode
from textual.geometry import Region
from textual.reactive import reactive
from textual.strip import Strip
from textual.widget import Widget

from concwatch.charts.annotations import Moment
from concwatch.charts.picture import Line, Picture, compose, paint
from concwatch.charts.ticks import Across, Kind, age_ticks

SHORTEST_TITLE = 8
"""Cells a chart's title keeps when it makes room for values."""

TITLE_MARGIN = 4
"""Cells of a widget's content width that its border leaves blank around a title."""

LATE = 0.5
"""Seconds in which the newest samples may wait for what the next tick tells of them."""

Colors = tuple[str, str, str | None]
"""Of axis, grid and background."""


def caption(title: str, entries: Sequence[tuple[str, str]], width: int, brief: str = "") -> Content:
    """Return a title and as many values as fit into ``width`` cells; a value is whole or not there.

    The units give way first, down to their first letter; then the title, to ``brief`` or word by word, down
    to `SHORTEST_TITLE`; then values are left off from the end, with ``…``.

    Args:
        title: what the chart shows.
        entries: the text and the style of each value.
        width: cells there are.
        brief: the title where there is little room.
    """
    shortest = min(len(brief or title), SHORTEST_TITLE)
    if len(title) + 2 + len(" ".join(text for text, _ in entries)) > width:
        entries = [(_brief(text), style) for text, style in entries]
    texts = [text for text, _ in entries]
    shown = len(texts)
    while shown and shortest + 1 + len(" ".join(["", *texts[:shown], *_ellipsis(shown, texts)])) > width:
        shown -= 1
    rest = _ellipsis(shown, texts)
    values = len(" ".join(["", *texts[:shown], *rest])) + 1 if texts else 0
    room = max(width - values, min(width, shortest))
    heading = title if len(title) <= room else _shorten(brief or title, room)
    parts: list[str | tuple[str, str]] = [heading]
    for index, (text, style) in enumerate(entries[:shown]):
        parts += [" " if index else "  ", (text, style)]
    if rest and len(heading) + values <= width:
        parts.append(" …" if shown else "  …")
    return Content.assemble(*parts)


def _brief(text: str) -> str:
    """Shorten a value's unit, which the axis has in full: ``32.5 MiB`` to ``32.5M``; a name stays.

    Where no colour says whose a value is, a letter before it does: ``a 32.5 MiB``.
    """
    whose, value = (text[:2], text[2:]) if text[1:2] == " " else ("", text)
    if not value[:1].isdigit():
        return text
    return whose + value.removesuffix("/s").removesuffix("iB").replace(" ", "")


def _shorten(title: str, room: int) -> str:
    """Give as many whole words of a title as there is room for, or the beginning of the first."""
    if len(title) <= room:
        return title
    words = title[: room + 1].rpartition(" ")[0].rstrip(" /·")
    return words or title[: max(0, room - 1)].rstrip() + "…"


def _ellipsis(shown: int, texts: list[str]) -> list[str]:
    return ["…"] if shown < len(texts) else []


def _written(color: Color | None) -> str | None:
    """Write a colour for a style; one of the terminal's own, which some themes leave to it, by its name."""
    if color is None:
        return None
    return color.triplet.hex if color.triplet else color.name


class PictureRow(Strip):
    """A row of a picture as wide as its widget.

    Textual's keeps the whole of itself as its only part, and so waits for the garbage collector: ten pictures
    a second would be 10,000 objects, and a pause of 40 ms every few seconds.
    """

    def divide(self, cuts: Iterable[int]) -> Sequence[Strip]:
        """Cut the row at ``cuts``, cells from its beginning."""
        cuts = list(cuts)
        return [self] if cuts == [self.cell_length] else super().divide(cuts)


class Chart(Widget, can_focus=True):
    """Draws lines over the last seconds, and draws again only when a cell would change."""

    COMPONENT_CLASSES = {"chart--axis", "chart--grid"}
    """
    | Class | Description |
    | :- | :- |
    | `chart--axis` | The colour of axes and their labels. |
    | `chart--grid` | The colour of the lines from tick to tick. |
    """

    DEFAULT_CSS = """
    Chart {
        height: 1fr;
        width: 1fr;
        border: round $foreground 25%;
        border-title-color: $foreground;
        color: $foreground 50%;
        content-align: center middle;
        text-align: center;

        border-subtitle-color: $foreground 70%;

        & .chart--axis { color: $foreground 55%; }
        & .chart--grid { color: $foreground 22%; }

        &:focus { border: round $accent; }
    }
    """

    window: reactive[float] = reactive(60.0, repaint=False)
    """Seconds from the left edge to the right one."""
    logarithmic: reactive[bool] = reactive(False, repaint=False)
    """Whether the y axis is logarithmic."""
    cursor: reactive[float | None] = reactive[float | None](None, repaint=False)
    """The moment that is read, seconds on the lines' clock; None for now."""

    def __init__(
        self, title: str, kind: Kind, *, hint: str = "", id: str | None = None, classes: str | None = None
    ) -> None:
        """Make a chart without lines.

        Args:
            title: what the chart shows, kept at the start of its border title.
            kind: what the values are: how they are written and which of them are round.
            hint: what to say while there are no lines.
            id: the widget's id.
            classes: the widget's classes.
        """
        super().__init__(id=id, classes=classes)
        self.title = title
        self.brief = ""
        """The title where there is little room; by its words if empty."""
        self.kind = kind
        self.hint = hint
        self.across: Across = age_ticks
        """Gives the ticks of the x axis."""
        self._lines: Sequence[Line] = ()
        self._now = 0.0
        self._moments: Sequence[Moment] = ()
        self._picture: Picture | None = None
        self._strips: list[Strip] = []
        self._framed: list[Strip] = []
        self._end: Strip | None = None
        self._colors: Colors = ("", "", None)
        self._styled: DOMNode | None = None
        self._painted: Colors | None = None
        self._title_shown: tuple[str, Sequence[Span]] | None = None
        self._show_title(Content(title))

    def show(self, lines: Sequence[Line], now: float, moments: Sequence[Moment] = ()) -> None:
        """Show ``lines`` as they are at ``now``.

        The sequences in ``lines`` are read again when the size, the window or the axis changes, so they may
        grow in place, but must not be reused for something else.

        Args:
            lines: what to draw, the topmost last.
            now: the time at the right edge, seconds on the lines' clock.
            moments: what to point out on the time axis, the topmost last.
        """
        self._lines, self._now, self._moments = lines, now, moments
        self._update()

    def _update(self) -> None:
        """Draw what `show` was given, if that would change a cell."""
        width, height = self.content_size
        if not width or not height:
            return
        self._update_title(width - TITLE_MARGIN)
        picture = None
        if self._lines:
            picture = compose(
                self._lines,
                width=width,
                height=height,
                now=self._now,
                window=self.window,
                kind=self.kind,
                logarithmic=self.logarithmic,
                across=self.across,
                moments=self._moments,
                cursor=self.cursor,
            )
        colors = self._axis_colors()
        if (picture, colors) != (self._picture, self._painted):
            self._picture, self._painted = picture, colors
            self._strips = paint(picture, *colors) if picture else []
            self.refresh()

    def _axis_colors(self) -> Colors:
        """Give the colours of axis, grid and background, worked out once each time Textual styles them."""
        styled = self.get_component_styles("chart--axis").node
        if styled is not self._styled:
            self._styled = styled
            axis, grid = (self.get_component_rich_style(name) for name in ("chart--axis", "chart--grid"))
            self._colors = (_written(axis.color) or "", _written(grid.color) or "", _written(axis.bgcolor))
        return self._colors

    def _update_title(self, width: int) -> None:
        self._show_title(caption(self.title, self.legend(), width, self.brief))

    def legend(self) -> list[tuple[str, str]]:
        """Give what stands behind the title, text and style: the value that each line has now.

        Where no colour says whose it is, the first letter of the line's name does.
        """
        values = [self._current(line) for line in self._lines]
        if self.app.no_color:
            named = zip(self._lines, values, strict=True)
            values = [value if value == "–" else f"{line.name[:1]} {value}" for line, value in named]
        return [(value, f"bold {line.color}") for line, value in zip(self._lines, values, strict=True)]

    @property
    def now(self) -> float:
        """The time at the right edge, seconds on the lines' clock."""
        return self._now

    @property
    def lines(self) -> Sequence[Line]:
        """The lines that are shown."""
        return self._lines

    def _show_title(self, title: Content) -> None:
        # Comparing contents compares their text alone, and a lane's colour may change with the theme.
        if self._title_shown != (shown := (title.plain, title.spans)):
            self._title_shown = shown
            self.border_title = title

    def _current(self, line: Line) -> str:
        """Write the value ``line`` has now, or had at the cursor; it has none inside a gap."""
        moment = self._now if self.cursor is None else self.cursor
        index = min(bisect_right(line.times, moment), len(line.values)) - 1
        if self.cursor is None:
            while index > 0 and math.isnan(line.values[index]) and line.times[index] > moment - LATE:
                index -= 1
        value = line.values[index] if index >= 0 else math.nan
        return self.kind.format(value) if math.isfinite(value) else "–"

    def watch_cursor(self) -> None:
        """Show the cursor and the values there."""
        self._update()

    def _on_resize(self) -> None:
        self._update()

    def watch_window(self) -> None:
        """Draw the lines at hand over the new window."""
        self._update()

    def watch_logarithmic(self) -> None:
        """Draw the lines at hand on the new axis."""
        self._update()

    def notify_style_update(self) -> None:
        """Follow a change of the theme, even while no new data comes."""
        super().notify_style_update()
        self._styled = None
        if self.is_mounted:
            self._update()

    def render(self) -> RenderResult:
        """Return what is seen in place of a plot."""
        return "" if self._lines else Content(self.hint)

    def render_line(self, y: int) -> Strip:
        """Return row ``y`` of the picture."""
        if self._strips:
            return self._strips[y] if y < len(self._strips) else Strip.blank(self.size.width, self.rich_style)
        return super().render_line(y)

    def render_lines(self, crop: Region) -> list[Strip]:
        """Return the rows of ``crop``, frame and all.

        Textual draws the frame's first row and what lies below the x axis; any other row is put
        between the same edges here, which takes a fraction of the time.
        """
        width, height = self.outer_size
        strips = self._strips
        if not strips or len(strips) != height - 2 or strips[-1].cell_length != width - 2:
            return super().render_lines(crop)
        ends = super().render_lines(Region(0, height - 2, width, 2))
        if ends[0] is not self._end:  # else nothing was to be drawn again
            self._end = ends[0]
            left, *_, right = ends[0]
            _, background = self.background_colors
            rows = [list(strip) for strip in strips[:-1]]
            for each in self.get_line_filters():
                rows = [each.apply(row, background) for row in rows]
            top = super().render_lines(Region(0, 0, width, 1))
            rows = [list(top[0]), *([left, *row, right] for row in rows), *map(list, ends)]
            self._framed = [PictureRow(row, width) for row in rows]
        lines = self._framed[crop.y : crop.bottom]
        if crop.column_span != (0, width):
            lines = [line.crop(*crop.column_span) for line in lines]
        return lines
