"""A recording of a watched program, played back."""

from collections.abc import Callable, Sequence

from textual.geometry import Size

from concwatch.recordings.recording import Recording
from concwatch.ui import keys
from concwatch.ui.screens.replay import ReplayControls, ReplayScreen
from concwatch.ui.screens.watch import GroupControls, GroupView
from concwatch.watch.group import GroupStatus


class WatchReplayControls(ReplayControls, GroupControls):
    """What a person does to the play head, and to the table of groups."""

    def __init__(self, screen: "WatchReplayScreen") -> None:
        """Move the play head of ``screen``."""
        ReplayControls.__init__(self, screen.playing, screen)
        GroupControls.__init__(self, screen)


class WatchReplayScreen(GroupView, ReplayScreen):
    """Shows the processes of a program as they were at the play head."""

    KEYS = keys.WATCH_REPLAY
    BINDINGS = keys.bindings(keys.WATCH_REPLAY)
    SUBJECT = "a recording of a program, played back"

    def __init__(
        self, recording: Recording, name: str, size: Size, clock: Callable[[], float], speed: float = 1.0
    ) -> None:
        """Show a recording; for the arguments see `ReplayScreen`."""
        ReplayScreen.__init__(self, recording, name, size, clock, speed)
        self.controls = WatchReplayControls(self)

    def groups_of(self, lane: int) -> Sequence[GroupStatus]:
        """Return the groups of a process as they were."""
        return self.playing.recording.groups(lane, self.playing.at)
