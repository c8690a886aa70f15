"""Charts on the terminal: a picture painted as rows of Rich segments."""

from collections.abc import Sequence
from functools import lru_cache

from rich.segment import Segment
from rich.style import Style

from concwatch.charts.annotations import draw_cursor, draw_markers
from concwatch.charts.captions import short_label
from concwatch.charts.picture import LABEL_WIDTH, Picture
from concwatch.charts.raster import Cell, between, fill, merge

SHADE_OPACITY = 0.25
"""The opacity of a band, and of the area below a line."""

HALF = "▀"
"""The part of a cell above the axis."""


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


def _lines_and_shades(picture: Picture, background: str | None) -> tuple[dict[int, dict[int, Cell]], Shades]:
    """Return the cells of all lines, and what is filled."""
    layers, shades = [], [dict[int, str]() for _ in range(picture.rows)]
    half: dict[int, Cell] = {}
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
            half = dict.fromkeys(areas[0], (HALF, behind))
            for row, area in zip(shades[1:], areas[1:], strict=True):
                row.update(dict.fromkeys(area, behind))
        layers.append((dots, line.color))
    cells = merge(layers, symbols)
    if half:
        cells[0] = half | cells.get(0, {})
    return cells, shades


def paint(
    picture: Picture, axis_color: str, grid_color: str, background: str | None = None, vector: str = ""
) -> list[list[Segment]]:
    """Return the rows of ``picture``, each ``picture.width`` cells wide, the top row first.

    Colours are ``#rrggbb``. Without a background the terminal's own is kept. With ``vector``, a character,
    the cells of the plot have that, for a painter that draws its lines over them.
    """
    lines, shades = ({}, [{}] * picture.rows) if vector else _lines_and_shades(picture, background)
    labels = {tick.position: short_label(tick.label) for tick in picture.scale.ticks}
    names = dict(picture.labels)
    top, ticks = picture.rows - 1, {tick.position for tick in picture.across}
    marks: dict[int, dict[int, Cell]] = {}
    for column, at, character, color in () if vector else picture.marks:
        marks.setdefault(at, {})[column] = (character, color)
    crossed = picture.cursor is not None or any(marker.full_height for marker in picture.markers)
    rows = []
    for height in range(top, -1, -1):
        label = labels.get(height, "")
        axis = "└" if height == 0 else "┤" if label else "│"
        margin = (f"{label:>{LABEL_WIDTH}}{axis}", axis_color)
        blank = (vector or ("┈" if label else " "), grid_color)
        cells = lines.get(height)
        if not (cells or shades[height] or crossed or height in marks or height <= 1 or height == top):
            segments = [*_blank_row(margin, *blank, picture.columns, background)]
        else:
            row: list[Cell | None] = [None] * picture.columns
            for column, cell in cells.items() if cells else ():
                row[column] = cell
            for column, cell in marks[height].items() if height in marks else ():
                row[column] = cell
            if picture.word and height == min(1, top):
                for column, letter in enumerate(picture.word[: picture.columns - 1], 1):
                    row[column] = (letter, axis_color)
            if picture.markers:
                draw_markers(row, picture.markers, bottom=height == 0, top=height == top, lines=not vector)
            if not vector:
                draw_cursor(row, picture.cursor, axis_color)
                if height == 0:
                    row = [cell or ("┴" if at in ticks else "─", axis_color) for at, cell in enumerate(row)]
            segments = _segments(margin, [cell or blank for cell in row], background, shades[height])
        if picture.margin:
            used = 1
            segments.append(Segment(" ", _style(axis_color, background)))
            for text, color in names.get(height, ()):
                segments.append(Segment(text, _style(color, background)))
                used += len(text)
            if used < picture.margin:
                segments.append(Segment(" " * (picture.margin - used), _style(axis_color, background)))
        rows.append(segments)
    rows.append([Segment(_labels_across(picture), _style(axis_color, background))])
    return rows
