"""The program on the terminal that watches another one."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from concwatch.lab.catalog import Engine
from concwatch.ui.lanes_app import LanesApp
from concwatch.ui.screens.watch import WatchScreen
from concwatch.ui.session_recording import SessionRecording
from concwatch.watch.watching import HZ, Watching

if TYPE_CHECKING:
    from concwatch.recordings.recorder import Recordable


class WatchApp(LanesApp):
    """Shows a watched program; the screen stays when that has ended."""

    def __init__(
        self,
        watching: Watching,
        output: Path | None = None,
        pictures: Path = Path("screenshots"),
        recording: SessionRecording | None = None,
        theme: str = "",
    ) -> None:
        """Make the app.

        Args:
            watching: what is shown, which this app steps.
            output: the file that holds what the program writes.
            pictures: the folder for screenshots, made when it is needed.
            recording: what is recorded of the session, maybe from its start.
            theme: the one to begin with; the default if empty.
        """
        super().__init__(pictures, theme)
        self.recording = recording or self.recording
        self.lab = self._watching = watching
        """What is shown."""
        self._output = output

    def make_screen(self) -> WatchScreen:
        """Make the screen that shows the program."""
        self.recording.follow(self._watching)
        return WatchScreen(self._watching, self.size, self._aside, self._output)

    def _aside(self) -> str:
        """Return how the program ended, and what is recorded, in a few words."""
        return "  ".join(filter(None, (self.recording.told, self._watching.ended)))

    def followed(self) -> "tuple[Recordable, Sequence[Engine]]":
        """Return what is recorded; its lanes come by themselves."""
        return self._watching, ()

    async def on_unmount(self) -> None:
        """End what is recorded, and a program on another host."""
        self.recording.end("done")
        await self._watching.host.finish()

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
