"""The groups of the tasks of a watched program."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from textual.widget import Widget

from concwatch.monitor.groups.ranking import MergedGroup, merge_groups, ranked
from concwatch.monitor.metrics.group_status import Function
from concwatch.monitor.metrics.metrics import LaneSnapshot
from concwatch.monitor.metrics.snapshot import Snapshot
from concwatch.portable.protocol.text import plain
from concwatch.portable.protocol.units import format_count
from concwatch.ui.look.layout import BESIDE_HEIGHT, Layout
from concwatch.ui.panels.blocks import BlockPanel
from concwatch.ui.panels.panel import Panel
from concwatch.ui.panels.processes import ProcessPanel
from concwatch.ui.widgets.lanes.process_list import ALL
from concwatch.ui.widgets.tables.group_table import COLUMNS, COUNTED, MOST, TIMED, GroupTable

ROWS, FEW_ROWS = 8, 4
"""Rows of the table of groups, and on a low terminal."""

TABLE_HEIGHT = 19
"""The fewest rows of a terminal with a table of groups."""

UPDATE_INTERVAL = 0.5
"""Seconds between two updates of the table, if the user does nothing: agents report as often."""

WAITS_INTERVAL = 2.0
"""Seconds between two requests for where the tasks of a group wait, while that is shown."""


def _hidden(lanes: Iterable[LaneSnapshot]) -> Sequence[str]:
    """Return the titles of the columns in which no group of these lanes has anything."""
    lanes = list(lanes)
    timed = any(lane.tick is None or "timing" in lane.status.flags for lane in lanes)
    counted = [COUNTED[name] for name in COUNTED if not any(_may_have(lane, name) for lane in lanes)]
    return [*counted, *(() if timed else TIMED)]


def _may_have(lane: LaneSnapshot, name: str) -> bool:
    """Return whether a group of a lane may have tasks in one of `COUNTED`; a recording has no ticks."""
    return bool(lane.groups) and (lane.tick is None or bool(getattr(lane.tick, name)))


class GroupPanel(Panel):
    """Shows the groups of the selected process or of all, and where the tasks of one wait."""

    def __init__(
        self, processes: ProcessPanel, request_waits: Callable[[Function], object] | None = None
    ) -> None:
        """Create the panel.

        Args:
            processes: the panel with the selected process.
            request_waits: requests where the tasks of a function wait; None for a recording.
        """
        self._processes, self._request = processes, request_waits
        self._blocks = BlockPanel(processes)
        self._blocks_shown = False
        self._table = GroupTable(self.select, self.sort_by)
        self._groups: Sequence[MergedGroup] = ()
        self._row = 0
        self._selected: Function | None = None  # the first until one is selected
        self._sorted_by = COLUMNS[0].title
        self._filter = ""
        self._waits_shown = False
        self._shown: object = None

    def widgets(self) -> Iterable[Widget]:
        """Return the table."""
        return [self._table, *self._blocks.widgets()]

    def start(self) -> None:
        """Start to request again and again where tasks wait, while that is shown."""
        if self._request is not None:
            self.screen.set_interval(WAITS_INTERVAL, self._request_waits)

    def place(self, found: Layout) -> None:
        """Leave the table as high as its rows, and leave it out on the smallest terminals."""
        self._choose_table()

    def _choose_table(self) -> None:
        """Show the table of groups, that of blocks, or none."""
        room = self.screen.app.size.height >= TABLE_HEIGHT
        self._table.display = room and not self._blocks_shown
        self._blocks.display(room and self._blocks_shown)

    def show(self, snapshot: Snapshot) -> None:
        """Update the table that is shown."""
        rows = ROWS if self.screen.app.size.height >= BESIDE_HEIGHT else FEW_ROWS
        if self._blocks_shown:
            self._blocks.show_rows(snapshot, rows)
            return
        process = self._processes.selected
        lanes = [lane for lane in snapshot.lanes if lane.on] if process == ALL else [snapshot.lanes[process]]
        value = next(column.value for column in COLUMNS if column.title == self._sorted_by)
        chosen = self._sorted_by, self._filter, self._selected, rows, process
        lanes_shown = [(lane.on, lane.name, len(lane.groups)) for lane in lanes]
        shown = chosen, lanes_shown, snapshot.time // UPDATE_INTERVAL
        if shown == self._shown and not self._waits_shown:  # which are shown as soon as they have arrived
            return
        self._shown = shown
        ended = process != ALL and not snapshot.lanes[process].on
        groups = merge_groups(group for lane in lanes for group in lane.groups)
        self._groups = ranked(groups, value, self._filter, MOST)
        rows_of = {group.function: row for row, group in enumerate(self._groups)}
        self._row = rows_of.get(self._selected, 0) if self._selected else 0
        note = f'filter "{plain(self._filter)}"' if self._filter else ""
        if len(self._groups) > rows:
            note = f"{note + ' · ' if note else ''}{format_count(self._row + 1)} of {len(self._groups)}"
        self._table.show(
            self._groups, self._sorted_by, self._row, rows, self._waits_shown, note, ended, _hidden(lanes)
        )

    def select(self, row: int) -> None:
        """Select the group in a row of the table; it stays selected when the order changes."""
        self._processes.leave()
        if 0 <= row < len(self._groups):
            self._row, self._selected = row, self._groups[row].function
        self._request_waits()

    def select_next(self, step: int) -> None:
        """Select the next (1) or previous (-1) row of the table that is shown."""
        if self._blocks_shown:
            self._processes.leave()
            self._blocks.select_next(step)
            return
        self.select(min(max(0, len(self._groups) - 1), max(0, self._row + step)))

    def sort_by(self, title: str) -> None:
        """Sort the table by a column."""
        self._sorted_by = title

    def sort(self, by: int) -> None:
        """Sort by the next (1) or previous (-1) column."""
        if self._blocks_shown:
            self._blocks.sort(by)
            return
        titles = [column.title for column in COLUMNS]
        self.sort_by(titles[(titles.index(self._sorted_by) + by) % len(titles)])

    def toggle_blocks(self) -> None:
        """Switch between the groups and what has blocked the event loops."""
        self._blocks_shown = not self._blocks_shown
        self._choose_table()

    def key_words(self) -> Mapping[str, str]:
        """Return what keys do with blocks, and with the places where tasks wait."""
        if self._blocks_shown:
            return {"enter": "its stack", "down": "block", "B": "groups", "slash": ""}
        return {"enter": "hide"} if self._waits_shown else {}

    def toggle_details(self) -> None:
        """Show or hide where the tasks of the selected group wait, or the stack of the selected block."""
        if self._blocks_shown:
            self._blocks.toggle_stack()
            return
        self._waits_shown = not self._waits_shown
        self.select(self._row)

    def _request_waits(self) -> None:
        """Request where the tasks of the selected group wait, if that is shown."""
        if self._waits_shown and self._request is not None and 0 <= self._row < len(self._groups):
            self._request(self._groups[self._row].function)

    def ask_filter(self) -> None:
        """Ask for a text, and show only groups whose name or file contains it."""
        self.screen.ask(
            self._set_filter,
            "show groups whose name or file contains",
            self._filter,
            str.strip,
            lambda text: f'"{text}"' if text else "all groups",
        )

    def _set_filter(self, text: str) -> None:
        self._filter = text
