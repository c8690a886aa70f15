"""An experiment's result as text tables for a terminal, line by line."""

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from concwatch.experiments.report import (
    Occasion,
    Row,
    Sheet,
    cite,
    flat,
    progress_note,
    sheets,
    without_unknown,
)
from concwatch.experiments.runner import Runner, State
from concwatch.units import format_seconds

WIDTH = 100
"""Columns that no line exceeds."""

LONGEST_NAME = 28
"""Columns of a series' name; of a longer one the beginning is shown."""

SPARKS = "▁▂▃▄▅▆▇█"
SPARK_WIDTH = 16

HEADER = ("size", "engine", "published", "here", "ratio", "spread")


@dataclass(frozen=True)
class Line:
    """One line, and how it is meant: `heading`, `good`, `doubt`, `bad`, `quiet`, or nothing particular."""

    text: str
    tone: str = ""


def table_lines(runner: Runner, occasion: Occasion) -> Iterable[Line]:
    """Write the whole result."""
    experiment = runner.experiment
    yield from _wrapped(f"{experiment.name} · {experiment.title}", "heading")
    source = experiment.source
    if source is not None:
        told = f"published: {cite(source)}; machine: {source.machine}; version: {source.version}"
        yield from _wrapped(told, "quiet")
    yield from _wrapped(f"here: {occasion.place}; took {format_seconds(runner.seconds)}", "quiet")
    partial = progress_note(runner)
    if partial:
        yield Line(partial, "bad")
    for sheet in sheets(runner):
        yield Line("")
        yield from _sheet_lines(sheet, runner)


def _wrapped(text: str, tone: str = "", indent: str = "") -> Iterable[Line]:
    for number, line in enumerate(textwrap.wrap(flat(text), WIDTH - len(indent)) or [""]):
        yield Line(indent + line if number else line, tone)


def _sheet_lines(sheet: Sheet, runner: Runner) -> Iterable[Line]:
    yield from _wrapped(f"{sheet.table.title}: {sheet.what}", "heading")
    yield from _grid(sheet, runner)
    yield from _wrapped(sheet.sentence, "good")
    for note in (*sheet.live, sheet.table.note):
        if note:
            yield from _wrapped(f"· {note}", "quiet", "  ")


def _grid(sheet: Sheet, runner: Runner) -> Iterable[Line]:
    sparks = _sparks(sheet, runner)
    header = (*HEADER, "RSS over time") if any(sparks) else HEADER
    cells = [
        (row.size, _cut(row.engine, LONGEST_NAME), row.published, row.here, row.ratio, row.spread, spark)
        for row, spark in zip(sheet.rows, sparks, strict=True)
    ]
    titles, *rest = without_unknown([header, *(each[: len(header)] for each in cells)])
    left = [number for number, title in enumerate(titles) if title in ("engine", "RSS over time")]
    widths = [max(map(len, column)) for column in zip(titles, *rest, strict=True)]
    # A reason may be longer than any figure, and takes the room of the figure and of all behind it.
    before = titles.index("here")
    yield Line(_join(titles, widths, left), "heading")
    for row, each in zip(sheet.rows, rest, strict=True):
        if row.reason:
            yield from _overlong(_join(each[:before], widths, left), [row.reason], _tone(row))
        else:
            yield from _overlong(_join(each, widths, left), row.remarks, _tone(row))


def _join(cells: Sequence[str], widths: Sequence[int], left: Sequence[int]) -> str:
    padded = [
        cell.ljust(width) if number in left else cell.rjust(width)
        for number, (cell, width) in enumerate(zip(cells, widths, strict=False))
    ]
    return "  ".join(padded).rstrip()


def _overlong(start: str, words: Sequence[str], tone: str) -> Iterable[Line]:
    """Write ``words`` behind ``start``, in as many lines as they need."""
    if not words:
        yield Line(start, tone)
        return
    indent = min(len(start), WIDTH // 2) + 2
    pieces = textwrap.wrap(", ".join(words), WIDTH - indent) or [""]
    if len(start) + 2 + len(pieces[0]) > WIDTH:
        yield Line(start, tone)
    else:
        yield Line(f"{start}  {pieces.pop(0)}", tone)
    for piece in pieces:
        yield Line(" " * indent + piece, tone)


def _tone(row: Row) -> str:
    if row.figure.state is State.FAILED:
        return "bad"
    if row.reason:
        return "quiet"
    return "doubt" if row.remarks else ""


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


# Memory over time.


def _sparks(sheet: Sheet, runner: Runner) -> list[str]:
    """Draw the RSS over time of each row's last run, all on one scale, where the peak is the subject."""
    trails = [_trail(row, runner) if sheet.table.reading == "peak_rss" else [] for row in sheet.rows]
    values = [rss for trail in trails for rss in trail]
    if not values:
        return [""] * len(trails)
    return [_spark(trail, min(values), max(values)) for trail in trails]


def _trail(row: Row, runner: Runner) -> list[int]:
    cell = row.figure.entry.cell
    runs = runner.outcomes[cell].runs if cell is not None and not row.reason else []
    return [rss for _, rss in runs[-1].trail] if runs else []


def _spark(trail: Sequence[int], low: int, high: int) -> str:
    if not trail:
        return ""
    width = min(SPARK_WIDTH, len(trail))
    # Of what falls into one column the highest is shown: a peak must not be lost.
    columns = [max(trail[at * len(trail) // width : (at + 1) * len(trail) // width]) for at in range(width)]
    top = len(SPARKS) - 1
    return "".join(SPARKS[round((value - low) / max(1, high - low) * top)] for value in columns)
