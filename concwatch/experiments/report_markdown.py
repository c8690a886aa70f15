"""An experiment's result as Markdown, to be pasted wherever it is told."""

from collections.abc import Iterable, Sequence

from concwatch.experiments.report import (
    Occasion,
    Row,
    Sheet,
    cite,
    flat,
    progress_note,
    runtimes,
    sheets,
    without_unknown,
)
from concwatch.experiments.runner import Runner
from concwatch.units import UNKNOWN, format_seconds

HEADER = ("size", "engine", "published", "here", "ratio", "spread")


def report_markdown(runner: Runner, occasion: Occasion) -> str:
    """Write the result as a section of a document."""
    return "\n".join(_lines(runner, occasion)) + "\n"


def _lines(runner: Runner, occasion: Occasion) -> Iterable[str]:
    experiment = runner.experiment
    yield f"### {_text(experiment.name)}: {_text(experiment.title)}"
    yield ""
    if experiment.source is None:
        yield "Source: none; an experiment of concwatch's own."
    else:
        source = experiment.source
        machine, version = _text(source.machine), _text(source.version)
        yield f"Source: {_text(cite(source))}. Machine there: {machine}. Version there: {version}."
    yield ""
    yield f"Here: {_text(occasion.place)}; {occasion.begun:%Y-%m-%d}, {format_seconds(runner.seconds)}."
    ran = runtimes(runner)
    if ran:
        yield f"Workers: {_text('; '.join(ran))}."
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
    yield f"Method: {_text(experiment.method)}"


def _sheet(sheet: Sheet) -> Iterable[str]:
    yield ""
    yield f"**{_text(sheet.table.title)}** ({_text(sheet.what)})"
    yield ""
    rows = without_unknown([HEADER, *(_cells(row) for row in sheet.rows)])
    header, *rest = rows
    yield _line(header)
    yield _line("---" if name == "engine" else "---:" for name in header)
    for row in rest:
        yield _line(row)
    yield ""
    yield _text(sheet.sentence)
    notes = [*sheet.live, *([sheet.table.note] if sheet.table.note else [])]
    if notes:
        yield ""
    for note in notes:
        yield f"- {_text(note)}"


def _cells(row: Row) -> Sequence[str]:
    spread = [row.spread] if row.spread != UNKNOWN else []
    marks = ", ".join([*spread, *row.remarks]) or UNKNOWN
    return row.size, row.engine, row.published, row.here or row.reason, row.ratio, marks


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(_text(cell) for cell in cells)} |"


def _text(text: str) -> str:
    """Give ``text`` in one line, with nothing in it that would end a table's cell or begin a tag."""
    return flat(text).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")
