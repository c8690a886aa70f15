"""The key bar at the bottom. A click on a key presses it."""

from collections.abc import Callable, Sequence

from msgspec import Struct

from concwatch.ui.widgets.text.text_lines import Cell, ClickableLines, assemble, call

GAP = 2
"""The cells between two keys."""


class Key(Struct, frozen=True):
    """A key with its label."""

    key: str
    """How it is written."""
    label: str
    name: str
    """The name to press it by; empty if a click does nothing."""
    always: bool = False
    """Whether it is shown however narrow the bar is."""

    @property
    def width(self) -> int:
        """The width in cells, including the gap after it."""
        return len(self.key) + 1 + len(self.label) + GAP


BEHIND = (Key("esc", "back", ""),)
"""What the bar shows while a dialog is in front, whose keys the dialog itself describes."""


class HelpKey(Struct, frozen=True):
    """A key in the help."""

    key: str
    """How it is written."""
    name: str
    """The name to press it by; empty if a click does nothing."""


class KeyBar(ClickableLines):
    """One line of keys.

    Textual's Footer has a widget for each key: with those of the monitor it takes 49 ms of CPU time until it
    is mounted, this 5 ms (headless, 120x40, CPython 3.11).
    """

    DEFAULT_CSS = """
    KeyBar {
        height: 1;
        background: $panel;
        padding: 0 1;
    }
    """

    def __init__(self, keys: Sequence[Key], press: Callable[[str], object]) -> None:
        """Create a bar of ``keys``, the most important first; ``press`` is called with the name of one."""
        super().__init__()
        self._keys, self._press, self._behind = keys, press, False

    def show(self, keys: Sequence[Key]) -> None:
        """Show other keys."""
        self._keys = keys
        self.update_lines()

    def set_behind(self, behind: bool) -> None:
        """Set whether another screen is in front, which these keys do not act on."""
        self._behind = behind
        self.update_lines()

    def cell_rows(self, width: int) -> Sequence[Sequence[Cell]]:
        """Return the keys that fit into ``width`` cells."""
        keys = BEHIND if self._behind else self._keys
        room = width + GAP - sum(key.width for key in keys if key.always)
        cells: list[Cell] = []
        for key in keys:
            if not key.always:
                room -= key.width
            if key.always or room >= 0:
                text = assemble((key.key, "bold $accent"), (f" {key.label}", "$dim"))
                action = call(self._press, key.name) if key.name else None
                cells += (Cell(key.width - GAP, text, action), Cell(GAP))
        return (cells[:-1],)
