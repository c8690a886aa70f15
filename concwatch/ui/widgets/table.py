"""Tables whose columns are data: which of them have room, and by which one the rows are sorted."""

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from msgspec import Struct
from textual.content import Content

from concwatch.ui.widgets.text_lines import Cell, ClickableLines, command

GAP = 2
"""Cells before a column."""

Row = TypeVar("Row")
"""What a line of the table is about."""


class Column(Struct, Generic[Row], frozen=True):
    """One figure of each row."""

    title: str
    cells: int
    """Of its longest value, or of its title if that is longer."""
    text: Callable[[Row], str]
    value: Callable[[Row], float | None]
    """What the table is sorted by."""
    leaves: int = 0
    """Where not all columns have room, those with the highest give way first; 0 stays."""
    optional: bool = False
    """Whether it is there only while a row has something to show in it."""
    marks: int = 0
    """Cells for marks behind its values, above which its title does not stand."""
    about: tuple[str, str] = ("", "")
    """Its title and meaning in the help."""
    left: bool = False
    """Whether it stands at the left end of its cells."""

    @property
    def width(self) -> int:
        """Cells that it takes, with the gap before it."""
        return GAP + max(len(self.title), self.cells) + self.marks


def columns_for(columns: Sequence[Column[Row]], room: int, rows: Sequence[Row] = ()) -> list[Column[Row]]:
    """Return the columns that there are for ``rows`` and that ``room`` cells can hold."""
    shown = [column for column in columns if not column.optional or any(map(column.value, rows))]
    while sum(column.width for column in shown) > room:
        first = max(shown, key=lambda column: column.leaves)
        if not first.leaves:
            break
        shown.remove(first)
    return shown


def headings(columns: Sequence[Column[Row]], sorted_by: str) -> list[Cell]:
    """Return the line above columns; a click on a title sorts by it."""
    cells = []
    for column in columns:
        chosen = column.title == sorted_by
        text = f"▾ {column.title}" if chosen else f"{'':{GAP}}{column.title}"
        text = text if column.left else f"{text}{'':{column.marks}}"
        style = "bold $accent" if chosen else "bold $dim"
        action = command("sort_by", column.title)
        cells.append(Cell(column.width, Content.styled(text, style), action, right=not column.left))
    return cells


class Table(ClickableLines):
    """A frame around the lines of a table; its height follows their number."""

    DEFAULT_CSS = """
    Table {
        height: auto;
        border: round $foreground 25%;
        border-title-color: $foreground;
        border-subtitle-color: $dim;
        padding: 0 1;
    }
    """

    _noted = ""

    def set_subtitle(self, text: str) -> None:
        """Have ``text`` stand in the frame below."""
        if text != self._noted:  # to set it draws everything again
            self._noted = self.border_subtitle = text
