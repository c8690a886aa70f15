"""Pictures of the screen as files: SVG always, and PNG beside it where that can be drawn."""

import io
import re
from datetime import datetime
from pathlib import Path

from msgspec import Struct
from rich.console import Console
from rich.segment import Segment, Segments
from rich.style import Style
from textual.geometry import Region
from textual.screen import Screen
from textual.strip import Strip

from concwatch.files import write_whole
from concwatch.pictures.cells import CELL_HEIGHT, CELL_WIDTH, TOP
from concwatch.pictures.drawing import HOW_TO_GET, can_draw
from concwatch.pictures.png import draw_png
from concwatch.ui.widgets.chart import Chart

ROOM = "expected a folder with room to write in"

PNG_TOO = f"{HOW_TO_GET} has PNG saved too"
"""Said once, where PNG cannot be drawn."""


TEMPLATE = """\
<svg class="rich-terminal" viewBox="SIZE" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{
  font-family: Fira Code, DejaVu Sans Mono, Menlo, Consolas, monospace;
  font-size: {char_height}px;
  line-height: {line_height}px;
}}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
  <rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" />
</clipPath>
{lines}
</defs>
<g transform="translate(0, UP)" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">{matrix}</g>
</g>
</svg>
"""
"""Rich's own, but for the window around the terminal."""


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
        write_whole(drawn, await draw_png(svg))
    except OSError as error:
        return Saved(f"saved {path}, but no PNG: {_told(error, drawn)}", (path,), severe=True)
    except ValueError as error:
        return Saved(f"saved {path}, but no PNG: {error}", (path,), severe=True)
    return Saved(f"saved {path}\nand {drawn}", (path, drawn))


def _save_svg(svg: str, folder: Path, subject: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = picture_path(folder, datetime.now(), subject)
    write_whole(path, svg)
    return path


def _told(error: OSError, where: Path) -> str:
    return f"{error.filename or where}: {error.strerror}: {ROOM}"


def picture_path(folder: Path, now: datetime, subject: str = "") -> Path:
    """Return a name that carries the time, and that no picture in ``folder`` has."""
    word = re.sub(r"\W+", "-", subject.lower()).strip("-")
    stem = "-".join(filter(None, ("concwatch", word, f"{now:%Y-%m-%d-%H%M%S}")))
    names = (folder / f"{stem}{suffix}.svg" for suffix in ("", *(f"-{number}" for number in range(2, 1000))))
    return next(path for path in names if not path.exists() and not path.with_suffix(".png").exists())


def chart_to_save(screen: Screen[object]) -> Chart | None:
    """Return the chart that has the focus, or the first that can be seen."""
    if isinstance(screen.focused, Chart):
        return screen.focused
    return next((chart for chart in screen.query(Chart) if chart.is_on_screen and chart.size), None)


def chart_svg(chart: Chart) -> str:
    """Cut ``chart`` out of the screen, with a line below it that says which colour is which lane."""
    width, height = chart.outer_size
    lines = chart.render_lines(Region(0, 0, width, height))
    lines += _names(chart, width, lines[-1])
    console = Console(
        width=width,
        height=len(lines),
        file=io.StringIO(),
        record=True,
        force_terminal=True,
        color_system="truecolor",
        legacy_windows=False,
        safe_box=False,
    )
    cells = [segment for line in lines for segment in (*line, Segment.line())]
    console.print(Segments(cells[:-1]), end="", soft_wrap=True)
    return console.export_svg(title="", code_format=_bare(width, len(lines)))


def _names(chart: Chart, width: int, last: Strip) -> list[Strip]:
    """Return lines of the names that the title leaves out, each in its colour, on the ground of ``last``."""
    style = next((segment.style for segment in last if segment.style), Style())
    ground = Style(bgcolor=style.bgcolor)
    title = str(chart.border_title)
    rows = [Strip([Segment("  ", ground)])]
    for name, color in {line.name: line.color for line in chart.lines if line.name not in title}.items():
        ink = chart.rich_style.color if chart.app.no_color else color
        entry = Segment(f"● {name}", ground + Style(color=ink))
        if rows[-1].cell_length > 2 and rows[-1].cell_length + entry.cell_length + 2 > width:
            rows.append(Strip([Segment("  ", ground)]))
        rows[-1] = Strip.join([rows[-1], Strip([entry, Segment("  ", ground)])])
    rows = [row for row in rows if row.cell_length > 2]
    # The picture's edge would cut what reaches below a line of letters.
    below = [Strip([])] if rows else []
    return [row.adjust_cell_length(width, ground) for row in [*rows, *below]]


def _bare(width: int, height: int) -> str:
    """Write a template for Rich without its window: as large as the cells.

    Rich cuts one unit off the cells at the right and at the bottom, where its window shows instead.
    """
    size = f"0 0 {width * CELL_WIDTH - 1:g} {height * CELL_HEIGHT - TOP - 1:g}"
    return TEMPLATE.replace("SIZE", size).replace("UP", f"{-TOP:g}")
