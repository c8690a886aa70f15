"""What a lane's tasks cost, for the chart of memory added over live tasks."""

import math
from collections.abc import Mapping, Sequence

from msgspec import Struct

from concwatch.monitor.metrics.metrics import LaneSnapshot, known_cost
from concwatch.monitor.metrics.series import Samples

Point = tuple[float, float]
"""Live tasks, and bytes of memory, RSS and kernel, above those of the idle worker."""

STEP = 1.02
"""The ratio of two numbers of tasks from which on a curve has a point for each."""

CLOSE, STANDING = 1.3, 0.5
"""The ratio of the tasks of two reports up to which memory read between them is that of their mean; and the
seconds after which a number of tasks stands."""

FIRST = 10
"""Tasks from which on a forecast is drawn for a lane that has none."""

LEAST = 4096
"""Bytes below which memory is not drawn: one page."""


class CostCurve:
    """The memory that a lane's tasks added as their number grew, since it was last without tasks.

    It rises with the most tasks so far and ends there; while fewer are live, it stays as it is.
    """

    def __init__(self, idle: float) -> None:
        """Create the curve of a worker that had ``idle`` bytes of memory before its first task."""
        self.points: list[Point] = []
        """The points, by the number of tasks."""
        self.now: Point | None = None
        """Where the lane is; None without tasks."""
        self.idle = idle
        self._ended = False
        self._level, self._since = 0.0, 0.0  # the tasks of the last report, and since when they are the same

    def extend(self, times: Sequence[float], live: Sequence[float], used: Sequence[float]) -> None:
        """Add samples: times, live tasks, and bytes of memory; NaN where they are not known.

        A sample has the tasks of the last report before its memory was read. While many start, they are fewer
        than those that use the memory, so it counts only if hardly more are in the next report, or if their
        number stands.
        """
        for time, tasks, memory in zip(times, live, used, strict=True):
            if not tasks > 0 or math.isnan(memory):
                self.now, self._ended, self._level = None, True, 0.0
                continue
            if self._ended:
                self.points, self._ended = [], False
            before, self.now = self.now, (tasks, max(memory - self.idle, LEAST))
            if tasks != self._level:
                if before and self._level < tasks <= CLOSE * self._level:
                    self._add(((self._level + tasks) / 2, before[1]))
                self._level, self._since = tasks, time
            elif time - self._since >= STANDING:
                self._add(self.now)

    def _add(self, point: Point) -> None:
        if point[1] <= LEAST:  # as when not all hosts of a row have reported yet: no price of a task
            return
        most = self.points[-1][0] if self.points else 0.0
        if point[0] > most * STEP:
            self.points.append(point)
        elif point[0] >= most / STEP:
            self.points[-1] = most, point[1]


def cost_curve(series: Samples, idle: float, start: float = -math.inf) -> CostCurve:
    """Return the curve of a lane's samples since ``start``."""
    found = CostCurve(idle)
    found.extend(*_values(series, start))
    return found


def _values(series: Samples, start: float) -> tuple[Sequence[float], Sequence[float], Sequence[float]]:
    (times, live), (_, rss) = series.since("live", start), series.since("rss", start)
    _, kernel = series.since("kernel", start)
    first = 1 if len(times) and times[0] <= start else 0
    memory = [one if math.isnan(more) else one + more for one, more in zip(rss, kernel, strict=True)]
    return times[first:], live[first:], memory[first:]


class LaneCost(Struct, frozen=True):
    """What the chart of the cost draws of one lane."""

    curve: Sequence[Point] = ()
    now: Point | None = None
    """Where it is; None without tasks."""
    behind: tuple[Point, Point] | None = None
    """Fewer tasks than those measured, at the same cost each."""
    ahead: tuple[Point, Point] | None = None
    """The forecast, from where it is to the limit that it will meet first; None while it is off."""
    ghost: Point | None = None
    """Where it would be with the tasks that its slider is held at."""
    fits: int = 0
    """The limit, in tasks."""
    per_task: float | None = None
    """Bytes of memory of one task, as measured."""


def lane_cost(lane: LaneSnapshot, found: CostCurve | None, held: int | None = None) -> LaneCost:
    """Return what is drawn of a lane.

    Args:
        lane: its state.
        found: its curve; None before it had a worker.
        held: the tasks that its slider is held at; None if it is not.
    """
    status, now = lane.status, found.now if found else None
    each = status.bytes_per_task
    points = found.points if found else []
    ahead = ghost = behind = None
    first = points[0] if points else now
    if first and first[0] > FIRST:
        behind = (FIRST, first[1] * FIRST / first[0]), first
    if lane.on or held is not None:
        start = now or (FIRST, max(1.0, each * FIRST))
        end = max(status.fits, held or 0)
        if end > start[0]:
            ahead = start, (end, max(each * end, start[1]))
    if held:
        ghost = (held, between(ahead, held) if ahead and held > ahead[0][0] else max(LEAST, each * held))
    return LaneCost(points, now, behind, ahead, ghost, status.fits, known_cost(lane))


def between(ends: tuple[Point, Point], tasks: float) -> float:
    """Return the bytes at ``tasks`` on the line through two points, both axes logarithmic."""
    (start, low), (end, high) = ends
    return low * math.pow(high / low, math.log(tasks / start) / math.log(end / start))


class CostCurves:
    """The curves of all lanes of a screen, extended with each snapshot."""

    def __init__(self) -> None:
        self._curves: dict[str, tuple[float, CostCurve]] = {}  # by lane: when it was last extended

    def costs(
        self,
        lanes: Sequence[LaneSnapshot],
        series: Sequence[Samples],
        now: float,
        held: Mapping[int, int] | None = None,
    ) -> list[LaneCost]:
        """Return what is drawn of each lane.

        Args:
            lanes: the lanes at ``now``.
            series: the series of each.
            now: seconds on their clock; earlier than the last time after a jump in a recording.
            held: lane → the tasks that its slider is held at.
        """
        return [
            lane_cost(
                lane,
                self._extended(lane, samples.band.total if samples.band else samples, now),
                (held or {}).get(number),
            )
            for number, (lane, samples) in enumerate(zip(lanes, series, strict=True))
        ]

    def _extended(self, lane: LaneSnapshot, series: Samples, now: float) -> CostCurve | None:
        idle = lane.idle_memory
        until, found = self._curves.get(lane.name, (math.inf, None))
        if idle is None:
            return found
        if found is None or found.idle != idle or now < until:
            until, found = lane.status.born, CostCurve(idle)
        found.extend(*_values(series, until))
        self._curves[lane.name] = now, found
        return found
