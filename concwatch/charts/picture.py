"""What a chart shows, worked out as plain values that can be compared before anything is painted."""

import math
from collections.abc import Sequence

from msgspec import Struct
from rich.cells import cell_len

from concwatch.charts.annotations import Flag, cut, flags
from concwatch.charts.decimation import Point
from concwatch.charts.plot import Line, Plot, decimated, y_scale
from concwatch.charts.raster import UP, Dot, Path
from concwatch.charts.scales import Scale, Tick
from concwatch.charts.ticks import column_of

LABEL_WIDTH = 8
"""Cells of the y labels' column, the same for every kind, so that charts stand in line and never jump."""

SMALLEST = (LABEL_WIDTH + 4, 4)
"""Width and height in cells below which nothing is drawn."""


ROOMY = 52
"""Columns of a plot from which on names stand at the right ends of its lines."""

LONGEST_NAME = 11
"""Cells of a name there."""

EXACT = 1e-6
"""Dots by which a value may miss a tick and is still at it."""


class Picture(Struct, frozen=True):
    """All that decides what a chart's cells show, save the axes' colours: equal pictures look the same."""

    width: int
    height: int
    scale: Scale
    across: tuple[Tick, ...]
    """The ticks of the x axis."""
    lines: tuple[tuple[str, tuple[Path, ...]], ...]
    """The colour of each line and the paths it is made of, the topmost line last."""
    bands: tuple[tuple[str, tuple[Path, ...], tuple[Path, ...]], ...] = ()
    """The colour of each band, and the paths of its lower and its upper edge."""
    marks: tuple[tuple[int, int, str, str], ...] = ()
    """What stands at points: column, row from the bottom, the character, its colour; the topmost last."""
    flags: tuple[Flag, ...] = ()
    """Moments that are pointed out, the topmost last."""
    cursor: int | None = None
    """The column of cells in which the cursor stands."""
    margin: int = 0
    """Cells at the right in which names stand."""
    names: tuple[tuple[int, str, str], ...] = ()
    """Row from the bottom, text and colour of each."""

    @property
    def columns(self) -> int:
        """Width of the plot in cells, without its labels, axis and margin."""
        return self.width - LABEL_WIDTH - 1 - self.margin

    @property
    def rows(self) -> int:
        """Height of the plot in cells, without the labels below it."""
        return self.height - 1


def _dot(column: int, value: float, scale: Scale, rows: int) -> Dot:
    """Place a value on the grid of dots: two a column, `UP` a row.

    A value at a tick has the lower dot of the tick's cell, so that 0 stands on the floor.
    """
    return (column, min(UP * rows - 1, math.ceil(UP * min(scale.row(value), rows) - EXACT)))


def _paths(points: Sequence[Point], scale: Scale, rows: int) -> tuple[Path, ...]:
    """Place decimated points on the grid of dots, split at gaps, without points inside a level stretch."""
    # As `_dot` does, written out: this is done for each dot of each line in each frame.
    top, origin, dots_per_unit = UP * rows - 1, scale.origin, UP * scale.rows_per_unit
    logarithmic, log10, isnan, ceil = scale.logarithmic, math.log10, math.isnan, math.ceil
    paths: list[list[Dot]] = [[]]
    path, last, level = paths[0], (0, 0), False
    for column, value in points:
        if isnan(value):
            if path:
                path = []
                paths.append(path)
            continue
        if logarithmic:
            value = log10(value) if value > 0 else origin
        dots = (value - origin) * dots_per_unit
        height = (ceil(dots - EXACT) if dots < top else top) if dots > 0 else 0
        dot = (column, height)
        if not path:
            level = False
        else:
            if last[0] < 0 <= column:
                last = path[-1] = _at_left_edge(last, dot)
            if last[1] != height:
                level = False
            elif last[0] == column:
                continue
            elif level:
                path.pop()
            else:
                level = True
        path.append(dot)
        last = dot
    return tuple([tuple(path) for path in paths if path and path[-1][0] >= 0])


def _at_left_edge(outside: Dot, inside: Dot) -> Dot:
    """Return where the line from ``outside`` to ``inside`` crosses column 0."""
    share = -outside[0] / (inside[0] - outside[0])
    return (0, round(outside[1] + share * (inside[1] - outside[1])))


def compose(plot: Plot, width: int, height: int) -> Picture | None:
    """Work out what a chart of so many cells, labels included, shows; None where there is no room for one.

    This is cheap next to `paint`, so compare its result before painting it.
    """
    if width < SMALLEST[0] or height < SMALLEST[1]:
        return None
    rows, columns = height - 1, width - LABEL_WIDTH - 1
    margin = _margin(plot.lines, columns)
    columns -= margin
    drawn = decimated(plot, 2 * columns)
    scale = y_scale(plot, drawn, rows)
    paths = tuple([(each.line.color, _paths(each.points, scale, rows)) for each in drawn])
    ends = [path[-1][-1][1] if path and path[-1][-1][0] >= 2 * columns - 2 else None for _, path in paths]
    marks = (
        (dot[0] // 2, dot[1] // UP, each.line.mark, each.line.color)
        for each in drawn
        if each.line.mark
        for dot in (_dot(*point, scale, rows) for point in each.points if not math.isnan(point[1]))
    )
    column = -1 if plot.cursor is None else column_of(plot.cursor, plot.end, plot.length, columns)
    return Picture(
        width,
        height,
        scale,
        plot.across(plot.end, plot.length, columns),
        paths,
        tuple(
            (each.line.color, _paths(each.band[0], scale, rows), _paths(each.band[1], scale, rows))
            for each in drawn
            if each.band
        ),
        tuple(marks),
        flags(plot.moments, plot.end, plot.length, columns),
        column if 0 <= column < columns else None,
        margin,
        _names(plot.lines, ends, rows, margin - 1) if margin else (),
    )


def _margin(lines: Sequence[Line], columns: int) -> int:
    """Return the cells that names take at the right, of a plot that has so many ``columns`` with them."""
    longest = max((cell_len(line.name) for line in lines if not line.mark), default=0)
    return 1 + min(longest, LONGEST_NAME) if len(lines) > 1 and longest and columns >= ROOMY else 0


def _names(
    lines: Sequence[Line], ends: Sequence[int | None], rows: int, room: int
) -> tuple[tuple[int, str, str], ...]:
    """Place the names of lines that reach the right edge each beside its end, or one row from it.

    ``ends`` are the dots above the floor at which lines end, None for one that does not reach the edge.
    """
    placed: dict[int, tuple[int, str, str]] = {}
    for line, end in zip(lines, ends, strict=True):
        for row in () if end is None else (end // UP, end // UP + 1, end // UP - 1):
            if row not in placed and 0 <= row < rows:
                placed[row] = (row, cut(line.name, room), line.color)
                break
    return tuple(placed.values())
