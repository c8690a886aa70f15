"""The painter for the terminal: a picture as rows of Rich's segments."""

from functools import lru_cache

from rich.segment import Segment
from rich.style import Style

from concwatch.charts.annotations import draw_cursor, draw_flags
from concwatch.charts.braille import Cell, merge, rasterize
from concwatch.charts.picture import LABEL_WIDTH, Picture


@lru_cache(maxsize=256)
def _style(color: str, background: str | None) -> Style:
    # Themes that leave colours to the terminal name them as Textual does.
    return Style(color=color.removeprefix("ansi_"), bgcolor=background)


def _segments(margin: Cell, cells: list[Cell | None], blank: Cell, background: str | None) -> list[Segment]:
    """Join neighbouring cells of one colour; a space has whatever colour stands before it.

    Args:
        margin: what stands before the cells, in its colour.
        cells: None where ``blank`` is seen.
        blank: a character and its colour.
        background: ``#rrggbb`` behind it all, or None for what is there already.
    """
    run, color = [margin[0]], margin[1]
    segments = []
    space = blank[0] == " "
    for cell in cells:
        if cell is None:
            if space:
                run.append(" ")
                continue
            cell = blank
        if cell[1] != color:
            segments.append(Segment("".join(run), _style(color, background)))
            run, color = [], cell[1]
        run.append(cell[0])
    segments.append(Segment("".join(run), _style(color, background)))
    return segments


def _labels_across(picture: Picture) -> str:
    """Return the line of labels below the plot, each centred on its tick."""
    text = " " * picture.width
    for tick in picture.across:
        start = min(LABEL_WIDTH + 1 + tick.position - len(tick.label) // 2, picture.width - len(tick.label))
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
    labels = {tick.position: tick.label for tick in picture.scale.ticks}
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
        rows.append(_segments(margin, row, ("┈" if label else " ", grid_color), background))
    rows.append([Segment(_labels_across(picture), _style(axis_color, background))])
    return rows
