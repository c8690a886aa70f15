"""Lines over time or size, drawn in braille: a picture made of plain values, and its strips."""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import lru_cache

from msgspec import Struct
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from concwatch.charts.annotations import Cell, Flag, Moment, column_of, draw_cursor, draw_flags, flags
from concwatch.charts.braille import Dot, Path, rasterize
from concwatch.charts.ticks import Across, Kind, Scale, Tick, age_ticks, linear_scale, log_scale

LABEL_WIDTH = 8
"""Cells of the y labels' column, the same for every kind, so that charts stand in line and never jump."""

SMALLEST = (LABEL_WIDTH + 4, 4)
"""Width and height in cells below which nothing but blank lines is drawn."""

DASH = 2
"""Cells in a row that one line gets where several lines share their cells."""


class Line(Struct, frozen=True):
    """One series to draw."""

    name: str
    color: str
    """``#rrggbb``"""
    times: Sequence[float]
    """Seconds on any clock, ascending; or whatever else the x axis counts."""
    values: Sequence[float]
    """One for each time; NaN is a gap."""
    mark: str = ""
    """One cell that stands at each point; none for lines of many points."""


class Picture(Struct, frozen=True):
    """All that decides what a chart's cells show, save the axes' colours: equal pictures look the same."""

    width: int
    height: int
    scale: Scale
    across: tuple[Tick, ...]
    """The ticks of the x axis."""
    lines: tuple[tuple[str, tuple[Path, ...]], ...]
    """The colour of each line and the paths it is made of, the topmost line last."""
    marks: tuple[tuple[int, int, str, str], ...] = ()
    """What stands at points: column, row from the bottom, the character, its colour; the topmost last."""
    flags: tuple[Flag, ...] = ()
    """Moments that are pointed out, the topmost last."""
    cursor: int | None = None
    """The column of cells in which the cursor stands."""

    @property
    def columns(self) -> int:
        """Width of the plot in cells, without its labels and axis."""
        return self.width - LABEL_WIDTH - 1

    @property
    def rows(self) -> int:
        """Height of the plot in cells, without the labels below it."""
        return self.height - 1


def decimate(
    times: Sequence[float], values: Sequence[float], start: float, end: float, columns: int
) -> list[tuple[int, float]]:
    """Reduce a series to at most one lowest and one highest value for each column.

    A column's edges are multiples of its width on the clock itself, so what falls into it never changes
    as the window moves on: the picture scrolls by whole columns and does not flicker.

    Args:
        times: seconds, ascending.
        values: one for each time; NaN and infinity are gaps.
        start: left edge of the window, seconds.
        end: right edge of the window, seconds.
        columns: how many columns the window has.

    Returns:
        ``(column, value)`` in the order of time. The last point before the window comes first, at a column
        below 0, so that a line can enter from the left; a NaN stands where the line is broken.
    """
    # Rounded, for the last bits of end - start differ from call to call and would move samples across edges.
    size = round((end - start) / columns, 9)
    first = math.floor(end / size) - columns + 1
    stop = min(bisect_right(times, end), len(values))
    index = begin = bisect_left(times, first * size, 0, stop)
    shown = list(values[begin:stop])  # an array would make a new float of each value at each look
    known = math.isfinite(sum(shown))  # then each of them is
    points: list[tuple[int, float]] = []
    if index and math.isfinite(values[index - 1]):
        points.append((min(-1, math.floor(times[index - 1] / size) - first), values[index - 1]))
    for column in range(columns):
        if index >= stop:
            break
        # The last column takes all that is left: rounding must not push the newest sample out of it.
        edge = bisect_left(times, (first + column + 1) * size, index, stop) if column < columns - 1 else stop
        if edge > index:
            here = shown[index - begin : edge - begin]
            if known:
                for value in _extremes(here):
                    points.append((column, value))
            else:
                points += _with_gaps(column, here)
            index = edge
    return points


def _extremes(values: list[float]) -> tuple[float, ...]:
    """Return the lowest and the highest of ``values`` as they came, or the one that is both."""
    low, high = min(values), max(values)
    if low == high:
        return (low,)
    return (low, high) if values.index(low) < values.index(high) else (high, low)


