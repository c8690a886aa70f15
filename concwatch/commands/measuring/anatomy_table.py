"""What the memory of one task consists of, as a bar and a table below that of ``concwatch run``."""

import click

from concwatch.commands.basics.console import print_columns, print_lines
from concwatch.measure.layout import Piece
from concwatch.measure.run import EngineResult
from concwatch.monitor.metrics.anatomy import HEADINGS, SYMBOLS, Kind, Part, TaskAnatomy
from concwatch.portable.protocol.text import flat, plain
from concwatch.portable.protocol.units import format_bytes

CELLS = 60
"""The width of the bar."""

TONES = {
    Kind.FUNCTION: "good",
    Kind.OBJECT: "copy",
    Kind.MEMORY: "caution",
    Kind.KERNEL: "bad",
    Kind.UNEXPLAINED: "quiet",
}


def print_anatomy(row: EngineResult) -> None:
    """Print what a task of one engine consists of, or why that is not known."""
    found = row.anatomy
    click.echo()
    if found is None:
        why = row.anatomy_refused or "the cost of a task is not known"
        print_lines([Piece(f"{row.engine}: what a task consists of is unknown: {why}", "caution")])
        return
    print_lines([Piece(f"{found.engine}: one task takes {format_bytes(found.whole)}", "heading")])
    cells = [(SYMBOLS[kind] * count, TONES[kind]) for kind, count in found.bar(CELLS)]
    print_lines([cells, [(text, TONES[kind]) for kind, text in found.legend()]])
    print_columns([[*HEADINGS], *(_cells(found, part) for part in found.parts)], {0})
    for sentence in found.functions():
        click.echo(flat(plain(sentence)))
    if found.origin:
        click.echo(found.origin)
    elif row.anatomy_refused:
        click.echo(f"no objects: {row.anatomy_refused}")


def _cells(found: TaskAnatomy, part: Part) -> list[str | Piece]:
    label, *figures = found.row(part)
    return [Piece(label, "quiet" if part.kind is Kind.UNEXPLAINED else ""), *figures]
