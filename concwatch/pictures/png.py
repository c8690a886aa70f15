"""Pictures of a terminal as PNG, drawn here or by another process."""

import asyncio
import re
import subprocess

from concwatch.pictures.cells import CELL_WIDTH, TOP
from concwatch.pictures.drawing import draw
from concwatch.pictures.fonts import FAMILY
from concwatch.system.child import python_command

PIXELS = 12
"""Width of a cell; a whole number, so that the same line is as thick and as dark in every cell."""

ZOOM = PIXELS / CELL_WIDTH

_TITLE_FONT = "font-family: arial"
"""Rich's for the window's title; a text in a font that is not there is left out."""

_CLIP = re.compile(r' clip-path="url\([^)]*\)"')
_ORIGIN = re.compile(r'(<g transform="translate)\((-?[\d.]+), (-?[\d.]+)\)')

_PROGRAM = (
    "import sys; from concwatch.pictures.png import to_png; "
    "sys.stdout.buffer.write(to_png(sys.stdin.buffer.read().decode()))"
)


def to_png(svg: str) -> bytes:
    """Draw what Textual's ``export_screenshot`` gave, 120 columns about 1,460 pixels wide, or any other SVG.

    Raises:
        PicturesMissing: the extra ``shots`` is not installed.
        ValueError: ``svg`` is none.
    """
    if 'class="rich-terminal"' not in svg:
        return draw(svg)
    # Rich has every text cut off at its line's edges, and the terminal at its own, a pixel too soon. No
    # character of these fonts needs that, and it more than doubles the time.
    whole = _CLIP.sub("", svg).replace(_TITLE_FONT, f"font-family: {FAMILY}")
    return draw(_ORIGIN.sub(_on_pixels, whole), ZOOM)


def _on_pixels(origin: re.Match[str]) -> str:
    """Move the cells by a part of a pixel, so that all their edges lie between pixels."""
    x = round(float(origin[2]) * ZOOM) / ZOOM
    y = round((float(origin[3]) + TOP) * ZOOM) / ZOOM - TOP
    return f"{origin[1]}({x}, {y})"


def _start() -> "subprocess.Popen[bytes]":
    pipe = subprocess.PIPE
    return subprocess.Popen(python_command(_PROGRAM), stdin=pipe, stdout=pipe, stderr=pipe)


async def draw_png(svg: str) -> bytes:
    """Do what `to_png` does; resvg keeps Python's lock, so in a thread it would hold up the event loop.

    Raises:
        ValueError: it could not be drawn; the message is the last line of what the other process said.
        OSError: the other process could not be started.
    """
    drawing = _start()
    try:
        # In a thread, which sees to its end whatever becomes of the caller, who may be cancelled twice.
        png, said = await asyncio.to_thread(drawing.communicate, svg.encode())
    finally:
        drawing.kill()  # nothing to it once it has ended
    if drawing.returncode:
        lines = said.decode(errors="replace").split("\n")
        raise ValueError(next(filter(str.strip, reversed(lines)), f"status {drawing.returncode}"))
    return png
