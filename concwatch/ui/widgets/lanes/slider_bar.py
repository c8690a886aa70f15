"""The line of cells that draws a slider."""

from collections.abc import Mapping
from functools import lru_cache

from msgspec import Struct
from textual.content import Content
from textual.style import Style

LIVE, PENDING, REST = "━", "╍", "─"
MARKED: Mapping[str, str] = {LIVE: "┯", REST: "┬", PENDING: PENDING}
KNOB, FINISHED = "●", "○"


class SliderBar(Struct, frozen=True):
    """A track, filled up to the number of live tasks, with a knob at the target.

    The cells between the two are drawn as pending: tasks yet to be started or stopped.
    """

    width: int
    """Length of the track in cells."""
    knob: int
    """Cell of the knob (0-based)."""
    live: int
    """Cell of the number of live tasks; equal to ``knob`` when the target is reached."""
    stops: tuple[int, ...] = ()
    """Cells with a tick mark."""
    reach: int | None = None
    """The last cell that the knob can reach, where the track ends; None for the whole width."""
    mark: str = KNOB
    """The character of the knob."""

    @property
    def parts(self) -> tuple[str, str, str, str, str]:
        """The parts from left to right: live, pending, knob, pending, rest; together ``width`` cells."""
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
        far = self.width if self.reach is None else max(self.reach, self.knob, self.live)
        marked = MARKED[character]
        return "".join(
            " " if cell > far else marked if cell in self.stops else character for cell in range(start, end)
        )

    def __str__(self) -> str:
        return "".join(self.parts)


@lru_cache(maxsize=256)
def draw_bar(bar: SliderBar, live: Style, pending: Style, knob: Style | str, rest: str) -> Content:
    """Return the line, with a style for each part; the same object while it looks the same."""
    styles = (live, pending, knob, pending, rest)
    return Content.assemble(*(part for part in zip(bar.parts, styles, strict=True) if part[0]))
