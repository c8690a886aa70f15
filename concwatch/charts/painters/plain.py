"""Charts in plain text, one below the other, with their legends, drawn by plotext."""

import io
import math
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TextIO

import plotext
from msgspec import structs
from rich.color import Color
from rich.console import Console
from rich.text import Text

from concwatch.charts.colors import lane_colors
from concwatch.charts.decimation import Point
from concwatch.charts.painters.traces import Trace
from concwatch.charts.plot import Line, Plot, decimate_lines, shown_values, split_at_gaps, y_scale
from concwatch.charts.table import IN_TEXT
from concwatch.charts.ticks import CELL, elapsed_ticks

WIDTH = 80
"""Columns of charts that do not go to a terminal."""

SMALLEST_WIDTH, LARGEST_WIDTH = 30, 120
"""The minimum and maximum number of columns of charts on a terminal."""

HEIGHT = 15
"""Rows of a chart, with its x axis and labels."""

LABEL_WIDTH = 8
"""Columns of the y labels, the same in every chart."""

X_LABEL_GAP, MARK_GAP = 7, 10
"""The minimum number of columns between labels of the x axis, and the columns between marks on a line."""

MARKS = "ox+*#@%&"
"""The marks of lines where there are no colours."""

LONGEST_NAME = 24

SHORTEST_AXIS = 0.1
"""Seconds."""

LIGHT = ("7", "15")
"""The last part of ``COLORFGBG`` for a light background."""

NOTE = "x axis: time since the start of the lane; beside each name its highest value"

THEME = "concwatch"


def check_writes_charts(stream: TextIO) -> None:
    """Check that the characters of charts can be written to ``stream``.

    Raises:
        ValueError: they cannot; says in one line what to do.
    """
    try:
        "⠿┤".encode(stream.encoding or "utf-8")
    except UnicodeEncodeError:
        raise ValueError(
            f"--chart: the encoding of standard output is {stream.encoding}; "
            "expected UTF-8, such as with PYTHONIOENCODING=utf-8"
        ) from None


def chart_console(stream: TextIO) -> Console:
    """Return the console that charts on ``stream`` are drawn for, without colours unless it is a terminal."""
    if not stream.isatty():
        return Console(file=io.StringIO(), width=WIDTH, color_system=None)
    try:
        columns = os.get_terminal_size(stream.fileno()).columns or WIDTH
    except (OSError, ValueError):  # ValueError: not a file at all
        columns = WIDTH
    # Without a height Rich would assume 80 columns for a dumb terminal.
    return Console(file=stream, width=min(max(columns, SMALLEST_WIDTH), LARGEST_WIDTH), height=HEIGHT)


def has_colors(console: Console) -> bool:
    """Return whether lines are drawn in colours."""
    return console.color_system is not None and not console.no_color and not console.legacy_windows


def has_dark_background() -> bool:
    """Return whether the terminal's background is dark, which is assumed unless ``COLORFGBG`` is set."""
    return os.environ.get("COLORFGBG", "").rpartition(";")[2] not in LIGHT


def chart_lines(traces: Sequence[Trace], console: Console) -> Iterator[str]:
    """Yield the lines of all charts, with escape sequences for ``console``.

    A metric without values has no chart, and one that is always 0 has a line of text.
    """
    yield from _printed(_charts(traces, console.width, has_colors(console)), console)


def plot_lines(plots: Sequence[Plot], console: Console) -> Iterator[str]:
    """Yield the lines of charts whose x axis is not time, with escape sequences for ``console``."""
    colored = has_colors(console)
    for plot in plots:
        marked = [
            structs.replace(line, name=line.name[:LONGEST_NAME], mark=MARKS[index % len(MARKS)])
            for index, line in enumerate(line for line in plot.lines if line.name)
        ]
        if marked:
            shown = structs.replace(plot, lines=marked)
            texts = [
                *_legend(shown, console.width, colored),
                *draw_chart(shown, console.width, colored),
                Text(),
            ]
            yield from _printed(texts, console)


def _printed(texts: Iterable[Text], console: Console) -> Iterator[str]:
    for line in texts:
        with console.capture() as captured:
            console.print(line, soft_wrap=True, highlight=False, end="")
        yield captured.get()


