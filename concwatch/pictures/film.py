"""Films: frames of a terminal as an animated GIF."""

import io
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from msgspec import Struct

from concwatch.pictures.cells import Cell, Face, Rows, read_cells, read_size
from concwatch.pictures.glyphs import HEIGHT, WIDTH, draw_masks
from concwatch.pictures.inks import MOST, Palette, make_palette

if TYPE_CHECKING:
    from PIL.Image import Image

HELD = 3.0
"""Seconds that the last frame stays before the film begins again."""

SHORTEST = 20
"""Milliseconds that a frame stays at least: browsers show shorter ones for longer."""

EMPTY = Cell(Face(" "))
"""What is seen beside and below the terminal while it is smaller than it is in other frames."""


class Frame(Struct, frozen=True):
    """What was on screen from one moment on."""

    seconds: float
    """When it came, from the start."""
    svg: str
    """As Textual's ``export_screenshot`` gives it."""


class Scene(Struct, frozen=True):
    """Cells, and from which moment on they are seen."""

    seconds: float
    rows: Rows


def make_gif(frames: Sequence[Frame]) -> bytes:
    """Make the film of ``frames``, in the order of time; it plays for ever, and has no window around it.

    It is as wide as its widest frame and as high as its highest; smaller ones are at its upper left.
    All frames share one palette, so that text stays sharp and no colour flickers. Frames that look the same
    are one, and of each only what has changed is stored.

    Raises:
        PicturesMissing: the extra ``shots`` is not installed.
        ValueError: there are no frames, or one is no picture of a terminal.
    """
    if not frames:
        raise ValueError("a film needs frames: there is none")
    scenes = read_scenes(frames)
    cells = Counter(cell for scene in scenes for row in scene.rows for cell in row)
    masks = draw_masks({cell.face for cell in cells})
    used: Counter[tuple[str, str]] = Counter()
    for cell, count in cells.items():
        used[cell.ink, cell.ground] += count
    palette = make_palette(used)
    tiles = {cell: masks[cell.face].point(palette.tables[cell.ink, cell.ground]) for cell in cells}
    moments = [*(scene.seconds for scene in scenes), frames[-1].seconds + HELD]
    return _write(_paint(scenes, tiles), _durations(moments), palette)


def read_scenes(frames: Sequence[Frame]) -> list[Scene]:
    """Read the cells of all frames, as many of each; those that look like the one before are left out."""
    scenes: list[Scene] = []
    sizes = {read_size(frame.svg) for frame in frames}
    width, height = (max(sides) for sides in zip(*sizes, strict=True))
    for frame in frames:
        rows = _pad(read_cells(frame.svg), width, height)
        before = scenes[-1].rows if scenes else rows
        # The same row is kept once: a long film has tens of thousands.
        rows = [old if old == new else new for old, new in zip(before, rows, strict=True)]
        if not scenes or rows != before:
            scenes.append(Scene(frame.seconds, rows))
    return scenes


def _pad(rows: Rows, width: int, height: int) -> Rows:
    """Give rows of a terminal that has been smaller than this at the time."""
    beside = [EMPTY] * (width - len(rows[0]))
    below = [[EMPTY] * width for _ in range(height - len(rows))]
    return [*([*row, *beside] for row in rows), *below]


def _durations(moments: Sequence[float]) -> list[int]:
    """Give the milliseconds from each moment to the next, in whole hundredths of a second as GIF has them.

    The moments are rounded, and not what lies between them: so no error adds up.
    """
    rounded = [round(seconds * 100) * 10 for seconds in moments]
    return [max(SHORTEST, after - before) for before, after in pairwise(rounded)]


def _paint(scenes: Sequence[Scene], tiles: "dict[Cell, Image]") -> "Iterator[Image]":
    """Paint one picture a scene; what has not changed since the one before is not painted again."""
    from PIL import Image

    rows: Rows = []
    picture = Image.new("L", (len(scenes[0].rows[0]) * WIDTH, len(scenes[0].rows) * HEIGHT))
    for scene in scenes:
        for y, row in enumerate(scene.rows):
            before = rows[y] if rows else [None] * len(row)
            if row != before:
                for x, (cell, old) in enumerate(zip(row, before, strict=True)):
                    if cell != old:
                        picture.paste(tiles[cell], (x * WIDTH, y * HEIGHT))
        rows = scene.rows
        yield picture.copy()


def _write(pictures: "Iterator[Image]", durations: Sequence[int], palette: Palette) -> bytes:
    """Write the file; the colour behind the last one means that nothing has changed."""
    # Pillow writes one palette for all frames only if no colour is in it twice.
    others = (color for blue in range(256) if (color := (255, 0, blue)) not in palette.colors)
    colors = [*palette.colors, *others][:256]
    flat = bytes(part for color in colors for part in color)

    def colored() -> "Iterator[Image]":
        for picture in pictures:
            picture.putpalette(flat)
            yield picture

    film = colored()
    target = io.BytesIO()
    next(film).save(
        target, "GIF", save_all=True, append_images=film, duration=list(durations), loop=0, disposal=1,
        optimize=True, palette=flat, transparency=MOST,
    )  # fmt: skip
    return target.getvalue()
