"""The picture of a slider: one line of cells."""

from typing import ClassVar

from msgspec import Struct
from textual.content import Content
from textual.style import Style


class SliderStyles(Struct, frozen=True):
    """How each part of a slider looks."""

    live: Style
    pending: Style
    knob: Style | str
    rest: Style | str


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

    width: int
    knob: int
    live: int

    @property
    def parts(self) -> tuple[str, str, str, str, str]:
        """The line from left to right: live, pending, knob, pending, rest; together ``width`` cells."""
        last = self.width - 1
        knob = min(max(self.knob, 0), last)
        live = min(max(self.live, 0), last)
        return (
            self.LIVE * min(live, knob),
            self.PENDING * (knob - live),
            self.KNOB if self.width > 0 else "",
            self.PENDING * (live - knob),
            self.REST * (last - max(live, knob)),
        )

    def content(self, styles: SliderStyles) -> Content:
        """Return the line in colours."""
        order = (styles.live, styles.pending, styles.knob, styles.pending, styles.rest)
        return Content.assemble(
            *((text, style) for text, style in zip(self.parts, order, strict=True) if text)
        )

    def __str__(self) -> str:
        return "".join(self.parts)
