"""The layout of a chart in terminal cells: plain values that can be compared before anything is painted."""

import math
from collections.abc import Iterable, Sequence

from msgspec import Struct
from rich.cells import cell_len

from concwatch.charts.annotations import Marker, place_annotations, truncate
from concwatch.charts.captions import NO_VALUE, VALUE_WIDTH, distinct, short_value, value_at, value_text
from concwatch.charts.decimation import Point
from concwatch.charts.plot import DecimatedLine, Plot, decimate_lines, y_scale
from concwatch.charts.raster import Dot, Path
from concwatch.charts.scales import Scale, Tick
from concwatch.charts.symbols import BRAILLE, Symbols
from concwatch.charts.ticks import column_of

LABEL_WIDTH = 5
"""Cells of the y labels, the same in every chart, so that the plots are aligned and never move."""

SMALLEST = (LABEL_WIDTH + 7, 4)
"""The smallest width and height in cells of a chart that is drawn."""

NAMED_FROM = 52
"""The minimum number of columns of a plot and its labels from which labels have names, not numbers."""

LABELLED_FROM = 20
"""The minimum number of columns of a plot and its labels from which there are labels."""

LONGEST_NAME = 16
"""The maximum number of cells of a name in a label."""

ZERO = "zero"
"""Written in a chart whose values are all 0."""

TOLERANCE = 1e-6
"""The distance in dots within which a value counts as being at a tick."""

Label = tuple[int, tuple[tuple[str, str], ...]]
"""The row from the bottom of a label, and its texts, each with its colour."""


class DrawnLine(Struct, frozen=True):
    """A line of a picture."""

    color: str
    paths: tuple[Path, ...]
    filled: bool = False
    """Whether the area below it is filled."""
    dashed: bool = False


class Picture(Struct, frozen=True):
    """What the cells of a chart show, except for the colours of the axes. Equal pictures look the same."""

    width: int
    height: int
    symbols: Symbols
    scale: Scale
    across: tuple[Tick, ...]
    """The ticks of the x axis."""
    lines: tuple[DrawnLine, ...]
    """The topmost first."""
    bands: tuple[tuple[str, tuple[Path, ...], tuple[Path, ...]], ...] = ()
    """The colour of each band, and the paths of its lower and of its upper edge."""
    marks: tuple[tuple[int, int, str, str], ...] = ()
    """The characters at points: column, row from the bottom, character, colour; the topmost last."""
    markers: tuple[Marker, ...] = ()
    """The topmost last."""
    cursor: int | None = None
    """The cursor's column of cells."""
    margin: int = 0
    """The cells on the right for labels."""
    labels: tuple[Label, ...] = ()
    word: str = ""
    """A word above the axis, in place of lines."""

    @property
    def columns(self) -> int:
        """The width of the plot in cells, without y labels, axis and margin."""
        return self.width - LABEL_WIDTH - 1 - self.margin

    @property
    def rows(self) -> int:
        """The height of the plot in cells, without the labels below it."""
        return self.height - 1


def _paths(points: Sequence[Point], scale: Scale, rows: int, dots: int) -> tuple[Path, ...]:
    """Return the dots of decimated points, split at gaps, without the inner points of horizontal parts.

    A value at a tick is in the middle of its row, on the grid line, so that 0 lies on the axis.

    Args:
        points: columns of dots and values.
        scale: the y axis.
        rows: rows of cells.
        dots: rows of dots in a cell.
    """
    # This runs for each dot of each line in each frame.
    top, bottom, origin, dots_per_unit = dots * rows - 1, dots // 2, scale.origin, dots * scale.rows_per_unit
    logarithmic, log10, isnan, ceil = scale.logarithmic, math.log10, math.isnan, math.ceil
    highest = top - bottom
    paths: list[list[Dot]] = [[]]
    path, last, level = paths[0], (0, 0), False
    for column, value in points:
        if logarithmic:
            value = log10(value) if value > 0 else math.nan
            value = value if value >= origin - TOLERANCE else math.nan
        if isnan(value):
            if path:
                path = []
                paths.append(path)
            continue
        height = (value - origin) * dots_per_unit
        height = bottom + ((ceil(height - TOLERANCE) if height < highest else highest) if height > 0 else 0)
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


