"""PNG pictures of a terminal, drawn by resvg with concwatch's own fonts, here or in another process."""

import asyncio
import importlib.util
import re
import subprocess

from concwatch.pictures.cells import CELL_WIDTH, TOP
from concwatch.pictures.fonts import FAMILY, FILES, FOLDER, has_glyph
from concwatch.system.child import python_command

INSTALL_COMMAND = "pip install 'concwatch[shots]'"

PIXELS = 12
"""Width of a cell; a whole number, so that lines have the same width and shade in every cell."""

ZOOM = PIXELS / CELL_WIDTH

_TITLE_FONT = "font-family: arial"
"""Rich's font of the window title; resvg omits text in a font that is not installed."""

_CLIP = re.compile(r' clip-path="url\([^)]*\)"')
_ORIGIN = re.compile(r'(<g transform="translate)\((-?[\d.]+), (-?[\d.]+)\)')

_PROGRAM = (
    "import sys; from concwatch.pictures.png import to_png; "
    "sys.stdout.buffer.write(to_png(sys.stdin.buffer.read().decode()))"
)


class PicturesUnavailable(Exception):
    """A package that draws pictures is not installed; the message is one line with the install command."""

    def __init__(self, package: str) -> None:
        super().__init__(f"{package} is not installed, which draws PNG and GIF: {INSTALL_COMMAND}")


def can_draw() -> bool:
    """Return whether resvg is installed, without importing it."""
    return importlib.util.find_spec("resvg_py") is not None


def draw(svg: str, zoom: float = 1.0) -> bytes:
    """Draw an SVG as PNG.

    The system's fonts are used only for characters that our own fonts lack: pictures look the same
    everywhere, and no time is spent on reading hundreds of fonts.

    Raises:
        PicturesUnavailable: resvg is not installed.
        ValueError: ``svg`` is not valid.
    """
    try:
        import resvg_py  # of the extra "shots"
    except ImportError:
        raise PicturesUnavailable("resvg-py") from None
    text = "".join(re.findall(r">([^<]+)", svg))
    return resvg_py.svg_to_bytes(
        svg_string=svg,
        zoom=zoom,
        skip_system_fonts=all(map(has_glyph, set(text))),
        font_files=[str(FOLDER / name) for name in FILES],
        font_family=FAMILY,
        monospace_family=FAMILY,
        sans_serif_family=FAMILY,
    )


def to_png(svg: str) -> bytes:
    """Draw the output of Textual's ``export_screenshot``, or any other SVG, as PNG.

    A screenshot of 120 columns is about 1,460 pixels wide.

    Raises:
        PicturesUnavailable: the extra ``shots`` is not installed.
        ValueError: ``svg`` is not valid.
    """
    if 'class="rich-terminal"' not in svg:
        return draw(svg)
    # Rich clips each text at the edges of its line, a pixel too early. Our fonts need no clipping, which
    # also more than doubles the time.
    unclipped = _CLIP.sub("", svg).replace(_TITLE_FONT, f"font-family: {FAMILY}")
    return draw(_ORIGIN.sub(_align, unclipped), ZOOM)


def _align(origin: re.Match[str]) -> str:
    """Move the origin of the cells by a fraction of a pixel, so that their edges lie between pixels."""
    x = round(float(origin[2]) * ZOOM) / ZOOM
    y = round((float(origin[3]) + TOP) * ZOOM) / ZOOM - TOP
    return f"{origin[1]}({x}, {y})"


def _start() -> "subprocess.Popen[bytes]":
    pipe = subprocess.PIPE
    return subprocess.Popen(python_command(_PROGRAM), stdin=pipe, stdout=pipe, stderr=pipe)


async def draw_png(svg: str) -> bytes:
    """Run `to_png` in another process: resvg holds the GIL, so a thread would block the event loop.

    Raises:
        ValueError: drawing failed; the message is the last line of the process's standard error.
        OSError: the process could not be started.
    """
    process = _start()
    try:
        # The thread reaps the process even if the caller is cancelled twice.
        png, errors = await asyncio.to_thread(process.communicate, svg.encode())
    finally:
        process.kill()  # does nothing if it has exited
    if process.returncode:
        lines = errors.decode(errors="replace").split("\n")
        raise ValueError(next(filter(str.strip, reversed(lines)), f"status {process.returncode}"))
    return png
