"""Lines as braille characters: the one place that calls plotext."""

from functools import lru_cache
from typing import Any

import plotext

from concwatch.ui.renderables.plot import Path


@lru_cache(maxsize=1)
def _canvas() -> Any:
    """Return plotext's figure as a bare canvas: no frame, no ticks, no colours, and no limit to its size."""
    plotext.terminal.limit(False, False)
    figure = plotext.figure.clear()
    figure.canvas("default").axes(False)
    figure.ruler(["x", "y"]).frequency(0).alignment(lim="edge")
    return figure


@lru_cache(maxsize=1)
def _pen() -> Any:
    """Return the one marker all points share: making one for each point would cost more than drawing it."""
    return plotext.marker("braille")


@lru_cache(maxsize=64)
def rasterize(paths: tuple[Path, ...], columns: int, rows: int) -> tuple[str, ...]:
    """Draw the paths of one line with plotext; a line that has not changed comes from the cache.

    Each line is drawn on a canvas of its own: on a shared one, a cell's last colour would win and a line
    that runs behind another would vanish without a trace.

    Returns:
        One string for each row, top row first, of braille characters and blanks.
    """
    canvas = _canvas()
    canvas.clear.data()
    canvas.plot_size(columns, rows)
    canvas.ruler("x").lim(0, 2 * columns)
    canvas.ruler("y").lim(0, 4 * rows)
    dots = [dot for path in paths for dot in path]
    # A dot's middle is half a dot from its edge.
    signal = canvas.signal([x + 0.5 for x, _ in dots], [y + 0.5 for _, y in dots], marker=_pen()).lines()
    start = 0
    for path in paths:
        signal.line(start, False)
        start += len(path)
    canvas.draw(signal)
    return tuple(canvas.build().string(colorless=True).splitlines())
