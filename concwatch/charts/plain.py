"""Charts in plain text, one below the other, with their legends: the one place that calls plotext."""

import io
import math
import os
from collections.abc import Iterator, Sequence
from typing import Any, TextIO

import plotext
from rich.color import Color
from rich.console import Console
from rich.text import Text

from concwatch.charts.colors import series_colors
from concwatch.charts.decimation import Point
from concwatch.charts.picture import LABEL_WIDTH
from concwatch.charts.plot import Line, Plot, decimated, stretches, y_scale
from concwatch.charts.table import IN_TEXT
from concwatch.charts.ticks import elapsed_ticks
from concwatch.charts.traces import Trace
from concwatch.lab.catalog import SHOWN

WIDTH = 80
"""Columns where there is no terminal that says how many it has."""

SMALLEST_WIDTH, LARGEST_WIDTH = 30, 120
"""Columns that charts have at least, and at most."""

HEIGHT = 15
"""Rows of a chart, with its axis and what stands below that."""

X_LABEL_GAP, MARK_GAP = 7, 10
"""Columns between labels of the x axis at least, and from one mark on a line to the next."""

MARKS = "ox+*#@%&"
"""What tells lines apart where there are no colours."""

LONGEST_NAME = 24

SHORTEST_AXIS = 0.1
"""Seconds."""

LIGHT = ("7", "15")
"""What terminals that tell their colours call a light background."""

NOTE = "x: time since a lane's measuring began; beside its name its highest sample"

THEME = "concwatch"


def check_writes_charts(stream: TextIO) -> None:
    """Check that ``stream`` can take what charts are drawn with.

    Raises:
        ValueError: one line that says what to do.
    """
    try:
        "⠿┤".encode(stream.encoding or "utf-8")
    except UnicodeEncodeError:
        raise ValueError(
            f"--chart: standard output takes {stream.encoding} alone: "
            "expected UTF-8, such as with PYTHONIOENCODING=utf-8"
        ) from None


def chart_console(stream: TextIO) -> Console:
    """Return the console whose width and colours charts on ``stream`` have: only a terminal's has any."""
    if not stream.isatty():
        return Console(file=io.StringIO(), width=WIDTH, color_system=None)
    try:
        columns = os.get_terminal_size(stream.fileno()).columns or WIDTH
    except (OSError, ValueError):  # ValueError: not a file at all
        columns = WIDTH
    # With a height too: else Rich would have a terminal that tells nothing of itself be 80 wide.
    return Console(file=stream, width=min(max(columns, SMALLEST_WIDTH), LARGEST_WIDTH), height=HEIGHT)


def has_colors(paper: Console) -> bool:
    """Return whether lines are told apart by colours."""
    return paper.color_system is not None and not paper.no_color and not paper.legacy_windows


def is_dark() -> bool:
    """Return whether the terminal's background is, as far as it tells."""
    return os.environ.get("COLORFGBG", "").rpartition(";")[2] not in LIGHT


def chart_lines(traces: Sequence[Trace], paper: Console) -> Iterator[str]:
    """Yield the text of all charts, a line at a time, with the escape sequences that ``paper`` takes.

    A figure that nobody knows has no chart, and one that is 0 all the time has a line of text.
    """
    for line in _charts(traces, paper.width, has_colors(paper)):
        with paper.capture() as captured:
            paper.print(line, soft_wrap=True, highlight=False, end="")
        yield captured.get()


def _charts(traces: Sequence[Trace], width: int, colored: bool) -> Iterator[Text]:
    seconds = max((trace.seconds for trace in traces), default=0.0)
    if not seconds:
        yield Text("no samples: nothing to draw")
        return
    colors = series_colors([trace.name for trace in traces], [engine.name for engine in SHOWN], is_dark())
    length, zeros = max(seconds, SHORTEST_AXIS), []
    for spec in IN_TEXT:
        lines = [
            Line(trace.name[:LONGEST_NAME], color, *trace.metrics[spec.metric], MARKS[index % len(MARKS)])
            for index, (trace, color) in enumerate(zip(traces, colors, strict=True))
        ]
        plot = Plot(spec.title, spec.kind, [line for line in lines if _known(line)], length, length)
        if any(max(_known(line)) > 0 for line in plot.lines):
            yield from _legend(plot, width, colored)
            yield from draw_chart(plot, width, colored)
            yield Text()
        elif plot.lines:
            zeros.append(spec.title)
    yield from (Text(f"{title}: 0 all the time") for title in zeros)
    yield Text(NOTE)


