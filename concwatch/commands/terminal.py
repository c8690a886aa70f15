"""Whether there is a terminal that the screen can be drawn on."""

import os
import sys

if sys.platform != "win32":
    import termios

FIXED = ("dumb", "unknown")
"""What TERM says of a terminal whose cursor cannot be moved, such as an editor's window for commands."""

DEFAULT_SIZE = (24, 80)
"""Lines and columns of a terminal that does not know its size."""


def why_no_screen(instead: str) -> str | None:
    """Return in one line what the screen needs and does not have here, or None.

    Args:
        instead: the command that does without.
    """
    # Keys come from the first, the size is the second's, and what is drawn goes to the third.
    if not (sys.stdin.isatty() and sys.stdout.isatty() and sys.stderr.isatty()):
        where = "on standard input, standard output and standard error"
        return f'the screen needs a terminal {where}; without one use "{instead}"'
    term = os.environ.get("TERM", "")
    if term in FIXED:
        need = "a terminal whose cursor can be moved, such as TERM=xterm-256color"
        return f'the screen needs {need}, and TERM is "{term}"; here use "{instead}"'
    return None


def theme_for_terminal() -> str:
    """Return the theme of a terminal that has 16 colours only, or nothing for any other."""
    from rich.console import Console  # Textual has it loaded

    from concwatch.ui.palette import FEW_COLORS

    return FEW_COLORS if Console(stderr=True).color_system == "standard" else ""


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
