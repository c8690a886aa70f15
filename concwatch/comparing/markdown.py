"""A comparison as Markdown, to be pasted wherever it is told."""

from collections.abc import Iterable

from concwatch.comparing.comparison import Comparison
from concwatch.comparing.report import (
    HEADER,
    RULE,
    cautions,
    failures,
    percentage,
    sections,
    sentence,
    sides,
    title,
    unmatched,
)
from concwatch.experiments.report import flat


def report_markdown(comparison: Comparison) -> str:
    """Write the comparison as a section of a document."""
    return "\n".join(_lines(comparison)) + "\n"


def _lines(comparison: Comparison) -> Iterable[str]:
    yield f"### {_text(title(comparison))}"
    yield ""
    for letter, side in sides(comparison):
        yield f"- {letter}: {_text(side.name)}, {_text(side.told)}"
    for caution in cautions(comparison):
        yield f"- **caution**: {_text(caution)}"
    for name, rows in sections(comparison).items():
        yield ""
        yield _line([name, *HEADER, ""])
        yield _line(["---", *["---:"] * len(HEADER), "---"])
        for row in rows:
            yield _line([row.label, *row.cells, row.difference.verdict])
    yield ""
    for line in unmatched(comparison):
        yield f"- {_text(line)}"
    yield ""
    yield _text(f"{sentence(comparison)} {RULE}")
    failing = list(failures(comparison))
    if failing and comparison.percent is not None:
        yield ""
        yield f"**Worse by more than {percentage(comparison.percent)}:**"
        yield ""
        for failure in failing:
            yield f"- {_text(failure)}"


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(_text(cell) for cell in cells)} |"


def _text(text: str) -> str:
    """Give ``text`` in one line, with nothing in it that would end a table's cell or begin a tag."""
    return flat(text).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")
