"""Films of a terminal."""

import pytest
from PIL import ImageChops, ImageSequence

from concwatch.pictures import film, glyphs
from concwatch.pictures.film import LAST_FRAME_SECONDS, Frame, make_film
from tests.pictures.terminals import open_picture, segments


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
