"""The monitor screen, as its panels and the commands for its lanes see it."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeVar

from concwatch.monitor.metrics.snapshot import Snapshot
from concwatch.ui.base.base_screen import BaseScreen
from concwatch.ui.base.keyboard import Keyboard

Result = TypeVar("Result")


class MonitorView(BaseScreen[None]):
    """The interface of `concwatch.ui.screens.monitor.MonitorScreen`."""

    keyboard: Keyboard[Any]
    snapshot: Snapshot
    """The snapshot that is shown."""
    lane_colors: list[str]
    """The colour of each lane, which depends on the theme."""
    steady: bool
    """Whether no lane has more or fewer tasks than in the snapshot before."""

    def show_snapshot(self, snapshot: Snapshot | None = None) -> None:
        """Show a snapshot, or the current one."""
        raise NotImplementedError

    def colors_of(self, snapshot: Snapshot) -> dict[str, str]:
        """Return the colour of each name in events and marks."""
        named = zip(snapshot.lanes, self.lane_colors, strict=True)
        return {name: color for lane, color in named for name in lane.names}

    def rearranging(self) -> AbstractAsyncContextManager[None]:
        """Read a snapshot with other lanes, and show it once a panel has replaced its widgets meanwhile."""
        raise NotImplementedError

    def show_help(self) -> None:
        """Show the help."""
        raise NotImplementedError

    def ask(
        self,
        apply: Callable[[Result], object],
        title: str,
        value: str,
        parse: Callable[[str], Result],
        describe: Callable[[Result], str],
        choices: tuple[tuple[str, str], ...] = (),
    ) -> None:
        """Open a `TypeDialog`, and call ``apply`` with the value unless the dialog is cancelled."""
        from concwatch.ui.base.dialog import TypeDialog  # not needed for the first frame

        def on_result(value: Result | None) -> None:
            if value is not None:
                apply(value)
                self.show_changes()

        self.app.push_screen(TypeDialog(title, value, parse, describe, choices), on_result)
