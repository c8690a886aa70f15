"""The screen that plays a recording of a watched program."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from textual.geometry import Size

from concwatch.recordings.recording import Recording
from concwatch.ui import keys
from concwatch.ui.screens.replay import ReplayScreen
from concwatch.ui.screens.watch import GroupCommands, GroupView
from concwatch.watch.group import GroupStatus

if TYPE_CHECKING:
    from concwatch.ui.lanes_app import LanesApp


class WatchReplayScreen(GroupView, ReplayScreen):
    """Shows the processes of a program at the play head of a recording."""

    BINDINGS = keys.bindings(keys.WATCH_REPLAY)
    SUBJECT = "a recording of a program"

    def __init__(
        self,
        app: "LanesApp",
        recording: Recording,
        name: str,
        size: Size,
        clock: Callable[[], float],
        speed: float = 1.0,
    ) -> None:
        """Create the screen; the arguments are those of `ReplayScreen`."""
        ReplayScreen.__init__(self, app, recording, name, size, clock, speed)
        self.group_commands = GroupCommands(self)
        parts = keys.WatchReplayKeys(app, self, self.charts, self.commands, self.group_commands)
        self.keyboard = keys.Keyboard(keys.WATCH_REPLAY, parts)

    def groups_of(self, lane: int) -> Sequence[GroupStatus]:
        """Return the groups of a process at the play head."""
        return self.source.recording.groups(lane, self.source.at)
