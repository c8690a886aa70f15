"""What a program has that shows lanes on the terminal: themes, pictures, and an end in order."""

import asyncio
import contextlib
import gc
import signal
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from textual.app import SystemCommand
from textual.binding import Binding
from textual.events import Resize
from textual.geometry import Size
from textual.reactive import Reactive
from textual.screen import Screen
from textual.theme import Theme
from textual.worker import WorkerCancelled

from concwatch.ui import keys
from concwatch.ui.input_queue import InputQueue
from concwatch.ui.palette import ALL_THEMES, THEMES, readable
from concwatch.ui.screens.base import Commands, Sized
from concwatch.ui.screens.lanes import LanesScreen
from concwatch.ui.session_recording import SessionRecording
from concwatch.ui.widgets.size_notice import SizeNotice, is_large_enough
from concwatch.units import format_bytes
from concwatch.worker.collector import give_back

if TYPE_CHECKING:
    from concwatch.lab.catalog import Engine
    from concwatch.recordings.recorder import Recordable, Recorder

GIVE_BACK = 60.0
"""Seconds between two times that free memory is given back to the system."""

DRAWING = 10.0
"""Seconds that an end in order waits for pictures which are still being drawn: much more than it takes."""

PICTURE = "picture"
"""The name of what saves one."""

REPLACED = ("Screenshot", "Keys", "Maximize", "Minimize")
"""Entries of Textual's palette for which a key of ours does more: its screenshot is SVG alone."""


@runtime_checkable
class Looking(Protocol):
    """A screen that looks at what it shows from time to time."""

    def look_now(self) -> None:
        """Have everything on it show this very moment."""


