"""Rows of the table as data, and functions to measure each with its reference."""

import asyncio
import re
import statistics
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import psutil

from concwatch.monitor.lanes.lab import Lab

BUSY = 15.0
"""Per cent of the machine that other programs may use when a measurement begins; otherwise it waits."""

PATIENCE = 20.0
"""Seconds that one benchmark waits in total for a quiet machine."""

MIB = 1 << 20


@dataclass
class RowValues:
    """The results of one row: one value per round, in the row's unit, and those of its reference."""

    values: list[float] = field(default_factory=list)
    reference: list[float] = field(default_factory=list)
    detail: dict[str, object] = field(default_factory=dict)

    @property
    def middle(self) -> float:
        """The median of the rounds."""
        return statistics.median(self.values)

    @property
    def reference_middle(self) -> float | None:
        """The median of the reference's rounds."""
        return statistics.median(self.reference) if self.reference else None

    @property
    def ratio(self) -> float | None:
        """Measured over reference."""
        reference = self.reference_middle
        return self.middle / reference if reference else None


@dataclass(frozen=True)
class Quantity:
    """One row of the table: what is measured, its unit, and its reference."""

    name: str
    what: str
    unit: str
    reach: str = ""
    """The aim: ``≤ 100 ms``, or for the ratio to the reference ``≥ 0.9 ×`` or ``1 ± 0.05 ×``."""
    against: str = ""

    def is_reached(self, found: RowValues) -> bool | None:
        """Return whether the aim is reached; None if there is no aim, or no ratio."""
        value = found.ratio if self.reach.endswith("×") else found.middle
        if not self.reach or value is None:
            return None
        word, limit = re.match(r"(≥|≤|1 ±) ([\d.]+)", self.reach).groups()
        if word == "1 ±":
            return abs(value - 1) <= float(limit)
        return value >= float(limit) if word == "≥" else value <= float(limit)


Measure = Callable[[bool], Mapping[str, RowValues]]
"""Measures all rows of a benchmark; takes whether to be quick, and returns the results by row name."""


@dataclass(frozen=True)
class Benchmark:
    """Rows that are measured together because they share a reference or a run."""

    rows: tuple[Quantity, ...]
    measure: Measure


BENCHMARKS: dict[str, Benchmark] = {}
"""All benchmarks by name, in the order of the table."""


def benchmark(name: str, *rows: Quantity) -> Callable[[Measure], Measure]:
    """Return a decorator that registers a function as a benchmark of these rows."""

    def add(measure: Measure) -> Measure:
        assert name not in BENCHMARKS, name
        assert len({row.name for row in rows}) == len(rows), name
        BENCHMARKS[name] = Benchmark(rows, measure)
        return measure

    return add


class QuietMachine:
    """Waits for a quiet machine, and records how busy it was when a measurement began."""

    busy: list[float]
    """Per cent of the machine in use before each measurement of this benchmark."""

    def begin(self, quick: bool) -> None:
        """Start a benchmark; a ``quick`` one does not wait."""
        self.busy = []
        self._patience = 0.0 if quick else PATIENCE

    def wait(self) -> None:
        """Wait for a quiet machine, within the limit of this benchmark."""
        busy = psutil.cpu_percent(0.3)
        while busy > BUSY and self._patience > 0:
            self._patience -= 0.5
            busy = psutil.cpu_percent(0.5)
        self.busy.append(busy)


quiet = QuietMachine()


def alternate(rounds: int, **measures: Callable[[], float | Sequence[float]]) -> dict[str, list[float]]:
    """Run all ``measures`` in turn, ``rounds`` times (A B A B); return each one's values."""
    found: dict[str, list[float]] = {name: [] for name in measures}
    for _ in range(rounds):
        for name, measure in measures.items():
            quiet.wait()
            values = measure()
            found[name].extend([values] if isinstance(values, int | float) else values)
    return found


def against(rounds: int, worker: Callable[[], float], bare: Callable[[], float]) -> RowValues:
    """Measure both in turn, ``rounds`` times, the reference first."""
    found = alternate(rounds, bare=bare, worker=worker)
    return RowValues(found["worker"], found["bare"])


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value below which ``share`` of ``values`` lie (nearest rank)."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, round(share * len(ordered) + 0.5) - 1))]


@asynccontextmanager
async def running(lab: Lab) -> AsyncIterator[Lab]:
    """Run a lab in the block; close it afterwards."""
    stepping = asyncio.create_task(lab.run())
    try:
        yield lab
    finally:
        stepping.cancel()
        await lab.close()
