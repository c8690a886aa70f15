"""The rules of the layout: what each size of terminal shows for a number of lanes.

The lanes stand beside the charts, or above them if the terminal is too small for that. `BESIDE`, `ABOVE` and
`CARDS` say what goes first if there is too little room: events, gaps and frames, the row of the answer, the
row of what limits the lanes; then the table folds into the lanes' own lines, so that the cost of a task is
always in sight; last goes the chart.

Charts and the header of the table keep their places when rows of several hosts are unfolded: there is room
for more lanes from the start, their lines in the table take rows of the events, and cards beside the charts
are smaller only if all are in sight then; else they scroll.
"""

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

NEEDED = 60, 14
"""The minimum columns and rows for the screen."""

BESIDE_WIDTH, BESIDE_HEIGHT = 100, 34
"""The fewest columns and rows of a terminal with the lanes beside the charts."""

SIDE, WIDE_SIDE = (40, 48)
"""The columns of the lanes beside the charts, and from `WIDE` columns on."""

WIDE, ROOMY = 160, 50
"""The columns from which on the lanes are wider, and the rows from which on there are more events."""

FRAME = 2
"""The rows of a frame."""

CHART = 5 + FRAME
"""The fewest rows of a chart, with its frame."""

SHOWN = 12
"""The lanes that a chart may not displace; if there are more, the others scroll."""

TABLE = 5
"""The fewest lanes in the table if there are more than `SHOWN`; the others are counted below them."""

SPARE_BESIDE, SPARE_ABOVE = 7, 2
"""The lanes for which rows are kept free beside and above the charts, if rows of hosts can be unfolded."""

CHART_COLUMNS = ((240, 5), (210, 4), (160, 3), (100, 2))
"""The columns of charts, for the fewest columns of a terminal; in a smaller one there is a single chart."""

CARDS = ((4, 6), (3, 6), (3, 3), (2, 6), (2, 3), (1, 6), (1, 3))
"""The rows of a card and of the settings beside the charts, the best first."""


class Below(Struct, frozen=True):
    """What is shown below the lanes and charts, and the fewest rows that the charts must have then."""

    table: bool
    """Whether the cost table is shown; else the lanes' own lines have the cost."""
    answer: bool
    """Whether there is a row for the answer; a framed table has it in its frame."""
    limits: bool
    """Whether there is a row for what limits the lanes."""
    events: int
    """Rows of events."""
    framed: bool
    chart: int
    """The fewest rows of all charts, with their frames."""


BESIDE = (
    Below(True, False, True, 4, True, 2 * CHART),
    Below(True, False, True, 2, True, 2 * CHART),
    Below(True, True, True, 2, False, CHART),
    Below(True, True, True, 1, False, CHART),
)
ABOVE = (
    Below(True, True, True, 3, False, CHART + 2),
    Below(True, True, True, 1, False, CHART + 2),
    Below(True, True, True, 1, False, CHART),
    Below(True, False, True, 1, False, CHART),
    Below(True, False, False, 1, False, CHART),
    Below(True, False, False, 0, False, CHART),
    Below(False, True, True, 3, False, CHART),
    Below(False, True, True, 1, False, CHART),
    Below(False, False, True, 1, False, CHART),
    Below(False, False, False, 0, False, CHART),
    Below(False, False, False, 0, False, 0),
)
"""What is below the lanes if they stand beside the charts, and above them; the best first."""


