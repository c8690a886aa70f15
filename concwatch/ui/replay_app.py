"""The app that plays a recording."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from concwatch.charts.traces import recorded_conditions
from concwatch.recordings.recording import Recording
from concwatch.ui.lanes_app import LanesApp
from concwatch.ui.screens.replay import ReplayScreen
from concwatch.ui.screens.watch_replay import WatchReplayScreen


class ReplayApp(LanesApp):
    """Plays one recording."""

    def __init__(
        self,
        recording: Recording,
        name: str,
        speed: float = 1.0,
        pictures: Path = Path("screenshots"),
        clock: Callable[[], float] = time.monotonic,
        theme: str = "",
    ) -> None:
        """Create the app.

        Args:
            recording: the recording to play.
            name: the name of its file.
            speed: seconds of the recording per second.
            pictures: the folder for screenshots, created when needed.
            clock: returns a monotonic time in seconds.
            theme: name of the initial theme; the default theme if empty.
        """
        super().__init__(pictures, theme)
        self._recording = recording
        self._file = name
        self._speed = speed
        self._clock = clock

    def conditions(self) -> Sequence[str]:
        """Return what was measured, and on which machine."""
        return recorded_conditions(self._recording)

    def make_screen(self) -> ReplayScreen:
        """Create the screen, which depends on whether lanes or a watched program were recorded."""
        screen = WatchReplayScreen if self._recording.watched else ReplayScreen
        return screen(self, self._recording, self._file, self.size, self._clock, self._speed)
