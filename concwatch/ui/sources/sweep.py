"""A sweep on the screen: how many tasks at once are enough, for each engine of the screen."""

from collections.abc import Sequence

from concwatch.measure.measurement import while_stepping
from concwatch.measure.sweep.engine_sweep import EngineSweep
from concwatch.measure.sweep.sweep_result import SweepResult
from concwatch.monitor.lanes.lab import Lab
from concwatch.monitor.metrics.settings import Settings
from concwatch.monitor.workers.catalog import Engine
from concwatch.ui.sources.alone import MakeLab, MeasuredAlone

SECONDS = 3.0
"""The most seconds for which a step is measured."""


class Sweep(MeasuredAlone):
    """Sweeps each engine as ``concwatch sweep`` does."""

    def __init__(self, make_lab: MakeLab, engines: Sequence[Engine], settings: Settings, last: int) -> None:
        """Create a sweep of ``engines`` up to ``last`` tasks, with the workload of ``settings``."""
        super().__init__(make_lab, engines, settings)
        self.last = last
        self.results: list[SweepResult] = []
        """The results so far, in the order of the engines; the last one may still be measured."""

    def sentences(self) -> list[str]:
        """Return how many tasks are enough for each engine that has been measured, and what limits it."""
        return [result.summary() for result in self.results if result.engine != self.running]

    async def measure(self, lab: Lab) -> None:
        """Sweep one engine."""
        sweep = EngineSweep(lab, lab.lanes[0], 1, self.last, SECONDS, self.report)
        self.results.append(sweep.result)
        await while_stepping(lab, sweep.run())
        self.say(sweep.result.summary())
