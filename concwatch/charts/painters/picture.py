"""The layout of a chart in terminal cells: plain values that can be compared before anything is painted."""

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise, takewhile

from msgspec import Struct
from rich.cells import cell_len

from concwatch.charts.annotations import Marker, place_annotations, truncate
from concwatch.charts.captions import NO_VALUE, VALUE_WIDTH, distinct, short_value, value_at, value_text
from concwatch.charts.decimation import Drawn, Memo, Point
from concwatch.charts.plot import DecimatedLine, Plot, decimate_lines, shown_values, y_scale
from concwatch.charts.raster import Dots, Path, rasterize
from concwatch.charts.scales import AxisTick, Scale
from concwatch.charts.symbols import BRAILLE, Symbols
from concwatch.charts.ticks import CELL, column_of

LABEL_WIDTH = 5
"""Cells of the y labels, the same in every chart, so that the plots are aligned and never move."""

SMALLEST = (LABEL_WIDTH + 7, 4)
"""The smallest width and height in cells of a chart that is drawn."""

NAMED_FROM = 52
"""The minimum number of columns of a plot and its labels from which labels have names, not numbers."""

TWO_VALUES_FROM = 40
"""The minimum number of columns of a plot and its labels from which labels of numbers have room for two
values, if there are more lanes than rows."""

OF_FROM = 30
"""The minimum number of columns of a plot and its labels from which labels say what their values are of one
of; where there is no room for that, they have no such values."""

LABELLED_FROM = 20
"""The minimum number of columns of a plot and its labels from which there are labels."""

LONGEST_NAME = 16
"""The maximum number of cells of a name in a label."""

UNNAMED = 10_000
"""The count of omitted values for a label that omits a number as well."""

RIGHT = 2 * CELL
"""Columns of dots at the right edge: lines that reach them have labels. The last cell may have just begun."""

ZERO = "zero"
"""Written in a chart whose values are all 0."""

TOLERANCE = 1e-6
"""The distance in dots within which a value counts as being at a tick."""

Texts = tuple[tuple[str, str], ...]
"""Texts, each with its colour."""

Label = tuple[int, Texts]
"""The row from the bottom of a label, and its texts."""


class DrawnLine(Struct, frozen=True):
    """A line of a picture."""

    color: str
    dots: Dots
    filled: bool = False
    """Whether the area below it is filled."""


class Picture(Struct, frozen=True):
    """What the cells of a chart show, except for the colours of the axes. Equal pictures look the same."""

    width: int
    height: int
    symbols: Symbols
    scale: Scale
    across: tuple[AxisTick, ...]
    """The ticks of the x axis."""
    lines: tuple[DrawnLine, ...]
    """The topmost first."""
    bands: tuple[tuple[str, Dots, Dots], ...] = ()
    """The colour of each band, and the dots of its lower and of its upper edge."""
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


class Grid(Struct, frozen=True):
    """The dots of a plot."""

    scale: Scale
    columns: int
    """Columns of dots."""
    rows: int
    """Rows of cells."""
    cell: int
    """Rows of dots in a cell."""

    def path(self, points: Sequence[Point]) -> Path:
        """Return the dots of decimated points, None at gaps.

        A value at a tick is in the middle of its row, on the grid line, so that 0 lies on the axis.
        """
        bottom, origin = self.cell // 2, self.scale.origin
        highest, unit, ceil = (
            self.cell * self.rows - 1 - bottom,
            self.cell * self.scale.rows_per_unit,
            math.ceil,
        )
        if self.scale.logarithmic:
            points = [
                (column, math.log10(value) if value > 0 and self.scale.row(value) >= 0 else math.nan)
                for column, value in points
            ]
        return [
            None
            if value != value  # NaN
            else (
                column,
                bottom
                + (
                    0
                    if value <= origin
                    else ceil(dots - TOLERANCE)
                    if (dots := (value - origin) * unit) < highest
                    else highest
                ),
            )
            for column, value in points
        ]

    def draw(self, points: Sequence[Point], dashed: bool = False, memo: Memo | None = None) -> Dots:
        """Return the dots of the line through decimated points.

        With the ``memo`` of their decimation, only the columns that may have changed are drawn.
        """
        if memo is None:
            return rasterize(self.path(points), self.columns, dashed)
        settled, before = memo.points[-1][0] if memo.points else 0, memo.drawn
        left, right, dots = 0, 0, tuple[int, ...]()  # the columns that are kept
        if before is not None and before.scale == self and before.first <= memo.first:
            shift = memo.first - before.first
            if shift:  # the line enters from another point
                left = 1 + next((column for column, _ in points if column >= 0), 0)
            right, dots = min(settled, before.settled - shift), before.dots[shift:]
        if left < right:
            head, tail = bisect_left(points, (left,)) + 1, max(0, bisect_left(points, (right,)) - 1)
            dots = (
                *(rasterize(self.path(points[:head]), self.columns)[:left] if left else ()),
                *dots[left:right],
                *rasterize(self.path(points[tail:]), self.columns)[right:],
            )
        else:
            dots = rasterize(self.path(points), self.columns)
        memo.drawn = Drawn(self, memo.first, settled, dots)
        return dots


