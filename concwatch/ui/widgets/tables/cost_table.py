"""The cost table: what a task costs, one line for each lane."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

from textual.content import Content
from textual.events import MouseMove

from concwatch.measure.answer import Answer, format_fitting
from concwatch.measure.limited import limited_by
from concwatch.monitor.metrics.metric import Caveat, CostColumn, Metric, marks_of
from concwatch.monitor.metrics.metrics import (
    BY_NAME,
    METRICS,
    TRACED,
    LaneSnapshot,
    cost_metric,
    explained,
    known_cost,
    mark_notes,
)
from concwatch.monitor.metrics.settings import Settings
from concwatch.monitor.metrics.snapshot import Snapshot
from concwatch.portable.protocol.units import UNKNOWN, format_clock, format_count
from concwatch.ui.look.layout import FRAME, Below
from concwatch.ui.widgets.text.table import Column, Table, columns_for, headings
from concwatch.ui.widgets.text.text_lines import Cell, assemble, call

FITS = BY_NAME["fits"]

FITS_WIDTH, FIT_WIDTH = 25, 6
"""The width in cells of the last column, and of its number, before the limit."""

LINGER = 3.0
"""Seconds for which a limit is shown after it has ended."""

UNKNOWN_ANSWER = "what a task costs"
"""Shown until the cost of a task is known."""

TRACED_NOTE = "traced: slower (t)"
"""What is said of lanes that are traced."""

EXPLAIN = "i explains"
"""Where marks are explained."""

NAME_WIDTH = 10
"""The minimum width in cells of the engines' names."""


def _marked(metric: Metric, lane: LaneSnapshot) -> Iterator[Caveat]:
    """Yield the caveats of a figure that have marks: that its lane is traced is said once, for the table."""
    return (caveat for caveat in metric.uncertain(lane) if caveat != TRACED)


def _column(metric: Metric, column: CostColumn) -> Column[LaneSnapshot]:
    """Return the column of a metric."""
    marks = len(marks_of(metric.caveats)) if column.marked else 0

    def text(lane: LaneSnapshot) -> str:
        whole = metric.text(lane) if column.marked else metric.text(lane).partition(" ±")[0]
        return f"{whole}{marks_of(_marked(metric, lane)) if marks else '':{marks}}"

    about = (metric.title, metric.meaning)
    return Column(
        column.title or metric.title, column.cells, text, metric.value, column.leaves, False, marks, about
    )


def _fit(lane: LaneSnapshot) -> str:
    fit = lane.fit
    if not fit.limit:  # its host has not answered yet
        return f"{UNKNOWN:>{FIT_WIDTH}}".ljust(FITS_WIDTH)
    tasks = format_fitting(fit.tasks)
    return f"{tasks:>{FIT_WIDTH}}{FITS.marks(lane):1} {fit.limit:{FITS_WIDTH - FIT_WIDTH - 2}}"


COST, RATIO, FITS_TITLE = BY_NAME["memory_per_task"], BY_NAME["ratio"], "fits, limited by"

_PLACED = sorted(((row, row.column) for row in METRICS if row.column), key=lambda placed: placed[1].position)
_LAST = Column(FITS_TITLE, FITS_WIDTH, _fit, FITS.value, about=(FITS.title, FITS.meaning), left=True)

COLUMNS = (*(_column(row, column) for row, column in _PLACED), _LAST)
"""The columns after the engine's name."""

_COLUMN_OF = {row.name: column for row, column in _PLACED}
_RSS = BY_NAME["rss_per_task"]

METRIC_OF = {
    FITS_TITLE: FITS,
    **{column.title or row.title: row for row, column in _PLACED if column.marked},
}
"""The metric of each column that has marks, by its title."""

WITHOUT_KERNEL = (
    *(
        _column(row, _COLUMN_OF[COST.name] if row is _RSS else column)
        for row, column in _PLACED
        if row.name not in (COST.name, "kernel_per_task")
    ),
    _LAST,
)
"""The same where kernel memory is unknown, as in old recordings and on systems other than Linux."""

KEPT_TITLES = (BY_NAME["live"].title, COST.title, _RSS.title, FITS_TITLE)
"""The columns that show their metrics also with a baseline."""


