"""What measures the engines of a screen one after another and alone, in the background."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

from msgspec import structs

from concwatch.monitor.lanes.lab import Lab
from concwatch.monitor.metrics.settings import Settings
from concwatch.monitor.metrics.snapshot import Snapshot
from concwatch.monitor.workers.catalog import Engine

MakeLab = Callable[[Sequence[Engine], Settings], Lab]


class MeasuredAlone(ABC):
    """Measures each engine untraced in a lab of its own, once the lanes of the screen have been stopped.

    Args:
        make_lab: creates the lab of an engine.
        engines: the engines, in their order.
        settings: the settings of the screen.
    """

    def __init__(self, make_lab: MakeLab, engines: Sequence[Engine], settings: Settings) -> None:
        self.engines = engines
        self.settings = structs.replace(settings, trace=False)
        self.running: str | None = None
        """The engine that is measured."""
        self.progress = ""
        """What it is doing."""
        self.problem = ""
        """Why it was aborted."""
        self.lab: Lab | None = None
        """The lab of the engine that was measured last."""
        self._make_lab = make_lab
        self._monitor: Lab | None = None
        self._task: asyncio.Task[None] | None = None

    @abstractmethod
    async def measure(self, lab: Lab) -> None:
        """Measure the only engine of a lab, which nothing else runs; close the lab."""

    @property
    def finished(self) -> bool:
        """Whether it is over."""
        return self._task is not None and self._task.done()

    def start(self, monitor: Lab) -> None:
        """Start it in the background; first stop the lanes of ``monitor``."""
        self._monitor = monitor
        self._task = asyncio.get_running_loop().create_task(self._run(monitor))

    async def _run(self, monitor: Lab) -> None:
        try:
            await _stop_all(monitor)
            for engine in self.engines:
                self.lab = self._make_lab([engine], self.settings)
                self.running, self.progress = engine.name, "starting"
                await self.measure(self.lab)
        except Exception as error:  # shown, as it does not concern the monitor
            self.problem = " ".join(str(error).split()) or type(error).__name__
        finally:
            self.running = None

    def report(self, text: str) -> None:
        """Set what the running engine is doing."""
        self.progress = text

    def say(self, text: str) -> None:
        """Log what has been found in the monitor, whose recording then has it, too."""
        if self._monitor is not None:
            self._monitor.log("", text)

    def stop(self) -> None:
        """Stop it, and keep what has been measured."""
        if self._task is not None:
            self._task.cancel()

    async def close(self) -> None:
        """Stop it, and wait until its worker has exited."""
        self.stop()
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)

    def kill(self) -> None:
        """Kill its worker immediately."""
        if self.lab is not None:
            self.lab.kill()


async def _stop_all(monitor: Lab) -> None:
    """Stop all lanes, and wait until they have ended."""
    quiet = asyncio.Event()

    def observe(_: Snapshot) -> None:
        if monitor.fleet.quiet:
            quiet.set()

    monitor.observers.append(observe)
    try:
        monitor.stop_all()
        await quiet.wait()
    finally:
        monitor.observers.remove(observe)
