"""What has blocked the event loops of a watched program."""

from collections.abc import Iterable, Sequence

from textual.widget import Widget

from concwatch.monitor.metrics.snapshot import Snapshot
from concwatch.monitor.verdicts.blocks import merge_places
from concwatch.ui.panels.panel import Panel
from concwatch.ui.panels.processes import ProcessPanel
from concwatch.ui.widgets.lanes.process_list import ALL
from concwatch.ui.widgets.tables.block_table import COLUMNS, BlockRow, BlockTable

NOTHING = "nothing has blocked a loop so far"
NOT_LOOKED_FOR = "blocks are not detected: --blocked-after off, or no agent"


class BlockPanel(Panel):
    """Shows the places of the selected process or of all that have blocked a loop, with the stack of one."""

    def __init__(self, processes: ProcessPanel) -> None:
        """Create the panel; ``processes`` is the panel with the selected process."""
        self._processes = processes
        self._table = BlockTable(self.select, self.sort_by)
        self._rows: Sequence[BlockRow] = ()
        self._row = 0
        self._selected: object = None  # the first until one is selected
        self._sorted_by = COLUMNS[0].title
        self._stack_shown = False

    def widgets(self) -> Iterable[Widget]:
        """Return the table."""
        self._table.display = False
        return [self._table]

    def display(self, shown: bool) -> None:
        """Show or hide the table."""
        self._table.display = shown

    def show_rows(self, snapshot: Snapshot, rows: int) -> None:
        """Update the table, which shows at most ``rows`` places, and is as high as for them."""
        process = self._processes.selected
        lanes = snapshot.lanes if process == ALL else [snapshot.lanes[process]]
        places = merge_places(place for lane in lanes for place in lane.blocks)
        total = sum(place.seconds for place in places)
        value = next(column.value for column in COLUMNS if column.title == self._sorted_by)
        self._rows = sorted((BlockRow(place, total) for place in places), key=lambda row: -(value(row) or 0))
        rows_of = {_key(row): at for at, row in enumerate(self._rows)}
        self._row = rows_of.get(self._selected, 0)
        on = [lane for lane in lanes if lane.on]
        looked = not on or any("blocks" in lane.status.flags for lane in on)
        empty = NOTHING if looked else NOT_LOOKED_FOR
        self._table.show(self._rows, self._sorted_by, self._row, rows, self._stack_shown, empty)

    def select(self, row: int) -> None:
        """Select the place in a row of the table; it stays selected when the order changes."""
        if 0 <= row < len(self._rows):
            self._row, self._selected = row, _key(self._rows[row])

    def select_next(self, step: int) -> None:
        """Select the next (1) or previous (-1) place of the table."""
        self.select(min(max(0, len(self._rows) - 1), max(0, self._row + step)))

    def sort_by(self, title: str) -> None:
        """Sort the table by a column."""
        self._sorted_by = title

    def sort(self, by: int) -> None:
        """Sort by the next (1) or previous (-1) column."""
        titles = [column.title for column in COLUMNS]
        self.sort_by(titles[(titles.index(self._sorted_by) + by) % len(titles)])

    def toggle_stack(self) -> None:
        """Show or hide the stack of the selected place."""
        self._stack_shown = not self._stack_shown


def _key(row: BlockRow) -> object:
    return row.place.cause, row.place.function, row.place.where
