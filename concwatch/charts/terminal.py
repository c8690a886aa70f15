"""Charts on the terminal: a picture painted as rows of Rich segments."""

from collections.abc import Sequence
from functools import lru_cache

from msgspec import structs
from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style

from concwatch.charts.annotations import draw_cursor, draw_markers
from concwatch.charts.captions import short_label
from concwatch.charts.picture import LABEL_WIDTH, Picture
from concwatch.charts.raster import Cell, Dots, between, fill, merge

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


Shades = Sequence[dict[int, str]]
"""The background of the filled columns of each row, from the bottom."""


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


def _segments(
    margin: Cell, cells: Sequence[Cell], background: str | None, shades: dict[int, str]
) -> list[Segment]:
    """Join adjacent cells of one colour into segments. A space takes the colour before it.

    Args:
        margin: the text before the cells, and its colour.
        cells: the cells of the row.
        background: the default background.
        shades: the background of some columns.
    """
    run, color, behind = [margin[0]], margin[1], background
    segments = []
    for column, (character, own) in enumerate(cells):
        ground = shades.get(column, background) if shades else background
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
        label, end = tick.label.replace(" ", ""), picture.width - picture.margin
        start = min(LABEL_WIDTH + 1 + tick.position - len(label) // 2, end - len(label))
        text = text[:start] + label + text[start + len(label) :]
    return text


def _fills(picture: Picture, background: str | None) -> tuple[list[tuple[Dots, str]], Shades]:
    """Return the dots and the colour of each line, what is filled, and the filled cells on the axis."""
    layers, shades = [], [dict[int, str]() for _ in range(picture.rows)]
    rows, symbols = picture.rows, picture.symbols
    for color, least, most in picture.bands:
        if behind := shade(color, background):
            areas = between(least, most, rows, symbols)
            for row, area in zip(shades, areas, strict=True):
                row.update(dict.fromkeys(area, behind))
    for line in picture.lines:
        dots = line.dots
        if line.filled and (behind := shade(line.color, background)):
            dots, areas = fill(dots, rows, symbols)
            for row, area in zip(shades, areas, strict=True):
                row.update(dict.fromkeys(area, behind))
        layers.append((dots, line.color))
    return layers, shades


def _first_difference(before: Sequence[tuple[Dots, str]], now: Sequence[tuple[Dots, str]]) -> int:
    """Return the first column of cells in which lines of the same colours differ."""
    first = len(now[0][0]) if now else 0
    for (old, _), (new, _) in zip(before, now, strict=True):
        if old[:first] != new[:first]:
            first = next(at for at, (one, other) in enumerate(zip(old, new, strict=True)) if one != other)
    return first // 2


class Painter:
    """Paints the pictures of one chart, each time only the rows in which it differs from the last one."""

    def __init__(self) -> None:
        self._frame: tuple[object, ...] | None = None
        self._layers: list[tuple[Dots, str]] = []
        self._cells: dict[int, dict[int, Cell]] = {}
        self._shades: Shades = ()
        self._labels: dict[int, tuple[tuple[str, str], ...]] = {}
        self._rows: list[list[Segment]] = []

    def paint(
        self,
        picture: Picture,
        axis_color: str,
        grid_color: str,
        background: str | None = None,
        vector: str = "",
    ) -> list[list[Segment]]:
        """Return the rows of ``picture``, each ``picture.width`` cells wide, the top row first.

        Colours are ``#rrggbb``; without a background the terminal's own is kept. With ``vector``, the cells
        of the plot have that character, for a painter that draws its lines over them.
        """
        colors = axis_color, grid_color, background, vector
        layers, shades = ([], [{}] * picture.rows) if vector else _fills(picture, background)
        frame = (
            colors,
            structs.replace(picture, lines=(), bands=(), labels=()),
            [color for _, color in layers],
        )
        labels = dict(picture.labels)
        if frame == self._frame:
            first = _first_difference(self._layers, layers)
            new = merge(layers, picture.symbols, first)
            changed = set()
            for row in {*self._cells, *new}:
                cells = self._cells.setdefault(row, {})
                gone = [column for column in cells if column >= first]
                for column in gone:
                    del cells[column]
                if gone or row in new:
                    cells.update(new.get(row, {}))
                    changed.add(row)
            for row in range(picture.rows):
                if self._shades[row] != shades[row] or self._labels.get(row) != labels.get(row):
                    changed.add(row)
        else:
            self._cells, changed = merge(layers, picture.symbols), set(range(picture.rows))
        self._frame, self._layers, self._shades = frame, layers, shades
        self._labels = labels
        rows = self._rows[:] if len(changed) < picture.rows else [[]] * picture.rows
        row_of = _RowPainter(picture, colors, self._cells, shades)
        for height in changed:
            rows[picture.rows - 1 - height] = row_of(height)
        rows[picture.rows :] = [[Segment(_labels_across(picture), _style(axis_color, background))]]
        self._rows = rows
        return rows


def paint(picture: Picture, *colors: str, background: str | None = None) -> list[list[Segment]]:
    """Return the rows of one picture; see `Painter.paint`."""
    axis_color, grid_color, *behind = colors
    return Painter().paint(picture, axis_color, grid_color, behind[0] if behind else background)


class _RowPainter:
    """Paints single rows of a picture."""

    def __init__(
        self,
        picture: Picture,
        colors: tuple[str, str, str | None, str],
        lines: dict[int, dict[int, Cell]],
        shades: Shades,
    ) -> None:
        self._picture, self._colors = picture, colors
        self._lines, self._shades = lines, shades
        self._ticks = {tick.position: short_label(tick.label) for tick in picture.scale.ticks}
        self._across = {tick.position for tick in picture.across}
        self._labels = dict(picture.labels)
        self._marks: dict[int, dict[int, Cell]] = {}
        for column, at, character, color in () if colors[3] else picture.marks:
            self._marks.setdefault(at, {})[column] = (character, color)
        crossed = picture.cursor is not None or any(marker.full_height for marker in picture.markers)
        self._special = set(range(picture.rows)) if crossed else {0, 1, picture.rows - 1}

    def __call__(self, height: int) -> list[Segment]:
        """Return the row ``height`` rows above the bottom."""
        picture, (axis_color, grid_color, background, vector) = self._picture, self._colors
        label = self._ticks.get(height, "")
        axis = "└" if height == 0 else "┤" if label else "│"
        margin = (f"{label:>{LABEL_WIDTH}}{axis}", axis_color)
        blank = (vector or ("┈" if label else " "), grid_color)
        if (
            self._lines.get(height)
            or self._shades[height]
            or height in self._marks
            or height in self._special
        ):
            row, shades = self._cells(height), self._shades[height] if height else {}
            segments = _segments(margin, [cell or blank for cell in row], background, shades)
        else:
            segments = [*_blank_row(margin, *blank, picture.columns, background)]
        if picture.margin:
            used = 1
            segments.append(Segment(" ", _style(axis_color, background)))
            for text, color in self._labels.get(height, ()):
                segments.append(Segment(text, _style(color, background)))
                used += cell_len(text)
            if used < picture.margin:
                segments.append(Segment(" " * (picture.margin - used), _style(axis_color, background)))
        return segments

    def _cells(self, height: int) -> list[Cell | None]:
        """Return the cells of a row of the plot, None where there is only the grid."""
        picture, (axis_color, _, _, vector) = self._picture, self._colors
        bottom, top = height == 0, height == picture.rows - 1
        row: list[Cell | None] = [None] * picture.columns
        for cells in (self._lines.get(height, {}), self._marks.get(height, {})):
            for column, cell in cells.items():
                row[column] = cell
        if picture.word and height == min(1, picture.rows - 1):
            for column, letter in enumerate(picture.word[: picture.columns - 1], 1):
                row[column] = (letter, axis_color)
        if picture.markers:
            draw_markers(row, picture.markers, bottom=bottom, top=top, lines=not vector)
        if not vector:
            draw_cursor(row, picture.cursor, axis_color)
            if bottom:  # a filled area ends where the axis is, in the middle of the cell
                row = [
                    cell
                    or (
                        ("▀", area)
                        if (area := self._shades[0].get(at))
                        else ("┴" if at in self._across else "─", axis_color)
                    )
                    for at, cell in enumerate(row)
                ]
        return row
