"""A Textual driver that records the output of an app, with or without a real terminal."""

import io
import re
import time
from collections.abc import Callable
from typing import Any

from rich.console import Console
from textual.app import App
from textual.driver import Driver
from textual.drivers.headless_driver import HeadlessDriver

from concwatch.pictures.film import LAST_FRAME_SECONDS

BEGIN = "\x1b[?1049h\x1b[?25l"
"""Switch to the alternate screen and hide the cursor."""

END = "\x1b[?25h\x1b[?1049l"
"""Show the cursor and switch back to the normal screen."""


_PRIVATE = re.compile(r"\x1b\[[?<=>][\d;]*\$?[a-z]")
"""Modes such as mouse tracking, and queries, which a terminal that plays the recording would answer."""


class RecordedTerminal:
    """Records the output of one app.

    Set ``app.driver_class = terminal.driver_class()`` before the app runs, and run it with
    ``app.run_test(headless=False, size=(120, 40))``. ``Cast(120, 40).text(terminal.output)`` then returns a
    recording for asciinema.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Create an empty recording.

        Args:
            clock: returns a monotonic time in seconds.
        """
        self.output: list[tuple[float, str]] = []
        """Seconds since the start, and what was written then."""
        self.sizes: list[tuple[float, tuple[int, int]]] = []
        """Seconds since the start, and the columns and rows from then on."""
        self._clock = clock
        self._started = 0.0

    def start(self) -> None:
        """Start the clock and record the switch to the alternate screen."""
        self._started = self._clock()
        self.write(BEGIN)

    def stop(self) -> None:
        """Record the switch back to the normal screen, `LAST_FRAME_SECONDS` seconds after the last frame."""
        self.output.append((self._clock() - self._started + LAST_FRAME_SECONDS, END))

    def write(self, data: str) -> None:
        """Record output."""
        self.output.append((self._clock() - self._started, data))

    def resize(self, columns: int, rows: int) -> None:
        """Record the size if it has changed."""
        if not self.sizes or self.sizes[-1][1] != (columns, rows):
            self.sizes.append((self._clock() - self._started, (columns, rows)))

    def driver_class(self, real: type[Driver] | None = None) -> type[Driver]:
        """Return a driver class that records its output here.

        Args:
            real: the driver of a real terminal to write to as well, if any.
        """
        terminal = self
        base = real or HeadlessDriver

        class RecordingDriver(base):  # type: ignore[valid-type,misc]  # a dynamic base class
            """Records the output and passes it on; without a real terminal, in true colour."""

            def __init__(self, app: App[Any], **options: Any) -> None:
                super().__init__(app, **options)
                self._recorded_app = app
                if real is None:
                    app.console = Console(
                        file=io.StringIO(), color_system="truecolor", force_terminal=True,
                        legacy_windows=False, markup=True, highlight=False, emoji=False, safe_box=False,
                    )  # fmt: skip

            @property
            def is_headless(self) -> bool:
                """False: in headless mode Textual writes nothing."""
                return False

            def write(self, data: str) -> None:
                """Record the visible output, and write all of it."""
                if real is not None:
                    terminal.resize(*self._recorded_app.size)
                if visible := _PRIVATE.sub("", data):
                    terminal.write(visible)
                super().write(data)

            def start_application_mode(self) -> None:
                """Start recording."""
                terminal.start()
                super().start_application_mode()

            def stop_application_mode(self) -> None:
                """Stop recording."""
                super().stop_application_mode()
                terminal.stop()

        return RecordingDriver
