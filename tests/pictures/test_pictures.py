"""Pictures, films and recordings of a terminal, and the screen's keys for them."""

import asyncio
import io
import json
import os
import re
import shutil
import subprocess
import sys
import time
import unicodedata
from datetime import datetime
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageChops, ImageSequence
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual.errors import NoWidget

from concwatch.demos.recording_driver import RecordedTerminal
from concwatch.demos.screen_strips import screen_strips
from concwatch.pictures import film, glyphs, png
from concwatch.pictures.cast import Cast
from concwatch.pictures.cells import CELL_WIDTH, Glyph, read_cells, split_texts
from concwatch.pictures.film import LAST_FRAME_SECONDS, Frame, make_film
from concwatch.pictures.fonts import FOLDER, has_glyph
from concwatch.pictures.palette import MAX_COLORS, make_palette
from concwatch.pictures.png import PIXELS, PicturesUnavailable, draw_png, to_png
from concwatch.system.child import ROOT
from concwatch.ui.picture_files import picture_path
from tests.screen import stage, svg_lines

GROUND = (41, 41, 41)
"""Rich's default background."""

CELL_HEIGHT = PIXELS * 2
"""In pixels."""


def terminal(*lines, width=20):
    """Return the SVG of a terminal with ``lines`` and a blank one, since Rich cuts off the last edge."""
    console = Console(
        width=width, file=io.StringIO(), record=True, force_terminal=True, color_system="truecolor"
    )
    console.print("\n".join([*lines, " "]), highlight=False, end="")
    return console.export_svg(title="")


def segments(*lines, width=20):
    """Return the same terminal as rows of segments."""
    return Console(width=width, color_system="truecolor").render_lines("\n".join([*lines, " "]))


def open_picture(data):
    picture = Image.open(io.BytesIO(data))
    picture.load()
    return picture


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


# PNG.


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


# Cells and films.


@pytest.mark.parametrize(
    ("style", "ink", "ground"),
    [
        ("", "#c5c8c6", "#292929"),
        ("#112233 on #445566 reverse", "#445566", "#112233"),
        ("#000000 on #646464 dim", "#282828", "#646464"),
        ("red", "#cc555a", "#292929"),
    ],
)
def test_cells_have_the_colors_of_the_svg(style, ink, ground):
    ((cell,),) = read_cells([[Segment("x", Style.parse(style))]])
    assert (cell.foreground, cell.background) == (ink, ground)


async def test_a_film_has_the_cells_of_the_screen_and_of_the_screen_behind_a_dialog():
    async with stage((100, 30)) as s:
        await s.switch_on("asyncio", tasks=100)
        for key in ("", "ctrl+p"):
            if key:
                await s.press(key)
                await s.sees("Search for commands")
            strips = screen_strips(s.app)
            assert [strip.text.rstrip() for strip in strips] == s.lines()
            assert {strip.cell_length for strip in strips} == {100}
            if not key:
                styles = [s.app.screen.get_style_at(x, 15) for x in range(90)]
                assert [cell.background for cell in read_cells(strips)[15][:90]] == [
                    style.bgcolor.get_truecolor().hex for style in styles
                ]


def test_a_wide_letter_has_two_halves_in_a_film():
    row = read_cells(segments("a日本 z"))[0]
    assert [(cell.glyph.character, cell.glyph.half) for cell in row[:7]] == [
        ("a", 0), ("日", 0), ("日", 1), ("本", 0), ("本", 1), (" ", 0), ("z", 0)
    ]  # fmt: skip
    # A missing glyph is drawn as a frame: each half has one of its sides.
    missing = chr(0x3FFFD)
    halves = [Glyph(missing, half=half) for half in (0, 1)]
    left, right = map(glyphs.draw_masks(halves).get, halves)
    assert left.getbbox()
    assert right.getbbox()
    assert left.tobytes() != right.tobytes()


def frames_of(data):
    return [frame.convert("RGB") for frame in ImageSequence.Iterator(open_picture(data))]


def durations(data):
    return [frame.info["duration"] / 1000 for frame in ImageSequence.Iterator(open_picture(data))]


def test_a_film_keeps_the_duration_of_its_frames_and_loops():
    texts = [(0, "[red]one[/]"), (0.2, "[red]one[/]"), (0.533, "two ─│ ⣿"), (1.0666, "three"), (1.5, "three")]
    data = make_film([Frame(seconds, segments(text)) for seconds, text in texts])
    assert data.startswith(b"GIF89a")
    assert durations(data) == pytest.approx([0.53, 0.54, 1.5 - 1.07 + LAST_FRAME_SECONDS])
    assert open_picture(data).info["loop"] == 0
    shown = frames_of(data)
    for (_, text), picture in zip((texts[0], texts[2], texts[3]), shown, strict=True):
        (alone,) = frames_of(make_film([Frame(0, segments(text))]))
        assert picture.size == (20 * glyphs.WIDTH, 2 * glyphs.HEIGHT)
        worst = max(highest for _, highest in ImageChops.difference(picture, alone).getextrema())
        assert worst <= 40, "unchanged cells keep their look"


