"""Build the fonts that the program's pictures are drawn with, from DejaVu Sans Mono.

``python -m tests.build_fonts FOLDER`` reads ``DejaVuSansMono.ttf`` and ``DejaVuSansMono-Bold.ttf`` there, and
needs fontTools. Changes: the em, so that a letter is as wide as a cell of Rich's SVG; box drawing and blocks,
stretched to fill that cell, so that they join; braille, which that font lacks, with all dots of all cells on
one square grid; a magnifying glass (used by Textual's palette) that looks like ⌕. Kerning and hints, which
pictures do not use, are removed. The font's name changes as well.
"""

import sys
from pathlib import Path

from fontTools.fontBuilder import FontBuilder
from fontTools.pens.recordingPen import DecomposingRecordingPen
from fontTools.pens.transformPen import TransformPen
from fontTools.pens.ttGlyphPen import TTGlyphPen
from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont

from concwatch.pictures.fonts import CHARACTERS, FAMILY, FILES, FOLDER

SOURCES = ("DejaVuSansMono.ttf", "DejaVuSansMono-Bold.ttf")
VERSION = "1.0"

RANGES = (
    range(0x20, 0x7F),
    range(0xA0, 0x180),  # Latin
    range(0x384, 0x3CF),  # Greek
    range(0x400, 0x460),  # Cyrillic
    range(0x1D2C, 0x1D6B),  # raised letters
    range(0x2010, 0x2065),  # punctuation
    range(0x2070, 0x209D),  # raised and lowered figures
    range(0x20A0, 0x20B6),  # currencies
    range(0x2190, 0x2200),  # arrows
    range(0x2200, 0x2300),  # mathematics
    range(0x2300, 0x2400),  # technical
    range(0x2500, 0x2600),  # boxes, blocks, shapes
    range(0x2600, 0x2700),  # symbols
    range(0x2701, 0x27BF),  # dingbats
    range(0x2800, 0x2900),  # braille
    range(0x1F50D, 0x1F50F),  # magnifying glasses
)
"""The characters to keep if the original has them; all of braille is added."""

CELL_WIDTH, CELL_TOP, CELL_BOTTOM = 0.61, 0.925, -0.295
"""A cell of Rich's SVG, in em: its width, and its edges above and below the baseline."""

REACH = 0.002
"""How far box drawing overlaps its cell's edges, in em: invisible, but rounding leaves no gap."""

JOINED = range(0x2500, 0x25A0)
"""Box drawing and blocks."""

