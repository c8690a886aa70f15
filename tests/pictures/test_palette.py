"""The colours of a film."""

from hypothesis import given, settings
from hypothesis import strategies as st

from concwatch.pictures.palette import MAX_COLORS, make_palette


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
