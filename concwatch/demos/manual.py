"""How the file of a demo is written, told from the tables by which it is read."""

from collections.abc import Iterable, Mapping
from typing import get_args

import msgspec

from concwatch.demos.conditions import MEANINGS, TOTAL
from concwatch.demos.demo import Head
from concwatch.demos.figures import LAB_FIGURES, LANE_FIGURES, LabFigure, LaneFigure
from concwatch.demos.keyboard import NAMES
from concwatch.demos.kinds import KINDS

SAID = (*(f"f{number}" for number in range(2, 25)), "insert", "delete", "backspace")
"""Keys that few demos need."""


def manual() -> str:
    """Give the text: paragraphs with an empty line between two, and nothing wider than 110 columns."""
    keys = ", ".join(name for name in NAMES if name not in SAID)
    return "\n\n".join(
        (
            _table("A FILE.toml begins with its keys:", _head()),
            _table(
                "Then come its steps, each below a line [[step]]:",
                ((kind.example, _sentence(kind)) for kind in KINDS.values()),
            ),
            _table(
                "What a step waits for; limit = 60 below it gives it so many seconds  [30]:", MEANINGS.items()
            ),
            _table("Figures of a lane, and their values:", _figures(LANE_FIGURES)),
            _table(f"Figures of all lanes, as {TOTAL}.rss:", _figures(LAB_FIGURES)),
            f"Keys, with blanks between two: a letter or a sign such as 3, t, + or ?;\n  {keys};\n"
            "  with ctrl+, shift+ or alt+ before it; also esc, pgup, pgdn, and ← → ↑ ↓.",
        )
    )


def _table(title: str, rows: Iterable[tuple[str, str]]) -> str:
    kept = list(rows)
    width = max(len(left) for left, _ in kept)
    return "\n".join((title, *(f"  {left:{width}}  {right}" for left, right in kept)))


def _head() -> Iterable[tuple[str, str]]:
    for field in msgspec.structs.fields(Head):
        (meta,) = (part for part in get_args(field.type) if isinstance(part, msgspec.Meta))
        yield field.name, meta.description or ""


def _sentence(kind: type) -> str:
    """Give the first sentence of what a class says of itself, as a row of a table has it."""
    text = (kind.__doc__ or "").partition("\n")[0].rstrip(".")
    return text[:1].lower() + text[1:]


def _figures(figures: Mapping[str, LaneFigure] | Mapping[str, LabFigure]) -> Iterable[tuple[str, str]]:
    """Give each sort of value by an example, and the figures that have such."""
    examples = dict.fromkeys(figure.unit.example for figure in figures.values())
    for example in examples:
        yield example, ", ".join(name for name, row in figures.items() if row.unit.example == example)
