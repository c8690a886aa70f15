"""The cost table: what a task costs, one line for each lane."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from textual.content import Content

from concwatch.lab.snapshot import LaneSnapshot, Snapshot
from concwatch.measure.figures import BY_NAME, DOUBTS, KEPT, TRACED
from concwatch.measure.limited import limited_by
from concwatch.ui.widgets.table import GAP, Column, Table, columns_for, headings
from concwatch.ui.widgets.text_lines import Cell
from concwatch.units import UNKNOWN, format_clock, format_count, format_short

FITS = BY_NAME["fits"]

FITS_WIDTH, FIT_WIDTH = 25, 8
"""The width in cells of the last column, and of its number, before the wall."""

LINGER = 3.0
"""Seconds for which a limit is shown after it has ended."""

NAME_WIDTH = 10
"""The minimum width in cells of the engines' names."""


def _column(name: str, cells: int, leaves: int = 0, optional: bool = False) -> Column[LaneSnapshot]:
    """Return the column of a figure; see `Column` for the other arguments."""
    figure, marks = BY_NAME[name], len(BY_NAME[name].doubts)

    def text(lane: LaneSnapshot) -> str:
        return f"{figure.text(lane)}{figure.marks(lane):{marks}}"

    about = (figure.title, figure.meaning)
    return Column(figure.title, cells, text, figure.of, leaves, optional, marks, about)


def _fit(lane: LaneSnapshot) -> str:
    fit = lane.fit
    if not fit.wall:  # its host has not answered yet
        return f"{UNKNOWN:>{FIT_WIDTH}}".ljust(FITS_WIDTH)
    tasks = format_count(fit.tasks) if fit.tasks < 100_000 else format_short(fit.tasks)
    return f"{tasks:>{FIT_WIDTH}} {fit.wall:{FITS_WIDTH - FIT_WIDTH - 1}}"


COLUMNS = (
    _column("live", 9, 1),
    _column("failed", 9, 0, True),
    _column("rss_per_task", 12),
    _column("traced_per_task", 8, 6, True),
    _column("ratio", 7, 2),
    _column("create_rate", 8, 3),
    _column("completed_mean", 8, 4),
    _column("cpu_per_task", 7, 5),
    _column("duration_p99", 7, 7, True),
    _column("lag", 7, 8),
    _column("gc_share", 6, 9),
    _column("cpu", 6, 10),
    Column("fits, limited by", FITS_WIDTH, _fit, FITS.of, about=(FITS.title, FITS.meaning), left=True),
)
"""The columns after the engine's name."""


def _change(now: float | None, before: float | None) -> str:
    """Return the growth from ``before`` to ``now``: in percent, as a factor, or ``=``."""
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


