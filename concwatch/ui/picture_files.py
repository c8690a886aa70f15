"""Pictures of the screen as files: SVG always, and PNG beside it where that can be drawn."""

import re
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from msgspec import Struct
from textual.screen import Screen

from concwatch.charts.slide import Slide, draw_slide
from concwatch.files import new_path, write_atomically
from concwatch.pictures.png import INSTALL_COMMAND, can_draw, draw_png
from concwatch.ui.widgets.chart import Chart

ROOM = "expected a folder with room to write in"

PNG_TOO = f"{INSTALL_COMMAND} has PNG saved too"
"""Said once, where PNG cannot be drawn."""


class Saved(Struct, frozen=True):
    """What became of a picture, for a person."""

    text: str
    paths: tuple[Path, ...] = ()
    """The files that there are now."""
    severe: bool = False
    """Whether something is not as it was asked for."""


async def save_picture(svg: str, folder: Path, subject: str = "") -> Saved:
    """Save ``svg``, and as PNG too where that can be drawn; each whole or not at all.

    The SVG is there before anything is waited for.

    Args:
        svg: the picture.
        folder: where to; made when it is not there.
        subject: what it shows, if not all of the screen: part of the files' names.
    """
    try:
        path = _save_svg(svg, folder, subject)
    except OSError as error:
        return Saved(f"not saved: {_told(error, folder)}", severe=True)
    if not can_draw():
        return Saved(f"saved {path}", (path,))
    drawn = path.with_suffix(".png")
    try:
        write_atomically(drawn, await draw_png(svg))
    except OSError as error:
        return Saved(f"saved {path}, but no PNG: {_told(error, drawn)}", (path,), severe=True)
    except ValueError as error:
        return Saved(f"saved {path}, but no PNG: {error}", (path,), severe=True)
    return Saved(f"saved {path}\nand {drawn}", (path, drawn))


def _save_svg(svg: str, folder: Path, subject: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = picture_path(folder, datetime.now(), subject)
    write_atomically(path, svg)
    return path


def _told(error: OSError, where: Path) -> str:
    return f"{error.filename or where}: {error.strerror}: {ROOM}"


def picture_path(folder: Path, now: datetime, subject: str = "") -> Path:
    """Return a name that carries the time, and that no picture in ``folder`` has."""
    word = re.sub(r"\W+", "-", subject.lower()).strip("-")
    stem = "-".join(filter(None, ("concwatch", word, f"{now:%Y-%m-%d-%H%M%S}")))
    return new_path(folder, stem, ".svg", ".png")


def chart_to_save(screen: Screen[object]) -> Chart | None:
    """Return the chart that has the focus, or the first that can be seen."""
    if isinstance(screen.focused, Chart):
        return screen.focused
    return next((chart for chart in screen.query(Chart) if chart.is_on_screen and chart.size), None)


def chart_slide(chart: Chart, conditions: Sequence[str], dark: bool) -> str:
    """Return what a chart shows as a picture for a slide."""
    return draw_slide(Slide(chart.plot, conditions, dark))
