"""How much memory the tasks of a group take, from how RSS changes with their number."""

import math

from msgspec import Struct

from concwatch.monitor.verdicts.growth import KEPT, WINDOW, trend


class RssSlope(Struct, gc=False):
    """The regression of RSS over live tasks, which is computed when it is asked for."""

    points: list[tuple[int, int]]
    """Live tasks and bytes of RSS; only appended to, so that it is shared with later moments."""
    end: int = 0
    """How many of the points there were at this moment; the last `KEPT` of them count."""
    slope: tuple[float, float] | None = None
    due: bool = True
    """Whether it has not been computed yet."""

    def at(self, live: int) -> float | None:
        """Return the bytes for ``live`` tasks; None unless the slope is positive beyond its 95 % interval.

        Groups whose tasks grow and shrink together are each given the same bytes.
        """
        if self.due:
            points = self.points[max(0, self.end - KEPT) : self.end]
            self.due, self.slope = False, trend([live for live, _ in points], [rss for _, rss in points])
        slope = self.slope
        if slope is None or slope[0] <= slope[1]:
            return None
        return slope[0] * live


class GroupMemory:
    """Estimates the memory of a group: the regression of RSS over live tasks in the last two minutes."""

    def __init__(self) -> None:
        self.slope = RssSlope([])
        self.due = -math.inf
        """From which time on the next point is recorded."""

    def add(self, time: float, live: int, rss: int) -> None:
        """Record live tasks and bytes of RSS at ``time`` in seconds."""
        if time >= self.due:
            self.due = time + WINDOW
            points = self.slope.points
            if len(points) >= 2 * KEPT:
                points = points[-KEPT:]
            points.append((live, rss))
            self.slope = RssSlope(points, len(points))
