"""What all reports of an experiment have in common: its occasion, its tables, and a sentence for each."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from concwatch.experiments.experiment import Source, Table
from concwatch.experiments.readings import READINGS, TRACED
from concwatch.experiments.runner import CellState, Runner, TableFigure
from concwatch.measure.units import RATE, SCALES
from concwatch.system.machine import describe_machine, program_version
from concwatch.text import flat
from concwatch.units import (
    UNKNOWN,
    format_bytes,
    format_count,
    format_exactly,
    format_figure,
    format_percent,
)

HEADER = ("size", "engine", "published", "here", "ratio", "spread")

NAMED = 4
"""Most series that a sentence names one by one."""


@dataclass(frozen=True)
class Occasion:
    """When, where and by which command an experiment was run."""

    command: str
    begun: datetime
    """Local time, with its offset."""
    concwatch: str
    """The program's own version."""
    machine: Mapping[str, object]

    @classmethod
    def now(cls, command: str) -> "Occasion":
        """Return the present one."""
        return cls(command, datetime.now().astimezone(), program_version(), describe_machine())

    @property
    def place(self) -> str:
        """Machine and versions, in a line."""
        machine = self.machine
        memory = machine["memory_total"]
        assert isinstance(memory, int)
        parts = (
            f"{machine['cores']} cores",
            f"{format_bytes(memory)} of memory",
            f"{machine['system']} {machine['architecture']}",
            str(machine["python"]),
            f"concwatch {self.concwatch}",
        )
        return ", ".join(parts)


@dataclass(frozen=True)
class SheetRow:
    """One line of a table as a person reads it; what is not known is `UNKNOWN`."""

    figure: TableFigure
    size: str
    engine: str
    published: str
    here: str
    """Empty where ``reason`` stands in its place."""
    ratio: str
    spread: str
    reason: str
    """Why there is no figure."""
    remarks: tuple[str, ...]
    """What to know before believing the figure."""


@dataclass(frozen=True)
class Sheet:
    """One table of an experiment with what has been measured, its rows by size."""

    table: Table
    rows: tuple[SheetRow, ...]
    live: tuple[str, ...]
    """Where fewer tasks were live at the reading than the size says."""

    @property
    def sentence(self) -> str:
        """What it shows, as a sentence."""
        text = sentence(self.table, [row.figure for row in self.rows])
        return f"{text[:1].upper()}{text[1:]}."

    @property
    def what(self) -> str:
        """What is read, and in which unit."""
        return f"{READINGS[self.table.reading].meaning.rstrip('.')}, {self.table.unit}"


def sheets(runner: Runner) -> list[Sheet]:
    """Return the tables of an experiment, in the order of the file, with their figures as they stand."""
    figures = runner.figures()
    found = []
    for table in runner.experiment.table:
        own = sorted((each for each in figures if each.entry.table is table and _listed(each)), key=_size)
        rows = tuple(_row(figure, runner) for figure in own)
        live = tuple(note for figure in own if (note := _live_note(figure, runner)))
        found.append(Sheet(table, rows, live))
    return found


def whose(source: Source) -> str:
    """Name author and year, as far as they are stated."""
    author = "author not stated" if source.author == "not stated" else flat(source.author)
    return author if source.year is None else f"{author}, {source.year}"


def cite(source: Source) -> str:
    """Name the source of published figures, in a line."""
    site = f" ({source.site})" if source.site else ""
    return flat(f"{whose(source)}: {source.article}{site}")


def progress_note(runner: Runner) -> str:
    """Return how much of it has been measured, where that is not all; else an empty string."""
    if not runner.partial:
        return ""
    tried = sum(not outcome.state.open for outcome in runner.outcomes.values())
    return f"partial: stopped after {tried} of {len(runner.outcomes)} cells"


def runtimes(runner: Runner) -> list[str]:
    """List what the workers ran on, and what else shaped their figures, each once."""
    runs = (run for outcome in runner.outcomes.values() for run in outcome.runs)
    return sorted({", ".join([run.runtime, *run.flags]) for run in runs if run.runtime})


