"""What a task costs, a line a lane: the answer."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from msgspec import Struct
from textual.content import Content

from concwatch.lab.snapshot import LaneSnapshot, Snapshot
from concwatch.measure.figures import BY_NAME, DOUBTS, KEPT, TRACED, Figure
from concwatch.measure.limited import limited_by
from concwatch.ui.widgets.text_lines import TextLines
from concwatch.units import UNKNOWN, format_clock, format_count, format_short

GAP = 2
"""Cells before a column."""

FIT_WIDTH = 8
"""Cells of the number that fits, before the wall."""


Row = tuple[LaneSnapshot, str, LaneSnapshot | None]
"""A lane, its colour, and the same lane at the baseline."""


class Column(Struct, frozen=True):
    """One column: the figure that it shows, and when it is there."""

    figure: Figure
    cells: int
    """Cells of its longest value."""
    leaves: int = 0
    """Where not all columns have room, those with the highest give way first; 0 stays."""
    optional: bool = False
    """Whether it is there only while a lane has something to show in it."""

    @property
    def heading(self) -> str:
        """What stands above it, and above the marks behind its figures."""
        return self.figure.title + " " * len(self.figure.doubts)

    @property
    def width(self) -> int:
        """Cells that it takes, with the gap before it."""
        return GAP + max(len(self.figure.title), self.cells) + len(self.figure.doubts)

    def text(self, lane: LaneSnapshot) -> str:
        """Return what it says of a lane."""
        return f"{self.figure.text(lane)}{self.figure.marks(lane):{len(self.figure.doubts)}}"


class FitColumn(Column, frozen=True):
    """How many tasks fit, and what comes first then."""

    @property
    def heading(self) -> str:
        """What stands above it."""
        return f"{'fits, limited by':{self.cells}}"

    def text(self, lane: LaneSnapshot) -> str:
        """Return what it says of a lane."""
        fit = lane.fit
        tasks = format_count(fit.tasks) if fit.tasks < 100_000 else format_short(fit.tasks)
        return f"{tasks:>{FIT_WIDTH}} {fit.wall:{self.cells - FIT_WIDTH - 1}}"


COLUMNS = (
    Column(BY_NAME["live"], 9, 1),
    Column(BY_NAME["failed"], 9, 0, True),
    Column(BY_NAME["rss_per_task"], 12),
    Column(BY_NAME["traced_per_task"], 8, 6, True),
    Column(BY_NAME["ratio"], 7, 2),
    Column(BY_NAME["create_rate"], 8, 3),
    Column(BY_NAME["completed_mean"], 8, 4),
    Column(BY_NAME["cpu_per_task"], 7, 5),
    Column(BY_NAME["duration_p99"], 7, 7, True),
    Column(BY_NAME["lag"], 7, 8),
    Column(BY_NAME["gc_share"], 6, 9),
    Column(BY_NAME["cpu"], 6, 10),
    FitColumn(BY_NAME["fits"], 25),
)
"""The columns behind the engine's name."""


def _change(now: float | None, before: float | None) -> str:
    """Return the growth from ``before`` to ``now`` in percent, or what there is to say in its place."""
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


LINGER = 3.0
"""Seconds for which it is still told what limited a lane."""

NAME_WIDTH = 10
"""Cells of an engine's name, or more if one is longer."""


def columns_for(room: int, lanes: Sequence[LaneSnapshot] = ()) -> list[Column]:
    """Return the columns for ``lanes`` that ``room`` cells behind an engine's name can hold."""
    columns = [
        column for column in COLUMNS if not column.optional or any(column.figure.of(lane) for lane in lanes)
    ]
    while sum(column.width for column in columns) > room:
        first = max(columns, key=lambda column: column.leaves)
        if not first.leaves:
            break
        columns.remove(first)
    return columns


