"""The commands for engines that run on several hosts."""

from collections.abc import Callable

from concwatch.monitor.verdicts.events import LaneEventSink
from concwatch.ui.base.view import MonitorView
from concwatch.ui.panels.lanes import LanePanel
from concwatch.ui.sources.source import LabSource


class HostCommands:
    """What keys do with rows that combine the lanes of several hosts."""

    def __init__(
        self,
        source: LabSource,
        screen: MonitorView,
        lanes: LanePanel,
        set_target: Callable[[int], object],
        log: LaneEventSink,
    ) -> None:
        """Create the commands.

        Args:
            source: the lanes as the rows of the screen.
            screen: where they are shown.
            lanes: the panel in which a row is selected.
            set_target: sets the target of the selected row, which divides it among the hosts.
            log: adds an event to the event log.
        """
        self._source = source
        self._screen = screen
        self._lanes = lanes
        self._set_target = set_target
        self._log = log

    async def toggle_fold(self) -> None:
        """Show the lanes of the selected row separately, or in one row again."""
        if self._check_several_hosts():
            await self._lanes.replace(self._source.toggle_fold(self._lanes.selected))

    def _check_several_hosts(self) -> bool:
        """Return whether an engine runs on several hosts; if not, notify the user."""
        if not self._source.folds:
            self._screen.notify("each engine runs on one host; add others with --host", severity="warning")
        return self._source.folds

    def toggle_band(self) -> None:
        """Switch the charts of the hosts in a row between sum and median with range."""
        if not self._check_several_hosts():
            return
        self._source.show_range = not self._source.show_range
        shown = "median and range" if self._source.show_range else "sum"
        self._log("", f"charts show the {shown} of the hosts in a row")
        self._screen.update_now()

    def toggle_even(self) -> None:
        """Switch between dividing targets evenly among hosts and by what each can hold."""
        self._source.even = not self._source.even
        how = "evenly" if self._source.even else "by what each host can hold"
        self._log("", f"targets are divided over hosts {how}")
        row = self._source.snapshot().lanes[self._lanes.selected]
        if row.combines and row.status.target:
            self._set_target(row.status.target)

    async def update_rows(self) -> bool:
        """Show other rows if hosts have joined or left; return whether there are others."""
        changed = self._source.update()
        if changed:
            await self._lanes.replace(min(self._lanes.selected, len(self._source.rows) - 1))
        return changed
