"""The screen of experiments: published figures beside those measured on this machine."""

from textual import on
from textual.app import ComposeResult
from textual.containers import Container, Horizontal, Vertical
from textual.events import Resize
from textual.reactive import reactive

from concwatch.monitor.lanes.lab import Lab
from concwatch.ui.base.base_screen import DismissOnceScreen, is_exiting
from concwatch.ui.base.keyboard import Keyboard, bar, bindings, help_lines
from concwatch.ui.dialogs.help import WORDS, HelpScreen, ReadDialog
from concwatch.ui.keys import keys
from concwatch.ui.keys.key_targets import ExperimentKeys
from concwatch.ui.look.palette import dimmed, themed_lane_colors
from concwatch.ui.sources.chosen_experiment import ChosenExperiment
from concwatch.ui.sources.experiment_runs import ExperimentRuns
from concwatch.ui.widgets.bars.key_bar import KeyBar
from concwatch.ui.widgets.bars.run_bar import RunBar
from concwatch.ui.widgets.bars.status_bar import StatusBar
from concwatch.ui.widgets.charts.experiment_charts import RunChart, SizeChart
from concwatch.ui.widgets.tables.about_panel import AboutPanel, describe
from concwatch.ui.widgets.tables.experiment_list import ExperimentList, item
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
        self._lab = lab
        self.chosen = ChosenExperiment(runs)
        """The experiment that is shown."""

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
        for problem in self.chosen.runs.broken:
            self.notify(problem, title="invalid experiment", severity="error", markup=False)
        self.app.theme_changed_signal.subscribe(self, lambda _: self.update_now())
        self.set_interval(FRAME, self.update_now)
        self.call_after_refresh(self.update_now)

    def update_now(self) -> None:
        """Update every widget with the state of the runs."""
        if is_exiting(self.app):
            return
        snapshot, chosen, runs = self._lab.snapshot(), self.chosen, self.chosen.runs
        held = sum(lane.live for lane in snapshot.lanes)
        self.query_one(StatusBar).show(snapshot, False, runs.status or "experiments")
        self.query_one(ExperimentList).show([item(runs, name) for name in chosen.names], chosen.index)
        self.query_one(AboutPanel).show(chosen.experiment)
        self.query_one(RunBar).show(runs, chosen.name, held)
        names = [series.name for series in chosen.table.series]
        engines = [series.engine for series in chosen.table.series]
        colors = dict(zip(names, themed_lane_colors(self.app, engines), strict=True))
        background = self.background_colors[1]
        shades = {name: dimmed(color, background) for name, color in colors.items()}
        figures = [figure for figure in chosen.runner.figures() if figure.entry.table is chosen.table]
        narrow = self.has_class("-narrow")
        self.query_one(ResultTable).show(chosen.runner, chosen.table_index, colors, narrow)
        self.query_one(SizeChart).compare(figures, colors, shades)
        self.query_one(RunChart).show_runs(chosen, colors)

    def show_changes(self) -> None:
        """Show what a key or the mouse has changed, unless it has closed the screen."""
        if self.is_current:
            self.update_now()

    def watch_pane(self, pane: int) -> None:
        """Set the class that selects the pane to show."""
        for index, name in enumerate(PANES):
            self.set_class(index == pane, f"-pane-{name}")

    def on_resize(self, _: Resize) -> None:
        """Update the widgets at the new size."""
        self.call_after_refresh(self.update_now)

    @on(ExperimentList.Picked)
    def _select(self, event: ExperimentList.Picked) -> None:
        self.chosen.select(event.index)
        self.update_now()

    @on(ResultTable.Chosen)
    def _show_table(self, event: ResultTable.Chosen) -> None:
        event.stop()
        self.chosen.table_index = event.number
        self.update_now()

    def scroll_table(self, pages: int) -> None:
        """Scroll the table by a page."""
        self.query_one(ResultTable).scroll_lines(pages)

    def next_pane(self) -> None:
        """Show the next of table and charts where there is room for only one."""
        self.pane = (self.pane + 1) % len(PANES)
        self.call_after_refresh(self.update_now)

    def show_details(self) -> None:
        """Show source and method of the experiment."""
        experiment = self.chosen.experiment
        notes = [(table.title, " ".join(table.note.split())) for table in experiment.table]
        self.app.push_screen(ReadDialog(experiment.title, describe(experiment), notes))

    def show_help(self) -> None:
        """Show the help."""
        self.app.push_screen(HelpScreen("experiments", help_lines(keys.EXPERIMENTS), EXPERIMENT_WORDS))

    def leave(self) -> None:
        """Return to the monitor; the run continues."""
        self.dismiss()