class Layout(Struct, frozen=True):
    """The rows of everything on a screen of lanes."""

    beside: bool
    """Whether the lanes stand beside the charts."""
    side: int
    """Columns of the lanes, with their frame."""
    lanes: int
    """For how many lanes there is room; others scroll."""
    card: int
    """Rows of a lane: 4 with a gap, 3, 2, or 1."""
    settings: int
    """Rows of the settings."""
    listed: int
    """Rows of the table for lanes; others are counted."""
    below: Below
    events: int
    """Rows of events, without their frame."""
    chart: int
    """Rows of all charts, with their frames; 0 without."""

    @property
    def table(self) -> int:
        """Rows of the cost table, with the answer and the limits; 0 if there is room for none of them."""
        return table_rows(self.below, self.listed)

    @property
    def card_width(self) -> int:
        """Columns of a card."""
        return self.side - 2 * self.beside - 1  # a scrollbar

    def unfolded(self, lanes: int) -> "Layout":
        """Return the layout for ``lanes``, which may be more than without unfolded rows."""
        found = self
        if self.beside and lanes > self.lanes:
            fitting = [each for each in CARDS if lanes * each[0] + each[1] + FRAME <= self.chart]
            card, settings = fitting[0] if fitting else (self.card, self.settings)
            found = replace(self, lanes=lanes, card=card, settings=settings)
        more = min(lanes - self.listed, self.events - 1) if self.below.table else 0
        if more > 0:
            found = replace(found, listed=self.listed + more, events=self.events - more)
        return found


def is_large_enough(width: int, height: int) -> bool:
    """Return whether a terminal is large enough for the screen."""
    return width >= NEEDED[0] and height >= NEEDED[1]


def chart_columns(width: int) -> int:
    """Return the columns of charts in a terminal of ``width`` columns."""
    return next((columns for least, columns in CHART_COLUMNS if width >= least), 1)


def table_rows(below: Below, lanes: int) -> int:
    """Return the rows of the cost table, with those of the answer and the limits, and its frame."""
    return (1 + lanes) * below.table + below.answer + below.limits + FRAME * below.framed


def layout(width: int, height: int, lanes: int, bars: int = 2, most: int = 0) -> Layout:
    """Return the layout of lanes in a terminal.

    Args:
        width: the columns of the terminal.
        height: its rows.
        lanes: the number of lanes if no row is unfolded.
        bars: the rows that are used otherwise.
        most: the number of lanes if all rows are unfolded.
    """
    rows, most = height - bars, max(lanes, most)
    return next(_beside(width, rows, lanes, most), None) or next(_above(width, rows, lanes, most))


def _beside(width: int, rows: int, lanes: int, most: int) -> Iterator[Layout]:
    """Yield the layouts with the lanes beside the charts that fit, the best first."""
    side = WIDE_SIDE if width >= WIDE else SIDE
    if width < BESIDE_WIDTH or rows < BESIDE_HEIGHT - 2:
        return
    for shown in range(lanes, min(lanes, SHOWN) - 1, -1):
        held = max(shown, min(most, lanes + SPARE_BESIDE, SHOWN))
        more = [replace(BESIDE[0], events=8)] if rows >= ROOMY - 2 else []
        for below in (*more, *BESIDE):
            for listed in range(shown, min(shown, SHOWN if lanes <= SHOWN else TABLE) - 1, -1):
                rest = rows - table_rows(below, listed) - below.events - FRAME * below.framed
                # More events only if each lane has a row for its label in two charts, one above the other.
                chart = 2 * (shown + 1 + FRAME) if below.events > BESIDE[1].events else below.chart
                for card, settings in CARDS:
                    if rest >= max(chart, below.chart, held * card + settings + FRAME):
                        yield Layout(True, side, held, card, settings, listed, below, below.events, rest)


def _above(width: int, rows: int, lanes: int, most: int) -> Iterator[Layout]:
    """Yield the layouts with the lanes above the charts that fit, the best first; there is always one."""
    rows -= 1  # the settings
    for below in ABOVE:
        shown = min(lanes, SHOWN if below.chart else rows)
        rest = rows - shown - table_rows(below, shown) - below.events
        if rest >= below.chart:
            spare = max(0, min(most - shown, SPARE_ABOVE, rest - CHART if below.chart else rest - 1))
            rest -= spare
            events, chart = (below.events, rest) if below.chart else (rest, 0)
            yield Layout(False, width, shown + spare, 1, 1, shown, below, events, chart)
