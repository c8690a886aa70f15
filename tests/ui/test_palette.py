"""The contrast of lanes and texts in every theme."""

import pytest
from textual.color import Color

from concwatch.charts.colors import ON_DARK, ON_LIGHT
from concwatch.ui.look.palette import ALL_THEMES, FEW_COLORS, TEXT, THEMES, contrast, readable
from tests.screen import stage

TEXTS = ("foreground", "primary", "accent", "warning", "error", "success", "dim")
BACKGROUNDS = ("background", "surface", "panel")


def test_contrast_follows_wcag():
    black, white = Color.parse("#000000"), Color.parse("#ffffff")
    assert contrast(black, white) == contrast(white, black) == pytest.approx(21)
    assert contrast(Color.parse("#777777"), white) == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("name", sorted(ALL_THEMES))
def test_lanes_and_texts_have_enough_contrast_in_every_theme(name):
    theme = readable(ALL_THEMES[name])
    colors = {**theme.to_color_system().generate(), **theme.variables}
    if theme.ansi:
        assert colors["dim"]
        return  # the terminal defines the colours
    lanes = ON_DARK if theme.dark else ON_LIGHT
    screen = Color.parse(colors["background"])
    assert min(contrast(Color.parse(color), screen) for color in lanes) >= TEXT
    for text in TEXTS:
        for background in BACKGROUNDS:
            ratio = contrast(Color.parse(colors[text]), Color.parse(colors[background]))
            assert ratio >= TEXT - 0.02, f"{text} on {background}"


async def test_stop_all_looks_like_a_button_in_every_kind_of_theme():
    async with stage() as s:
        await s.switch_on("asyncio", tasks=100)
        await s.run(1)
        panel = s.monitor.query_one("CommonPanel")
        for name in (THEMES[0].name, FEW_COLORS, "atom-one-light", "nord"):
            s.app.theme = name
            await s.settle()
            await s.sees("100 live")
            x, y = s.place("stop all", panel)
            button, setting = (
                s.app.screen.get_style_at(panel.region.x + at, panel.region.y + y) for at in (x, 1)
            )
            assert button.reverse or button.bgcolor != setting.bgcolor, name
