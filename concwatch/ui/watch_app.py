"""The program on the terminal that watches another one."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from concwatch.ui.lanes_app import LanesApp
from concwatch.ui.screens.watch import WatchScreen
from concwatch.watch.watching import HZ, Watching


class WatchApp(LanesApp):
    """Shows a watched program; the screen stays when that has ended."""

    def __init__(
        self,
        watching: Watching,
        output: Path | None = None,
        pictures: Path = Path("screenshots"),
    ) -> None:
        """Make the app.

        Args:
            watching: what is shown, which this app steps.
            output: the file that holds what the program writes.
            pictures: the folder for screenshots, made when it is needed.
        """
        super().__init__(pictures)
        self.lab = self._watching = watching
        """What is shown."""
        self._output = output

    def make_screen(self) -> WatchScreen:
        """Make the screen that shows the program."""
        return WatchScreen(self._watching, self.size, lambda: self._watching.ended, self._output)

    def on_mount(self) -> None:
        """Step from now on."""
        self.set_interval(1 / HZ, self._watching.step)

    def conditions(self) -> Sequence[str]:
        """Return what is watched, and when."""
        program = self._watching.program
        command = " ".join(program.command)[:80] if program else "processes that ran already"
        return (command, f"{datetime.now():%d %b %Y}".lstrip("0"))

    def tell(self, text: str) -> None:
        """Have the event log say what a person did."""
        self._watching.tell(text)
