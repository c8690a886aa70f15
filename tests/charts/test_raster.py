"""The lines of the live charts, compared with those that plotext draws."""

import itertools
import unicodedata

import plotext
from hypothesis import given, settings
from hypothesis import strategies as st

from concwatch.charts.raster import between, fill, merge, rasterize
from concwatch.charts.symbols import BLOCKS, BRAILLE, OCTANTS, SYMBOLS, best_symbols

COLUMNS, ROWS = 20, 10
HEIGHT = BRAILLE.rows * ROWS
BRAILLE_DOTS = ((0, 3), (0, 2), (0, 1), (1, 3), (1, 2), (1, 1), (0, 0), (1, 0))
"""Column and row from the bottom of the dot of each bit of a braille character."""

PATHS = st.lists(
    st.tuples(st.integers(0, 2 * COLUMNS - 1), st.integers(0, HEIGHT - 1)), min_size=1, max_size=8
).map(lambda path: tuple(sorted(path, key=lambda dot: dot[0])))


def dots_of(columns):
    """Return column and row of every dot that is set in columns of dots."""
    return {(x, y) for x, column in enumerate(columns) for y in range(column.bit_length()) if column >> y & 1}


def dots_in(rows):
    """Return column and row of every dot that is set in rows of braille characters, the top row first."""
    return {
        (2 * x + dx, BRAILLE.rows * y + dy)
        for y, row in enumerate(reversed(rows))
        for x, character in enumerate(row)
        for bit, (dx, dy) in enumerate(BRAILLE_DOTS)
        if "⠀" <= character <= "⣿" and ord(character) - ord("⠀") >> bit & 1
    }


def drawn_by_plotext(path):
    plotext.terminal.limit(False, False)
    figure = plotext.figure.clear()
    figure.canvas("default").axes(False)
    figure.ruler(["x", "y"]).frequency(0).alignment(lim="edge")
    figure.plot_size(COLUMNS, ROWS)
    figure.ruler("x").lim(0, 2 * COLUMNS)
    figure.ruler("y").lim(0, HEIGHT)
    # A dot's middle is half a dot from its edge.
    xs, ys = [x + 0.5 for x, _ in path], [y + 0.5 for _, y in path]
    figure.draw(figure.signal(xs, ys, marker=plotext.marker("braille")).lines())
    return figure.build().string(colorless=True).splitlines()


@given(PATHS)
@settings(max_examples=50)
def test_a_line_is_within_one_dot_of_the_one_plotext_draws(path):
    ours, theirs = dots_of(rasterize(path, 2 * COLUMNS)), dots_in(drawn_by_plotext(path))
    assert set(path) <= ours

    def near(dot, others):
        return any(abs(dot[0] - x) <= 1 and abs(dot[1] - y) <= 1 for x, y in others)

    # Halves are rounded differently, and a riser stands in one column: lines may differ by one dot.
    assert all(near(dot, theirs) for dot in ours)
    assert all(near(dot, ours) for dot in theirs)


@given(PATHS)
def test_a_line_has_no_holes_and_is_one_dot_thick(path):
    for start, end in itertools.pairwise(path):
        drawn = dots_of(rasterize((start, end), 2 * COLUMNS))
        assert len(drawn) == max(abs(end[0] - start[0]), abs(end[1] - start[1])) + 1
        assert {x for x, _ in drawn} == set(range(start[0], end[0] + 1))
        assert len({y for _, y in drawn}) == abs(end[1] - start[1]) + 1


def test_several_paths_do_not_touch():
    drawn = rasterize(((0, 0), (3, 0), None, (10, 19), (10, 19), None, (20, 5)), 2 * COLUMNS)
    assert dots_of(drawn) == {(0, 0), (1, 0), (2, 0), (3, 0), (10, 19), (20, 5)}
    assert rasterize((), 3) == (0, 0, 0)


def test_a_jump_is_a_riser_of_one_column_and_so_is_a_spike():
    drawn = rasterize(((0, 2), (3, 2), (4, 20), (5, 2), (8, 2)), 9)
    assert [column.bit_count() for column in drawn] == [1, 1, 1, 1, 18, 1, 1, 1, 1]


def test_a_line_enters_where_it_crosses_the_left_edge():
    assert dots_of(rasterize(((-4, 0), (4, 8)), 5)) == {(column, 4 + column) for column in range(5)}
    assert rasterize(((-4, 0), (-1, 8)), 2) == (0, 0)


def test_a_dashed_line_has_gaps():
    assert rasterize(((0, 5), (7, 5)), 8, dashed=True) == (32, 32, 0, 0, 32, 32, 0, 0)


# Cells.


def level(row, columns=4):
    return rasterize(((0, row), (2 * columns - 1, row)), 2 * columns)


def characters(cells, row, columns=4):
    return [cells.get(row, {}).get(column, (" ", ""))[0] for column in range(columns)]


