"""One step of a sweep as a cell of an experiment: so many tasks, each replaced as it ends."""

import asyncio

from concwatch.measure.experiments.cell import ExperimentCell, NotMeasuredError
from concwatch.measure.measurement import rss_curve, while_stepping
from concwatch.measure.result import Result
from concwatch.measure.sweep.engine_sweep import EngineSweep
from concwatch.measure.sweep.step_metrics import step_values
from concwatch.monitor.lanes.lab import Lab


async def run_step(lab: Lab, cell: ExperimentCell) -> Result:
    """Measure the step of ``cell`` once on ``lab``, which has one lane, and close the lab.

    Raises:
        NotMeasuredError: there are no figures; the message says why.
    """
    clock, lane = asyncio.get_running_loop().time, lab.lanes[0]
    began, since = clock(), lab.clock()
    sweep = EngineSweep(lab, lane, cell.size, cell.size, cell.seconds)
    found = await while_stepping(lab, sweep.run())
    if not found.steps or found.failed:
        raise NotMeasuredError(found.ended_by)
    (step,) = found.steps
    return Result(
        lane.engine.name,
        cell.size,
        runtime=found.runtime,
        flags=list(sweep.seen.status.flags),
        metrics=step_values(step),
        limited_by=step.limited_by,
        live=cell.size,
        seconds=clock() - began,
        own_seconds=step.seconds,
        rss_curve=rss_curve(lab, lane, since),
    )
