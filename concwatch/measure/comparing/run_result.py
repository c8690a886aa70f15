"""The output of ``concwatch run --json`` as one side of a comparison.

Every metric has one value for each run: a single one, without a spread, unless ``--repeats`` was used.
"""

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct, structs
from msgspec.structs import asdict

from concwatch.hosts.host import LOCAL
from concwatch.measure.comparing.side import (
    COMPARED,
    Fact,
    Side,
    Subject,
    joined,
    lane_metrics,
    machine_facts,
)
from concwatch.measure.measured import Measured
from concwatch.monitor.workers.catalog import ON
from concwatch.portable.protocol.units import format_count

KIND = "a result of concwatch run"


BROKEN = ("failed", "failing")
"""The states of a lane whose worker or whose tasks failed."""


class RunFile(Struct, frozen=True):
    """The part of the file that is compared."""

    machine: dict[str, Any]
    workload: str
    lanes: tuple[dict[str, Any], ...]
    concwatch: str = ""


class RunLane(Struct, frozen=True):
    """One engine at one size, without its figures."""

    engine: str
    host: str | None = None
    tasks: int = 0
    state: str = "done"
    reason: str | None = None
    runtime: str | None = None
    flags: tuple[str, ...] = ()
    traced: bool = False
    gc: str = "default"
    peak_live: float | None = None
    failed: float | None = None
    runs: tuple[dict[str, Any], ...] = ()


_Metrics = msgspec.defstruct("_Metrics", [(metric.name, float | None, None) for metric in COMPARED])
"""The metrics of one run."""

_decoder = msgspec.json.Decoder(RunFile)


def read_run(text: bytes, name: str) -> Side:
    """Parse a result; ``name`` is what the comparison calls it.

    Raises:
        ValueError: it is damaged; the message says how.
    """
    file = _decoder.decode(text)
    lanes = [(msgspec.convert(raw, RunLane), raw) for raw in file.lanes]
    if len({lane.host for lane, _ in lanes}) > 1:  # files of one host each stay comparable
        lanes = [(structs.replace(lane, engine=_on_host(lane)), raw) for lane, raw in lanes]
    sizes = len({lane.tasks for lane, _ in lanes}) > 1
    metrics: dict[Subject, Measured] = {}
    for lane, raw in lanes:
        runs = [asdict(msgspec.convert(run, _Metrics)) for run in (lane.runs or (raw,))]
        if lane.runtime is not None:  # its worker started
            metrics.update(lane_metrics(lane.engine, runs, lane.tasks if sizes else None))
    return Side(
        name,
        KIND,
        "concwatch run",
        metrics,
        {**machine_facts(file.machine, file.concwatch), "workload": Fact(file.workload)},
        {lane.engine: _facts(lane) for lane, _ in lanes},
        notes=tuple(note for lane, _ in lanes for note in _notes(lane)),
        states={
            lane.engine: lane.state if lane.state in BROKEN else ""
            for lane, _ in sorted(lanes, key=lambda found: found[0].state in BROKEN)
        },
    )


def _on_host(lane: RunLane) -> str:
    return f"{lane.engine}{ON}{lane.host}" if lane.host else lane.engine


def _facts(lane: RunLane) -> dict[str, Fact]:
    peak = lane.peak_live or 0
    return {
        "host": Fact(lane.host or LOCAL),
        "worker": Fact(joined([lane.runtime or "", *lane.flags])),
        "tracing": Fact("on" if lane.traced else "off"),
        "collector": Fact(lane.gc),
        "tasks live at most": Fact(format_count(peak), float(peak)),
    }


def _notes(lane: RunLane) -> Iterator[str]:
    if lane.state != "done":
        yield f"{lane.engine} {lane.state}: {lane.reason or 'no reason given'}"
    if lane.failed:
        yield f"{lane.engine}: {format_count(lane.failed)} tasks failed"
