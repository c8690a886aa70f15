"""The commands for a watched program."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from concwatch.monitor.processes.profiling import COMMAND as PROFILE
from concwatch.monitor.watching.watching import Watching
from concwatch.portable.protocol.units import format_clock
from concwatch.ui.base.view import MonitorView
from concwatch.ui.widgets.lanes.process_list import ALL

if TYPE_CHECKING:
    from concwatch.charts.flame_graph import FlameGraph

NO_STACKS = "no process whose stacks can be sampled"


class ProgramCommands:
    """What keys do with a watched program."""

    def __init__(
        self,
        watching: Watching,
        screen: MonitorView,
        output: Path | None,
        export: "Callable[[FlameGraph], object]",
    ) -> None:
        """Create the commands.

        Args:
            watching: the program.
            screen: where dialogs are opened.
            output: the file with the program's output; None if it was started elsewhere.
            export: saves a flame graph.
        """
        self._watching, self._screen, self._output, self._export = watching, screen, output, export

    def toggle_outcomes(self) -> None:
        """Start or stop counting how tasks end."""
        self._watching.set_option("outcomes")

    def toggle_timing(self) -> None:
        """Start or stop timing tasks and their steps."""
        self._watching.set_option("timing")

    def toggle_trace(self) -> None:
        """Start or stop tracing allocations."""
        self._watching.set_option("trace")

    def ask_note(self) -> None:
        """Ask for a note and mark the current moment with it."""
        moment = self._watching.clock()
        self._screen.ask(
            lambda text: self._watching.add_note(text, moment),
            f"a note for {format_clock(moment - self._watching.began)}",
            "",
            str.strip,
            lambda text: f'"{text}"' if text else "a mark without a note",
        )

    def show_flame_graph(self, selected: int) -> None:
        """Sample the stacks of a process, and show where its CPU time goes.

        Args:
            selected: its number; `ALL` for the process that uses most CPU time of those that can be sampled.
        """
        from concwatch.ui.dialogs.flame import FlameScreen  # as below

        lanes = self._watching.lanes if selected == ALL else [self._watching.lanes[selected]]
        able = [
            lane for lane in lanes if lane.alive and (ready := lane.current.ready) and PROFILE in ready.can
        ]
        if not able:
            why = lanes[0].current.reason if len(lanes) == 1 else ""
            self._screen.notify(f"{NO_STACKS}{f': {why}' if why else ''}", severity="warning", markup=False)
            return
        lane = max(able, key=lambda lane: lane.history.sample.cpu or 0.0)
        lane.agent.profiling.start(self._watching.clock())
        dialog = FlameScreen(lane.name, lane.agent.profiling, self._watching.clock, self._export)
        self._screen.app.push_screen(dialog)

    def show_output(self) -> None:
        """Show the program's output."""
        from concwatch.ui.dialogs.text_dialog import TextDialog, tail  # not needed for the first frame

        path = self._output
        dialog = TextDialog("output of the program", str(path or ""), lambda: tail(path), at_end=True)
        self._screen.app.push_screen(dialog)

    def show_memory(self, number: int | None) -> None:
        """Show what the memory of a process is made of, given its number; None if none is running."""
        from concwatch.ui.dialogs.memory import MemoryScreen  # not needed for the first frame

        if number is None:
            self._screen.notify("no process is running", severity="warning")
            return
        asked = self._watching.clock()
        self._watching.lanes[number].request_memory(asked)
        dialog = MemoryScreen(lambda: self._watching.snapshot().lanes[number], asked, self._watching.clock)
        self._screen.app.push_screen(dialog)

    def show_allocations(self) -> None:
        """Show the lines that hold traced memory, and how much it has grown since the last time."""
        from concwatch.ui.dialogs.text_dialog import TextDialog, traced_text  # as above

        traced = self._watching.request_lines()

        def text() -> str:
            if not traced:
                return "nothing is traced: press t to start tracing"
            lanes = [self._watching.snapshot().lanes[number] for number in traced]
            return traced_text((lane.name, lane.lines) for lane in lanes) or "taking a snapshot …"

        dialog = TextDialog("lines that hold traced memory", "grown: since they were last shown", text)
        self._screen.app.push_screen(dialog)
