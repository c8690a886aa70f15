"""Charts in pictures of the screen: the lines of a picture in cells, drawn as vectors over them."""

import math
from collections.abc import Iterator, Sequence

from msgspec import Struct

from concwatch.charts.decimation import Point
from concwatch.charts.painters.picture import Picture
from concwatch.charts.painters.terminal import SHADE_OPACITY
from concwatch.charts.plot import DecimatedLine, Plot, decimate_lines, split_at_gaps
from concwatch.charts.ticks import CELL

FINER = 8
"""Columns of points in a cell."""

STROKE, THIN = 0.085, 0.05
"""The thickness of lines, and of axes and marks, relative to the height of a cell."""

DOT = 0.23
"""The radius of a dot, relative to the height of a cell."""


class Vectors(Struct, frozen=True):
    """The plot of a chart as vectors: the same data, axes and colours as its picture in cells."""

    plot: Plot
    picture: Picture
    axis: str
    grid: str
    """``#rrggbb``"""
    background: str | None = None

    @property
    def colors(self) -> list[str]:
        """The colours of everything that is drawn, without the background."""
        lines = [line.color for line in self.plot.lines]
        return list(dict.fromkeys([self.axis, self.grid, *lines, *(m.color for m in self.picture.markers)]))

    def svg(self, cell: tuple[float, float]) -> str:
        """Return the elements of an SVG, from the plot's upper left corner; ``cell``: width and height."""
        return "".join(_Drawing(self, cell).parts())


class _Drawing:
    """The geometry of one plot."""

    def __init__(self, vectors: Vectors, cell: tuple[float, float]) -> None:
        self.plot, self.picture, self.look = vectors.plot, vectors.picture, vectors
        self.wide, self.high = cell
        self.width = self.picture.columns * self.wide
        self.columns = self.picture.columns * FINER
        together = FINER if self.plot.over_time else FINER // CELL
        drawn = [] if self.picture.word else decimate_lines(self.plot, self.columns, together)
        drawn.reverse()  # what lies on top is drawn last
        self.drawn = sorted(drawn, key=lambda each: (bool(each.line.mark), each.line.top))
        self.stroke, self.thin = STROKE * self.high, THIN * self.high
        self.base = self.y(0.0)

    def y(self, row: float) -> float:
        return (self.picture.rows - min(row, self.picture.rows - 0.75) - 0.5) * self.high

    def parts(self) -> Iterator[str]:
        picture, look = self.picture, self.look
        for tick in picture.scale.ticks:
            if tick.position:
                yield self._line(
                    0, self.width, self.y(tick.exact), look.grid, f' stroke-dasharray="1 {self.wide / 3:.1f}"'
                )
        for each in self.drawn:
            yield from self._area(each)
        yield self._line(-self.wide / 2, self.width, self.base, look.axis)
        for tick in picture.across:
            yield self._upright(
                (tick.position + 0.5) * self.wide, self.base - self.high / 4, self.base, look.axis
            )
        for marker in picture.markers:
            x, dashes = (marker.column + 0.5) * self.wide, f' stroke-dasharray="{self.high / 8:.1f}"'
            if marker.full_height:
                yield self._upright(x, 0, self.base, marker.color, dashes)
        if picture.cursor is not None:
            yield self._upright((picture.cursor + 0.5) * self.wide, 0, self.base, look.axis)
        for each in self.drawn:
            yield from self._joined(each)
        for each in self.drawn:
            yield from self._marks(each)
        size = self.wide / 3
        for marker in picture.markers:
            if not marker.full_height:
                x, y = (marker.column + 0.5) * self.wide, self.base
                corners = f"M{x:.1f} {y - size:.1f}L{x + size:.1f} {y + size:.1f}H{x - size:.1f}Z"
                yield f'<path d="{corners}" fill="{marker.color}"/>'

    def _line(self, x: float, end: float, y: float, color: str, more: str = "") -> str:
        return f'<path d="M{x:.1f} {y:.1f}H{end:.1f}" stroke="{color}" stroke-width="{self.thin:.2f}"{more}/>'

    def _upright(self, x: float, y: float, end: float, color: str, more: str = "") -> str:
        return f'<path d="M{x:.1f} {y:.1f}V{end:.1f}" stroke="{color}" stroke-width="{self.thin:.2f}"{more}/>'

    def _points(self, points: Sequence[Point]) -> list[list[tuple[float, float]]]:
        """Return the pixels of points, split at gaps and at values that are not on the axis."""
        placed = [(column, self.picture.scale.row(value)) for column, value in points]
        return [
            [((max(column, 0) + 0.5) / self.columns * self.width, self.y(row)) for column, row in part]
            for part in split_at_gaps(placed)
        ]

    def _area(self, each: DecimatedLine) -> Iterator[str]:
        filled = f'fill="{each.line.color}" fill-opacity="{SHADE_OPACITY}"'
        if each.band:
            low, high = map(self._points, each.band)
            for under, over in zip(low, high, strict=False):
                yield f'<path d="{_path(under)}L{_path(over[::-1])[1:]}Z" {filled}/>'
        elif any(line.filled and line.color == each.line.color for line in self.picture.lines):
            for part in self._points(each.points):
                yield f'<path d="{_path(part)}V{self.base:.1f}H{part[0][0]:.1f}Z" {filled}/>'

    def _joined(self, each: DecimatedLine) -> Iterator[str]:
        path = "".join(map(_path, self._points(each.points)))
        if path:
            dashes = (
                f' stroke-dasharray="{self.wide / 3:.1f} {self.wide / 2:.1f}"' if each.line.dashed else ""
            )
            width = self.stroke * (0.6 if each.line.dashed else 1)
            yield (
                f'<path d="{path}" fill="none" stroke="{each.line.color}" stroke-width="{width:.2f}" '
                f'stroke-linejoin="round" stroke-linecap="round"{dashes}/>'
            )

    def _marks(self, each: DecimatedLine) -> Iterator[str]:
        if mark := each.line.mark:
            look = MarkLook(each.line.color, self.look.background or "none", DOT * self.high, self.stroke)
            yield from (look.svg(mark, *point) for part in self._points(each.points) for point in part)


class MarkLook(Struct, frozen=True):
    """How marks at points are drawn."""

    color: str
    background: str
    """Inside an empty mark."""
    radius: float
    stroke: float
    """The thickness of its line."""

    def svg(self, mark: str, x: float, y: float) -> str:
        """Return a mark at a point: a cross for ``×``, an empty circle for ``○``, else a full one."""
        if mark == "×":
            size = self.radius * math.sqrt(0.5)
            lines = "".join(
                f"M{x - size:.1f} {y - side * size:.1f}L{x + size:.1f} {y + side * size:.1f}"
                for side in (1, -1)
            )
            return f'<path d="{lines}" stroke="{self.color}" stroke-width="{self.stroke:.2f}"/>'
        inside = self.background if mark == "○" else self.color
        return (
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{self.radius:.1f}" fill="{inside}" '
            f'stroke="{self.color}" stroke-width="{self.stroke:.2f}"/>'
        )


def _path(points: Sequence[tuple[float, float]]) -> str:
    start, *rest = [f"{x:.1f} {y:.1f}" for x, y in points]
    return f"M{start}" + "".join(f"L{point}" for point in rest or [start])
