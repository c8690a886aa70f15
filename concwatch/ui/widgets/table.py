"""Tables defined by a list of columns, which are left out if there is no room and can be sorted by."""

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from msgspec import Struct
from textual.content import Content

from concwatch.ui.widgets.text_lines import Cell, ClickableLines, assemble, call

GAP = 2
"""The cells before a column."""

Row = TypeVar("Row")
"""The type of the table's rows."""


class Column(Struct, Generic[Row], frozen=True):
    """One metric of each row."""

    title: str
    cells: int
    """The width of its longest value, if that is longer than the title."""
    text: Callable[[Row], str]
    value: Callable[[Row], float | None]
    """Returns the value to sort by."""
    leaves: int = 0
    """If not all columns fit, those with the highest number are left out first, those with 0 never."""
    optional: bool = False
    """Whether to show it only if a row has a value."""
    marks: int = 0
    """The cells for marks after its values, which the title leaves free."""
    about: tuple[str, str] = ("", "")
    """Its title and meaning in the help."""
    left: bool = False
    """Whether it is aligned to the left."""

    @property
    def width(self) -> int:
        """The width in cells, including the gap before it."""
        return GAP + max(len(self.title), self.cells) + self.marks


def columns_for(columns: Sequence[Column[Row]], room: int, rows: Sequence[Row] = ()) -> list[Column[Row]]:
    """Return the columns that fit into ``room`` cells, without optional ones that are empty in ``rows``."""
    shown = [column for column in columns if not column.optional or any(map(column.value, rows))]
    while sum(column.width for column in shown) > room:
        first = max(shown, key=lambda column: column.leaves)
        if not first.leaves:
            break
        shown.remove(first)
    return shown


def headings(columns: Sequence[Column[Row]], sorted_by: str, sort_by: Callable[[str], object]) -> list[Cell]:
    """Return the header cells. A click on a title calls ``sort_by`` with it."""
    cells = []
    for column in columns:
        chosen = column.title == sorted_by
        text = f"▾ {column.title}" if chosen else f"{'':{GAP}}{column.title}"
        text = text if column.left else f"{text}{'':{column.marks}}"
        style = "bold $accent" if chosen else "bold $dim"
        action = call(sort_by, column.title)
        cells.append(Cell(column.width, assemble((text, style)), action, right=not column.left))
    return cells


class Table(ClickableLines):
    """A table with a border, as high as its lines.

    Textual's DataTable of 12 rows and 9 columns takes 24 ms of CPU time until it is mounted, and 11 ms to
    show other figures in all cells; this 6 and 4 ms (headless, 120x40, CPython 3.11).
    """

    DEFAULT_CSS = """
    Table {
        height: auto;
        border: round $foreground 25%;
        border-title-color: $foreground;
        border-subtitle-color: $dim;
        padding: 0 1;
    }
    """

    _subtitle = ""

    def __init__(self, sort_by: Callable[[str], object]) -> None:
        """Create the table; ``sort_by`` is called with the title of a column that is clicked."""
        super().__init__()
        self.sort_by = sort_by

    def set_subtitle(self, text: str) -> None:
        """Show ``text`` in the lower border."""
        if text != self._subtitle:  # setting it redraws the widget
            self._subtitle = self.border_subtitle = text


class PlaceTable(Table, Generic[Row]):
    """A table whose rows are at places in the code: a name, the place, and the columns that fit.

    One row is chosen, and more lines can be shown below it.
    """

    HEADS = ("", "")
    """The titles of the names and of the places."""
    NAME_CELLS, PLACE_CELLS = 18, 22
    """The minimum widths in cells of a name, and of a place."""

    def __init__(self, select: Callable[[int], object], sort_by: Callable[[str], object]) -> None:
        """Create the table.

        Args:
            select: called with the number of a row that is clicked.
            sort_by: called with the title of a column that is clicked.
        """
        super().__init__(sort_by)
        self._select = select

    def describe(self, row: Row) -> tuple[str, str, str]:
        """Return the name of a row, the style of the name, and the place."""
        raise NotImplementedError

    def below(self, row: Row) -> Sequence[Content]:
        """Return the lines that are shown below the chosen row once it is opened."""
        raise NotImplementedError

    def place_rows(
        self,
        width: int,
        columns: Sequence[Column[Row]],
        rows: Sequence[Row],
        sorted_by: str,
        chosen: int,
        most: int,
        opened: bool,
    ) -> list[Sequence[Cell]]:
        """Return the header, one line for each row, and those below the chosen one.

        Args:
            width: the cells of a line.
            columns: the columns, of which those that fit are shown.
            rows: the rows, sorted.
            sorted_by: the title of the column that they are sorted by.
            chosen: the number of the chosen row.
            most: the maximum number of rows to show.
            opened: whether to show the lines below the chosen row.
        """
        shown = columns_for(columns, width - self.NAME_CELLS - self.PLACE_CELLS, rows)
        room = max(0, width - sum(column.width for column in shown))
        names = min(max(self.NAME_CELLS, room // 2), room)
        name, place = self.HEADS
        lines: list[Sequence[Cell]] = [
            [
                Cell(names, assemble((name, "bold $dim"))),
                Cell(room - names, assemble((place, "bold $dim"))),
                *headings(shown, sorted_by, self.sort_by),
            ]
        ]
        first = max(0, min(chosen - most // 2, len(rows) - most))
        for number, row in enumerate(rows[first : first + most], first):
            name, style, place = self.describe(row)
            mark = "▌" if number == chosen else " "
            line = [
                Cell(names, assemble((mark, "$accent"), (name, style)), call(self._select, number)),
                Cell(room - names, assemble((place, "$dim"))),
            ]
            for column in shown:
                text = assemble((column.text(row), style if column.title == sorted_by else ""))
                line.append(Cell(column.width, text, right=True))
            lines.append(line)
            if opened and number == chosen:
                lines += [(Cell(width, text),) for text in self.below(row)]
        return lines
