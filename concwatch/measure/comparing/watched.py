"""A watched program as one side of a comparison: the output of ``watch --json``, or a recording.

Processes of the same name, such as a service's workers, are grouped: each gives one value. Counts are divided
by the seconds, since no two programs run for the same time.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct, to_builtins

from concwatch.measure.comparing.side import Fact, Side, Subject, format_iso, machine_facts
from concwatch.measure.measured import Measured
from concwatch.monitor.metrics import Sample
from concwatch.monitor.unit import BYTES, COUNT, RATE, SECONDS, SHARE, Unit
from concwatch.protocol.units import format_seconds
from concwatch.recordings.recording import RecordedLane, Recording

KIND = "a result of concwatch watch"
RECORDING = "a recording of a watched program"

METRICS: dict[str, tuple[str, Unit, int]] = {
    "rss_last": ("RSS at the end", BYTES, 1),
    "rss_peak": ("peak RSS", BYTES, 1),
    "cpu": ("CPU", SHARE, 1),
    "lag_p99": ("lag p99", SECONDS, 1),
    "created_per_second": ("created", RATE, 0),
    "live_peak": ("peak live", COUNT, 1),
    "live_at_end": ("live at end", COUNT, 1),
    "mean_life": ("mean life", SECONDS, 1),
    "growth_per_minute": ("growth a minute", COUNT, 1),
    "retained": ("retained", COUNT, 1),
    "left_over": ("left over", COUNT, 1),
    "destroyed": ("destroyed", COUNT, 1),
}
"""Figure of a process or of a group → its title, its unit, and 1 if more is worse."""

PER_SECOND = ("cpu", "created_per_second")
"""Figures that are totals in the file, and are compared per second."""


class WatchFile(Struct, frozen=True):
    """The part of the file that is compared."""

    command: tuple[str, ...]
    processes: tuple[dict[str, Any], ...]
    seconds: float = 0.0


_decoder = msgspec.json.Decoder(WatchFile)


def read_watch(text: bytes, name: str) -> Side:
    """Parse a result; ``name`` is what the comparison calls it.

    Raises:
        ValueError: it is damaged; the message says how.
    """
    file = _decoder.decode(text)
    seconds = max(file.seconds, 1e-3)
    return Side(
        name,
        KIND,
        f"concwatch watch, {format_seconds(seconds)}",
        _metrics(file.processes, seconds),
        {"command": Fact(" ".join(file.command)[:200]), "length": Fact(format_seconds(seconds), seconds)},
        notes=tuple(_leaks(file.processes)),
    )


def read_watch_recording(recording: Recording, name: str) -> Side:
    """Return the metrics and facts of a recording; ``name`` is what the comparison calls it."""
    processes = [_recorded(recording, number, lane) for number, lane in enumerate(recording.lanes)]
    length = Fact(format_seconds(recording.duration), recording.duration)
    return Side(
        name,
        RECORDING,
        f"recorded {format_iso(recording.header.began)} UTC, {length.text}",
        _metrics(processes, max(recording.duration, 1e-3)),
        {**machine_facts(recording.header.machine, recording.header.concwatch), "length": length},
        notes=tuple(_leaks(processes)),
    )


def _recorded(recording: Recording, number: int, lane: RecordedLane) -> dict[str, Any]:
    """Return a recorded process as ``watch --json`` writes it."""
    samples = [sample for sample in lane.samples() if sample.rss is not None]
    status = lane.state(recording.duration)
    return {
        "name": lane.name.rpartition(" ")[0] or lane.name,
        "rss_last": samples[-1].rss if samples else None,
        "rss_peak": max((sample.rss or 0 for sample in samples), default=None),
        "cpu_seconds": _maximum(samples, "cpu_seconds"),
        "created": _maximum(samples, "created"),
        "live_peak": _maximum(samples, "live"),
        "lag_p99": status.wake_lag_p99,
        "groups": [to_builtins(group) for group in recording.groups(number, recording.duration)],
    }


def _maximum(samples: Iterable[Sample], name: str) -> float | None:
    return max((value for sample in samples if (value := getattr(sample, name)) is not None), default=None)


def _metrics(processes: Iterable[Mapping[str, Any]], seconds: float) -> dict[Subject, Measured]:
    """Return the metrics of each process name, and of its groups."""
    values: dict[Subject, list[float]] = {}
    for process in processes:
        role = str(process.get("name") or "process")
        rows = [("", {**process, "cpu": process.get("cpu_seconds")})]
        for group in process.get("groups") or ():
            if group.get("live_peak"):  # else its tasks ended before they could be sampled
                growth = group.get("growth") or {}
                rate = growth.get("per_minute")  # shown in whole tasks
                metrics = {**group, "growth_per_minute": None if rate is None else round(rate)}
                rows.append((f"{group.get('name')}: ", metrics))
        for start, metrics in rows:
            metrics["created_per_second"] = metrics.get("created")
            for name, (title, unit, worse) in METRICS.items():
                if metrics.get(name) is None:
                    continue
                subject = Subject(role, f"{start}{title}", role, unit, worse, key=f"{start}{name}")
                over = seconds if name in PER_SECOND else 1.0
                values.setdefault(subject, []).append(metrics[name] / over)
    found = {subject: Measured.of(metrics) for subject, metrics in values.items()}
    return {subject: measured for subject, measured in found.items() if measured}


def _leaks(processes: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for process in processes:
        for group in process.get("groups") or ():
            if group.get("leak"):
                yield f"{process.get('name')}: {group.get('name')} leaks"
