"""The picture of a recording's length: one line of cells with the play head and the marks on it."""

from collections.abc import Mapping
from functools import lru_cache
from itertools import groupby
from operator import itemgetter

from msgspec import Struct
from textual.content import Content


class Mark(Struct, frozen=True):
    """A mark as it is seen on the line."""

    share: float
    """Where it stands, from 0.0 at the beginning to 1.0 at the end."""
    color: str
    """``#rrggbb`` or the name of a theme's colour."""
    note: bool = False
    """Whether a person made it, which is worth more room than what a command left."""


def cell_of(share: float, width: int) -> int:
    """Return the cell, from 0, of a track of ``width`` cells in which a moment stands."""
    return min(width - 1, max(0, round(share * (width - 1))))


def share_at(cell: int, width: int) -> float:
    """Return the moment that a cell means: the inverse of `cell_of`, with both ends reachable."""
    return min(1.0, max(0.0, cell / (width - 1))) if width > 1 else 0.0


@lru_cache(maxsize=16)
def marks_in(marks: tuple[Mark, ...], width: int) -> Mapping[int, Mark]:
    """Return the mark that is seen in each cell: a person's before others, the last of equals."""
    seen: dict[int, Mark] = {}
    for mark in marks:
        cell = cell_of(mark.share, width)
        if cell not in seen or mark.note or not seen[cell].note:
            seen[cell] = mark
    return seen


class TransportLine(Struct, frozen=True):
    """A track, filled up to the play head."""

    width: int
    """Cells of the whole track."""
    head: float
    """Where the play head stands, from 0.0 to 1.0."""
    marks: tuple[Mark, ...] = ()
    """What is marked on it, in the order of time."""

    @lru_cache(maxsize=16)  # noqa: B019  # frozen, and asked for at each event of the mouse
    def content(self, played: str, head: str, rest: str) -> Content:
        """Return the line, in the styles of what was played, of the play head and of what is to come."""
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