class CostTable(Table):
    """Shows what a task of each lane costs."""

    BORDER_TITLE = "what a task costs"

    ADVICE: ClassVar[Mapping[str, str]] = {
        TRACED.mark: "t turns tracing off",
        KEPT.mark: "switch off and on to reset",
    }
    """Mark → advice."""

    sorted_by = ""
    """The title of the column that the lanes are sorted by; empty for the order of the lanes."""
    _shown: tuple[Snapshot, list[str], bool, Snapshot | None] | None = None
    """The arguments of `show`."""
    _most = 0
    """The maximum number of lanes to show."""
    _limits: Mapping[str, tuple[str, float]] = {}
    """Lane → its limit, and the time of the last snapshot that had it, in seconds."""

    def show(
        self,
        view: Snapshot,
        colors: list[str],
        narrow: bool,
        tall: bool,
        baseline: Snapshot | None = None,
        most: int = 1_000,
    ) -> None:
        """Show the lanes of a snapshot.

        Args:
            view: the snapshot.
            colors: the colour of each lane, ``#rrggbb``.
            narrow: whether the table has no border, and so no place for a legend.
            tall: whether to show the limit of a lane on a line of its own.
            baseline: an earlier snapshot; the changes since then are shown below each lane.
            most: the maximum number of lanes to show.
        """
        if baseline is not None and len(baseline.lanes) != len(view.lanes):
            baseline = None  # lanes of several hosts have been folded or unfolded
        self._most = most
        self._shown = (view, colors, narrow, baseline)
        self._limits = dict(self._limits_of(view)) if tall else {}
        self.update_lines()
        self.set_subtitle(self._legend(baseline, self.outer_size.width - len("╭─  ─╮")))

    def cell_rows(self, width: int) -> Sequence[Sequence[Cell]]:
        """Return the header, and one to three lines for each lane, with the columns that fit."""
        if self._shown is None:
            return ()
        view, colors, narrow, baseline = self._shown
        room = self._names(view)
        columns = columns_for(COLUMNS, width - room, view.lanes)
        since = f"Δ {format_clock(baseline.elapsed)}" if narrow and baseline else "engine"  # no legend there
        lines = [[Cell(room, Content.styled(since, "bold $dim")), *headings(columns, self.sorted_by)]]

        def add(text: str, style: str) -> None:
            lines.append([Cell(width, Content.styled(text, style))])

        before = baseline.lanes if baseline else [None] * len(view.lanes)
        rows = [*zip(view.lanes, colors, before, strict=True)]
        for column in columns:
            if column.title == self.sorted_by:
                rows.sort(key=lambda row: -(column.value(row[0]) or 0.0))
        for lane, color, old in rows[: self._most]:
            known = lane.on or lane.sample.rss_per_task is not None
            cells = "".join(f"{column.text(lane):>{column.width}}" for column in columns)
            name = Cell(room, Content.styled(lane.name, f"bold {color}" if known else "$dim"))
            lines.append([name, Cell(width - room, Content.styled(cells, "" if lane.on else "$dim"))])
            if lane.name in self._limits:
                add(f"{'  ↳':{room}}{self._limits[lane.name][0]}"[:width], "$warning")
            if old is not None and (old.on or lane.on):
                add(self._changes(columns, lane, old, room), "$accent")
        if len(rows) > self._most:
            add(f"and {len(rows) - self._most} more: < > sort by another column", "$dim")
        return lines

    def sort(self, by: int) -> None:
        """Sort by the next column (``by`` 1) or the previous one (-1)."""
        view = self._shown[0] if self._shown else None
        room = self.outer_size.width - self.gutter.width
        shown = columns_for(COLUMNS, room - self._names(view), view.lanes) if view else []
        titles = ["", *(column.title for column in shown)]
        at = titles.index(self.sorted_by) if self.sorted_by in titles else 0
        self.sorted_by = titles[(at + by) % len(titles)]

    def _limits_of(self, view: Snapshot) -> Iterator[tuple[str, tuple[str, float]]]:
        """Yield the limit of each lane, for at least `LINGER` seconds so that it can be read."""
        for lane in view.lanes:
            if limit := limited_by(lane, view):
                yield lane.name, (limit, view.time)
            elif lane.on and 0 <= view.time - self._limits.get(lane.name, ("", -math.inf))[1] < LINGER:
                yield lane.name, self._limits[lane.name]

    @staticmethod
    def _names(view: Snapshot) -> int:
        return max([NAME_WIDTH, *(len(lane.name) + 1 for lane in view.lanes)])

    @staticmethod
    def _changes(
        columns: Sequence[Column[LaneSnapshot]], lane: LaneSnapshot, old: LaneSnapshot, room: int
    ) -> str:
        text = f"{'  Δ':{room}}"
        for column in columns:
            unknown = column.text(lane).strip() == UNKNOWN  # a figure that is not shown has no change
            change = "" if unknown else _change(column.value(lane), column.value(old))
            text += f"{change + ' ' * column.marks:>{GAP + FIT_WIDTH if column.left else column.width}}"
        return text

    def _legend(self, baseline: Snapshot | None, width: int) -> str:
        """Return the meaning of the marks in the table, or a short form if that is too long."""
        marks = {letter for line in self._drawn for letter in line.plain}
        notes: list[tuple[str, str]] = []
        if baseline:
            notes.append((f"Δ since the baseline at {format_clock(baseline.elapsed)}",) * 2)
        for doubt in DOUBTS:
            if doubt.mark in marks:
                advice = f": {self.ADVICE[doubt.mark]}" if doubt.mark in self.ADVICE else ""
                notes.append((f"{doubt.mark} {doubt.note}{advice}", f"{doubt.mark} {doubt.brief}"))
        whole, brief = (" · ".join(note[length] for note in notes) for length in (0, 1))
        return whole if len(whole) <= width else brief


class RecordedCosts(CostTable):
    """The cost table of a recording, which gives no advice on how to improve its figures."""

    ADVICE: ClassVar[Mapping[str, str]] = {}
