"""Charts on the terminal: a picture painted as rows of Rich segments."""

from collections.abc import Sequence
from functools import lru_cache

from rich.segment import Segment
from rich.style import Style

from concwatch.charts.annotations import draw_cursor, draw_markers
from concwatch.charts.picture import LABEL_WIDTH, Picture
from concwatch.charts.raster import Cell, below, between, merge, rasterize

SHADE_OPACITY = 0.28
"""The opacity of a band, and of the area below a single line."""


@lru_cache(maxsize=256)
def _style(color: str, background: str | None) -> Style:
    # Themes that use the terminal's colours have Textual's names for them.
    return Style(color=color.removeprefix("ansi_"), bgcolor=background)


def _shade(color: str, background: str | None) -> str | None:
    """Return the colour of an area, or None if the theme uses the terminal's colours."""
    if not (background and background.startswith("#") and color.startswith("#")):
        return None
    pairs = zip(bytes.fromhex(color[1:]), bytes.fromhex(background[1:]), strict=True)
    return "#" + bytes(round(back + SHADE_OPACITY * (line - back)) for line, back in pairs).hex()


def _segments(
    margin: Cell,
    cells: list[Cell | None],
    blank: Cell,
    background: str | None,
    shades: Sequence[str | None],
) -> list[Segment]:
    """Join adjacent cells of one colour into segments. A space takes the colour before it.

    Args:
        margin: the text before the cells, and its colour.
        cells: the cells of the row.
        blank: drawn where a cell is None.
        background: the default background.
        shades: the background of each cell, None for the default.
    """
    run, color, behind = [margin[0]], margin[1], background
    segments = []
    space = blank[0] == " "
    for cell, shade in zip(cells, shades, strict=True):
        ground = shade or background
        if cell is None:
            cell = (" ", color) if space else blank
        if cell[1] != color or ground != behind:
            segments.append(Segment("".join(run), _style(color, behind)))
            run, color, behind = [], cell[1], ground
        run.append(cell[0])
    segments.append(Segment("".join(run), _style(color, behind)))
    return segments


def _shades(picture: Picture, background: str | None) -> Sequence[Sequence[str | None]]:
    """Return the background of each cell, the top row first: bands, or the area below a single line."""
    size = picture.columns, picture.rows
    areas = [
        (color, between(rasterize(least, *size), rasterize(most, *size)))
        for color, least, most in picture.bands
    ]
    if len(picture.lines) == 1 and not picture.bands and not picture.marks:
        color, paths = picture.lines[0]
        areas = [(color, below(rasterize(paths, *size)))]
    found: Sequence[Sequence[str | None]] = [(None,) * picture.columns] * picture.rows
    for color, area in areas:
        shade = _shade(color, background)
        found = [
            [shade if inside else behind for inside, behind in zip(*both, strict=True)]
            for both in zip(area, found, strict=True)
        ]
    return found


def _labels_across(picture: Picture) -> str:
    """Return the line of x labels, each centred on its tick."""
    text = " " * picture.width
    for tick in picture.across:
        end = picture.width - picture.margin
        start = min(LABEL_WIDTH + 1 + tick.position - len(tick.label) // 2, end - len(tick.label))
        text = text[:start] + tick.label + text[start + len(tick.label) :]
    return text


def paint(
    picture: Picture, axis_color: str, grid_color: str, background: str | None = None
) -> list[list[Segment]]:
    """Return the rows of ``picture``, each ``picture.width`` cells wide, the top row first.

    Colours are ``#rrggbb``. Without a background the terminal's own is kept.
    """
    rasters = [(rasterize(paths, picture.columns, picture.rows), color) for color, paths in picture.lines]
    shades = _shades(picture, background)
    labels = {tick.position: tick.label for tick in picture.scale.ticks}
    names = {row: (name, color) for row, name, color in picture.names}
    top, ticks = picture.rows - 1, {tick.position for tick in picture.across}
    rows = []
    for height in range(top, -1, -1):
        layers = [(raster[top - height], color) for raster, color in rasters]
        row = merge([layer for layer in layers if not layer[0].isspace()], picture.columns)
        for column, at, character, color in picture.marks:
            if at == height:
                row[column] = (character, color)
        draw_markers(row, picture.markers, bottom=height == 0, top=height == top)
        draw_cursor(row, picture.cursor, axis_color)
        label = labels.get(height, "")
        axis = "└" if height == 0 else "┤" if label else "│"
        if height == 0:
            row = [cell or ("┴" if at in ticks else "─", axis_color) for at, cell in enumerate(row)]
        margin = (f"{label:>{LABEL_WIDTH}}{axis}", axis_color)
        blank = ("┈" if label else " ", grid_color)
        segments = _segments(margin, row, blank, background, shades[top - height])
        if picture.margin:
            name, color = names.get(height, ("", axis_color))
            segments.append(Segment(f" {name}".ljust(picture.margin), _style(color, background)))
        rows.append(segments)
    rows.append([Segment(_labels_across(picture), _style(axis_color, background))])
    return rows
