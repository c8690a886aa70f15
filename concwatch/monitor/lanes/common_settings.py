"""The settings that all lanes of a lab have in common, and the commands that change them."""

from collections.abc import Callable, Sequence

from msgspec import structs

from concwatch.monitor.lanes.lane import Lane
from concwatch.monitor.lanes.servers import ServerKeeper
from concwatch.monitor.metrics.observable import Observable
from concwatch.monitor.metrics.settings import Settings
from concwatch.portable.protocol.units import format_count
from concwatch.portable.protocol.workloads import parse
from concwatch.portable.worker.collector import MODES


class CommonSettings:
    """The common settings; each command changes one of them in every lane, marks the moment and logs it.

    Args:
        settings: the settings at the start.
        servers: the servers that tasks connect to.
        lanes: all lanes.
        log: where commands are marked and logged.
        apply: applies changed settings to the lanes.

    Raises:
        ValueError: one line: why the server that tasks are to connect to cannot run.
    """

    def __init__(
        self,
        settings: Settings,
        servers: ServerKeeper,
        lanes: Sequence[Lane],
        log: Observable,
        apply: Callable[[Settings], None],
    ) -> None:
        self.current = servers.with_server(settings)
        self._servers, self._lanes, self._log, self._apply = servers, lanes, log, apply

    def set_workload(self, spec: str) -> None:
        """Set what each task does.

        Raises:
            ValueError: one line; nothing is changed.
        """
        settings = structs.replace(self.current, workload=parse(spec).spec)
        self._change(self._servers.with_server(settings))
        self._tell("workload", self.current.workload, f"workload {self.current.workload}")

    def set_refill(self, on: bool) -> None:
        """Set whether a task that ends is replaced."""
        effect = "on: a task that ends is replaced" if on else "off: a target is started once"
        self._change(structs.replace(self.current, refill=on))
        self._tell("refill", on_off(on), f"refill {effect}")

    def set_trace(self, on: bool) -> None:
        """Set whether allocations are traced."""
        again = " · lanes restart at the same target" if any(lane.wanted for lane in self._lanes) else ""
        effect = "on: rates and times include its cost" if on else "off"
        self._change(structs.replace(self.current, trace=on))
        self._tell("trace", on_off(on), f"tracing {effect}{again}")

    def set_gc(self, mode: str) -> None:
        """Set the mode of the garbage collector, one of `MODES`."""
        assert mode in MODES
        self._change(structs.replace(self.current, gc=mode))
        self._tell("gc", mode, f"collector {mode}")

    def set_threads(self, count: int) -> None:
        """Set the number of threads of a pool."""
        self._change(structs.replace(self.current, threads=count))
        self._tell("threads", format_count(count), f"pool of {format_count(count)} threads")

    def check_server(self) -> None:
        """Start the server that tasks connect to again if it has died."""
        try:
            settings = self._servers.with_server(self.current)
        except ValueError as error:
            self._log.log("", str(error), "error")
        else:
            if settings != self.current:
                self._change(settings)

    def adopt_workload(self) -> None:
        """Adopt the workload of a running lane if every lane has refused the common one."""
        running = [lane.worker.settings.current.workload for lane in self._lanes if lane.on]
        if running and self.current.workload not in running:
            self.current = structs.replace(self.current, workload=running[0])

    def _change(self, settings: Settings) -> None:
        self.current = settings
        self._apply(settings)

    def _tell(self, name: str, mark: str, event: str) -> None:
        self._log.mark(name, mark)
        self._log.log("", event)


def on_off(on: bool) -> str:
    """Return "on" or "off"."""
    return "on" if on else "off"
