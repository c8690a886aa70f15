"""Terminals as an SVG and as segments, and pictures read back."""

import io

from PIL import Image
from rich.console import Console

GROUND = (41, 41, 41)
"""Rich's default background."""


def terminal(*lines, width=20):
    """Return the SVG of a terminal with ``lines`` and a blank one, since Rich cuts off the last edge."""
    console = Console(
        width=width, file=io.StringIO(), record=True, force_terminal=True, color_system="truecolor"
    )
    console.print("\n".join([*lines, " "]), highlight=False, end="")
    return console.export_svg(title="")


def segments(*lines, width=20):
    """Return the same terminal as rows of segments."""
    return Console(width=width, color_system="truecolor").render_lines("\n".join([*lines, " "]))


def open_picture(data):
    picture = Image.open(io.BytesIO(data))
    picture.load()
    return picture
