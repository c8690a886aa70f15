"""The table of a watched process's groups: one line for each coroutine function."""

from collections.abc import Callable, Collection, Sequence

from textual.content import Content

from concwatch.monitor.group_status import GROUP_METRICS, GroupStatus
from concwatch.monitor.metric import GroupColumn, Metric
from concwatch.monitor.ranking import MergedGroup
from concwatch.monitor.waits import places_text, waiting_text
from concwatch.protocol.text import short_place
from concwatch.protocol.units import (
    UNKNOWN,
    format_count,
)
from concwatch.ui.widgets.table import Column, Table, columns_for, headings
from concwatch.ui.widgets.text_lines import Cell, assemble, call

MOST = 50
"""The maximum number of groups with a line of their own."""

NAME, PLACE = 18, 22
"""The minimum widths in cells of a group's name, and of the place where it is defined."""

WAIT_LINES = 5
"""The maximum number of places to list where a group's tasks wait."""


def _column(row: Metric, layout: GroupColumn) -> Column[MergedGroup]:
    form = row.unit.format if layout.exact else row.unit.short

    def text(group: MergedGroup) -> str:
        found = row.value(group.status)
        return UNKNOWN if found is None else ("≥" if row.field in group.status.at_least else "") + form(found)

    title = layout.title or row.title
    return Column(title, layout.cells, layout.text or text, row.value, layout.leaves, layout.optional)


COLUMNS: tuple[Column[MergedGroup], ...] = tuple(
    _column(row, row.group_column)
    for row in sorted(GROUP_METRICS, key=lambda row: row.group_column.position if row.group_column else 0)
    if row.group_column
)


COUNTED = {"left_over": "left over", "destroyed": "destroyed"}
"""The figures whose columns are shown only if there is something to count, and their titles."""

TIMED = ("busy", "p50", "p99")
"""The titles of the columns that are shown only if tasks are timed."""

TITLE, TITLE_AT_END = "tasks by function", "tasks by function, when the process ended"


class GroupTable(Table):
    """Shows the groups, sorted by a column."""

    BORDER_TITLE = TITLE

    _shown: tuple[Sequence[MergedGroup], str, int, int, bool] | None = None

    def __init__(self, select: Callable[[int], object], sort_by: Callable[[str], object]) -> None:
        """Create the table.

        Args:
            select: called with the row of a group that is clicked.
            sort_by: called with the title of a column that is clicked.
        """
        super().__init__(sort_by)
        self._select = select
        self._columns: Sequence[Column[MergedGroup]] = COLUMNS

    def show(
        self,
        groups: Sequence[MergedGroup],
        sorted_by: str,
        chosen: int,
        rows: int,
        opened: bool,
        note: str,
        ended: bool = False,
        hidden: Collection[str] = (),
    ) -> None:
        """Show ``groups`` in their order.

        Args:
            groups: the groups, sorted.
            sorted_by: the title of the column that they are sorted by.
            chosen: the index of the selected group.
            rows: the maximum number of groups to show.
            opened: whether to list where the tasks of the selected group wait.
            note: the text in the lower border.
            ended: whether they are those of a process at its end.
            hidden: the titles of columns that are not shown.
        """
        title = TITLE_AT_END if ended else TITLE
        if self.border_title != title:  # setting it redraws the widget
            self.border_title = title
        self._shown = (groups, sorted_by, chosen, rows, opened)
        self._columns = [column for column in COLUMNS if column.title not in hidden]
        self.update_lines()
        self.set_subtitle(note)

    def cell_rows(self, width: int) -> Sequence[Sequence[Cell]]:
        """Return the header, and one line for each group."""
        if self._shown is None:
            return ()
        groups, sorted_by, chosen, rows, opened = self._shown
        columns = columns_for(self._columns, width - NAME - PLACE, groups)
        room = max(0, width - sum(column.width for column in columns))
        name_room = min(max(NAME, room // 2), room)
        lines: list[Sequence[Cell]] = [
            [
                Cell(name_room, assemble(("group", "bold $dim"))),
                Cell(room - name_room, assemble(("defined in", "bold $dim"))),
                *headings(columns, sorted_by, self.sort_by),
            ]
        ]
        first = max(0, min(chosen - rows // 2, len(groups) - rows))
        for place, merged in enumerate(groups[first : first + rows], first):
            group = merged.status
            style = "bold $warning" if group.leak else "bold" if group.own else ""
            mark = "▌" if place == chosen else " "
            where = f"{short_place(group.file)}:{group.line}" if group.file else ""
            name = assemble((mark, "$accent"), (group.name, style))
            line = [
                Cell(name_room, name, call(self._select, place)),
                Cell(room - name_room, assemble((where, "$dim"))),
            ]
            for column in columns:
                text = assemble((column.text(merged), style if column.title == sorted_by else ""))
                line.append(Cell(column.width, text, right=True))
            lines.append(line)
            if opened and place == chosen:
                lines += [(Cell(width, text),) for text in self._waits(group)]
        if not groups:
            lines.append((Cell(width, assemble(("no tasks yet", "$dim"))),))
        return lines

    @staticmethod
    def _waits(group: GroupStatus) -> Sequence[Content]:
        left = [
            assemble(
                ("   ↳ ", "$dim"),
                (f"{format_count(line.tasks):>9}", "bold $warning"),
                f" left over, created at {short_place(line.line)}" if line.line else " left over",
            )
            for line in group.left_lines
        ]
        if not group.waits:
            known = "not known where its tasks wait" if group.live else "no tasks wait"
            text = known if group.waits_known or not group.live else "reading where its tasks wait …"
            return left or [assemble((f"   ↳ {text}", "$dim"))]
        waits = [
            assemble(
                ("   ↳ ", "$dim"),
                (f"{format_count(place.tasks):>9}", "bold"),
                f" {waiting_text(place, group.file)}",
            )
            for place in group.waits[:WAIT_LINES]
        ]
        around = (("created", group.created_at), ("awaited", group.awaited_by))
        return [
            *left,
            *waits,
            *(
                Content.assemble(
                    ("   ↳ ", "$dim"), (f"{what:>9}", "$dim"), f" by {places_text(places, group.file)}"
                )
                for what, places in around
                if places
            ),
        ]
