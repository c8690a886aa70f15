"""A race: the engines of a screen, one after another and alone, to the same number of tasks."""

import asyncio
from collections.abc import Callable, Sequence

from msgspec import structs

from concwatch.charts.cost import CostCurves, LaneCost, cost_curve, lane_cost
from concwatch.measure.measurement import measure
from concwatch.measure.result import Plan, Result
from concwatch.monitor.catalog import Engine
from concwatch.monitor.lab import Lab
from concwatch.monitor.series import Samples
from concwatch.monitor.settings import Settings
from concwatch.monitor.snapshot import Snapshot

HOLD = 2.0
"""Seconds for which the tasks are held."""


class Race:
    """Measures each engine as ``concwatch run`` does, untraced."""

    def __init__(
        self,
        make_lab: Callable[[Sequence[Engine], Settings], Lab],
        engines: Sequence[Engine],
        settings: Settings,
        tasks: int,
    ) -> None:
        """Create a race of ``engines`` to ``tasks`` tasks, with the workload of ``settings``."""
        self.engines = engines
        self.tasks = tasks
        self.settings = structs.replace(settings, trace=False)
        self.results: list[Result] = []
        """The results so far, in the order of the engines."""
        self.running: str | None = None
        """The engine that is measured."""
        self.progress = ""
        """What it is doing."""
        self.problem = ""
        """Why the race was aborted."""
        self._make_lab = make_lab
        self._lab: Lab | None = None
        self._curves = CostCurves()
        self._costs: dict[str, LaneCost] = {}
        self._task: asyncio.Task[None] | None = None

    @property
    def finished(self) -> bool:
        """Whether it is over."""
        return self._task is not None and self._task.done()

    def costs(self) -> dict[str, LaneCost]:
        """Return what the chart of the cost draws of each engine so far."""
        if self.running is None or self._lab is None:
            return self._costs
        now = self._lab.snapshot()
        [lane] = now.lanes
        return {**self._costs, lane.name: self._curves.costs([lane], now.series, lane.sample.time)[0]}

    def start(self, monitor: Lab) -> None:
        """Start it in the background, once the lanes of the screen have been stopped."""
        self._task = asyncio.get_running_loop().create_task(self._run(monitor))

    async def _run(self, monitor: Lab) -> None:
        try:
            await _stop_all(monitor)
            for engine in self.engines:
                self._lab = self._make_lab([engine], self.settings)
                self.running, self.progress = engine.name, "starting"
                [result] = await measure(self._lab, [Plan(self.tasks, HOLD)], self._report)
                self.results.append(result)
                self._keep_cost(result, self._lab.snapshot().series[0])
        except Exception as error:  # shown, as it does not concern the monitor
            self.problem = " ".join(str(error).split()) or type(error).__name__
        finally:
            self.running = None

    def _report(self, _: str, text: str) -> None:
        self.progress = text

    def _keep_cost(self, result: Result, series: Samples) -> None:
        """Keep the curve of an engine that has been measured, with its most tasks as where it is."""
        held = result.held
        if held is not None and held.idle_memory is not None:
            found = cost_curve(series, held.idle_memory)
            found.now = found.points[-1] if found.points else None
            self._costs[result.engine] = lane_cost(held, found)

    async def close(self) -> None:
        """Stop it, and wait until its worker has exited."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def kill(self) -> None:
        """Kill its worker immediately."""
        if self._lab is not None:
            self._lab.kill()


async def _stop_all(monitor: Lab) -> None:
    """Stop all lanes, and wait until they have ended."""
    quiet = asyncio.Event()

    def observe(_: Snapshot) -> None:
        if monitor.quiet:
            quiet.set()

    monitor.observers.append(observe)
    try:
        monitor.stop_all()
        await quiet.wait()
    finally:
        monitor.observers.remove(observe)
