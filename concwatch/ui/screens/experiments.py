"""The experiments: which there are, what was published, and what this machine makes of it."""

from collections.abc import Sequence

from textual import on
from textual.app import ComposeResult
from textual.containers import Container, Horizontal, Vertical
from textual.events import Resize
from textual.reactive import reactive

from concwatch.charts.colors import series_colors
from concwatch.experiments.experiment import Experiment, Table
from concwatch.experiments.runner import Runner
from concwatch.lab.lab import Lab
from concwatch.lab.lane import Lane
from concwatch.ui import keys
from concwatch.ui.experiment_runs import ExperimentRuns
from concwatch.ui.palette import dimmed
from concwatch.ui.screens.base import Leaving, is_ending
from concwatch.ui.screens.help import WORDS, HelpScreen, ReadDialog
from concwatch.ui.widgets.about_panel import AboutPanel, describe
from concwatch.ui.widgets.experiment_charts import RunChart, SizeChart, Trail
from concwatch.ui.widgets.experiment_list import ExperimentList, Item
from concwatch.ui.widgets.key_bar import KeyBar
from concwatch.ui.widgets.result_table import ResultTable
from concwatch.ui.widgets.run_bar import RunBar
from concwatch.ui.widgets.status_bar import StatusBar

FRAME = 0.25
"""Seconds between two looks at what runs."""

PANES = ("table", "sizes", "run")
"""What is shown one at a time where there is no room for all: the table and both charts."""

EXPERIMENT_WORDS = (
    ("published", "the figure as its author gives it, on the author's machine"),
    ("here", "the median of all runs on this machine, each in a fresh process"),
    ("ratio", "here ÷ published"),
    ("spread", "(highest − lowest) ÷ median of the runs; unsteady over 10 %"),
    ("partial", "stopped before all of its runs were done"),
    *(row for row in WORDS if row[0] in ("task", "lane", "RSS", "tracemalloc")),
)


