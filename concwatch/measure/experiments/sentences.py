"""A line that sums up the measured figures of a table. The first column says what its sizes count."""

from collections import Counter
from collections.abc import Iterable, Sequence

from concwatch.measure.experiments.experiment import ExperimentTable
from concwatch.measure.experiments.runner import CellState, TableFigure
from concwatch.measure.experiments.swept import swept
from concwatch.portable.protocol.text import flat
from concwatch.portable.protocol.units import format_count, format_number

MAX_LISTED = 4
"""The most series that a line lists one by one."""


def sentence(table: ExperimentTable, figures: Sequence[TableFigure]) -> str:
    """Return one line that sums up a table; figures of other tables are ignored."""
    own = [figure for figure in figures if figure.entry.table is table]
    found = [figure for figure in own if figure.here is not None]
    if not found:
        return _nothing(own)
    compared = _compared(table, found) or _against_published(found)
    enough = [flat(result.sentence()) for result in swept(table, found)][:MAX_LISTED]
    if enough and compared:
        compared = f"{compared[:1].upper()}{compared[1:]}"
    return ". ".join(filter(None, [*enough, compared])) or _among_themselves(table, found)


def _nothing(figures: Sequence[TableFigure]) -> str:
    names = {CellState.WAITING: "not run", CellState.RUNNING: "not run", CellState.ABSENT: "published only"}
    counts = Counter(names.get(figure.state, figure.state.value) for figure in figures)
    return "nothing was measured: " + ", ".join(f"{count} {name}" for name, count in counts.items())


def _compared(table: ExperimentTable, found: Sequence[TableFigure]) -> str:
    """Compare the two series of the file's ``compare``, at its size or the largest that both have."""
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
    caveat, ratio = _caveat(this, that), _over(this.here, that.here)
    if ratio is None:
        values = ", ".join(f"{_name(each)} {_value(table, each)}" for each in (this, that))
        return f"at {format_count(size)}: {values}{caveat}"
    published = _over(this.entry.published, that.entry.published)
    there = "" if published is None else f" (published: {_times(published)})"
    return f"at {format_count(size)}: {_name(this)} = {_times(ratio)} {_name(that)}{there}{caveat}"


def _against_published(found: Sequence[TableFigure]) -> str:
    ratios = [(figure, figure.ratio) for figure in found if figure.ratio is not None]
    if not ratios:
        return ""
    names = dict.fromkeys(_name(figure) for figure, _ in ratios)
    parts = [f"{name} {_range(ratio for figure, ratio in ratios if _name(figure) == name)}" for name in names]
    detail = f" ({', '.join(parts)})" if 2 <= len(parts) <= MAX_LISTED else ""
    ends = [edge(ratios, key=lambda each: each[1])[0] for edge in (min, max)]
    return f"here {_range(ratio for _, ratio in ratios)} published{detail}{_caveat(*ends)}"


def _among_themselves(table: ExperimentTable, found: Sequence[TableFigure]) -> str:
    """Name the lowest and the highest figure at the largest size that most series share."""
    counts = Counter(figure.entry.size for figure in found)
    size = max(counts, key=lambda each: (counts[each], each))
    if counts[size] < 2:
        return _by_series(table, found)
    own = [figure for figure in found if figure.entry.size == size]
    least, *_, most = sorted(own, key=lambda figure: figure.here or 0.0)
    ratio = _over(most.here, least.here)
    more = "" if ratio is None else f", {_times(ratio)}"
    return (
        f"at {format_count(size)}: {_name(least)} least ({_value(table, least)}), "
        f"{_name(most)} most ({_value(table, most)}{more}){_caveat(least, most)}"
    )


def _by_series(table: ExperimentTable, found: Sequence[TableFigure]) -> str:
    """Return the first and the last figure of each series, if no two share a size."""
    parts = []
    for name in list(dict.fromkeys(map(_name, found)))[:MAX_LISTED]:
        own = [figure for figure in found if _name(figure) == name]
        ends = own if len(own) < 2 else [own[0], own[-1]]
        values = ", ".join(f"{_value(table, each)} at {format_count(each.entry.size)}" for each in ends)
        parts.append(f"{name}: {values}")
    return "; ".join(parts)


def _caveat(*figures: TableFigure) -> str:
    """Return why a conclusion from ``figures`` is uncertain: a single run, or runs that lie far apart."""
    if any(len(figure.runs) == 1 for figure in figures):
        return ", from a single run"
    return ", from unsteady runs" if any(figure.unsteady for figure in figures) else ""


def _over(this: float | None, that: float | None) -> float | None:
    return this / that if this is not None and that is not None and that > 0 < this else None


def _name(figure: TableFigure) -> str:
    return flat(figure.entry.series.name)


def _value(table: ExperimentTable, figure: TableFigure) -> str:
    return f"{format_number(figure.here or 0.0)} {table.unit}"


def _times(ratio: float) -> str:
    return f"{format_count(ratio) if ratio >= 9.95 else format_number(ratio, 2)} ×"


def _range(ratios: Iterable[float]) -> str:
    values = sorted(ratios)
    low, high = _times(values[0]), _times(values[-1])
    return low if low == high else f"{low.removesuffix(' ×')} to {high}"
