"""The app that shows a watched program."""

import signal
import sys
import threading
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from textual.binding import Binding

from concwatch.charts.table import WATCHED
from concwatch.links.program import Program
from concwatch.monitor.watching.watching import HZ, Watching
from concwatch.monitor.workers.catalog import Engine
from concwatch.system.child import shell_status
from concwatch.ui.apps.lanes_app import LanesApp
from concwatch.ui.base.keyboard import Keyboard
from concwatch.ui.keys import keys
from concwatch.ui.keys.key_targets import WatchKeys
from concwatch.ui.keys.program_commands import ProgramCommands
from concwatch.ui.panels.charts import ChartPanel
from concwatch.ui.panels.events import EventPanel
from concwatch.ui.panels.feed import LiveFeed
from concwatch.ui.panels.groups import GroupPanel
from concwatch.ui.panels.processes import ProcessPanel
from concwatch.ui.screens.monitor import Help, MonitorScreen, Parts
from concwatch.ui.sources.session_recording import SessionRecording
from concwatch.ui.widgets.bars.status_bar import StatusBar

if TYPE_CHECKING:
    from concwatch.charts.flame_graph import FlameGraph
    from concwatch.monitor.metrics.observable import Observable


HELP = Help(
    "which tasks are live, and which grow?",
    "Click a process to see only its tasks, a heading to sort by it, or a group to select it.",
    watched=True,
)

STOPS = (
    (signal.SIGINT, signal.SIGTERM),
    (signal.SIGTERM, signal.SIGKILL),
    (signal.SIGKILL, None),
)
"""What the program gets each time that it is asked to stop, and what it gets the next time."""


