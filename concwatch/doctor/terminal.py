"""What about the terminal keeps the screen from being shown, or shown well; nothing is sent to it."""

import os
import shutil
import sys

LEAST_SIZE = (60, 14)
"""Columns and lines that the screen needs."""


def terminal_problems() -> list[str]:
    """Return what is wrong, and what to do about it: a line each."""
    found = []
    for name, stream in (("input", sys.stdin), ("output", sys.stdout)):
        if stream is None or stream.closed or not stream.isatty():
            found.append(f"standard {name} is not a terminal: the screen needs one, concwatch run does not")
    columns, lines = shutil.get_terminal_size(LEAST_SIZE)
    if columns < LEAST_SIZE[0] or lines < LEAST_SIZE[1]:
        found.append(f"{columns} × {lines}: the screen needs {LEAST_SIZE[0]} × {LEAST_SIZE[1]}")
    term, color_term = os.environ.get("TERM", ""), os.environ.get("COLORTERM", "")
    if "NO_COLOR" in os.environ:
        found.append("NO_COLOR is set: the screen has no colours")
    elif not (color_term in ("truecolor", "24bit") or "256color" in term or sys.platform == "win32"):
        found.append(f'TERM "{term}": 16 colours at most; if it has more, set COLORTERM=truecolor')
    encoding = getattr(sys.stdout, "encoding", None) or "unknown"
    try:
        "╭⣿│".encode(encoding)
    except (LookupError, UnicodeError):
        found.append(f'encoding "{encoding}": charts need Unicode, set LC_ALL=C.UTF-8')
    return found
