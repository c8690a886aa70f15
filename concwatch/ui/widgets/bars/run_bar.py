"""The actions on the selected experiment, and its progress."""

from collections.abc import Callable, Sequence

from textual.content import Content

from concwatch.measure.experiments.runner import CellState, Runner
from concwatch.portable.protocol.units import format_count, format_forecast, format_seconds
from concwatch.ui.sources.experiment_runs import ExperimentRuns
from concwatch.ui.widgets.text.text_lines import Cell, ClickableLines, assemble, call

BAR = 24
"""The maximum number of cells of the progress bar."""


def plan(runner: Runner) -> str:
    """Return how much a runner will do: ``12 runs, about 40 s``."""
    runs = sum(runner.repeats(cell) for cell in runner.outcomes)
    return f"{format_count(runs)} {'run' if runs == 1 else 'runs'}, {format_forecast(runner.seconds_left)}"


def current(runner: Runner) -> str:
    """Return the current run: ``threads 5,000, run 2 of 3``."""
    cell = runner.current
    if cell is None:
        return ""
    done, of = len(runner.outcomes[cell].runs), runner.repeats(cell)
    names = [entry.series.name for entry in runner.entries if entry.cell == cell]
    return f"{names[0]} {format_count(cell.size)}, run {min(done + 1, of)} of {of}"


def result(runner: Runner) -> tuple[str, str]:
    """Return how the experiment ended, and the colour of the text."""
    states = [outcome.state for outcome in runner.outcomes.values()]
    done = states.count(CellState.DONE)
    rest = [
        f"{states.count(state)} {state.value}"
        for state in (CellState.SKIPPED, CellState.FAILED)
        if state in states
    ]
    quick = " (quick)" if runner.selection.quick else ""
    counted = ", ".join([f"{done} of {len(states)} cells measured", *rest])
    if not done:
        return f"nothing measured{quick}: {', '.join(rest) or 'stopped'}", "$warning"
    if runner.partial:
        return f"partial{quick}: {counted}; stopped after {format_seconds(runner.seconds)}", "$warning"
    style = "$warning" if rest else "$success"
    return f"done{quick}: {counted}, in {format_seconds(runner.seconds)}", style


class RunBar(ClickableLines):
    """Two lines: the actions on the selected experiment, and its progress."""

    DEFAULT_CSS = """
    RunBar {
        height: 2;
        padding: 0 1;
    }
    """

    _shown: tuple[ExperimentRuns, str, int] | None = None

    def __init__(self, press: Callable[[str], object]) -> None:
        """Create the bar; ``press`` is called with the name of a key."""
        super().__init__()
        self._press = press

    def show(self, runs: ExperimentRuns, name: str, held: int) -> None:
        """Show the experiment ``name``; ``held`` is the number of tasks that the monitor's lanes hold."""
        self._shown = runs, name, held
        self.update_lines()

    def cell_rows(self, width: int) -> Sequence[Sequence[Cell]]:
        """Return both lines."""
        if self._shown is None:
            return ()
        runs, name, held = self._shown
        return (self._actions(runs, held, width), (Cell(width, self._progress(runs, name, width)),))

    def _actions(self, runs: ExperimentRuns, tasks: int, width: int) -> Sequence[Cell]:
        run = ("⏎", "run", "enter") if runs.running is None else ("x", "stop", "x")
        quick = f"quick {'● on' if runs.quick else '○ off'}"
        buttons = [self._button(*run), Cell(2), self._button("k", quick, "k")]
        if not tasks:
            return buttons
        stop = self._button("0", "stop lanes", "0")
        room = width - sum(cell.width for cell in (*buttons, stop)) - len("  !   ")
        held = f"{format_count(tasks)} tasks"
        texts = (
            f"the lanes' {held} distort the figures",
            f"{held} distort the figures",
            held,
        )
        text = next((text for text in texts if len(text) <= room), texts[-1])
        warning = assemble(("  ! ", "bold $warning"), (text, "$warning"), "  ")
        return [*buttons, Cell(warning.cell_length, warning), stop]

    def _button(self, sign: str, label: str, key: str) -> Cell:
        """Return a text that presses ``key`` when it is clicked."""
        text = assemble((f" {sign}", "bold $accent on $panel"), (f" {label} ", "$foreground 80% on $panel"))
        return Cell(text.cell_length, text, call(self._press, key))

    def _progress(self, runs: ExperimentRuns, name: str, width: int) -> Content:
        runner = runs.shown(name)
        if runs.running == name:
            return self._bar(runner, runs.stopping, width)
        if runs.running is not None:
            text = f"{runs.running} is running, {runs.status.removeprefix('experiment ')}; only one can run"
            return Content.styled(text, "$dim")
        if name in runs.problems:
            return Content.styled(f"failed: {runs.problems[name]}", "$error")
        if runs.has_run(name):
            text, style = result(runner)
            return Content.styled(text, style)
        other = "k for a full run" if runs.quick else "k for a quick run"
        texts = (
            f"enter runs it: {plan(runs.prepared(name, runs.quick))}",
            f"{other}: {plan(runs.prepared(name, not runs.quick))}",
        )
        return Content.styled(" · ".join(texts), "$dim")

    @staticmethod
    def _bar(runner: Runner, stopping: bool, width: int) -> Content:
        cells = min(BAR, max(4, width // 5))
        filled = round(runner.share * cells)
        left = "stopping" if stopping else f"{format_forecast(runner.seconds_left)} left"
        return Content.assemble(
            ("━" * filled, "$success"),
            ("─" * (cells - filled), "$foreground 30%"),
            (f" {runner.share * 100:.0f} %", "bold"),
            (f"  {left}", "$warning" if stopping else "$dim"),
            (f"  {current(runner)}", "$dim"),
        )
