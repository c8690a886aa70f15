"""The keys at the bottom, as many as there is room for; a click on one does what it does."""

from collections.abc import Sequence
from typing import NamedTuple

from textual.content import Content
from textual.style import Style

from concwatch.ui.widgets.text_lines import TextLines

GAP = "  "


class Key(NamedTuple):
    """One key: how it is written, what it does in a word, and the action that it runs."""

    key: str
    label: str
    action: str
    always: bool = False
    """Whether it is shown also where there is room for little."""


class KeyBar(TextLines):
    """One line of keys. Textual's Footer makes a widget of each, and the first frame waits for them."""

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
        """Show ``keys``, the most needed first."""
        super().__init__()
        self._keys = keys

    def rows(self, width: int) -> Sequence[Content]:
        """Return as many keys as ``width`` cells hold, each whole or not at all."""
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
            shown.append(text.stylize(Style.from_meta({"@click": key.action})))
        return (Content(GAP).join(shown),)


def _cells(key: Key) -> int:
    return len(f"{key.key} {key.label}{GAP}")
