"""PNG pictures of a terminal: letters, lines, fonts, and the process that draws them."""

import asyncio
import io
import re
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from PIL import Image, ImageChops
from rich.console import Console

from concwatch.pictures import glyphs
from concwatch.pictures.cells import CELL_WIDTH, Glyph, split_texts
from concwatch.pictures.film import Frame, make_film
from concwatch.pictures.fonts import FOLDER, has_glyph
from concwatch.pictures.png import PIXELS, PicturesUnavailable, draw_png, to_png
from concwatch.system.child import ROOT
from tests.pictures.terminals import GROUND, open_picture, segments, terminal

CELL_HEIGHT = PIXELS * 2
"""In pixels."""


def cells(picture, column, row, width=1, height=1):
    """Return the part of a PNG that some cells cover."""
    left, top = round(9 * PIXELS / CELL_WIDTH), round(42.5 * PIXELS / CELL_WIDTH)
    x, y = left + column * PIXELS, top + row * CELL_HEIGHT
    return picture.convert("RGB").crop((x, y, x + width * PIXELS, y + height * CELL_HEIGHT))


def inked(picture, ground=GROUND):
    """Return rows of booleans: which pixels are not ``ground``."""
    flat = Image.new("RGB", picture.size, ground)
    grey = ImageChops.difference(picture, flat).convert("L")
    data, width = grey.tobytes(), grey.width
    return [[byte > 40 for byte in data[at : at + width]] for at in range(0, len(data), width)]


def test_a_missing_glyph_does_not_move_other_letters():
    usual, strange = (open_picture(to_png(split_texts(terminal(text)))) for text in ("ab · cd", "ab № cd"))
    for column in (0, 1, 2, 4, 5, 6):
        assert cells(usual, column, 0).tobytes() == cells(strange, column, 0).tobytes(), column


def test_each_wide_letter_takes_two_cells():
    svg = split_texts(terminal("a日<本z"))
    texts = re.findall(r'x="([\d.]+)" y="[\d.]+" textLength="([\d.]+)"[^>]*>([^<]+)<', svg)
    placed = [(float(x) / CELL_WIDTH, float(length) / CELL_WIDTH, text) for x, length, text in texts]
    assert placed[:5] == [
        (pytest.approx(at), pytest.approx(length), text)
        for at, length, text in ((0, 1, "a"), (1, 2, "日"), (3, 1, "&lt;"), (4, 2, "本"), (6, 1, "z"))
    ]


@pytest.mark.parametrize("character", "│┃║┤├┼█▌─━═┴┬▁▔")
def test_box_lines_join_between_cells_without_a_visible_seam(character):
    upright = character in "│┃║┤├┼█▌"
    size = (1, 4) if upright else (4, 1)
    picture = cells(open_picture(to_png(terminal(*[character * size[0]] * size[1]))), 0, 0, *size)
    if upright:
        picture = picture.transpose(Image.Transpose.ROTATE_90)
    assert any(map(all, inked(picture)))
    if character in "│─":
        grey = picture.convert("L")  # without the ends, which are not seams
        darkest = [max(grey.crop((x, 0, x + 1, grey.height)).tobytes()) for x in range(1, grey.width - 1)]
        assert max(darkest) - min(darkest) <= 10


def test_a_box_has_no_gaps():
    box = ("╭──╮", "│  │", "╰──╯")
    rows = inked(cells(open_picture(to_png(terminal(*box))), 0, 0, 4, 3))
    x, y = len(rows[0]) // 2, len(rows) // 2
    reached, waiting = set(), [(x, y)]  # a flood fill from the middle must not reach the edge
    while waiting:
        x, y = waiting.pop()
        assert 0 < x < len(rows[0]) - 1, "the box leaks"
        assert 0 < y < len(rows) - 1, "the box leaks"
        if (x, y) not in reached and not rows[y][x]:
            reached.add((x, y))
            waiting += [(x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)]
    assert len(reached) > PIXELS * CELL_HEIGHT


