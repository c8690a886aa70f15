"""Memory over time: of the lanes that run for an experiment, and afterwards of one run of each series."""

import math
from array import array
from collections.abc import Sequence

from concwatch.charts.captions import NO_VALUE, Entry
from concwatch.charts.lines import Line
from concwatch.charts.plot import Plot
from concwatch.charts.scales import BYTES
from concwatch.charts.table import span
from concwatch.charts.ticks import elapsed_ticks
from concwatch.lab.lane import Lane
from concwatch.ui.widgets.chart import Chart

LONGEST = 300.0
"""Seconds that the live chart shows at most."""

Trail = Sequence[tuple[float, int]]
"""Seconds since the first task was asked for, and RSS in bytes."""


class RunChart(Chart):
    """Draws RSS as it is read, or as it was."""

    def __init__(self) -> None:
        super().__init__(Plot("RSS", BYTES), hint="memory over time comes here")
        self._live = False

    def follow_lanes(self, lanes: Sequence[tuple[Lane, str]], now: float, seconds: float) -> None:
        """Draw the last lanes one after the other, each in its colour.

        Args:
            lanes: the lane of each run with its colour, the newest last.
            now: seconds on their clock.
            seconds: how long it has been running.
        """
        self._live = True
        window, names = span(seconds, LONGEST), {color: lane.engine.name for lane, color in lanes}
        parts: dict[str, tuple[array[float], array[float]]] = {}
        for lane, color in lanes:
            times, values = parts.setdefault(color, (array("d"), array("d")))
            added, read = lane.series.since("rss", now - window)
            if times and added:  # the next worker is another line
                times.append(added[0])
                values.append(math.nan)
            times.extend(added)
            values.extend(rss or math.nan for rss in read)  # of a process on its way out nothing is left
        lines = [
            Line(names[color], color, times, values) for color, (times, values) in parts.items() if times
        ]
        self.show(Plot("RSS", BYTES, lines, now, window))

    def show_trails(self, trails: Sequence[tuple[str, str, Trail]]) -> None:
        """Draw one past run of each series from its beginning.

        Args:
            trails: name and colour of each series, and what was read.
        """
        self._live = False
        longest = max((0.5, *(trail[-1][0] for _, _, trail in trails))) if trails else 1.0
        lines = [
            Line(name, color, [time for time, _ in trail], [rss for _, rss in trail])
            for name, color, trail in trails
        ]
        self.show(Plot("RSS", BYTES, lines, longest, longest, across=elapsed_ticks))

    def legend(self) -> list[Entry]:
        """Return the value of what runs, or the names of what ran."""
        if self._live:
            return [entry for entry in super().legend() if entry.value != NO_VALUE]
        return [Entry(line.name, "", line.color) for line in self.plot.lines]
