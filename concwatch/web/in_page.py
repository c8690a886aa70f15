"""The environment of a screen that is shown in a browser page instead of a terminal."""

import os
import sys

DRIVER = "textual.drivers.web_driver:WebDriver"
"""Textual's driver that communicates with a page through pipes."""


def page_environment(width: int, height: int) -> dict[str, str]:
    """Return the environment variables for a page of this many columns and rows."""
    return {
        "TEXTUAL_DRIVER": DRIVER,
        "TEXTUAL_FPS": "60",
        "TEXTUAL_COLOR_SYSTEM": "truecolor",
        "COLUMNS": str(width),
        "ROWS": str(height),
    }


def in_page() -> bool:
    """Return whether a web server has started this program for a page."""
    return os.environ.get("TEXTUAL_DRIVER") == DRIVER and not (sys.stdin.isatty() or sys.stdout.isatty())


def pop_page_size() -> tuple[int, int] | None:
    """Return the page's columns and rows, and remove the variables so that no worker inherits them.

    Call it after Textual has been imported, which reads them.
    """
    values = {name: os.environ.pop(name, "") for name in page_environment(0, 0)}
    try:
        return int(values["COLUMNS"]), int(values["ROWS"])
    except ValueError:
        return None