class CostTable(TextLines):
    """Shows every lane's cost; its height follows the number of lanes."""

    DEFAULT_CSS = """
    CostTable {
        height: auto;
        border: round $foreground 25%;
        border-title-color: $foreground;
        border-subtitle-color: $dim;
        padding: 0 1;
    }
    """

    BORDER_TITLE = "what a task costs"

    ADVICE: ClassVar[Mapping[str, str]] = {
        TRACED.mark: "t turns tracing off",
        KEPT.mark: "off and on starts anew",
    }
    """Mark → what to do about it."""

    _shown: tuple[Snapshot, list[str], bool, Snapshot | None] | None = None
    """What `show` was given."""
    _noted = ""
    _most = 0
    """Lanes that are shown; of more those that come first."""
    _sorted = 0
    """Which column it is sorted by, from 1; 0 for none."""
    _limits: Mapping[str, tuple[str, float]] = {}
    """Lane → what limits it, and when that was last so (seconds, of the snapshot)."""

    def show(
        self,
        view: Snapshot,
        colors: list[str],
        narrow: bool,
        tall: bool,
        baseline: Snapshot | None = None,
        most: int = 1_000,
    ) -> None:
        """Show all lanes as they are now.

        Args:
            view: the lab at one moment.
            colors: ``#rrggbb``, one a lane.
            narrow: whether there is no frame, in which a legend would stand.
            tall: whether there is room for a line that says what limits a lane.
            baseline: an earlier moment of the same lanes; below each lane then stands what has changed.
            most: lanes that there is room for.
        """
        if baseline is not None and len(baseline.lanes) != len(view.lanes):
            baseline = None  # lanes have been folded since
        self._most = most
        self._shown = (view, colors, narrow, baseline)
        self._limits = dict(self._limits_of(view)) if tall else {}
        self.follow()
        legend = self._legend(view, baseline, self.outer_size.width - len("╭─  ─╮"))
        if legend != self._noted:  # to set it draws everything again
            self._noted = self.border_subtitle = legend

    def rows(self, width: int) -> Sequence[Content]:
        """Return the heading and a line or two a lane, with the columns that have room."""
        if self._shown is None:
            return ()
        view, colors, narrow, baseline = self._shown
        room = self._names(view)
        columns = columns_for(width - room, view.lanes)
        since = f"Δ {format_clock(baseline.elapsed)}" if narrow and baseline else "engine"  # no legend there
        heads = [
            Content.styled(
                f"{column.heading:>{column.width}}",
                "bold $foreground" if number == self._sorted else "bold $dim",
            )
            for number, column in enumerate(columns, 1)
        ]
        lines = [Content.assemble((f"{since:{room}}", "bold $dim"), *heads)]
        before = baseline.lanes if baseline else [None] * len(view.lanes)
        shown = self._in_order([*zip(view.lanes, colors, before, strict=True)], columns)
        for lane, color, old in shown[: self._most]:
            known = lane.on or lane.sample.rss_per_task is not None
            name = f"bold {color}" if known else "$dim"
            cells = "".join(f"{column.text(lane):>{column.width}}" for column in columns)
            lines.append(Content.assemble((f"{lane.name:{room}}", name), (cells, "" if lane.on else "$dim")))
            if lane.name in self._limits:
                lines.append(
                    Content.styled(f"{'  ↳':{room}}{self._limits[lane.name][0]}"[:width], "$warning")
                )
            if old is not None and (old.on or lane.on):
                lines.append(Content.styled(self._changes(columns, lane, old, room), "$accent"))
        hidden = len(shown) - self._most
        if hidden > 0:
            lines.append(Content.styled(f"and {hidden} more: < > sort by another column", "$dim"))
        return lines

    def sort(self, by: int) -> None:
        """Sort by the next column, or by the one before."""
        width = self.outer_size.width - self.gutter.width
        view = self._shown[0] if self._shown else None
        columns = columns_for(width - self._names(view), view.lanes) if view else ()
        self._sorted = (self._sorted + by) % (len(columns) + 1)

    def _in_order(self, lanes: list[Row], columns: Sequence[Column]) -> list[Row]:
        """Return the lanes by the chosen column, the highest first, or as they stand."""
        if not 0 < self._sorted <= len(columns):
            return lanes
        figure = columns[self._sorted - 1].figure
        return sorted(lanes, key=lambda row: -(figure.of(row[0]) or 0.0))

    def _limits_of(self, view: Snapshot) -> Iterator[tuple[str, tuple[str, float]]]:
        """Yield what limits each lane, or did a moment ago: a line that comes and goes cannot be read."""
        for lane in view.lanes:
            if limit := limited_by(lane, view):
                yield lane.name, (limit, view.time)
            elif lane.on and 0 <= view.time - self._limits.get(lane.name, ("", -math.inf))[1] < LINGER:
                yield lane.name, self._limits[lane.name]

    @staticmethod
    def _names(view: Snapshot) -> int:
        """Return the cells of the engines' names."""
        return max([NAME_WIDTH, *(len(lane.name) + 1 for lane in view.lanes)])

    @staticmethod
    def _changes(columns: list[Column], lane: LaneSnapshot, old: LaneSnapshot, room: int) -> str:
        """Return the line that says below each figure how it has changed."""
        *cells, fit = [
            # Where no figure is shown, none has changed.
            ""
            if column.text(lane).strip() == UNKNOWN
            else _change(column.figure.of(lane), column.figure.of(old))
            for column in columns
        ]
        places = zip(cells, columns, strict=False)
        text = "".join(f"{cell + ' ' * len(column.figure.doubts):>{column.width}}" for cell, column in places)
        return f"{'  Δ':{room}}{text}{fit:>{GAP + FIT_WIDTH}}"

    def _legend(self, view: Snapshot, baseline: Snapshot | None, width: int) -> str:
        """Return what the marks mean: at length, or in a few words where there is no room for that."""
        columns = columns_for(width - self._names(view), view.lanes)
        marks = {mark for lane in view.lanes for column in columns for mark in column.figure.marks(lane)}
        notes: list[tuple[str, str]] = []
        if baseline:
            notes.append((f"Δ since the baseline at {format_clock(baseline.elapsed)}",) * 2)
        for doubt in DOUBTS:
            if doubt.mark in marks:
                advice = f": {self.ADVICE[doubt.mark]}" if doubt.mark in self.ADVICE else ""
                notes.append((f"{doubt.mark} {doubt.note}{advice}", f"{doubt.mark} {doubt.brief}"))
        whole, brief = (" · ".join(note[length] for note in notes) for length in (0, 1))
        return whole if len(whole) <= width else brief


class PastCosts(CostTable):
    """Shows what a task cost in a recording, where no advice on the figures helps any more."""

    ADVICE: ClassVar[Mapping[str, str]] = {}