def test_a_film_stores_only_what_changes():
    still = [f"line {number} of a screen that stays as it is ─────" for number in range(20)]
    one = make_film([Frame(0, segments(*still, "0", width=60))])
    many = make_film([Frame(n / 5, segments(*still, str(n), width=60)) for n in range(15)])
    assert len(many) - len(one) < 15 * 200


def test_a_film_of_a_resized_terminal_has_room_for_every_frame():
    small, wide, high = segments("a"), segments("a", width=30), segments("a", "b", "c", "d")
    data = make_film([Frame(0, small), Frame(1, wide), Frame(2, high), Frame(3, small)])
    pictures = frames_of(data)
    size = (30 * glyphs.WIDTH, 5 * glyphs.HEIGHT)
    assert [picture.size for picture in pictures] == [size] * len(pictures)
    (alone,) = frames_of(make_film([Frame(0, small)]))
    shown = pictures[-1].crop((0, 0, *alone.size))
    assert max(highest for _, highest in ImageChops.difference(shown, alone).getextrema()) <= 40
    assert {color for _, color in pictures[-1].crop((0, 2 * glyphs.HEIGHT, *size)).getcolors()} == {
        (0x29, 0x29, 0x29)
    }, "the area beyond the smaller frame is cleared"


def test_a_film_needs_a_frame():
    with pytest.raises(ValueError, match="at least one frame"):
        make_film([])


def test_colors_are_exact_and_text_is_not_dithered():
    rows = segments("[#ff7a85 on #0c0f15]█████[/][#59c9f0 on #1b2230]     x[/]")
    (picture,) = frames_of(make_film([Frame(0, rows)]))
    assert picture.getpixel((5, 10)) == (0xFF, 0x7A, 0x85)
    assert picture.getpixel((5 * glyphs.WIDTH + 5, 10)) == (0x1B, 0x22, 0x30)
    letter = picture.crop((10 * glyphs.WIDTH, 0, 11 * glyphs.WIDTH, glyphs.HEIGHT))
    assert len(letter.getcolors()) <= film.MAX_COLORS
    blue = [pixel for _, pixel in letter.getcolors()]
    assert all(0x1B <= red <= 0x59 and 0x22 <= green <= 0xC9 for red, green, _ in blue), (
        "between ground and ink"
    )


@given(
    st.dictionaries(
        st.tuples(st.integers(0, 0xFFFFFF), st.integers(0, 0xFFFFFF)),
        st.integers(1, 1000),
        min_size=1,
        max_size=400,
    )
)
@settings(max_examples=20)
def test_a_palette_never_exceeds_its_number_of_colors(numbers):
    used = {(f"#{ink:06x}", f"#{ground:06x}"): count for (ink, ground), count in numbers.items()}
    palette = make_palette(used)
    assert len(palette.colors) == len(set(palette.colors)) <= MAX_COLORS
    assert palette.tables.keys() == used.keys()
    for (ink, ground), table in palette.tables.items():
        assert len(table) == 256
        assert max(table) < len(palette.colors)
        if len(used) < 20:
            shown = [palette.colors[table[share]] for share in (0, 255)]
            assert ["#{:02x}{:02x}{:02x}".format(*color) for color in shown] == [ground, ink]


# Terminal recordings.


def test_a_cast_has_a_header_and_a_line_for_each_output_and_resize():
    output, sizes = [(0.1234567, "\x1b[1m─\r\n"), (2.5, "\u2028")], [(1.25, (100, 30)), (2.5, (80, 24))]
    header, *lines = Cast(120, 40, "Ten “tasks”", 1_700_000_000).text(output, sizes).split("\n")[:-1]
    assert json.loads(header) == {
        "version": 2, "width": 120, "height": 40, "timestamp": 1_700_000_000, "title": "Ten “tasks”",
        "env": {"TERM": "xterm-256color"},
    }  # fmt: skip
    assert list(map(json.loads, lines)) == [
        [0.123457, "o", "\x1b[1m─\r\n"], [1.25, "r", "100x30"],
        [2.5, "r", "80x24"],  # before the output of the same time, which is for this size
        [2.5, "o", "\u2028"],
    ]  # fmt: skip


