"""Published figures against those measured here, over the number of tasks, both axes logarithmic."""

import math
from collections.abc import Mapping, Sequence

from textual.content import Content

from concwatch.charts.captions import Entry
from concwatch.charts.lines import Line
from concwatch.charts.plot import Plot
from concwatch.charts.scales import BYTES, RATE, SECONDS, Kind
from concwatch.charts.ticks import size_ticks
from concwatch.experiments.runner import TableFigure
from concwatch.measure.units import BYTES as BYTES_UNIT
from concwatch.measure.units import SCALES
from concwatch.measure.units import SECONDS as SECONDS_UNIT
from concwatch.ui.widgets.chart import Chart
from concwatch.units import format_short

PUBLISHED, HERE = "○", "●"

MARGIN = 0.06
"""Share of the x axis that stays free at either end."""

LEAST = math.log10(2)
"""Powers of ten that stay free at either end at least, where sizes lie close."""


def _decimal(size: float) -> str:
    text = format_short(size)
    return f"{text}B" if text[-1].isalpha() else f"{text} B"


DECIMAL_BYTES = Kind(_decimal, base=1000, smallest=1, calm=64_000, largest=1e15)
"""Bytes that were published by powers of ten."""


def kind_of(unit: str) -> Kind:
    """Return how the values of a table in ``unit`` are written on an axis."""
    kind, factor = SCALES[unit]
    if kind is BYTES_UNIT:
        return DECIMAL_BYTES if factor in (1e3, 1e6, 1e9) else BYTES
    return SECONDS if kind is SECONDS_UNIT else RATE


class SizeChart(Chart):
    """Draws one table of an experiment."""

    def __init__(self) -> None:
        super().__init__(Plot("by size", BYTES), hint="figures by size come here")
        self._names: list[Entry] = []

    def compare(
        self, figures: Sequence[TableFigure], colors: Mapping[str, str], dim: Mapping[str, str]
    ) -> None:
        """Draw the figures of one table.

        Args:
            figures: its lines.
            colors: ``#rrggbb`` by the name of the series, of what was measured here.
            dim: the same, of what was published.
        """
        self._names, kind = [], BYTES
        published: list[Line] = []
        here: list[Line] = []
        for name in dict.fromkeys(figure.entry.series.name for figure in figures):
            own = [figure for figure in figures if figure.entry.series.name == name]
            unit = own[0].entry.table.unit
            factor, kind = SCALES[unit][1], kind_of(unit)
            said = [(figure.entry.size, figure.entry.published) for figure in own]
            found = [(figure.entry.size, figure.here) for figure in own]
            published += _line(name, dim[name], said, factor, PUBLISHED)
            here += _line(name, colors[name], found, factor, HERE)
            self._names.append(Entry(name, "", colors[name]))
        lines = [*published, *here]
        places = [place for line in lines for place in line.times]
        low, high = min(places, default=0.0), max(places, default=0.0)
        margin = max(MARGIN * (high - low), LEAST if high - low < 2 * LEAST else 0.0)
        kinds = ((f"{PUBLISHED} published", published), (f"{HERE} here", here))
        self.border_subtitle = Content("  ".join(what for what, drawn in kinds if drawn))
        length = high - low + 2 * margin
        self.show(Plot("by size", kind, lines, high + margin, length, logarithmic=True, across=size_ticks))

    def legend(self) -> list[Entry]:
        """Return the series; which mark is which stands below them."""
        return self._names


def _line(
    name: str, color: str, points: Sequence[tuple[int, float | None]], factor: float, mark: str
) -> list[Line]:
    known = [(math.log10(size), value * factor) for size, value in points if value is not None and value > 0]
    if not known:
        return []
    return [Line(name, color, [place for place, _ in known], [value for _, value in known], mark)]
