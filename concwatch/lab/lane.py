"""One worker as the monitor sees it: its process, its state, its samples."""

import math
from collections import deque
from collections.abc import Callable

from msgspec import structs

from concwatch.lab.catalog import Engine
from concwatch.lab.event_text import burst_text, limit_text, name_wall, reached_text
from concwatch.lab.events import Severity
from concwatch.lab.lane_state import COMING, STANDING, State
from concwatch.lab.series import Series
from concwatch.lab.settings import Settings, commands
from concwatch.lab.snapshot import EngineFacts, LaneStatus, Sample, blank_sample
from concwatch.lab.tally import Tally
from concwatch.lab.worker_log import LONGEST_MESSAGE, WorkerLog
from concwatch.links.link import Arrival, Building, Built, Ended, Flood, Garbage, Link, Noise
from concwatch.links.messages import Applied, BurstDone, Error, Limit, Reached, Ready, Tick
from concwatch.system.machine import Load, load_now
from concwatch.system.walls import UNKNOWN_WALL, wall_hit
from concwatch.text import plain
from concwatch.units import format_seconds
from concwatch.wire import PROTOCOL
from concwatch.worker.burst import Burst

START_LIMIT = 30.0
"""Seconds a worker may take from its start to having applied its settings."""

STOP_LIMIT = 3.0
"""Seconds a worker may take to end by itself before it is killed."""

STALL = 1.0
"""Seconds without a tick, or that something in the worker is overdue, from which on a lane is stalled."""

MISSED = 3
"""Ticks that must be missing besides, so that a slow rate is no stall."""

Note = Callable[[str, str, Severity], None]


def facts(engine: Engine) -> EngineFacts:
    """Return what never changes of a lane of ``engine``."""
    return EngineFacts(engine.name, engine.task, engine.queues, engine.threads, engine.grain)