def _charts(traces: Sequence[Trace], width: int, colored: bool) -> Iterator[Text]:
    seconds = max((trace.seconds for trace in traces), default=0.0)
    if not seconds:
        yield Text("no samples: nothing to draw")
        return
    colors = lane_colors([trace.name for trace in traces], has_dark_background())
    length, zeros = max(seconds, SHORTEST_AXIS), []
    for spec in IN_TEXT:
        lines = [
            Line(trace.name[:LONGEST_NAME], color, *trace.metrics[spec.metric], MARKS[index % len(MARKS)])
            for index, (trace, color) in enumerate(zip(traces, colors, strict=True))
        ]
        plot = Plot(spec.title, spec.unit, [line for line in lines if _finite(line)], length, length)
        if any(max(_finite(line)) > 0 for line in plot.lines):
            yield from _legend(plot, width, colored)
            yield from draw_chart(plot, width, colored)
            yield Text()
        elif plot.lines:
            zeros.append(spec.title)
    yield from (Text(f"{title}: always 0") for title in zeros)
    yield Text(NOTE)


def _finite(line: Line) -> list[float]:
    return [value for value in line.values if math.isfinite(value)]


def _legend(plot: Plot, width: int, colored: bool) -> Iterator[Text]:
    text = Text(plot.title, "bold" if colored else "")
    for line in plot.lines:
        mark = "━━" if colored else line.mark
        entry = f"   {mark} {line.name} {plot.unit.short(max(_finite(line)))}"[:width]
        if text.cell_len + len(entry) > width:
            yield text
            text = Text()
        text = Text.assemble(text, "   ", (entry[3:], line.color if colored else ""))
    yield text


def draw_chart(plot: Plot, width: int, colored: bool) -> list[Text]:
    """Draw lines over their x axis, times from 0, without a title. At least one value must be finite.

    Without colours the lines have marks.
    """
    columns, rows = width - LABEL_WIDTH - 1, HEIGHT - 2
    drawn = decimate_lines(plot, CELL * columns, CELL)
    scale = y_scale(plot, shown_values(drawn), rows)
    figure = _figure(width, colored)
    labels = [f"{tick.label:>{LABEL_WIDTH}}" for tick in scale.ticks]
    # The middle of the lowest row is 0.
    figure.ruler("y").lim(-0.5, rows - 0.5).ticks([tick.position for tick in scale.ticks], labels)
    axis = plot.end, plot.length, columns
    across = elapsed_ticks(*axis, X_LABEL_GAP) if plot.over_time else plot.x_ticks(*axis)
    places = [2 * tick.position + 1 for tick in across]  # the middle of a cell
    figure.ruler("x").lim(0, 2 * columns).ticks(places, [tick.label for tick in across])

    def draw(points: Sequence[Point], mark: str, color: str, *, joined: bool) -> None:
        # plotext ends the process at a NaN between joined points, so each part is drawn by itself. What is
        # below the axis has no row either.
        placed = [(column, scale.row(value)) for column, value in points]
        for part in split_at_gaps(placed):
            xs = [max(0, column) + 0.5 for column, _ in part]
            ys = [min(row, rows - 1) for _, row in part]
            rgb = tuple(Color.parse(color).triplet or ()) if colored else None
            marker = plotext.marker(mark, pixel=plotext.pixel(rgb))
            figure.draw(figure.signal(xs, ys, marker=marker).lines(joined))

    for each in drawn:
        draw(each.points, "braille", each.line.color, joined=True)
    if not colored:
        for index, each in enumerate(drawn):
            draw(_marked(each.points, index / len(drawn)), each.line.mark, each.line.color, joined=False)
    text: str = figure.build().string(colorless=not colored)
    return [Text.from_ansi(row.rstrip()) for row in text.splitlines()]


def _figure(width: int, colored: bool) -> Any:
    """Return an empty figure of plotext with two axes, whose size the terminal does not limit."""
    plotext.terminal.limit(False, False)
    plotext.add_theme(THEME, text=plotext.pixel(style="dim"))
    figure = plotext.figure.clear()
    figure.theme(THEME).plot_size(width, HEIGHT)
    figure.axes(False, side=1)
    figure.ruler(["x", "y"]).alignment(lim="edge")
    figure.ruler("y").grid(colored, style="dotted")
    return figure


def _marked(points: Sequence[Point], share: float) -> list[Point]:
    """Return the points of a line that have a mark: its highest, and one in each `MARK_GAP` columns.

    The marks are shifted by ``share`` of that gap, so that those of equal lines do not cover each other.
    """
    gap = 2 * MARK_GAP
    finite = [point for point in points if not math.isnan(point[1])]
    first = {math.floor(column / gap - share): (column, value) for column, value in reversed(finite)}
    return [*first.values(), *([max(finite, key=lambda point: point[1])] if finite else [])]
