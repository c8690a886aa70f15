"""The base class of apps that show lanes: themes, pictures, recording, and a clean exit."""

import asyncio
import contextlib
import gc
import signal
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from textual.app import SystemCommand
from textual.binding import Binding
from textual.events import Resize
from textual.geometry import Size
from textual.reactive import Reactive
from textual.screen import Screen
from textual.theme import Theme
from textual.worker import WorkerCancelled

from concwatch.charts.symbols import AUTO, BRAILLE, CHOICES, Symbols, chosen_symbols
from concwatch.portable.protocol.units import format_bytes
from concwatch.portable.worker.collector import trim_heap
from concwatch.ui.base.base_screen import BaseScreen
from concwatch.ui.base.input_queue import InputQueue
from concwatch.ui.base.keyboard import Keyboard, palette
from concwatch.ui.keys import keys
from concwatch.ui.keys.key_targets import AppKeys
from concwatch.ui.look.layout import is_large_enough
from concwatch.ui.look.palette import ALL_THEMES, THEMES, readable
from concwatch.ui.screens.monitor import MonitorScreen
from concwatch.ui.sources.session_recording import SessionRecording
from concwatch.ui.widgets.charts.chart import Chart

if TYPE_CHECKING:
    from textual.notifications import SeverityLevel

    from concwatch.monitor.lanes.catalog import Engine
    from concwatch.monitor.metrics.observable import Observable
    from concwatch.recordings.recorder import Recorder
    from concwatch.ui.apps.picture_files import Saved

TRIM_INTERVAL = 60.0
"""Seconds between two times that free memory is returned to the system."""

USUAL_INTERVAL, SWITCH_INTERVAL = sys.getswitchinterval(), 0.0001
"""Seconds after which another thread may run, and until the first frame.

Textual writes frames in a thread, which would wait until what follows the first frame is done.
"""

PICTURE_TIMEOUT = 10.0
"""Seconds that the exit waits at most for pictures that are being saved; far more than it takes."""

PICTURE = "picture"
"""Name of the Textual worker that saves a picture."""

REPLACED = ("Screenshot", "Keys", "Maximize", "Minimize")
"""Entries of Textual's palette that our own commands replace."""


