"""The output of ``concwatch sweep --json`` as one side of a comparison.

A figure has one value, and its range is its 95 % interval: it has changed if the intervals do not overlap.
All of them follow from the steps again, as in the sweep itself.
"""

from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import Struct

from concwatch.measure.comparing.side import Fact, Side, Subject, machine_facts
from concwatch.measure.measured import Measured
from concwatch.measure.sweep.knee import IntervalEstimate
from concwatch.measure.sweep.sweep_result import FIGURES, TASKS, Step, SweepResult
from concwatch.portable.protocol.text import flat
from concwatch.portable.protocol.units import format_count

KIND = "a result of concwatch sweep"

COMPARED = {
    "knee": ("enough at once", 0),
    "knee_throughput": ("throughput with these", -1),
    "knee_p99": ("p99 with these", 1),
    "best_throughput": ("best throughput", -1),
    "peak": ("highest with", 0),
    "contention": ("contention σ", 1),
    "crosstalk": ("crosstalk κ", 1),
}
"""Figure → its title, and whether more (1) or less (-1) is worse."""


class SweptEngine(Struct, frozen=True):
    """One engine."""

    engine: str
    steps: tuple[Step, ...] = ()
    over: str = TASKS
    runtime: str | None = None
    ended_by: str | None = None
    failed: bool = False


class SweepFile(Struct, frozen=True):
    """The part of the file that is compared."""

    machine: dict[str, Any]
    workload: str
    engines: tuple[SweptEngine, ...]
    concwatch: str = ""


_decoder = msgspec.json.Decoder(SweepFile)


@dataclass(frozen=True)
class Estimated(Measured):
    """A value between the ends of its 95 % interval, which is the range that is compared."""

    @classmethod
    def with_interval(cls, estimate: IntervalEstimate) -> "Estimated":
        """Return an estimate as measured."""
        return cls((estimate.low, estimate.value, estimate.high))

    @property
    def median(self) -> float:
        """The value itself."""
        return self.values[1]

    @property
    def count(self) -> int:
        """The number of values."""
        return 1


def read_sweep(text: bytes, name: str) -> Side:
    """Parse a result; ``name`` is what the comparison calls it.

    Raises:
        ValueError: it is damaged; the message says how.
    """
    file = _decoder.decode(text)
    metrics: dict[Subject, Measured] = {}
    missing: dict[Subject, str] = {}
    for found in file.engines:
        result = SweepResult(flat(found.engine), found.over, list(found.steps), found.ended_by or "")
        for figure, estimate in result.estimates.items():
            title, worse = COMPARED[figure]
            if figure == "knee" and found.over != TASKS:
                title = f"enough {flat(found.over)}"
            moves = "knee" if figure == "knee" else ""
            subject = Subject(
                result.engine, title, result.engine, FIGURES[figure], worse, key=figure, moves=moves
            )
            if estimate is not None:
                metrics[subject] = Estimated.with_interval(estimate)
            elif found.steps:
                missing[subject] = _why(result, figure)
    return Side(
        name,
        KIND,
        "concwatch sweep, ranges are 95 % intervals",
        metrics,
        {**machine_facts(file.machine, file.concwatch), "workload": Fact(file.workload)},
        {found.engine: _facts(found) for found in file.engines},
        missing,
        tuple(f"{each.engine} ended: {flat(each.ended_by)}" for each in file.engines if each.ended_by),
        {each.engine: "failed" if each.failed else "" for each in file.engines},
    )


def _why(result: SweepResult, figure: str) -> str:
    if figure.startswith("knee") and result.knee is None:
        return f"throughput rises up to {format_count(result.steps[-1].tasks)} {result.over}"
    if figure == "peak":
        return "throughput does not fall"
    return "no law fits" if result.law is None else "not known"


def _facts(found: SweptEngine) -> dict[str, Fact]:
    most = max((step.tasks for step in found.steps), default=0)
    return {
        "worker": Fact(found.runtime or ""),
        "over": Fact(found.over),
        "most tried": Fact(format_count(most), float(most)),
    }