def test_two_lines_in_one_row_of_cells_are_both_visible_and_the_colour_is_that_of_the_one_on_top():
    cells = merge([(level(0), "red"), (level(2), "green")], BRAILLE)
    assert characters(cells, 0) == ["⣤"[:0] + chr(0x2800 + 0xC0 + 0x12)] * 4
    assert {color for _, color in cells[0].values()} == {"red"}


def test_a_line_that_touches_the_one_on_top_does_not_make_it_thicker():
    for below in (level(1), level(2)):
        cells = merge([(level(1), "red"), (below, "green")], BRAILLE)
        assert cells == merge([(level(1), "red")], BRAILLE)
    # In another cell it has its own colour.
    cells = merge([(level(3), "red"), (level(4), "green")], BRAILLE)
    assert {row: {color for _, color in each.values()} for row, each in cells.items()} == {
        0: {"red"},
        1: {"green"},
    }


def counts(areas):
    """Return how many columns of each row are in an area."""
    return [area.bit_count() for area in areas]


def test_the_area_below_a_line_ends_within_a_quarter_of_a_cell_of_it():
    for symbols in (OCTANTS, BLOCKS):
        for row in range(symbols.rows // 2, 4 * symbols.rows):
            dots = rasterize(((0, row), (7, row)), 8)
            thick, areas = fill(dots, 4, symbols)
            filled = counts(areas)
            height = sum(map(bool, filled))
            assert filled == [4] * height + [0] * (4 - height)
            if row < symbols.rows:
                assert height == 0, "nothing to fill above the axis"
                assert thick == dots
            else:
                lowest = (thick[0] & -thick[0]).bit_length() - 1
                assert lowest - symbols.rows * height in (-2, -1, 0)[symbols.rows == BLOCKS.rows :]
                assert thick[0].bit_count() <= 2


def test_the_area_below_a_line_that_jumps_up_and_down_has_no_notches():
    jumps = [6, 7, 8, 9, 11, 8, 6, 9, 5, 8, 10, 7, 9, 6, 8, 11]
    dots = rasterize(tuple(enumerate(jumps)), len(jumps))
    _, areas = fill(dots, 4, OCTANTS)
    assert counts(areas) == [8, 8, 0, 0]
    spike = [5] * 10 + [14] + [5] * 9
    assert fill(rasterize(tuple(enumerate(spike)), 20), 4, OCTANTS)[1] == fill(level(5, 10), 4, OCTANTS)[1]
    rise = rasterize(tuple(enumerate([4] * 6 + [5, 7, 10, 13, 14, 15] + [15] * 6)), 18)
    areas = fill(rise, 4, OCTANTS)[1]
    assert counts(areas) == [9, 5, 4, 4], "never above the line while it rises"


def test_a_gap_of_a_line_is_not_filled():
    dots = (*level(9, 3), *[0] * 6, *level(9, 3))
    _, areas = fill(dots, 4, OCTANTS)
    assert areas[0] == areas[1] == 0b111000111


def test_a_band_fills_the_cells_between_its_edges_except_the_bottom_row():
    areas = between(level(1), level(9), 4, BRAILLE)
    assert counts(areas) == [0, 4, 4, 0]


# Symbols.


def test_every_set_has_a_character_for_each_combination():
    for symbols in SYMBOLS.values():
        assert len(set(symbols.characters)) == len(symbols.characters) == 4**symbols.rows
    assert BLOCKS.characters == " ▖▘▌▗▄▚▙▝▞▀▛▐▟▜█"
    assert [OCTANTS.characters[dots] for dots in (0, 0b0011_0011, 0b1111, 255)] == [" ", "▄", "▌", "█"]
    newer = {character for character in OCTANTS.characters if "\U0001cd00" <= character <= "\U0001cde5"}
    assert len(newer) == 230
    for dots, character in enumerate(BRAILLE.characters):
        numbers = unicodedata.name(character).rpartition("-")[2]
        assert dots.bit_count() == (0 if numbers.endswith("BLANK") else len(numbers))


def test_auto_chooses_the_best_that_the_terminal_is_known_to_draw():
    for answer, environment, expected in (
        ("kitty(0.40.1)", {}, OCTANTS),
        ("kitty(0.26.5)", {}, BRAILLE),
        ("ghostty 1.2.0", {"TERM": "xterm-ghostty"}, OCTANTS),
        ("foot(1.13.1)", {}, BRAILLE),
        ("VTE(7802)", {}, OCTANTS),
        ("", {"VTE_VERSION": "7006"}, BRAILLE),
        ("", {"TERM_PROGRAM": "ghostty", "TERM_PROGRAM_VERSION": "1.3.1-arch2"}, OCTANTS),
        ("", {"TERM_PROGRAM": "tmux", "TERM_PROGRAM_VERSION": "3.4", "VTE_VERSION": "7802"}, BRAILLE),
        ("", {"TERM": "xterm-256color"}, BRAILLE),
        ("XTerm(396)", {}, BRAILLE),
        ("", {"TERM": "linux"}, BLOCKS),
    ):
        assert best_symbols(answer, environment) is expected, (answer, environment)
