"""The line of cells that draws a recording's play head and marks."""

from collections.abc import Mapping
from functools import lru_cache
from itertools import groupby
from operator import itemgetter

from msgspec import Struct
from textual.content import Content


class TransportMark(Struct, frozen=True):
    """A mark on the line."""

    share: float
    """Its position, from 0.0 at the beginning to 1.0 at the end."""
    color: str
    """``#rrggbb`` or the name of a theme's colour."""
    note: bool = False
    """Whether it is a note of the user, which takes precedence over a command."""


def cell_of(share: float, width: int) -> int:
    """Return the cell (0-based) of a position on a track of ``width`` cells."""
    return min(width - 1, max(0, round(share * (width - 1))))


def share_at(cell: int, width: int) -> float:
    """Return the position of a cell, from 0.0 to 1.0; the inverse of `cell_of`."""
    return min(1.0, max(0.0, cell / (width - 1))) if width > 1 else 0.0


@lru_cache(maxsize=16)
def marks_in(marks: tuple[TransportMark, ...], width: int) -> Mapping[int, TransportMark]:
    """Return the mark shown in each cell: a note if there is one, else the last mark."""
    shown: dict[int, TransportMark] = {}
    for mark in marks:
        cell = cell_of(mark.share, width)
        if cell not in shown or mark.note or not shown[cell].note:
            shown[cell] = mark
    return shown


class TransportLine(Struct, frozen=True):
    """A track, filled up to the play head."""

    width: int
    """Length of the track in cells."""
    head: float
    """Position of the play head, from 0.0 to 1.0."""
    marks: tuple[TransportMark, ...] = ()
    """The marks, in chronological order."""

    @lru_cache(maxsize=16)  # noqa: B019  # frozen, and needed at each mouse event
    def content(self, played: str, head: str, rest: str) -> Content:
        """Return the line, with styles for the part before the play head, the play head and the rest."""
        place, marks = cell_of(self.head, self.width), marks_in(self.marks, self.width)

        def drawn(cell: int) -> tuple[str, str]:
            if cell == place:
                return "●", head
            if mark := marks.get(cell):
                return "◆" if mark.note else "┿" if cell < place else "┼", f"bold {mark.color}"
            return ("━", played) if cell < place else ("─", rest)

        runs = groupby(map(drawn, range(self.width)), key=itemgetter(1))
        return Content.assemble(*(("".join(text for text, _ in run), style) for style, run in runs))

    def __str__(self) -> str:
        return self.content("", "", "").plain
