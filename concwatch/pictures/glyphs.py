"""The shapes of characters as small pictures of one cell each, for films: drawn once, used in every frame."""

import html
import io
from collections.abc import Collection
from typing import TYPE_CHECKING

from concwatch.graphemes import graphemes
from concwatch.pictures.cells import BASELINE, CELL_HEIGHT, CELL_WIDTH, TOP, Face, fit
from concwatch.pictures.drawing import PicturesMissing, draw
from concwatch.pictures.fonts import FAMILY

if TYPE_CHECKING:
    from PIL.Image import Image

WIDTH, HEIGHT = 10, 20
"""Pixels of a cell in a film: 120 columns are 1,200 pixels wide."""

SIZE = 20.0 * WIDTH / CELL_WIDTH
"""Of the letters, in pixels: Rich's are 20 in a cell that is `CELL_WIDTH` wide."""

MARGIN = WIDTH
"""Pixels between two cells of the sheet: half a wide letter reaches out of one, and not into the next."""

ACROSS = 64
"""Cells in a row of the sheet."""


def draw_masks(faces: Collection[Face]) -> "dict[Face, Image]":
    """Draw ``faces``: for each a picture of one cell, from 0, nothing, to 255, all ink.

    Raises:
        PicturesMissing: the extra ``shots`` is not installed.
    """
    try:
        from PIL import Image  # of the extra "shots"
    except ImportError:
        raise PicturesMissing("pillow") from None
    places = {
        face: (at % ACROSS * (WIDTH + MARGIN), at // ACROSS * (HEIGHT + MARGIN))
        for at, face in enumerate(faces)
    }
    with Image.open(io.BytesIO(draw(_sheet(places)))) as picture:
        sheet = picture.convert("L")
    return {face: sheet.crop((x, y, x + WIDTH, y + HEIGHT)) for face, (x, y) in places.items()}


def _sheet(places: dict[Face, tuple[int, int]]) -> str:
    """Write the SVG of white characters on black at ``places``."""
    width = ACROSS * (WIDTH + MARGIN)
    height = (len(places) // ACROSS + 1) * (HEIGHT + MARGIN)
    baseline = (BASELINE - TOP) / CELL_HEIGHT * HEIGHT
    texts = "".join(
        f'<text x="{x - face.half * WIDTH}" y="{y + baseline}"{_attributes(face)}>'
        f"{html.escape(face.character)}</text>"
        for face, (x, y) in places.items()
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}">'
        f'<rect width="{width}" height="{height}" fill="#000000"/>'
        f'<g font-family="{FAMILY}" font-size="{SIZE}" fill="#ffffff" xml:space="preserve">{texts}</g></svg>'
    )


def _attributes(face: Face) -> str:
    bold = ' font-weight="bold"' if face.bold else ""
    length = sum(width for _, width in graphemes(face.character)) * WIDTH
    decoration = f' text-decoration="{face.decoration}"' if face.decoration else ""
    return bold + fit(face.character, length) + decoration