def _listed(figure: TableFigure) -> bool:
    """Whether there is anything to say of it: of an engine that there is none of, only what was published."""
    return figure.state is not CellState.ABSENT or figure.entry.published is not None


def _size(figure: TableFigure) -> int:
    return figure.entry.size


# Rows.


def _row(figure: TableFigure, runner: Runner) -> SheetRow:
    entry, here = figure.entry, figure.here
    return SheetRow(
        figure,
        size=format_count(entry.size),
        engine=flat(entry.series.name),
        published=UNKNOWN if entry.published is None else format_exactly(entry.published),
        here="" if here is None else format_figure(here),
        ratio=UNKNOWN if figure.ratio is None else format_figure(figure.ratio, 3),
        spread=UNKNOWN if figure.spread is None else format_percent(figure.spread),
        reason=_reason(figure) if here is None else "",
        remarks=() if here is None else tuple(_remarks(figure, runner)),
    )


def _reason(figure: TableFigure) -> str:
    match figure.state:
        case CellState.ABSENT:
            return "published only"
        case CellState.WAITING | CellState.RUNNING:
            return "not run"
        case CellState.DONE:
            return f"not told: its worker gave no {figure.entry.table.reading}"
    reason = f"{figure.state.value}: {flat(figure.reason)}"
    if not figure.runs:
        return reason
    values = ", ".join(format_figure(value) for value in figure.runs)
    return f"{reason} (until then {values})"


def _remarks(figure: TableFigure, runner: Runner) -> Iterable[str]:
    cell = figure.entry.cell
    assert cell is not None
    if figure.unsteady:
        yield "unsteady"
    if figure.state is not CellState.DONE:
        yield f"{len(figure.runs)} of {runner.repeats(cell)} runs"


def _live_note(figure: TableFigure, runner: Runner) -> str:
    """Return how many tasks were live at the reading, where a figure for all of them misleads."""
    cell = figure.entry.cell
    # Of a burst nothing else is read at one moment; what is held has been waited for.
    if cell is None or figure.here is None or figure.entry.table.reading not in TRACED:
        return ""
    live = [run.live for run in runner.outcomes[cell].runs if run.live is not None]
    if not live or min(live) >= figure.entry.size:
        return ""
    size, name = format_count(figure.entry.size), flat(figure.entry.series.name)
    return f"{name}: {format_count(min(live))} of {size} live when read"


# Sentences.


def sentence(table: Table, figures: Sequence[TableFigure]) -> str:
    """Return what a table shows, in one sentence made of its measured figures.

    Args:
        table: which.
        figures: of this table, and maybe of others.
    """
    own = [figure for figure in figures if figure.entry.table is table]
    found = [figure for figure in own if figure.here is not None]
    if not found:
        return _nothing(own)
    return _compared(table, found) or _against_published(table, found) or _among_themselves(table, found)


def _nothing(figures: Sequence[TableFigure]) -> str:
    names = {CellState.WAITING: "not run", CellState.RUNNING: "not run", CellState.ABSENT: "published only"}
    counts = Counter(names.get(figure.state, figure.state.value) for figure in figures)
    return "nothing was measured: " + ", ".join(f"{count} {name}" for name, count in counts.items())


def _compared(table: Table, found: Sequence[TableFigure]) -> str:
    """Put the two series side by side that the file names, at its size or the largest that both have."""
    if table.compare is None:
        return ""
    by_name = {
        name: {figure.entry.size: figure for figure in found if figure.entry.series.name == name}
        for name in (table.compare.this, table.compare.that)
    }
    these, those = by_name.values()
    common = these.keys() & those.keys()
    if not common:
        return ""
    size = table.compare.size if table.compare.size in common else max(common)
    this, that = these[size], those[size]
    at, doubt = f"at {_count(table, size)}", _doubt(this, that)
    ratio = _over(this.here, that.here)
    if ratio is None:
        takes = [f"{_name(each)} {_verb(table, each)} {_value(table, each)}" for each in (this, that)]
        return f"{at} {', '.join(takes)}{doubt}"
    published = _over(this.entry.published, that.entry.published)
    end = "" if published is None else f" (published: {_times(published)})"
    takes = [f"{_name(each)} {_verb(table, each)}" for each in (this, that)]
    return f"{at} {takes[0]} {_times(ratio)} what {takes[1]}{end}{doubt}"