BRAILLE = range(0x2800, 0x2900)
DOTS = ((0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (0, 3), (1, 3))
"""Column and row, from the top, of the dot that each bit of a braille character sets."""

LOOKS_LIKE = {0x1F50D: 0x2315, 0x1F50E: 0x2315}
"""Characters that the original lacks, each with its substitute."""

RADIUS = 0.32
"""Radius of a dot, relative to the distance between dots."""


def stretch(font: TTFont, bottom: float, top: float) -> None:
    """Stretch box drawing and blocks to fill their cell from edge to edge."""
    names, glyphs = font.getBestCmap(), font["glyf"]
    full, reach = glyphs[names[ord("█")]], REACH * font["head"].unitsPerEm
    across = (font["hmtx"][names[ord("█")]][0] + 2 * reach) / (full.xMax - full.xMin)
    up = (top - bottom + 2 * reach) / (full.yMax - full.yMin)
    fit = (across, 0, 0, up, -across * full.xMin - reach, bottom - up * full.yMin - reach)
    drawn = {}  # some glyphs refer to others: all are read before any is replaced
    for name in {names[code] for code in JOINED}:
        whole, pen = DecomposingRecordingPen(font.getGlyphSet()), TTGlyphPen(None)
        font.getGlyphSet()[name].draw(whole)
        whole.replay(TransformPen(pen, fit))
        drawn[name] = pen.glyph()
    for name, glyph in drawn.items():
        glyphs[name] = glyph
        glyph.recalcBounds(glyphs)
        font["hmtx"][name] = (font["hmtx"][name][0], getattr(glyph, "xMin", 0))


def braille(font: TTFont, bottom: float, top: float) -> dict[int, str]:
    """Add the braille characters. Return the name of each one's glyph."""
    names = {}
    width = font["hmtx"][font.getBestCmap()[ord("0")]][0]
    across, down = width / 2, (top - bottom) / 4
    for code in BRAILLE:
        pen = TTGlyphPen(None)
        for bit, (column, row) in enumerate(DOTS):
            if code - BRAILLE.start & 1 << bit:
                dot(pen, (column + 0.5) * across, top - (row + 0.5) * down, RADIUS * across)
        name = f"uni{code:04X}"
        font.setGlyphOrder([*font.getGlyphOrder(), name])
        font["glyf"][name] = glyph = pen.glyph()
        glyph.recalcBounds(font["glyf"])
        font["hmtx"][name] = (width, getattr(glyph, "xMin", 0))
        names[code] = name
    return names


def dot(pen: TTGlyphPen, x: float, y: float, radius: float) -> None:
    """Draw a disc as eight quadratic curves."""
    bulge = 0.41421356 * radius  # tan(22.5°): a regular octagon of control points around the circle
    corners = ((radius, -bulge), (bulge, -radius), (-bulge, -radius), (-radius, -bulge))
    ring = [*corners, *((-a, -b) for a, b in corners)]
    pen.qCurveTo(*((round(x + a), round(y + b)) for a, b in ring), None)
    pen.closePath()


def rename(font: TTFont, style: str) -> None:
    """Rename the font; keep its copyright and licence."""
    names = font["name"]
    full = f"{FAMILY} {style}".removesuffix(" Regular")
    own = {1: FAMILY, 2: style, 3: f"{full} {VERSION}", 4: full, 5: f"Version {VERSION}"}
    own[6] = full.replace(" ", "")
    names.names = [row for row in names.names if row.nameID in (0, 13, 14) and row.platformID == 3]
    for number, text in own.items():
        names.setName(text, number, 3, 1, 0x409)


def build(source: Path, target: Path, style: str) -> set[int]:
    """Build one font. Return its characters."""
    font = TTFont(source)
    options = Options(layout_features=[], hinting=False, name_IDs=["*"], notdef_outline=True)
    options.drop_tables += ["FFTM", "GDEF", "GPOS", "GSUB", "gasp"]
    subsetter = Subsetter(options)
    subsetter.populate(unicodes=[code for codes in RANGES for code in codes])
    subsetter.subset(font)
    width = font["hmtx"][font.getBestCmap()[ord("0")]][0]
    em = font["head"].unitsPerEm = round(width / CELL_WIDTH)
    stretch(font, CELL_BOTTOM * em, CELL_TOP * em)
    names = {**font.getBestCmap(), **braille(font, CELL_BOTTOM * em, CELL_TOP * em)}
    names |= {code: names[like] for code, like in LOOKS_LIKE.items()}
    FontBuilder(font=font).setupCharacterMap(names)
    rename(font, style)
    font["post"].formatType = 3.0
    font.save(target)
    print(target, target.stat().st_size, "bytes", len(names), "characters")
    return set(names)


def rows(codes: set[int]) -> list[str]:
    """Format characters as ranges of consecutive ones."""
    firsts = sorted(code for code in codes if code - 1 not in codes)
    lasts = sorted(code for code in codes if code + 1 not in codes)
    return [f"{first:x}-{last:x}" for first, last in zip(firsts, lasts, strict=True)]


if __name__ == "__main__":
    built = [
        build(Path(sys.argv[1]) / source, FOLDER / target, style)
        for source, target, style in zip(SOURCES, FILES, ("Regular", "Bold"), strict=True)
    ]
    (FOLDER / CHARACTERS).write_text("\n".join(rows(set.intersection(*built))) + "\n")
