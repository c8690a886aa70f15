"""Our themes, and the adjustment of every theme for readable text."""

import dataclasses
from collections.abc import Sequence
from typing import Any

from textual.app import App
from textual.color import Color
from textual.theme import BUILTIN_THEMES, Theme

from concwatch.charts.colors import lane_colors

TEXT = 4.5
"""Minimum contrast of text with its background: WCAG 2.2, success criterion 1.4.3."""

FEW_COLORS = "concwatch-16"
"""The theme for terminals with 16 colours."""

THEMES = (
    Theme(
        name="concwatch-dark",
        primary="#59c9f0",
        secondary="#a4e065",
        accent="#feb454",
        warning="#feb454",
        error="#fe7a85",
        success="#a4e065",
        foreground="#d7dce5",
        background="#0c0f15",
        surface="#12161f",
        panel="#1b2230",
        variables={"dim": "#858991"},
    ),
    Theme(
        name="concwatch-light",
        primary="#0069a8",
        secondary="#387500",
        accent="#985600",
        warning="#985600",
        error="#c3233b",
        success="#387500",
        foreground="#1f2530",
        background="#fbfbf9",
        surface="#f2f2ee",
        panel="#e6e6e0",
        dark=False,
        variables={"dim": "#63676e"},
    ),
    Theme(
        name=FEW_COLORS,
        primary="#00ffff",
        secondary="#00ff00",
        accent="#ffff00",
        warning="#ffff00",
        error="#ff0000",
        success="#00ff00",
        foreground="#ffffff",
        background="#000000",
        surface="#000000",
        panel="#000000",
        variables={"dim": "#7f7f7f"},
    ),
)


def contrast(one: Color, other: Color) -> float:
    """Return the contrast ratio of two colours, 1 to 21, as defined by WCAG 2.2."""
    low, high = sorted(_luminance(color) for color in (one, other))
    return (high + 0.05) / (low + 0.05)


def _luminance(color: Color) -> float:
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in color.normalized
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def readable(theme: Theme) -> Theme:
    """Return a theme adjusted so that the contrast of its text is at least `TEXT`.

    Its variable ``dim`` is a colour for less important text, as close to the background as that allows.
    A theme that uses the terminal's own colours keeps them, and one that has that variable is readable.
    """
    if "dim" in theme.variables:
        return theme
    colors = theme.to_color_system().generate()
    grounds = [Color.parse(colors[name]) for name in ("background", "surface", "panel")]
    if any(ground.ansi is not None for ground in grounds):
        return dataclasses.replace(theme, variables={**theme.variables, "dim": "ansi_bright_black"})
    end = Color.parse("#ffffff" if theme.dark else "#000000")

    def readable_color(color: Color, towards: Color) -> Color:
        """Return the first colour between the two that has enough contrast."""
        steps = (color.blend(towards, step / 50, alpha=1.0) for step in range(51))
        return next(
            (each for each in steps if all(contrast(each, ground) >= TEXT for ground in grounds)), towards
        )

    def adjusted(name: str) -> str:
        return readable_color(Color.parse(colors[name]), end).hex6

    foreground = adjusted("foreground")
    dim = readable_color(grounds[0].blend(Color.parse(foreground), 0.5, alpha=1.0), Color.parse(foreground))
    return dataclasses.replace(
        theme,
        foreground=foreground,
        primary=adjusted("primary"),
        secondary=adjusted("secondary"),
        accent=adjusted("accent"),
        warning=adjusted("warning"),
        error=adjusted("error"),
        success=adjusted("success"),
        # Generated from the other colours if the theme does not define them.
        surface=colors["surface"],
        panel=colors["panel"],
        variables={**theme.variables, "dim": dim.hex6},
    )


ALL_THEMES = {**BUILTIN_THEMES, **{theme.name: theme for theme in THEMES}}
"""All themes by name, before adjustment."""


def themed_lane_colors(app: App[Any], names: Sequence[str]) -> list[str]:
    """Return the colour of each lane, ``#rrggbb``, in the theme of ``app``."""
    return lane_colors(names, app.current_theme.dark, app.theme == FEW_COLORS)


PUBLISHED = 0.55
"""Opacity of the colour of a published figure over the background."""


def dimmed(color: str, background: Color) -> str:
    """Return the shade of ``color`` for a published figure."""
    return background.blend(Color.parse(color), PUBLISHED, alpha=1.0).hex6.lower()
