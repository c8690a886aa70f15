"""The target of one worker: sends it, and handles the worker's reports on it."""

from collections.abc import Callable

from msgspec import structs

from concwatch.links.messages import BurstDone, Limit, Reached
from concwatch.monitor.metrics.target import target_of
from concwatch.monitor.workers.connection import Connection
from concwatch.monitor.workers.creation import creation
from concwatch.monitor.workers.worker_log import WorkerLog, burst_text, limit_text, reached_text
from concwatch.monitor.workers.worker_stats import WorkerStats
from concwatch.portable.worker.burst import Burst
from concwatch.system.machine import Load
from concwatch.system.process import Reading


class WorkerTarget:
    """What one worker is asked to hold, and how far it has got; time is passed in, in seconds.

    Args:
        tasks: the initial target.
        connection: where the target is sent to.
        stats: what is known about the worker; the baseline and the creation of a target are added.
        log: the log of the worker's reports.
        load: returns the CPU time used on the machine.
    """

    def __init__(
        self,
        tasks: int,
        connection: Connection,
        stats: WorkerStats,
        log: WorkerLog,
        load: Callable[[], Load],
    ) -> None:
        self.current = target_of(tasks)
        self.burst_refused = ""
        """Why the worker refused the last burst."""
        self._connection = connection
        self._stats = stats
        self._log = log
        self._load = load
        self._reached: Reached | None = None  # received since the last tick
        # When the target was set: the load of the machine, and a reading of the worker.
        self._load_before: tuple[Load, Reading | None] | None = None

    def set(self, tasks: int) -> None:
        """Set the number of live tasks to hold, of which nothing is granted yet."""
        self.current = target_of(tasks)
        self._load_before = self._load_now()

    def grant(self, tasks: int) -> None:
        """Allow the worker to hold ``tasks`` of the target at present; `send` sends that."""
        self.current = self.current.grant(tasks)

    def send(self) -> None:
        """Send how many tasks are granted."""
        if self._stats.untouched:
            # Read just before the first task, with all settings applied.
            self._stats.set_baseline(self._connection.reading())
        self._stats.untouched = self._stats.untouched and self.current.tasks == 0
        self._connection.send("target", tasks=self.current.granted)

    def start(self) -> None:
        """Send the target that was set before the worker was running, if any."""
        if self.current.tasks:
            self._load_before = self._load_now()
            self.send()

    def stop(self) -> None:
        """Set the target to 0, but keep what was asked for, for the next worker."""
        self.current = structs.replace(self.current, tasks=0)

    def clear(self) -> None:
        """Clear the target, since the worker has failed."""
        self.current = self.current.clear()

    def run_burst(self, burst: Burst) -> None:
        """Run a burst in a running worker without tasks; its end adds its figures to the statistics."""
        self._stats.set_baseline(self._connection.reading())
        self._stats.untouched, self._stats.burst = False, None
        self.current = target_of(burst.tasks)
        self.burst_refused = ""
        self._connection.send(
            "burst", tasks=burst.tasks, chunks=burst.chunks, older=burst.older, read_after=burst.read_after
        )

    def end_burst(self, done: BurstDone, now: float) -> None:
        """Handle the end of a burst."""
        self._stats.burst = done
        self.clear()
        self._log.add(now, burst_text(done))

    def refuse_burst(self, why: str) -> None:
        """Handle that the worker cannot run the burst."""
        self.burst_refused = why
        self.clear()

    def reach(self, reached: Reached, now: float) -> None:
        """Handle the report that the granted tasks have been created, or the others stopped."""
        self._reached = reached
        whole: Reached | None = reached
        if reached.target == self.current.granted:  # otherwise a newer target was sent meanwhile
            self._stats.note_reached(reached.live, self._connection.reading())
            self.current = self.current.add_part(reached)
            whole = self.current.reached
            if whole is not None and whole.grew:
                self._stats.creation = creation(whole, self._load_before, self._load_now())
            elif whole is not None and whole.cancelled and not whole.target:
                self._stats.stop_seconds = whole.seconds
        if whole is not None and (whole.created or whole.cancelled):
            self._log.add(now, reached_text(whole))

    def take_reached(self) -> Reached | None:
        """Return the report of a target that was received since the last call, if any."""
        reached, self._reached = self._reached, None
        return reached

    def stop_at(self, limit: Limit, now: float) -> None:
        """Handle a limit that has stopped the growth."""
        if limit.wanted == self.current.granted:  # otherwise a newer target was sent meanwhile
            self.current = self.current.stop_at(limit)
            limit = self.current.limit or limit
        self._log.add(now, limit_text(limit), "warning")

    def _load_now(self) -> tuple[Load, Reading | None]:
        return self._load(), self._connection.reading()
