"""What a benchmark is made of: rows as data, and the measuring of each beside its reference."""

import os
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parents[2]
"""The checkout; everything that is measured is started from here."""

PYTHON = sys.executable

BUSY = 15.0
"""Per cent of the machine that others may use when a measurement begins; above it is waited for."""


def environment() -> dict[str, str]:
    """Return the environment of what is measured: this one, with bytecode cached as it is for a user."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPATH": str(ROOT), "TERM": "xterm-256color", "COLORTERM": "truecolor"}


@dataclass(frozen=True)
class Reach:
    """The figure that is to be reached: ``at least`` or ``at most`` ``limit``, or ``within`` it of 1."""

    word: str
    limit: float
    of: str = "ratio"
    """Whether the limit is for the ``ratio`` of measured to reference, or for what was ``measured``."""

    def holds(self, measured: float, ratio: float | None) -> bool | None:
        """Return whether it is reached; None where there is no ratio."""
        value = ratio if self.of == "ratio" else measured
        if value is None:
            return None
        holds = {
            "at least": value >= self.limit,
            "at most": value <= self.limit,
            "within": abs(value - 1) <= self.limit,
        }
        return holds[self.word]


@dataclass(frozen=True)
class Row:
    """One line of the table: what is measured, in which unit, against what."""

    name: str
    what: str
    unit: str
    against: str = ""
    reach: Reach | None = None


@dataclass
class Measured:
    """What came out for one row: one value a round, in the row's unit, and those of its reference."""

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


Measure = Callable[[bool], Mapping[str, Measured]]
"""Measures all rows of a benchmark, by row name; smaller and shorter if told to be quick."""


@dataclass(frozen=True)
class Benchmark:
    """Rows that are measured together, since they share a reference or a run."""

    name: str
    rows: tuple[Row, ...]
    measure: Measure


PATIENCE = 20.0
"""Seconds that one benchmark waits in all for others to leave the machine alone."""


class Quiet:
    """Waits until others leave the machine alone, and notes how busy it was when a measurement began."""

    def __init__(self) -> None:
        self.busy: list[float] = []
        """Per cent of the machine in use before each measurement of this benchmark."""
        self._patience = PATIENCE

    def begin(self, quick: bool) -> None:
        """Begin a benchmark; a ``quick`` one does not wait."""
        self.busy.clear()
        self._patience = 0.0 if quick else PATIENCE

    def wait(self) -> None:
        """Wait, as long as there is patience."""
        busy = psutil.cpu_percent(0.3)
        while busy > BUSY and self._patience > 0:
            self._patience -= 0.5
            busy = psutil.cpu_percent(0.5)
        self.busy.append(busy)


quiet = Quiet()


def alternate(rounds: int, **measures: Callable[[], float | Sequence[float]]) -> dict[str, list[float]]:
    """Run all ``measures`` in turn, ``rounds`` times: A B A B; give each one's values."""
    found: dict[str, list[float]] = {name: [] for name in measures}
    for _ in range(rounds):
        for name, measure in measures.items():
            quiet.wait()
            values = measure()
            found[name].extend([values] if isinstance(values, int | float) else values)
    return found


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value below which ``share`` of ``values`` lie (nearest rank)."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, round(share * len(ordered) + 0.5) - 1))]