def compose(plot: Plot, width: int, height: int, symbols: Symbols = BRAILLE) -> Picture | None:
    """Lay out a chart of ``width`` by ``height`` cells, labels included; return None if it is too small.

    This costs little compared with painting, so compare the result with the last one before that.
    """
    if width < SMALLEST[0] or height < SMALLEST[1]:
        return None
    rows, columns = height - 1, width - LABEL_WIDTH - 1
    names = LabelNames(plot, columns)
    columns -= names.margin
    drawn = decimate_lines(plot, 2 * columns)
    scale = y_scale(plot, drawn, rows)
    zero = _is_zero(plot, drawn)
    groups = {} if zero else _equal_lines(plot, drawn, scale, rows, symbols.rows)
    lines = [
        DrawnLine(same[0].line.color, paths, _is_filled(plot, same[0]), same[0].line.dashed)
        for (paths, _), same in groups.items()
    ]
    marks = []
    for each in drawn:
        if each.line.mark:
            line = DrawnLine(each.line.color, _paths(each.points, scale, rows, symbols.rows))
            lines.append(line)
            points = (_paths([point], scale, rows, symbols.rows) for point in each.points)
            marks += [
                (column // 2, row // symbols.rows, each.line.mark, each.line.color)
                for path in points
                for ((column, row),) in path
            ]
    column = -1
    if plot.cursor is not None and plot.over_time:
        column = column_of(plot.cursor, plot.end, plot.length, columns)
    return Picture(
        width,
        height,
        symbols,
        scale,
        plot.x_ticks(plot.end, plot.length, columns),
        tuple(lines),
        () if zero else _bands(drawn, scale, rows, symbols.rows),
        marks,
        place_annotations(plot.annotations, plot.end, plot.length, columns),
        column if 0 <= column < columns else None,
        names.margin,
        names.place(groups, scale, rows, symbols.rows, columns) if names.margin else (),
        ZERO if zero else "",
    )


def _is_zero(plot: Plot, drawn: Sequence[DecimatedLine]) -> bool:
    """Return whether there are lines and all of their values are 0."""
    values = [value for each in drawn for points in (each.points, *each.band) for _, value in points]
    known = [value for value in values if not math.isnan(value)]
    return bool(known) and not any(known) and not plot.logarithmic


def _is_filled(plot: Plot, each: DecimatedLine) -> bool:
    """Return whether the area below a line is filled: that of the only line, or of the one on top."""
    alone = sum(not line.mark for line in plot.lines) == 1
    return plot.over_time and not each.line.band and (alone or each.line.top)


Groups = dict[tuple[tuple[Path, ...], str], list[DecimatedLine]]
"""Lines by their paths and short values: those that are equal for the whole window are one line."""


def _equal_lines(plot: Plot, drawn: Sequence[DecimatedLine], scale: Scale, rows: int, dots: int) -> Groups:
    """Return the lines by what is drawn of them: first the one on top, then in the given order."""
    found: Groups = {}
    for each in sorted(drawn, key=lambda each: not each.line.top):
        if not each.line.mark and (paths := _paths(each.points, scale, rows, dots)):
            value = each.line.value or value_text(each.line, plot.kind, plot.end)
            found.setdefault((paths, short_value(value)), []).append(each)
    return found


def _bands(
    drawn: Sequence[DecimatedLine], scale: Scale, rows: int, dots: int
) -> tuple[tuple[str, tuple[Path, ...], tuple[Path, ...]], ...]:
    return tuple(
        (each.line.color, _paths(each.band[0], scale, rows, dots), _paths(each.band[1], scale, rows, dots))
        for each in drawn
        if each.band
    )


class LabelNames:
    """The labels at the right ends of lines: how wide they are, their texts, and their rows.

    A label has the name of the lane, or where there is no room for names its number, and the value.
    """

    def __init__(self, plot: Plot, columns: int) -> None:
        """Choose the form of all labels for a plot of ``columns`` cells, labels included."""
        self._plot = plot
        lines = [line for line in plot.lines if line.name and not line.mark]
        names = list(dict.fromkeys([*plot.names, *(line.name for line in lines)]))
        numbers = [str(line.number) for line in lines if line.number]
        room = LONGEST_NAME if columns >= NAMED_FROM else 0 if len(numbers) == len(lines) else 8
        cut = distinct(names, room)
        width = max(map(cell_len, cut), default=0)
        self._texts = dict(zip(names, cut, strict=True)) if 0 < width <= room else {}
        if not self._texts:
            # Room for two digits once there are ten lanes, whether they have lines or not.
            width = max((len(str(len(plot.names))), *map(len, numbers))) if numbers else 0
        self.margin = 0
        """The cells on the right for labels, with a blank on the left; 0 if there are none."""
        if width and columns >= LABELLED_FROM and (lines or plot.names):
            self.margin = 1 + width + 1 + VALUE_WIDTH

    def _label(self, same: Sequence[DecimatedLine], value: str) -> tuple[tuple[str, str], ...]:
        """Return the label of equal lines: the names of all that fit, and the value."""
        line = same[0].line
        value = "" if value == NO_VALUE else value.strip()
        parts: list[tuple[str, str]] = []
        room = self.margin - 1
        for equal, texts in ((" = ", self._texts), ("=", {})):
            parts = []
            for each in same:
                name = texts.get(each.line.name) or str(each.line.number or "")
                parts += [(equal, each.line.color)] if parts else []
                parts.append((name, each.line.color))
            used = sum(cell_len(text) for text, _ in parts)
            if used + 1 + cell_len(value) <= room:
                return (*parts, (value.rjust(room - used) if texts else f" {value}", line.color))
        return _truncated(parts, room)

    def place(self, groups: Groups, scale: Scale, rows: int, dots: int, columns: int) -> tuple[Label, ...]:
        """Return the labels of lines that reach the right edge, moved apart where they collide."""
        plot, wanted = self._plot, []
        for (paths, value), same in groups.items():
            column, end = paths[-1][-1]
            if plot.over_time:
                if column < 2 * columns - 2:
                    continue
                for path in _paths([(0, value_at(same[0].line, plot.end))], scale, rows, dots):
                    ((_, end),) = path
            if same[0].line.name:
                wanted.append((end, self._label(same, value)))
        wanted = sorted(wanted[:rows], key=lambda label: label[0])  # those on top, if there are too many
        placed = apart([end // dots for end, _ in wanted], rows)
        return tuple((row, label) for row, (_, label) in zip(placed, wanted, strict=True))


def apart(wanted: Sequence[int], rows: int) -> list[int]:
    """Return distinct rows near the ``wanted`` ones, in their order, which is ascending."""
    placed: list[int] = []
    for at in wanted:
        placed.append(max(at, placed[-1] + 1 if placed else 0))
    # Pushed up by those below them: move each group down around its middle.
    for index in range(len(placed) - 1, -1, -1):
        highest = placed[index + 1] - 1 if index + 1 < len(placed) else rows - 1
        placed[index] = min(placed[index], highest)
    for index, at in enumerate(wanted):
        lowest = placed[index - 1] + 1 if index else 0
        placed[index] = max(lowest, min(placed[index], max(at, lowest)))
    return placed


def _truncated(parts: Iterable[tuple[str, str]], room: int) -> tuple[tuple[str, str], ...]:
    found: list[tuple[str, str]] = []
    for text, color in parts:
        if cell_len(text) >= room:
            return (*found, (truncate(text, room), color)) if room else tuple(found)
        found.append((text, color))
        room -= cell_len(text)
    return tuple(found)
