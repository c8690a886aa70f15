"""The processes of a watched program."""

from collections.abc import Iterable, Mapping

from textual.widget import Widget

from concwatch.monitor.metrics.snapshot import Snapshot
from concwatch.portable.protocol.units import format_bytes
from concwatch.ui.look.layout import Layout
from concwatch.ui.panels.panel import SidePanel
from concwatch.ui.widgets.lanes.process_list import ALL, ProcessList, ProcessSidebar, listed

DRAWN = 12
"""Number of processes drawn in the charts: the first in the list."""


class ProcessPanel(SidePanel):
    """Lists the processes, of which one or all are selected."""

    def __init__(self) -> None:
        self._side = ProcessSidebar(id="side")
        self._list = ProcessList(self.select)
        self.selected = ALL
        """Number of the selected process, or `ALL`."""

    def widgets(self) -> Iterable[Widget]:
        """Return the list."""
        with self._side:
            yield self._list

    def select(self, number: int) -> None:
        """Select process ``number``, or all processes with `ALL`."""
        self.selected = number

    def select_next(self, step: int) -> None:
        """Select the next (1) or previous (-1) process in the list."""
        order = [ALL, *(number for number, _ in listed(self.screen.snapshot))]
        index = order.index(self.selected) if self.selected in order else 0
        self.select(order[(index + step) % len(order)])

    def leave(self) -> None:
        """Take the focus from the list: the user has turned to the groups."""
        if self.screen.focused is self._list:
            self.screen.set_focus(None)

    def key_words(self) -> Mapping[str, str]:
        """Return what enter does while the list has the focus."""
        return {"enter": "its memory", "M": ""} if self.screen.focused is self._list else {}

    def opened(self) -> int | None:
        """Return the number of the process to look into: the selected one, or that with the most memory."""
        if self.selected != ALL:
            return self.selected
        running = [
            (lane.sample.rss or 0, -number) for number, lane in listed(self.screen.snapshot) if lane.on
        ]
        return -max(running)[1] if running else None

    def charted(self, snapshot: Snapshot) -> Iterable[int]:
        """Return the selected process, or the first in the list."""
        if self.selected != ALL:
            return [self.selected]
        return sorted(number for number, _ in listed(snapshot)[:DRAWN])

    def place(self, found: Layout) -> None:
        """Set the columns of the list; its rows are in the style sheet."""
        self._side.styles.width = found.side if found.beside else "100%"

    def show(self, snapshot: Snapshot) -> None:
        """Update the list."""
        self._list.show(snapshot, self.screen.lane_colors, self.selected)
        pss = snapshot.total_pss  # the total of RSS stands in the list
        self._side.set_subtitle(
            format_bytes(snapshot.total_rss) if pss is None else f"PSS {format_bytes(pss)}"
        )
