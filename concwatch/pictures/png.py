"""Pictures of a terminal as PNG."""

import re

from concwatch.pictures.cells import CELL_WIDTH, TOP
from concwatch.pictures.drawing import draw
from concwatch.pictures.fonts import FAMILY

PIXELS = 12
"""Width of a cell; a whole number, so that the same line is as thick and as dark in every cell."""

ZOOM = PIXELS / CELL_WIDTH

_TITLE_FONT = "font-family: arial"
"""Rich's for the window's title; a text in a font that is not there is left out."""

_CLIP = re.compile(r' clip-path="url\([^)]*\)"')
_ORIGIN = re.compile(r'(<g transform="translate)\((-?[\d.]+), (-?[\d.]+)\)')


def to_png(svg: str) -> bytes:
    """Draw what Textual's ``export_screenshot`` gave; 120 columns become about 1,460 pixels.

    Raises:
        PicturesMissing: the extra ``shots`` is not installed.
        ValueError: ``svg`` is none.
    """
    # Rich has every text cut off at its line's edges, and the terminal at its own, a pixel too soon. No
    # character of these fonts needs that, and it more than doubles the time.
    whole = _CLIP.sub("", svg).replace(_TITLE_FONT, f"font-family: {FAMILY}")
    return draw(_ORIGIN.sub(_on_pixels, whole), ZOOM)


def _on_pixels(origin: re.Match[str]) -> str:
    """Move the cells by a part of a pixel, so that all their edges lie between pixels."""
    x = round(float(origin[2]) * ZOOM) / ZOOM
    y = round((float(origin[3]) + TOP) * ZOOM) / ZOOM - TOP
    return f"{origin[1]}({x}, {y})"
