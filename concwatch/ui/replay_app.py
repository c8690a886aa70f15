"""The program on the terminal that plays a recording."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from concwatch.charts.traces import recorded_conditions
from concwatch.recordings.recording import Recording
from concwatch.ui.lanes_app import LanesApp
from concwatch.ui.screens.replay import ReplayScreen
from concwatch.ui.screens.watch_replay import WatchReplayScreen


class ReplayApp(LanesApp):
    """Shows one recording; no worker runs."""

    def __init__(
        self,
        recording: Recording,
        name: str,
        speed: float = 1.0,
        pictures: Path = Path("screenshots"),
        clock: Callable[[], float] = time.monotonic,
        theme: str = "",
    ) -> None:
        """Make the app.

        Args:
            recording: what is played.
            name: of its file.
            speed: seconds of the recording a second.
            pictures: the folder for screenshots, made when it is needed.
            clock: gives seconds that never go back.
            theme: the one to begin with; the default if empty.
        """
        super().__init__(pictures, theme)
        self._recording = recording
        self._file = name
        self._speed = speed
        self._clock = clock

    def conditions(self) -> Sequence[str]:
        """Return what was measured, and on what."""
        return recorded_conditions(self._recording)

    def make_screen(self) -> ReplayScreen:
        """Make the screen that shows the recording: of lanes, or of a watched program."""
        kind = WatchReplayScreen if self._recording.watched else ReplayScreen
        return kind(self._recording, self._file, self.size, self._clock, self._speed)
