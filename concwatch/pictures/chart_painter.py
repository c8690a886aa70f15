"""Charts as vectors in the frames of a film."""

import io
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from concwatch.charts.painters.terminal import shade
from concwatch.charts.painters.vector import Vectors
from concwatch.pictures.cells import DEFAULT_BACKGROUND
from concwatch.pictures.glyphs import HEIGHT, WIDTH
from concwatch.pictures.palette import Pair, Palette
from concwatch.pictures.png import draw
from concwatch.pictures.vectors import Run, corner

if TYPE_CHECKING:
    from PIL.Image import Image


def _background(chart: Vectors) -> str:
    ground = chart.background or ""
    return ground if ground.startswith("#") else DEFAULT_BACKGROUND


def chart_pairs(chart: Vectors) -> dict[Pair, int]:
    """Return the pairs of foreground and background in a chart, with their weights for the palette."""
    ground = _background(chart)
    grounds = [ground, *(shade(line.color, ground) or ground for line in chart.picture.lines if line.filled)]
    return {(color, behind): 40 for color in chart.colors for behind in grounds if color.startswith("#")}


class ChartPainter:
    """Paints charts into pictures whose pixels are colours of a palette."""

    def __init__(self, palette: Palette) -> None:
        from PIL import Image

        self._no_dither = Image.Dither.NONE
        self._colors = Image.new("P", (1, 1))
        flat = [part for color in palette.colors for part in color]
        self._colors.putpalette(flat + flat[:3] * (256 - len(palette.colors)))

    def paint(self, picture: "Image", chart: Vectors, runs: Sequence[Run]) -> None:
        """Paint the visible cells of a chart."""
        place = corner(runs, chart.picture.rows, chart.picture.columns)
        if place is None:
            return
        top, left = place
        size = chart.picture.columns * WIDTH, chart.picture.rows * HEIGHT
        drawn = _drawn(chart.svg((WIDTH, HEIGHT)), *size, _background(chart))
        drawn = drawn.quantize(palette=self._colors, dither=self._no_dither)
        for row, start, end in runs:
            box = (start - left) * WIDTH, (row - top) * HEIGHT, (end - left) * WIDTH, (row - top + 1) * HEIGHT
            part = drawn.crop(box)
            picture.paste(part.point(list(range(256)), "L"), (start * WIDTH, row * HEIGHT))


@lru_cache(maxsize=8)
def _drawn(elements: str, width: int, height: int, background: str) -> "Image":
    """Return the elements of an SVG as an RGB picture."""
    from PIL import Image

    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}">'
        f'<rect width="{width}" height="{height}" fill="{background}"/>{elements}</svg>'
    )
    with Image.open(io.BytesIO(draw(svg))) as picture:
        return picture.convert("RGB")
