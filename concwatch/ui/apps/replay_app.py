"""The app that plays a recording."""

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from concwatch.charts.painters.traces import recorded_conditions
from concwatch.charts.table import WATCHED, shortest_span
from concwatch.portable.protocol.text import plain
from concwatch.recordings.recording import Recording
from concwatch.ui.apps.lanes_app import LanesApp
from concwatch.ui.base.keyboard import Keyboard
from concwatch.ui.keys import keys
from concwatch.ui.keys.key_targets import ReplayKeys, WatchReplayKeys
from concwatch.ui.panels.charts import ChartPanel
from concwatch.ui.panels.costs import CostPanel
from concwatch.ui.panels.events import EventPanel
from concwatch.ui.panels.groups import GroupPanel
from concwatch.ui.panels.lanes import LanePanel
from concwatch.ui.panels.processes import ProcessPanel
from concwatch.ui.panels.transport import TransportPanel, missing_parts, recorded_on
from concwatch.ui.screens.monitor import Help, MonitorScreen, Parts
from concwatch.ui.sources.play_head import PlayHead
from concwatch.ui.sources.recording_source import RecordingSource
from concwatch.ui.widgets.bars.replay_bar import ReplayBar
from concwatch.ui.widgets.tables.cost_table import CostTable

EVENTS, EVENT_ROWS = 20, 40
"""Fewer events than of something live, so that jumps are fast; fixed rows, so that they need no layout."""


class RecordedCosts(CostTable):
    """The cost table of a recording, which gives no advice on how to improve its figures."""

    ADVICE: ClassVar[Mapping[str, str]] = {}


HINT = "nothing recorded up to this moment"
"""What charts without lines show."""


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

    def make_screen(self) -> MonitorScreen:
        """Create the screen: lanes and their costs, or processes and groups, as they were recorded."""
        recording = self._recording
        head = PlayHead(recording.duration, self._speed, self._clock)
        source = RecordingSource(recording, head)
        transport = TransportPanel(source)
        bar = ReplayBar(plain(self._file), recorded_on(recording.header), missing_parts(recording))
        events = EventPanel(EVENTS, EVENT_ROWS)
        if recording.watched:
            processes = ProcessPanel()
            groups, charts = GroupPanel(processes), ChartPanel(processes, specs=WATCHED, hint=HINT)
            parts = Parts(bar, processes, charts, [groups], events, transport)
            screen = MonitorScreen(
                source.snapshot, parts, self.size, Help("a recording of a program", watched=True)
            )
            screen.keyboard = Keyboard(
                keys.WATCH_REPLAY,
                WatchReplayKeys(self, screen, charts, processes, groups, head, source, transport),
            )
        else:
            lanes = LanePanel(transport.refuse)
            costs, charts = CostPanel(lanes, table=RecordedCosts), ChartPanel(lanes, hint=HINT)
            parts = Parts(bar, lanes, charts, [costs], events, transport)
            screen = MonitorScreen(source.snapshot, parts, self.size, Help("playing a recording"))
            screen.keyboard = Keyboard(
                keys.REPLAY, ReplayKeys(self, screen, charts, lanes, costs, head, source, transport)
            )
        charts.selected_window = shortest_span(recording.duration)
        return screen
