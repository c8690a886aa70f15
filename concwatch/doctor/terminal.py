"""The terminal, by what the environment and the standard streams say; nothing is sent to it."""

import codecs
import locale
import os
import sys
from typing import TextIO

from msgspec import Struct

LEAST_SIZE = (80, 24)
"""Columns and lines that the screen needs."""

TRUE_COLOR = ("truecolor", "24bit")
WITH_MOUSE = (
    "alacritty",
    "contour",
    "foot",
    "ghostty",
    "iterm",
    "kitty",
    "konsole",
    "mintty",
    "rxvt",
    "screen",
    "st",
    "tmux",
    "vte",
    "wezterm",
    "xterm",
)
"""Terminals, by how their TERM begins, that report the mouse; tmux does if its own setting says so."""

WITHOUT_MOUSE = ("dumb", "linux", "vt100", "vt220")


class Terminal(Struct, frozen=True):
    """What is known of it; None is what is not."""

    input: bool
    """Whether standard input is a terminal."""
    output: bool
    """Whether standard output is one."""
    columns: int | None
    lines: int | None
    term: str
    colorterm: str
    no_color: bool
    colors: int | None
    """How many it shows: 16,777,216, 256, 16, 8, or 1 for none."""
    mouse: bool | None
    encoding: str
    """Of standard output."""
    locale: str
    unicode: bool
    """Whether boxes and braille can be written."""

    @property
    def large_enough(self) -> bool | None:
        """Whether the screen has room; None where the size is not known."""
        if self.columns is None or self.lines is None:
            return None
        return self.columns >= LEAST_SIZE[0] and self.lines >= LEAST_SIZE[1]


def look_at_terminal() -> Terminal:
    """Look at it now."""
    columns, lines = _size()
    term = os.environ.get("TERM", "")
    # The screen goes by whether it is there at all, be it empty.
    no_color = "NO_COLOR" in os.environ
    encoding = getattr(sys.stdout, "encoding", None) or "unknown"
    return Terminal(
        input=_is_terminal(sys.stdin),
        output=_is_terminal(sys.stdout),
        columns=columns,
        lines=lines,
        term=term,
        colorterm=os.environ.get("COLORTERM", ""),
        no_color=no_color,
        colors=1 if no_color else _colors(term, os.environ.get("COLORTERM", "")),
        mouse=_mouse(term),
        encoding=encoding,
        locale=_locale(),
        unicode=_writes_unicode(encoding),
    )


def _is_terminal(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # closed
        return False


def _size() -> tuple[int | None, int | None]:
    """Give columns and lines of the first standard stream that is a terminal."""
    for descriptor in (1, 2, 0):
        try:
            size = os.get_terminal_size(descriptor)
        except (OSError, ValueError):
            continue
        if size.columns and size.lines:
            return size.columns, size.lines
    return None, None


def _colors(term: str, colorterm: str) -> int | None:
    if sys.platform == "win32":
        return 1 << 24
    if term in ("", "dumb"):
        return 1
    if colorterm in TRUE_COLOR or term.endswith("-direct"):
        return 1 << 24
    if "256color" in term:
        return 256
    return 8 if term == "linux" else 16 if term.startswith(WITH_MOUSE) else None


def _mouse(term: str) -> bool | None:
    if term.startswith(WITHOUT_MOUSE):
        return False
    return True if term.startswith(WITH_MOUSE) else None


def _locale() -> str:
    named = (os.environ.get(name) for name in ("LC_ALL", "LC_CTYPE", "LANG"))
    return next((name for name in named if name), "") or locale.getpreferredencoding(False)


def _writes_unicode(encoding: str) -> bool:
    try:
        "╭⣿│".encode(codecs.lookup(encoding).name)
    except (LookupError, UnicodeError):
        return False
    return True
