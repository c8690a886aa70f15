"""The painter for the terminal: a picture as rows of Rich's segments."""

from collections.abc import Sequence
from functools import lru_cache

from rich.segment import Segment
from rich.style import Style

from concwatch.charts.annotations import draw_cursor, draw_flags
from concwatch.charts.picture import LABEL_WIDTH, Picture
from concwatch.charts.strokes import Cell, below, merge, rasterize

SHADE = 0.28
"""How much of its colour the area below a lone line has; the rest is the background's."""


@lru_cache(maxsize=256)
def _style(color: str, background: str | None) -> Style:
    # Themes that leave colours to the terminal name them as Textual does.
    return Style(color=color.removeprefix("ansi_"), bgcolor=background)


def _shade(color: str, background: str | None) -> str | None:
    """Return the colour of the area below a line; None where a theme leaves colours to the terminal."""
    if not (background and background.startswith("#") and color.startswith("#")):
        return None
    pairs = zip(bytes.fromhex(color[1:]), bytes.fromhex(background[1:]), strict=True)
    return "#" + bytes(round(back + SHADE * (line - back)) for line, back in pairs).hex()


def _segments(
    margin: Cell,
    cells: list[Cell | None],
    blank: Cell,
    background: str | None,
    shaded: Sequence[bool],
    shade: str | None,
) -> list[Segment]:
    """Join neighbouring cells of one colour; a space has whatever colour stands before it.

    Args:
        margin: what stands before the cells, in its colour.
        cells: None where ``blank`` is seen.
        blank: a character and its colour.
        background: ``#rrggbb`` behind it all, or None for what is there already.
        shaded: whether ``shade`` is behind each cell in place of the background.
        shade: ``#rrggbb``.
    """
    run, color, behind = [margin[0]], margin[1], background
    segments = []
    space = blank[0] == " "
    for cell, is_shaded in zip(cells, shaded, strict=True):
        ground = shade if is_shaded else background
        if cell is None:
            cell = (" ", color) if space else blank
        if cell[1] != color or ground is not behind:
            segments.append(Segment("".join(run), _style(color, behind)))
            run, color, behind = [], cell[1], ground
        run.append(cell[0])
    segments.append(Segment("".join(run), _style(color, behind)))
    return segments


def _labels_across(picture: Picture) -> str:
    """Return the line of labels below the plot, each centred on its tick."""
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

    Args:
        picture: what `concwatch.charts.picture.compose` worked out.
        axis_color: ``#rrggbb`` of axes and labels.
        grid_color: ``#rrggbb`` of the lines from tick to tick.
        background: ``#rrggbb`` behind it all, or None for what is there already.
    """
    rasters = [(rasterize(paths, picture.columns, picture.rows), color) for color, paths in picture.lines]
    shade = _shade(picture.lines[0][0], background) if len(rasters) == 1 and not picture.marks else None
    plain = (False,) * picture.columns
    areas = below(rasters[0][0]) if shade else (plain,) * picture.rows
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
        draw_flags(row, picture.flags, floor=height == 0, top=height == top)
        draw_cursor(row, picture.cursor, axis_color)
        label = labels.get(height, "")
        axis = "└" if height == 0 else "┤" if label else "│"
        if height == 0:
            row = [cell or ("┴" if at in ticks else "─", axis_color) for at, cell in enumerate(row)]
        margin = (f"{label:>{LABEL_WIDTH}}{axis}", axis_color)
        blank = ("┈" if label else " ", grid_color)
        segments = _segments(margin, row, blank, background, areas[top - height], shade)
        if picture.margin:
            name, color = names.get(height, ("", axis_color))
            segments.append(Segment(f" {name}".ljust(picture.margin), _style(color, background)))
        rows.append(segments)
    rows.append([Segment(_labels_across(picture), _style(axis_color, background))])
    return rows
