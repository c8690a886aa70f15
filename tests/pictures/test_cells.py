"""The cells of a terminal, as films have them."""

import pytest
from rich.segment import Segment
from rich.style import Style

from concwatch.demos.screen_strips import screen_strips
from concwatch.pictures import glyphs
from concwatch.pictures.cells import Glyph, read_cells
from tests.pictures.terminals import segments
from tests.screen import stage


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
