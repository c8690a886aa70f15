"""What a task costs, a line a lane: the answer."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from msgspec import Struct
from textual.content import Content

from concwatch.lab.view import LabView, LaneView
from concwatch.ui.widgets.phrase import Rows
from concwatch.units import (
    format_bytes,
    format_clock,
    format_count,
    format_percent,
    format_seconds,
    format_short,
)

UNKNOWN = "–"
TRACED_MARK = "ᵗ"
KEPT_MARK = "≈"

FIT_WIDTH = 8
"""Cells of the number that fits, before the wall."""


class Column(Struct, frozen=True):
    """One column: how wide it is, what it says of a lane, and the number behind that."""

    heading: str
    width: int
    """Cells."""
    text: Callable[[LaneView], str]
    value: Callable[[LaneView], float | None]
    """What a baseline is compared with; None or NaN where it is not known."""
    leaves: int = 0
    """Where not all columns have room, those with the highest give way first; 0 stays."""


def _rss(lane: LaneView) -> str:
    if lane.cost is None:
        return UNKNOWN + "  "
    marks = TRACED_MARK * lane.cost.tracing + KEPT_MARK * (not lane.cost.clean)
    return f"{format_bytes(lane.cost.rss)}{marks:>2}"


def _traced(lane: LaneView) -> str:
    return format_bytes(lane.cost.traced) if lane.cost and lane.cost.traced is not None else UNKNOWN


def _number(value: float | None, form: Callable[[float], str]) -> str:
    return UNKNOWN if value is None or not math.isfinite(value) else form(value)


def _change(now: float | None, before: float | None) -> str:
    """Give the growth from ``before`` to ``now`` in percent, or what there is to say in its place."""
    if now is None or before is None or not math.isfinite(now) or not math.isfinite(before):
        return ""
    if not before:
        return "=" if not now else UNKNOWN
    ratio = now / before
    percent = (ratio - 1) * 100
    if abs(percent) < 0.05:
        return "="
    if ratio >= 2:
        return f"{ratio:.1f} ×" if ratio < 100 else f"{ratio:,.0f} ×" if ratio < 10_000 else "> 10k ×"
    return f"{percent:+.{1 if abs(percent) < 10 else 0}f} %".replace("-", "−")


def _fit(lane: LaneView) -> str:
    tasks = format_count(lane.fit.tasks) if lane.fit.tasks < 100_000 else format_short(lane.fit.tasks)
    return f"{tasks:>{FIT_WIDTH}} {lane.fit.wall:16}"


COLUMNS = (
    Column(
        "live",
        10,
        lambda lane: format_count(lane.live) if lane.on else UNKNOWN,
        lambda lane: float(lane.live),
        leaves=1,
    ),
    Column("RSS/task  ", 12, _rss, lambda lane: lane.cost.rss if lane.cost else None),
    Column("traced/task", 12, _traced, lambda lane: lane.cost.traced if lane.cost else None, leaves=2),
    Column(
        "× least",
        9,
        lambda lane: _number(lane.ratio, lambda ratio: f"{ratio:.1f} ×"),
        lambda lane: lane.ratio,
        leaves=4,
    ),
    Column(
        "created/s",
        11,
        lambda lane: _number(lane.create_speed if lane.on else None, format_short),
        lambda lane: lane.create_speed,
        leaves=5,
    ),
    Column(
        "done/s",
        8,
        lambda lane: _number(lane.completion_rate if lane.on else None, format_short),
        lambda lane: lane.completion_rate,
        leaves=3,
    ),
    Column(
        "lag",
        9,
        lambda lane: _number(lane.lag if lane.on else None, format_seconds),
        lambda lane: lane.lag,
        leaves=6,
    ),
    Column(
        "in GC",
        7,
        lambda lane: _number(lane.gc_share if lane.on else None, format_percent),
        lambda lane: lane.gc_share,
        leaves=7,
    ),
    Column("fits, then the wall      ", 26, _fit, lambda lane: float(lane.fit.tasks)),
)
"""The columns behind the engine's name."""

NAME_WIDTH = 10
"""Cells of an engine's name, or more if one is longer."""


def columns_for(room: int) -> list[Column]:
    """Give the columns that ``room`` cells behind an engine's name can hold."""
    columns = list(COLUMNS)
    while sum(column.width for column in columns) > room:
        first = max(columns, key=lambda column: column.leaves)
        if not first.leaves:
            break
        columns.remove(first)
    return columns