def _with_gaps(column: int, values: list[float]) -> list[tuple[int, float]]:
    """Return the extremes of one column, and NaN for a gap at either end."""
    finite = list(filter(math.isfinite, values))
    if not finite:
        return [(column, math.nan)]
    before = () if math.isfinite(values[0]) else (math.nan,)
    after = () if math.isfinite(values[-1]) else (math.nan,)
    return [(column, value) for value in (*before, *_extremes(finite), *after)]


def _dot(column: int, value: float, scale: Scale, rows: int) -> tuple[int, int]:
    """Place a value on the grid of dots: two a column, four a row.

    The second dot from below is the middle of the cell, where the axis has its tick.
    """
    return (column, min(4 * rows - 1, round(4 * min(scale.row(value), rows)) + 1))


def _paths(points: list[tuple[int, float]], scale: Scale, rows: int) -> tuple[Path, ...]:
    """Place decimated points on the grid of dots, split at gaps, without points inside a level stretch."""
    # As `_dot` does, written out: this is done for each dot of each line in each frame.
    top, origin, dots_per_unit = 4 * rows - 1, scale.origin, 4 * scale.rows_per_unit
    logarithmic, log10, isnan = scale.logarithmic, math.log10, math.isnan
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
        height = (round(dots) + 1 if dots < top - 1 else top) if dots > 0 else 1
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


def _at_left_edge(outside: tuple[int, int], inside: tuple[int, int]) -> tuple[int, int]:
    """Return where the line from ``outside`` to ``inside`` crosses column 0."""
    share = -outside[0] / (inside[0] - outside[0])
    return (0, round(outside[1] + share * (inside[1] - outside[1])))


