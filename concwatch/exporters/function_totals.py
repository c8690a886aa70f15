"""Sums over all processes of a watched program, by function: they never fall, whatever ends."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from operator import add, sub

from concwatch.exporters.families import (
    BLOCKED,
    BLOCKS,
    DURATIONS,
    FUNCTION_ROWS,
    OF_FUNCTIONS,
    Collected,
    Family,
    Kind,
)
from concwatch.monitor.blocks import BlockedPlace
from concwatch.monitor.buckets import EMPTY, Buckets
from concwatch.monitor.group_status import Function, GroupFigures
from concwatch.monitor.metrics import LaneSnapshot

MOST_FUNCTIONS = 50
"""Functions with labels of their own: the first that create tasks, and as many lines that block event loops.
The rest are summed as `OTHER`."""

OTHER = ("other", "", "")

Labels = tuple[str, ...]
Totals = defaultdict[Labels, float]

COUNTERS = tuple(row for row in FUNCTION_ROWS if OF_FUNCTIONS[row.name].kind is Kind.COUNTER)
GAUGES = tuple(row for row in FUNCTION_ROWS if row not in COUNTERS)
"""The metrics of a function: those that are totals, and the others."""

Place = tuple[str, str, str]
"""The cause of blocks, the function that ran, and its file and line."""


class _Counted:
    """What has been counted of a group of one process."""

    __slots__ = ("buckets", "counts", "function", "labels")

    def __init__(self, function: Function, labels: Labels) -> None:
        self.function, self.labels = function, labels
        self.counts: Sequence[float] = [0] * len(COUNTERS)
        self.buckets = EMPTY


class _Process:
    """What has been counted of one process."""

    def __init__(self) -> None:
        self.groups: dict[int, _Counted] = {}
        """By the agent's number of the group."""
        self.blocks: Sequence[BlockedPlace] = ()
        """The blocks as of the last update."""
        self.places: dict[Place, tuple[int, float]] = {}
        """Blocks and blocked seconds of each place."""


class FunctionTotals:
    """Sums over all processes by function. The counters never fall, whatever ends."""

    def __init__(self) -> None:
        self.values: dict[Family, Totals] = {
            family: Totals(float) for family in (*OF_FUNCTIONS.values(), BLOCKS, BLOCKED)
        }
        """The sums of each metric but `DURATIONS`."""
        self._durations: dict[Labels, list[float]] = {}
        """How long tasks took: how many are in each bucket, and last the sum of their seconds."""
        self._processes: dict[tuple[int, float], _Process] = {}
        self._ended: set[tuple[int, float]] = set()
        """The ended processes whose last counts are included."""
        self._functions: set[Labels] = set()
        self._places: set[Labels] = set()

    def update(self, lanes: Iterable[LaneSnapshot]) -> None:
        """Add what has been counted since the last update, and sum up what is live."""
        for row in GAUGES:
            self.values[OF_FUNCTIONS[row.name]] = Totals(float)
        processes, ended = {}, set()
        for lane in lanes:
            process = (lane.status.pid or 0, lane.status.born)
            # The groups of one that has lost its agent are unknown, and come again when it ends.
            known = self._processes.get(process) or _Process()
            if lane.on:
                processes[process] = known
            else:
                ended.add(process)
                if process in self._ended:
                    continue
            self._add_groups(lane.groups, known, lane.on)
            if lane.blocks is not known.blocks:
                self._add_blocks(lane.blocks, known)
        self._processes, self._ended = processes, ended

    def _add_groups(self, groups: Iterable[GroupFigures], known: _Process, running: bool) -> None:
        counters = [self.values[OF_FUNCTIONS[row.name]] for row in COUNTERS]
        gauges = [self.values[OF_FUNCTIONS[row.name]] for row in GAUGES]
        for group in groups:
            number = group.figure("group")
            one = known.groups.get(number)
            if one is None or one.function != group.function:
                one = known.groups[number] = _Counted(group.function, self._label(group.function))
            labels = one.labels
            counts = [row.value(group) or 0 for row in COUNTERS]
            if counts != one.counts:
                for sums, now, then in zip(counters, counts, one.counts, strict=True):
                    sums[labels] += max(0, now - then)
                one.counts = counts
            if group.buckets is not one.buckets:
                self._add_durations(labels, group.buckets, one.buckets)
                one.buckets = group.buckets
            if running:
                for row, sums in zip(GAUGES, gauges, strict=True):
                    sums[labels] += row.value(group) or 0

    def _add_durations(self, labels: Labels, now: Buckets, before: Buckets) -> None:
        if now.seconds < before.seconds:  # of an agent that was loaded again
            before = EMPTY
        added = (*map(sub, now.counts, before.counts), now.seconds - before.seconds)
        self._durations[labels] = list(map(add, self._durations.get(labels, [0] * len(added)), added))

    def _add_blocks(self, blocks: Sequence[BlockedPlace], known: _Process) -> None:
        known.blocks = blocks
        for place in blocks:
            key = place.cause, place.function, place.where
            count, seconds = known.places.get(key, (0, 0.0))
            if place.count > count or place.seconds > seconds:
                labels = self._place_label(*key)
                # A block that goes on may turn out to be shorter than reported; the counters do not fall.
                known.places[key] = max(count, place.count), max(seconds, place.seconds)
                self.values[BLOCKS][labels] += max(0, place.count - count)
                self.values[BLOCKED][labels] += max(0.0, place.seconds - seconds)

    def _label(self, function: Function) -> Labels:
        """Return the labels of a function if it is one of the first `MOST_FUNCTIONS`, else `OTHER`."""
        name, file, line = function
        return _limited((name, file, str(line)), OTHER, self._functions)

    def _place_label(self, cause: str, function: str, where: str) -> Labels:
        """Return the labels of what blocks, in the same way."""
        file, _, line = where.rpartition(":")
        return _limited((cause, function, file, line), (cause, *OTHER), self._places)

    def collect(self) -> Iterable[Collected]:
        """Yield all metrics as of the last update."""
        for family in (*OF_FUNCTIONS.values(), BLOCKS, BLOCKED):
            yield Collected(family, [*self.values[family].items()])
        durations = [
            (labels, Buckets(tuple(map(int, sums[:-1])), sums[-1]))
            for labels, sums in self._durations.items()
        ]
        yield Collected(DURATIONS, durations)


def _limited(labels: Labels, other: Labels, known: set[Labels]) -> Labels:
    """Return ``labels`` if they are among the first, which are kept in ``known``, else ``other``."""
    if len(known) < MOST_FUNCTIONS:
        known.add(labels)
    return labels if labels in known else other
