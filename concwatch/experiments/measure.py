"""One run of a cell in a fresh worker."""

from concwatch.experiments.cell import BURST, Cell
from concwatch.lab.lab import Lab
from concwatch.measure.measurement import measure
from concwatch.measure.result import Outcome, Plan, Result
from concwatch.units import format_count
from concwatch.worker.burst import Burst

NEAR_ALL = 0.99
"""Share of a cell's tasks that must have been live at once."""


class NotMeasuredError(Exception):
    """A run gave no figures; its text says why."""


def plan(cell: Cell) -> Plan:
    """Return what is measured of a cell."""
    burst = Burst(cell.size, cell.chunks, cell.older, cell.read_after) if cell.action == BURST else None
    return Plan(cell.size, cell.seconds, burst, stop=False)


async def run_once(lab: Lab, cell: Cell) -> Result:
    """Run ``cell`` once on a lab of its own, which has one lane and is closed then.

    Raises:
        NotMeasuredError: there are no figures, and why.
    """
    (result,) = await measure(lab, [plan(cell)])
    peak = lab.lanes[0].worker.tally.peak_live
    enough = result.outcome is Outcome.SHORT and peak >= cell.size * NEAR_ALL
    if result.outcome is not Outcome.DONE and not enough:
        let = (
            f": {format_count(peak)} of {format_count(cell.size)} live"
            if result.outcome is Outcome.LIMITED
            else ""
        )
        raise NotMeasuredError(f"{result.reason}{let}")
    if not result.figures:
        raise NotMeasuredError("its worker ended before anything could be read")
    return result
