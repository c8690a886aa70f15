"""What the screen is told when it is shown in a browser's page instead of a terminal."""

import os
import sys

DRIVER = "textual.drivers.web_driver:WebDriver"
"""Textual's driver that speaks to a page through pipes."""


def page_environment(width: int, height: int) -> dict[str, str]:
    """Return the environment variables for a page of so many columns and lines."""
    return {
        "TEXTUAL_DRIVER": DRIVER,
        "TEXTUAL_FPS": "60",
        "TEXTUAL_COLOR_SYSTEM": "truecolor",
        "COLUMNS": str(width),
        "ROWS": str(height),
    }


def in_page() -> bool:
    """Whether a web server has started this program for a page: with its driver, and on pipes."""
    return os.environ.get("TEXTUAL_DRIVER") == DRIVER and not (sys.stdin.isatty() or sys.stdout.isatty())


def take_size() -> tuple[int, int] | None:
    """Return the page's columns and lines, and remove them: no worker may inherit them.

    Call it once Textual is loaded, which reads the rest.
    """
    found = {name: os.environ.pop(name, "") for name in page_environment(0, 0)}
    try:
        return int(found["COLUMNS"]), int(found["ROWS"])
    except ValueError:
        return None
