"""The result of one table of an experiment: published, here, ratio, and what has become of each cell."""

from collections.abc import Mapping, Sequence

from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content, Span
from textual.style import Style
from textual.widgets import Static

from concwatch.experiments.experiment import Table
from concwatch.experiments.report import Sheet, SheetRow, sheets
from concwatch.experiments.runner import CellState, Runner
from concwatch.text import flat
from concwatch.ui.widgets.text_lines import TextLines
from concwatch.units import UNKNOWN

SIZE_WIDTH = 11
FIGURE_WIDTH = 15
RATIO_WIDTH = 9
LONGEST_NAME = 22
LONGEST_NAME_NARROW = 13
"""Cells of a series' name, where 80 cells must do."""

REASONS = {CellState.SKIPPED: "$warning", CellState.FAILED: "$error"}
"""The colour in which it is said why there is no figure."""


def _how(row: SheetRow, runner: Runner) -> tuple[str, str]:
    """Return how a cell with a figure stands, or one that is still to come, and in which colour."""
    figure = row.figure
    if figure.state is CellState.RUNNING and figure.entry.cell is not None:
        repeats = runner.repeats(figure.entry.cell)
        return f"▸ {min(len(figure.runs) + 1, repeats)} of {repeats}", "bold $accent"
    if row.reason:
        return (row.reason if runner.over else "", "$dim")
    spread = "one run" if row.spread == UNKNOWN and figure.state is CellState.DONE else row.spread
    doubt = ", ".join(row.remarks)
    return (f"{spread}  {doubt}" if doubt else spread, "$warning" if doubt else "$dim")


def result_line(row: SheetRow, runner: Runner, color: str, name_width: int) -> Content:
    """Write one line of the table."""
    state = row.figure.state
    name = row.engine if len(row.engine) <= name_width else f"{row.engine[: name_width - 1]}…"
    left = Content.assemble(
        f"{row.size:>{SIZE_WIDTH}}  ",
        (f"{name:{name_width}}", color),
        (f"{row.published:>{FIGURE_WIDTH}}", "$dim"),
    )
    if row.reason and state not in (CellState.WAITING, CellState.RUNNING):
        return Content.assemble(left, "  ", (row.reason, REASONS.get(state, "$dim")))
    ratio = row.ratio if row.ratio == UNKNOWN else f"{row.ratio} ×"
    line = Content.assemble(
        left,
        (f"{row.here or UNKNOWN:>{FIGURE_WIDTH}}", "bold" if row.here else "$dim"),
        (f"{ratio:>{RATIO_WIDTH}}  ", "" if row.here else "$dim"),
        _how(row, runner),
    )
    return line.stylize("on $accent 18%") if state is CellState.RUNNING else line


def heading(table: Table, name_width: int) -> Content:
    """Write what the columns are."""
    counted = table.counted if len(table.counted) < SIZE_WIDTH else "size"
    published = f"published, {table.unit}"
    if len(published) >= FIGURE_WIDTH:
        published = "published"
    text = (
        f"{counted:>{SIZE_WIDTH}}  {'':{name_width}}{published:>{FIGURE_WIDTH}}"
        f"{f'here, {table.unit}':>{FIGURE_WIDTH}}{'ratio':>{RATIO_WIDTH}}  spread"
    )
    return Content.styled(text, "bold $dim")


def tabs(titles: Sequence[str], chosen: int) -> Content:
    """Write one number a table, to be clicked, and the title of the one that is shown."""
    if len(titles) == 1:
        return Content(titles[0])
    numbers = [
        Content.styled(f" {index + 1} ", "bold reverse" if index == chosen else "$dim").stylize(
            Style.from_meta({"@click": f"screen.show_table({index})"})
        )
        for index in range(len(titles))
    ]
    return Content.assemble(Content("").join(numbers), " ", titles[chosen])


def lessons(sheet: Sheet, cut: Sequence[SheetRow]) -> Content:
    """Return what a table shows, once it shows something, and what to know before believing it.

    The reasons of ``cut`` rows, which do not fit into their lines, stand there in full.
    """
    reasons = [
        Content.styled(f"{row.size} {row.engine} {row.reason}", REASONS.get(row.figure.state, ""))
        for row in cut
    ]
    shown = [Content.styled(sheet.sentence, "$success")] if any(row.here for row in sheet.rows) else []
    none = () if sheet.rows else ("no quick sizes here: a full run measures it",)
    notes = (*none, *sheet.live, flat(sheet.table.note))
    return Content("\n").join([*shown, *reasons, *(Content.styled(note, "$dim") for note in notes if note)])


class ResultTable(Vertical):
    """Shows one table; the lines scroll below their heading."""

    DEFAULT_CSS = """
    ResultTable {
        height: 1fr;
        border: round $foreground 25%;
        border-title-color: $foreground;
        & TextLines { height: auto; }
        & #lessons { height: auto; padding: 0 1; margin-top: 1; }
        & VerticalScroll {
            height: 1fr;
            scrollbar-size-vertical: 1;
            scrollbar-color: $foreground 20%;
            scrollbar-background: $background;
        }
    }
    """

    _shown: tuple[Table | None, int | None] = (None, None)
    _said: tuple[str, Sequence[Span]] | None = None

    def compose(self) -> ComposeResult:
        """Lay out heading, lines and what they show."""
        yield TextLines(id="heading")
        with VerticalScroll(can_focus=False):
            yield TextLines(id="rows")
            yield Static(id="lessons")

    def show(self, runner: Runner, number: int, colors: Mapping[str, str], narrow: bool) -> None:
        """Show table ``number`` (from 0) of what ``runner`` has measured, each series in its colour."""
        sheet = sheets(runner)[number]
        table = sheet.table
        most = LONGEST_NAME_NARROW if narrow else LONGEST_NAME
        width = min(most, max(len(series.name) for series in table.series))
        if self._shown[0] is not table:  # a title that is set is drawn again, changed or not
            self.border_title = tabs([each.title for each in runner.experiment.table], number)
        self.query_one("#heading", TextLines).set_lines(heading(table, width))
        lines = [result_line(row, runner, colors[row.figure.entry.series.name], width) for row in sheet.rows]
        rows = self.query_one("#rows", TextLines)
        rows.set_lines(*lines)
        room = rows.size.width
        cut = [
            row for row, line in zip(sheet.rows, lines, strict=True) if row.reason and line.cell_length > room
        ]
        self._teach(lessons(sheet, cut))
        running = [index for index, row in enumerate(sheet.rows) if row.figure.state is CellState.RUNNING]
        self._follow(table, running[0] if running else None)

    def _teach(self, said: Content) -> None:
        if self._said != (said.plain, said.spans):
            self._said = (said.plain, said.spans)
            self.query_one("#lessons", Static).update(said)

    def _follow(self, table: Table, line: int | None) -> None:
        """Bring the line that runs into view when another does, and leave who scrolls alone until then."""
        if self._shown == (table, line):
            return
        view = self.query_one(VerticalScroll)
        if self._shown[0] is not table:
            view.scroll_home(animate=False)
        if line is not None:
            view.scroll_to(y=max(0, line - view.size.height // 2), animate=False)
        self._shown = (table, line)

    def scroll_lines(self, pages: int) -> None:
        """Scroll by pages."""
        view = self.query_one(VerticalScroll)
        view.scroll_relative(y=pages * max(1, view.size.height - 1), animate=False)
