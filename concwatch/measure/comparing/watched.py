"""A watched program as one side of a comparison: the output of ``watch --json``, or a recording.

Processes of the same name, such as a service's workers, are grouped: each gives one value. Counts are divided
by the seconds, since no two programs run for the same time.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct, structs

from concwatch.measure.comparing.side import Fact, Side, Subject, format_iso, machine_facts
from concwatch.measure.measured import Measured
from concwatch.monitor.metrics.group_status import GROUP_METRICS
from concwatch.monitor.metrics.metric import Metric
from concwatch.monitor.metrics.metrics import COLUMNS, Sample
from concwatch.monitor.metrics.process_status import PROCESS_METRICS, ProcessStatus
from concwatch.monitor.metrics.unit import COUNT
from concwatch.portable.protocol.units import format_seconds
from concwatch.recordings.recording import RecordedLane, Recording

KIND = "a result of concwatch watch"
RECORDING = "a recording of a watched program"


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
    found = {name: _last(samples, name) for name in ProcessStatus.__struct_fields__ if name in COLUMNS}
    return {
        **found,
        "name": lane.name.rpartition(" ")[0] or lane.name,
        "rss_last": samples[-1].rss if samples else None,
        "kernel_last": samples[-1].kernel if samples else None,
        "rss_peak": max((sample.rss or 0 for sample in samples), default=None),
        "live_peak": max((sample.live for sample in samples if sample.live is not None), default=None),
        "lag_p99": lane.state(recording.duration).wake_lag_p99,
        "groups": [
            {"name": group.name, "leak": group.leak, **{row.name: row.value(group) for row in GROUP_METRICS}}
            for group in recording.groups(number, recording.duration)
        ],
    }


def _last(samples: Sequence[Sample], name: str) -> float | None:
    """Return the last known value of a field."""
    known = (value for sample in reversed(samples) if (value := getattr(sample, name)) is not None)
    return next(known, None)


def _metrics(processes: Iterable[Mapping[str, Any]], seconds: float) -> dict[Subject, Measured]:
    """Return the metrics of each process name, and of its groups."""
    values: dict[Subject, list[float]] = {}
    for process in processes:
        role = str(process.get("name") or "process")
        for row in PROCESS_METRICS:
            _add(values, row, process.get(row.name), role, "", seconds)
        for group in process.get("groups") or ():
            if group.get("live_peak"):  # else its tasks ended before they could be sampled
                growth = (group.get("growth") or {}).get("per_minute")  # where older files have it
                for row in GROUP_METRICS:
                    value = group.get(row.name, growth if row.field == "growth" else None)
                    _add(values, row, value, role, f"{group.get('name')}: ", seconds)
    found = {subject: Measured.of(metrics) for subject, metrics in values.items()}
    return {subject: measured for subject, measured in found.items() if measured}


def _add(
    values: dict[Subject, list[float]],
    row: Metric,
    value: float | None,
    role: str,
    group: str,
    seconds: float,
) -> None:
    """Add the value of a metric, if it is compared; a total is divided by the seconds."""
    if not row.compared or value is None:
        return
    name, title, unit, worse = row.name, row.title, row.unit, row.worse
    if row.per_second is not None:
        name, title, unit = structs.astuple(row.per_second)
        value /= seconds
    elif unit is COUNT:
        value = round(value)  # as it is shown
    subject = Subject(role, f"{group}{title}", role, unit, worse, key=f"{group}{name}")
    values.setdefault(subject, []).append(value)


def _leaks(processes: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for process in processes:
        for group in process.get("groups") or ():
            if group.get("leak"):
                yield f"{process.get('name')}: {group.get('name')} leaks"
