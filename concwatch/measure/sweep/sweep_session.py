"""The session of ``concwatch sweep``: sweeps engines one after another, and collects the results."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from concwatch.measure.measurement import while_stepping
from concwatch.measure.sweep.engine_sweep import EngineSweep
from concwatch.measure.sweep.repeats import merge
from concwatch.measure.sweep.sweep_result import SweepResult
from concwatch.monitor.lanes.lab import Lab
from concwatch.monitor.verdicts.events import Event
from concwatch.monitor.workers.catalog import Engine
from concwatch.system.machine import describe_machine, program_version


@dataclass
class SweepSession:
    """What to sweep, and the results so far."""

    engines: Sequence[Engine]
    first: int
    """The fewest tasks, or threads of a pool."""
    last: int
    """The most."""
    seconds: float
    """The most seconds for which a step is measured."""
    repeats: int = 1
    tasks: int | None = None
    """How many tasks are live if ``first`` and ``last`` are threads of a pool; None if they are tasks."""
    sweeps: dict[str, list[SweepResult]] = field(default_factory=dict)
    """Those started so far, by engine: one for each repeat."""
    events: list[Event] = field(default_factory=list)

    async def run(
        self,
        make_lab: Callable[[Sequence[Engine]], Lab],
        progress: Callable[[Lab, str, str], None],
    ) -> None:
        """Sweep all engines. The results so far stay valid if this is cancelled.

        Args:
            make_lab: creates a lab for some engines, with `HZ` samples per second.
            progress: called with the lab, a lane's name, and what the lane is doing.
        """
        for engine in self.engines:
            for _ in range(self.repeats):
                lab = make_lab([engine])
                say = partial(progress, lab, engine.name)
                sweep = EngineSweep(lab, lab.lanes[0], self.first, self.last, self.seconds, say, self.tasks)
                self.sweeps.setdefault(engine.name, []).append(sweep.result)
                try:
                    await while_stepping(lab, sweep.run())
                finally:
                    self.events += lab.events.since(0)

    @property
    def results(self) -> list[SweepResult]:
        """The result of each engine so far, of all its repeats."""
        return [merge(sweeps) for sweeps in self.sweeps.values()]

    def as_json(self, workload: str) -> dict[str, object]:
        """Return the object of ``concwatch sweep --json``; ``workload`` is what each task did."""
        return {
            "concwatch": program_version(),
            "machine": describe_machine(),
            "workload": workload,
            "engines": [result.as_json() for result in self.results],
        }