@pytest.mark.real
async def test_recorded_output_shows_the_same_screen_in_a_terminal(tmp_path):
    tmux = shutil.which("tmux")
    if tmux is None:
        pytest.skip("needs tmux, as a real terminal")
    recorded = RecordedTerminal()
    async with stage(terminal=recorded) as s:
        await s.switch_on("threads", "asyncio", tasks=2_000)
        await s.run(5)
        expected = s.lines()
        await s.until(lambda: len(recorded.output) > 3, "Textual writes")
        for _ in range(3):  # drawing lags by a frame
            await s.settle()
    moments = [seconds for seconds, _ in recorded.output]
    assert moments == sorted(moments)
    assert "\x1b[38;2;" in "".join(data for _, data in recorded.output), "in 24-bit color"
    output = "".join(
        data for _, data in recorded.output[:-1]
    )  # without the last, which restores the terminal
    assert show_in_tmux(tmux, output, expected, tmp_path / "output") == expected


def show_in_tmux(tmux, output, expected, file):
    """Write ``output`` to a terminal, wait for the ``expected`` lines, and return the lines that it shows."""
    file.write_text(output)
    server = [tmux, "-L", f"pictures-{os.getpid()}", "-f", "/dev/null"]
    command = f"cat {file}; sleep 60"
    subprocess.run([*server, "new-session", "-d", "-x", "120", "-y", "40", command], check=True)
    deadline, lines = time.monotonic() + 20, []
    try:
        while lines != expected and time.monotonic() < deadline:
            time.sleep(0.05)
            done = subprocess.run([*server, "capture-pane", "-p"], stdout=subprocess.PIPE, check=True)
            lines = [line.rstrip() for line in done.stdout.decode().split("\n")[:40]]
    finally:
        subprocess.run([*server, "kill-server"], check=True)
    return lines


# Keys of the screen.


async def see_toast(s, *texts):
    """Wait for a toast that contains all ``texts``, possibly broken across lines."""

    def toast_text():
        toasts = s.app.screen.query("Toast")
        try:
            return " ".join(s.text(toasts.last()).replace("▌", " ").split()) if toasts else ""
        except NoWidget:  # not laid out yet
            return ""

    await s.until(
        lambda: all(text in toast_text() for text in texts), lambda: f"expected {texts}: {toast_text()}"
    )


async def wait_until_saved(s, folder, count):
    await s.until(lambda: len(list(folder.glob("*.png"))) == count, f"{count} PNG")
    await see_toast(s, "saved ")
    s.app.clear_notifications()
    await s.until(lambda: not s.app.screen.query("Toast"), "toasts are gone")


def texts_of(picture):
    """Return the texts of an SVG file."""
    elements = ElementTree.fromstring(picture.read_text("utf-8")).iter()
    return [element.text.strip() for element in elements if element.text and element.text.strip()]


async def draw_in_process(svg):
    return to_png(svg)


