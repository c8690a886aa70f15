"""Films: frames of a terminal as an animated GIF or WebP."""

import io
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from rich.segment import Segment

from concwatch.pictures.cells import Cell, Face, Rows, read_cells
from concwatch.pictures.glyphs import HEIGHT, WIDTH, draw_masks
from concwatch.pictures.palette import MAX_COLORS, Palette, make_palette

if TYPE_CHECKING:
    from PIL.Image import Image

HELD = 3.0
"""Seconds that the last frame stays before the film begins again."""

SHORTEST = 20
"""Milliseconds that a frame stays at least: browsers show shorter ones for longer."""

EMPTY = Cell(Face(" "))
"""What is seen beside and below the terminal while it is smaller than it is in other frames."""


Segments = Sequence[Sequence[Segment]]
"""What a terminal shows: the rows from top to bottom, all of the same width."""

Scene = tuple[float, Rows]
"""The moment from which on cells are seen, and the cells."""


class Frame(Struct, frozen=True):
    """What was on screen from one moment on."""

    seconds: float
    """When it came, from the start."""
    rows: Segments


def make_film(frames: Sequence[Frame], kind: str = "gif") -> bytes:
    """Return the film of ``frames``, in the order of time; it plays for ever, and has no window around it.

    It is as wide as its widest frame and as high as its highest; smaller ones are at its upper left.
    All frames share one palette, so that text stays sharp and no colour flickers. Frames that look the same
    are one, and of each only what has changed is stored. A ``"webp"`` has the same pixels in fewer bytes.

    Args:
        frames: what was seen.
        kind: ``"gif"`` or ``"webp"``.

    Raises:
        PicturesMissing: the extra ``shots`` is not installed.
        ValueError: there are no frames.
    """
    if not frames:
        raise ValueError("a film needs frames: there is none")
    scenes = read_scenes(frames)
    cells = Counter(cell for _, rows in scenes for row in rows for cell in row)
    masks = draw_masks({cell.face for cell in cells})
    used: Counter[tuple[str, str]] = Counter()
    for cell, count in cells.items():
        used[cell.ink, cell.ground] += count
    palette = make_palette(used)
    tiles = {cell: masks[cell.face].point(palette.tables[cell.ink, cell.ground]) for cell in cells}
    moments = [*(seconds for seconds, _ in scenes), frames[-1].seconds + HELD]
    return _write(_paint(scenes, tiles), _durations(moments), palette, kind)


def read_scenes(frames: Sequence[Frame]) -> list[Scene]:
    """Return the cells of all frames, as many of each; those that look like the one before are left out."""
    scenes: list[Scene] = []
    width = max(Segment.get_line_length(list(frame.rows[0])) for frame in frames)
    height = max(len(frame.rows) for frame in frames)
    for frame in frames:
        rows = _pad(read_cells(frame.rows), width, height)
        before = scenes[-1][1] if scenes else rows
        # The same row is kept once: a long film has tens of thousands.
        rows = [old if old == new else new for old, new in zip(before, rows, strict=True)]
        if not scenes or rows != before:
            scenes.append((frame.seconds, rows))
    return scenes


def _pad(rows: Rows, width: int, height: int) -> Rows:
    """Return rows filled up to this size, of a terminal that was smaller at the time."""
    beside = [EMPTY] * (width - len(rows[0]))
    below = [[EMPTY] * width for _ in range(height - len(rows))]
    return [*([*row, *beside] for row in rows), *below]


def _durations(moments: Sequence[float]) -> list[int]:
    """Return the milliseconds from each moment to the next, in whole hundredths of a second as GIF has them.

    The moments are rounded, and not what lies between them: so no error adds up.
    """
    rounded = [round(seconds * 100) * 10 for seconds in moments]
    return [max(SHORTEST, after - before) for before, after in pairwise(rounded)]


def _paint(scenes: Sequence[Scene], tiles: "dict[Cell, Image]") -> "Iterator[Image]":
    """Yield one picture a scene; what has not changed since the one before is not painted again."""
    from PIL import Image

    seen: Rows = []
    _, first = scenes[0]
    picture = Image.new("L", (len(first[0]) * WIDTH, len(first) * HEIGHT))
    for _, rows in scenes:
        for y, row in enumerate(rows):
            before = seen[y] if seen else [None] * len(row)
            if row != before:
                for x, (cell, old) in enumerate(zip(row, before, strict=True)):
                    if cell != old:
                        picture.paste(tiles[cell], (x * WIDTH, y * HEIGHT))
        seen = rows
        yield picture.copy()


def _write(pictures: "Iterator[Image]", durations: Sequence[int], palette: Palette, kind: str) -> bytes:
    """Write a film: a GIF whose last colour means that nothing has changed, or a WebP without loss."""
    # Pillow writes one palette for all frames only if no colour is in it twice.
    others = (color for blue in range(256) if (color := (255, 0, blue)) not in palette.colors)
    flat = bytes(part for color in [*palette.colors, *others][:256] for part in color)

    def colored() -> "Iterator[Image]":
        for picture in pictures:
            picture.putpalette(flat)
            yield picture if kind == "gif" else picture.convert("RGB")

    options: dict[str, Any] = {"lossless": True, "quality": 60, "method": 2}
    if kind == "gif":
        options = {"disposal": 1, "optimize": True, "palette": flat, "transparency": MAX_COLORS}
    film, target = colored(), io.BytesIO()
    next(film).save(
        target, kind, save_all=True, append_images=film, duration=list(durations), loop=0, **options
    )
    return target.getvalue()
