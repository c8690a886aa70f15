"""An experiment's result as Markdown, to be pasted wherever it is told."""

from collections.abc import Iterable, Sequence

from concwatch.experiments.report import (
    HEADER,
    Occasion,
    Sheet,
    SheetRow,
    cite,
    progress_note,
    runtimes,
    sheets,
)
from concwatch.experiments.runner import Runner
from concwatch.layout import markdown, markdown_table, without_unknown
from concwatch.text import flat
from concwatch.units import UNKNOWN, format_seconds


def report_markdown(runner: Runner, occasion: Occasion) -> str:
    """Write the result as a section of a document."""
    return "\n".join(_lines(runner, occasion)) + "\n"


def _lines(runner: Runner, occasion: Occasion) -> Iterable[str]:
    experiment = runner.experiment
    yield f"### {markdown(experiment.name)}: {markdown(experiment.title)}"
    yield ""
    if experiment.source is None:
        yield "Source: none; an experiment of concwatch's own."
    else:
        source = experiment.source
        machine, version = markdown(source.machine), markdown(source.version)
        yield f"Source: {markdown(cite(source))}. Machine there: {machine}. Version there: {version}."
    yield ""
    yield f"Here: {markdown(occasion.place)}; {occasion.begun:%Y-%m-%d}, {format_seconds(runner.seconds)}."
    ran = runtimes(runner)
    if ran:
        yield f"Workers: {markdown('; '.join(ran))}."
    yield ""
    yield "```sh"
    yield flat(occasion.command)
    yield "```"
    partial = progress_note(runner)
    if partial:
        yield ""
        yield f"**{partial[:1].upper()}{partial[1:]}.**"
    for sheet in sheets(runner):
        yield from _sheet(sheet)
    yield ""
    yield f"Method: {markdown(experiment.method)}"


def _sheet(sheet: Sheet) -> Iterable[str]:
    yield ""
    yield f"**{markdown(sheet.table.title)}** ({markdown(sheet.what)})"
    yield ""
    yield from markdown_table(without_unknown([HEADER, *map(_cells, sheet.rows)]), left=[1])
    yield ""
    yield markdown(sheet.sentence)
    notes = [*sheet.live, *([sheet.table.note] if sheet.table.note else [])]
    if notes:
        yield ""
    for note in notes:
        yield f"- {markdown(note)}"


def _cells(row: SheetRow) -> Sequence[str]:
    spread = [row.spread] if row.spread != UNKNOWN else []
    marks = ", ".join([*spread, *row.remarks]) or UNKNOWN
    return row.size, row.engine, row.published, row.here or row.reason, row.ratio, marks
