"""The picture of a slider: one line of cells."""

from dataclasses import dataclass, field
from typing import NamedTuple

from rich.console import Console, ConsoleOptions, RenderResult
from rich.segment import Segment
from rich.style import Style


class SliderStyles(NamedTuple):
    """How each part of a slider looks."""

    live: Style = Style.null()
    pending: Style = Style.null()
    knob: Style = Style.null()
    rest: Style = Style.null()


@dataclass(frozen=True)
class SliderBar:
    """A track, filled up to what is live, with a knob at what is asked for.

    Between the two marks lies what is still to come, or, when the knob is the left one, what is still to go.

    Args:
        width: Cells of the whole track.
        knob: The knob's cell, from 0.
        live: The cell up to which tasks are live, from 0; equal to ``knob`` when all are that were asked for.
        styles: How each part looks; no part of the comparison of two bars.
    """

    LIVE = "━"
    PENDING = "╍"
    KNOB = "●"
    REST = "─"

    width: int
    knob: int
    live: int
    styles: SliderStyles = field(default=SliderStyles(), compare=False)

    @property
    def parts(self) -> list[tuple[str, Style]]:
        """The pieces of the line from left to right, each with its style; together ``width`` cells."""
        styles = self.styles
        last = self.width - 1
        knob = min(max(self.knob, 0), last)
        live = min(max(self.live, 0), last)
        return [
            (self.LIVE * min(live, knob), styles.live),
            (self.PENDING * (knob - live), styles.pending),
            (self.KNOB if self.width > 0 else "", styles.knob),
            (self.PENDING * (live - knob), styles.pending),
            (self.REST * (last - max(live, knob)), styles.rest),
        ]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for text, style in self.parts:
            if text:
                yield Segment(text, style)

    def __str__(self) -> str:
        return "".join(text for text, _ in self.parts)
