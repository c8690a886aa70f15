"""What stands in a chart's title: what it shows, and as many current values as there is room for."""

import math
from bisect import bisect_right
from collections.abc import Sequence

from concwatch.charts.lines import Line
from concwatch.charts.scales import Kind

SHORTEST_TITLE = 8
"""Cells a chart's title keeps when it makes room for values."""

LATE = 0.5
"""Seconds in which the newest samples may wait for what the next tick tells of them."""

NO_VALUE = "–"


def value_text(line: Line, kind: Kind, now: float, cursor: float | None = None) -> str:
    """Return the value that ``line`` has now, or had at the cursor; inside a gap it has none."""
    index = min(bisect_right(line.times, now if cursor is None else cursor), len(line.values)) - 1
    if cursor is None:
        while index > 0 and math.isnan(line.values[index]) and line.times[index] > now - LATE:
            index -= 1
    value = line.values[index] if index >= 0 else math.nan
    return kind.format(value) if math.isfinite(value) else NO_VALUE


def caption(
    title: str, entries: Sequence[tuple[str, str]], width: int, brief: str = ""
) -> list[tuple[str, str]]:
    """Return a title and as many values as fit into ``width`` cells; a value is whole or not there.

    The units give way first, down to their first letter; then the title, to ``brief`` or word by word, down
    to `SHORTEST_TITLE`; then values are left off from the end, with ``…``.

    Args:
        title: what the chart shows.
        entries: the text and the style of each value.
        width: cells there are.
        brief: the title where there is little room.

    Returns:
        Texts in a row, each with its style.
    """
    shortest = min(len(brief or title), SHORTEST_TITLE)
    if len(title) + 2 + len(" ".join(text for text, _ in entries)) > width:
        entries = [(_without_unit(text), style) for text, style in entries]
    texts = [text for text, _ in entries]

    def cells(shown: int) -> int:
        return len(" ".join(["", *texts[:shown], *(["…"] if shown < len(texts) else [])]))

    shown = len(texts)
    while shown and shortest + 1 + cells(shown) > width:
        shown -= 1
    values = cells(shown) + 1 if texts else 0
    room = max(width - values, min(width, shortest))
    heading = title if len(title) <= room else _shorten(brief or title, room)
    parts = [(heading, "")]
    for index, entry in enumerate(entries[:shown]):
        parts += [(" " if index else "  ", ""), entry]
    if shown < len(texts) and len(heading) + values <= width:
        parts.append((" …" if shown else "  …", ""))
    return parts


def _without_unit(text: str) -> str:
    """Shorten a value's unit, which the axis has in full: ``32.5 MiB`` to ``32.5M``; a name stays.

    Where no colour says whose a value is, a letter before it does: ``a 32.5 MiB``.
    """
    whose, value = (text[:2], text[2:]) if text[1:2] == " " else ("", text)
    if not value[:1].isdigit():
        return text
    return whose + value.removesuffix("/s").removesuffix("iB").replace(" ", "")


def _shorten(title: str, room: int) -> str:
    """Return as many whole words of a title as there is room for, or the beginning of the first."""
    if len(title) <= room:
        return title
    words = title[: room + 1].rpartition(" ")[0].rstrip(" /·")
    return words or title[: max(0, room - 1)].rstrip() + "…"
