"""Charts for slides: one chart as SVG, with the conditions of its measurement below."""

import math
from collections.abc import Mapping, Sequence
from html import escape

from msgspec import Struct

from concwatch.charts import decimation
from concwatch.charts.captions import NO_VALUE, value_text
from concwatch.charts.plot import Line, Plot, decimate_lines, split_at_gaps, y_scale
from concwatch.lab.settings import Settings, describe
from concwatch.units import format_bytes

SIZE = (1280, 720)
"""The default size in pixels."""

LARGEST = 16_384
"""The largest width or height in pixels."""

ROWS, LABEL = 10, 90
"""The approximate number of steps of the y axis, and the width of a label of the x axis at `SIZE`."""

COLORS = {
    True: ("#0c0f15", "#d7dce5", "#8b919c", "#242a35"),
    False: ("#fbfbf9", "#1f2530", "#6a707a", "#dcdcd6"),
}
"""Whether the picture is dark → the colours of background, text, dim text, and grid."""

LETTER = 0.62
"""The width of a letter relative to the font size."""

Point = tuple[float, float]
"""Pixels from the left, and from the top."""

FAMILY = "'Concwatch Mono', 'DejaVu Sans Mono', Menlo, Consolas, monospace"


class Slide(Struct, frozen=True):
    """One chart for a slide."""

    plot: Plot
    conditions: Sequence[str] = ()
    """The texts below the chart: workload, versions, machine, date."""
    dark: bool = True


def parse_size(text: str) -> tuple[int, int]:
    """Parse a size in pixels: ``1920x1080``.

    Raises:
        ValueError: says in one line what was expected.
    """
    width, _, height = text.partition("x")
    if not (
        width.isdecimal()
        and height.isdecimal()
        and 200 <= int(width) <= LARGEST
        and 100 <= int(height) <= LARGEST
    ):
        raise ValueError(f'"{text[:40]}" is not a size: expected pixels such as "1920x1080"')
    return int(width), int(height)


