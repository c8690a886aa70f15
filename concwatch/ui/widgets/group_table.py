"""Whose tasks there are: a line a coroutine function, in the place of the cost table."""

from collections.abc import Callable, Sequence

from msgspec import Struct
from textual.content import Content

from concwatch.lab.growth import Growth
from concwatch.text import short_place
from concwatch.ui.widgets.text_lines import Cell, ClickableLines, do
from concwatch.units import UNKNOWN, format_bytes, format_count, format_rate, format_seconds, format_short
from concwatch.watch.group import GroupStatus

MOST = 50
"""Groups that have a line; the others share one."""

NAME, PLACE = 18, 22
"""Cells of a group's name and of where it is defined, at least."""

WAIT_LINES = 5
"""Places where a group's tasks wait that are listed."""


def _growth_text(growth: Growth | None) -> str:
    if growth is None:
        return UNKNOWN
    half = (growth.high - growth.low) / 2
    sign = "+" if growth.per_minute >= 0 else "−"
    return f"{sign}{format_short(abs(growth.per_minute))} ±{format_short(half)}"


class GroupColumn(Struct, frozen=True):
    """A figure of each group."""

    title: str
    cells: int
    value: Callable[[GroupStatus], float | None]
    """What the column sorts by."""
    form: Callable[[GroupStatus], str]
    leaves: int = 0
    """Where not all have room, those with the highest give way first; 0 stays."""


def _number(title: str, cells: int, name: str, form: Callable[[float], str], leaves: int = 0) -> GroupColumn:
    def value(group: GroupStatus) -> float | None:
        found: float | None = getattr(group, name)
        return found

    def text(group: GroupStatus) -> str:
        found = value(group)
        return UNKNOWN if found is None else form(found)

    return GroupColumn(title, cells, value, text, leaves)


COLUMNS = (
    _number("live", 9, "live", format_count),
    _number("created/s", 10, "created_per_second", format_rate, 1),
    _number("ended/s", 10, "ended_per_second", format_rate, 2),
    _number("mean life", 9, "mean_life", format_seconds, 3),
    _number("oldest", 8, "oldest", format_seconds, 6),
    GroupColumn(
        "growth/min",
        14,
        lambda group: group.growth.per_minute if group.growth else None,
        lambda group: _growth_text(group.growth),
    ),
    _number("RSS with it", 11, "rss", format_bytes, 5),
    _number("created", 10, "created", format_short, 7),
    _number("peak", 8, "live_peak", format_short, 9),
    _number("failed", 8, "failed", format_short, 8),
    _number("retained", 8, "retained", format_short, 4),
)

GAP = 2


def columns_for(width: int) -> list[GroupColumn]:
    """Return the columns that ``width`` cells have room for."""
    columns = list(COLUMNS)
    while sum(column.cells + GAP for column in columns) + NAME + PLACE > width:
        first = max(columns, key=lambda column: column.leaves)
        if not first.leaves:
            break
        columns.remove(first)
    return columns


class GroupTable(ClickableLines):
    """Shows groups, sorted by a column; a click on a heading sorts by it."""

    DEFAULT_CSS = """
    GroupTable {
        height: auto;
        border: round $foreground 25%;
        border-title-color: $foreground;
        border-subtitle-color: $dim;
        padding: 0 1;
    }
    """

    BORDER_TITLE = "whose tasks"

    _shown: tuple[Sequence[GroupStatus], str, int, int, bool] | None = None
    _noted = ""

    def show(
        self, groups: Sequence[GroupStatus], sorted_by: str, chosen: int, rows: int, opened: bool, note: str
    ) -> None:
        """Show groups.

        Args:
            groups: in the order in which they stand.
            sorted_by: the title of the column that they are sorted by.
            chosen: the place of the one that the keys act on.
            rows: how many have room.
            opened: whether the chosen one shows where its tasks wait.
            note: what stands in the frame below.
        """
        self._shown = (groups, sorted_by, chosen, rows, opened)
        self.follow()
        if note != self._noted:
            self._noted = self.border_subtitle = note

    def lines(self, width: int) -> Sequence[Sequence[Cell]]:
        """Return the headings, and a line a group."""
        if self._shown is None:
            return ()
        groups, sorted_by, chosen, rows, opened = self._shown
        columns = columns_for(width)
        room = max(0, width - sum(column.cells + GAP for column in columns))
        name_room = min(max(NAME, room // 2), room)
        heading = [Cell(name_room, Content.styled("group", "bold $dim")),
                   Cell(room - name_room, Content.styled("defined in", "bold $dim"))]  # fmt: skip
        for column in columns:
            style = "bold $accent" if column.title == sorted_by else "bold $dim"
            title = f"▾ {column.title}" if column.title == sorted_by else column.title
            heading += [
                Cell(max(0, GAP - 2)),
                Cell(
                    column.cells + min(2, GAP),
                    Content.styled(title, style),
                    do("sort_by", column.title),
                    right=True,
                ),
            ]
        lines: list[Sequence[Cell]] = [heading]
        first = max(0, min(chosen - rows // 2, len(groups) - rows))
        for place, group in enumerate(groups[first : first + rows], first):
            style = "bold $warning" if group.leak else "bold" if group.own else ""
            mark = "▌" if place == chosen else " "
            where = f"{short_place(group.file)}:{group.line}" if group.file else ""
            line = [
                Cell(
                    name_room,
                    Content.assemble((mark, "$accent"), (group.name, style)),
                    do("choose_group", place),
                ),
                Cell(room - name_room, Content.styled(where, "$dim")),
            ]
            for column in columns:
                text = Content.styled(column.form(group), style if column.title == sorted_by else "")
                line += [Cell(GAP), Cell(column.cells, text, right=True)]
            lines.append(line)
            if opened and place == chosen:
                lines += self._waits(group, width)
        if not groups:
            lines.append((Cell(width, Content.styled("no tasks yet", "$dim")),))
        return lines

    @staticmethod
    def _waits(group: GroupStatus, width: int) -> Sequence[Sequence[Cell]]:
        if not group.waits:
            return ((Cell(width, Content.styled("   ↳ asking where its tasks wait …", "$dim")),),)
        return [
            (
                Cell(
                    width,
                    Content.assemble(
                        ("   ↳ ", "$dim"),
                        (f"{format_count(place.tasks):>9}", "bold"),
                        f" wait at {short_place(place.where)}",
                        (f"  {place.in_}" if place.in_ else "", "$dim"),
                        (f"  on {place.on}" if place.on else "", "$dim"),
                    ),
                ),
            )
            for place in group.waits[:WAIT_LINES]
        ]
