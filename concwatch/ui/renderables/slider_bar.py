"""The picture of a slider: one line of cells."""

from collections.abc import Mapping

from msgspec import Struct
from textual.content import Content
from textual.style import Style

LIVE, PENDING, REST = "━", "╍", "─"
MARKED: Mapping[str, str] = {LIVE: "┯", REST: "┬", PENDING: PENDING}
KNOB, SPENT = "●", "○"


class SliderBar(Struct, frozen=True):
    """A track, filled up to what is live, with a knob at what is asked for.

    Between the two marks lies what is still to come, or, when the knob is the left one, what is still to go.
    """

    width: int
    """Cells of the whole track."""
    knob: int
    """The knob's cell, from 0."""
    live: int
    """The cell up to which tasks are live, from 0; equal to ``knob`` when all are that were asked for."""
    stops: tuple[int, ...] = ()
    """Cells that are marked."""
    reach: int | None = None
    """The last cell that the knob gets to; behind it there is no track."""
    mark: str = KNOB
    """What stands in the knob's cell."""

    @property
    def parts(self) -> tuple[str, str, str, str, str]:
        """The line from left to right: live, pending, knob, pending, rest; together ``width`` cells."""
        last = self.width - 1
        knob, live = (min(max(cell, 0), last) for cell in (self.knob, self.live))
        return (
            self._track(LIVE, 0, min(live, knob)),
            self._track(PENDING, live, knob),
            self.mark if self.width > 0 else "",
            self._track(PENDING, knob + 1, live + 1),
            self._track(REST, max(live, knob) + 1, self.width),
        )

    def _track(self, character: str, start: int, end: int) -> str:
        """Return the cells from ``start`` to before ``end``."""
        far = self.width if self.reach is None else max(self.reach, self.knob, self.live)
        marked = MARKED[character]
        return "".join(
            " " if cell > far else marked if cell in self.stops else character for cell in range(start, end)
        )

    def content(self, live: Style, pending: Style, knob: Style | str, rest: Style | str) -> Content:
        """Return the line in the style of each of its parts."""
        styles = (live, pending, knob, pending, rest)
        return Content.assemble(*(part for part in zip(self.parts, styles, strict=True) if part[0]))

    def __str__(self) -> str:
        return "".join(self.parts)
