"""Charts for slides: one chart as SVG, with the conditions of its measurement below."""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from html import escape

from msgspec import Struct

from concwatch.charts import decimation
from concwatch.charts.captions import NO_VALUE, value_text
from concwatch.charts.painters.vector import MarkLook
from concwatch.charts.plot import Line, Plot, decimate_lines, shown_values, split_at_gaps, y_scale
from concwatch.charts.ticks import columns_of
from concwatch.monitor.metrics.settings import Settings, describe
from concwatch.portable.protocol.units import format_bytes

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
        raise ValueError(f'"{text[:40]}" is not a size; expected pixels such as "1920x1080"')
    return int(width), int(height)


def draw_slide(slide: Slide, size: tuple[int, int] = SIZE, scale: float = 1.0) -> str:
    """Return a slide as SVG, the same for the same data.

    Args:
        slide: the chart and its conditions.
        size: width and height in pixels.
        scale: the factor by which text and lines are larger than normal.
    """
    drawing, (width, height) = _SlideDrawing(slide, size, scale), size
    parts = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="{FAMILY}">',
        f'<rect width="{width}" height="{height}" fill="{COLORS[slide.dark][0]}"/>',
        *drawing.title(),
        *drawing.axes(),
        *drawing.bands(),
        *drawing.annotations(),
        *drawing.lines(),
        *drawing.names(),
        *drawing.conditions(),
        "</svg>\n",
    )
    return "\n".join(parts)


