"""One lane of a recording."""

import math
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from itertools import starmap

import msgspec
from msgspec.structs import replace

from concwatch.lab.series import RATES
from concwatch.lab.snapshot import EngineFacts, LaneStatus, Sample, blank_sample
from concwatch.recordings.format import LaneLine
from concwatch.recordings.history import RecordedSeries, Timeline
from concwatch.text import flat, plain

_sample = msgspec.json.Decoder(Sample)

CHUNK = 1_000
"""Samples decoded at once: what they take stays in the processor's cache."""


class RecordedLane:
    """The samples of one lane, and what changed slowly."""

    def __init__(
        self,
        engine: EngineFacts,
        times: "array[float]",
        metrics: "Mapping[str, array[float]]",
        lines: Sequence[bytes],
        changes: Iterable[LaneLine],
    ) -> None:
        """Keep what was read: times ascending, a value (or NaN) of each of `METRICS` and a line a sample."""
        self.name = flat(plain(engine.name))  # tables have it in a line
        self.engine = replace(engine, name=self.name)
        self.times = times
        """When each sample was taken, seconds since the recording began."""
        self.series = RecordedSeries(times, metrics)
        """All samples, as charts read them."""
        self.changes = Timeline(changes)
        """What changed slowly."""
        self._lines = lines

    def __len__(self) -> int:
        return len(self.times)

    def state(self, at: float) -> LaneStatus:
        """Return what holds at ``at``, in seconds, of all that changes seldom."""
        found = self.changes.at(at)
        if found is not None or not self.changes.entries:
            return found or LaneStatus()
        # Its lab has not come in yet: what a task weighs is known all the same.
        first = self.changes.entries[0]
        return LaneStatus(
            bytes_per_task=first.bytes_per_task,
            fits=first.fits,
            fits_wall=first.fits_wall,
            missing=first.missing,
        )

    def parts(self, at: float) -> tuple[EngineFacts, LaneStatus, Sample]:
        """Return what its snapshot at ``at``, in seconds, is made of."""
        return self.engine, self.state(at), self.sample(at) or blank_sample(0, -math.inf)

    def sample(self, at: float) -> Sample | None:
        """Return the newest sample at ``at``, in seconds, of the worker that there was then."""
        born = self.state(at).born
        index = bisect_right(self.times, at) - 1
        if index < 0 or self.times[index] <= born:
            return None
        return self._sample(index, self._lines[index])

    def _sample(self, index: int, line: bytes) -> Sample:
        """Return sample number ``index``, with the rates that came with a later tick."""
        sample = _sample.decode(line)
        rates = {
            metric: self.series.value(metric, index) for metric in RATES if getattr(sample, metric) is None
        }
        known = {metric: value for metric, value in rates.items() if math.isfinite(value)}
        return replace(sample, **known) if known else sample

    def samples(self) -> Iterable[Sample]:
        """Return all samples, oldest first."""
        return starmap(self._sample, enumerate(self._lines))
