"""An experiment's result as text tables for a terminal."""

from collections.abc import Iterable, Sequence

from concwatch.measure.experiments.experiment_report import (
    HEADER,
    RunInfo,
    Sheet,
    SheetRow,
    cite,
    progress_note,
    sheets,
)
from concwatch.measure.experiments.runner import CellState, Runner
from concwatch.measure.layout import WIDTH, Piece, aligned, cut, without_unknown, wrapped
from concwatch.portable.protocol.units import format_seconds

MAX_NAME_WIDTH = 28
"""Columns of a series' name; longer ones are cut."""

SPARKS = "▁▂▃▄▅▆▇█"
SPARK_WIDTH = 16


def table_lines(runner: Runner, info: RunInfo) -> Iterable[Piece]:
    """Yield the lines of the whole result."""
    experiment = runner.experiment
    yield from wrapped(f"{experiment.name} · {experiment.title}", "heading")
    source = experiment.source
    if source is not None:
        published = f"published: {cite(source)}; machine: {source.machine}; version: {source.version}"
        yield from wrapped(published, "quiet")
    yield from wrapped(f"here: {info.place}; took {format_seconds(runner.seconds)}", "quiet")
    partial = progress_note(runner)
    if partial:
        yield Piece(partial, "bad")
    for sheet in sheets(runner):
        yield Piece("")
        yield from _sheet_lines(sheet, runner)


def _sheet_lines(sheet: Sheet, runner: Runner) -> Iterable[Piece]:
    yield from wrapped(f"{sheet.table.title}: {sheet.what}", "heading")
    yield from _grid(sheet, runner)
    yield from wrapped(sheet.sentence, "good")
    for note in sheet.notes:
        yield from wrapped(f"· {note}", "quiet", "  ")


def _grid(sheet: Sheet, runner: Runner) -> Iterable[Piece]:
    sparks = _sparks(sheet, runner)
    rows = [
        # A reason takes the columns of the figure and of all to its right.
        (row.size, cut(row.engine, MAX_NAME_WIDTH), row.published)
        + (("", "", "") if row.reason else (row.here, row.ratio, row.spread))
        for row in sheet.rows
    ]
    title, *lines = aligned(without_unknown([HEADER, *rows], keep="here"), left=[1])
    yield Piece(f"{title}  RSS over time" if any(sparks) else title, "heading")
    for row, line, spark in zip(sheet.rows, lines, sparks, strict=True):
        start = f"{line}  {spark}" if spark else line
        indent = " " * (min(len(start), WIDTH // 2) + 2)
        tone = "quiet" if row.reason else "caution" if row.remarks else ""
        tone = "bad" if row.figure.state is CellState.FAILED else tone
        yield from wrapped(row.reason or ", ".join(row.remarks), tone, indent, start)


def _sparks(sheet: Sheet, runner: Runner) -> list[str]:
    """Return the RSS over time of each row's last run as sparklines on one scale, in tables of peak RSS."""
    curves = [_rss_curve(row, runner) if sheet.table.reading == "peak_rss" else [] for row in sheet.rows]
    values = [rss for curve in curves for rss in curve]
    if not values:
        return [""] * len(curves)
    return [_spark(curve, min(values), max(values)) for curve in curves]


def _rss_curve(row: SheetRow, runner: Runner) -> list[int]:
    cell = row.figure.entry.cell
    runs = runner.outcomes[cell].runs if cell is not None and not row.reason else []
    return [rss for _, rss in runs[-1].rss_curve] if runs else []


def _spark(curve: Sequence[int], low: int, high: int) -> str:
    if not curve:
        return ""
    width = min(SPARK_WIDTH, len(curve))
    # Each column shows its highest value, so that no peak is lost.
    columns = [max(curve[at * len(curve) // width : (at + 1) * len(curve) // width]) for at in range(width)]
    top = len(SPARKS) - 1
    return "".join(SPARKS[round((value - low) / max(1, high - low) * top)] for value in columns)