class _SlideDrawing:
    """The geometry of a slide, and the SVG elements of its parts."""

    def __init__(self, slide: Slide, size: tuple[int, int], scale: float) -> None:
        self.plot, (width, self.height) = slide.plot, size
        self.unit = unit = min(width / SIZE[0], self.height / SIZE[1]) * scale
        self.background, self.foreground, self.dim, self.grid = COLORS[slide.dark]
        self.font, self.margin = 20 * unit, 48 * unit
        per_row = int((width - 2 * self.margin) / (self.font * LETTER))
        self.foot = _wrapped(slide.conditions, max(10, per_row))
        longest = max((len(line.name) for line in self.plot.lines), default=0)
        self.left = self.margin + 110 * unit
        self.right = width - self.margin - (longest + 1) * self.font * LETTER
        self.top, self.bottom = 150 * unit, self.height - self.margin - (len(self.foot) + 2) * self.font * 1.4
        self.columns = max(2, int(self.right - self.left))
        self.drawn = decimate_lines(self.plot, self.columns)
        self.axis = y_scale(self.plot, shown_values(self.drawn), ROWS)
        edges = [points for each in self.drawn for points in (each.points, *each.band)]
        shown = [self.axis.row(value) for points in edges for _, value in points if math.isfinite(value)]
        self.high = max([1.0, *shown, *(tick.position for tick in self.axis.ticks)]) + 0.2

    def title(self) -> Iterator[str]:
        """Yield the title, and the name and value of each line."""
        x, y = self.margin, self.margin + 24 * self.unit
        yield self._text(x, y, self.plot.title, self.foreground, 34 * self.unit, ' font-weight="bold"')
        for line in filter(lambda line: line.name, self.plot.lines):
            value = line.value or (NO_VALUE if line.mark else value_text(line, self.plot.unit, self.plot.end))
            value = value.strip() or NO_VALUE
            of = f" per {self.plot.value_of}" if self.plot.value_of else ""
            words = line.name if value == NO_VALUE else f"{line.name} {value}{of}"
            yield self._text(x, self.margin + 64 * self.unit, words, line.color, self.font * 1.1)
            x += (len(words) + 3) * self.font * 1.1 * LETTER

    def axes(self) -> Iterator[str]:
        left, right, font, width = self.left, self.right, self.font, f"{self.unit:.1f}"
        for tick in self.axis.ticks:
            y = self._y(tick.exact)
            yield f'<path d="M{left:.1f} {y:.1f}H{right:.1f}" stroke="{self.grid}" stroke-width="{width}"/>'
            end = ' text-anchor="end"'
            yield self._text(left - 14 * self.unit, y + font * 0.35, tick.label, self.dim, more=end)
        cells = max(2, int((right - left) / (LABEL * self.unit) * 8))
        for tick in self.plot.x_ticks(self.plot.end, self.plot.length, cells):
            x = left + tick.exact / cells * (right - left)
            middle = ' text-anchor="middle"'
            yield self._text(x, self.bottom + font * 1.6, tick.label, self.dim, more=middle)

    def bands(self) -> Iterator[str]:
        for each in self.drawn:
            if each.band:
                low, high = map(self._points, each.band)
                joined = zip(map(_path, low), (_path(over[::-1]) for over in high), strict=False)
                yield _area("".join(f"{under}L{over[1:]}Z" for under, over in joined), each.line.color)

    def lines(self) -> Iterator[str]:
        """Yield the lines with their marks, and the area below a single line."""
        single = len(self.drawn) == 1 and not self.drawn[0].line.mark and not self.drawn[0].band
        for each in sorted(self.drawn, key=lambda each: bool(each.line.mark)):
            line, parts = each.line, self._points(each.points)
            dashes = f' stroke-dasharray="{6 * self.unit:.1f} {9 * self.unit:.1f}"' if line.dashed else ""
            width = (2 if line.dashed else 4) * self.unit
            if single:
                under = (f"{_path(part)}V{self.bottom:.1f}H{part[0][0]:.1f}Z" for part in parts)
                yield _area("".join(under), line.color)
            if not parts:
                continue
            yield (
                f'<path d="{"".join(map(_path, parts))}" fill="none" stroke="{line.color}" '
                f'stroke-width="{width:.1f}" stroke-linejoin="round" stroke-linecap="round"{dashes}/>'
            )
            if line.mark:
                look = MarkLook(line.color, self.background, 7 * self.unit, 3 * self.unit)
                yield from (look.svg(line.mark, *point) for part in parts for point in part)

    def annotations(self) -> Iterator[str]:
        """Yield the marks of an axis that is not one of time."""
        if self.plot.over_time:
            return
        places = columns_of(
            [each.time for each in self.plot.annotations], self.plot.end, self.plot.length, self.columns, 1
        )
        for column, each in zip(places, self.plot.annotations, strict=True):
            x = self.left + (column + 0.5) / self.columns * (self.right - self.left)
            line = f"M{x:.1f} {self.top:.1f}V{self.bottom:.1f}"
            width = f'stroke-width="{self.unit:.1f}" stroke-opacity="0.5"'
            yield f'<path d="{line}" stroke="{each.color}" {width}/>'
            yield self._text(x + self.font * 0.4, self.top + self.font, each.text, each.color)

    def names(self) -> Iterator[str]:
        ends = [
            (self._y(row), each.line)
            for each in self.drawn
            if each.line.name
            and each.points
            and math.isfinite(row := self.axis.row(each.points[-1][1]))
            and (each.points[-1][0] >= self.columns - 3 or not self.plot.over_time)
        ]
        for y, line in _apart(ends, self.font * 1.2):
            yield self._text(self.right + self.font * 0.5, y + self.font * 0.35, line.name, line.color)

    def conditions(self) -> Iterator[str]:
        for number, row in enumerate(reversed(self.foot)):
            y = self.height - self.margin * 0.6 - number * self.font * 1.4
            yield self._text(self.margin, y, row, self.dim)

    def _text(self, x: float, y: float, words: str, color: str, size: float = 0.0, more: str = "") -> str:
        attributes = f'x="{x:.1f}" y="{y:.1f}" fill="{color}" font-size="{size or self.font:.1f}"'
        return f"<text {attributes}{more}>{escape(words)}</text>"

    def _y(self, row: float) -> float:
        return self.bottom - row / self.high * (self.bottom - self.top)

    def _points(self, points: Sequence[decimation.Point]) -> list[list[Point]]:
        """Return the pixels of points, split at gaps."""
        width = self.right - self.left
        placed = [(column, self.axis.row(value)) for column, value in points]
        return [
            [
                (self.left + (max(column, 0) + 0.5) / self.columns * width, self._y(row))
                for column, row in part
            ]
            for part in split_at_gaps(placed)
        ]


def _area(path: str, color: str) -> str:
    return f'<path d="{path}" fill="{color}" fill-opacity="0.2"/>'


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


def conditions(
    settings: Settings, machine: Mapping[str, object], when: str, changed: Collection[str] = ()
) -> list[str]:
    """Return the conditions of a measurement for a slide: settings, machine and date.

    ``changed`` has the settings that were changed within what is shown: ``trace``, ``workload``, ``gc``.
    """
    memory = machine.get("memory_total")
    return [
        f"each task {describe(settings.workload)}",
        "before: another workload" if "workload" in changed else "",
        "traced in part" if "trace" in changed else "traced by tracemalloc" if settings.trace else "untraced",
        f"collector {settings.gc}, after another mode" if "gc" in changed else "",
        str(machine.get("python", "")),
        f"{machine['cores']} cores" if "cores" in machine else "",
        format_bytes(memory) if isinstance(memory, int | float) else "",
        str(machine.get("system", "")),
        when,
    ]
