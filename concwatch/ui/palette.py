"""The colours of the lanes, the same everywhere, and the program's own themes."""

from textual.theme import Theme

ON_DARK = ("#ff7a85", "#ffb454", "#59c9f0", "#a5e065", "#c792ea", "#5ce1c6", "#f78fd0", "#e6db74")
ON_LIGHT = ("#c4233b", "#a05a00", "#0069a8", "#3c7a00", "#7a35b5", "#007a63", "#b02a80", "#6b6500")

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


def lane_color(index: int, dark: bool) -> str:
    """Return the colour of lane ``index`` as ``#rrggbb``; after eight they come again."""
    colors = ON_DARK if dark else ON_LIGHT
    return colors[index % len(colors)]
