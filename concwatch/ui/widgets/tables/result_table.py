"""The result of one table of an experiment: published and measured figures, and their ratio."""

from collections.abc import Mapping, Sequence

from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content, Span
from textual.events import Click
from textual.message import Message
from textual.style import Style
from textual.widgets import Static

from concwatch.measure.experiments.experiment import ExperimentTable
from concwatch.measure.experiments.experiment_report import Sheet, SheetRow, sheets
from concwatch.measure.experiments.runner import CellState, Runner
from concwatch.measure.layout import cut
from concwatch.portable.protocol.text import flat
from concwatch.portable.protocol.units import UNKNOWN
from concwatch.ui.widgets.text.text_lines import TextLines

SIZE_WIDTH = 11
FIGURE_WIDTH = 15
RATIO_WIDTH = 9
LONGEST_NAME = 22
LONGEST_NAME_NARROW = 13
"""The maximum number of cells of a series' name on a screen of 80 columns."""

TABLE = "table"
"""What the style of a table's number has the number by."""

REASONS = {CellState.SKIPPED: "$warning", CellState.FAILED: "$error"}
"""The colour of the reason why a figure is missing."""


def _status(row: SheetRow, runner: Runner) -> tuple[str, str]:
    """Return the spread of a figure or the progress of its runs, and the colour."""
    figure = row.figure
    if figure.state is CellState.RUNNING and figure.entry.cell is not None:
        repeats = runner.repeats(figure.entry.cell)
        return f"▸ {min(len(figure.runs) + 1, repeats)} of {repeats}", "bold $accent"
    if row.reason:
        return (row.reason if runner.finished else "", "$dim")
    spread = "one run" if row.spread == UNKNOWN and figure.state is CellState.DONE else row.spread
    remarks = ", ".join(row.remarks)
    return (f"{spread}  {remarks}" if remarks else spread, "$warning" if remarks else "$dim")


def result_line(row: SheetRow, runner: Runner, color: str, name_width: int) -> Content:
    """Return the line of a row."""
    state = row.figure.state
    left = Content.assemble(
        f"{row.size:>{SIZE_WIDTH}}  ",
        (f"{cut(row.engine, name_width):{name_width}}", color),
        (f"{row.published:>{FIGURE_WIDTH}}", "$dim"),
    )
    if row.reason and state not in (CellState.WAITING, CellState.RUNNING):
        return Content.assemble(left, "  ", (row.reason, REASONS.get(state, "$dim")))
    ratio = row.ratio if row.ratio == UNKNOWN else f"{row.ratio} ×"
    line = Content.assemble(
        left,
        (f"{row.here or UNKNOWN:>{FIGURE_WIDTH}}", "bold" if row.here else "$dim"),
        (f"{ratio:>{RATIO_WIDTH}}  ", "" if row.here else "$dim"),
        _status(row, runner),
    )
    return line.stylize("on $accent 18%") if state is CellState.RUNNING else line


def heading(table: ExperimentTable, name_width: int) -> Content:
    """Return the header of a table."""
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
    """Return a number to click for each table, and the title of the one that is shown."""
    if len(titles) == 1:
        return Content(titles[0])
    numbers = [
        Content.styled(f" {index + 1} ", "bold reverse" if index == chosen else "$dim").stylize(
            Style.from_meta({TABLE: index})
        )
        for index in range(len(titles))
    ]
    return Content.assemble(Content("").join(numbers), " ", titles[chosen])


def notes_on(sheet: Sheet, truncated: Sequence[SheetRow]) -> Content:
    """Return the conclusion from a table with results, the reasons of ``truncated`` rows, and its notes."""
    reasons = [
        Content.styled(f"{row.size} {row.engine} {row.reason}", REASONS.get(row.figure.state, ""))
        for row in truncated
    ]
    shown = [Content.styled(sheet.sentence, "$success")] if any(row.here for row in sheet.rows) else []
    none = () if sheet.rows else ("this table has no sizes for a quick run: run it in full",)
    notes = (*none, *sheet.remarks, flat(sheet.table.note))
    return Content("\n").join([*shown, *reasons, *(Content.styled(note, "$dim") for note in notes if note)])


class ResultTable(Vertical):
    """Shows one table; its lines scroll below the header."""

    DEFAULT_CSS = """
    ResultTable {
        height: 1fr;
        border: round $foreground 25%;
        border-title-color: $foreground;
        & TextLines { height: auto; }
        & #notes { height: auto; padding: 0 1; margin-top: 1; }
        & VerticalScroll {
            height: 1fr;
            scrollbar-size-vertical: 1;
            scrollbar-color: $foreground 20%;
            scrollbar-background: $background;
        }
    }
    """

    class Chosen(Message):
        """Posted when the number of a table is clicked."""

        def __init__(self, number: int) -> None:
            super().__init__()
            self.number = number

    _shown: tuple[ExperimentTable | None, int | None] = (None, None)
    _notes: tuple[str, Sequence[Span]] | None = None

    def compose(self) -> ComposeResult:
        """Create header, lines and notes."""
        yield TextLines(id="heading")
        with VerticalScroll(can_focus=False):
            yield TextLines(id="rows")
            yield Static(id="notes")

    def show(self, runner: Runner, number: int, colors: Mapping[str, str], narrow: bool) -> None:
        """Show table number ``number`` (from 0) of ``runner``, with the colours of its series by name."""
        sheet = sheets(runner)[number]
        table = sheet.table
        most = LONGEST_NAME_NARROW if narrow else LONGEST_NAME
        width = min(most, max(len(series.name) for series in table.series))
        if self._shown[0] is not table:  # setting the title redraws the border
            self.border_title = tabs([each.title for each in runner.experiment.table], number)
        self.query_one("#heading", TextLines).set_lines(heading(table, width))
        lines = [result_line(row, runner, colors[row.figure.entry.series.name], width) for row in sheet.rows]
        rows = self.query_one("#rows", TextLines)
        rows.set_lines(*lines)
        room = rows.size.width
        truncated = [
            row for row, line in zip(sheet.rows, lines, strict=True) if row.reason and line.cell_length > room
        ]
        notes = notes_on(sheet, truncated)
        if self._notes != (notes.plain, notes.spans):
            self._notes = (notes.plain, notes.spans)
            self.query_one("#notes", Static).update(notes)
        running = [index for index, row in enumerate(sheet.rows) if row.figure.state is CellState.RUNNING]
        self._scroll_to_running(table, running[0] if running else None)

    def _scroll_to_running(self, table: ExperimentTable, line: int | None) -> None:
        """Scroll the running line into view when another line starts to run."""
        if self._shown == (table, line):
            return
        view = self.query_one(VerticalScroll)
        if self._shown[0] is not table:
            view.scroll_home(animate=False)
        if line is not None:
            view.scroll_to(y=max(0, line - view.size.height // 2), animate=False)
        self._shown = (table, line)

    def on_click(self, event: Click) -> None:
        """Choose the table whose number was clicked."""
        number = event.style.meta.get(TABLE)
        if isinstance(number, int):
            event.stop()
            self.post_message(self.Chosen(number))

    def scroll_lines(self, pages: int) -> None:
        """Scroll by a number of pages."""
        view = self.query_one(VerticalScroll)
        view.scroll_relative(y=pages * max(1, view.size.height - 1), animate=False)
