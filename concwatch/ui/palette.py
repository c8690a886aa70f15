"""The program's own themes, and shades upon their backgrounds."""

from textual.color import Color
from textual.theme import Theme

THEMES = (
    Theme(
        name="concwatch-dark",
        primary="#59c9f0",
        secondary="#a5e065",
        accent="#ffb454",
        warning="#ffb454",
        error="#ff7a85",
        success="#a5e065",
        foreground="#d7dce5",
        background="#0c0f15",
        surface="#12161f",
        panel="#1b2230",
    ),
    Theme(
        name="concwatch-light",
        primary="#0069a8",
        secondary="#3c7a00",
        accent="#a05a00",
        warning="#a05a00",
        error="#c4233b",
        success="#3c7a00",
        foreground="#1f2530",
        background="#fbfbf9",
        surface="#f2f2ee",
        panel="#e6e6e0",
        dark=False,
    ),
)


PUBLISHED = 0.55
"""How far a published figure's colour lies on the way from the background to the series' own."""


def dimmed(color: str, background: Color) -> str:
    """Return the shade in which a published figure stands beside the same in ``color``."""
    return background.blend(Color.parse(color), PUBLISHED, alpha=1.0).hex6.lower()
