"""A terminal that is not there, and that keeps what the program writes to it."""

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
"""Take a screen of one's own, and hide the cursor."""

END = "\x1b[?25h\x1b[?1049l"
"""The opposite."""


_PRIVATE = re.compile(r"\x1b\[[?<=>][\d;]*\$?[a-z]")
"""Modes such as the mouse's, and questions to the terminal: where a recording is played it would answer."""


class RecordedTerminal:
    """Keeps what one app writes.

    Set ``app.driver_class = terminal.driver_class()`` before the app runs, and run it as if there were a
    terminal: ``app.run_test(headless=False, size=(120, 40))``. ``Cast(120, 40).text(terminal.output)`` is
    then what asciinema plays.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin with nothing.

        Args:
            clock: gives the time in seconds.
        """
        self.output: list[tuple[float, str]] = []
        """What was written, and when: seconds since the app took the terminal."""
        self.sizes: list[tuple[float, tuple[int, int]]] = []
        """Columns and rows that it took, and when: as above."""
        self._clock = clock
        self._began = 0.0

    def begin(self) -> None:
        """Take the terminal: time counts from here."""
        self._began = self._clock()
        self.write(BEGIN)

    def end(self) -> None:
        """Restore the terminal, as much later as a film holds its last frame."""
        self.output.append((self._clock() - self._began + LAST_FRAME_SECONDS, END))

    def write(self, data: str) -> None:
        """Keep ``data``."""
        self.output.append((self._clock() - self._began, data))

    def resize(self, columns: int, rows: int) -> None:
        """Note a size, unless it is what it was."""
        if not self.sizes or self.sizes[-1][1] != (columns, rows):
            self.sizes.append((self._clock() - self._began, (columns, rows)))

    def driver_class(self, real: type[Driver] | None = None) -> type[Driver]:
        """Return a class of drivers that record here what they write.

        Args:
            real: the driver of a real terminal that is written to as well; None where there is none.
        """
        terminal = self
        base = real or HeadlessDriver

        class RecordingDriver(base):  # type: ignore[valid-type,misc]  # only the system knows which it is
            """Passes on what is written; without a real terminal in all colours."""

            def __init__(self, app: App[Any], **options: Any) -> None:
                super().__init__(app, **options)
                self._recorded = app
                if real is None:
                    app.console = Console(
                        file=io.StringIO(), color_system="truecolor", force_terminal=True,
                        legacy_windows=False, markup=True, highlight=False, emoji=False, safe_box=False,
                    )  # fmt: skip

            @property
            def is_headless(self) -> bool:
                """No: Textual writes nothing where nobody looks."""
                return False

            def write(self, data: str) -> None:
                """Record what is to be seen, and write all of it."""
                if real is not None:
                    terminal.resize(*self._recorded.size)
                if seen := _PRIVATE.sub("", data):
                    terminal.write(seen)
                super().write(data)

            def start_application_mode(self) -> None:
                """Take the terminal."""
                terminal.begin()
                super().start_application_mode()

            def stop_application_mode(self) -> None:
                """Restore the terminal."""
                super().stop_application_mode()
                terminal.end()

        return RecordingDriver