def _against_published(table: Table, found: Sequence[TableFigure]) -> str:
    ratios = [(figure, figure.ratio) for figure in found if figure.ratio is not None]
    if not ratios:
        return ""
    names = dict.fromkeys(_name(figure) for figure, _ in ratios)
    parts = [f"{name} {_range(ratio for figure, ratio in ratios if _name(figure) == name)}" for name in names]
    detail = f" ({', '.join(parts)})" if 2 <= len(parts) <= NAMED else ""
    which = "the published figures"
    if len(ratios) == 1:
        which = f"the published figure for {_count(table, ratios[0][0].entry.size)}"
    ends = [edge(ratios, key=lambda each: each[1])[0] for edge in (min, max)]
    return f"here {_range(ratio for _, ratio in ratios)} {which}{detail}{_doubt(*ends)}"


def _among_themselves(table: Table, found: Sequence[TableFigure]) -> str:
    """Name the lowest and the highest at the largest size that most series have in common."""
    counts = Counter(figure.entry.size for figure in found)
    size = max(counts, key=lambda each: (counts[each], each))
    if counts[size] < 2:
        return _of_few(table, found)
    own = [figure for figure in found if figure.entry.size == size]
    least, *_, most = sorted(own, key=lambda figure: figure.here or 0.0)
    ratio = _over(most.here, least.here)
    more = "" if ratio is None else f", {_times(ratio)} that"
    return (
        f"at {_count(table, size)} {_name(least)} {_verb(table, least)} least ({_value(table, least)}) "
        f"and {_name(most)} most ({_value(table, most)}{more}){_doubt(least, most)}"
    )


def _of_few(table: Table, found: Sequence[TableFigure]) -> str:
    """Return the first and the last figure of each series, where no two have a size in common."""
    parts = []
    for name in list(dict.fromkeys(map(_name, found)))[:NAMED]:
        own = [figure for figure in found if _name(figure) == name]
        ends = own if len(own) < 2 else [own[0], own[-1]]
        values = ", ".join(f"{_value(table, each)} at {_count(table, each.entry.size)}" for each in ends)
        parts.append(f"{name} {_verb(table, own[0])} {values}")
    return "; ".join(parts)


def _doubt(*figures: TableFigure) -> str:
    """Return what makes a conclusion from ``figures`` uncertain: a single run, or runs that lie far apart."""
    if any(len(figure.runs) == 1 for figure in figures):
        return ", by a single run"
    return ", by unsteady runs" if any(figure.unsteady for figure in figures) else ""


def _over(this: float | None, that: float | None) -> float | None:
    return this / that if this is not None and that is not None and that > 0 < this else None


def _name(figure: TableFigure) -> str:
    return flat(figure.entry.series.name)


def _value(table: Table, figure: TableFigure) -> str:
    return f"{format_figure(figure.here or 0.0)} {table.unit}"


def _verb(table: Table, figure: TableFigure) -> str:
    """Return the verb that goes with a series: threads take, a pool of threads takes; rates they reach."""
    verb, ending = ("reach", "es") if SCALES[table.unit][0] is RATE else ("take", "s")
    head = re.split(r",| of | with ", _name(figure))[0]
    return verb if re.search(r"(?<!s)(?<!\.j)s$", head, re.IGNORECASE) else verb + ending


def _count(table: Table, size: int) -> str:
    counted = flat(table.counted)
    if size == 1:
        counted = re.sub(r"(?<!s)s\b", "", counted)
    return f"{format_count(size)} {counted}"


def _times(ratio: float) -> str:
    return f"{format_count(ratio) if ratio >= 9.95 else format_figure(ratio, 2)} ×"


def _range(ratios: Iterable[float]) -> str:
    values = sorted(ratios)
    low, high = _times(values[0]), _times(values[-1])
    return low if low == high else f"{low.removesuffix(' ×')} to {high}"
