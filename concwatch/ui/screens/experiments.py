"""The screen of experiments: published figures beside those measured on this machine."""

from collections.abc import Sequence

from textual import on
from textual.app import ComposeResult
from textual.containers import Container, Horizontal, Vertical
from textual.events import Resize
from textual.reactive import reactive

from concwatch.charts.colors import lane_colors
from concwatch.measure.experiments.experiment import Experiment, ExperimentTable
from concwatch.measure.experiments.runner import Runner
from concwatch.monitor.lanes.lab import Lab
from concwatch.ui.base.base_screen import DismissOnceScreen, is_exiting
from concwatch.ui.base.keyboard import Keyboard, bar, bindings, help_lines
from concwatch.ui.dialogs.help import WORDS, HelpScreen, ReadDialog
from concwatch.ui.keys import keys
from concwatch.ui.keys.key_targets import ExperimentKeys
from concwatch.ui.look.palette import FEW_COLORS, dimmed
from concwatch.ui.sources.experiment_runs import ExperimentRuns
from concwatch.ui.widgets.bars.key_bar import KeyBar
from concwatch.ui.widgets.bars.run_bar import RunBar
from concwatch.ui.widgets.bars.status_bar import StatusBar
from concwatch.ui.widgets.charts.experiment_charts import RssCurve, RunChart, SizeChart
from concwatch.ui.widgets.tables.about_panel import AboutPanel, describe
from concwatch.ui.widgets.tables.experiment_list import ExperimentList, Item
from concwatch.ui.widgets.tables.result_table import ResultTable

FRAME = 0.25
"""Seconds between two updates of the screen."""

PANES = ("table", "sizes", "run")
"""The table and both charts, of which only one is shown where there is not enough room."""

EXPERIMENT_WORDS = (
    ("published", "the published figure, measured on the author's machine"),
    ("here", "the median of all runs on this machine, each in a fresh process"),
    ("ratio", "here ÷ published"),
    ("spread", "(highest − lowest) ÷ median of the runs; unstable above 10 %"),
    ("enough", "the fewest tasks with 95 % of the best throughput; a line in the chart"),
    ("± 5 %", "half the 95 % interval of a throughput that is not known within 2 %"),
    ("partial", "stopped before all runs were finished"),
    *(row for row in WORDS if row[0] in ("task", "lane", "RSS", "tracemalloc")),
)