def compose(
    lines: Sequence[Line],
    *,
    width: int,
    height: int,
    now: float,
    window: float,
    kind: Kind,
    logarithmic: bool = False,
    across: Across = age_ticks,
    moments: Sequence[Moment] = (),
    cursor: float | None = None,
) -> Picture | None:
    """Work out what a chart shows; cheap next to `paint`, so compare its result before painting it.

    Args:
        lines: what to draw, the topmost last.
        width: cells, labels included.
        height: cells, labels included.
        now: the time at the right edge, seconds on the lines' clock.
        window: seconds from the left edge to the right one.
        kind: what the values are.
        logarithmic: whether the y axis is.
        across: gives the ticks of the x axis, which is one of time unless that says otherwise.
        moments: what to point out on the x axis, the topmost last.
        cursor: the moment at which values are read.

    Returns:
        The picture, or None where there is no room for one.
    """
    if width < SMALLEST[0] or height < SMALLEST[1]:
        return None
    columns, rows = width - LABEL_WIDTH - 1, height - 1
    series = [decimate(line.times, line.values, now - window, now, 2 * columns) for line in lines]
    shown = [value for points in series for _, value in points if not math.isnan(value)]
    if logarithmic:
        drawable = [value for value in shown if value > 0]
        scale = log_scale(kind, min(drawable, default=kind.calm), max(drawable, default=kind.calm), rows)
    else:
        scale = linear_scale(kind, max(shown, default=0), rows)
    paths = ((line.color, _paths(points, scale, rows)) for line, points in zip(lines, series, strict=True))
    marks = (
        (dot[0] // 2, dot[1] // 4, line.mark, line.color)
        for line, points in zip(lines, series, strict=True)
        for dot in (_dot(*point, scale, rows) for point in points if line.mark and not math.isnan(point[1]))
    )
    column = None if cursor is None else column_of(cursor, now, window, columns)
    return Picture(
        width,
        height,
        scale,
        across(now, window, columns),
        tuple(paths),
        tuple(marks),
        flags(moments, now, window, columns),
        column if column is not None and 0 <= column < columns else None,
    )


def _braille_row(layers: list[tuple[str, str]], columns: int) -> list[Cell | None]:
    """Merge one row of all lines: each cell's character and colour, or None where no line passes.

    Cells that lines share show the dots of all of them, and take turns in their colours.

    Args:
        layers: the characters and the colour of each line that passes the row, the topmost last.
        columns: width in cells.
    """
    if not layers:
        return [None] * columns
    if len(layers) == 1:
        text, color = layers[0]
        return [None if character == " " else (character, color) for character in text]
    cells: list[Cell | None] = [None] * columns
    blanks = (" ",) * len(layers)
    for column, characters in enumerate(zip(*(text for text, _ in layers), strict=True)):
        if characters == blanks:
            continue
        last = max(characters)  # any braille character comes after a blank
        if characters.count(" ") == len(layers) - 1:
            cells[column] = (last, layers[characters.index(last)][1])
            continue
        here = [color for (_, color), character in zip(layers, characters, strict=True) if character != " "]
        dots = 0x2800
        for character in characters:
            if character != " ":
                dots |= ord(character)  # the upper bits are the same in every braille character
        cells[column] = (chr(dots), here[-1 - column // DASH % len(here)])
    return cells


@lru_cache(maxsize=256)
def _style(color: str, background: str | None) -> Style:
    # Themes that leave colours to the terminal name them as Textual does.
    return Style(color=color.removeprefix("ansi_"), bgcolor=background)


def _strip(margin: Cell, cells: list[Cell | None], blank: Cell, background: str | None) -> Strip:
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
    return Strip(segments, len(margin[0]) + len(cells))


@lru_cache(maxsize=256)
def _bare_strip(margin: Cell, columns: int, blank: Cell, background: str | None) -> Strip:
    """Give a row without anything in it; what Textual makes of it is kept with it."""
    return _strip(margin, [None] * columns, blank, background)


def _labels_across(picture: Picture) -> str:
    """Return the line of labels below the plot, each centred on its tick."""
    text = " " * picture.width
    for tick in picture.across:
        start = min(LABEL_WIDTH + 1 + tick.position - len(tick.label) // 2, picture.width - len(tick.label))
        text = text[:start] + tick.label + text[start + len(tick.label) :]
    return text


def _draw_floor(row: list[Cell | None], picture: Picture, color: str) -> None:
    """Draw the x axis with its ticks where nothing passes."""
    ticks = {tick.position for tick in picture.across}
    for column, cell in enumerate(row):
        if cell is None:
            row[column] = ("┴" if column in ticks else "─", color)


def paint(picture: Picture, axis_color: str, grid_color: str, background: str | None = None) -> list[Strip]:
    """Return the strips of ``picture``, one for each row, top row first.

    Args:
        picture: what `compose` worked out.
        axis_color: ``#rrggbb`` of axes and labels.
        grid_color: ``#rrggbb`` of the lines from tick to tick.
        background: ``#rrggbb`` behind it all, or None for what is there already.
    """
    rasters = [rasterize(paths, picture.columns, picture.rows) for _, paths in picture.lines]
    colors = [color for color, _ in picture.lines]
    labels = {tick.position: tick.label for tick in picture.scale.ticks}
    strips = []
    for height in range(picture.rows - 1, -1, -1):
        index = picture.rows - 1 - height
        layers = [(raster[index], color) for raster, color in zip(rasters, colors, strict=True)]
        row = _braille_row([layer for layer in layers if not layer[0].isspace()], picture.columns)
        for column, _, character, color in (mark for mark in picture.marks if mark[1] == height):
            row[column] = (character, color)
        draw_flags(row, picture.flags, floor=height == 0, top=height == picture.rows - 1)
        draw_cursor(row, picture.cursor, axis_color)
        label = labels.get(height)
        axis = "└" if height == 0 else "┤" if label else "│"
        margin = (f"{label or '':>{LABEL_WIDTH}}{axis}", axis_color)
        blank = ("┈" if label else " ", grid_color)
        if height == 0:
            _draw_floor(row, picture, axis_color)
        if any(row):
            strips.append(_strip(margin, row, blank, background))
        else:
            strips.append(_bare_strip(margin, picture.columns, blank, background))
    strips.append(Strip([Segment(_labels_across(picture), _style(axis_color, background))], picture.width))
    return strips


def draw(
    lines: Sequence[Line],
    *,
    width: int,
    height: int,
    now: float,
    window: float,
    kind: Kind,
    axis_color: str,
    grid_color: str,
    background: str | None = None,
    logarithmic: bool = False,
    across: Across = age_ticks,
) -> list[Strip]:
    """Compose and paint at once; where there is no room for a plot, return ``height`` blank strips."""
    picture = compose(
        lines,
        width=width,
        height=height,
        now=now,
        window=window,
        kind=kind,
        logarithmic=logarithmic,
        across=across,
    )
    if picture is None:
        return [Strip.blank(width, Style(bgcolor=background))] * height
    return paint(picture, axis_color, grid_color, background)
