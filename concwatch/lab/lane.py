"""A lane: starts one worker at a time, and stores the samples of all of them."""

import math
from collections.abc import Callable, Sequence
from functools import partial

from msgspec import structs

from concwatch.lab.catalog import Engine
from concwatch.lab.events import Severity
from concwatch.lab.series import Series
from concwatch.lab.settings import Settings
from concwatch.lab.snapshot import EngineFacts, LaneStatus, State, blank_sample
from concwatch.lab.worker import START_LIMIT, Worker
from concwatch.lab.worker_log import wall_with_value
from concwatch.links.link import Ended, Link
from concwatch.links.process import WorkerProcess
from concwatch.system.machine import Load

SELF_CONTAINED = ("Go",)
"""Languages whose programs have no dependencies: built on this host, they run on remote hosts too."""


def facts(engine: Engine) -> EngineFacts:
    """Return what never changes about a lane of ``engine``."""
    host = engine.host.name if engine.host else ""
    return EngineFacts(engine.name, engine.task, engine.queues, engine.threads, engine.grain, host)


def open_process(engine: Engine) -> Link:
    """Start a real worker for ``engine`` on its host, building it first if necessary."""
    variables = dict(engine.environment)
    start: Callable[[Sequence[str]], Link] = partial(WorkerProcess, variables=variables)
    if engine.host is None and not engine.ways:
        return start(engine.command())
    # Not at the top: the first frame does not need them.
    from concwatch.hosts.link import HostLink, Program, send_program
    from concwatch.runtimes.build_link import BuildLink
    from concwatch.runtimes.recipe import recipe

    if engine.host is None:
        return BuildLink(engine.ways, engine.kind, start)
    if not engine.ways:
        return HostLink(engine.host, Program(engine.kind, variables))
    ways, sources = recipe(engine.ways)
    program = Program(engine.kind, variables, ways=ways, sources=sources)
    if engine.ways[0].language in SELF_CONTAINED and engine.ways[0].missing() is None:
        return BuildLink(engine.ways, engine.kind, partial(send_program, engine.host, program))
    return HostLink(engine.host, program)


