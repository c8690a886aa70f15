"""The layout of a chart in terminal cells: plain values that can be compared before anything is painted."""

import math
from collections.abc import Sequence

from msgspec import Struct
from rich.cells import cell_len

from concwatch.charts.annotations import Marker, place_annotations, truncate
from concwatch.charts.decimation import Point
from concwatch.charts.plot import Line, Plot, decimate_lines, y_scale
from concwatch.charts.raster import ROW_DOTS, Dot, Path
from concwatch.charts.scales import Scale, Tick
from concwatch.charts.ticks import column_of

LABEL_WIDTH = 8
"""Cells of the y labels, the same in every chart, so that the plots are aligned and never move."""

SMALLEST = (LABEL_WIDTH + 4, 4)
"""The smallest width and height in cells of a chart that is drawn."""

NAMED_FROM = 52
"""The minimum number of columns of a plot with names at the ends of its lines."""

LONGEST_NAME = 11
"""The maximum number of cells of such a name."""

TOLERANCE = 1e-6
"""The distance in dots within which a value counts as being at a tick."""


class Picture(Struct, frozen=True):
    """What the cells of a chart show, except for the colours of the axes. Equal pictures look the same."""

    width: int
    height: int
    scale: Scale
    across: tuple[Tick, ...]
    """The ticks of the x axis."""
    lines: tuple[tuple[str, tuple[Path, ...]], ...]
    """The colour and the paths of each line, the topmost last."""
    bands: tuple[tuple[str, tuple[Path, ...], tuple[Path, ...]], ...] = ()
    """The colour of each band, and the paths of its lower and of its upper edge."""
    marks: tuple[tuple[int, int, str, str], ...] = ()
    """The characters at points: column, row from the bottom, character, colour; the topmost last."""
    markers: tuple[Marker, ...] = ()
    """The topmost last."""
    cursor: int | None = None
    """The cursor's column of cells."""
    margin: int = 0
    """The cells on the right for the names of lines."""
    names: tuple[tuple[int, str, str], ...] = ()
    """The row from the bottom, text and colour of each name."""

    @property
    def columns(self) -> int:
        """The width of the plot in cells, without labels, axis and margin."""
        return self.width - LABEL_WIDTH - 1 - self.margin

    @property
    def rows(self) -> int:
        """The height of the plot in cells, without the labels below it."""
        return self.height - 1


def _dot(column: int, value: float, scale: Scale, rows: int) -> Dot:
    """Return the dot of a value. A value at a tick has the lower dot of its cell: 0 is at the bottom."""
    return (column, min(ROW_DOTS * rows - 1, math.ceil(ROW_DOTS * min(scale.row(value), rows) - TOLERANCE)))


def _paths(points: Sequence[Point], scale: Scale, rows: int) -> tuple[Path, ...]:
    """Return the dots of decimated points, split at gaps, without the inner points of horizontal parts."""
    # `_dot` inlined: this runs for each dot of each line in each frame.
    top, origin, dots_per_unit = ROW_DOTS * rows - 1, scale.origin, ROW_DOTS * scale.rows_per_unit
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
        height = (ceil(dots - TOLERANCE) if dots < top else top) if dots > 0 else 0
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
    """Lay out a chart of ``width`` by ``height`` cells, labels included; return None if it is too small.

    This costs little compared with `paint`, so compare the result with the last one before painting it.
    """
    if width < SMALLEST[0] or height < SMALLEST[1]:
        return None
    rows, columns = height - 1, width - LABEL_WIDTH - 1
    margin = _margin(plot.lines, columns)
    columns -= margin
    drawn = decimate_lines(plot, 2 * columns)
    scale = y_scale(plot, drawn, rows)
    paths = tuple([(each.line.color, _paths(each.points, scale, rows)) for each in drawn])
    ends = [path[-1][-1][1] if path and path[-1][-1][0] >= 2 * columns - 2 else None for _, path in paths]
    marks = (
        (dot[0] // 2, dot[1] // ROW_DOTS, each.line.mark, each.line.color)
        for each in drawn
        if each.line.mark
        for dot in (_dot(*point, scale, rows) for point in each.points if not math.isnan(point[1]))
    )
    column = -1 if plot.cursor is None else column_of(plot.cursor, plot.end, plot.length, columns)
    return Picture(
        width,
        height,
        scale,
        plot.x_ticks(plot.end, plot.length, columns),
        paths,
        tuple(
            (each.line.color, _paths(each.band[0], scale, rows), _paths(each.band[1], scale, rows))
            for each in drawn
            if each.band
        ),
        tuple(marks),
        place_annotations(plot.annotations, plot.end, plot.length, columns),
        column if 0 <= column < columns else None,
        margin,
        _names(plot.lines, ends, rows, margin - 1) if margin else (),
    )


def _margin(lines: Sequence[Line], columns: int) -> int:
    """Return the cells on the right for the names of lines, out of ``columns``."""
    longest = max((cell_len(line.name) for line in lines if not line.mark), default=0)
    return 1 + min(longest, LONGEST_NAME) if len(lines) > 1 and longest and columns >= NAMED_FROM else 0


def _names(
    lines: Sequence[Line], ends: Sequence[int | None], rows: int, room: int
) -> tuple[tuple[int, str, str], ...]:
    """Place the names of lines beside their ends, at most one row off.

    ``ends`` are the dots above the bottom at which lines reach the right edge, None for one that does not.
    """
    placed: dict[int, tuple[int, str, str]] = {}
    for line, end in zip(lines, ends, strict=True):
        for row in () if end is None else (end // ROW_DOTS, end // ROW_DOTS + 1, end // ROW_DOTS - 1):
            if row not in placed and 0 <= row < rows:
                placed[row] = (row, truncate(line.name, room), line.color)
                break
    return tuple(placed.values())