class Lane:
    """Starts, commands, samples and ends one worker at a time; time is passed in, in seconds."""

    def __init__(
        self,
        engine: Engine,
        open_link: Callable[[Engine], Link],
        note: Note,
        hz: float,
        start_limit: float = START_LIMIT,
        load: Callable[[], Load] = load_now,
        number: int = 0,
    ) -> None:
        """Make the lane of ``engine``, off.

        Args:
            engine: a row of the catalog.
            open_link: starts a worker.
            note: takes an event: the lane, what happened, how bad that is.
            hz: samples a second.
            start_limit: seconds a worker may take from its start to having applied its settings.
            load: tells what CPU time has been used on this machine.
            number: the lane's place among all lanes.
        """
        self.engine = engine
        self.start_limit = start_limit
        self.number = number
        self.series = Series()
        self.state = State.OFF
        self.reason = ""
        """Why the lane failed, or what it waits for."""
        self.target = 0
        self.asked = 0
        """Tasks asked for last, whatever held them back."""
        self.limit: Limit | None = None
        """The wall that holds the lane short of what was asked."""
        self.missing = engine.missing()
        """Why the engine cannot run here, as far as is known: looked up again each time it is switched on."""
        self.settings = Settings()
        """What the worker was last told."""
        self.facts = facts(engine)
        self._open = open_link
        self._note = note
        self._hz = hz
        self._load = load
        self._link: Link | None = None
        self._respawn = False
        self._resumes = 0  # the target to take up again when switched on
        self._clear(0.0)

    def _clear(self, now: float) -> None:
        """Forget all that was known of the last worker."""
        self.tally = Tally(now, self._hz)
        """What is known of the worker."""
        self.sample = blank_sample(self.number, -math.inf)
        """The newest of `series` that is of it."""
        self.reached: Reached | None = None
        """The last target met, its parts added up."""
        self.burst_refused = ""
        """Why the worker would not run the last burst."""
        self.granted = 0
        """How many of the tasks asked for it may hold at present."""
        self._fresh: Reached | None = None  # since the last tick
        self._parts: list[Reached] = []  # of a target that is granted bit by bit
        self._asked_at: tuple[Load, float] | None = None  # the machine, and the worker's CPU seconds
        self._since = now
        self._sample_due = now
        self._waiting: list[str] = []
        # What the worker runs, and where that fetches; then what it has not answered for yet.
        self._workload: tuple[str, str | None] = ("", None)
        self._workloads: deque[tuple[str, str | None]] = deque()
        self._log = WorkerLog(self._say, now)
        self._now = now  # of the last step

    # What a person asks for.

    @property
    def on(self) -> bool:
        """Whether there is a worker, and it is not on its way out."""
        return self.state.on

    @property
    def live(self) -> int:
        """Live tasks by the newest report."""
        return self.tally.live

    @property
    def rss(self) -> int:
        """Bytes of RSS at the last look; 0 without a worker."""
        return self.tally.reading.rss if self.tally.reading else 0

    def can(self, command: str) -> bool:
        """Whether the worker understands an optional command."""
        return self.tally.ready is not None and command in self.tally.ready.can

    @property
    def wanted(self) -> bool:
        """Whether there is a worker, or will be one when the last has ended."""
        return self.on or self._respawn

    def switch_on(self, settings: Settings, now: float) -> None:
        """Start a worker for the last target, if there is none; one on its way out is waited for."""
        if self._link is not None:
            self._respawn = not self.on
            self.settings = settings if self._respawn else self.settings
            return
        self._respawn = False
        self.missing = self.engine.missing()
        if self.missing:
            self.fail(self.missing)
            return
        self._clear(now)
        self.limit = None
        self.settings = settings
        self._link = self._open(self.engine)
        self.state, self.reason = State.STARTING, ""
        self.target = self.asked = self._resumes

    def switch_off(self, now: float) -> None:
        """Have the worker end; it is killed if it takes longer than `STOP_LIMIT`."""
        self._resumes = self.asked
        self.target, self._respawn = 0, False
        if self._link is None:
            self.state, self.reason = State.OFF, ""
            return
        if self.state is not State.STOPPING:
            self._link.send("stop")
            self.state, self._since, self.reason = State.STOPPING, now, ""

    def restart(self, settings: Settings, now: float) -> None:
        """Have a fresh worker hold the same target."""
        self.switch_off(now)
        self.switch_on(settings, now)

    def set_target(self, tasks: int, granted: int | None = None) -> None:
        """Ask for this many live tasks, of which ``granted`` may be live at present; None for all."""
        self.target = self.asked = self._resumes = tasks
        self.limit = None
        self.reached = None
        self._parts.clear()
        self._asked_at = self._used()
        self.grant(tasks if granted is None else granted)

    def grant(self, tasks: int) -> None:
        """Let the worker hold ``tasks`` at present, of those asked for."""
        self.granted = min(tasks, self.target)
        if self.state in STANDING:
            self._send_target()  # else it is sent as soon as the worker stands

    @property
    def growing(self) -> bool:
        """Whether it has fewer tasks than it is asked to hold."""
        return self.on and self.live < self.target

    @property
    def waits(self) -> bool:
        """Whether it has created all that it was granted, and more is asked for."""
        if not self.on or self.granted >= self.target:
            return False
        return self.state in COMING or bool(self._parts and self._parts[-1].target == self.granted)

    def _send_target(self) -> None:
        assert self._link is not None
        if self.tally.untouched:
            # Taken at the last moment before the first task, with all settings applied.
            self.tally.take_baseline(self._link.reading())
        self.tally.untouched = self.tally.untouched and self.target == 0
        self._link.send("target", tasks=self.granted)

    def _used(self) -> tuple[Load, float]:
        reading = self._link.reading() if self._link else None
        return self._load(), reading.cpu_seconds if reading else 0.0

    def run_burst(self, burst: Burst) -> None:
        """Have a running worker without tasks run a burst; its figures are there when it has ended."""
        assert self._link is not None
        self.tally.take_baseline(self._link.reading())
        self.tally.untouched, self.tally.burst = False, None
        self.target = self.asked = self.granted = burst.tasks
        self.limit, self.burst_refused = None, ""
        self._link.send(
            "burst", tasks=burst.tasks, chunks=burst.chunks, older=burst.older, read_after=burst.read_after
        )

    def halt(self, wall: str, value: int) -> None:
        """Have the worker stop growing because of ``wall``; its `Limit` report says where it stands."""
        if self.state in COMING:
            self._take_limit(Limit(0, self.granted, wall, value))
        elif self.on and self._link is not None:
            self._link.send("halt", wall=wall, value=value)

    def apply(self, settings: Settings) -> None:
        """Send the worker what is new in ``settings``."""
        old, self.settings = self.settings, settings
        if not self.on or self.tally.ready is None:
            return
        if settings.trace != old.trace and self.can("trace"):
            self.restart(settings, self._now)  # what a tracer or its absence leaves behind spoils all figures
            return
        for command, fields in commands(settings, self.can):
            if (command, fields) not in commands(old, self.can):
                self._order(command, fields)

    def _order(self, command: str, fields: dict[str, object]) -> None:
        assert self._link is not None
        if command == "workload":
            self._workloads.append((self.settings.workload, self.settings.page))
        self._link.send(command, **fields)

    def trim(self) -> None:
        """Have the worker collect, and give memory back to the system."""
        if self._link is not None and self.can("trim"):
            self._link.send("trim")

    # What time brings.

    def step(self, now: float) -> None:
        """Take in what has come, look at the process, and add one sample."""
        if self._link is None:
            return
        self._now = now
        for arrival in self._link.arrivals(now):
            self._take(arrival, now)
        if self._link is not None:
            self._sample(now)
            self._judge(now)

    def _take(self, arrival: Arrival, now: float) -> None:
        if not self.on and not isinstance(arrival, Ended):
            return  # nothing else matters of a worker on its way out
        match arrival:
            case Tick():
                self._take_tick(arrival, now)
            case Ready():
                self._take_ready(arrival)
            case Reached():
                self._take_reached(arrival)
            case BurstDone():
                self._take_burst(arrival)
            case Limit():
                self._take_limit(arrival)
            case Applied():
                self._take_applied(arrival)
            case Error():
                self._take_error(arrival)
            case Garbage():
                self._take_garbage(arrival.message)
            case Noise():
                self._log.add_noise(arrival.text)
            case Flood():
                self._log.add_flood(arrival.message)
            case Building():
                self._take_building(arrival)
            case Built():
                self._take_built(arrival, now)
            case Ended():
                self._take_end(arrival, now)

    def _take_tick(self, tick: Tick, now: float) -> None:
        wrong = self.tally.add_tick(tick, now, self.target > 0, self._fresh)
        self._fresh = None
        if wrong:
            self._take_garbage(f"a tick that cannot be: {wrong}")
            return
        if self.state is State.STARTING and self.tally.ready is not None and not self._waiting:
            tracing = self.settings.trace and self.can("trace")
            if tracing == (tick.traced is not None):  # else it was taken before the settings were applied
                self._begin()

    def _take_building(self, building: Building) -> None:
        self.state = State.BUILDING
        self._log.add(self._now, building.text)

    def _take_built(self, built: Built, now: float) -> None:
        self.state, self._since = State.STARTING, now
        self._say(f"built in {format_seconds(built.seconds)}")

    def _take_ready(self, ready: Ready) -> None:
        assert self._link is not None
        if self.tally.ready is not None:
            self._take_garbage("ready for the second time")
            return
        if ready.protocol != PROTOCOL:
            self.fail(f"speaks version {ready.protocol} of the wire: expected {PROTOCOL}")
            return
        self.tally.ready, self.tally.flags = ready, ready.flags
        # The rate comes last, since a tick follows it at once, and with that tick the lane begins.
        orders = commands(self.settings, self.can)
        orders.append(("rate", {"hz": self._hz}))
        self._waiting = [command for command, _ in orders]
        for command, fields in orders:
            self._order(command, fields)

    def _take_applied(self, applied: Applied) -> None:
        if applied.flags is not None:
            self.tally.flags = applied.flags
        if applied.command == "workload" and self._workloads:
            self._workload = self._workloads.popleft()
        if applied.command in ("workload", "threads"):
            self.tally.workload_changed()
        elif applied.command == "trim":
            self._log.add(self._now, f"trimmed in {format_seconds(applied.seconds)}")
        if applied.command in self._waiting:
            self._waiting.remove(applied.command)

    def _begin(self) -> None:
        ready = self.tally.ready
        assert ready is not None
        assert self._link is not None
        self.state = State.RUNNING
        self.tally.take_baseline(self._link.reading())
        flags = "".join(f" · {flag}" for flag in self.tally.flags)
        self._say(f"on: {ready.runtime}{flags}, pid {ready.pid}")
        if self.target:
            self._asked_at = self._used()
            self._send_target()

    def _take_reached(self, reached: Reached) -> None:
        self._fresh = reached
        if reached.target != self.granted:  # it crossed with a newer target
            if reached.created or reached.cancelled:
                self._log.add(self._now, reached_text(reached))
            return
        self.tally.count_live(reached.live)
        self._parts.append(reached)
        if self.granted < self.target:
            return  # the rest is granted when there is room for it
        whole = structs.replace(
            reached,
            created=sum(part.created for part in self._parts),
            cancelled=sum(part.cancelled for part in self._parts),
            seconds=sum(part.seconds for part in self._parts),
        )
        self.reached = whole
        self._parts.clear()
        if whole.created:
            now = self._used()
            before = self._asked_at
            self.tally.grew(
                whole, (before[0], now[0]) if before else None, now[1] - before[1] if before else 0.0
            )
        elif whole.cancelled and not whole.target:
            self.tally.stop_seconds = whole.seconds
        if whole.created or whole.cancelled:
            self._log.add(self._now, reached_text(whole))

    def _take_burst(self, done: BurstDone) -> None:
        self.tally.burst = done
        self.target = self.asked = self.granted = 0
        self._log.add(self._now, burst_text(done))

    def _take_limit(self, limit: Limit) -> None:
        limit = self._named(limit)
        if limit.wanted == self.granted:  # else it crossed with a newer target
            self.limit = limit = structs.replace(limit, wanted=self.asked)
            self.target = self.granted = min(self.target, limit.standing)
        self._log.add(self._now, limit_text(limit), "warning")

    def _named(self, limit: Limit) -> Limit:
        """Name the wall where a worker cannot tell which limit on threads it was: seen from outside."""
        if limit.wall != UNKNOWN_WALL or not self.engine.threads or self.tally.ready is None:
            return limit
        wall, value = wall_hit(str(self.tally.ready.pid))
        return structs.replace(limit, wall=wall, value=value)

    def _take_error(self, error: Error) -> None:
        message = error.message[:LONGEST_MESSAGE]
        if self.tally.ready is None:
            self._cannot_run(message)
            return
        if error.command in self._waiting:
            # What this lane was to run it cannot: better no worker than one that runs something else.
            self.fail(message)
            return
        if error.command == "workload" and self._workloads:
            # The worker goes on with what it runs; asked for again, the refused one is sent again.
            self._workloads.popleft()
            workload, page = self._workload
            self.settings = structs.replace(self.settings, workload=workload, page=page)
        if error.command == "burst":
            self.burst_refused = message
            self.target = self.asked = self.granted = 0
        self._log.add(self._now, message, "error", error.detail)

    def _take_garbage(self, message: str) -> None:
        if reason := self._log.add_garbage(message):
            self.fail(reason)

    def _take_end(self, ended: Ended, now: float) -> None:
        stopping = self.state is State.STOPPING
        self._link = None
        self._gap(now)
        if stopping:
            self.state, self.reason = State.OFF, ""
            self._say("off")
        elif self.state is not State.FAILED and ended.ran and self.tally.ready is None:
            self._cannot_run(ended.reason)
        elif self.state is not State.FAILED:
            self.fail(ended.reason)
        if self._respawn:
            self.switch_on(self.settings, now)

    def _cannot_run(self, reason: str) -> None:
        """Fail before the worker stood: what its engine needs is there, and does not work."""
        self.fail(self.engine.broken(reason))
        self.missing = self.reason if self.engine.needs else None

    def fail(self, reason: str) -> None:
        """End the worker by force; the lane has failed, and says why."""
        if self._link is not None:
            self._link.kill()
        self.state, self.reason = State.FAILED, plain(reason)
        self._resumes = self.target = 0
        self._say(f"failed: {reason}", "error")

    def _sample(self, now: float) -> None:
        assert self._link is not None
        reading = self._link.reading()
        if reading is None:
            return
        self.tally.add_reading(reading)
        if now <= self._sample_due - 0.5 / self._hz:
            return  # looked at more often than kept, so that the budget is watched closely at any rate
        self._sample_due = max(self._sample_due + 1 / self._hz, now)
        self._keep(self.tally.sample(now, self.number, 1 / self._hz, self.stalled_for(now)))

    def _gap(self, now: float) -> None:
        """Break the lines of the charts: what comes next is another process."""
        self.tally.reading = self.tally.tick = None
        self.tally.live = 0
        cost = self.tally.meter.cost  # what a task has cost is known all the same
        self._keep(
            blank_sample(
                self.number,
                now,
                rss_per_task=cost.rss if cost else None,
                traced_per_task=cost.traced if cost else None,
                measured_live=cost.live if cost else None,
            )
        )

    def _keep(self, sample: Sample) -> None:
        self.series.append(sample)
        self.sample = sample

    @property
    def status(self) -> LaneStatus:
        """What changes seldom, as it is now; what its tasks would take is for the lab to say."""
        tally, limit = self.tally, self.limit
        meter, ready, idle = tally.meter, tally.ready, tally.meter.idle
        cost = meter.cost
        return LaneStatus(
            state=self.state,
            reason=self.reason,
            target=self.target,
            asked=self.asked,
            wall=limit.wall if limit else "",
            wall_text=name_wall(limit) if limit else "",
            create_rate=tally.create_rate,
            create_seconds=tally.create_seconds,
            create_others=tally.create_others,
            stop_seconds=tally.stop_seconds,
            completion_rate=tally.best.best,
            longest_stall=tally.longest_stall,
            wake_lag_p99=tally.lags.quantile(0.99),
            start_delay_p99=tally.delays.quantile(0.99),
            duration_p50=tally.durations.quantile(0.5),
            duration_p99=tally.durations.quantile(0.99),
            peak_live=tally.peak_live,
            peak_rss=tally.reading.peak_rss if tally.reading else None,
            idle_rss=idle.rss if idle else None,
            idle_virtual=idle.virtual if idle else None,
            idle_traced=meter.idle_traced,
            runtime=ready.runtime if ready else None,
            pid=ready.pid if ready else None,
            flags=tally.flags,
            can=ready.can if ready else (),
            born=tally.born,
            tracing=cost.tracing if cost else tally.tick is not None and tally.tick.traced is not None,
            clean=cost is not None and cost.clean,
            missing=self.missing,
            burst=tally.burst,
        )

    def stalled_for(self, now: float) -> float:
        """Seconds that a running worker has been silent, or something in it overdue; 0 when all is well."""
        if self.state not in STANDING:
            return 0.0
        silence = now - self.tally.tick_at
        overdue = self.tally.tick.lag if self.tally.tick else 0.0
        longest = max(silence, overdue)
        return longest if overdue >= STALL or silence >= max(STALL, MISSED / self._hz) else 0.0

    def _judge(self, now: float) -> None:
        """Follow the clock from one state to the next."""
        self._log.summarize(now)
        if self.state is State.STARTING and now - self._since > self.start_limit:
            self.fail(f"did not stand within {format_seconds(self.start_limit)}")
        elif self.state is State.RUNNING and self.stalled_for(now):
            self.state = State.STALLED
        elif self.state is State.STALLED and not self.stalled_for(now):
            self.state = State.RUNNING
        elif self.state is State.STOPPING and now - self._since > STOP_LIMIT:
            assert self._link is not None
            self._link.kill()
            self._since = math.inf
            self._say(f"did not stop within {format_seconds(STOP_LIMIT)}: killed", "warning")

    @property
    def idle(self) -> bool:
        """Whether no process is left."""
        return self._link is None

    def kill(self) -> None:
        """End the worker by force."""
        if self._link is not None:
            self._link.kill()

    def _say(self, text: str, severity: Severity = "info") -> None:
        self._note(self.engine.name, text, severity)
