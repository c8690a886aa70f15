"""Pictures and films of the screen: charts as vectors over the grid of text."""

import io
import re

import pytest
from PIL import Image

from concwatch.charts.symbols import OCTANTS
from concwatch.charts.ticks import column_of
from concwatch.demos.screen_strips import screen_strips
from concwatch.pictures.cells import CELL_HEIGHT, CELL_WIDTH, split_texts
from concwatch.pictures.film import Frame, make_film
from concwatch.pictures.glyphs import HEIGHT, WIDTH
from concwatch.pictures.png import to_png
from concwatch.pictures.vectors import PLACEHOLDERS, corner
from concwatch.ui.apps.screen_vectors import screen_svg, vector_charts
from tests.screen import stage, svg_lines

ASYNCIO = (0x59, 0xC9, 0xF0)


def near(one, other, limit=90):
    return all(abs(a - b) <= limit for a, b in zip(one, other, strict=False))


async def measured(s):
    """Hold 10,000 tasks and 2,000 threads for some seconds."""
    await s.switch_on("asyncio", tasks=10_000)
    await s.switch_on("threads", tasks=2_000)
    await s.run(6)
    s.lab.add_note("a note", s.lab.clock())
    await s.run(3)


async def test_a_picture_has_the_text_of_the_screen_and_its_charts_as_lines():
    async with stage() as s:
        await measured(s)
        before = s.lines()
        svg = screen_svg(s.app, "concwatch")
        assert svg == screen_svg(s.app, "concwatch"), "the same, byte by byte"
        assert s.lines() == before, "the screen is as it was"
        assert not [letter for letter in svg if ord(letter) in PLACEHOLDERS]
        in_plots = re.compile(r"[⠀-⣿┈─┴┊▴●×▀]")
        assert [in_plots.sub(" ", line).split() for line in svg_lines(svg, 120, 40)] == [
            in_plots.sub(" ", line).split() for line in before
        ]
        assert len(re.findall("<clipPath id=.chart-", svg)) == 4
        assert to_png(svg).startswith(b"\x89PNG")
        cells = screen_svg(s.app, "concwatch", cells=True)
        assert svg_lines(cells, 120, 40) == before
        assert "chart-" not in cells.replace("#chart-", "")


async def test_a_line_of_a_picture_is_at_its_value_and_the_lines_end_at_the_labels():
    async with stage() as s:
        await measured(s)
        rss = s.chart("rss")
        inside, picture = rss.content_region, rss.picture
        svg = screen_svg(s.app, "concwatch")
        x, y = re.search(r'translate\(([\d.]+), ([\d.]+)\)"><g style="clip-path: url\(#chart-', svg).groups()
        assert float(x) == pytest.approx((inside.x + 6) * CELL_WIDTH, abs=0.1)
        assert float(y) == pytest.approx(inside.y * CELL_HEIGHT + 1.5, abs=0.1)
        (line,) = [line for line in rss.plot.lines if line.name == "asyncio"]
        row = picture.scale.row(line.values[-1])
        end = f"{(picture.rows - row - 0.5) * CELL_HEIGHT:.1f}"
        paths = re.findall(r'<path d="([^"]*)" fill="none" stroke="#59c9f0"', svg)
        assert paths[0].endswith(f" {end}")


async def test_a_dialog_over_a_chart_stays_in_front_of_its_lines():
    async with stage() as s:
        await measured(s)
        await s.press("w")
        svg = screen_svg(s.app, "concwatch")
        assert "chart-" not in svg, "behind a dialog, charts are cells"
        await s.press("escape")
        s.app.notify("covers a part", timeout=100)
        await s.sees("covers a part")
        before = s.lines()
        drawn = svg_lines(screen_svg(s.app, "concwatch"), 120, 40)
        at = next(number for number, line in enumerate(before) if "covers a part" in line)
        assert "covers a part" in drawn[at]


def test_the_corner_of_a_plot_is_found_if_enough_of_it_is_visible():
    whole = [(row, 10, 34) for row in range(5, 17)]
    assert corner(whole, 12, 24) == (5, 10)
    assert corner([*whole[:4], (9, 10, 20), (10, 10, 20), *whole[6:]], 12, 24) == (5, 10)
    assert corner(whole[3:], 12, 24) is None
    assert corner([(row, 10, 20) for row in range(5, 17)], 12, 24) is None
    assert corner([], 12, 24) is None


async def test_a_film_has_the_lines_in_their_colours_and_changes_with_them():
    async with stage() as s:
        await measured(s)
        frames = []
        for number in range(3):
            with vector_charts(s.app) as charts:
                frames.append(Frame(number, list(map(list, screen_strips(s.app))), charts))
            s.lab.set_target(s.lane("asyncio"), 100_000)
            await s.run(3)
        film = make_film(frames)
        assert film == make_film(frames)
        picture = Image.open(io.BytesIO(film))
        assert picture.n_frames == 3
        rss = s.chart("rss")
        inside = rss.content_region
        column = column_of(rss.plot.end - 1.0, rss.plot.end, rss.plot.length, rss.picture.columns)
        x = (inside.x + 6 + column) * WIDTH
        heights = []
        for number in range(3):
            picture.seek(number)
            shown = picture.convert("RGB")
            ys = range(inside.y * HEIGHT, (inside.bottom - 1) * HEIGHT)
            heights.append([y for y in ys if near(shown.getpixel((x, y)), ASYNCIO)])
        assert all(0 < len(found) <= 4 for found in heights), "a thin line"
        assert heights[0] != heights[2]


def test_octants_which_fonts_lack_are_drawn_as_rectangles():
    app_svg = (
        '<text class="t-r1" x="12.2" y="20" textLength="24.4" clip-path="url(#t-line-0)">'
        f"{OCTANTS.characters[1]}a</text>"
    )
    drawn = split_texts(app_svg)
    assert '<path class="t-r1" d="M12.20 19.80h6.10v6.10h-6.10z"/>' in drawn
    assert ">a</text>" in drawn
