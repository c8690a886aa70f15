"""The pen of the live charts, held against plotext's."""

import itertools

import plotext
from hypothesis import given, settings
from hypothesis import strategies as st

from concwatch.charts.strokes import UP, between, rasterize

COLUMNS, ROWS = 20, 10
QUADRANTS = {
    "▖": 1,
    "▘": 2,
    "▌": 3,
    "▗": 4,
    "▄": 5,
    "▚": 6,
    "▙": 7,
    "▝": 8,
    "▞": 9,
    "▀": 10,
    "▛": 11,
    "▐": 12,
}
QUADRANTS |= {"▟": 13, "▜": 14, "█": 15, " ": 0}
DOTS = {1: (0, 0), 2: (0, 1), 4: (1, 0), 8: (1, 1)}
"""Column and row of each quarter of a block, from its lower left corner."""


def dots(rows):
    """Return column and row of every dot that is set, from the lower left corner."""
    return {
        (2 * x + dx, UP * y + dy)
        for y, row in enumerate(reversed(rows))
        for x, character in enumerate(row)
        for bit, (dx, dy) in DOTS.items()
        if QUADRANTS[character] & bit
    }


def drawn_by_plotext(path):
    plotext.terminal.limit(False, False)
    figure = plotext.figure.clear()
    figure.canvas("default").axes(False)
    figure.ruler(["x", "y"]).frequency(0).alignment(lim="edge")
    figure.plot_size(COLUMNS, ROWS)
    figure.ruler("x").lim(0, 2 * COLUMNS)
    figure.ruler("y").lim(0, UP * ROWS)
    # A dot's middle is half a dot from its edge.
    xs, ys = [x + 0.5 for x, _ in path], [y + 0.5 for _, y in path]
    figure.draw(figure.signal(xs, ys, marker=plotext.marker("hd")).lines())
    return figure.build().string(colorless=True).splitlines()


paths = st.lists(
    st.tuples(st.integers(0, 2 * COLUMNS - 1), st.integers(0, UP * ROWS - 1)), min_size=1, max_size=8
).map(lambda path: tuple(sorted(path, key=lambda dot: dot[0])))


@given(paths)
@settings(max_examples=100)
def test_a_line_runs_where_plotext_draws_it(path):
    ours, theirs = dots(rasterize((path,), COLUMNS, ROWS)), dots(drawn_by_plotext(path))
    assert set(path) <= ours

    def beside(dot, others):
        return any(abs(dot[0] - x) <= 1 and abs(dot[1] - y) <= 1 for x, y in others)

    # Halves are rounded differently, so by one dot they may differ.
    assert all(beside(dot, theirs) for dot in ours)
    assert all(beside(dot, ours) for dot in theirs)


@given(paths)
def test_a_line_has_no_holes_and_is_one_dot_thick(path):
    for start, end in itertools.pairwise(path):
        found = dots(rasterize(((start, end),), COLUMNS, ROWS))
        assert len(found) == max(abs(end[0] - start[0]), abs(end[1] - start[1])) + 1
        columns = {x for x, _ in found}
        assert columns == set(range(start[0], end[0] + 1))
        assert len({y for _, y in found}) == abs(end[1] - start[1]) + 1


def test_several_paths_do_not_touch():
    rows = rasterize((((0, 0), (3, 0)), ((10, 19), (10, 19)), ((20, 5),)), COLUMNS, ROWS)
    assert dots(rows) == {(0, 0), (1, 0), (2, 0), (3, 0), (10, 19), (20, 5)}
    assert {len(row) for row in rows} == {COLUMNS}
    assert rasterize((), 3, 2) == ("   ", "   ")


def test_a_band_holds_the_cells_from_its_lower_edge_to_its_upper_one_but_not_the_floor():
    rows = between(("   ", "   ", " ▄ ", "▄ ▄"), ("▄  ", " ▄ ", "  ▄", "   "))
    assert rows == (
        (True, False, False),
        (True, True, False),
        (True, True, True),
        (False, False, False),
    )
