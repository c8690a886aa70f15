"""The dialog of a sweep: throughput and durations over live tasks, and how many are enough."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from textwrap import wrap

from textual.binding import Binding
from textual.containers import Horizontal
from textual.content import Content
from textual.widget import Widget

from concwatch.charts.sweep import sweep_plots
from concwatch.measure.sweep.sweep_result import Step, SweepResult
from concwatch.monitor.metrics.settings import describe
from concwatch.monitor.metrics.unit import BYTES, COUNT, RATE, SECONDS
from concwatch.portable.protocol.units import format_count
from concwatch.ui.screens.measured import MeasuredDialog
from concwatch.ui.sources.sweep import Sweep
from concwatch.ui.widgets.charts.chart import Chart
from concwatch.ui.widgets.text.text_lines import TextLines

OTHER_ROWS = 9
"""The rows of the dialog and the screen without charts and engines."""

CHARTS = "throughput", "duration_p99"
"""What the charts show."""

CELLS = 12
"""The width of a column of the table in cells."""

HEADINGS = ("enough", "throughput", "of at most", "p50", "p99", "memory/task")


class SweepTable(TextLines):
    """What is enough for each engine, and what is being measured."""

    DEFAULT_CSS = """
    SweepTable { height: auto; }
    """

    def show(self, sweep: Sweep, colors: Mapping[str, str]) -> None:
        """Show the state of a sweep; ``colors`` has the colour of each engine."""
        room = max(len(engine.name) for engine in sweep.engines) + 1
        heads = "".join(f"{heading:>{CELLS}}" for heading in HEADINGS[: self._columns(room)])
        lines = [Content.styled(f"{'engine':{room}}{heads}", "bold $dim")]
        found = {result.engine: result for result in sweep.results}
        for engine in sweep.engines:
            result = found.get(engine.name)
            name = f"{engine.name:{room}}", f"bold {colors.get(engine.name, '')}".strip()
            if engine.name == sweep.running:
                lines.append(Content.assemble(name, ("▸ ", "$accent"), (sweep.progress, "$dim")))
            elif result is None:
                lines.append(Content.assemble(name, ("not run" if sweep.finished else "waits", "$dim")))
            else:
                lines.append(Content.assemble(name, self._row(result, room)))
        todo = "escape closes this; the sweep continues · x stops it"
        if sweep.finished:
            todo = sweep.problem or "H starts another sweep · s saves a screenshot, S a chart"
        lines += [Content(), *self._said(sweep), Content.styled(todo, "$dim")]
        self.set_lines(*lines)

    def _columns(self, room: int) -> int:
        return max(2, (self.size.width - room) // CELLS)

    def _row(self, result: SweepResult, room: int) -> tuple[str, str]:
        knee = result.knee
        if not result.steps:
            return f"  {result.ended_by or 'not measured'}", "$warning"
        if knee is None:
            last = result.steps[-1]
            return f"  throughput rises up to {format_count(last.tasks)} tasks", ""
        at: Step = next(step for step in result.steps if step.tasks >= knee.tasks.value)
        cells = (
            COUNT.text(knee.tasks.value),
            RATE.text(knee.throughput.value),
            RATE.text(knee.best.value),
            SECONDS.text(at.duration_p50),
            SECONDS.text(at.duration_p99),
            BYTES.text(at.memory_per_task),
        )
        return "".join(f"{cell:>{CELLS}}" for cell in cells[: self._columns(room)]), ""

    def _said(self, sweep: Sweep) -> list[Content]:
        """Return the sentences on the engines that have been measured."""
        found: list[Content] = []
        for text in sweep.sentences():
            found += map(Content, wrap(text, max(20, self.size.width), subsequent_indent="  "))
        return [*found, Content()] if found else []


class SweepScreen(MeasuredDialog[Sweep]):
    """Shows a sweep while it runs, and its result."""

    BINDINGS = [
        Binding("H", "start_another", show=False),
        Binding("x", "stop", show=False),
    ]

    DEFAULT_CSS = """
    SweepScreen > VerticalScroll { width: 150; }
    SweepScreen Horizontal { height: auto; }
    """

    def __init__(self, sweep: Sweep, colors: Mapping[str, str], another: Callable[[], object]) -> None:
        """Create the dialog of ``sweep``.

        Args:
            sweep: the sweep, which runs or is over.
            colors: the colour of each engine.
            another: asks for the most tasks of another sweep.
        """
        title = f"how many at once, up to {format_count(sweep.last)}, untraced"
        title = f"{title}; each {describe(sweep.settings.workload)}"
        super().__init__(title, sweep, OTHER_ROWS + 2 * len(sweep.engines), another)
        self._colors = colors

    def said(self) -> Sequence[str]:
        """Return how many tasks are enough for each engine."""
        return [part for text in self.shown.sentences() for part in text.split("; ")]

    def body(self) -> Iterable[Widget]:
        """Yield the charts and the table."""
        plots = sweep_plots((), self._colors, self.shown.last)
        hint = "the first step is being measured"
        yield Horizontal(
            *(Chart(plot, hint=hint, id=f"chart-{name}") for name, plot in zip(CHARTS, plots, strict=True))
        )
        yield SweepTable()

    def update(self) -> None:
        """Show the current state."""
        self.query_one(SweepTable).show(self.shown, self._colors)
        plots = sweep_plots(self.shown.results, self._colors, self.shown.last, self.shown.running)
        for chart, plot in zip(self.query(Chart), plots, strict=True):
            chart.show(plot)

    def action_stop(self) -> None:
        """Stop the sweep; what has been measured stays."""
        self.shown.stop()
