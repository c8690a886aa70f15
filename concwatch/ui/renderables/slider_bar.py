"""The picture of a slider: one line of cells."""

from typing import TYPE_CHECKING, ClassVar

from msgspec import Struct
from textual.content import Content
from textual.style import Style

if TYPE_CHECKING:
    from concwatch.ui.widgets.slider import Slider


class SliderBar(Struct, frozen=True):
    """A track, filled up to what is live, with a knob at what is asked for.

    Between the two marks lies what is still to come, or, when the knob is the left one, what is still to go.

    Args:
        width: Cells of the whole track.
        knob: The knob's cell, from 0.
        live: The cell up to which tasks are live, from 0; equal to ``knob`` when all are that were asked for.
    """

    LIVE: ClassVar[str] = "━"
    PENDING: ClassVar[str] = "╍"
    KNOB: ClassVar[str] = "●"
    REST: ClassVar[str] = "─"
    SPENT: ClassVar[str] = "○"
    MARKED: ClassVar[dict[str, str]] = {"━": "┯", "─": "┬", "╍": "╍"}

    width: int
    knob: int
    live: int
    stops: tuple[int, ...] = ()
    """Cells that are marked."""
    reach: int | None = None
    """The last cell that the knob gets to; behind it there is no track."""
    spent: bool = False
    """Whether all that were asked for have ended, and no other takes their place."""

    @property
    def parts(self) -> tuple[str, str, str, str, str]:
        """The line from left to right: live, pending, knob, pending, rest; together ``width`` cells."""
        last = self.width - 1
        knob = min(max(self.knob, 0), last)
        live = min(max(self.live, 0), last)
        return (
            self._track(self.LIVE, 0, min(live, knob)),
            self._track(self.PENDING, live, knob),
            (self.SPENT if self.spent else self.KNOB) if self.width > 0 else "",
            self._track(self.PENDING, knob + 1, live + 1),
            self._track(self.REST, max(live, knob) + 1, last + 1),
        )

    def _track(self, character: str, start: int, end: int) -> str:
        """Return the cells from ``start`` to before ``end``."""
        far = self.width if self.reach is None else max(self.reach, self.knob, self.live)
        marked = self.MARKED[character]
        return "".join(
            " " if cell > far else marked if cell in self.stops else character for cell in range(start, end)
        )

    def content(self, live: Style, pending: Style, knob: Style | str, rest: Style | str) -> Content:
        """Return the line in the style of each of its parts."""
        styles = (live, pending, knob, pending, rest)
        return Content.assemble(*(part for part in zip(self.parts, styles, strict=True) if part[0]))

    def __str__(self) -> str:
        return "".join(self.parts)


def bar(kind: type[SliderBar], slider: "Slider", width: int) -> SliderBar:
    """Return what ``slider`` shows as a bar of ``width`` cells."""
    scale = slider.scale
    return kind(
        width,
        scale.cell(slider.shown, width),
        scale.cell(slider.live, width),
        tuple(scale.cell(stop, width) for stop in scale.decades),
        scale.cell(scale.most, width),
        slider.spent and slider.held is None,
    )
