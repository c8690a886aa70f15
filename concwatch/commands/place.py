"""Where a screen is shown, a terminal or a page of ``concwatch serve``, and what is kept for its next one."""

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from concwatch.charts.table import WINDOWS
from concwatch.console import BAD_INPUT, print_error
from concwatch.files import write_atomically
from concwatch.ui.in_page import in_page, take_size

if sys.platform != "win32":
    import termios

if TYPE_CHECKING:
    from concwatch.ui.lanes_app import LanesApp

FIXED = ("dumb", "unknown")
"""What TERM says of a terminal whose cursor cannot be moved, such as an editor's window for commands."""

DEFAULT_SIZE = (24, 80)
"""Lines and columns of a terminal that does not know its size."""


def why_no_screen(instead: str) -> str | None:
    """Return what the screen needs and does not have here, in a line; ``instead`` does without. Else None."""
    # Keys come from the first, the size is the second's, and what is drawn goes to the third.
    if not (sys.stdin.isatty() and sys.stdout.isatty() and sys.stderr.isatty()):
        where = "on standard input, standard output and standard error"
        return f'the screen needs a terminal {where}; without one use "{instead}"'
    term = os.environ.get("TERM", "")
    if term in FIXED:
        need = "a terminal whose cursor can be moved, such as TERM=xterm-256color"
        return f'the screen needs {need}, and TERM is "{term}"; here use "{instead}"'
    return None


def check_place(instead: str) -> None:
    """Exit with one line where no screen can be shown; ``instead`` is the command that does without."""
    problem = None if in_page() else why_no_screen(instead)
    if problem:
        print_error(problem)
        sys.exit(BAD_INPUT)


def take_terminal() -> tuple[int, int]:
    """Return the descriptors of the terminal: of keys, and of what is drawn.

    One that does not know its size, as some on serial lines and in containers, is told the usual one first:
    Textual guesses it in two ways that differ, and then lays out its screen again for ever.
    """
    found = sys.stdin.fileno(), sys.stderr.fileno()
    if sys.platform != "win32":
        for descriptor in (*found, sys.stdout.fileno()):
            if 0 in os.get_terminal_size(descriptor):
                termios.tcsetwinsize(descriptor, DEFAULT_SIZE)
    return found


class Kept(msgspec.Struct, frozen=True, omit_defaults=True):
    """What was chosen on the screen; empty where nobody made a choice."""

    theme: str = ""
    window: float | None = None
    """Seconds."""


def kept_path() -> Path:
    """Return the file of what is kept, below the user's folder for what programs remember."""
    from platformdirs import user_state_path  # Textual has it loaded

    return user_state_path("concwatch", appauthor=False) / "screen.json"


def read_kept() -> Kept:
    """Return what was kept; nothing where there is no such file, or it is not one of ours."""
    from concwatch.ui.palette import ALL_THEMES

    try:
        kept = msgspec.json.decode(kept_path().read_bytes(), type=Kept)
    except (OSError, ValueError):  # what msgspec raises is a ValueError, too
        return Kept()
    window = kept.window if kept.window in WINDOWS else None
    return Kept(kept.theme if kept.theme in ALL_THEMES else "", window)


def keep(kept: Kept) -> None:
    """Keep what was chosen; where nothing can be written the next start has the defaults."""
    path = kept_path()
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, msgspec.json.encode(kept))


class Place:
    """The terminal or page of this process, which ends with it; taken before another process is started."""

    def __init__(self) -> None:
        """Take it."""
        from concwatch.ui.hangup import end_with_page, end_with_terminal
        from concwatch.ui.lanes_app import LanesApp  # noqa: F401  # Textual reads what a page is told as it is loaded

        self.page = in_page()
        """Whether it is a page."""
        self.kept = read_kept()
        """What was chosen on the last screen."""
        self._size = None
        if self.page:
            end_with_page(sys.stdin.fileno())
            self._size = take_size()
        else:
            end_with_terminal(*take_terminal())

    @property
    def theme(self) -> str:
        """The theme to begin with, where none is asked for; empty for the default."""
        from rich.console import Console  # Textual has it loaded

        from concwatch.ui.palette import FEW_COLORS

        few = not self.page and Console(stderr=True).color_system == "standard"  # 16 colours
        return self.kept.theme or (FEW_COLORS if few else "")

    def run(self, app: "LanesApp") -> int:
        """Show an app until it ends, and print what has been saved; return the exit status."""
        app.run(size=self._size)
        if not self.page:  # whose standard output takes packets
            for path in (*app.recording.paths, *app.saved):
                click.echo(f"saved {path}")
        if app.recording.problem:  # the event log, which told of it, is gone; or it was at the very end
            print_error(app.recording.problem)
        return app.return_code or 0
