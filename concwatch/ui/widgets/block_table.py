"""The table of what has blocked the event loops of a watched program: one line for each place."""

from collections.abc import Callable, Sequence

from msgspec import Struct
from textual.content import Content

from concwatch.monitor.blocks import BlockedPlace
from concwatch.protocol.text import short_place
from concwatch.protocol.units import UNKNOWN, format_count, format_percent, format_seconds
from concwatch.ui.widgets.table import Column, Table, columns_for, headings
from concwatch.ui.widgets.text_lines import Cell, call

NAME, PLACE = 18, 22
"""The minimum widths in cells of a function's name, and of its line."""

FRAMES = 6
"""The maximum number of frames of a stack that are listed."""

CAUSES = {"gc": "garbage collection", "stopped": "process stopped, or no processor free"}
"""Cause → the name of its row; the cause "code" has that of its function."""


class BlockRow(Struct, frozen=True):
    """A row of the table."""

    place: BlockedPlace
    total: float
    """The seconds for which loops were blocked at all places."""

    @property
    def share(self) -> float:
        """Its share of that."""
        return self.place.seconds / self.total if self.total else 0.0

    @property
    def name(self) -> str:
        """The function, or the cause."""
        return CAUSES.get(self.place.cause) or f"{'' if self.place.exact else '≈ '}{self.place.function}"


COLUMNS: tuple[Column[BlockRow], ...] = (
    Column("total", 9, lambda row: format_seconds(row.place.seconds), lambda row: row.place.seconds),
    Column("share", 7, lambda row: format_percent(row.share), lambda row: row.share, 2),
    Column("times", 8, lambda row: format_count(row.place.count), lambda row: row.place.count),
    Column("longest", 9, lambda row: format_seconds(row.place.longest), lambda row: row.place.longest),
    Column(
        "mean", 9, lambda row: format_seconds(row.place.seconds / max(1, row.place.count)),
        lambda row: row.place.seconds / max(1, row.place.count), 3,
    ),
    Column("in task", 16, lambda row: row.place.group[:16] or UNKNOWN, lambda row: None, 4),
)  # fmt: skip


class BlockTable(Table):
    """Shows the places, sorted by a column."""

    BORDER_TITLE = "what blocks the event loops"

    _shown: tuple[Sequence[BlockRow], str, int, tuple[int, int], bool, str] | None = None

    def __init__(self, select: Callable[[int], object], sort_by: Callable[[str], object]) -> None:
        """Create the table.

        Args:
            select: called with the row of a place that is clicked.
            sort_by: called with the title of a column that is clicked.
        """
        super().__init__(sort_by)
        self._select = select

    def show(
        self,
        places: Sequence[BlockRow],
        sorted_by: str,
        chosen: int,
        rows: tuple[int, int],
        opened: bool,
        empty: str,
    ) -> None:
        """Show ``places`` in their order.

        Args:
            places: the places, sorted.
            sorted_by: the title of the column that they are sorted by.
            chosen: the index of the selected place.
            rows: the minimum number of lines for places, and the maximum number of places to show.
            opened: whether to list the stack of the selected place.
            empty: the text without a place.
        """
        self._shown = (places, sorted_by, chosen, rows, opened, empty)
        self.update_lines()
        self.set_subtitle(f"{format_count(chosen + 1)} of {len(places)}" if len(places) > rows[1] else "")

    def cell_rows(self, width: int) -> Sequence[Sequence[Cell]]:
        """Return the header, and one line for each place."""
        if self._shown is None:
            return ()
        places, sorted_by, chosen, (least, rows), opened, empty = self._shown
        columns = columns_for(COLUMNS, width - NAME - PLACE, places)
        room = max(0, width - sum(column.width for column in columns))
        name_room = min(max(NAME, room // 2), room)
        lines: list[Sequence[Cell]] = [
            [
                Cell(name_room, Content.styled("blocked in", "bold $dim")),
                Cell(room - name_room, Content.styled("at", "bold $dim")),
                *headings(columns, sorted_by, self.sort_by),
            ]
        ]
        first = max(0, min(chosen - rows // 2, len(places) - rows))
        for at, row in enumerate(places[first : first + rows], first):
            mark = "▌" if at == chosen else " "
            name = Content.assemble(
                (mark, "$accent"), (row.name, "bold" if row.place.cause == "code" else "")
            )
            where = short_place(row.place.where) if row.place.where else ""
            lines.append(
                [
                    Cell(name_room, name, call(self._select, at)),
                    Cell(room - name_room, Content.styled(where, "$dim")),
                    *(
                        Cell(
                            column.width,
                            Content.styled(column.text(row), "bold" if column.title == sorted_by else ""),
                            right=True,
                        )
                        for column in columns
                    ),
                ]
            )
            if opened and at == chosen:
                lines += [(Cell(width, text),) for text in _stack(row.place)]
        if not places:
            lines.append((Cell(width, Content.styled(empty, "$dim")),))
        return lines + [(Cell(width, Content("")),)] * (1 + least - len(lines))


def _stack(place: BlockedPlace) -> Sequence[Content]:
    """Return the lines of a stack, innermost first."""
    if not place.stack:
        return [Content.styled("   ↳ no stack", "$dim")]
    return [
        Content.assemble(("   ↳ ", "$dim"), (frame.in_, "bold"), (f"  {short_place(frame.where)}", "$dim"))
        for frame in place.stack[:FRAMES]
    ]
