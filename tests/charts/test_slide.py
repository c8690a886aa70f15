"""Charts for slides."""

import math
import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from msgspec import structs

from concwatch.charts.annotations import Annotation
from concwatch.charts.painters.slide import Slide, draw_slide, parse_size
from concwatch.charts.plot import Line, Plot
from concwatch.charts.ticks import elapsed_ticks
from concwatch.monitor.metrics.unit import BYTES
from concwatch.pictures.png import to_png
from tests.command_line import invoke
from tests.made_recording import made_lines

MIB = 1 << 20
TIMES = [float(second) for second in range(61)]
CLIMB = Line("asyncio", "#59c9f0", TIMES, [second * MIB for second in range(61)])
LEVEL = Line("<threads>", "#ff7a85", TIMES, [30 * MIB] * 61)
GAP = structs.replace(CLIMB, values=[10.0 * MIB] * 20 + [math.nan] * 20 + [10.0 * MIB] * 21)
BAND = structs.replace(CLIMB, band=tuple([value * by for value in CLIMB.values] for by in (0.5, 2)))


def slide(*lines):
    plot = Plot("RSS", BYTES, lines, 60.0, x_ticks=elapsed_ticks)
    return Slide(plot, ("each task waits", "untraced", "CPython 3.11.7"))


def texts(svg):
    return [text.text for text in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]


def test_a_slide_has_title_names_values_ticks_and_conditions():
    labels = texts(draw_slide(slide(CLIMB, LEVEL)))
    assert labels[0] == "RSS"
    assert {"asyncio 60 MiB", "<threads> 30 MiB", "asyncio", "<threads>", "40 MiB", "0s", "60s"} <= set(
        labels
    )
    assert labels[-1] == "each task waits · untraced · CPython 3.11.7"


def test_marks_of_an_axis_of_numbers_are_lines_with_their_number():
    plot = structs.replace(slide(CLIMB).plot, annotations=[Annotation(30.0, "#59c9f0", "48")])
    drawn = draw_slide(Slide(structs.replace(plot, over_time=False)))
    assert "48" in texts(drawn)
    [x] = re.findall(r'd="M([\d.]+) [\d.]+V[\d.]+" stroke="#59c9f0"', drawn)
    ends = [float(place) for place in re.findall(r'd="M([\d.]+) [\d.]+H([\d.]+)"', drawn)[0]]
    assert float(x) == pytest.approx(sum(ends) / 2, abs=3)
    assert "48" not in texts(draw_slide(Slide(plot))), "moments of time are in the event log"


def test_the_same_data_gives_the_same_picture_in_the_requested_size():
    one, other = (draw_slide(slide(CLIMB, LEVEL), (1920, 1080), 1.5) for _ in range(2))
    assert one == other != draw_slide(slide(CLIMB, LEVEL), (1920, 1080))
    root = ElementTree.fromstring(one)
    assert (root.get("width"), root.get("height")) == ("1920", "1080")
    places = [float(number) for number in re.findall(r"[ML](-?[\d.]+) ", one)]
    assert 0 <= min(places) <= max(places) <= 1920
    png = to_png(draw_slide(slide(CLIMB), (640, 360)))
    assert (png[:4], int.from_bytes(png[16:20]), int.from_bytes(png[20:24])) == (b"\x89PNG", 640, 360)


@pytest.mark.parametrize(
    ("lines", "areas", "stretches"),
    [((CLIMB,), 1, 1), ((CLIMB, LEVEL), 0, 1), ((GAP,), 2, 2), ((BAND,), 1, 1), ((BAND, LEVEL), 1, 1)],
    ids=["alone", "two", "gap", "band", "band of two"],
)
def test_bands_and_single_lines_have_an_area_and_gaps_are_left_open(lines, areas, stretches):
    svg = draw_slide(slide(*lines))
    shaded = "".join(re.findall(r'<path d="([^"]*)" fill="#59c9f0" fill-opacity="0.2"', svg))
    (line,) = re.findall(r'<path d="([^"]*)" fill="none" stroke="#59c9f0"', svg)
    assert (shaded.count("M"), shaded.count("Z"), line.count("M")) == (areas, areas, stretches)
    if BAND in lines:
        shaded_top, top = (
            min(float(y) for y in re.findall(r"[ML]-?[\d.]+ (-?[\d.]+)", path)) for path in (shaded, line)
        )
        assert shaded_top < top
        assert "100 MiB" in texts(svg)


def test_overlapping_names_are_moved_apart():
    close = [Line(name, "#ffffff", TIMES, [30 * MIB] * 61) for name in ("one", "two", "three")]
    svg = draw_slide(slide(*close))
    heights = [float(y) for y in re.findall(r'y="([\d.]+)"[^>]*>(?:one|two|three)<', svg)]
    assert min(after - before for before, after in pairwise(sorted(heights))) >= 20


@pytest.mark.parametrize("text", ["", "1920", "1920x", "x1080", "10x10", "99999x99999", "19e2x1080"])
def test_an_invalid_size_is_an_error_of_one_line(text):
    with pytest.raises(ValueError, match="expected pixels such as"):
        parse_size(text)


def test_a_recording_is_exported_as_a_slide(tmp_path):
    path = tmp_path / "made.jsonl"
    path.write_bytes(b"".join(made_lines(12.0, 4.0, 2)))

    def export(*arguments):
        return invoke("export", path, "--chart-svg", *arguments)

    options = ("--size=1920x1080", "--light", "--scale=2")
    done = export(*options)
    assert done.exit_code == 0, done.stderr
    assert "RSS" in texts(done.stdout)
    assert done.stdout == export(*options).stdout
    for option, expected in (("--metric=nothing", "is not one of"), ("--size=1x1", "expected pixels")):
        failed = export(option)
        assert (failed.exit_code, failed.stdout) == (2, "")
        assert expected in failed.stderr
