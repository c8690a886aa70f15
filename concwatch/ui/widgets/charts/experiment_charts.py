"""The charts of an experiment: memory over time, and published and measured figures by size."""

import math
from array import array
from collections.abc import Mapping, Sequence

from rich.cells import cell_len

from concwatch.charts.annotations import Annotation
from concwatch.charts.captions import legend, title
from concwatch.charts.plot import Line, Plot
from concwatch.charts.table import shortest_span
from concwatch.charts.ticks import elapsed_ticks, size_ticks
from concwatch.measure.experiments.runner import TableFigure
from concwatch.measure.experiments.swept import swept
from concwatch.monitor.metrics.series import Samples
from concwatch.monitor.metrics.unit import BYTES, DECIMAL_BYTES, SCALES, Unit
from concwatch.portable.protocol.units import format_count
from concwatch.ui.look.palette import themed_lane_colors
from concwatch.ui.sources.chosen_experiment import ChosenExperiment
from concwatch.ui.widgets.charts.chart import Chart, FrameTexts

LONGEST = 300.0
"""The longest time window of a running experiment, in seconds."""

PUBLISHED, HERE = "○", "●"

MARGIN = 0.06
"""The margin at either end of the x axis, relative to the range of sizes."""

LEAST = math.log10(2)
"""The margin for a small range of sizes, in powers of ten."""

RssCurve = Sequence[tuple[float, int]]
"""Seconds since the first task was requested, and RSS in bytes."""


class NamedChart(Chart):
    """A chart that names its series in the frame, since their lines may end anywhere."""

    def names(self) -> Sequence[tuple[str, str]]:
        """Return the name and the colour of each series."""
        return [(line.name, line.color) for line in self.plot.lines]

    def footer(self) -> str:
        """Return the text that begins the lower border."""
        return ""

    def frame_texts(self, width: int) -> FrameTexts:
        """Return the title and the footer, each followed by as many names as fit."""
        ends = title(self.plot.title, self.plot.short_title, width), self.footer()
        names, colors = zip(*self.names(), strict=True) if self.names() else ((), ())
        rows = legend(names, [width - cell_len(end) for end in ends])
        parts: list[list[str | tuple[str, str]]] = []
        styles = iter((*colors, "$dim"))
        for end, row in zip(ends, rows, strict=True):
            parts.append([end, *(part for name in row for part in ("  ", (name, next(styles))))])
        return parts[0], parts[1]


class RunChart(NamedChart):
    """Draws the RSS of running lanes, and afterwards that of one run of each series."""

    def __init__(self) -> None:
        super().__init__(Plot("RSS", BYTES), hint="memory over time")

    def show_runs(self, chosen: ChosenExperiment, colors: Mapping[str, str]) -> None:
        """Draw the lanes of the current run of the chosen experiment, else one finished run of each series.

        Args:
            chosen: the experiment and its table.
            colors: the colour of each series of the table.
        """
        runner, table = chosen.runner, chosen.table
        if chosen.runs.running == chosen.name and runner.lab is not None:
            own = {series.engine: colors[series.name] for series in reversed(table.series)}
            lanes = [
                (lane.name, samples, own.get(lane.name) or themed_lane_colors(self.app, [lane.name])[0])
                for snapshot in chosen.runs.snapshots()
                for lane, samples in zip(snapshot.lanes, snapshot.series, strict=True)
            ]
            self._follow_lanes(lanes, runner.lab.clock(), runner.seconds)
            return
        curves: dict[str, RssCurve] = {}
        for entry in runner.entries:
            if entry.table is table and entry.cell is not None:
                for run in runner.outcomes[entry.cell].runs[-1:]:
                    curves[entry.series.name] = run.rss_curve  # the last one is that of the largest size
        self._show_rss_curves([(name, colors[name], curve) for name, curve in curves.items() if curve])

    def _follow_lanes(self, lanes: Sequence[tuple[str, Samples, str]], now: float, seconds: float) -> None:
        """Draw the lanes of the last runs one after the other.

        Args:
            lanes: the name, the samples and the colour of each lane, the newest last.
            now: the time on the lanes' clock.
            seconds: for how long the experiment has been running.
        """
        window, names = shortest_span(seconds, LONGEST), {color: name for name, _, color in lanes}
        parts: dict[str, tuple[array[float], array[float]]] = {}
        for _, samples, color in lanes:
            times, values = parts.setdefault(color, (array("d"), array("d")))
            added, read = samples.since("rss", now - window)
            if times and added:  # a gap before the next worker
                times.append(added[0])
                values.append(math.nan)
            times.extend(added)
            values.extend(rss or math.nan for rss in read)  # 0 while a process exits
        lines = [Line(names[color], color, *part) for color, part in parts.items() if part[0]]
        self.show(Plot("RSS", BYTES, lines, now, window))

    def _show_rss_curves(self, curves: Sequence[tuple[str, str, RssCurve]]) -> None:
        """Draw one finished run of each series: its name, colour and curve."""
        longest = max((0.5, *(curve[-1][0] for _, _, curve in curves))) if curves else 1.0
        lines = [
            Line(name, color, [time for time, _ in curve], [rss for _, rss in curve])
            for name, color, curve in curves
        ]
        self.show(Plot("RSS", BYTES, lines, longest, longest, x_ticks=elapsed_ticks))


