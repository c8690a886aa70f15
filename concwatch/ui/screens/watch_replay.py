"""The screen that plays a recording of a watched program."""

from collections.abc import Callable, Sequence

from textual.geometry import Size

from concwatch.recordings.recording import Recording
from concwatch.ui import keys
from concwatch.ui.screens.replay import ReplayCommands, ReplayScreen
from concwatch.ui.screens.watch import GroupCommands, GroupView
from concwatch.watch.group import GroupStatus


class WatchReplayCommands(ReplayCommands, GroupCommands):
    """The commands for the play head and the table of groups."""

    def __init__(self, screen: "WatchReplayScreen") -> None:
        """Create the commands for ``screen``."""
        ReplayCommands.__init__(self, screen.source, screen)
        GroupCommands.__init__(self, screen)


class WatchReplayScreen(GroupView, ReplayScreen):
    """Shows the processes of a program at the play head of a recording."""

    KEYS = keys.WATCH_REPLAY
    BINDINGS = keys.bindings(keys.WATCH_REPLAY)
    SUBJECT = "a recording of a program"

    def __init__(
        self, recording: Recording, name: str, size: Size, clock: Callable[[], float], speed: float = 1.0
    ) -> None:
        """Create the screen; the arguments are those of `ReplayScreen`."""
        ReplayScreen.__init__(self, recording, name, size, clock, speed)
        self.commands = WatchReplayCommands(self)

    def groups_of(self, lane: int) -> Sequence[GroupStatus]:
        """Return the groups of a process at the play head."""
        return self.source.recording.groups(lane, self.source.at)