class ExperimentsScreen(DismissOnceScreen[None]):
    """Shows experiments and their results; a run continues when the screen is left."""

    CSS_PATH = "experiments.tcss"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-normal"), (160, "-wide")]
    VERTICAL_BREAKPOINTS = [(0, "-short"), (34, "-tall"), (50, "-roomy")]
    AUTO_FOCUS = ""  # the charts here need no keys

    BINDINGS = bindings(keys.EXPERIMENTS)

    selected: reactive[int] = reactive(0, repaint=False)
    """Index of the selected experiment."""
    table: reactive[int] = reactive(0, repaint=False)
    """Index of the table shown."""
    pane: reactive[int] = reactive(0, repaint=False)
    """Index in `PANES` of the one shown where there is room for only one."""

    keyboard: Keyboard[ExperimentKeys]

    def __init__(self, runs: ExperimentRuns, lab: Lab) -> None:
        """Create the screen; its ``keyboard`` is set before it is shown.

        Args:
            runs: the experiments and their runs.
            lab: the monitor's lab, whose lanes run on the same machine.
        """
        super().__init__()
        self._runs = runs
        self._lab = lab
        self._names = list(runs.experiments)
        if runs.running is not None:
            self.set_reactive(ExperimentsScreen.selected, self._names.index(runs.running))

    def compose(self) -> ComposeResult:
        """Create the widgets."""
        yield StatusBar()
        with Horizontal(id="body"):
            yield ExperimentList()
            with Vertical(id="work"):
                yield AboutPanel()
                yield RunBar(self.keyboard.press)
                with Container(id="results"):
                    yield ResultTable()
                    with Container(id="charts"):
                        yield SizeChart()
                        yield RunChart()
        yield KeyBar(bar(keys.EXPERIMENTS), self.keyboard.press)

    def on_mount(self) -> None:
        """Show the experiments and start updating them."""
        if is_exiting(self.app):
            return
        self.query_one(ExperimentList).border_title = "experiments"
        self.watch_pane(self.pane)
        for problem in self._runs.broken:
            self.notify(problem, title="invalid experiment", severity="error", markup=False)
        self.app.theme_changed_signal.subscribe(self, lambda _: self.update_now())
        self.set_interval(FRAME, self.update_now)
        self.call_after_refresh(self.update_now)

    @property
    def _selected_name(self) -> str:
        return self._names[self.selected]

    @property
    def _experiment(self) -> Experiment:
        return self._runs.experiments[self._selected_name]

    def update_now(self) -> None:
        """Update every widget with the state of the runs."""
        if is_exiting(self.app):
            return
        snapshot = self._lab.snapshot()
        self.query_one(StatusBar).show(snapshot, False, self._runs.status or "experiments")
        self.query_one(ExperimentList).show([self._item(name) for name in self._names], self.selected)
        self.query_one(AboutPanel).show(self._experiment)
        self.query_one(RunBar).show(
            self._runs, self._selected_name, sum(lane.live for lane in snapshot.lanes)
        )
        runner = self._runs.shown(self._selected_name)
        table = self._experiment.table[self.table]
        colors = self._colors(table)
        self.query_one(ResultTable).show(runner, self.table, colors, self.has_class("-narrow"))
        background = self.background_colors[1]
        figures = [figure for figure in runner.figures() if figure.entry.table is table]
        shades = {name: dimmed(color, background) for name, color in colors.items()}
        self.query_one(SizeChart).compare(figures, colors, shades)
        self._show_memory(runner, table, colors)

    def _item(self, name: str) -> Item:
        runs, title = self._runs, self._runs.experiments[name].title
        if runs.running == name:
            return Item(name, title, f"● {runs.shown(name).share * 100:.0f} %", "bold $success")
        if name in runs.problems:
            return Item(name, title, "✕ failed", "$error")
        if not runs.has_run(name):
            return Item(name, title, "", "")
        runner = runs.shown(name)
        if not any(outcome.runs for outcome in runner.outcomes.values()):
            return Item(name, title, "✕ nothing measured", "$warning")
        partial = runner.partial
        return Item(name, title, "◐ partial" if partial else "✓ done", "$warning" if partial else "$success")

    def _colors(self, table: ExperimentTable) -> dict[str, str]:
        colors = self._engine_colors([series.engine for series in table.series])
        return {series.name: color for series, color in zip(table.series, colors, strict=True)}

    def _engine_colors(self, engines: Sequence[str]) -> list[str]:
        return lane_colors(engines, self.app.current_theme.dark, self.app.theme == FEW_COLORS)

    def _show_memory(self, runner: Runner, table: ExperimentTable, colors: dict[str, str]) -> None:
        """Show the lanes of the current run, else one finished run of each series."""
        chart = self.query_one(RunChart)
        lab = runner.lab
        if self._runs.running == self._selected_name and lab is not None:
            lanes = [
                (lane.name, samples, self._lane_color(lane.name, table, colors))
                for snapshot in self._runs.snapshots()
                for lane, samples in zip(snapshot.lanes, snapshot.series, strict=True)
            ]
            chart.follow_lanes(lanes, lab.clock(), runner.seconds)
            return
        curves: dict[str, RssCurve] = {}
        for entry in runner.entries:
            if entry.table is table and entry.cell is not None:
                for run in runner.outcomes[entry.cell].runs[-1:]:
                    curves[entry.series.name] = run.rss_curve  # the last one is that of the largest size
        chart.show_rss_curves([(name, colors[name], curve) for name, curve in curves.items() if curve])

    def _lane_color(self, engine: str, table: ExperimentTable, colors: dict[str, str]) -> str:
        """Return the colour of an engine in the table, else that in the monitor."""
        for series in table.series:
            if series.engine == engine:
                return colors[series.name]
        return self._engine_colors([engine])[0]

    def watch_pane(self, pane: int) -> None:
        """Set the class that selects the pane to show."""
        for index, name in enumerate(PANES):
            self.set_class(index == pane, f"-pane-{name}")

    def on_resize(self, _: Resize) -> None:
        """Update the widgets at the new size."""
        self.call_after_refresh(self.update_now)

    @on(ExperimentList.Picked)
    def _select(self, event: ExperimentList.Picked) -> None:
        self.action_select(event.index)

    def action_select(self, index: int) -> None:
        """Select experiment ``index`` (0-based)."""
        if index != self.selected:
            self.selected, self.table = index, 0
            self.update_now()

    def action_select_next(self, by: int) -> None:
        """Select the next (1) or previous (-1) experiment."""
        self.action_select((self.selected + by) % len(self._names))

    def action_next_table(self, by: int) -> None:
        """Show the next (1) or previous (-1) table."""
        self._show_table((self.table + by) % len(self._experiment.table))

    @on(ResultTable.Chosen)
    def _show_chosen(self, event: ResultTable.Chosen) -> None:
        event.stop()
        self._show_table(event.number)

    def _show_table(self, number: int) -> None:
        """Show table ``number`` (0-based)."""
        self.table = number
        self.update_now()

    def action_run(self) -> None:
        """Run the selected experiment; if one is running already, select that one."""
        if self._runs.running is not None:
            self.action_select(self._names.index(self._runs.running))
        else:
            self._runs.start(self._selected_name)
            self.update_now()

    def action_stop(self) -> None:
        """Stop the run and keep what has been measured."""
        self._runs.stop()
        self.update_now()

    def action_quick(self) -> None:
        """Switch between quick and full run for the next start."""
        self._runs.quick = not self._runs.quick
        self.update_now()

    def action_stop_lanes(self) -> None:
        """Switch every lane of the monitor off."""
        self._lab.stop_all()
        self.update_now()

    def action_scroll_table(self, pages: int) -> None:
        """Scroll the table by a page."""
        self.query_one(ResultTable).scroll_lines(pages)

    def action_next_pane(self) -> None:
        """Show the next of table and charts where there is room for only one."""
        self.pane = (self.pane + 1) % len(PANES)
        self.call_after_refresh(self.update_now)

    def action_details(self) -> None:
        """Show source and method of the selected experiment."""
        experiment = self._experiment
        notes = [(table.title, " ".join(table.note.split())) for table in experiment.table]
        self.app.push_screen(ReadDialog(experiment.title, describe(experiment), notes))

    def action_help(self) -> None:
        """Show the help."""
        self.app.push_screen(HelpScreen("experiments", help_lines(keys.EXPERIMENTS), EXPERIMENT_WORDS))

    def action_back(self) -> None:
        """Return to the monitor; the run continues."""
        self.dismiss()
