"""A lane: starts one worker at a time, sends it commands, and stores its samples."""

import math
from collections.abc import Callable
from functools import partial

from msgspec import structs

from concwatch.links.link import Link
from concwatch.links.messages import Limit
from concwatch.monitor.metrics.metrics import EngineFacts, blank_sample
from concwatch.monitor.metrics.series import Series
from concwatch.monitor.metrics.settings import Settings
from concwatch.monitor.metrics.state import ACTIVE, PENDING, State
from concwatch.monitor.metrics.target import Target
from concwatch.monitor.verdicts.events import LaneEventSink
from concwatch.monitor.workers.catalog import Engine
from concwatch.monitor.workers.worker import Worker
from concwatch.monitor.workers.worker_life import START_LIMIT
from concwatch.system.machine import Load


def facts(engine: Engine) -> EngineFacts:
    """Return what never changes about a lane of ``engine``."""
    host = engine.host.name if engine.host else ""
    return EngineFacts(engine.name, engine.task, engine.queues, engine.threads, engine.resolution, host)


class Lane:
    """Owns one worker at a time, from its start to its end; time is passed in, in seconds.

    Commands go down to the worker here; what it reports is handled by `Worker`.
    """

    def __init__(
        self,
        engine: Engine,
        open_link: Callable[[Engine], Link],
        log: LaneEventSink,
        hz: float,
        load: Callable[[], Load],
        number: int,
    ) -> None:
        """Create a lane that is off.

        Args:
            engine: a row of the catalog.
            open_link: starts a worker.
            log: adds an event to the event log: the lane, the text, the severity, and the kind.
            hz: samples per second.
            load: returns the CPU time used on the machine.
            number: the lane's index among all lanes.
        """
        self.engine = engine
        self.start_limit = START_LIMIT
        """Seconds that a worker has to start and apply its settings."""
        self.number = number
        self.series = Series()
        self.facts = facts(engine)
        self._open = open_link
        self._hz = hz
        self._new_worker = partial(Worker, engine, hz=hz, load=load, log=partial(log, engine.name))
        self._respawn = False
        self._begin(None, Settings(), 0, 0.0)
        self.worker.missing = engine.missing()

    def _begin(self, link: Link | None, settings: Settings, tasks: int, now: float) -> None:
        """Replace the worker and all that is known about it; without a ``link`` the lane is off."""
        self.worker = self._new_worker(link, settings, tasks, now)
        """The running worker, or the last one."""
        self.sample = blank_sample(self.number, -math.inf)
        """The newest sample of the worker."""
        self._now = now  # of the last step
        self._sample_due = now

    @property
    def state(self) -> State:
        """The state of its worker."""
        return self.worker.life.state

    @property
    def on(self) -> bool:
        """Whether there is a worker that is not stopping."""
        return self.state.on

    @property
    def idle(self) -> bool:
        """Whether there is no process."""
        return self.worker.idle

    @property
    def wanted(self) -> bool:
        """Whether there is a worker, or one will start once the last has ended."""
        return self.on or self._respawn

    @property
    def live(self) -> int:
        """Live tasks in the last report."""
        return self.worker.stats.live

    @property
    def memory(self) -> int:
        """Bytes of RSS and kernel memory in the last reading; 0 without a worker."""
        reading = self.worker.stats.reading
        return reading.memory if reading else 0

    @property
    def target(self) -> Target:
        """What its worker is to hold."""
        return self.worker.target.current

    @property
    def growing(self) -> bool:
        """Whether fewer tasks are live than its target."""
        return self.on and self.live < self.target.tasks

    @property
    def awaits_grant(self) -> bool:
        """Whether it has created all tasks that it was granted, and been read since; its target is higher."""
        if self.state in PENDING:
            return self.target.granted < self.target.tasks
        return self.on and self.target.awaits_grant and self.worker.stats.is_read

    # Commands.

    def switch_on(self, settings: Settings, now: float) -> None:
        """Start a worker with the last target, once the previous worker has ended."""
        if not self.idle:
            self._respawn = not self.on
            if self._respawn:
                self.worker.settings.current = settings
            return
        self._respawn = False
        missing = self.worker.missing = self.engine.missing()
        if missing:
            self.worker.fail(missing)
        else:
            self._begin(self._open(self.engine), settings, self.target.asked, now)

    def switch_off(self, now: float) -> None:
        """Stop the worker; it is killed if that takes longer than `worker_life.STOP_LIMIT`."""
        self._respawn = False
        self.worker.stop(now)

    def set_target(self, tasks: int, granted: int | None = None) -> None:
        """Set the number of live tasks to hold, of which ``granted`` may be live at present; None for all."""
        self.worker.target.set(tasks)
        self.grant(tasks if granted is None else granted)

    def grant(self, tasks: int) -> None:
        """Allow the worker to hold ``tasks`` of its target at present, and send that once it is running."""
        self.worker.target.grant(tasks)
        if self.state in ACTIVE:
            self.worker.target.send()

    def halt(self, limit: str, value: int) -> None:
        """Stop the growth because of ``limit``; the worker reports how many tasks are live."""
        if self.state in PENDING:
            self.worker.target.stop_at(Limit(0, self.target.granted, limit, value), self._now)
        elif self.on:
            self.worker.connection.send("halt", wall=limit, value=value)

    def apply(self, settings: Settings) -> None:
        """Send what has changed in ``settings``; restart the worker if tracing is switched on or off.

        Memory that was allocated before the switch would falsify every figure. A worker that is not ready yet
        is sent all settings later.
        """
        worker = self.worker
        if self.on and worker.can("trace") and settings.trace != worker.settings.current.trace:
            self.switch_off(self._now)
            self.switch_on(settings, self._now)
        elif self.on and worker.stats.ready is not None:
            worker.send(worker.settings.changes(settings, worker.can))
        else:
            worker.settings.current = settings

    # Time.

    def step(self, now: float) -> None:
        """Handle the messages received since the last step, read the process, and add one sample."""
        self._now = now
        if not self.idle and self.worker.receive(now):
            self._handle_end()
        if not self.idle:
            self._sample()
            self.worker.check(now, self.start_limit)

    def _sample(self) -> None:
        worker, now = self.worker, self._now
        reading = worker.connection.reading()
        if reading is None:
            return
        worker.stats.add_reading(reading)
        if now <= self._sample_due - 0.5 / self._hz:
            return  # read more often than stored: admission control sees memory grow at any rate
        self._sample_due = max(self._sample_due + 1 / self._hz, now)
        self.sample = worker.stats.sample(now, self.number, worker.stalled_for(now))
        if self.state is State.STOPPING:  # its tasks are ending; memory must not be attributed to them
            self.sample = structs.replace(self.sample, live=None)
        self.series.append(self.sample)

    def _handle_end(self) -> None:
        """Add a gap to the charts, since what follows is another process, and start that if it is wanted."""
        self.sample = self.worker.stats.last_sample(self._now, self.number)
        self.series.append(self.sample)
        if self._respawn:
            self.switch_on(self.worker.settings.current, self._now)
