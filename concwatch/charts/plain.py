"""One chart as lines of text: the one place that calls plotext."""

import math
from collections.abc import Sequence
from typing import Any

import plotext

from concwatch.charts.decimation import Point, decimate
from concwatch.charts.lines import Line
from concwatch.charts.paper import Paper
from concwatch.charts.picture import LABEL_WIDTH
from concwatch.charts.scales import Kind, linear_scale
from concwatch.charts.ticks import ELAPSED_STEPS, time_label
from concwatch.units import format_seconds

HEIGHT = 15
"""Rows of a chart, with its axis and what stands below that."""

X_TICK_GAP = 10
"""Columns from one label of the x axis to the next at least."""

MARK_GAP = 10
"""Columns from one mark on a line to the next."""

THEME = "concwatch"


def draw_chart(lines: Sequence[Line], kind: Kind, seconds: float, paper: Paper) -> list[str]:
    """Draw lines over the time from 0 to ``seconds``, without a title.

    Where there are no colours the lines' marks stand on them.

    Args:
        lines: what to draw, the topmost last; at least one value is finite.
        kind: what the values are.
        seconds: where the x axis ends, above 0.
        paper: what it is drawn for.
    """
    columns, rows = paper.width - LABEL_WIDTH - 1, HEIGHT - 2
    series = [decimate(line.times, line.values, 0.0, seconds, 2 * columns) for line in lines]
    peak = max(value for points in series for _, value in points if not math.isnan(value))
    scale = linear_scale(kind, peak, rows)
    figure = _figure(paper)
    labels = [f"{tick.label:>{LABEL_WIDTH}}" for tick in scale.ticks]
    # The middle of the lowest row is 0.
    figure.ruler("y").lim(-0.5, rows - 0.5).ticks([tick.position for tick in scale.ticks], labels)
    times, named = seconds_ticks(seconds, columns)
    figure.ruler("x").lim(0, 2 * columns).ticks([2 * columns * time / seconds for time in times], named)

    def draw(points: Sequence[Point], mark: str, color: str, *, joined: bool) -> None:
        # A NaN between points that are joined ends the program, from inside plotext: each stretch is one.
        for stretch in _stretches(points):
            xs = [max(0, column) + 0.5 for column, _ in stretch]
            ys = [min(scale.row(value), rows - 1) for _, value in stretch]
            pen = plotext.marker(mark, pixel=plotext.pixel(paper.ink(color)))
            figure.draw(figure.signal(xs, ys, marker=pen).lines(joined))

    for line, points in zip(lines, series, strict=True):
        draw(points, "braille", line.color, joined=True)
    if paper.system is None:
        for index, (line, points) in enumerate(zip(lines, series, strict=True)):
            draw(_marked(points, index / len(lines)), line.mark, line.color, joined=False)
    text: str = figure.build().string(colorless=paper.system is None)
    return [row.rstrip() for row in text.splitlines()]


def _figure(paper: Paper) -> Any:
    """Return plotext's figure with nothing on it but two axes, of a size that the terminal does not bound."""
    plotext.terminal.limit(False, False)
    plotext.add_theme(THEME, text=plotext.pixel(style="dim"))
    figure = plotext.figure.clear()
    figure.theme(THEME).plot_size(paper.width, HEIGHT)
    figure.axes(False, side=1)
    figure.ruler(["x", "y"]).alignment(lim="edge")
    figure.ruler("y").grid(paper.system is not None, style="dotted")
    return figure


def seconds_ticks(seconds: float, columns: int) -> tuple[list[float], list[str]]:
    """Return the ticks of an axis from 0 to ``seconds`` and how they are written: ``0s``, ``5s``, ``10s``."""
    most = max(1, columns // X_TICK_GAP)
    step = next((step for step in ELAPSED_STEPS if seconds / step <= most), None)
    if step is None:
        return [0.0, seconds], ["0s", format_seconds(seconds)]
    times = [step * index for index in range(math.floor(seconds / step + 1e-9) + 1)]
    return times, [time_label(time, step) for time in times]


def _stretches(points: Sequence[Point]) -> list[list[Point]]:
    """Return the points between NaNs."""
    found: list[list[Point]] = [[]]
    for point in points:
        if math.isnan(point[1]):
            found.append([])
        else:
            found[-1].append(point)
    return [stretch for stretch in found if stretch]


def _marked(points: Sequence[Point], share: float) -> list[Point]:
    """Return where a line is marked: at its highest, and each `MARK_GAP` columns.

    ``share`` of a gap sets it off from other lines, so that those that lie over each other can be told apart.
    """
    gap = 2 * MARK_GAP
    known = [point for point in points if not math.isnan(point[1])]
    first = {math.floor(column / gap - share): (column, value) for column, value in reversed(known)}
    return [*first.values(), *([max(known, key=lambda point: point[1])] if known else [])]
