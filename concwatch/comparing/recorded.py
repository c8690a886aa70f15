"""A recording, as one side of a comparison.

Figures are those of ``concwatch run``, as far as a recording holds them. A lane's ticks are those of its
samples, each once, worker by worker.

* RSS and traced bytes a task: the cost that was known with each sample near the peak, over the worker's own
  idle baseline. Near the peak means `NEAR_ALL` of the most tasks that the lane ever had live, as for
  `concwatch.lab.run`, while no more tasks come and go than `SETTLED` allows. Costs that earlier tasks may
  have spoiled are left out, and nothing is known of fewer than `LEAST_LIVE` tasks. Median and range are over
  those samples.
* Created: the rate of each target that was reached, as its worker timed it; median and range over targets.
* Completed: the most tasks that ended by themselves in any second (`BestSecond`), as for ``concwatch run``.
* Lag p99: over all ticks with tasks live at the one before, or created since, so that idling does not count.
* In GC: seconds of all workers together, each from its start to its last tick.
* Peak RSS: the highest of all samples; between two samples it may have been higher.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from concwatch.comparing.difference import Measured
from concwatch.comparing.quantity import LANE_FIGURES
from concwatch.comparing.side import Fact, Side, Subject, joined, machine_facts, tell_moment
from concwatch.lab.cost import LEAST_LIVE, SETTLED
from concwatch.lab.rates import BestSecond
from concwatch.lab.run import NEAR_ALL, at_work, percentile
from concwatch.recordings.format import Sample
from concwatch.recordings.lane import RecordedLane
from concwatch.recordings.recording import Recording
from concwatch.units import counted, format_count, format_seconds

KIND = "a recording"


def read_recording(recording: Recording, name: str) -> Side:
    """Read the recording called ``name``."""
    figures, facts, notes = {}, {}, []
    for lane in recording.lanes:
        samples = list(lane.samples())
        workers = list(_workers(lane, samples))
        most = max((tick.live or 0 for ticks in workers for tick in ticks), default=0)
        if not most:
            continue  # it never had a task
        for key, measured in _figures(lane, samples, workers, most).items():
            named = LANE_FIGURES[key]
            if measured is not None:
                figures[Subject(lane.name, named.title, named.quantity, lane.name, key=key)] = measured
        facts[lane.name] = _facts(recording, lane, workers, most)
        failed = sum(ticks[-1].failed or 0 for ticks in workers)
        if failed:
            notes.append(f"{lane.name}: {format_count(failed)} tasks failed")
    if recording.cut:
        notes.insert(0, f"{recording.cut}: compared with what is there")
    if recording.damaged:
        notes.insert(0, f"{counted(recording.damaged, 'damaged line')} passed over")
    length = Fact(format_seconds(recording.duration), recording.duration)
    return Side(
        name,
        KIND,
        f"recorded {tell_moment(recording.header.began)} UTC, {length.text}",
        figures,
        {**machine_facts(recording.header.machine, recording.header.concwatch), "length": length},
        facts,
        notes=tuple(notes),
    )


def _workers(lane: RecordedLane, samples: Sequence[Sample]) -> Iterator[list[Sample]]:
    """Give the ticks of each worker that the lane had, oldest first: the first sample of each tick."""
    ticks: list[Sample] = []
    born = 0.0
    for sample in samples:
        before, born = born, lane.state(sample.time).born
        if ticks and born != before:
            yield ticks
            ticks = []
        known = sample.tick_time is not None and sample.live is not None
        if known and not (ticks and sample.tick_time == ticks[-1].tick_time):
            ticks.append(sample)
    if ticks:
        yield ticks


def _figures(
    lane: RecordedLane, samples: Sequence[Sample], workers: Sequence[Sequence[Sample]], most: int
) -> dict[str, Measured | None]:
    peak = list(_near_peak(lane, workers, most))
    lags = [tick.tick_lag for ticks in workers for tick in _busy(ticks) if tick.tick_lag is not None]
    collected = [seconds for ticks in workers if (seconds := _last_gc(ticks)) is not None]
    return {
        "rss_per_task": Measured.of(sample.cost_rss for sample in peak),
        "traced_per_task": Measured.of(sample.cost_traced for sample in peak),
        "create_rate": Measured.of(_create_rates(lane)),
        "completion_rate": Measured.of([max(map(_best_second, workers))]),
        "wake_lag_p99": Measured.of([percentile(lags, 0.99)]),
        "gc_seconds": Measured.of([sum(collected)] if collected else []),
        "peak_rss": Measured.of([max(sample.rss or 0 for sample in samples) or None]),
    }


def _near_peak(lane: RecordedLane, workers: Sequence[Sequence[Sample]], most: int) -> Iterator[Sample]:
    """Give the samples whose cost counts."""
    enough = max(LEAST_LIVE, NEAR_ALL * most)
    for ticks in workers:
        for before, tick in pairwise(ticks):
            live = tick.live or 0
            settled = abs(live - (before.live or 0)) <= SETTLED * live
            # A cost stays until there is a newer one: that of fewer tasks is not of the peak.
            taken = settled and live >= enough and (tick.cost_live or 0) >= enough
            if taken and lane.state(tick.time).cost_clean:
                yield tick


def _create_rates(lane: RecordedLane) -> Iterator[float]:
    """Give the rate of each target reached; lines in which something else changed repeat the last."""
    last: tuple[float, float | None] = (0.0, None)
    for change in lane.changes.entries:
        now = (change.born, change.create_speed)
        if change.create_speed is not None and now != last:
            yield change.create_speed
        last = now


def _best_second(ticks: Sequence[Sample]) -> float:
    best = BestSecond()
    for tick in ticks:
        if tick.tick_time is not None and tick.completed is not None:
            best.add(tick.tick_time, tick.completed)
    return best.best


def _busy(ticks: Sequence[Sample]) -> Iterator[Sample]:
    for before, tick in zip([ticks[0], *ticks], ticks, strict=False):
        if at_work(before, tick):
            yield tick


def _last_gc(ticks: Sequence[Sample]) -> float | None:
    return next((tick.gc for tick in reversed(ticks) if tick.gc is not None), None)


def _facts(
    recording: Recording, lane: RecordedLane, workers: Sequence[Sequence[Sample]], most: int
) -> dict[str, Fact]:
    """Say what held when the lane had the most tasks live."""
    top = next(tick for ticks in workers for tick in ticks if tick.live == most)
    state, settings = lane.state(top.time), recording.view(top.time).settings
    return {
        "worker": Fact(joined([state.runtime or "", *state.flags])),
        "workload": Fact(settings.workload),
        "tracing": Fact("off" if top.traced is None else "on"),
        "collector": Fact(settings.gc),
        "tasks live at most": Fact(format_count(most), float(most)),
    }
