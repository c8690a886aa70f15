"""Films: frames of a terminal as an animated GIF."""

import io
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from msgspec import Struct
from rich.segment import Segment

from concwatch.charts.painters.vector import Vectors
from concwatch.pictures.cells import Glyph, Rows, TerminalCell, read_cells
from concwatch.pictures.chart_painter import ChartPainter, chart_pairs
from concwatch.pictures.glyphs import HEIGHT, WIDTH, draw_masks
from concwatch.pictures.palette import MAX_COLORS, Palette, make_palette
from concwatch.pictures.vectors import Run, add_cell

if TYPE_CHECKING:
    from PIL.Image import Image

LAST_FRAME_SECONDS = 5.0
"""Seconds that the last frame is shown before the film repeats."""

MIN_FRAME_MS = 20
"""Shortest frame in milliseconds; browsers slow down shorter ones."""

EMPTY = TerminalCell(Glyph(" "))
"""Fills the space beside and below a terminal that is smaller than in other frames."""

Segments = Sequence[Sequence[Segment]]
"""The rows of a terminal from top to bottom, all of the same width."""

Scene = tuple[float, Rows, Mapping[str, Vectors]]
"""The time at which cells appear, the cells, and the charts that are drawn over some of them."""


class Frame(Struct, frozen=True):
    """The content of the screen from a moment on."""

    seconds: float
    """Seconds from the start."""
    rows: Segments
    charts: Mapping[str, Vectors] = {}
    """What is drawn over the cells of each character that stands for a chart."""


def make_film(frames: Sequence[Frame]) -> bytes:
    """Return a GIF that loops forever, without a window frame.

    It has the width of the widest frame and the height of the highest; smaller frames are at its upper left.
    All frames share one palette, which keeps text sharp and colours steady. Equal frames are merged, and only
    the changes are stored.

    Args:
        frames: the frames, ordered by time.

    Raises:
        PicturesUnavailable: the extra ``shots`` is not installed.
        ValueError: there are no frames.
    """
    if not frames:
        raise ValueError("a film needs at least one frame")
    scenes = read_scenes(frames)
    cells = Counter(cell for _, rows, _ in scenes for row in rows for cell in row)
    masks = draw_masks({cell.glyph for cell in cells})
    pairs = {cell: (cell.foreground, cell.background) for cell in cells}
    used: Counter[tuple[str, str]] = Counter()
    for cell, count in cells.items():
        used[pairs[cell]] += count
    for _, _, charts in scenes:
        for chart in charts.values():
            used.update(chart_pairs(chart))
    palette = make_palette(used)
    tiles = {cell: masks[cell.glyph].point(palette.tables[pair]) for cell, pair in pairs.items()}
    moments = [*(scene[0] for scene in scenes), frames[-1].seconds + LAST_FRAME_SECONDS]
    return _write(_paint(scenes, tiles, palette), _durations(moments), palette)


def read_scenes(frames: Sequence[Frame]) -> list[Scene]:
    """Return the cells of all frames, padded to the same size, without repeated frames."""
    scenes: list[Scene] = []
    width = max(Segment.get_line_length(list(frame.rows[0])) for frame in frames)
    height = max(len(frame.rows) for frame in frames)
    for frame in frames:
        rows = _pad(read_cells(frame.rows), width, height)
        before = scenes[-1][1] if scenes else rows
        # Equal rows share one list: a long film has tens of thousands.
        rows = [old if old == new else new for old, new in zip(before, rows, strict=True)]
        if not scenes or rows != before or frame.charts != scenes[-1][2]:
            scenes.append((frame.seconds, rows, frame.charts))
    return scenes


def _pad(rows: Rows, width: int, height: int) -> Rows:
    """Return the rows of a smaller terminal, padded to this size."""
    beside = [EMPTY] * (width - len(rows[0]))
    below = [[EMPTY] * width for _ in range(height - len(rows))]
    return [*([*row, *beside] for row in rows), *below]


def _durations(moments: Sequence[float]) -> list[int]:
    """Return the milliseconds between moments, in multiples of 10 as GIF requires.

    The moments are rounded, not the differences, so that errors do not add up.
    """
    rounded = [round(seconds * 100) * 10 for seconds in moments]
    return [max(MIN_FRAME_MS, after - before) for before, after in pairwise(rounded)]


def _paint(
    scenes: Sequence[Scene], tiles: "dict[TerminalCell, Image]", palette: Palette
) -> "Iterator[Image]":
    """Yield a picture of each scene, painting only the cells and the charts that have changed."""
    from PIL import Image

    seen: Rows = []
    painted: dict[str, tuple[Vectors, list[Run]]] = {}
    first = scenes[0][1]
    picture = Image.new("L", (len(first[0]) * WIDTH, len(first) * HEIGHT))
    painter = ChartPainter(palette)
    for _, rows, charts in scenes:
        runs: dict[str, list[Run]] = {character: [] for character in charts}
        for y, row in enumerate(rows):
            before = seen[y] if seen else [None] * len(row)
            if row != before:
                for x, (cell, old) in enumerate(zip(row, before, strict=True)):
                    if cell != old:
                        picture.paste(tiles[cell], (x * WIDTH, y * HEIGHT))
            if charts:
                for x, cell in enumerate(row):
                    if cell.glyph.character in runs:
                        add_cell(runs[cell.glyph.character], y, x)
        for character, chart in charts.items():
            if painted.get(character) != (chart, runs[character]):
                painter.paint(picture, chart, runs[character])
        painted = {character: (chart, runs[character]) for character, chart in charts.items()}
        seen = rows
        yield picture.copy()


def _write(pictures: "Iterator[Image]", durations: Sequence[int], palette: Palette) -> bytes:
    """Encode a GIF whose last colour means "unchanged"."""
    # Pillow writes one palette for all frames only if its colours are unique.
    others = (color for blue in range(256) if (color := (255, 0, blue)) not in palette.colors)
    flat = bytes(part for color in [*palette.colors, *others][:256] for part in color)

    def colored() -> "Iterator[Image]":
        for picture in pictures:
            picture.putpalette(flat)
            yield picture

    film, target = colored(), io.BytesIO()
    next(film).save(
        target, "gif", save_all=True, append_images=film, duration=list(durations), loop=0,
        disposal=1, optimize=True, palette=flat, transparency=MAX_COLORS,
    )  # fmt: skip
    return target.getvalue()