class ExperimentsScreen(Leaving[None]):
    """Shows what runs of experiments give; they run whether or not it is open."""

    CSS_PATH = "experiments.tcss"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-normal"), (160, "-wide")]
    VERTICAL_BREAKPOINTS = [(0, "-short"), (34, "-tall"), (50, "-roomy")]
    AUTO_FOCUS = ""  # no chart has any use for a key that this screen takes

    KEYS = keys.EXPERIMENTS
    BINDINGS = keys.bindings(keys.EXPERIMENTS)

    chosen: reactive[int] = reactive(0, repaint=False)
    """The experiment that the keys act on."""
    table: reactive[int] = reactive(0, repaint=False)
    """Which of its tables is shown."""
    pane: reactive[int] = reactive(0, repaint=False)
    """Which of `PANES` is shown where there is room for one only."""

    def __init__(self, runs: ExperimentRuns, lab: Lab) -> None:
        """Show ``runs``.

        Args:
            runs: what runs and has run.
            lab: the monitor's lab, whose lanes share the machine.
        """
        super().__init__()
        self._runs = runs
        self._lab = lab
        self._names = list(runs.experiments)
        if runs.running is not None:
            self.set_reactive(ExperimentsScreen.chosen, self._names.index(runs.running))

    # What is seen.

    def compose(self) -> ComposeResult:
        """Lay out the screen."""
        yield StatusBar()
        with Horizontal(id="body"):
            yield ExperimentList()
            with Vertical(id="work"):
                yield AboutPanel()
                yield RunBar()
                with Container(id="results"):
                    yield ResultTable()
                    with Container(id="charts"):
                        yield SizeChart()
                        yield RunChart()
        yield KeyBar(keys.bar(self.KEYS))

    def on_mount(self) -> None:
        """Begin to follow the runs."""
        if is_ending(self.app):
            return
        self.query_one(ExperimentList).border_title = "experiments"
        self.watch_pane(self.pane)
        for problem in self._runs.broken:
            self.notify(problem, title="not an experiment", severity="error", markup=False)
        self.app.theme_changed_signal.subscribe(self, lambda _: self.look())
        self.set_interval(FRAME, self.look)
        self.call_after_refresh(self.look)

    def look_now(self) -> None:
        """Have everything show this very moment: for a picture."""
        self.look()

    @property
    def _chosen_name(self) -> str:
        return self._names[self.chosen]

    @property
    def _experiment(self) -> Experiment:
        return self._runs.experiments[self._chosen_name]

    def look(self) -> None:
        """Have everything show how far the runs are."""
        if is_ending(self.app):
            return
        view = self._lab.snapshot()
        self.query_one(StatusBar).show(view, False, self._runs.told or "experiments")
        self.query_one(ExperimentList).show([self._item(name) for name in self._names], self.chosen)
        self.query_one(AboutPanel).show(self._experiment)
        self.query_one(RunBar).show(self._runs, self._chosen_name, sum(lane.live for lane in view.lanes))
        runner = self._runs.shown(self._chosen_name)
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
            return Item(name, title, "✕ broken off", "$error")
        if not runs.has_run(name):
            return Item(name, title, "", "")
        partial = runs.shown(name).partial
        return Item(name, title, "◐ partial" if partial else "✓ done", "$warning" if partial else "$success")

    def _colors(self, table: Table) -> dict[str, str]:
        colors = self._engine_colors([series.engine for series in table.series])
        return {series.name: color for series, color in zip(table.series, colors, strict=True)}

    def _engine_colors(self, engines: Sequence[str]) -> list[str]:
        lanes = [lane.engine.name for lane in self._lab.lanes]
        return series_colors(engines, lanes, self.app.current_theme.dark)

    def _show_memory(self, runner: Runner, table: Table, colors: dict[str, str]) -> None:
        """Show the lanes of what runs; else one past run of each series."""
        chart = self.query_one(RunChart)
        lab = runner.lab
        if self._runs.running == self._chosen_name and lab is not None:
            lanes = [(lane, self._lane_color(lane, table, colors)) for lane in self._runs.lanes]
            chart.follow_lanes(lanes, lab.clock(), runner.seconds)
            return
        trails: dict[str, Trail] = {}
        for entry in runner.entries:
            if entry.table is table and entry.cell is not None:
                for run in runner.outcomes[entry.cell].runs[-1:]:
                    trails[entry.series.name] = run.trail  # of the largest size in the end
        chart.show_trails([(name, colors[name], trail) for name, trail in trails.items() if trail])

    def _lane_color(self, lane: Lane, table: Table, colors: dict[str, str]) -> str:
        """Return the colour of a lane's engine in the table, or else in the monitor."""
        for series in table.series:
            if series.engine == lane.engine.name:
                return colors[series.name]
        return self._engine_colors([lane.engine.name])[0]

    def watch_pane(self, pane: int) -> None:
        """Bring up what is to be seen alone."""
        for index, name in enumerate(PANES):
            self.set_class(index == pane, f"-pane-{name}")

    def on_resize(self, _: Resize) -> None:
        """Fill the new room at once."""
        self.call_after_refresh(self.look)

    # What a person does.

    @on(ExperimentList.Picked)
    def _pick(self, event: ExperimentList.Picked) -> None:
        self.action_choose(event.index)

    def action_choose(self, index: int) -> None:
        """Have the keys act on experiment number ``index``, from 0."""
        if index != self.chosen:
            self.chosen, self.table = index, 0
            self.look()

    def action_move(self, by: int) -> None:
        """Choose the next experiment, or one before."""
        self.action_choose((self.chosen + by) % len(self._names))

    def action_turn(self, by: int) -> None:
        """Show the next table, or one before."""
        self.action_table((self.table + by) % len(self._experiment.table))

    def action_table(self, number: int) -> None:
        """Show table ``number``, from 0."""
        self.table = number
        self.look()

    def action_run(self) -> None:
        """Run the chosen experiment; while another runs, show that one."""
        if self._runs.running is not None:
            self.action_choose(self._names.index(self._runs.running))
        else:
            self._runs.start(self._chosen_name)
            self.look()

    def action_stop(self) -> None:
        """Stop what runs; what has been measured stays."""
        self._runs.stop()
        self.look()

    def action_quick(self) -> None:
        """Choose a quick look, or the full run, for what is started next."""
        self._runs.quick = not self._runs.quick
        self.look()

    def action_stop_lanes(self) -> None:
        """Switch every lane of the monitor off."""
        self._lab.stop_all()
        self.look()

    def action_scroll_table(self, pages: int) -> None:
        """Scroll the table by a page."""
        self.query_one(ResultTable).scroll_lines(pages)

    def action_next_pane(self) -> None:
        """Show the next of table and charts where there is room for one only."""
        self.pane = (self.pane + 1) % len(PANES)
        self.call_after_refresh(self.look)

    def action_details(self) -> None:
        """Show all that is known of the chosen experiment."""
        experiment = self._experiment
        notes = [(table.title, " ".join(table.note.split())) for table in experiment.table]
        self.app.push_screen(ReadDialog(experiment.title, describe(experiment), notes))

    def action_help(self) -> None:
        """Show the keys and the words."""
        self.app.push_screen(HelpScreen("experiments", keys.help_lines(self.KEYS), EXPERIMENT_WORDS))

    def action_back(self) -> None:
        """Show the monitor again; what runs goes on."""
        self.dismiss()
