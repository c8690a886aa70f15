"""All charts of a run or of a recording in plain text, one below the other, with their legends."""

import math
from collections.abc import Iterator, Sequence

import click

from concwatch.charts.colors import series_colors
from concwatch.charts.lines import Line
from concwatch.charts.paper import Paper
from concwatch.charts.plain import draw_chart
from concwatch.charts.table import IN_TEXT, ChartSpec
from concwatch.charts.traces import Trace
from concwatch.lab.catalog import SHOWN

MARKS = "ox+*#@%&"
"""What tells lines apart where there are no colours."""

LONGEST_NAME = 24
SHORTEST_AXIS = 0.1
"""Seconds."""

BETWEEN = "   "
"""What stands between two entries of a legend."""

NOTE = "x: time since a lane's measuring began; beside its name its highest sample"


def chart_lines(traces: Sequence[Trace], paper: Paper) -> Iterator[str]:
    """Yield the text of all charts, a line at a time.

    A figure that nobody knows has no chart, and one that is 0 all the time has a line of text.
    """
    seconds = max((trace.seconds for trace in traces), default=0.0)
    if not seconds:
        yield "no samples: nothing to draw"
        return
    colors = series_colors([trace.name for trace in traces], [engine.name for engine in SHOWN], paper.dark)
    zeros = []
    for spec in IN_TEXT:
        lines = [
            Line(trace.name[:LONGEST_NAME], color, *trace.metrics[spec.metric], MARKS[index % len(MARKS)])
            for index, (trace, color) in enumerate(zip(traces, colors, strict=True))
        ]
        lines = [line for line in lines if _known(line)]
        if any(max(_known(line)) > 0 for line in lines):
            yield from _legend(spec, lines, paper)
            yield from draw_chart(lines, spec.kind, max(seconds, SHORTEST_AXIS), paper)
            yield ""
        elif lines:
            zeros.append(spec.title)
    yield from (f"{title}: 0 all the time" for title in zeros)
    yield NOTE


def _known(line: Line) -> list[float]:
    return [value for value in line.values if math.isfinite(value)]


def _legend(spec: ChartSpec, lines: Sequence[Line], paper: Paper) -> Iterator[str]:
    """Yield the title and the entry of each line, on as many lines as they need."""
    text, room = _styled(spec.title, paper, bold=True), paper.width - len(spec.title)
    for line in lines:
        mark = line.mark if paper.system is None else "━━"
        entry = f"{mark} {line.name} {spec.kind.format(max(_known(line)))}"[: paper.width - len(BETWEEN)]
        if len(BETWEEN + entry) > room:
            yield text
            text, room = "", paper.width
        text += BETWEEN + _styled(entry, paper, fg=paper.ink(line.color))
        room -= len(BETWEEN + entry)
    yield text


def _styled(text: str, paper: Paper, **style: object) -> str:
    return text if paper.system is None else click.style(text, **style)  # type: ignore[arg-type]  # as above