def test_braille_dots_are_on_a_grid_and_identical():
    shapes = set()
    for bit, place in enumerate(((0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (0, 3), (1, 3))):
        rows = inked(cells(open_picture(to_png(terminal(chr(0x2800 + (1 << bit))))), 0, 0))
        pixels = [(x, y) for y in range(CELL_HEIGHT) for x in range(PIXELS) if rows[y][x]]
        assert {(x * 2 // PIXELS, y * 4 // CELL_HEIGHT) for x, y in pixels} == {place}
        x, y = place[0] * PIXELS // 2, place[1] * CELL_HEIGHT // 4
        shapes.add(tuple(tuple(row[x : x + PIXELS // 2]) for row in rows[y : y + CELL_HEIGHT // 4]))
    (dot,) = shapes
    assert not any(dot[0]), "dots do not touch"
    assert not any(row[0] for row in dot)


def test_the_picture_has_the_terminals_width_and_the_title_on_top():
    console = Console(width=40, file=io.StringIO(), record=True)
    console.print("x")
    picture = open_picture(to_png(console.export_svg(title="concwatch"))).convert("RGB")
    assert any(map(any, inked(picture.crop((picture.width // 2 - 20, 8, picture.width // 2 + 20, 32)))))
    assert open_picture(to_png(terminal("x", width=120))).width == pytest.approx(1460, abs=5)
    assert open_picture(to_png(terminal("x", width=80))).width == pytest.approx(980, abs=5)


def test_the_fonts_have_every_character_that_the_program_shows():
    sources = [
        path for path in Path(ROOT, "concwatch").rglob("*") if path.suffix in (".py", ".toml", ".tcss")
    ]
    shown = {letter for path in sources for letter in path.read_text("utf-8") if ord(letter) > 0x7E}
    borders = "╭╮╰╯─│━┃┌┐└┘├┤┬┴┼▁▂▃▄▅▆▇█▔▏▎▍▌▋▊▉▐░▒▓"
    wanted = (
        shown | set(borders) | set("┈╍·×÷–−…‖≈ᵗ●○◐◌▸▾▲▴▼⏎←→↑↓✓✕µ°🔎") | set(map(chr, range(0x2800, 0x2900)))
    )
    lacking = {letter for letter in wanted if not has_glyph(letter)}
    # Except Chinese words of an experiment's source and a digit of another script in an example of input.
    assert all("CJK" in name or "DIGIT" in name for name in map(unicodedata.name, lacking)), lacking


def test_the_list_of_glyphs_matches_the_fonts():
    rows = (FOLDER / "characters.txt").read_text().split()
    ends = {chr(int(end, 16)) for row in rows for end in row.split("-")}
    assert all(map(has_glyph, ends))
    private = chr(0xE0FF)  # a private-use character, which has no glyph
    assert not has_glyph(private)
    shapes = glyphs.draw_masks([Glyph(letter, bold) for letter in (*ends, private) for bold in (False, True)])
    for bold in (False, True):
        missing = shapes[Glyph(private, bold)].tobytes()
        same = {letter for letter in ends if shapes[Glyph(letter, bold)].tobytes() == missing}
        assert all(unicodedata.category(letter) in ("Zs", "Cf") or letter == "⠀" for letter in same), same
    assert "Bitstream" in (FOLDER / "LICENSE").read_text()


def test_without_the_extra_the_error_says_what_to_install(monkeypatch):
    svg = terminal("x")
    for module in ("PIL", "resvg_py"):
        with monkeypatch.context() as patched:
            patched.setitem(sys.modules, module, None)
            with pytest.raises(PicturesUnavailable, match=r"^[^\n]*pip install 'concwatch\[shots\]'$"):
                make_film([Frame(0, segments("x"))])
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(PicturesUnavailable, match="resvg-py is not installed"):
        to_png(svg)


@pytest.mark.real
async def test_drawing_in_a_subprocess_gives_the_same_picture_or_a_one_line_error():
    svg = terminal("drawn ─ ⣿ elsewhere")
    assert await draw_png(svg) == to_png(svg)
    with pytest.raises(ValueError, match=r"^ValueError: .+") as error:
        await draw_png("<no picture")
    assert "\n" not in str(error.value)


@pytest.mark.real
async def test_a_cancelled_drawing_ends_its_process(monkeypatch):
    start, processes = subprocess.Popen, []

    def start_endless_process(command, **options):
        processes.append(start([sys.executable, "-c", "import time; time.sleep(60)"], **options))
        return processes[0]

    monkeypatch.setattr(subprocess, "Popen", start_endless_process)
    task = asyncio.create_task(draw_png("x"))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await asyncio.to_thread(processes[0].wait, 30)
