"""Charts on the terminal: a picture painted as rows of Rich segments."""

from functools import lru_cache
from typing import NamedTuple

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style

from concwatch.charts.annotations import draw_cursor, draw_markers
from concwatch.charts.captions import short_label
from concwatch.charts.painters.picture import LABEL_WIDTH, Picture
from concwatch.charts.raster import Areas, Cell, Dots, between, fill, merge
from concwatch.charts.ticks import CELL

SHADE_OPACITY = 0.25
"""The opacity of a band, and of the area below a line."""


@lru_cache(maxsize=256)
def _style(color: str, background: str | None) -> Style:
    # Themes that use the terminal's colours have Textual's names for them.
    return Style(color=color.removeprefix("ansi_"), bgcolor=background)


@lru_cache(maxsize=64)
def shade(color: str, background: str | None) -> str | None:
    """Return the colour of an area, or None if the theme uses the terminal's colours."""
    if not (background and background.startswith("#") and color.startswith("#")):
        return None
    pairs = zip(bytes.fromhex(color[1:]), bytes.fromhex(background[1:]), strict=True)
    return "#" + bytes(round(back + SHADE_OPACITY * (line - back)) for line, back in pairs).hex()


Shades = tuple[tuple[int, str], ...]
"""The areas in a row of cells, integers with a bit for each column, and their colours; the topmost last."""

Row = list[Cell | None]
"""The cells of a row; None where there is nothing but the grid."""


@lru_cache(maxsize=64)
def _blank_row(
    margin: Cell, character: str, color: str, columns: int, background: str | None
) -> list[Segment]:
    """Return a row of the plot without any lines."""
    if character == " ":
        return [Segment(margin[0] + " " * columns, _style(margin[1], background))]
    return [
        Segment(margin[0], _style(margin[1], background)),
        Segment(character * columns, _style(color, background)),
    ]


def _grounds(shades: Shades, columns: int, background: str | None) -> list[str | None]:
    """Return the background of each cell of a row."""
    grounds = [background] * columns
    for area, color in shades:
        while area:
            start = (area & -area).bit_length() - 1
            end = start + (~(area >> start) & (area >> start) + 1).bit_length() - 1
            grounds[start:end] = [color] * (end - start)
            area &= -1 << end
    return grounds


def _segments(margin: Cell, cells: Row, blank: Cell, background: str | None, shades: Shades) -> list[Segment]:
    """Join adjacent cells of one colour into segments. A space takes the colour before it.

    Args:
        margin: the text before the cells, and its colour.
        cells: the cells of the row.
        blank: the cell of the grid.
        background: the default background.
        shades: the areas in the row.
    """
    run, color, behind = [margin[0]], margin[1], background
    segments = []
    for cell, ground in zip(cells, _grounds(shades, len(cells), background), strict=True):
        character, own = cell or blank
        if (own != color and character != " ") or ground != behind:
            segments.append(Segment("".join(run), _style(color, behind)))
            run, color, behind = [], own, ground
        run.append(character)
    segments.append(Segment("".join(run), _style(color, behind)))
    return segments


