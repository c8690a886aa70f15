"""The lines of the live charts, compared with those that plotext draws."""

import itertools

import plotext
from hypothesis import given, settings
from hypothesis import strategies as st

from concwatch.charts.raster import ROW_DOTS, between, rasterize

COLUMNS, ROWS = 20, 10
QUADRANTS = " ▖▘▌▗▄▚▙▝▞▀▛▐▟▜█"
"""Indexed by the sum of the quarters that are set: 1, 2, 4 and 8 for those of `DOTS`."""
DOTS = ((0, 0), (0, 1), (1, 0), (1, 1))
"""Column and row of each quarter of a block, from its lower left corner."""

PATHS = st.lists(
    st.tuples(st.integers(0, 2 * COLUMNS - 1), st.integers(0, ROW_DOTS * ROWS - 1)), min_size=1, max_size=8
).map(lambda path: tuple(sorted(path, key=lambda dot: dot[0])))


def dots(rows):
    """Return column and row of every dot that is set, from the lower left corner."""
    return {
        (2 * x + dx, ROW_DOTS * y + dy)
        for y, row in enumerate(reversed(rows))
        for x, character in enumerate(row)
        for bit, (dx, dy) in enumerate(DOTS)
        if QUADRANTS.index(character) >> bit & 1
    }


def drawn_by_plotext(path):
    plotext.terminal.limit(False, False)
    figure = plotext.figure.clear()
    figure.canvas("default").axes(False)
    figure.ruler(["x", "y"]).frequency(0).alignment(lim="edge")
    figure.plot_size(COLUMNS, ROWS)
    figure.ruler("x").lim(0, 2 * COLUMNS)
    figure.ruler("y").lim(0, ROW_DOTS * ROWS)
    # A dot's middle is half a dot from its edge.
    xs, ys = [x + 0.5 for x, _ in path], [y + 0.5 for _, y in path]
    figure.draw(figure.signal(xs, ys, marker=plotext.marker("hd")).lines())
    return figure.build().string(colorless=True).splitlines()


@given(PATHS)
@settings(max_examples=50)
def test_a_line_is_within_one_dot_of_the_one_plotext_draws(path):
    ours, theirs = dots(rasterize((path,), COLUMNS, ROWS)), dots(drawn_by_plotext(path))
    assert set(path) <= ours

    def near(dot, others):
        return any(abs(dot[0] - x) <= 1 and abs(dot[1] - y) <= 1 for x, y in others)

    # Halves are rounded differently: lines may differ by one dot.
    assert all(near(dot, theirs) for dot in ours)
    assert all(near(dot, ours) for dot in theirs)


@given(PATHS)
def test_a_line_has_no_holes_and_is_one_dot_thick(path):
    for start, end in itertools.pairwise(path):
        drawn = dots(rasterize(((start, end),), COLUMNS, ROWS))
        assert len(drawn) == max(abs(end[0] - start[0]), abs(end[1] - start[1])) + 1
        assert {x for x, _ in drawn} == set(range(start[0], end[0] + 1))
        assert len({y for _, y in drawn}) == abs(end[1] - start[1]) + 1


def test_several_paths_do_not_touch():
    rows = rasterize((((0, 0), (3, 0)), ((10, 19), (10, 19)), ((20, 5),)), COLUMNS, ROWS)
    assert dots(rows) == {(0, 0), (1, 0), (2, 0), (3, 0), (10, 19), (20, 5)}
    assert {len(row) for row in rows} == {COLUMNS}
    assert rasterize((), 3, 2) == ("   ", "   ")


def test_a_band_fills_the_cells_between_its_edges_except_the_bottom_row():
    rows = between(("   ", "   ", " ▄ ", "▄ ▄"), ("▄  ", " ▄ ", "  ▄", "   "))
    assert ["".join(" X"[inside] for inside in row) for row in rows] == ["X  ", "XX ", "XXX", "   "]
