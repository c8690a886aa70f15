"""A race: the engines of a screen, one after another and alone, to the same number of tasks."""

from collections.abc import Sequence

from concwatch.charts.cost import CostCurves, LaneCost, cost_curve, lane_cost
from concwatch.measure.measurement import measure
from concwatch.measure.result import Plan, Result
from concwatch.monitor.lanes.lab import Lab
from concwatch.monitor.metrics.series import Samples
from concwatch.monitor.metrics.settings import Settings
from concwatch.monitor.workers.catalog import Engine
from concwatch.ui.sources.alone import MakeLab, MeasuredAlone

HOLD = 2.0
"""Seconds for which the tasks are held."""


class Race(MeasuredAlone):
    """Measures each engine as ``concwatch run`` does."""

    def __init__(self, make_lab: MakeLab, engines: Sequence[Engine], settings: Settings, tasks: int) -> None:
        """Create a race of ``engines`` to ``tasks`` tasks, with the workload of ``settings``."""
        super().__init__(make_lab, engines, settings)
        self.tasks = tasks
        self.results: list[Result] = []
        """The results so far, in the order of the engines."""
        self._curves = CostCurves()
        self._costs: dict[str, LaneCost] = {}

    def costs(self) -> dict[str, LaneCost]:
        """Return what the chart of the cost draws of each engine so far."""
        if self.running is None or self.lab is None:
            return self._costs
        now = self.lab.snapshot()
        [lane] = now.lanes
        return {**self._costs, lane.name: self._curves.costs([lane], now.series, lane.sample.time)[0]}

    async def measure(self, lab: Lab) -> None:
        """Measure one engine."""
        [result] = await measure(lab, [Plan(self.tasks, HOLD)], lambda _, text: self.report(text))
        self.results.append(result)
        self._keep_cost(result, lab.snapshot().series[0])

    def _keep_cost(self, result: Result, series: Samples) -> None:
        """Keep the curve of an engine that has been measured, with its most tasks as where it is."""
        held = result.held
        if held is not None and held.idle_memory is not None:
            found = cost_curve(series, held.idle_memory)
            found.now = found.points[-1] if found.points else None
            self._costs[result.engine] = lane_cost(held, found)