def compose(plot: Plot, width: int, height: int, symbols: Symbols = BRAILLE) -> Picture | None:
    """Lay out a chart of ``width`` by ``height`` cells, labels included; return None if it is too small.

    This costs little compared with painting, so compare the result with the last one before that.
    """
    if width < SMALLEST[0] or height < SMALLEST[1]:
        return None
    rows, columns = height - 1, width - LABEL_WIDTH - 1
    names = LabelNames(plot, columns, rows)
    columns -= names.margin
    together = CELL if plot.over_time else 1
    drawn = decimate_lines(plot, CELL * columns, together, remember=True)
    shown = shown_values(drawn)
    grid = Grid(y_scale(plot, shown, rows), CELL * columns, rows, symbols.rows)
    zero = bool(shown) and not any(shown) and not plot.logarithmic
    groups = {} if zero else _equal_lines(plot, drawn, grid, names)
    lines = [
        DrawnLine(same[0].line.color, dots, _is_filled(plot, same[0])) for (dots, _), same in groups.items()
    ]
    marks = []
    for line, points in ((each.line, each.points) for each in drawn if each.line.mark):
        lines.append(DrawnLine(line.color, grid.draw(points)))
        marks += [
            (dot[0] // CELL, dot[1] // symbols.rows, line.mark, line.color)
            for dot in grid.path(points)
            if dot
        ]
    column = -1
    if plot.cursor is not None and plot.over_time:
        column = column_of(plot.cursor, plot.end, plot.length, columns)
    return Picture(
        width,
        height,
        symbols,
        grid.scale,
        plot.x_ticks(plot.end, plot.length, columns),
        tuple(lines),
        ()
        if zero
        else tuple(
            (each.line.color, grid.draw(each.band[0]), grid.draw(each.band[1])) for each in drawn if each.band
        ),
        tuple(marks),
        place_annotations(plot.annotations, plot.end, plot.length, columns, together),
        column if 0 <= column < columns else None,
        names.margin,
        names.place(groups, grid) if names.margin else (),
        ZERO if zero else "",
    )


def _is_filled(plot: Plot, each: DecimatedLine) -> bool:
    """Return whether the area below a line is filled: that of the only line, or of the one on top."""
    alone = sum(not line.mark for line in plot.lines) == 1
    return plot.over_time and not each.line.band and (alone or each.line.top)


Groups = dict[tuple[Dots, str], list[DecimatedLine]]
"""Lines by their dots and short values: those that are equal for the whole window are one line."""

ValuedLines = tuple[Sequence[DecimatedLine], str]
"""Equal lines, and their short value; empty if it is not known."""

Size = tuple[int, str]
"""The cells of the numbers of equal lines, and their value."""

Wanted = tuple[int, float, Sequence[ValuedLines]]
"""A label: the row of dots where it should be, the value that decides between equal rows, and its lines."""


def _equal_lines(plot: Plot, drawn: Sequence[DecimatedLine], grid: Grid, names: "LabelNames") -> Groups:
    """Return the lines by what is drawn of them: first the one on top, then in the given order."""
    found: Groups = {}
    for each in sorted(drawn, key=lambda each: not each.line.top):
        memo = None if plot.logarithmic else each.line.memo  # there, running maxima are drawn
        if not each.line.mark and any(dots := grid.draw(each.points, each.line.dashed, memo)):
            value = each.line.value or value_text(each.line, plot.unit, plot.end)
            found.setdefault((dots, names.value(value)), []).append(each)
    return found


class LabelNames:
    """The labels at the right ends of lines: how wide they are, their texts, and their rows.

    A label has the name of the lane, or where there is no room for names its number, and the value; if there
    is one lane, only the value.
    """

    def __init__(self, plot: Plot, columns: int, rows: int) -> None:
        """Choose the form of all labels for a plot of ``columns`` by ``rows`` cells, labels included."""
        self._plot = plot
        lines = [line for line in plot.lines if line.name and not line.mark]
        names = list(dict.fromkeys([*plot.names, *(line.name for line in lines)]))
        numbers = [str(line.number) for line in lines if line.number]
        room = LONGEST_NAME if columns >= NAMED_FROM else 0 if len(numbers) == len(lines) else 10
        cut = distinct(names, room)
        width = max(map(cell_len, cut), default=0)
        self._texts = dict(zip(names, cut, strict=True)) if 0 < width <= room else {}
        self._alone = len(names) == 1
        """Whether there is only one name, which needs none beside its value."""
        if not self._texts:
            # Room for two digits once there are ten lanes, whether they have lines or not.
            width = max((len(str(len(plot.names))), *map(len, numbers))) if numbers else 0
        shared = _shared_words(names)
        self._short = {line.name: str(line.number or line.name[shared:]) for line in lines}
        self._of = f"/{plot.value_of}" if plot.value_of else ""
        self._value_width = VALUE_WIDTH + len(self._of) if columns >= OF_FROM or not self._of else 0
        self.margin = 0
        """The cells on the right for labels, with a blank on the left; 0 if there are none."""
        if width and columns >= LABELLED_FROM and (lines or plot.names):
            self.margin = 1 + self._value_width + (0 if self._alone else width + 1)
            if not self._texts and len(names) > rows and columns >= TWO_VALUES_FROM:
                self.margin *= 2

    def value(self, text: str) -> str:
        """Return a value as labels have it: ``89M``, ``43K/task``; empty if there is no room for any."""
        return f"{short_value(text)}{self._of}" if self._value_width and text.strip() else ""

    def _label(self, groups: Sequence[ValuedLines]) -> Texts:
        """Return the label of groups of equal lines: names or numbers, whichever fit, and values.

        A value that all have is written once; if there is no room for the values, numbers have none.
        """
        room = self.margin - 1
        values = [value for _, value in groups]
        if self._alone:
            return _truncated([(values[0], groups[0][0][0].line.color)], room)
        forms = ((" = ", ", ", self._texts), ("=", ",", {})) if self._texts else (("=", ",", {}),)
        if len(set(values)) == 1:
            for equal, close, texts in forms:
                parts = self._named([same for same, _ in groups], equal, close, texts)
                used = _width(parts)
                if used + 1 + len(values[0]) <= room:
                    value = values[0].rjust(room - used) if texts else f" {values[0]}"
                    return *parts, (value, groups[-1][0][0].line.color)
        for equal, _, texts in forms:
            apiece: list[tuple[str, str]] = []
            for same, value in reversed(groups):
                apiece += [(" ", same[0].line.color)] if apiece else []
                apiece += [*self._named([same], equal, "", texts), (f" {value}", same[0].line.color)]
            if _width(apiece) <= room:
                return tuple(apiece)
        return _truncated(self._named([same for same, _ in groups], "=", ",", {}), room)

    def _size(self, same: Sequence[DecimatedLine], value: str) -> Size:
        return _width(self._named([same], "=", "", {})), value

    def _loss(self, sizes: Sequence[Size]) -> int:
        """Return how many values a label omits, or `UNNAMED` if it omits numbers as well."""
        values = [1 + len(value) for _, value in sizes]
        numbers = sum(width for width, _ in sizes) + len(sizes) - 1
        same = len({value for _, value in sizes}) == 1
        used, room = numbers + (values[0] if same else sum(values)), self.margin - 1
        return 0 if used <= room else len(sizes) if numbers <= room else UNNAMED

    def _named(
        self, groups: Sequence[Sequence[DecimatedLine]], equal: str, close: str, texts: Mapping[str, str]
    ) -> list[tuple[str, str]]:
        """Return the names of lines, or without ``texts`` their numbers, or what tells their names apart."""
        parts: list[tuple[str, str]] = []
        for same in groups:
            for at, each in enumerate(same):
                name = texts.get(each.line.name) or self._short[each.line.name]
                parts += [(equal if at else close, each.line.color)] if parts else []
                parts.append((name, each.line.color))
        return parts

    def _fitting(self, same: Sequence[DecimatedLine], value: str) -> Iterator[Sequence[DecimatedLine]]:
        """Yield parts of equal lines whose labels have room for all names, or numbers, and the value."""
        while same:
            losses = (
                (count, self._loss([self._size(same[:count], value)])) for count in range(len(same), 1, -1)
            )
            count = next((count for count, loss in losses if not loss), 1)
            yield same[:count]
            same = same[count:]

    def place(self, groups: Groups, grid: Grid) -> tuple[Label, ...]:
        """Return the labels of lines that reach the right edge, moved apart where they collide.

        If there are more than rows, some share a label.
        """
        plot, wanted = self._plot, list[Wanted]()
        for (dots, value), same in groups.items():
            line = same[0].line
            last_dots = next(filter(None, reversed(dots[-RIGHT:] if plot.over_time else dots)), 0)
            if line.name and last_dots:
                last = value_at(line, plot.end) if plot.over_time else line.values[-1]
                end = next(filter(None, grid.path([(0, last)])), (0, last_dots.bit_length() - 1))
                value = "" if value == NO_VALUE else value.strip()
                wanted += [(end[1], last, [(part, value)]) for part in self._fitting(same, value)]
        wanted.sort(key=lambda label: label[:2])
        labels = self._shared(wanted, grid) if len(wanted) > grid.rows else wanted
        placed = apart([end // grid.cell for end, *_ in labels], grid.rows)
        return tuple((row, self._label(same)) for row, (_, _, same) in zip(placed, labels, strict=True))

    def _shared(self, wanted: Sequence[Wanted], grid: Grid) -> Sequence[Wanted]:
        """Return the labels of more lines than rows: those of which least is left out, then the closest."""

        sizes = [self._size(*part) for *_, [part] in wanted]

        @cache
        def cost(start: int, end: int) -> float:
            # A value left out counts as much as lines that are half a row apart.
            left_out = self._loss(sizes[start:end]) * (grid.cell / 2) ** 2
            return left_out + (wanted[end - 1][0] - wanted[start][0]) ** 2

        best: dict[int, tuple[float, tuple[int, ...]]] = {0: (0, (0,))}
        for _ in range(grid.rows):
            best = {
                end: min(
                    (before + cost(start, end), (*cuts, end))
                    for start, (before, cuts) in best.items()
                    if start < end
                )
                for end in range(min(best) + 1, len(wanted) + 1)
            }
        return [
            (*wanted[end - 1][:2], [part for *_, parts in wanted[start:end] for part in parts])
            for start, end in pairwise(best[len(wanted)][1])
        ]


def _shared_words(names: Sequence[str]) -> int:
    """Return the length of the words with which all of several names begin, but for the last of each."""
    words = zip(*(name.split(" ")[:-1] for name in names), strict=False)
    return sum(len(same[0]) + 1 for same in takewhile(lambda same: len({*same}) == 1, words))


def _width(parts: Iterable[tuple[str, str]]) -> int:
    return sum(cell_len(text) for text, _ in parts)


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


def _truncated(parts: Iterable[tuple[str, str]], room: int) -> Texts:
    found: list[tuple[str, str]] = []
    for text, color in parts:
        if cell_len(text) >= room:
            return (*found, (truncate(text, room), color)) if room else tuple(found)
        found.append((text, color))
        room -= cell_len(text)
    return tuple(found)
