"""One lane: starts one worker after another, and keeps the samples of all of them."""

import math
from collections.abc import Callable, Sequence
from functools import partial

from concwatch.lab.catalog import Engine
from concwatch.lab.events import Severity
from concwatch.lab.lane_state import State
from concwatch.lab.series import Series
from concwatch.lab.settings import Settings
from concwatch.lab.snapshot import EngineFacts, LaneStatus, blank_sample
from concwatch.lab.worker import START_LIMIT, Worker
from concwatch.lab.worker_log import name_wall
from concwatch.links.link import Ended, Link
from concwatch.links.process import WorkerProcess
from concwatch.system.machine import Load, load_now

SELF_CONTAINED = ("Go",)
"""Languages whose programs need nothing else: what is built here runs on hosts of the same kind, too."""


def facts(engine: Engine) -> EngineFacts:
    """Return what never changes of a lane of ``engine``."""
    host = engine.host.name if engine.host else ""
    return EngineFacts(engine.name, engine.task, engine.queues, engine.threads, engine.grain, host)


def open_process(engine: Engine) -> Link:
    """Start a real worker for ``engine``, which may have to be built first, where it is to run."""
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
    """Starts, samples and ends one worker at a time; time is passed in, in seconds."""

    def __init__(
        self,
        engine: Engine,
        open_link: Callable[[Engine], Link],
        log: Callable[[str, str, Severity], None],
        hz: float,
        start_limit: float = START_LIMIT,
        load: Callable[[], Load] = load_now,
        number: int = 0,
    ) -> None:
        """Make a lane that is off.

        Args:
            engine: a row of the catalog.
            open_link: starts a worker.
            log: takes an event: the lane, what happened, and how bad that is.
            hz: samples a second.
            start_limit: seconds a worker may take from its start to having applied its settings.
            load: returns the CPU time used on the machine.
            number: the lane's place among all lanes.
        """
        self.engine = engine
        self.start_limit = start_limit
        self.number = number
        self.series = Series()
        self.facts = facts(engine)
        self._missing = engine.missing()  # looked up again each time it is switched on
        self._open = open_link
        self._log = log
        self._hz = hz
        self._load = load
        self._respawn = False
        self._sample_due = 0.0
        self._now = 0.0  # of the last step
        self._set_worker(None, Settings(), 0, 0.0)

    def _set_worker(self, link: Link | None, settings: Settings, target: int, now: float) -> None:
        """Forget all that was known of the last worker."""
        self.worker = Worker(
            self.engine,
            link,
            settings,
            target,
            self._say,
            now=now,
            hz=self._hz,
            start_limit=self.start_limit,
            load=self._load,
        )
        """The worker that runs, or the last one; before the first, one without a process."""
        self.sample = blank_sample(self.number, -math.inf)
        """The newest of `series` that is of it."""
        self._sample_due = now

    @property
    def state(self) -> State:
        """What the lane is doing."""
        return self.worker.state

    @property
    def target(self) -> int:
        """Tasks that its worker is to hold."""
        return self.worker.goal.target

    @property
    def on(self) -> bool:
        """Whether there is a worker, and it is not on its way out."""
        return self.state.on

    @property
    def idle(self) -> bool:
        """Whether no process is left."""
        return self.worker.link is None

    @property
    def wanted(self) -> bool:
        """Whether there is a worker, or will be one when the last has ended."""
        return self.on or self._respawn

    @property
    def live(self) -> int:
        """Live tasks by the newest report."""
        return self.worker.tally.live

    @property
    def rss(self) -> int:
        """Bytes of RSS at the last look; 0 without a worker."""
        reading = self.worker.tally.reading
        return reading.rss if reading else 0

    @property
    def delay(self) -> float | None:
        """Seconds that a sign of life takes to its host and back; None on this machine."""
        return getattr(self.worker.link, "delay", None)

    @property
    def growing(self) -> bool:
        """Whether it has fewer tasks than it is asked to hold."""
        return self.on and self.live < self.target

    @property
    def missing(self) -> str | None:
        """Why the engine cannot run here, as far as is known."""
        return self.worker.broken or self._missing

    # Commands.

    def switch_on(self, settings: Settings, now: float) -> None:
        """Start a worker for the last target, if there is none; one on its way out is waited for."""
        if not self.idle:
            self._respawn = not self.on
            if self._respawn:
                self.worker.orders.settings = settings
            return
        self._respawn = False
        self._missing = self.engine.missing()
        if self._missing:
            self.worker.fail(self._missing)
            return
        self._set_worker(self._open(self.engine), settings, self.worker.goal.asked, now)

    def switch_off(self, now: float) -> None:
        """Have the worker end, by force where it does not in time."""
        self._respawn = False
        self.worker.stop(now)

    def set_target(self, tasks: int, granted: int | None = None) -> None:
        """Ask for this many live tasks, of which ``granted`` may be live at present; None for all."""
        self.worker.ask(tasks)
        self.worker.grant(tasks if granted is None else granted)

    def apply(self, settings: Settings) -> None:
        """Have the worker follow ``settings``: by a fresh one where allocations are traced or no more.

        What a tracer or its absence leaves behind would spoil all figures.
        """
        worker = self.worker
        if self.on and worker.can("trace") and settings.trace != worker.orders.settings.trace:
            self.switch_off(self._now)
            self.switch_on(settings, self._now)
        else:
            worker.apply(settings)

    # Time.

    def step(self, now: float) -> None:
        """Take in what has come, look at the process, and add one sample."""
        if self.idle:
            return
        self._now = now
        if ended := self.worker.take_arrivals(now):
            self._end(ended, now)
        if not self.idle:
            self._sample(now)
            self.worker.judge(now)

    def _end(self, ended: Ended, now: float) -> None:
        worker = self.worker
        self._break_line(now)
        if worker.state is State.STOPPING:
            worker.state, worker.reason = State.OFF, ""
            self._say("off")
        elif ended.lost and worker.state is not State.FAILED:
            worker.lose(ended.reason)
        elif worker.state is not State.FAILED:
            unready = ended.ran and worker.tally.ready is None
            (worker.cannot_run if unready else worker.fail)(ended.reason)
        if self._respawn:
            self.switch_on(worker.orders.settings, now)

    def _sample(self, now: float) -> None:
        assert self.worker.link is not None
        reading = self.worker.link.reading()
        if reading is None:
            return
        self.worker.tally.add_reading(reading)
        if now <= self._sample_due - 0.5 / self._hz:
            return  # looked at more often than kept, so that the budget is watched closely at any rate
        self._sample_due = max(self._sample_due + 1 / self._hz, now)
        stalled = self.worker.stalled_for(now)
        self.sample = self.worker.tally.sample(now, self.number, stalled)
        self.series.append(self.sample)

    def _break_line(self, now: float) -> None:
        """Break the lines of the charts: what comes next is another process."""
        self.sample = self.worker.tally.last_sample(now, self.number)
        self.series.append(self.sample)

    @property
    def status(self) -> LaneStatus:
        """What changes seldom, without what its tasks would take, which the lab adds."""
        worker, goal, limit = self.worker, self.worker.goal, self.worker.goal.limit
        return LaneStatus(
            state=self.state,
            reason=worker.reason,
            target=goal.target,
            asked=goal.asked,
            wall=limit.wall if limit else "",
            wall_text=name_wall(limit) if limit else "",
            missing=self.missing,
            **worker.tally.status(),
        )

    def _say(self, text: str, severity: Severity = "info") -> None:
        self._log(self.engine.name, text, severity)