def _metric(column: Column[LaneSnapshot], lane: LaneSnapshot, old: LaneSnapshot | None) -> tuple[str, bool]:
    """Return the text of a metric and whether it is its change since the baseline, which has no marks.

    The number of live tasks, the cost of one and how many fit are shown in any case; in place of the ratio to
    the cheapest lane stands the change of the cost.
    """
    text = column.text(lane)
    if old is None or column.title in KEPT_TITLES or not (old.on or lane.on):
        return text, False
    value = known_cost if column.title == RATIO.title else column.value
    change = "" if text.strip() == UNKNOWN else _change(value(lane), value(old))
    return change + " " * column.marks, True


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
    """Shows what a task of each lane costs, below the answer, and above what limits the lanes.

    Its rows and columns depend on the size of the terminal and on the lanes alone, so that nothing moves.
    """

    sorted_by = ""
    """The title of the column that the lanes are sorted by; empty for the order of the lanes."""
    _shown: tuple[Snapshot, list[str], int, Snapshot | None] | None = None
    """The arguments of `show`."""
    _limits: Mapping[str, tuple[str, float]] = {}
    """Lane → its limit, and the time of the last snapshot that had it, in seconds."""
    _answers: Sequence[str] = ()
    _lane_lines: Sequence[LaneSnapshot] = ()
    """The lanes that have a line, in their order."""
    _settings: Settings | None = None

    def __init__(self, sort_by: Callable[[str], object]) -> None:
        """Create the table; ``sort_by`` is called with the title of a column that is clicked."""
        super().__init__(sort_by)
        self._answer = Answer()
        self._below = Below(True, False, True, 0, True, 0)
        self._name_width = NAME_WIDTH
        self.border_title = UNKNOWN_ANSWER

    def place(self, rows: int, below: Below, name_width: int) -> None:
        """Use ``rows`` rows with the parts in ``below``, and ``name_width`` cells for the engines' names."""
        self._below, self._name_width = below, max(NAME_WIDTH, name_width)
        self.display = bool(rows)
        self.styles.height = rows
        self._show_title()
        self.update_lines()

    def on_resize(self) -> None:
        """Choose the length of the answer again."""
        self._show_title()

    def on_mouse_move(self, event: MouseMove) -> None:
        """Explain the figure below the mouse, and what makes it uncertain, in a tooltip."""
        offset = event.get_content_offset(self)
        self.tooltip = None if offset is None else self._explanation(*offset) or None

    def _explanation(self, x: int, y: int) -> str:
        """Return the explanation of the figure in a cell; empty if there is none."""
        line, x = y - self._below.answer - 1, x - self._name_width
        if not 0 <= line < len(self._lane_lines) or x < 0:
            return ""
        for column in self._fitting(self.content_size.width):
            x -= column.width
            if x < 0:
                metric = METRIC_OF.get(column.title)
                caveats = metric.uncertain(self._lane_lines[line]) if metric else ()
                return "\n".join(
                    (": ".join(column.about), *(each.explanation for each in explained(caveats)))
                )
        return ""

    @property
    def answer(self) -> str:
        """The sentence without how many tasks fit, as a title."""
        text = self._sentence(self.app.size.width).partition(" · ")[0]
        return text[:1].upper() + text[1:]

    def _show_title(self) -> None:
        """Show the answer in the frame."""
        if self._below.framed:
            self.border_title = Content(self._sentence(self.outer_size.width - len("╭─  ─╮")))

    def _sentence(self, width: int) -> str:
        """Return the answer in a length that fits into ``width`` cells."""
        return next((text for text in self._answers if len(text) <= width), UNKNOWN_ANSWER)

    def show(
        self, view: Snapshot, colors: list[str], selected: int = 0, baseline: Snapshot | None = None
    ) -> None:
        """Show the lanes of a snapshot.

        Args:
            view: the snapshot.
            colors: the colour of each lane, ``#rrggbb``.
            selected: the index of the lane whose limit is shown first.
            baseline: an earlier snapshot; the changes since then are shown in place of most figures.
        """
        if baseline is not None and len(baseline.lanes) != len(view.lanes):
            baseline = None  # lanes of several hosts have been folded or unfolded
        self._shown = (view, colors, selected, baseline)
        self._limits = dict(self._limits_of(view))
        if view.settings != self._settings:
            self._settings = view.settings
            self._answer.clear()
        answers = self._answer.update(view)
        if answers != self._answers:
            self._answers = answers
            self._show_title()
        self.update_lines()
        self.set_subtitle(self._legend(view, baseline, self.outer_size.width - len("╭─  ─╮")))

    def cell_rows(self, width: int) -> Sequence[Sequence[Cell]]:
        """Return the answer, the header, a line for each lane, and what limits the lanes."""
        if self._shown is None:
            return ()
        view, colors, selected, baseline = self._shown
        lines: list[Sequence[Cell]] = []
        if self._below.answer:
            lines.append([Cell(width, assemble((self._sentence(width), "bold")))])
        if self._below.table:
            lines += self._lane_rows(view, colors, baseline, width)
        if self._below.limits:
            limits = self._limit_line(view, selected, width)
            lines.append([Cell(width, assemble((limits, "$warning")))])
        return lines

    def _lane_rows(
        self, view: Snapshot, colors: list[str], baseline: Snapshot | None, width: int
    ) -> Iterator[Sequence[Cell]]:
        """Yield the header, and the line of each lane with the columns that fit."""
        room = self._name_width
        columns = self._fitting(width)
        since = f"Δ {format_clock(baseline.elapsed)}" if baseline else "engine"
        yield [
            Cell(room, assemble((since, "bold $dim"))),
            *headings(columns, self.sorted_by, self.sort_by),
        ]
        before = baseline.lanes if baseline else [None] * len(view.lanes)
        rows = [*zip(view.lanes, colors, before, strict=True)]
        for column in columns:
            if column.title == self.sorted_by:
                rows.sort(key=lambda row: -(column.value(row[0]) or 0.0))
        most = self._rows_for_lanes
        shown = rows if len(rows) <= most else rows[: max(1, most - 1)]
        self._lane_lines = [lane for lane, _, _ in shown]
        for lane, color, old in shown:
            known = lane.on or lane.sample.rss_per_task is not None
            cells = [
                (f"{text:>{column.width}}", "$accent" if changed else "" if lane.on else "$dim")
                for column in columns
                for text, changed in [_metric(column, lane, old)]
            ]
            style = f"bold {color}" if known else "$dim"
            if lane.own_name in self._answer.chosen:
                style += " underline"
            name = Cell(room, assemble((lane.name, style)), call(self.compare, lane.own_name))
            yield [name, Cell(width - room, assemble(*cells))]
        if len(rows) > len(shown) and most > 1:
            more = f"and {len(rows) - len(shown)} more: < > sort by another column"
            yield [Cell(width, assemble((more, "$dim")))]

    def _fitting(self, width: int) -> Sequence[Column[LaneSnapshot]]:
        """Return the columns that fit into a line of ``width`` cells."""
        return columns_for(self._columns, width - self._name_width)

    @property
    def _columns(self) -> Sequence[Column[LaneSnapshot]]:
        lanes = self._shown[0].lanes if self._shown else ()
        return COLUMNS if cost_metric(lanes) is COST else WITHOUT_KERNEL

    @property
    def _rows_for_lanes(self) -> int:
        height = self.styles.height
        rows = int(height.value) if height is not None else 0
        return rows - 1 - self._below.answer - self._below.limits - FRAME * self._below.framed

    def compare(self, name: str) -> None:
        """Compare an engine in the answer, with the one that was chosen before; or no longer if it is."""
        self._answer.choose(name)

    def compare_next(self, by: int) -> None:
        """Compare the next (1) or previous (-1) two engines in the answer."""
        self._answer.next(by)

    def sort(self, by: int) -> None:
        """Sort by the next column (``by`` 1) or the previous one (-1)."""
        room = self.outer_size.width - self.gutter.width
        titles = ["", *(column.title for column in self._fitting(room))]
        at = titles.index(self.sorted_by) if self.sorted_by in titles else 0
        self.sorted_by = titles[(at + by) % len(titles)]

    def _limits_of(self, view: Snapshot) -> Iterator[tuple[str, tuple[str, float]]]:
        """Yield the limit of each lane, for at least `LINGER` seconds so that it can be read."""
        for lane in view.lanes:
            if limit := limited_by(lane, view):
                yield lane.name, (limit, view.time)
            elif lane.on and 0 <= view.time - self._limits.get(lane.name, ("", -math.inf))[1] < LINGER:
                yield lane.name, self._limits[lane.name]

    def _limit_line(self, view: Snapshot, selected: int, width: int) -> str:
        """Return what fails or limits the lanes, the selected one first, as many as fit into a line."""
        notes = []
        for lane in [*view.lanes[selected : selected + 1], *view.lanes]:
            failed = f"{format_count(lane.failed)} failed" if lane.on and lane.failed else ""
            limit = self._limits.get(lane.name, ("", 0.0))[0]
            if text := " · ".join(filter(None, (failed, limit))):
                notes.append(f"↳ {lane.name}: {text}")
        notes = list(dict.fromkeys(notes))
        line = "   ".join(notes)
        for kept in range(len(notes) - 1, 0, -1):
            if len(line) <= width:
                break
            line = "   ".join((*notes[:kept], f"+{len(notes) - kept} more"))
        return line

    def _legend(self, view: Snapshot, baseline: Snapshot | None, width: int) -> str:
        """Return what the marks in the table stand for, or where that is said if it is too long."""
        since = [f"Δ since the baseline at {format_clock(baseline.elapsed)}"] if baseline else []
        shown = {column.title for column in self._fitting(self.outer_size.width - self.gutter.width)}
        if baseline:
            shown &= {*KEPT_TITLES}
        metrics = [metric for title, metric in METRIC_OF.items() if title in shown]
        marked = [caveat for lane in view.lanes for metric in metrics for caveat in _marked(metric, lane)]
        notes, traced = mark_notes(marked), any(lane.on and lane.status.tracing for lane in view.lanes)
        if traced and TRACED.name not in (caveat.name for caveat in marked):
            since.append(TRACED_NOTE)
        marks = [f"{' '.join(note[0] for note in notes)} {EXPLAIN}"] if notes else []
        forms = ([*since, *notes, EXPLAIN] if notes else since, [*since, *marks], marks)
        texts = (" · ".join(form) for form in forms)
        return next((text for text in texts if len(text) <= width), "")
