"""What a watched program is known to do at one moment, as metrics: read in the monitor's own thread."""

from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future

from concwatch.exporters.families import EVENTS, INFO, OF_PROCESSES, PROCESSES, Collected, Value
from concwatch.exporters.function_totals import FunctionTotals
from concwatch.monitor.metrics.snapshot import Snapshot
from concwatch.monitor.verdicts.events import KINDS, Kind
from concwatch.monitor.watching.watching import Watching
from concwatch.system.machine import program_version

TIMEOUT = 5.0
"""Seconds that another thread waits for the monitor."""


class Collection:
    """The metrics of a watched program.

    Another thread is answered by the monitor's own one, at its next step: nothing is computed in between, and
    what is read does not change meanwhile.
    """

    def __init__(self) -> None:
        self._watching: Watching | None = None
        self._totals = FunctionTotals()
        self._requests: deque[Future[Sequence[Collected]]] = deque()

    def observe(self, watching: Watching) -> None:
        """Read a program, which the caller steps."""
        self._watching = watching
        watching.observers.append(self._update)

    def wait(self) -> Sequence[Collected]:
        """Return the metrics as of the monitor's next step; not in its thread.

        Raises:
            TimeoutError: it takes no step.
        """
        request: Future[Sequence[Collected]] = Future()
        self._requests.append(request)
        return request.result(TIMEOUT)

    def _update(self, snapshot: Snapshot) -> None:
        while self._requests:
            request = self._requests.popleft()
            try:
                request.set_result(self.at(snapshot))
            except Exception as error:  # the reading fails, not the watching
                request.set_exception(error)

    def cancel(self) -> None:
        """Answer nobody who waits, since the monitor takes no more steps."""
        while self._requests:
            self._requests.popleft().cancel()

    def last(self) -> Sequence[Collected]:
        """Return the metrics now; only in the monitor's thread."""
        return self.at(self._watching.snapshot()) if self._watching else ()

    def at(self, snapshot: Snapshot) -> Sequence[Collected]:
        """Return the metrics as of a snapshot; none may be older than the last one."""
        running = [lane for lane in snapshot.lanes if lane.on]
        found = [Collected(INFO, [((program_version(),), 1)]), Collected(PROCESSES, [((), len(running))])]
        names = [(lane.name.removesuffix(f" {lane.status.pid}"), str(lane.status.pid)) for lane in running]
        for family, read in OF_PROCESSES.items():
            values: list[tuple[tuple[str, ...], Value]] = []
            for labels, lane in zip(names, running, strict=True):
                value = read(lane)
                if value is not None:
                    values.append((labels, value))
            found.append(Collected(family, values))
        self._totals.update(snapshot.lanes)
        found += self._totals.collect()
        # From the beginning, at 0: Prometheus sees no increase in a time series that begins at 1.
        counts: dict[Kind, int] = {**dict.fromkeys(KINDS, 0), **snapshot.event_kinds}
        events = [((kind or "other",), count) for kind, count in sorted(counts.items())]
        return [*found, Collected(EVENTS, events)]
