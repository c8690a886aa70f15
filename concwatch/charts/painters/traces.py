"""The series of each lane over the seconds since its start, for charts in plain text and slides."""

import math
from collections.abc import Mapping, Sequence
from datetime import datetime

from msgspec import Struct

from concwatch.charts.colors import lane_colors
from concwatch.charts.cost import cost_curve, lane_cost
from concwatch.charts.painters.slide import Slide, conditions
from concwatch.charts.plot import LaneSeries, Line, Plot, make_plot
from concwatch.charts.table import BY_METRIC, COST
from concwatch.charts.ticks import elapsed_ticks
from concwatch.monitor.lanes.lab import Lab
from concwatch.monitor.metrics.series import CHARTED, Samples
from concwatch.portable.protocol.text import plain
from concwatch.recordings.recording import Recording

Values = tuple[Sequence[float], Sequence[float]]
"""Ascending times in seconds, and their values, NaN where a value is not known."""


class Trace(Struct, frozen=True):
    """The samples of one lane."""

    name: str
    metrics: Mapping[str, Values]
    """By the names of `CHARTED`; times are relative to the lane's start."""

    @property
    def seconds(self) -> float:
        """The time of the last sample; 0 if there are none."""
        return max((times[-1] for times, _ in self.metrics.values() if times), default=0.0)


def traces_of_labs(labs: Sequence[Lab]) -> list[Trace]:
    """Return the trace of each lane of labs that have ended; times are relative to the lab's start."""
    return [_trace(lane.engine.name, lane.series, lab.began) for lab in labs for lane in lab.lanes]


def traces_of_recording(recording: Recording) -> list[Trace]:
    """Return the trace of each lane of a recording; times are relative to the start of its first lab.

    So lanes that ``concwatch run`` recorded one after another are drawn over each other.
    """
    return [
        _trace(lane.name, lane.series, next((line.time for line in lane.changes.entries), 0.0))
        for lane in recording.lanes
    ]


def recorded_conditions(recording: Recording) -> list[str]:
    """Return the conditions of a recording for a slide."""
    header = recording.header
    try:
        when = f"{datetime.fromisoformat(header.began).astimezone():%d %b %Y}".lstrip("0")
    except (ValueError, OverflowError, OSError):
        when = header.began[:10]
    changed = {mark.kind for mark in recording.marks(math.inf).since(0)}
    settings = recording.snapshot(recording.duration).settings
    return [plain(text) for text in conditions(settings, header.machine, when, changed)]


def slide_of(recording: Recording, metric: str, dark: bool) -> Slide:
    """Return the slide of one metric of a recording.

    Raises:
        ValueError: no lane has values of the metric.
    """
    spec = BY_METRIC[metric]
    names = [lane.name for lane in recording.lanes]
    colors = lane_colors(names, dark)
    if metric == COST:
        plot = make_plot(spec, _costs(recording, colors), recording.duration, recording.duration)
    else:
        lines = [
            Line(
                trace.name,
                color,
                *trace.metrics[metric],
                means=trace.metrics[spec.mean][1] if spec.mean else (),
            )
            for trace, color in zip(traces_of_recording(recording), colors, strict=True)
        ]
        lines = [line for line in lines if not all(map(math.isnan, line.values))]
        end = max((line.times[-1] for line in lines), default=0.0)
        plot = Plot(spec.title, spec.unit, lines, end, max(end, 1.0), x_ticks=elapsed_ticks)
    if not plot.lines:
        raise ValueError(f"no lane of this recording has {spec.title}; choose another --metric")
    return Slide(plot, recorded_conditions(recording), dark)


def _costs(recording: Recording, colors: Sequence[str]) -> list[LaneSeries]:
    """Return the lanes of a recording with the cost of their tasks, when each had the most."""
    found = []
    for number, (lane, color) in enumerate(zip(recording.lanes, colors, strict=True)):
        times, live = lane.series.since("live", 0.0)
        known = ((tasks, time) for time, tasks in zip(times, live, strict=True) if tasks > 0)
        _, at = max(known, default=(0.0, 0.0))
        view = recording.snapshot(at).lanes[number]
        idle, series = view.status.idle_rss, lane.series.until(at)
        grown = cost_curve(series, idle, view.status.born) if idle is not None else None
        found.append(LaneSeries(lane.name, series, color, number + 1, cost=lane_cost(view, grown)))
    return found


def _trace(name: str, samples: Samples, began: float) -> Trace:
    found = {metric: samples.since(metric, -math.inf) for metric in CHARTED}
    return Trace(
        name,
        {metric: ([time - began for time in times], values) for metric, (times, values) in found.items()},
    )