def draw_slide(slide: Slide, size: tuple[int, int] = SIZE, scale: float = 1.0) -> str:
    """Return a slide as SVG, the same for the same data.

    Args:
        slide: the chart and its conditions.
        size: width and height in pixels.
        scale: the factor by which text and lines are larger than normal.
    """
    plot, (width, height) = slide.plot, size
    unit = min(width / SIZE[0], height / SIZE[1]) * scale
    background, foreground, dim, grid = COLORS[slide.dark]
    font, margin = 20 * unit, 48 * unit

    def text(x: float, y: float, words: str, color: str, *, size: float = font, more: str = "") -> str:
        attributes = f'x="{x:.1f}" y="{y:.1f}" fill="{color}" font-size="{size:.1f}"'
        return f"<text {attributes}{more}>{escape(words)}</text>"

    foot = _wrapped(slide.conditions, max(10, int((width - 2 * margin) / (font * LETTER))))
    longest = max((len(line.name) for line in plot.lines), default=0)
    left, right = margin + 110 * unit, width - margin - (longest + 1) * font * LETTER
    top, bottom = 150 * unit, height - margin - (len(foot) + 2) * font * 1.4
    columns = max(2, int(right - left))
    drawn = decimate_lines(plot, columns)
    axis = y_scale(plot, drawn, ROWS)
    edges = [points for each in drawn for points in (each.points, *each.band)]
    shown = [axis.row(value) for points in edges for _, value in points if math.isfinite(value)]
    high = max([1.0, *shown, *(tick.position for tick in axis.ticks)]) + 0.2

    def y_of(row: float) -> float:
        return bottom - row / high * (bottom - top)

    def placed(points: Sequence[decimation.Point]) -> list[list[Point]]:
        return [
            [
                (left + (max(column, 0) + 0.5) / columns * (right - left), y_of(axis.row(value)))
                for column, value in part
            ]
            for part in split_at_gaps(points)
        ]

    def area(path: str, color: str) -> str:
        return f'<path d="{path}" fill="{color}" fill-opacity="0.2"/>'

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="{FAMILY}">',
        f'<rect width="{width}" height="{height}" fill="{background}"/>',
        text(margin, margin + 24 * unit, plot.title, foreground, size=34 * unit, more=' font-weight="bold"'),
    ]
    x = margin
    for line in plot.lines:
        value = NO_VALUE if line.mark else value_text(line, plot.kind, plot.end)
        words = line.name if value == NO_VALUE else f"{line.name} {value}"
        parts.append(text(x, margin + 64 * unit, words, line.color, size=font * 1.1))
        x += (len(words) + 3) * font * 1.1 * LETTER
    for tick in axis.ticks:
        y = y_of(tick.position)
        parts.append(f'<path d="M{left:.1f} {y:.1f}H{right:.1f}" stroke="{grid}" stroke-width="{unit:.1f}"/>')
        parts.append(text(left - 14 * unit, y + font * 0.35, tick.label, dim, more=' text-anchor="end"'))
    cells = max(2, int((right - left) / (LABEL * unit) * 8))
    for tick in plot.x_ticks(plot.end, plot.length, cells):
        x = left + (tick.position + 0.5) / cells * (right - left)
        parts.append(text(x, bottom + font * 1.6, tick.label, dim, more=' text-anchor="middle"'))
    for each in drawn:
        if each.band:
            low, high_edge = map(placed, each.band)
            joined = zip(map(_path, low), (_path(over[::-1]) for over in high_edge), strict=False)
            parts.append(area("".join(f"{under}L{over[1:]}Z" for under, over in joined), each.line.color))
    lone = len(drawn) == 1 and not drawn[0].line.mark and not drawn[0].band
    for each in drawn:
        line, lines = each.line, placed(each.points)
        if lone:
            under = (f"{_path(one)}V{bottom:.1f}H{one[0][0]:.1f}Z" for one in lines)
            parts.append(area("".join(under), line.color))
        parts.append(
            f'<path d="{"".join(map(_path, lines))}" fill="none" stroke="{line.color}" '
            f'stroke-width="{4 * unit:.1f}" stroke-linejoin="round" stroke-linecap="round"/>'
        )
        if line.mark:
            circle = f'r="{7 * unit:.1f}" fill="{line.color}"'
            parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" {circle}/>' for one in lines for x, y in one]
    ends = [
        (y_of(axis.row(each.points[-1][1])), each.line)
        for each in drawn
        if each.points and math.isfinite(each.points[-1][1]) and each.points[-1][0] >= columns - 3
    ]
    for y, line in _apart(ends, font * 1.2):
        parts.append(text(right + font * 0.5, y + font * 0.35, line.name, line.color))
    for number, row in enumerate(reversed(foot)):
        parts.append(text(margin, height - margin * 0.6 - number * font * 1.4, row, dim))
    return "\n".join([*parts, "</svg>\n"])


def _path(points: Sequence[Point]) -> str:
    start, *rest = [f"{x:.1f} {y:.1f}" for x, y in points]
    return f"M{start}" + "".join(f"L{point}" for point in rest or [start])


def _apart(ends: Sequence[tuple[float, Line]], least: float) -> list[tuple[float, Line]]:
    """Move the names of lines apart to a distance of ``least`` pixels, from the lowest value up."""
    placed: list[tuple[float, Line]] = []
    for y, line in sorted(ends, key=lambda end: -end[0]):
        placed.append((min(y, placed[-1][0] - least) if placed else y, line))
    return placed


def _wrapped(conditions: Sequence[str], room: int) -> list[str]:
    """Distribute conditions over rows of at most ``room`` characters, without breaking one."""
    rows = [""]
    for condition in filter(None, conditions):
        joined = f"{rows[-1]} · {condition}" if rows[-1] else condition
        if len(joined) > room and rows[-1]:
            rows.append(condition)
        else:
            rows[-1] = joined
    return rows


def conditions(settings: Settings, machine: Mapping[str, object], when: str) -> list[str]:
    """Return the conditions of a measurement for a slide: settings, machine and date."""
    memory = machine.get("memory_total")
    return [
        f"each task {describe(settings.workload)}",
        "traced by tracemalloc" if settings.trace else "untraced",
        str(machine.get("python", "")),
        f"{machine['cores']} cores" if "cores" in machine else "",
        format_bytes(memory) if isinstance(memory, int | float) else "",
        str(machine.get("system", "")),
        when,
    ]
