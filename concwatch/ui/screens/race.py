"""The dialog of a race: the curve of each engine as it comes, and a table with places."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from textual.binding import Binding
from textual.content import Content
from textual.widget import Widget

from concwatch.charts.plot import LaneSeries, make_plot
from concwatch.charts.table import BY_METRIC, COST
from concwatch.measure.result import Outcome, Result
from concwatch.monitor.metrics.metric import Metric
from concwatch.monitor.metrics.metrics import BY_NAME, cost_metric, mark_notes
from concwatch.monitor.metrics.series import Series
from concwatch.monitor.metrics.settings import describe
from concwatch.portable.protocol.units import format_count
from concwatch.ui.screens.measured import MeasuredDialog
from concwatch.ui.sources.race import Race
from concwatch.ui.widgets.charts.chart import Chart
from concwatch.ui.widgets.text.text_lines import TextLines

COSTS = ("memory_per_task", "rss_per_task")
"""The metrics that decide the places; the second if the first is unknown."""

SHOWN = ("create_rate", "cpu_per_task", "peak_rss")
"""The metrics in the table after the cost of a task."""

PLACE, CELLS, RATIO = 4, 13, 9
"""The width in cells of a place, of a metric, and of the ratio to the best."""

OTHER_ROWS = 10
"""The rows of the dialog and the screen without chart and engines."""

NO_SAMPLES = Series()
"""The chart of the cost needs no samples."""


def ranked(results: Sequence[Result]) -> list[Result]:
    """Return the results by the memory of a task; those that are not known are last."""
    return sorted(results, key=lambda result: _known_cost(result) or float("inf"))


class RaceTable(TextLines):
    """The places so far, and who is running."""

    DEFAULT_CSS = """
    RaceTable { height: auto; }
    """

    def show(self, race: Race, colors: Mapping[str, str]) -> None:
        """Show the state of a race; ``colors`` has the colour of each engine."""
        room = max(len(engine.name) for engine in race.engines) + 1
        cost = cost_metric(result.held for result in race.results if result.held)
        metrics = [cost, *(BY_NAME[name] for name in SHOWN)]
        shown = metrics[: max(1, (self.size.width - PLACE - room - RATIO) // CELLS)]
        heads = "".join(f"{metric.title:>{CELLS}}" for metric in shown)
        lines = [Content.styled(f"{'':{PLACE}}{'engine':{room}}{heads}{'× best':>{RATIO}}", "bold $dim")]
        results = ranked(race.results)
        best = next(filter(None, map(_cost, results)), None)
        for place, result in enumerate(results, 1):
            name = f"{result.engine:{room}}", f"bold {colors.get(result.engine, '')}".strip()
            lines.append(Content.assemble(*_result(result, place, name, shown, best)))
        for engine in race.engines[len(results) :]:
            running = engine.name == race.running
            text = race.progress if running else "not run" if race.finished else "waits"
            mark = "  ▸ " if running else " " * PLACE
            lines.append(Content.assemble(f"{mark}{engine.name:{room}} ", (text, "$dim")))
        held = [result.held for result in results if result.held is not None]
        notes = mark_notes(caveat for lane in held for metric in shown for caveat in metric.uncertain(lane))
        todo = "escape closes this; the race continues"
        if race.finished:
            todo = race.problem or "R starts another race · s saves a screenshot, S the chart"
        lines += [Content(), Content.styled(" · ".join((todo, *notes)), "$dim")]
        self.set_lines(*lines)


def _known_cost(result: Result) -> float | None:
    return next(filter(None, map(result.metrics.get, COSTS)), None)


def _cost(result: Result) -> float | None:
    return _known_cost(result) if result.outcome in (Outcome.DONE, Outcome.SHORT) else None


def _result(
    result: Result, place: int, name: tuple[str, str], shown: Sequence[Metric], best: float | None
) -> list[str | tuple[str, str]]:
    """Return the parts of the line of an engine that has been measured."""
    held, cost = result.held, _cost(result)
    if held is None or not cost or not best:
        return ["  – ", name, " ", (result.reason or "not measured", "$warning")]
    metrics = "".join(f"{each.text(held) + each.marks(held):>{CELLS}}" for each in shown)
    return [(f"{place:>3} ", "bold $accent"), name, metrics, f"{cost / best:.1f} ×".rjust(RATIO)]


class RaceScreen(MeasuredDialog[Race]):
    """Shows a race while it runs, and its result."""

    BINDINGS = [Binding("R", "start_another", show=False)]

    def __init__(self, race: Race, colors: Mapping[str, str], another: Callable[[], object]) -> None:
        """Create the dialog of ``race``.

        Args:
            race: the race, which runs or is over.
            colors: the colour of each engine.
            another: asks for the tasks of another race.
        """
        tasks, what = format_count(race.tasks), describe(race.settings.workload)
        title = f"race to {tasks} tasks, untraced; each {what}"
        super().__init__(title, race, OTHER_ROWS + len(race.engines), another)
        self._colors = colors

    def body(self) -> Iterable[Widget]:
        """Yield the chart and the table."""
        spec = BY_METRIC[COST]
        yield Chart(make_plot(spec, (), 0.0, 0.0), hint="the first curve starts with the first tasks")
        yield RaceTable()

    def update(self) -> None:
        """Show the current state."""
        self.query_one(RaceTable).show(self.shown, self._colors)
        costs = self.shown.costs()
        lanes = [
            LaneSeries(
                engine.name, NO_SAMPLES, self._colors.get(engine.name, ""), cost=costs.get(engine.name)
            )
            for engine in self.shown.engines
        ]
        self.query_one(Chart).show(make_plot(BY_METRIC[COST], lanes, 0.0, 0.0))
