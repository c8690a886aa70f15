"""Where a screen is shown, a terminal or a page of ``concwatch serve``, and the state saved for the next."""

import os
import re
import select
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from concwatch.charts.symbols import ASKED, AUTO, BRAILLE, CHOICES, best_symbols
from concwatch.charts.table import WINDOWS
from concwatch.commands.basics.console import BAD_INPUT, discard_output, print_error
from concwatch.commands.basics.hangup import exit_with_page, exit_with_terminal, is_gone
from concwatch.system.files import write_atomically
from concwatch.web.in_page import in_page, pop_page_size

if sys.platform != "win32":
    import termios
    import tty

if TYPE_CHECKING:
    from concwatch.ui.apps.lanes_app import LanesApp

WITHOUT_CURSOR = ("dumb", "unknown")
"""Values of TERM for terminals that cannot move the cursor, such as an editor's shell window."""

ANSWER_TIMEOUT = 0.5
"""Seconds for a terminal to answer what it is."""

DEFAULT_SIZE = (24, 80)
"""Lines and columns assumed of a terminal that does not know its size."""


def why_no_screen(advice: str) -> str | None:
    """Return one line that says why no screen can be shown here, or None.

    Args:
        advice: what to do without a screen, such as ``use "concwatch run"``.
    """
    # Textual reads keys from standard input and draws on standard error; the size is that of standard output.
    if not (sys.stdin.isatty() and sys.stdout.isatty() and sys.stderr.isatty()):
        where = "on standard input, standard output and standard error"
        return f"the screen needs a terminal {where}; without one, {advice}"
    if not _is_utf8(locale := _locale()):
        need = f'a UTF-8 locale, such as LC_ALL=C.UTF-8, but this one is "{locale}"'
        return f"the screen needs {need}; here, {advice}"
    term = os.environ.get("TERM", "")
    if term in WITHOUT_CURSOR:
        need = "a terminal that can move the cursor, such as TERM=xterm-256color"
        return f'the screen needs {need}, but TERM is "{term}"; here, {advice}'
    return None


def _locale() -> str:
    """Return the name of the locale that the environment sets for characters; empty if it sets none.

    Python itself writes UTF-8 in the locale C, whatever the terminal expects.
    """
    return next(filter(None, map(os.environ.get, ("LC_ALL", "LC_CTYPE", "LANG"))), None) or ""


def _is_utf8(locale: str) -> bool:
    return not locale or sys.platform == "win32" or "utf8" in locale.lower().replace("-", "")


def check_display(advice: str) -> None:
    """Exit with one line on standard error if no screen can be shown; see `why_no_screen`."""
    problem = None if in_page() else why_no_screen(advice)
    if problem:
        print_error(problem)
        sys.exit(BAD_INPUT)


def take_terminal() -> tuple[int, int]:
    """Return the descriptors of the terminal, for input and for output.

    If it does not know its size, as on some serial lines and in containers, set `DEFAULT_SIZE` first:
    Textual has two different fallbacks for that, and would lay out its screen again and again.
    """
    found = sys.stdin.fileno(), sys.stderr.fileno()
    if sys.platform != "win32":
        for descriptor in (*found, sys.stdout.fileno()):
            if 0 in os.get_terminal_size(descriptor):
                termios.tcsetwinsize(descriptor, DEFAULT_SIZE)
    return found


