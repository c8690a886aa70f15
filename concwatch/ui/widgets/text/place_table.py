"""The base of tables of places in a program."""

from collections.abc import Callable, Sequence
from typing import Generic

from msgspec import Struct
from textual.content import Content

from concwatch.ui.widgets.text.table import Column, Row, Table, columns_for, headings
from concwatch.ui.widgets.text.text_lines import Cell, assemble, call, end_of


class Places(Struct, Generic[Row], frozen=True):
    """What a table of places shows."""

    rows: Sequence[Row]
    """The rows, sorted."""
    sorted_by: str
    """The title of the column that they are sorted by."""
    chosen: int
    """The number of the chosen row."""
    most: int
    """The maximum number of rows to show."""
    opened: bool
    """Whether to show the lines below the chosen row."""
    empty: str
    """The text if there are no rows."""


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
        self._places: Places[Row] | None = None
        self._columns: Sequence[Column[Row]] = ()

    def describe(self, row: Row) -> tuple[str, str, str]:
        """Return the name of a row, the style of the name, and the place."""
        raise NotImplementedError

    def below(self, row: Row) -> Sequence[Content]:
        """Return the lines that are shown below the chosen row once it is opened."""
        raise NotImplementedError

    def show_places(self, places: Places[Row], columns: Sequence[Column[Row]]) -> None:
        """Show ``places``, with those of ``columns`` that fit."""
        self._places, self._columns = places, columns
        self.update_lines()

    def cell_rows(self, width: int) -> Sequence[Sequence[Cell]]:
        """Return the header, one line for each row, and those below the chosen one.

        There are always as many lines as for the most rows, so that nothing moves: the lines below the chosen
        row take the place of other rows. Only if there are more of them, there are more lines.
        """
        places = self._places
        if places is None:
            return ()
        rows, chosen = places.rows, places.chosen
        shown = columns_for(self._columns, width - self.NAME_CELLS - self.PLACE_CELLS, rows)
        room = max(0, width - sum(column.width for column in shown))
        names = min(max(self.NAME_CELLS, room // 2), room)
        name, place = self.HEADS
        lines: list[Sequence[Cell]] = [
            [
                Cell(names, assemble((name, "bold $dim"))),
                Cell(room - names, assemble((place, "bold $dim"))),
                *headings(shown, places.sorted_by, self.sort_by),
            ]
        ]
        below = [(Cell(width, text),) for text in self.below(rows[chosen])] if places.opened and rows else []
        kept = max(1, places.most - len(below))
        first = max(0, min(chosen - kept // 2, len(rows) - kept))
        for number, row in enumerate(rows[first : first + kept], first):
            name, style, place = self.describe(row)
            mark = "▌" if number == chosen else " "
            text = assemble((mark, "$accent"), (name, style))
            line = [
                Cell(max(0, names - 1), text, call(self._select, number)),
                Cell(min(1, names)),
                Cell(room - names, assemble((end_of(place, room - names), "$dim"))),
            ]
            for column in shown:
                text = assemble((column.text(row), style if column.title == places.sorted_by else ""))
                line.append(Cell(column.width, text, right=True))
            lines.append(line)
            if number == chosen:
                lines += below
        if not rows:
            lines.append((Cell(width, assemble((places.empty, "$dim"))),))
        return lines + [(Cell(width, assemble("")),)] * (1 + places.most - len(lines))