def _labels_across(picture: Picture) -> str:
    """Return the line of x labels, each centred on its tick."""
    text = " " * picture.width
    for tick in picture.across:
        label = tick.label.replace(" ", "")
        start = min(LABEL_WIDTH + 1 + tick.position - len(label) // 2, picture.width - len(label))
        text = text[:start] + label + text[start + len(label) :]
    return text


Layers = list[tuple[Dots, str]]
"""The dots and the colour of each line, the topmost first."""


def _fills(picture: Picture, background: str | None) -> tuple[Layers, list[Shades]]:
    """Return the lines, and the areas in each row."""
    layers: Layers = []
    areas: list[tuple[Areas, str]] = []
    for color, least, most in picture.bands:
        if behind := shade(color, background):
            areas.append((between(least, most, picture.rows, picture.symbols), behind))
    for line in picture.lines:
        dots = line.dots
        if line.filled and (behind := shade(line.color, background)):
            dots, area = fill(dots, picture.rows, picture.symbols)
            areas.append((area, behind))
        layers.append((dots, line.color))
    return layers, [
        tuple([(area[row], behind) for area, behind in areas if area[row]]) for row in range(picture.rows)
    ]


def _changed_columns(before: Layers, now: Layers, shift: int) -> list[int]:
    """Return the columns of cells in which lines of the same colours differ, moved left by ``shift``."""
    columns = len(now[0][0]) // CELL
    changed = set(range(columns - shift, columns))
    for (old, _), (new, _) in zip(before, now, strict=True):
        old = old[CELL * shift :]
        if old != new[: len(old)]:
            changed |= {
                at // CELL for at, (one, other) in enumerate(zip(old, new, strict=False)) if one != other
            }
    return sorted(changed)


class _Cells:
    """The cells of the lines of a chart, row by row; only the columns that have changed are drawn again."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        """From the bottom."""
        self._layers: Layers = []
        self._size: tuple[object, ...] = ()

    def update(self, picture: Picture, layers: Layers) -> None:
        """Draw ``layers``. If they have moved by a column since the last time, move what is drawn of them."""
        size = picture.rows, picture.columns, picture.symbols, [color for _, color in layers]
        shift, columns = 0, list(range(picture.columns))
        if layers and size == self._size:
            for by in (0, 1, 2):
                changed = _changed_columns(self._layers, layers, by)
                if len(changed) < len(columns):
                    shift, columns = by, changed
        if shift:
            self.rows = [row[shift:] + row[:shift] for row in self.rows]
        if len(columns) == picture.columns:
            self.rows = [[None] * picture.columns for _ in range(picture.rows)]
        else:
            for row in self.rows:
                for column in columns:
                    row[column] = None
        for height, cells in merge(layers, picture.symbols, columns).items():
            row = self.rows[height]
            for column, cell in cells.items():
                row[column] = cell
        self._layers, self._size = layers, size


class Painter:
    """Paints the pictures of one chart, each time only the rows in which it differs from the last one."""

    def __init__(self) -> None:
        self._cells = _Cells()
        self._frame: tuple[object, ...] = ()
        self._contents: list[_Content] = []
        self._rows: list[list[Segment]] = []

    def paint(
        self,
        picture: Picture,
        axis_color: str,
        grid_color: str,
        background: str | None = None,
        vector: str = "",
        fills: bool = True,
    ) -> list[list[Segment]]:
        """Return the rows of ``picture``, each ``picture.width`` cells wide, the top row first.

        A row that looks the same as the last time is the same object. Colours are ``#rrggbb``; without a
        background the terminal's own is kept. With ``vector``, the cells of the plot have that character, for
        a painter that draws its lines over them. Without ``fills``, no area is filled.
        """
        colors = axis_color, grid_color, background, vector
        behind = background if fills else None
        layers, shades = ([], [()] * picture.rows) if vector else _fills(picture, behind)
        self._cells.update(picture, layers)
        across = _labels_across(picture)
        frame = colors, picture.width, picture.height, picture.margin, picture.scale.ticks, across
        row_of = _RowPainter(picture, colors, self._cells.rows, shades)
        contents = [*map(row_of.content, reversed(range(picture.rows)))]
        if frame == self._frame:
            rows = [
                old if content == before else row_of.paint(content)
                for content, before, old in zip(contents, self._contents, self._rows, strict=False)
            ]
            rows.append(self._rows[-1])
        else:
            rows = [*map(row_of.paint, contents), [Segment(across, _style(axis_color, background))]]
        self._frame, self._contents, self._rows = frame, contents, rows
        return rows


def paint(picture: Picture, *colors: str, background: str | None = None) -> list[list[Segment]]:
    """Return the rows of one picture; see `Painter.paint`."""
    axis_color, grid_color, *behind = colors
    return Painter().paint(picture, axis_color, grid_color, behind[0] if behind else background)


class _Content(NamedTuple):
    """What a row of the plot shows."""

    height: int
    """Rows above the bottom."""
    cells: Row
    shades: Shades
    label: tuple[tuple[str, str], ...]
    """The texts of the label, each with its colour."""


class _RowPainter:
    """Paints single rows of a picture."""

    def __init__(
        self,
        picture: Picture,
        colors: tuple[str, str, str | None, str],
        lines: list[Row],
        shades: list[Shades],
    ) -> None:
        self._picture, self._colors = picture, colors
        self._lines, self._shades = lines, shades
        self._ticks = {tick.position: short_label(tick.label) for tick in picture.scale.ticks}
        self._labels = dict(picture.labels)
        self._marks: dict[int, dict[int, Cell]] = {}
        for column, at, character, color in () if colors[3] else picture.marks:
            self._marks.setdefault(at, {})[column] = (character, color)
        crossed = picture.cursor is not None or any(marker.full_height for marker in picture.markers)
        self._special = set(range(picture.rows)) if crossed else {0, 1, picture.rows - 1}

    def content(self, height: int) -> _Content:
        """Return what the row ``height`` rows above the bottom shows."""
        row = [*self._lines[height]]
        for column, cell in self._marks.get(height, {}).items():
            row[column] = cell
        if height in self._special:
            row = self._with_annotations(row, height)
        return _Content(height, row, self._shades[height] if height else (), self._labels.get(height, ()))

    def paint(self, content: _Content) -> list[Segment]:
        """Return the segments of a row."""
        height, cells, shades, texts = content
        picture, (axis_color, grid_color, background, vector) = self._picture, self._colors
        label = self._ticks.get(height, "")
        axis = "└" if height == 0 else "┤" if label else "│"
        margin = (f"{label:>{LABEL_WIDTH}}{axis}", axis_color)
        blank = (vector or ("┈" if label else " "), grid_color)
        if shades or any(cells):
            segments = _segments(margin, cells, blank, background, shades)
        else:
            segments = [*_blank_row(margin, *blank, picture.columns, background)]
        if picture.margin:
            used = 1
            segments.append(Segment(" ", _style(axis_color, background)))
            for text, color in texts:
                segments.append(Segment(text, _style(color, background)))
                used += cell_len(text)
            if used < picture.margin:
                segments.append(Segment(" " * (picture.margin - used), _style(axis_color, background)))
        return segments

    def _with_annotations(self, row: Row, height: int) -> Row:
        """Return a row with the word, the markers, the cursor, and the axis."""
        picture, (axis_color, _, _, vector) = self._picture, self._colors
        bottom, top = height == 0, height == picture.rows - 1
        if picture.word and height == min(1, picture.rows - 1):
            for column, letter in enumerate(picture.word[: picture.columns - 1], 1):
                row[column] = (letter, axis_color)
        if picture.markers:
            draw_markers(row, picture.markers, bottom=bottom, top=top, lines=not vector)
        if vector:
            return row
        draw_cursor(row, picture.cursor, axis_color)
        if bottom:  # a filled area ends where the axis is, in the middle of the cell
            axis = [("─", axis_color)] * picture.columns
            for tick in picture.across:
                axis[tick.position] = ("┴", axis_color)
            for area, color in self._shades[0]:
                axis = [("▀", color) if area >> at & 1 else cell for at, cell in enumerate(axis)]
            row = [cell or below for cell, below in zip(row, axis, strict=True)]
        return row
