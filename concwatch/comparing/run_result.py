"""What ``concwatch run --json`` wrote, as one side of a comparison.

Every figure is taken as it stands there, so its method is that of `concwatch.lab.run`. There is one value of
each, and so no spread.
"""

from typing import Any

import msgspec
from msgspec import Struct

from concwatch.comparing.difference import Measured
from concwatch.comparing.quantity import LANE_FIGURES
from concwatch.comparing.side import Fact, Side, Subject, joined, machine_facts
from concwatch.lab.run import Result
from concwatch.units import format_count

KIND = "a result of concwatch run"


class RunFile(Struct, frozen=True):
    """As much of the object as is compared."""

    machine: dict[str, Any]
    workload: str
    lanes: tuple[Result, ...]
    concwatch: str = ""


_decoder = msgspec.json.Decoder(RunFile)


def read_run(text: bytes, name: str) -> Side:
    """Read the result called ``name``.

    Raises:
        ValueError: it is damaged: how.
    """
    file = _decoder.decode(text)
    figures = {}
    for result in file.lanes:
        for key, named in LANE_FIGURES.items():
            measured = Measured.of([getattr(result, key)])
            if measured is not None and result.runtime is not None:  # else its worker never came up
                figures[Subject(result.engine, named.title, named.quantity, result.engine, key=key)] = (
                    measured
                )
    return Side(
        name,
        KIND,
        "concwatch run",
        figures,
        {**machine_facts(file.machine, file.concwatch), "workload": Fact(file.workload)},
        {result.engine: _facts(result) for result in file.lanes},
        notes=tuple(note for result in file.lanes for note in _notes(result)),
    )


def _facts(result: Result) -> dict[str, Fact]:
    return {
        "worker": Fact(joined([result.runtime or "", *result.flags])),
        "tracing": Fact("on" if result.traced else "off"),
        "collector": Fact(result.gc),
        "tasks live at most": Fact(format_count(result.peak_live), float(result.peak_live)),
    }


def _notes(result: Result) -> list[str]:
    notes = []
    if result.state != "done":
        notes.append(f"{result.engine} {result.state}: {result.reason or 'no reason given'}")
    if result.failed:
        notes.append(f"{result.engine}: {format_count(result.failed)} tasks failed")
    return notes