class Shown(NamedTuple):
    """What the table is about at one moment, as `CostTable.show` is given it."""

    view: LabView
    colors: list[str]
    narrow: bool
    baseline: LabView | None


class CostTable(Rows):
    """Shows every lane's cost; its height follows the number of lanes."""

    DEFAULT_CSS = """
    CostTable {
        height: auto;
        border: round $foreground 25%;
        border-title-color: $foreground;
        border-subtitle-color: $foreground 55%;
        padding: 0 1;
    }
    """

    BORDER_TITLE = "what a task costs"

    TRACED_NOTE = (
        "ᵗ taken while traced, about twice the RSS: t turns tracing off",
        "ᵗ traced: twice the RSS",
    )
    KEPT_NOTE = (
        "≈ counts memory kept from earlier tasks: off and on for a clean figure",
        "≈ memory kept from earlier",
    )
    """What the marks behind a figure mean: at length, and where there is no room for that."""

    _shown: Shown | None = None
    _noted = ""

    def show(self, view: LabView, colors: list[str], narrow: bool, baseline: LabView | None = None) -> None:
        """Show all lanes as they are now.

        Args:
            view: the lab at one moment.
            colors: ``#rrggbb``, one a lane.
            narrow: whether there is no frame, in which a legend would stand.
            baseline: an earlier moment of the same lanes; below each lane then stands what has changed.
        """
        self._shown = Shown(view, colors, narrow, baseline)
        self.follow()
        legend = self._legend(view, baseline, self.outer_size.width - len("╭─  ─╮"))
        if legend != self._noted:  # to set it draws everything again
            self._noted = self.border_subtitle = legend

    def rows(self, width: int) -> Sequence[Content]:
        """Give the heading and a line or two a lane, with the columns that have room."""
        if self._shown is None:
            return ()
        view, colors, narrow, baseline = self._shown
        room = max([NAME_WIDTH, *(len(lane.name) + 1 for lane in view.lanes)])
        columns = columns_for(width - room)
        since = f"Δ {format_clock(baseline.elapsed)}" if narrow and baseline else "engine"  # no legend there
        heading = f"{since:{room}}" + "".join(f"{column.heading:>{column.width}}" for column in columns)
        lines = [Content.styled(heading, "bold $foreground 70%")]
        before = baseline.lanes if baseline else [None] * len(view.lanes)
        for lane, color, old in zip(view.lanes, colors, before, strict=True):
            name = f"bold {color}" if lane.on or lane.cost else "$foreground 45%"
            cells = "".join(f"{column.text(lane):>{column.width}}" for column in columns)
            lines.append(
                Content.assemble((f"{lane.name:{room}}", name), (cells, "" if lane.on else "$foreground 55%"))
            )
            if old is not None and (old.on or lane.on):
                lines.append(Content.styled(self._changes(columns, lane, old, room), "$accent"))
        return lines

    @staticmethod
    def _changes(columns: list[Column], lane: LaneView, old: LaneView, room: int) -> str:
        """Say how each figure has changed, below it."""
        *cells, fit = [
            # Where no figure is shown, none has changed.
            "" if column.text(lane).strip() == UNKNOWN else _change(column.value(lane), column.value(old))
            for column in columns
        ]
        # Below the figures: a heading that ends in blanks leaves them to marks behind its figures.
        places = zip(cells, columns, strict=False)
        text = "".join(
            f"{cell + ' ' * (len(column.heading) - len(column.heading.rstrip())):>{column.width}}"
            for cell, column in places
        )
        return f"{'  Δ':{room}}{text}{fit:>{FIT_WIDTH + 1}}"

    def _legend(self, view: LabView, baseline: LabView | None, width: int) -> str:
        costs = [lane.cost for lane in view.lanes if lane.cost]
        notes: list[tuple[str, str]] = []
        if baseline:
            notes.append((f"Δ since the baseline at {format_clock(baseline.elapsed)}",) * 2)
        if any(cost.tracing for cost in costs):
            notes.append(self.TRACED_NOTE)
        if any(not cost.clean for cost in costs):
            notes.append(self.KEPT_NOTE)
        whole, brief = (" · ".join(note[length] for note in notes) for length in (0, 1))
        return whole if len(whole) <= width else brief