class LanesApp(InputQueue):
    """Shows one screen of lanes; which one is for those who inherit."""

    TITLE = "concwatch"
    CSS_PATH = "screens/lanes.tcss"  # of the app, since Textual does not load that of a default screen
    BINDINGS = [Binding("ctrl+c", "quit", "Quit", show=False, priority=True)]

    theme: Reactive[str] = Reactive(THEMES[0].name)  # a theme set later has every style sheet parsed again

    def __init__(self, pictures: Path = Path("screenshots"), theme: str = "") -> None:
        """Make the app.

        Args:
            pictures: the folder for screenshots, made when it is needed.
            theme: the one to begin with; the default if empty.
        """
        self._readable: dict[str, Theme] = {}
        self._first_theme = ""
        if theme:
            self.set_reactive(LanesApp.theme, theme)  # before Textual reads any style sheet
        super().__init__()
        self._pictures = pictures
        self.saved: list[Path] = []
        """The pictures that this session has saved."""
        self._told_of_png = False
        self.recording = SessionRecording(Path("recordings"))
        """What is recorded of this session."""
        self._lanes: LanesScreen | None = None

    @property
    def available_themes(self) -> dict[str, Theme]:
        """Textual's themes and the program's own."""
        return ALL_THEMES

    def get_theme(self, theme_name: str) -> Theme | None:
        """Return a theme as it is shown: with text that can be read."""
        theme = super().get_theme(theme_name)
        if theme is None:
            return None
        if theme.name not in self._readable:
            self._readable[theme.name] = readable(theme)
        return self._readable[theme.name]

    def make_screen(self) -> LanesScreen:
        """Make the screen that this program shows first."""
        raise NotImplementedError

    def get_default_screen(self) -> Screen[None]:
        """Make the screen."""
        self._lanes = self.make_screen()
        return self._lanes

    def on_mount(self) -> None:
        """Follow the theme, and end in order when the system asks for it."""
        self.theme_changed_signal.subscribe(self, lambda _: self._follow_theme())
        if sys.platform != "win32":
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                asyncio.get_running_loop().add_signal_handler(number, self._end, 128 + number)

    def on_ready(self) -> None:
        """Collect garbage from now on, but not what was made at the start: it lives as long as the program.

        A full collection that walks Textual's classes and styles was seen to take 80 to 200 ms, in which no
        key is answered.
        """
        self._first_theme = self.theme
        gc.freeze()
        gc.enable()
        # Drawing frees and takes blocks of all sizes: in ten minutes 2.5 MiB of holes would have come of it.
        self.set_interval(GIVE_BACK, give_back)
        self._follow_room(self.size)

    def on_resize(self, event: Resize) -> None:
        """Follow the terminal's size."""
        if self._lanes is not None and self._lanes.is_mounted:
            self._follow_room(event.size)

    def _follow_room(self, size: Size) -> None:
        """Cover every screen with what is needed while the terminal is too small for it, and only then."""
        for screen in self.screen_stack:
            notices = screen.query_children(SizeNotice)
            if is_large_enough(size):
                notices.remove()
            elif notices:
                notices.first().show(size)
            else:
                screen.mount(SizeNotice(size))

    @property
    def chosen_theme(self) -> str:
        """The theme that somebody has chosen on the screen; empty where nobody has."""
        return self.theme if self._first_theme not in ("", self.theme) else ""

    def conditions(self) -> Sequence[str]:
        """Return what the figures on screen were taken under, for a slide."""
        return ()

    def followed(self) -> "tuple[Recordable, Sequence[Engine]]":
        """Return what is recorded, and the engines of its lanes, for programs that can be."""
        raise NotImplementedError

    def tell(self, text: str) -> None:
        """Note what a person did that changes no lane; where there is an event log, it says so."""

    def _follow_theme(self) -> None:
        self.tell(f"theme {self.theme}")
        if self._lanes is not None and self._lanes.is_mounted:
            self._lanes.follow_theme()

    async def action_quit(self) -> None:
        """Quit; a picture that was asked for just before is saved first."""
        await self.finish_pictures()
        self.exit()

    async def finish_pictures(self) -> None:
        """Wait a little until every picture that has been asked for is saved."""
        saving = asyncio.gather(*(saver.wait() for saver in self.workers if saver.name == PICTURE))
        with contextlib.suppress(TimeoutError, WorkerCancelled):
            await asyncio.wait_for(saving, DRAWING)

    def on_exit_app(self) -> None:
        """Be known to end also where nobody called `exit`: a page that is left asks by this message alone."""
        if self.return_code is None:
            self.exit()

    def _end(self, status: int) -> None:
        self.exit(return_code=status)

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Offer in the palette what the screen's keys do, and of Textual's own what they do not."""
        rows = screen.KEYS if isinstance(screen, Sized) else ()
        own = super().get_system_commands(screen)
        yield from (row for row in own if row.title not in REPLACED)
        yield from keys.palette(dict.fromkeys((*keys.PICTURES, *rows)), screen)

    def action_command_palette(self) -> None:
        """Open the palette."""
        if not isinstance(self.screen, Commands):
            self.push_screen(Commands())

    def look_now(self) -> None:
        """Have every screen show what is so now, and not what was when it last looked."""
        for screen in self.screen_stack:
            if isinstance(screen, Looking):
                screen.look_now()

    def offer(self, path: Path) -> None:
        """Offer a file that has been saved as a download, where a browser shows the screen."""
        if self.is_web:
            self.deliver_binary(path, save_directory=path.parent)

    def action_save_picture(self) -> None:
        """Save what is on screen."""
        self.look_now()
        from concwatch.pictures.cells import split_texts  # as in `_save`

        self._save(split_texts(self.export_screenshot(title="concwatch")), "")

    def action_save_chart(self) -> None:
        """Save one chart by itself: the one that has the focus, or else the first that is seen."""
        from concwatch.ui.picture_files import chart_slide, chart_to_save  # as in `_save`

        chart = chart_to_save(self.screen)
        if chart is None:
            self.notify("no chart to be seen: expected one on the screen, or in focus", severity="warning")
        else:
            self._save(chart_slide(chart, self.conditions(), self.current_theme.dark), chart.plot.title)

    def _save(self, svg: str, subject: str) -> None:
        """Save a picture of ``subject``, or of everything, and say where it is."""
        # Only here: the first frame has no use for them.
        from concwatch.pictures.png import can_draw
        from concwatch.ui.picture_files import PNG_TOO, save_picture

        async def save() -> None:
            saved = await save_picture(svg, self._pictures, subject)
            text = saved.text
            self.saved += saved.paths
            if saved.paths:
                others = "".join(f" and {path.suffix}" for path in saved.paths[1:])
                self.tell(f"picture {saved.paths[0]}{others}")
                self.offer(saved.paths[-1])  # one file: of several a browser asks whether it may
            if not (saved.severe or self._told_of_png or can_draw()):
                self._told_of_png = True
                text += f"\n{PNG_TOO}"
            self.notify(
                text, title="screenshot", severity="error" if saved.severe else "information", markup=False
            )

        self.run_worker(save(), name=PICTURE)

    def action_record(self) -> None:
        """Begin to record, or end what is recorded, and say where it is."""
        if self.recording.on:
            ended = self.recording.end("ended by key")
            if ended is not None:
                self._tell_recording(ended, f"saved {ended.path}, {format_bytes(ended.size)}")
                self.tell(f"recorded {ended.path}, {format_bytes(ended.size)}")
                if not ended.problem:
                    self.offer(ended.path)
            return
        try:
            begun = self.recording.begin(*self.followed())
            self._tell_recording(begun, f"into {begun.path}")
            self.tell(f"recording into {begun.path}")
        except (OSError, ValueError) as error:
            why = (
                f"{error.filename or self.recording.folder}: {error.strerror}"
                if isinstance(error, OSError)
                else error
            )
            self.notify(f"not recorded: {why}", severity="error", markup=False)

    def _tell_recording(self, recorder: "Recorder", done: str) -> None:
        """Notify of what was done, or why it could not be."""
        if recorder.problem:
            self.notify(recorder.problem, severity="error", markup=False)
        else:
            self.notify(done, title="recording", markup=False)
