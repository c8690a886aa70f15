"""What a task of each lane costs."""

from collections.abc import Callable, Iterable

from textual.widget import Widget

from concwatch.monitor.metrics.snapshot import Snapshot
from concwatch.ui.look.layout import Layout
from concwatch.ui.panels.lanes import LanePanel
from concwatch.ui.panels.panel import Panel, log_nothing
from concwatch.ui.widgets.tables.cost_table import CostTable


class CostPanel(Panel):
    """Shows the cost table, sorted by any column, or as changes since a baseline."""

    def __init__(
        self,
        lanes: LanePanel,
        log_event: Callable[[str], object] = log_nothing,
        table: type[CostTable] = CostTable,
    ) -> None:
        """Create the panel.

        Args:
            lanes: the panel with the selected lane.
            log_event: logs what the user did.
            table: the class of the table.
        """
        self._lanes, self._log_event = lanes, log_event
        self._table = table(self.sort_by)
        self._baseline: Snapshot | None = None

    def widgets(self) -> Iterable[Widget]:
        """Return the table."""
        return [self._table]

    def place(self, found: Layout) -> None:
        """Set the rows of the table."""
        self._table.place(found.table, found.below, self._lanes.name_width() + 1)

    def show(self, snapshot: Snapshot) -> None:
        """Update the table."""
        self._table.show(snapshot, self.screen.lane_colors, self._lanes.selected, self._baseline)

    def sort(self, by: int) -> None:
        """Sort by the next (1) or previous (-1) column; after the last, in the order of the lanes."""
        self._table.sort(by)

    def sort_by(self, title: str) -> None:
        """Sort by a column, or stop sorting by it."""
        self._table.sorted_by = "" if self._table.sorted_by == title else title

    def compare(self, by: int) -> None:
        """Compare the next (1) or previous (-1) two engines above the table."""
        self._table.compare_next(by)

    def toggle_baseline(self) -> None:
        """Set the current figures as the baseline, or remove the baseline."""
        self._baseline = self.screen.snapshot if self._baseline is None else None
        self._log_event("baseline set" if self._baseline else "baseline removed")
