"""A recording as one side of a comparison.

The metrics are those of `concwatch.monitor.metrics.metrics`, read as in ``concwatch run``: from the samples
of each worker at its peak of live tasks, and at its end. Each worker whose peak is near the lane's gives one
value.
"""

from collections.abc import Iterator, Sequence

from concwatch.measure.comparing.side import (
    Fact,
    Side,
    Subject,
    format_iso,
    joined,
    lane_metrics,
    machine_facts,
)
from concwatch.measure.measured import Measured
from concwatch.monitor.metrics.metrics import LaneSnapshot, Sample, measured_values
from concwatch.monitor.workers.cost import NEAR_ALL
from concwatch.portable.protocol.units import counted, format_count, format_seconds
from concwatch.recordings.recording import RecordedLane, Recording

KIND = "a recording"


def read_recording(recording: Recording, name: str) -> Side:
    """Return the metrics and facts of a recording; ``name`` is what the comparison calls it."""
    metrics: dict[Subject, Measured] = {}
    facts: dict[str, dict[str, Fact]] = {}
    notes: list[str] = []
    for lane in recording.lanes:
        workers = list(_workers(lane))
        most = max((held.status.peak_live for held, _ in workers), default=0)
        if not most:
            continue  # it never ran a task
        counting = [pair for pair in workers if pair[0].status.peak_live >= most * NEAR_ALL]
        metrics.update(lane_metrics(lane.name, [measured_values(held, last) for held, last in counting]))
        facts[lane.name] = _facts(recording, counting[-1][0], most)
        failed = sum(last.failed for _, last in workers)
        if failed:
            notes.append(f"{lane.name}: {format_count(failed)} tasks failed")
    if recording.cut:
        notes.insert(0, f"{recording.cut}: compared as far as it goes")
    if recording.damaged:
        notes.insert(0, f"{counted(recording.damaged, 'damaged line')} skipped")
    length = Fact(format_seconds(recording.duration), recording.duration)
    return Side(
        name,
        KIND,
        f"recorded {format_iso(recording.header.began)} UTC, {length.text}",
        metrics,
        {**machine_facts(recording.header.machine, recording.header.concwatch), "length": length},
        facts,
        notes=tuple(notes),
    )


def _workers(lane: RecordedLane) -> Iterator[tuple[LaneSnapshot, LaneSnapshot]]:
    """Yield the snapshots of each worker of the lane at its last peak of live tasks, and at its end."""
    samples: list[Sample] = []
    for sample in lane.samples():
        if sample.live is None:  # no worker is running
            yield from _ends(lane, samples)
            samples = []
        else:
            samples.append(sample)
    yield from _ends(lane, samples)


def _ends(lane: RecordedLane, samples: Sequence[Sample]) -> Iterator[tuple[LaneSnapshot, LaneSnapshot]]:
    most = max((sample.live or 0 for sample in samples), default=0)
    if most:
        held = next(sample for sample in reversed(samples) if (sample.live or 0) >= most * NEAR_ALL)
        # The samples of a worker that is stopping do not count.
        last = next((one for one in reversed(samples) if lane.state(one.time).state.on), held)
        yield _snapshot(lane, held), _snapshot(lane, last)


def _snapshot(lane: RecordedLane, sample: Sample) -> LaneSnapshot:
    return LaneSnapshot(lane.engine, lane.state(sample.time), sample)


def _facts(recording: Recording, held: LaneSnapshot, most: int) -> dict[str, Fact]:
    """Return the conditions when the lane had the most tasks live."""
    settings = recording.snapshot(held.sample.time).settings
    return {
        "worker": Fact(joined([held.status.runtime or "", *held.status.flags])),
        "workload": Fact(settings.workload),
        "tracing": Fact("off" if held.sample.traced is None else "on"),
        "collector": Fact(settings.gc),
        "tasks live at most": Fact(format_count(most), float(most)),
    }
