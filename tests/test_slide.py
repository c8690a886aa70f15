"""Charts for slides: what stands on them, and that the same data make the same picture."""

import math
import re
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner
from msgspec import structs

from concwatch.charts.lines import Line
from concwatch.charts.plot import Plot
from concwatch.charts.scales import BYTES
from concwatch.charts.slide import Slide, draw_slide, parse_size
from concwatch.charts.ticks import elapsed_ticks
from concwatch.cli import main
from concwatch.pictures.png import to_png
from tests.made_recording import made_lines
from tests.screen import stage

MIB = 1 << 20
TIMES = [float(second) for second in range(61)]
CLIMB = Line("asyncio", "#59c9f0", TIMES, [second * MIB for second in range(61)])
LEVEL = Line("<threads>", "#ff7a85", TIMES, [30 * MIB] * 61)
NAMESPACE = "{http://www.w3.org/2000/svg}"


def slide(*lines):
    plot = Plot("RSS", BYTES, lines, 60.0, across=elapsed_ticks)
    return Slide(plot, ("each task waits", "untraced", "CPython 3.11.7"))


def texts(svg):
    return [text.text for text in ElementTree.fromstring(svg).iter(f"{NAMESPACE}text")]


def test_title_names_values_ticks_and_conditions_stand_on_it():
    found = texts(draw_slide(slide(CLIMB, LEVEL)))
    assert found[0] == "RSS"
    assert {"asyncio 60 MiB", "<threads> 30 MiB", "asyncio", "<threads>", "40 MiB", "0s", "60s"} <= set(found)
    assert found[-1] == "each task waits · untraced · CPython 3.11.7"


def test_the_same_data_make_the_same_picture_of_the_size_that_is_asked_for():
    one, other = (draw_slide(slide(CLIMB, LEVEL), (1920, 1080), 1.5) for _ in range(2))
    assert one == other != draw_slide(slide(CLIMB, LEVEL), (1920, 1080))
    root = ElementTree.fromstring(one)
    assert (root.get("width"), root.get("height")) == ("1920", "1080")
    places = [float(number) for number in re.findall(r"[ML](-?[\d.]+) ", one)]
    assert 0 <= min(places) <= max(places) <= 1920


def test_a_band_lies_between_its_edges():
    half, twice = ([value * factor for value in CLIMB.values] for factor in (0.5, 2))
    svg = draw_slide(slide(structs.replace(CLIMB, band=(half, twice))))
    (band,) = re.findall(r'<path d="([^"]*)" fill="#59c9f0" fill-opacity="0.2"', svg)
    (line,) = re.findall(r'<path d="([^"]*)" fill="none" stroke="#59c9f0"', svg)

    def highest(path):
        return min(float(y) for _, y in re.findall(r"[ML](-?[\d.]+) (-?[\d.]+)", path))

    assert "100 MiB" in texts(svg)
    assert highest(band) < highest(line)
    assert band.count("M") == band.count("Z") == 1


def test_a_lone_line_has_its_area_and_gaps_are_left_open():
    assert 'fill-opacity="0.2"' in draw_slide(slide(CLIMB))
    assert "fill-opacity" not in draw_slide(slide(CLIMB, LEVEL))
    values = [10.0 * MIB] * 20 + [math.nan] * 20 + [10.0 * MIB] * 21
    (path,) = re.findall(
        r'<path d="([^"]*)" fill="none"', draw_slide(slide(Line("a", "#ffffff", TIMES, values)))
    )
    assert path.count("M") == 2


def test_names_that_would_lie_on_each_other_are_moved_apart():
    close = [Line(name, "#ffffff", TIMES, [30 * MIB] * 61) for name in ("one", "two", "three")]
    svg = draw_slide(slide(*close))
    heights = [float(y) for y in re.findall(r'y="([\d.]+)"[^>]*>(?:one|two|three)<', svg)]
    assert min(b - a for a, b in zip(sorted(heights), sorted(heights)[1:], strict=False)) >= 20


@pytest.mark.parametrize("text", ["", "1920", "1920x", "x1080", "10x10", "99999x99999", "19e2x1080"])
def test_a_size_that_is_none_is_one_line(text):
    with pytest.raises(ValueError, match="expected pixels such as"):
        parse_size(text)


def test_it_is_drawn_as_png_in_its_own_size():
    png = to_png(draw_slide(slide(CLIMB), (640, 360)))
    assert png[:4] == b"\x89PNG"
    assert (int.from_bytes(png[16:20]), int.from_bytes(png[20:24])) == (640, 360)


def test_a_recording_is_exported_as_one_and_what_it_lacks_is_said(tmp_path):
    path = tmp_path / "made.jsonl"
    path.write_bytes(b"".join(made_lines(12.0, 4.0, 2)))
    invoke = CliRunner().invoke
    wanted = ("export", str(path), "--chart-svg", "--size=1920x1080", "--light", "--scale=2")
    done = invoke(main, wanted)
    assert done.exit_code == 0, done.stderr
    assert "RSS" in texts(done.stdout)
    assert done.stdout == invoke(main, wanted).stdout
    for option, expected in (("--metric=nothing", "is not one of"), ("--size=1x1", "expected pixels")):
        wrong = invoke(main, ("export", str(path), "--chart-svg", option))
        assert (wrong.exit_code, wrong.stdout) == (2, "")
        assert expected in wrong.stderr


async def test_a_slide_of_the_screen_says_what_was_measured():
    async with stage() as s:
        await s.switch_on("asyncio", tasks=1_000)
        await s.run(3)
        assert {"each task sleeps 10 s", "untraced"} <= set(s.app.conditions())
