"""The table of a watched process's groups: one line for each coroutine function."""

from collections.abc import Callable, Sequence

from textual.content import Content

from concwatch.monitor.group_status import GroupStatus
from concwatch.monitor.growth import Growth
from concwatch.monitor.ranking import MergedGroup
from concwatch.monitor.waits import places_text, waiting_text
from concwatch.protocol.text import short_place
from concwatch.protocol.units import (
    UNKNOWN,
    format_bytes,
    format_count,
    format_rate,
    format_seconds,
    format_short,
)
from concwatch.ui.widgets.table import Column, Table, columns_for, headings
from concwatch.ui.widgets.text_lines import Cell, assemble, call

MOST = 50
"""The maximum number of groups with a line of their own."""

NAME, PLACE = 18, 22
"""The minimum widths in cells of a group's name, and of the place where it is defined."""

WAIT_LINES = 5
"""The maximum number of places to list where a group's tasks wait."""


def _growth_text(growth: Growth | None) -> str:
    if growth is None:
        return UNKNOWN
    half = (growth.high - growth.low) / 2
    rate = format_short(abs(growth.per_minute))
    sign = "" if rate == "0" else "+" if growth.per_minute > 0 else "−"
    return f"{sign}{rate} ±{format_short(half)}"


def _column(
    title: str,
    cells: int,
    name: str,
    form: Callable[[float], str],
    leaves: int = 0,
    optional: bool = False,
) -> Column[MergedGroup]:
    def text(group: MergedGroup) -> str:
        found = getattr(group.status, name)
        return UNKNOWN if found is None else ("≥" if name in group.status.at_least else "") + form(found)

    return Column(title, cells, text, lambda group: group.figure(name), leaves, optional)


def _per_minute(group: MergedGroup) -> float | None:
    growth: Growth | None = group.figure("growth")
    return growth.per_minute if growth else None


COLUMNS: tuple[Column[MergedGroup], ...] = (
    _column("live", 9, "live", format_count),
    _column("created/s", 10, "created_per_second", format_rate, 1),
    _column("ended/s", 10, "ended_per_second", format_rate, 2),
    _column("mean life", 9, "mean_life", format_seconds, 3),
    _column("oldest", 8, "oldest", format_seconds, 6),
    Column("growth/min", 14, lambda group: _growth_text(group.status.growth), _per_minute),
    _column("RSS with it", 11, "rss", format_bytes, 5),
    _column("created", 10, "created", format_short, 7),
    _column("peak", 8, "live_peak", format_short, 9),
    _column("failed", 8, "failed", format_short, 8),
    _column("retained", 8, "retained", format_short, 4),
    _column("left over", 9, "left_over", format_short, 2, optional=True),
    _column("destroyed", 9, "destroyed", format_short, 2, optional=True),
)


TITLE, TITLE_AT_END = "tasks by function", "tasks by function, when the process ended"

OF_NOW = ("created_per_second", "ended_per_second", "oldest", "growth", "rss")
"""The figures of a group that are unknown once its process has ended."""


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

    def show(
        self,
        groups: Sequence[MergedGroup],
        sorted_by: str,
        chosen: int,
        rows: int,
        opened: bool,
        note: str,
        ended: bool = False,
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
        """
        title = TITLE_AT_END if ended else TITLE
        if self.border_title != title:  # setting it redraws the widget
            self.border_title = title
        self._shown = (groups, sorted_by, chosen, rows, opened)
        self.update_lines()
        self.set_subtitle(note)

    def cell_rows(self, width: int) -> Sequence[Sequence[Cell]]:
        """Return the header, and one line for each group."""
        if self._shown is None:
            return ()
        groups, sorted_by, chosen, rows, opened = self._shown
        columns = columns_for(COLUMNS, width - NAME - PLACE, groups)
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
                ("   ↳ ", "$dim"), (f"{format_count(place.tasks):>9}", "bold"), f" {waiting_text(place)}"
            )
            for place in group.waits[:WAIT_LINES]
        ]
        around = (("created", group.created_at), ("awaited", group.awaited_by))
        return [
            *left,
            *waits,
            *(
                Content.assemble(("   ↳ ", "$dim"), (f"{what:>9}", "$dim"), f" by {places_text(places)}")
                for what, places in around
                if places
            ),
        ]