@pytest.mark.real
async def test_s_saves_the_screen_and_shift_s_the_focused_or_first_chart(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "shown [here]"  # brackets are markup elsewhere
    async with stage(pictures=Path(folder.name)) as s:
        await s.switch_on("threads", "asyncio", tasks=2_000)
        await s.run(5)
        lines = s.lines()
        s.app.picture_cells = True
        await s.press("s")
        await see_toast(s, "saved shown [here]/concwatch-", ".svg", ".png")
        await wait_until_saved(s, folder, 1)
        (svg,), (png,) = folder.glob("*.svg"), folder.glob("*.png")
        assert sorted(folder.iterdir()) == [svg.with_suffix(".png"), svg] == [png, svg]
        assert svg_lines(svg.read_text("utf-8"), 120, 40) == lines
        assert open_picture(png.read_bytes()).width > 1_400

        monkeypatch.setattr("concwatch.ui.picture_files.draw_png", draw_in_process)
        await s.press("S")
        await wait_until_saved(s, folder, 2)
        (rss,) = (path for path in folder.glob("*.svg") if re.match(r"concwatch-rss-\d{4}-", path.name))
        chart = s.chart("created_per_second")
        chart.focus()
        await s.settle()
        await s.press("S")
        await wait_until_saved(s, folder, 3)
        (rate,) = folder.glob("concwatch-created-s-2*.svg")
        assert {"created / s", "threads 0/s", "asyncio 0/s"} <= set(texts_of(rate))
        conditions = texts_of(rate)[-1]
        assert conditions.startswith("each task sleeps 10 s · untraced · CPython")
        picture = open_picture(rate.with_suffix(".png").read_bytes())
        assert picture.size == (1280, 720)
        assert picture.getchannel("A").getextrema() == (255, 255), "opaque"

        # By the palette, which is not in the picture itself.
        s.chart("rss").focus()
        await s.press("ctrl+p")
        await s.sees("Search for commands")
        for letter in "Chart scr":
            await s.press("space" if letter == " " else letter)
        await s.sees("Chart screenshot")
        await s.press("enter")
        await wait_until_saved(s, folder, 4)
        (last,) = set(folder.glob("*.svg")) - {svg, rss, rate}
        assert "RSS" in texts_of(last)

        for chart in s.monitor.query("Chart"):
            chart.display = False
        await s.settle()
        await s.press("S")
        await see_toast(s, "no chart is visible")
        assert len(list(folder.iterdir())) == 8


async def test_drawing_a_png_does_not_block_the_screen_and_quitting_waits_only_briefly(tmp_path, monkeypatch):
    finish = asyncio.Event()
    finish.set()

    async def draw_slowly(svg):
        await finish.wait()
        return b"a PNG"

    monkeypatch.setattr("concwatch.ui.picture_files.can_draw", lambda: True)
    monkeypatch.setattr("concwatch.ui.picture_files.draw_png", draw_slowly)
    monkeypatch.setattr("concwatch.ui.lanes_app.PICTURE_TIMEOUT", 0.1)
    async with stage(pictures=tmp_path / "quit") as s:  # quitting waits for a picture just requested
        await s.press("s", "q")
        await s.until(lambda: not s.app.is_running, "the app ends")
    assert sorted(path.suffix for path in (tmp_path / "quit").iterdir()) == [".png", ".svg"]
    finish.clear()
    async with stage(pictures=tmp_path) as s:
        await s.press("s", "3", "plus")
        await s.run(1)
        assert s.lane("asyncio").live
        assert not list(tmp_path.glob("*.png"))
        finish.set()
        await wait_until_saved(s, tmp_path, 1)
        finish.clear()
        await s.press("s", "q")
        await s.until(lambda: not s.app.is_running, "the app ends")
    assert sorted(path.suffix for path in tmp_path.glob("*.*")) == [".png", ".svg", ".svg"]


async def test_without_the_extra_s_saves_svg_and_explains_png_once(tmp_path, monkeypatch):
    monkeypatch.setattr(png, "can_draw", lambda: False)
    monkeypatch.setattr("concwatch.ui.picture_files.can_draw", lambda: False)
    async with stage(pictures=tmp_path) as s:
        await s.press("s")
        await see_toast(s, "saved", "pip install 'concwatch[shots]'")
        await s.press("s")
        await s.until(lambda: len([*tmp_path.iterdir()]) == 2, "a second picture")
        await see_toast(s, "saved")
        assert "pip" not in s.text(s.toast())
        assert [path.suffix for path in tmp_path.iterdir()] == [".svg"] * 2
        second = max(tmp_path.iterdir()).read_text(encoding="utf-8")
        assert "saved" not in second, "the toast of the first picture is not in the second"


async def test_a_png_that_cannot_be_saved_is_reported_in_one_toast(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    replace, png = os.replace, asyncio.Future()

    def refuse_process(*command, **options):
        raise BlockingIOError(11, "Resource temporarily unavailable")

    def refuse_file(old, new):
        if str(new).endswith(".png"):
            raise OSError(28, "No space left on device", str(new))
        replace(old, new)

    png.set_result(b"a PNG")
    async with stage(pictures=Path()) as s:
        with monkeypatch.context() as patched:
            patched.setattr(subprocess, "Popen", refuse_process)
            await s.press("s")
            await see_toast(s, "but no PNG", "Resource temporarily unavailable")
        s.app.clear_notifications()
        monkeypatch.setattr("concwatch.ui.picture_files.draw_png", lambda svg: png)
        monkeypatch.setattr(os, "replace", refuse_file)
        await s.press("s")
        await see_toast(s, "but no PNG", "No space left on device")
        assert len(s.app.screen.query("Toast")) == 1
        assert [path.suffix for path in tmp_path.iterdir()] == [".svg"] * 2


def test_picture_names_are_unique_among_svg_and_png(tmp_path):
    now = datetime(2026, 1, 2, 3, 4, 5)
    names = []
    for suffix in (".svg", ".png", ".svg"):
        path = picture_path(tmp_path, now, "created / s")
        names.append(path.name)
        path.with_suffix(suffix).touch()
    stem = "concwatch-created-s-2026-01-02-030405"
    assert names == [f"{stem}.svg", f"{stem}-2.svg", f"{stem}-3.svg"]