class LanesApp(InputQueue):
    """Shows a screen of lanes, which subclasses create."""

    TITLE = "concwatch"
    CSS_PATH = "../screens/monitor.tcss"  # here because Textual does not load that of a default screen
    BINDINGS = [Binding("ctrl+c", "quit", "Quit", show=False, priority=True)]

    theme: Reactive[str] = Reactive(THEMES[0].name)  # setting a theme later parses every style sheet again

    def __init__(self, pictures: Path = Path("screenshots"), theme: str = "") -> None:
        """Create the app.

        Args:
            pictures: the folder for screenshots, created when needed.
            theme: name of the initial theme; the default theme if empty.
        """
        self._readable: dict[str, Theme] = {}
        self._initial_theme = ""
        sys.setswitchinterval(SWITCH_INTERVAL)
        if theme:
            self.set_reactive(LanesApp.theme, theme)  # before Textual parses any style sheet
        super().__init__()
        self._pictures = pictures
        self.saved: list[Path] = []
        """The pictures saved in this session."""
        self._png_hint_shown = False
        self.recording = SessionRecording(Path("recordings"))
        """The recording of this session."""
        self._lanes: MonitorScreen | None = None
        self.picture_cells = False
        """Whether pictures show the cells of charts as the terminal does, not vectors."""
        self._symbols, self._best = AUTO, BRAILLE
        self.chosen_symbols = ""
        """The symbols of charts that the user chose; empty if the initial ones are unchanged."""

    def use_symbols(self, choice: str, best: Symbols) -> None:
        """Draw charts with ``choice``, one of `CHOICES`; ``best`` are the best for the terminal."""
        self._symbols, self._best = choice, best

    @property
    def chart_symbols(self) -> Symbols:
        """The symbols that charts are drawn with."""
        return chosen_symbols(self._symbols, self._best)

    def action_next_symbols(self) -> None:
        """Draw charts with the next symbols."""
        self.choose_symbols(CHOICES[(CHOICES.index(self._symbols) + 1) % len(CHOICES)])

    def choose_symbols(self, choice: str) -> None:
        """Draw charts with ``choice``, one of `CHOICES`, from now on."""
        self.chosen_symbols = self._symbols = choice
        for screen in self.screen_stack:
            for chart in screen.query(Chart):
                chart.symbols = self.chart_symbols
        drawn = f": {self.chart_symbols.name}" if self._symbols == AUTO else ""
        self.notify(f"charts are drawn with {self._symbols}{drawn}")

    @property
    def available_themes(self) -> dict[str, Theme]:
        """Textual's themes and our own."""
        return ALL_THEMES

    def get_theme(self, theme_name: str) -> Theme | None:
        """Return a theme, adjusted so that all text is readable."""
        if theme_name not in self._readable and (theme := super().get_theme(theme_name)):
            self._readable[theme_name] = readable(theme)
        return self._readable.get(theme_name)

    def make_screen(self) -> MonitorScreen:
        """Create the first screen."""
        raise NotImplementedError

    def get_default_screen(self) -> Screen[None]:
        """Create the screen."""
        self._lanes = self.make_screen()
        return self._lanes

    def on_mount(self) -> None:
        """Handle changes of the theme, and signals that ask the program to exit."""
        self.theme_changed_signal.subscribe(self, lambda _: self._apply_theme())
        if sys.platform != "win32":
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                asyncio.get_running_loop().add_signal_handler(number, self._exit_with, -number)

    def on_ready(self) -> None:
        """Enable garbage collection, except of the objects created so far, which live until the exit.

        A full collection that includes Textual's classes and styles takes 80 to 200 ms, in which no key is
        handled.
        """
        self._initial_theme = self.theme
        self.call_after_refresh(sys.setswitchinterval, USUAL_INTERVAL)
        gc.freeze()
        gc.enable()
        # Drawing fragments the heap: by 2.5 MiB in ten minutes.
        self.set_interval(TRIM_INTERVAL, trim_heap)
        self._update_size_notice(self.size)

    def on_resize(self, event: Resize) -> None:
        """Handle a new size of the terminal."""
        if self._lanes is not None and self._lanes.is_mounted:
            self._update_size_notice(event.size)

    def _update_size_notice(self, size: Size) -> None:
        """Cover every screen with a notice while the terminal is too small."""
        for screen in self.screen_stack:
            screen.query_children("SizeNotice").remove()
            if not is_large_enough(size.width, size.height):
                from concwatch.ui.widgets.bars.size_notice import SizeNotice  # on few terminals

                screen.mount(SizeNotice(size))

    @property
    def selected_theme(self) -> str:
        """Name of the theme selected by the user; empty if the initial one is unchanged."""
        return self.theme if self._initial_theme not in ("", self.theme) else ""

    def conditions(self) -> Sequence[str]:
        """Return the conditions of the measurement, for a slide."""
        return ()

    def recorded(self) -> "tuple[Observable, Sequence[Engine]]":
        """Return what to record, and the engines of its lanes."""
        raise NotImplementedError

    def log_event(self, text: str) -> None:
        """Log what the user did, if there is an event log."""

    def _apply_theme(self) -> None:
        self.log_event(f"theme {self.theme}")
        if self._lanes is not None and self._lanes.is_mounted:
            self._lanes.apply_theme()

    async def action_quit(self) -> None:
        """Quit after all pictures have been saved."""
        await self.finish_pictures()
        self.exit()

    async def finish_pictures(self) -> None:
        """Wait until all pictures have been saved, at most `PICTURE_TIMEOUT` seconds."""
        saving = asyncio.gather(*(saver.wait() for saver in self.workers if saver.name == PICTURE))
        with contextlib.suppress(TimeoutError, WorkerCancelled):
            await asyncio.wait_for(saving, PICTURE_TIMEOUT)

    def on_exit_app(self) -> None:
        """Call `exit` to set ``return_code``: a closed browser page only sends this message."""
        if self.return_code is None:
            self.exit()

    def _exit_with(self, status: int) -> None:
        self.exit(return_code=status)

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Yield the commands of the palette: Textual's own and those of the screen's keys."""
        own = super().get_system_commands(screen)
        yield from (row for row in own if row.title not in REPLACED)
        keyboard = screen.keyboard if isinstance(screen, BaseScreen) else None
        pictures = Keyboard(keys.PICTURES, AppKeys(self))
        yield from palette(pictures.rows, pictures.press)
        if keyboard is not None and isinstance(screen, BaseScreen):
            rows = (row for row in keyboard.rows if row not in keys.PICTURES)
            yield from palette(rows, screen.action_press)

    def action_command_palette(self) -> None:
        """Open the palette."""
        from concwatch.ui.screens.command_palette import SafeCommandPalette  # not needed for the first frame

        if not isinstance(self.screen, SafeCommandPalette):
            self.push_screen(SafeCommandPalette())

    def update_now(self) -> None:
        """Update every screen now."""
        for screen in self.screen_stack:
            if isinstance(screen, BaseScreen):
                screen.update_now()

    def offer_download(self, path: Path) -> None:
        """Offer a saved file for download if the screen is shown in a browser."""
        if self.is_web:
            self.deliver_binary(path, save_directory=path.parent)

    def action_save_picture(self) -> None:
        """Save a picture of the screen."""
        self.update_now()
        self.clear_notifications()  # such as that of the last picture
        self.call_after_refresh(self._save_screen)

    def _save_screen(self) -> None:
        from concwatch.ui.apps.screen_vectors import screen_svg  # as in `_save`

        self._save(screen_svg(self, "concwatch", cells=self.picture_cells), "")

    def action_save_chart(self) -> None:
        """Save a picture of the focused chart, or of the first visible one."""
        from concwatch.ui.apps.picture_files import chart_slide, chart_to_save  # as in `_save`

        chart = chart_to_save(self.screen)
        if chart is None:
            self.notify("no chart is visible", severity="warning")
        else:
            self._save(chart_slide(chart, self.conditions(), self.current_theme.dark), chart.plot.title)

    def _save(self, svg: str, subject: str) -> None:
        """Save a picture of ``subject``, by default of the whole screen, and show its path."""
        # Not needed for the first frame.
        from concwatch.pictures.png import can_draw
        from concwatch.ui.apps.picture_files import PNG_HINT, save_picture

        async def save() -> None:
            saved = await save_picture(svg, self._pictures, subject)
            hint = ""
            if not (saved.failed or self._png_hint_shown or can_draw()):
                self._png_hint_shown = True
                hint = f"\n{PNG_HINT}"
            self.show_saved("screenshot", saved, hint)

        self.run_worker(save(), name=PICTURE)

    def show_saved(self, kind: str, saved: "Saved", hint: str = "") -> None:
        """Show which files were saved, log them, and offer the last one for download.

        Args:
            kind: of the files.
            saved: the files, or why there are none.
            hint: more text for the notification.
        """
        self.saved += saved.paths
        if saved.paths:
            others = "".join(f" and {path.suffix}" for path in saved.paths[1:])
            self.log_event(f"{kind} {saved.paths[0]}{others}")
            self.offer_download(saved.paths[-1])  # only one: browsers ask before several
        severity: SeverityLevel = "error" if saved.failed else "information"
        self.notify(f"{saved.text}{hint}", title=kind, severity=severity, markup=False)

    def action_record(self) -> None:
        """Start or stop recording, and show the path."""
        if self.recording.on:
            stopped = self.recording.stop("ended by key")
            if stopped is not None:
                self._notify_recording(stopped, f"saved {stopped.path}, {format_bytes(stopped.size)}")
                self.log_event(f"recorded {stopped.path}, {format_bytes(stopped.size)}")
                if not stopped.problem:
                    self.offer_download(stopped.path)
            return
        try:
            started = self.recording.start(*self.recorded())
            self._notify_recording(started, f"to {started.path}")
            self.log_event(f"recording to {started.path}")
        except (OSError, ValueError) as error:
            why = (
                f"{error.filename or self.recording.folder}: {error.strerror}"
                if isinstance(error, OSError)
                else error
            )
            self.notify(f"not recorded: {why}", severity="error", markup=False)

    def _notify_recording(self, recorder: "Recorder", done: str) -> None:
        """Notify the user of ``done``, or of the recorder's error."""
        if recorder.problem:
            self.notify(recorder.problem, severity="error", markup=False)
        else:
            self.notify(done, title="recording", markup=False)
