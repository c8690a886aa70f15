"""The glyphs of a film as pictures of one cell, drawn once and used in every frame."""

import html
import io
from collections.abc import Collection
from typing import TYPE_CHECKING

from concwatch.charts.graphemes import graphemes
from concwatch.charts.symbols import octant_dots
from concwatch.pictures.cells import BASELINE, CELL_HEIGHT, CELL_WIDTH, TOP, Glyph, fit, octant_path
from concwatch.pictures.fonts import FAMILY
from concwatch.pictures.png import PicturesUnavailable, draw

if TYPE_CHECKING:
    from PIL.Image import Image

WIDTH, HEIGHT = 10, 20
"""Pixels of a cell in a film: 120 columns are 1,200 pixels wide."""

SIZE = 20.0 * WIDTH / CELL_WIDTH
"""Font size in pixels: Rich's is 20 for cells of `CELL_WIDTH`."""

MARGIN = WIDTH
"""Pixels between two cells of the sheet, into which the other half of a wide letter extends."""

COLUMNS = 64
"""Cells in a row of the sheet."""


def draw_masks(glyphs: Collection[Glyph]) -> "dict[Glyph, Image]":
    """Draw a mask of one cell for each glyph, from 0 (background) to 255 (foreground).

    Raises:
        PicturesUnavailable: the extra ``shots`` is not installed.
    """
    try:
        from PIL import Image  # of the extra "shots"
    except ImportError:
        raise PicturesUnavailable("pillow") from None
    places = {
        glyph: (at % COLUMNS * (WIDTH + MARGIN), at // COLUMNS * (HEIGHT + MARGIN))
        for at, glyph in enumerate(glyphs)
    }
    with Image.open(io.BytesIO(draw(_sheet(places)))) as picture:
        sheet = picture.convert("L")
    return {glyph: sheet.crop((x, y, x + WIDTH, y + HEIGHT)) for glyph, (x, y) in places.items()}


def _sheet(places: dict[Glyph, tuple[int, int]]) -> str:
    """Return the SVG of white characters on black at ``places``."""
    width = COLUMNS * (WIDTH + MARGIN)
    height = (len(places) // COLUMNS + 1) * (HEIGHT + MARGIN)
    baseline = (BASELINE - TOP) / CELL_HEIGHT * HEIGHT
    texts = "".join(
        f'<path d="{octant_path(glyph.character, x, y, WIDTH, HEIGHT)}"/>'
        if glyph.character in octant_dots()
        else f'<text x="{x - glyph.half * WIDTH}" y="{y + baseline}"{_attributes(glyph)}>'
        f"{html.escape(glyph.character)}</text>"
        for glyph, (x, y) in places.items()
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}">'
        f'<rect width="{width}" height="{height}" fill="#000000"/>'
        f'<g font-family="{FAMILY}" font-size="{SIZE}" fill="#ffffff" xml:space="preserve">{texts}</g></svg>'
    )


def _attributes(glyph: Glyph) -> str:
    bold = ' font-weight="bold"' if glyph.bold else ""
    length = sum(width for _, width in graphemes(glyph.character)) * WIDTH
    decoration = f' text-decoration="{glyph.decoration}"' if glyph.decoration else ""
    return bold + fit(glyph.character, length) + decoration
