"""Save pictures of the screen: as SVG, and as PNG if that can be drawn."""

import re
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from msgspec import Struct, structs
from textual.screen import Screen

from concwatch.charts.flame_graph import FlameGraph
from concwatch.charts.painters.flame_svg import draw_flame_graph
from concwatch.charts.painters.slide import SIZE, Slide, draw_slide
from concwatch.pictures.png import INSTALL_COMMAND, can_draw, draw_png
from concwatch.system.files import new_path, write_atomically
from concwatch.ui.widgets.charts.chart import Chart

FOLDED = ".txt"
"""The suffix of files with folded stacks."""

EXPECTED = "expected a writable folder with free space"

PNG_HINT = f"{INSTALL_COMMAND} to save PNG too"
"""Shown once if PNG cannot be drawn."""


class Saved(Struct, frozen=True):
    """The result of saving a picture."""

    text: str
    """The result in words."""
    paths: tuple[Path, ...] = ()
    """The files that were written."""
    failed: bool = False
    """Whether a file could not be written."""


async def save_picture(svg: str, folder: Path, subject: str = "") -> Saved:
    """Save a picture as SVG, and as PNG if that can be drawn; each file is written atomically.

    The SVG is written before the first await.

    Args:
        svg: the picture.
        folder: the folder, created if it does not exist.
        subject: what it shows if not the whole screen; part of the names of the files.
    """
    try:
        path = _save_svg(svg, folder, subject)
    except OSError as error:
        return Saved(f"not saved: {_reason(error, folder)}", failed=True)
    if not can_draw():
        return Saved(f"saved {path}", (path,))
    drawn = path.with_suffix(".png")
    try:
        write_atomically(drawn, await draw_png(svg))
    except OSError as error:
        return Saved(f"saved {path}, but no PNG: {_reason(error, drawn)}", (path,), failed=True)
    except ValueError as error:
        return Saved(f"saved {path}, but no PNG: {error}", (path,), failed=True)
    return Saved(f"saved {path}\nand {drawn}", (path, drawn))


def save_flame_graph(graph: FlameGraph, folder: Path, dark: bool) -> Saved:
    """Save a flame graph as folded stacks and SVG in ``folder``, which is created if it does not exist."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path = picture_path(folder, datetime.now(), f"flame {graph.name}")
        folded = path.with_suffix(FOLDED)
        write_atomically(folded, graph.folded())
        write_atomically(path, draw_flame_graph(graph, dark))
    except OSError as error:
        return Saved(f"not saved: {_reason(error, folder)}", failed=True)
    return Saved(f"saved {folded}\nand {path}", (folded, path))


def _save_svg(svg: str, folder: Path, subject: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = picture_path(folder, datetime.now(), subject)
    write_atomically(path, svg)
    return path


def _reason(error: OSError, where: Path) -> str:
    return f"{error.filename or where}: {error.strerror}; {EXPECTED}"


def picture_path(folder: Path, now: datetime, subject: str = "") -> Path:
    """Return an unused path in ``folder``, named after subject and time."""
    word = re.sub(r"\W+", "-", subject.lower()).strip("-")
    stem = "-".join(filter(None, ("concwatch", word, f"{now:%Y-%m-%d-%H%M%S}")))
    return new_path(folder, stem, ".svg", ".png", FOLDED)


def chart_to_save(screen: Screen[object]) -> Chart | None:
    """Return the focused chart, or the first visible one."""
    if isinstance(screen.focused, Chart):
        return screen.focused
    return next((chart for chart in screen.query(Chart) if chart.is_on_screen and chart.size), None)


def chart_slide(
    chart: Chart,
    conditions: Sequence[str],
    dark: bool,
    size: tuple[int, int] | None = None,
    title: str = "",
) -> str:
    """Return a picture of a chart for a slide, as SVG, in another size and with another title if given."""
    plot = structs.replace(chart.plot, title=title or chart.plot.title)
    return draw_slide(Slide(plot, conditions, dark), size or SIZE)
