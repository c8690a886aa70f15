"""The actions on the selected experiment, and its progress."""

from collections.abc import Sequence

from textual.content import Content
from textual.style import Style

from concwatch.measure.experiments.runner import CellState, Runner
from concwatch.protocol.units import format_count, format_forecast, format_seconds
from concwatch.ui.experiment_runs import ExperimentRuns
from concwatch.ui.widgets.text_lines import TextLines

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


class RunBar(TextLines):
    """Two lines: the actions on the selected experiment, and its progress."""

    DEFAULT_CSS = """
    RunBar {
        height: 2;
        padding: 0 1;
        link-style: none;
        link-color: $foreground 80%;
        link-background: $panel;
        link-style-hover: none;
        link-background-hover: $foreground 20%;
        link-color-hover: $foreground;
    }
    """

    _shown: tuple[ExperimentRuns, str, int] | None = None

    def show(self, runs: ExperimentRuns, name: str, held: int) -> None:
        """Show the experiment ``name``; ``held`` is the number of tasks that the monitor's lanes hold."""
        self._shown = runs, name, held
        self.update_lines()

    def rows(self, width: int) -> Sequence[Content]:
        """Return both lines."""
        if self._shown is None:
            return ()
        runs, name, held = self._shown
        return (self._actions(runs, held, width), self._progress(runs, name, width))

    @staticmethod
    def _actions(runs: ExperimentRuns, tasks: int, width: int) -> Content:
        run = ("⏎", "run", "enter") if runs.running is None else ("x", "stop", "x")
        quick = f"quick {'● on' if runs.quick else '○ off'}"
        buttons = Content("  ").join([_button(*run), _button("k", quick, "k")])
        if not tasks:
            return buttons
        stop = _button("0", "stop lanes", "0")
        room = width - buttons.cell_length - stop.cell_length - len("  !   ")
        held = f"{format_count(tasks)} tasks"
        texts = (
            f"the lanes' {held} distort the figures",
            f"{held} distort the figures",
            held,
        )
        text = next((text for text in texts if len(text) <= room), texts[-1])
        return Content.assemble(buttons, ("  ! ", "bold $warning"), (text, "$warning"), "  ", stop)

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


def _button(sign: str, label: str, key: str) -> Content:
    """Return a text that presses ``key`` when it is clicked."""
    text = Content.assemble((f" {sign}", "bold $accent"), f" {label} ")
    return text.stylize(Style.from_meta({"@click": f"screen.press({key!r})"}))
