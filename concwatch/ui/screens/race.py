"""The dialog of a race: a table with places, which stays until the next race."""

from collections.abc import Iterable, Mapping, Sequence

from textual.content import Content
from textual.widget import Widget

from concwatch.lab.settings import describe
from concwatch.measure.figures import BY_NAME
from concwatch.measure.result import Outcome, Result
from concwatch.ui.race import Race
from concwatch.ui.screens.help import ReadDialog
from concwatch.ui.widgets.text_lines import TextLines
from concwatch.units import format_count

FIGURES = ("rss_per_task", "create_rate", "cpu_per_task", "peak_rss")
"""The figures in the table; the first decides the places."""

CELLS = 13
"""The width in cells of a figure."""

INTERVAL = 0.25
"""Seconds between two updates."""


def ranked(results: Sequence[Result]) -> list[Result]:
    """Return the results by the memory of a task; those that are not known are last."""
    return sorted(results, key=lambda result: result.figures.get(FIGURES[0]) or float("inf"))


class RaceTable(TextLines):
    """The places so far, and who is running."""

    DEFAULT_CSS = """
    RaceTable { height: auto; }
    """

    def show(self, race: Race, colors: Mapping[str, str]) -> None:
        """Show the state of a race; ``colors`` has the colour of each engine."""
        name_width = max(len(engine.name) for engine in race.engines) + 2
        heads = "".join(f"{BY_NAME[name].title:>{CELLS}}" for name in FIGURES)
        best = next((value for result in ranked(race.results) if (value := _cost(result))), None)
        lines = [Content.styled(f"    {'engine':{name_width}}{heads}{'× best':>9}", "bold $dim")]
        for place, result in enumerate(ranked(race.results), 1):
            lines.append(_row(result, place, name_width, best, colors.get(result.engine, "")))
        for engine in race.engines[len(race.results) :]:
            running = engine.name == race.running
            text = "running …" if running else "not run" if race.finished else "waits"
            mark = "  ▸ " if running else "    "
            lines.append(Content.assemble(f"{mark}{engine.name:{name_width}}", (text, "$dim")))
        note = "escape closes this; the race goes on"
        if race.finished:
            note = race.problem or "R starts another race · s saves a picture"
        self.set_lines(*lines, Content(), Content.styled(note, "$dim"))


def _cost(result: Result) -> float | None:
    return result.figures.get(FIGURES[0]) if result.outcome in (Outcome.DONE, Outcome.SHORT) else None


def _row(result: Result, place: int, name_width: int, best: float | None, color: str) -> Content:
    name = (f"{result.engine:{name_width}}", f"bold {color}".strip())
    if not (result.held and _cost(result)):
        return Content.assemble("  – ", name, (result.reason or "not measured", "$warning"))
    held = result.held
    figures = "".join(f"{BY_NAME[name].text(held) + BY_NAME[name].marks(held):>{CELLS}}" for name in FIGURES)
    ratio = f"{(_cost(result) or 0.0) / best:.1f} ×" if best else ""
    return Content.assemble((f"{place:>3} ", "bold $accent"), name, figures, f"{ratio:>9}")


class RaceScreen(ReadDialog):
    """Shows a race while it runs, and its result."""

    def __init__(self, race: Race, colors: Mapping[str, str]) -> None:
        """Create the dialog of ``race``."""
        what = f"each alone to {format_count(race.tasks)} tasks, each {describe(race.settings.workload)}"
        super().__init__(f"race: {what}", Content())
        self._race = race
        self._colors = colors

    def body(self) -> Iterable[Widget]:
        """Yield the table."""
        yield RaceTable()

    def on_mount(self) -> None:
        """Update the table until the race is over."""
        self._show()
        self.set_interval(INTERVAL, self._show)

    def _show(self) -> None:
        self.query_one(RaceTable).show(self._race, self._colors)