class Lane:
    """Starts, samples and stops one worker at a time; time is passed in, in seconds."""

    def __init__(
        self,
        engine: Engine,
        open_link: Callable[[Engine], Link],
        log: Callable[[str, str, Severity], None],
        hz: float,
        load: Callable[[], Load],
        number: int,
    ) -> None:
        """Create a lane that is off.

        Args:
            engine: a row of the catalog.
            open_link: starts a worker.
            log: adds an event to the event log: the lane, the text, and the severity.
            hz: samples a second.
            load: returns the CPU time used on the machine.
            number: the lane's index among all lanes.
        """
        self.engine = engine
        self.start_limit = START_LIMIT
        """Seconds that a worker has to start and apply its settings."""
        self.number = number
        self.series = Series()
        self.facts = facts(engine)
        self._missing = engine.missing()  # updated each time it is switched on
        self._open = open_link
        self._log_event = log
        self._hz = hz
        self._load = load
        self._respawn = False
        self._sample_due = 0.0
        self._now = 0.0  # of the last step
        self._set_worker(None, Settings(), 0, 0.0)

    def _set_worker(self, link: Link | None, settings: Settings, target: int, now: float) -> None:
        """Replace the worker and all that is known about it."""
        self.worker = Worker(
            self.engine,
            link,
            settings,
            target,
            self._log,
            now=now,
            hz=self._hz,
            start_limit=self.start_limit,
            load=self._load,
        )
        """The running worker, or the last one; before the first, a worker without a process."""
        self.sample = blank_sample(self.number, -math.inf)
        """The newest sample of the worker."""
        self._sample_due = now

    @property
    def state(self) -> State:
        """The state of its worker."""
        return self.worker.state

    @property
    def target(self) -> int:
        """The number of tasks its worker is asked to hold."""
        return self.worker.goal.target

    @property
    def on(self) -> bool:
        """Whether there is a worker that is not stopping."""
        return self.state.on

    @property
    def idle(self) -> bool:
        """Whether there is no process."""
        return self.worker.link is None

    @property
    def wanted(self) -> bool:
        """Whether there is a worker, or one will start once the last has ended."""
        return self.on or self._respawn

    @property
    def live(self) -> int:
        """Live tasks in the last report."""
        return self.worker.stats.live

    @property
    def rss(self) -> int:
        """Bytes of RSS in the last reading; 0 without a worker."""
        reading = self.worker.stats.reading
        return reading.rss if reading else 0

    @property
    def delay(self) -> float | None:
        """Round-trip time to its host in seconds; None on this machine."""
        return getattr(self.worker.link, "delay", None)

    @property
    def growing(self) -> bool:
        """Whether fewer tasks are live than its target."""
        return self.on and self.live < self.target

    @property
    def missing(self) -> str | None:
        """Why the engine cannot run; None if no reason is known."""
        return self.worker.broken or self._missing

    # Commands.

    def switch_on(self, settings: Settings, now: float) -> None:
        """Start a worker with the last target, once the previous worker has ended."""
        if not self.idle:
            self._respawn = not self.on
            if self._respawn:
                self.worker.settings.current = settings
            return
        self._respawn = False
        self._missing = self.engine.missing()
        if self._missing:
            self.worker.fail(self._missing)
            return
        self._set_worker(self._open(self.engine), settings, self.worker.goal.asked, now)

    def switch_off(self, now: float) -> None:
        """Stop the worker; it is killed if it does not exit in time."""
        self._respawn = False
        self.worker.stop(now)

    def set_target(self, tasks: int, granted: int | None = None) -> None:
        """Set the number of live tasks to hold, of which ``granted`` may be live at present; None for all."""
        self.worker.set_target(tasks)
        self.worker.grant(tasks if granted is None else granted)

    def apply(self, settings: Settings) -> None:
        """Send ``settings`` to the worker; restart it if tracing is switched on or off.

        Memory that was allocated before the switch would falsify every figure.
        """
        worker = self.worker
        if self.on and worker.can("trace") and settings.trace != worker.settings.current.trace:
            self.switch_off(self._now)
            self.switch_on(settings, self._now)
        else:
            worker.apply(settings)

    # Time.

    def step(self, now: float) -> None:
        """Process the messages received since the last step, read the process, and add one sample."""
        if self.idle:
            return
        self._now = now
        if ended := self.worker.receive(now):
            self._handle_end(ended, now)
        if not self.idle:
            self._sample(now)
            self.worker.update_state(now)

    def _handle_end(self, ended: Ended, now: float) -> None:
        worker = self.worker
        self.sample = worker.stats.last_sample(now, self.number)
        self.series.append(self.sample)  # a gap in the charts: what follows is another process
        if worker.state is State.STOPPING:
            worker.state, worker.reason = State.OFF, ""
            self._log("off")
        elif ended.lost and worker.state is not State.FAILED:
            worker.handle_lost(ended.reason)
        elif worker.state is not State.FAILED:
            unready = ended.ran and worker.stats.ready is None
            (worker.fail_start if unready else worker.fail)(ended.reason)
        if self._respawn:
            self.switch_on(worker.settings.current, now)

    def _sample(self, now: float) -> None:
        assert self.worker.link is not None
        reading = self.worker.link.reading()
        if reading is None:
            return
        self.worker.stats.add_reading(reading)
        if now <= self._sample_due - 0.5 / self._hz:
            return  # read more often than stored, so that the guard sees memory grow at any rate
        self._sample_due = max(self._sample_due + 1 / self._hz, now)
        stalled = self.worker.stalled_for(now)
        self.sample = self.worker.stats.sample(now, self.number, stalled)
        if self.state is State.STOPPING:  # its tasks are ending; memory must not be attributed to them
            self.sample = structs.replace(self.sample, live=None)
        self.series.append(self.sample)

    @property
    def status(self) -> LaneStatus:
        """What rarely changes, except the forecast of its tasks, which the host adds."""
        worker, goal, limit = self.worker, self.worker.goal, self.worker.goal.limit
        return LaneStatus(
            state=self.state,
            reason=worker.reason,
            target=goal.target,
            asked=goal.asked,
            wall=limit.wall if limit else "",
            wall_text=wall_with_value(limit) if limit else "",
            missing=self.missing,
            **worker.stats.status(),
        )

    def _log(self, text: str, severity: Severity = "info") -> None:
        self._log_event(self.engine.name, text, severity)
