"""The charts of a sweep: throughput and duration over the number of live tasks."""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from concwatch.charts.annotations import Annotation
from concwatch.charts.plot import Line, Plot
from concwatch.charts.ticks import size_ticks
from concwatch.measure.sweep.sweep_result import Step, SweepResult
from concwatch.monitor.metrics.unit import RATE, SECONDS, Unit
from concwatch.portable.protocol.units import format_count

THROUGHPUT, P99 = "tasks ended per second over live tasks", "duration p99 over live tasks"

FITTED = 60
"""The points of the curve of a fitted law."""


def sweep_plots(
    results: Sequence[SweepResult], colors: Mapping[str, str], last: int, running: str | None = None
) -> tuple[Plot, Plot]:
    """Return the charts of throughput and of the duration p99, both axes logarithmic.

    The fitted law of each engine is dashed, and ``●`` is the fewest tasks that are enough, with their number.

    Args:
        results: the engines so far.
        colors: the colour of each engine.
        last: the most tasks.
        running: the engine that is still measured; no law is fitted to it.
    """
    plot = partial(_plot, results, colors, last, running)
    return (
        plot(THROUGHPUT, "throughput", RATE, lambda step: step.throughput, True),
        plot(P99, "duration p99", SECONDS, lambda step: step.duration_p99, False),
    )


def _plot(
    results: Sequence[SweepResult],
    colors: Mapping[str, str],
    last: int,
    running: str | None,
    title: str,
    short_title: str,
    unit: Unit,
    value: Callable[[Step], float | None],
    fitted: bool,
) -> Plot:
    lines: list[Line] = []
    marks: list[Annotation] = []
    for number, result in enumerate(results, 1):
        color, knee = colors.get(result.engine, "#888888"), result.knee
        known = [(step.tasks, found) for step in result.steps if (found := value(step))]
        if not known:
            continue
        law = result.law if fitted and result.engine != running else None
        if law is not None:
            least, most = math.log10(known[0][0]), math.log10(known[-1][0])
            places = [least + (most - least) * part / FITTED for part in range(FITTED + 1)]
            curve = [law.law.throughput(10**place) for place in places]
            lines.append(Line("", color, places, curve, dashed=True))
        at = next((step for step in result.steps if knee and step.tasks >= knee.tasks.value), None)
        shown = value(at) if at else None
        if fitted and knee:
            shown = knee.throughput.value  # between two steps
        line = Line(
            result.engine,
            color,
            [math.log10(tasks) for tasks, _ in known],
            [found for _, found in known],
            number=number,
        )
        lines.append(line)
        if knee and shown:
            place = math.log10(knee.tasks.value)
            lines.append(Line("", color, [place], [shown], mark="●"))
            marks.append(Annotation(place, color, format_count(round(knee.tasks.value))))
    end = math.log10(max(10, last)) + 0.01
    return Plot(
        title,
        unit,
        lines,
        end,
        end + 0.02,
        short_title,
        logarithmic=True,
        x_ticks=size_ticks,
        over_time=False,
        names=[result.engine for result in results],
        annotations=marks,
    )
