"""The key bar at the bottom. A click on a key presses it."""

from collections.abc import Sequence
from typing import NamedTuple

from textual.content import Content
from textual.style import Style

from concwatch.ui.widgets.text_lines import TextLines

GAP = "  "


class Key(NamedTuple):
    """A key with its label."""

    key: str
    """How it is written."""
    label: str
    name: str
    """What the screen's action ``press`` takes."""
    always: bool = False
    """Whether it is shown however narrow the bar is."""


class KeyBar(TextLines):
    """One line of keys.

    Textual's Footer has a widget for each key: with those of the monitor it takes 49 ms of CPU time until it
    is mounted, this 5 ms (headless, 120x40, CPython 3.11).
    """

    DEFAULT_CSS = """
    KeyBar {
        height: 1;
        background: $panel;
        padding: 0 1;
        link-style: none;
        link-color: $dim;
        link-style-hover: none;
        link-background-hover: $foreground 15%;
        link-color-hover: $foreground;
    }
    """

    def __init__(self, keys: Sequence[Key]) -> None:
        """Create a bar of ``keys``, the most important first."""
        super().__init__()
        self._keys = keys

    def rows(self, width: int) -> Sequence[Content]:
        """Return the keys that fit into ``width`` cells."""
        kept = [key for key in self._keys if key.always]
        room = width + len(GAP) - sum(map(_cells, kept))
        for key in self._keys:
            if key not in kept:
                room -= _cells(key)
                if room < 0:
                    break
                kept.append(key)
        shown: list[Content] = []
        for key in sorted(kept, key=self._keys.index):
            text = Content.assemble((key.key, "bold $accent"), f" {key.label}")
            shown.append(text.stylize(Style.from_meta({"@click": f"screen.press({key.name!r})"})))
        return (Content(GAP).join(shown),)


def _cells(key: Key) -> int:
    return len(f"{key.key} {key.label}{GAP}")
