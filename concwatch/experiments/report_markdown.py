"""An experiment's result as Markdown, to be pasted into a document."""

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
    paragraphs = [*_head(runner, occasion), *(part for sheet in sheets(runner) for part in _sheet(sheet))]
    return "\n\n".join([*paragraphs, f"Method: {markdown(runner.experiment.method)}"]) + "\n"


def _head(runner: Runner, occasion: Occasion) -> Iterable[str]:
    experiment, source = runner.experiment, runner.experiment.source
    yield f"### {markdown(experiment.name)}: {markdown(experiment.title)}"
    if source is None:
        yield "Source: none; an experiment of concwatch's own."
    else:
        machine, version = markdown(source.machine), markdown(source.version)
        yield f"Source: {markdown(cite(source))}. Machine there: {machine}. Version there: {version}."
    ran = runtimes(runner)
    workers = f"\nWorkers: {markdown('; '.join(ran))}." if ran else ""
    day, took = f"{occasion.begun:%Y-%m-%d}", format_seconds(runner.seconds)
    yield f"Here: {markdown(occasion.place)}; {day}, {took}.{workers}"
    yield f"```sh\n{flat(occasion.command)}\n```"
    partial = progress_note(runner)
    if partial:
        yield f"**{partial[:1].upper()}{partial[1:]}.**"


def _sheet(sheet: Sheet) -> Iterable[str]:
    yield f"**{markdown(sheet.table.title)}** ({markdown(sheet.what)})"
    yield "\n".join(markdown_table(without_unknown([HEADER, *map(_cells, sheet.rows)]), left=[1]))
    yield markdown(sheet.sentence)
    if sheet.notes:
        yield "\n".join(f"- {markdown(note)}" for note in sheet.notes)


def _cells(row: SheetRow) -> Sequence[str]:
    spread = [row.spread] if row.spread != UNKNOWN else []
    marks = ", ".join([*spread, *row.remarks]) or UNKNOWN
    return row.size, row.engine, row.published, row.here or row.reason, row.ratio, marks
