"""The table of a watched process's groups: one line for each coroutine function."""

from collections.abc import Collection, Sequence

from textual.content import Content

from concwatch.monitor.groups.ranking import MergedGroup
from concwatch.monitor.metrics.group_status import GROUP_METRICS
from concwatch.monitor.metrics.metric import GroupColumn, Metric
from concwatch.monitor.verdicts.waits import created_text, places_text, waiting_text
from concwatch.portable.protocol.text import short_place
from concwatch.portable.protocol.units import (
    UNKNOWN,
    format_count,
)
from concwatch.ui.widgets.text.place_table import Places, PlaceTable
from concwatch.ui.widgets.text.table import Column
from concwatch.ui.widgets.text.text_lines import assemble

MOST = 50
"""The maximum number of groups with a line of their own."""

WAIT_LINES = 5
"""The maximum number of places to list where a group's tasks wait."""


def _column(row: Metric, layout: GroupColumn) -> Column[MergedGroup]:
    form = row.unit.format if layout.exact else row.unit.short

    def text(group: MergedGroup) -> str:
        found = row.value(group)
        return UNKNOWN if found is None else ("≥" if row.field in group.at_least else "") + form(found)

    title = layout.title or row.title
    return Column(
        title,
        layout.cells,
        layout.text or text,
        row.value,
        layout.leaves,
        layout.optional,
        about=(title, row.meaning),
    )


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


class GroupTable(PlaceTable[MergedGroup]):
    """Shows the groups, sorted by a column."""

    BORDER_TITLE = TITLE
    HEADS = ("group", "defined in")

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
        places = Places(groups, sorted_by, chosen, rows, opened, "no tasks of asyncio, trio or gevent yet")
        self.show_places(places, [column for column in COLUMNS if column.title not in hidden])
        self.set_subtitle(note)

    def describe(self, row: MergedGroup) -> tuple[str, str, str]:
        """Return a group's name, its style, and where its function is defined."""
        name, file, line = row.function
        if row.figure("leak"):
            style = "bold $warning"
        elif row.figure("grows"):
            style = "$warning"
        else:
            style = "bold" if row.figure("own") else ""
        return name, style, f"{short_place(file)}:{line}" if file else ""

    def below(self, row: MergedGroup) -> Sequence[Content]:
        """Return whether it grows, what was left over, where tasks wait, and what created and awaits them."""
        group = row.status
        verdict = "a leak" if group.leak else "grows, too early to call it a leak"
        left = [assemble((f"   ↳ {verdict}", "$warning"))] if group.grows or group.leak else []
        left += [
            assemble(
                ("   ↳ ", "$dim"),
                (f"{format_count(line.tasks):>9}", "bold $warning"),
                f" left over, created at {short_place(line.line)}" if line.line else " left over",
            )
            for line in group.left_lines
        ]
        if not group.waits:
            known = "no tasks wait" if group.live == 0 else "not known where its tasks wait"
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
        count, _, created = created_text(group.created_at, group.file).partition(" ")
        awaited = places_text(group.awaited_by, group.file)
        around = ((count, "bold", created), ("awaited", "$dim", awaited and f"by {awaited}"))
        return [
            *left,
            *waits,
            *(
                Content.assemble(("   ↳ ", "$dim"), (f"{start:>9}", style), f" {text}")
                for start, style, text in around
                if text
            ),
        ]