class ScreenState(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the user chose on the last screen; empty for no choice."""

    theme: str = ""
    window: float | None = None
    """Seconds."""
    symbols: str = ""
    """One of `concwatch.charts.symbols.CHOICES`."""


def state_path() -> Path:
    """Return the path of the saved `ScreenState`, in the user's state folder."""
    from platformdirs import user_state_path  # already loaded by Textual

    return user_state_path("concwatch", appauthor=False) / "screen.json"


def load_state() -> ScreenState:
    """Return the saved state; an empty one if there is no file or it is not valid."""
    from concwatch.ui.look.palette import ALL_THEMES

    try:
        saved = msgspec.json.decode(state_path().read_bytes(), type=ScreenState)
    except (OSError, ValueError):  # msgspec's errors are ValueErrors too
        return ScreenState()
    window = saved.window if saved.window in WINDOWS else None
    symbols = saved.symbols if saved.symbols in CHOICES else ""
    return ScreenState(saved.theme if saved.theme in ALL_THEMES else "", window, symbols)


def save_state(state: ScreenState) -> None:
    """Save the state for the next screen; ignore it if the file cannot be written."""
    path = state_path()
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, msgspec.json.encode(state))


def ask_terminal(source: int, target: int) -> str:
    """Ask a terminal for its name and version (XVERSION); return its answer, empty if there is none in time.

    Every terminal answers the second question, its attributes, so that one that ignores the first costs no
    time. Keys that are typed meanwhile are lost.
    """
    if sys.platform == "win32":
        return ""
    before, answer = termios.tcgetattr(source), b""
    try:
        tty.setcbreak(source, termios.TCSANOW)
        os.write(target, b"\x1b[>0q\x1b[c")
        deadline = time.monotonic() + ANSWER_TIMEOUT
        while not re.search(rb"\x1b\[\?[\d;]*c", answer):
            if not select.select([source], [], [], max(0.0, deadline - time.monotonic()))[0]:
                break
            answer += os.read(source, 1024)
    except OSError:
        return ""
    finally:
        termios.tcsetattr(source, termios.TCSANOW, before)
    found = re.search(rb"\x1bP>\|([^\x1b]*)\x1b", answer)
    return found[1].decode(errors="replace") if found else ""


class Display:
    """The terminal or page that this process shows its screen on; the process ends when that goes away.

    Create it before any other process is started.
    """

    def __init__(self) -> None:
        from concwatch.ui.apps.lanes_app import LanesApp  # noqa: F401  # Textual reads a page's environment on import

        self.is_page = in_page()
        """Whether it is a page of ``concwatch serve``."""
        self.saved = load_state()
        """What the user chose on the last screen."""
        self.symbols = self.saved.symbols
        """The symbols of charts to start with, one of `CHOICES`; empty for the best."""
        self.picture_cells = False
        """Whether pictures show the cells of charts, not vectors."""
        self.end: Callable[[int], object] = os._exit
        """Exits with a status once the terminal is gone; called in a thread."""
        self._size = None
        answer = ""
        if self.is_page:
            exit_with_page(sys.stdin.fileno())
            self._size = pop_page_size()
        else:
            terminal = take_terminal()
            if os.environ.get("TERM", "").startswith(ASKED):
                answer = ask_terminal(*terminal)
            exit_with_terminal(*terminal, end=lambda status: self.end(status))
        self._best = BRAILLE if self.is_page else best_symbols(answer, os.environ)

    @property
    def theme(self) -> str:
        """The theme to start with if no option names one; empty for the default."""
        from rich.console import Console  # already loaded by Textual

        from concwatch.ui.look.palette import FEW_COLORS

        few = not self.is_page and Console(stderr=True).color_system == "standard"  # 16 colours
        return self.saved.theme or (FEW_COLORS if few else "")

    def run(self, app: "LanesApp") -> int:
        """Run an app, then print which files were saved. Return the exit status."""
        app.pictures.cells = self.picture_cells
        app.symbols.use(self.symbols or AUTO, self._best)
        app.run(size=self._size)
        if not self.is_page:  # a page's standard output carries packets
            for descriptor in (1, 2):
                if is_gone(descriptor):  # a failed write would change the exit status
                    discard_output(descriptor)
            for path in (*app.recording.paths, *app.pictures.saved):
                print(f"saved {path}", flush=True)
        if app.recording.problem:  # the event log that showed it is gone, or it happened at the very end
            print_error(app.recording.problem)
        return app.return_code or 0
