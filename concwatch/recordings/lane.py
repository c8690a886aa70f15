"""One lane of a recording."""

import math
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

import msgspec

from concwatch.lab.events import plain
from concwatch.lab.series import METRICS
from concwatch.recordings.format import COLUMNS, Engine, LaneLine, Sample
from concwatch.recordings.past import RecordedSeries
from concwatch.recordings.timeline import Timeline

_sample = msgspec.json.Decoder(Sample)

CHUNK = 1_000
"""Samples decoded at once: what they take stays in the processor's cache."""


class RecordedLane:
    """The samples of one lane, and what changed slowly."""

    def __init__(
        self,
        engine: Engine,
        times: "array[float]",
        metrics: "Mapping[str, array[float]]",
        lines: Sequence[bytes],
        changes: Iterable[LaneLine],
    ) -> None:
        """Keep what was read.

        Args:
            engine: what the header says of it.
            times: when each sample was taken, ascending.
            metrics: of each of `METRICS` one value a sample, NaN for what was not known.
            lines: the line of each sample, all of which can be read.
            changes: what changed slowly.
        """
        self.engine = engine
        self.name = " ".join(plain(engine.name).split())  # tables have it in a line
        self.times = times
        """When each sample was taken, seconds since the recording began."""
        self.series = RecordedSeries(times, metrics)
        """All samples, as charts read them."""
        self.changes = Timeline(changes)
        """What changed slowly."""
        self._lines = lines

    def __len__(self) -> int:
        return len(self.times)

    def state(self, at: float) -> LaneLine:
        """Give what holds at ``at``, in seconds, of all that changes slowly."""
        found = self.changes.at(at)
        if found is not None or not self.changes.entries:
            return found or LaneLine(at, 0)
        first = self.changes.entries[
            0
        ]  # its lab has not come in yet: what a task weighs is known all the same
        return LaneLine(at, first.lane, bytes_per_task=first.bytes_per_task, missing=first.missing)

    def sample(self, at: float) -> Sample | None:
        """Give the newest sample at ``at``, in seconds, of the worker that there was then."""
        born = self.state(at).born
        index = bisect_right(self.times, at) - 1
        if index < 0 or self.times[index] <= born:
            return None
        return _sample.decode(self._lines[index])

    def samples(self) -> Iterable[Sample]:
        """Give all samples, oldest first."""
        return map(_sample.decode, self._lines)

    @cached_property
    def columns(self) -> "Mapping[str, array[float]]":
        """Every column but the lane's number, one value a sample, NaN for what was not known.

        The first look takes time: seconds for an hour of six lanes. The charts do without.
        """
        names = COLUMNS[1:]
        found = {name: array("d") for name in names}
        for start in range(0, len(self._lines), CHUNK):
            samples = list(map(_sample.decode, self._lines[start : start + CHUNK]))
            for name, column in found.items():
                values = (getattr(sample, name) for sample in samples)
                column.extend(array("d", [math.nan if value is None else value for value in values]))
        found["time"] = self.times
        return found


def no_metrics() -> "dict[str, array[float]]":
    """Give the metrics of a lane without a sample."""
    return {metric: array("d") for metric in METRICS}