class WatchApp(LanesApp):
    """Shows a watched program; it stays open after the program has exited."""

    BINDINGS = [Binding("ctrl+z", "suspend_process", "Suspend", show=False, priority=True)]

    def __init__(
        self,
        watching: Watching,
        output: Path | None = None,
        pictures: Path = Path("screenshots"),
        recording: SessionRecording | None = None,
        theme: str = "",
    ) -> None:
        """Create the app.

        Args:
            watching: the program, which this app steps.
            output: the file with the program's output; None if it was started elsewhere.
            pictures: the folder for screenshots, created when needed.
            recording: records the session from the start; None to record only on request.
            theme: name of the initial theme; the default theme if empty.
        """
        super().__init__(pictures, theme)
        self.recording = recording or self.recording
        self.lab = self._watching = watching
        """The watched program."""
        self._output = output
        self._asked = 0
        self._sent: set[int] = set()  # the signals that the program gets because the user has quit
        self.passed: list[int] = []
        """The numbers of the signals that were passed on to the program."""
        self._passing, self._is_hung_up = threading.Lock(), False
        self._logged = 0
        self._stopping = ""

    def make_screen(self) -> MonitorScreen:
        """Create the screen of the program."""
        self.recording.attach(self._watching)
        watching = self._watching
        processes = ProcessPanel()
        charts = ChartPanel(processes, partial(watching.log, ""), WATCHED)
        groups = GroupPanel(processes, watching.request_waits_of)
        parts = Parts(StatusBar(), processes, charts, [groups], EventPanel(), LiveFeed(watching))
        screen = MonitorScreen(watching.snapshot, parts, self.size, HELP, self._status_text)
        program = ProgramCommands(watching, screen, self._output, self.export_flame_graph)
        screen.keyboard = Keyboard(keys.WATCH, WatchKeys(self, screen, charts, processes, groups, program))
        return screen

    def _status_text(self) -> str:
        """Return how the program exited and what is recorded, for the status bar."""
        return "  ".join(filter(None, (self.recording.status, self._watching.ended or self._stopping)))

    async def action_quit(self) -> None:
        """Ask a program that was started here to stop, as Ctrl-C does, and leave once it has.

        Asked again it gets SIGTERM, then SIGKILL.
        """
        program = self._watching.program
        if not isinstance(program, Program) or program.status is not None:
            if program is not None and program.status is None:
                self._sent |= {signal.SIGTERM, signal.SIGKILL}  # by its host, when the app has ended
            await super().action_quit()
            return
        number, following = STOPS[min(self._asked, len(STOPS) - 1)]
        self._asked += 1
        self._sent.add(number)
        # A terminal sends Ctrl-C to all processes in the foreground.
        (program.signal_group if number == signal.SIGINT else program.send_signal)(number)
        again = f": q again sends {following.name}" if following else ""
        self._stopping = f"{number.name} sent, waiting for the program{again}"
        self._watching.log("", self._stopping)

    @property
    def stopped(self) -> bool:
        """Whether the program has ended because the user quit: normally, or by a signal sent for that."""
        program = self._watching.program
        expected = {0, *(shell_status(-number) for number in self._sent)}
        return bool(self._sent) and program is not None and program.exit_status in expected

    def pass_on(self, number: int) -> None:
        """Pass a signal to concwatch on to the program, after whose end the screen is left. Thread-safe."""
        with self._passing:
            if not (self._is_hung_up and number == signal.SIGHUP):  # which comes late
                self._pass_on(number)

    def hang_up(self) -> None:
        """Pass on that the terminal is gone, if the signal for that was not. Thread-safe."""
        with self._passing:
            self._is_hung_up = True
            if signal.SIGHUP not in self.passed:
                self._pass_on(signal.SIGHUP)

    def _pass_on(self, number: int) -> None:
        self.passed.append(number)
        program = self._watching.program
        if isinstance(program, Program):
            program.send_signal(number)

    def _exit_with(self, status: int) -> None:
        """Handle a signal where it is not read by a thread: ``status`` is its number, negative."""
        program = self._watching.program
        if isinstance(program, Program) and program.status is None and not self.is_web:
            self.pass_on(-status)
        else:
            super()._exit_with(status)

    def action_suspend_process(self) -> None:
        """Suspend concwatch and the program that it has started, until ``fg`` continues concwatch."""
        program = self._watching.program
        if not isinstance(program, Program) or sys.platform == "win32":
            super().action_suspend_process()
            return
        program.signal_group(signal.SIGSTOP)
        super().action_suspend_process()  # it returns when concwatch is continued
        program.signal_group(signal.SIGCONT)

    async def _step(self) -> None:
        self._watching.step()
        for number in self.passed[self._logged :]:
            self._logged += 1
            self._watching.log("", f"{signal.Signals(number).name} passed on to the program")
        if (
            (self._asked or self.passed)
            and self._watching.program
            and self._watching.program.status is not None
        ):
            await super().action_quit()

    def recorded(self) -> "tuple[Observable, Sequence[Engine]]":
        """Return the program, which adds its lanes itself, for a recording."""
        return self._watching, ()

    async def on_unmount(self) -> None:
        """Stop recording, and terminate a program on another host."""
        self.recording.stop("done")
        await self._watching.host.finish()

    def on_mount(self) -> None:
        """Start stepping."""
        self.set_interval(1 / HZ, self._step)

    def conditions(self) -> Sequence[str]:
        """Return the program's command and the date."""
        program = self._watching.program
        command = " ".join(program.command)[:80] if program else "running processes"
        return (command, f"{datetime.now():%d %b %Y}".lstrip("0"))

    def export_flame_graph(self, graph: "FlameGraph") -> None:
        """Save a flame graph as folded stacks and SVG."""
        from concwatch.ui.apps.picture_files import save_flame_graph  # not needed for the first frame

        dark = self.current_theme.dark
        saved = save_flame_graph(graph, self.pictures.folder, dark)
        self.pictures.show_saved("flame graph", saved)

    def log_event(self, text: str) -> None:
        """Log what the user did."""
        self._watching.log("", text)