def _known(line: Line) -> list[float]:
    return [value for value in line.values if math.isfinite(value)]


def _legend(plot: Plot, width: int, colored: bool) -> Iterator[Text]:
    """Yield the title and the entry of each line, on as many lines as they need."""
    text = Text(plot.title, "bold" if colored else "")
    for line in plot.lines:
        mark = "━━" if colored else line.mark
        entry = f"   {mark} {line.name} {plot.kind.format(max(_known(line)))}"[:width]
        if text.cell_len + len(entry) > width:
            yield text
            text = Text()
        text = Text.assemble(text, "   ", (entry[3:], line.color if colored else ""))
    yield text


def draw_chart(plot: Plot, width: int, colored: bool) -> list[Text]:
    """Draw lines over seconds from 0, without a title, of which at least one value is finite.

    Where lines are not told apart by colours, their marks stand on them.
    """
    columns, rows = width - LABEL_WIDTH - 1, HEIGHT - 2
    drawn = decimated(plot, 2 * columns)
    scale = y_scale(plot, drawn, rows)
    figure = _figure(width, colored)
    labels = [f"{tick.label:>{LABEL_WIDTH}}" for tick in scale.ticks]
    # The middle of the lowest row is 0.
    figure.ruler("y").lim(-0.5, rows - 0.5).ticks([tick.position for tick in scale.ticks], labels)
    across = elapsed_ticks(plot.end, plot.length, columns, X_LABEL_GAP)
    places = [2 * tick.position + 1 for tick in across]  # the middle of a cell
    figure.ruler("x").lim(0, 2 * columns).ticks(places, [tick.label for tick in across])

    def draw(points: Sequence[Point], mark: str, color: str, *, joined: bool) -> None:
        # A NaN between points that are joined ends the program, from inside plotext: each stretch is one.
        for stretch in stretches(points):
            xs = [max(0, column) + 0.5 for column, _ in stretch]
            ys = [min(scale.row(value), rows - 1) for _, value in stretch]
            ink = tuple(Color.parse(color).triplet or ()) if colored else None
            pen = plotext.marker(mark, pixel=plotext.pixel(ink))
            figure.draw(figure.signal(xs, ys, marker=pen).lines(joined))

    for each in drawn:
        draw(each.points, "braille", each.line.color, joined=True)
    if not colored:
        for index, each in enumerate(drawn):
            draw(_marked(each.points, index / len(drawn)), each.line.mark, each.line.color, joined=False)
    text: str = figure.build().string(colorless=not colored)
    return [Text.from_ansi(row.rstrip()) for row in text.splitlines()]


def _figure(width: int, colored: bool) -> Any:
    """Return plotext's figure with nothing on it but two axes, of a size that the terminal does not bound."""
    plotext.terminal.limit(False, False)
    plotext.add_theme(THEME, text=plotext.pixel(style="dim"))
    figure = plotext.figure.clear()
    figure.theme(THEME).plot_size(width, HEIGHT)
    figure.axes(False, side=1)
    figure.ruler(["x", "y"]).alignment(lim="edge")
    figure.ruler("y").grid(colored, style="dotted")
    return figure


def _marked(points: Sequence[Point], share: float) -> list[Point]:
    """Return where a line is marked: at its highest, and each `MARK_GAP` columns.

    ``share`` of a gap sets it off from other lines, so that those that lie over each other can be told apart.
    """
    gap = 2 * MARK_GAP
    known = [point for point in points if not math.isnan(point[1])]
    first = {math.floor(column / gap - share): (column, value) for column, value in reversed(known)}
    return [*first.values(), *([max(known, key=lambda point: point[1])] if known else [])]