def axis_unit(name: str) -> Unit:
    """Return the unit of the axis for a table in the unit ``name``, one of `SCALES`."""
    unit, factor = SCALES[name]
    return DECIMAL_BYTES if unit is BYTES and factor in (1e3, 1e6, 1e9) else unit


class SizeChart(NamedChart):
    """Draws the figures of one table by the number of tasks, with logarithmic axes.

    A vertical line is at the fewest tasks that are enough, with their number.
    """

    def __init__(self) -> None:
        super().__init__(Plot("by size", BYTES), hint="figures by size")
        self._names: list[tuple[str, str]] = []
        self._footer = ""

    def compare(
        self, figures: Sequence[TableFigure], colors: Mapping[str, str], dim: Mapping[str, str]
    ) -> None:
        """Draw the figures of one table.

        Args:
            figures: the figures.
            colors: the colour of measured figures, ``#rrggbb``, by the name of the series.
            dim: the same of published figures.
        """
        series: dict[str, list[TableFigure]] = {}
        for figure in figures:
            series.setdefault(figure.entry.series.name, []).append(figure)
        published, here = (
            [line for name, rows in series.items() for line in _line(name, by_name[name], rows, mark)]
            for mark, by_name in ((PUBLISHED, dim), (HERE, colors))
        )
        self._names = [(name, colors[name]) for name in series]
        unit = axis_unit(figures[-1].entry.table.unit) if figures else BYTES
        lines = [*published, *here]
        sizes = [size for line in lines for size in line.times]
        low, high = min(sizes, default=0.0), max(sizes, default=0.0)
        margin = max(MARGIN * (high - low), LEAST if high - low < 2 * LEAST else 0.0)
        kinds = ((f"{PUBLISHED} published", published), (f"{HERE} here", here))
        self._footer = "  ".join(what for what, drawn in kinds if drawn)
        length = high - low + 2 * margin
        plot = Plot(
            "by size",
            unit,
            lines,
            high + margin,
            length,
            logarithmic=True,
            x_ticks=size_ticks,
            over_time=False,
            annotations=_knees(figures, colors),
        )
        self.show(plot)

    def names(self) -> Sequence[tuple[str, str]]:
        """Return the names of the series."""
        return self._names

    def footer(self) -> str:
        """Return the meaning of the marks."""
        return self._footer


def _knees(figures: Sequence[TableFigure], colors: Mapping[str, str]) -> list[Annotation]:
    found = swept(figures[0].entry.table, figures) if figures else ()
    return [
        Annotation(math.log10(tasks), colors[each.engine], format_count(round(tasks)))
        for each in found
        if each.knee and (tasks := each.knee.tasks.value)
    ]


def _line(name: str, color: str, figures: Sequence[TableFigure], mark: str) -> list[Line]:
    values = [figure.entry.published if mark == PUBLISHED else figure.here for figure in figures]
    known = [
        (math.log10(figure.entry.size), value * SCALES[figure.entry.table.unit][1])
        for figure, value in zip(figures, values, strict=True)
        if value is not None and value > 0
    ]
    if not known:
        return []
    return [Line(name, color, [size for size, _ in known], [value for _, value in known], mark)]
