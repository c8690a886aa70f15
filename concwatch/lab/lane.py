"""One worker as the monitor sees it: its process, its state, its samples."""

import math
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from enum import Enum

from msgspec import structs

from concwatch.lab.allowance import Allowance
from concwatch.lab.catalog import Engine
from concwatch.lab.cost import CostMeter
from concwatch.lab.events import Weight, plain
from concwatch.lab.link import Arrival, Building, Built, Ended, Flood, Garbage, Link, Noise
from concwatch.lab.messages import (
    Applied,
    BurstDone,
    Error,
    Limit,
    Reached,
    Ready,
    Tick,
    contradiction,
)
from concwatch.lab.rates import TickRates
from concwatch.lab.sampler import Reading
from concwatch.lab.series import Series
from concwatch.lab.settings import Settings, commands
from concwatch.lab.tell import tell_burst, tell_limit, tell_reached
from concwatch.units import format_count, format_seconds
from concwatch.wire import PROTOCOL
from concwatch.worker.burst import Burst
from concwatch.worker.walls import UNKNOWN_WALL, wall_hit

START_LIMIT = 30.0
"""Seconds a worker may take from its start to having applied its settings."""

STOP_LIMIT = 3.0
"""Seconds a worker may take to end by itself before it is killed."""

STALL = 1.0
"""Seconds without a tick, or that something in the worker is overdue, from which on a lane is stalled."""

MISSED = 3
"""Ticks that must be missing besides, so that a slow rate is no stall."""

MOST_GARBAGE = 100
"""Lines that are not of the wire, or cannot be, after which a worker is given up."""

LONGEST_MESSAGE = 1_000
LONGEST_DETAIL = 8_000
"""Characters of what a worker says that are kept: of a message the first, of a traceback the last."""


class State(Enum):
    """What a lane is doing."""

    OFF = "off"
    BUILDING = "building"
    STARTING = "starting"
    RUNNING = "running"
    STALLED = "stalled"
    STOPPING = "stopping"
    FAILED = "failed"


COMING = (State.BUILDING, State.STARTING)
"""While a worker does not stand yet."""

STANDING = (State.RUNNING, State.STALLED)
"""While it can be told what to do."""


Note = Callable[[str, str, Weight], None]


class Lane:
    """Starts, commands, samples and ends one worker at a time; time is passed in, in seconds."""

    def __init__(
        self,
        engine: Engine,
        open_link: Callable[[Engine], Link],
        note: Note,
        hz: float,
        start_limit: float = START_LIMIT,
    ) -> None:
        self.engine = engine
        self.start_limit = start_limit
        """Seconds a worker may take from its start to having applied its settings."""
        self.series = Series()
        self.state = State.OFF
        self.reason = ""
        """Why the lane failed, or what it waits for."""
        self.target = 0
        self.limit: Limit | None = None
        """The wall that holds the lane short of its target."""
        self.missing = engine.missing()
        """Why the engine cannot run here, as far as is known: looked up again each time it is switched on."""
        self.settings = Settings()
        """What the worker was last told."""
        self.sampled = -math.inf
        """When the newest sample of `series` was taken, seconds on the lab's clock."""
        self._open = open_link
        self._note = note
        self._hz = hz
        self._link: Link | None = None
        self._again = False
        self._clear(0.0)

    def _clear(self, now: float) -> None:
        """Forget all that was known of the last worker."""
        self.ready: Ready | None = None
        self.flags: tuple[str, ...] = ()
        """What shapes the worker's figures besides its runtime, in its own words."""
        self.tick: Tick | None = None
        self.reading: Reading | None = None
        self.reached: Reached | None = None
        self.burst_done: BurstDone | None = None
        """What the last burst took, once it has ended."""
        self.burst_refused = ""
        """Why the worker would not run the last burst."""
        self.create_speed: float | None = None
        """Tasks a second at which the last target was created."""
        self.meter = CostMeter()
        self.rates = TickRates()
        self.peak_rss = 0
        self.peak_live = 0
        self.born = now
        """When the worker was started, seconds on the lab's clock."""
        self._since = now
        self._tick_at = now
        self._sample_due = now
        self._waiting: list[str] = []
        # What the worker runs, and where that fetches; then what it has not answered for yet.
        self._workload: tuple[str, str | None] = ("", None)
        self._workloads: deque[tuple[str, str | None]] = deque()
        self._untouched = True  # no worker's task has been asked for yet
        self._unjudged: Reading | None = None  # taken since the last tick
        self._garbage = 0
        self._first_garbage = ""
        self._noisy = False
        self._floods: set[str] = set()  # those told of
        self._allowance = Allowance(now)
        self._now = now  # of the last step

    # What a person asks for.

    @property
    def on(self) -> bool:
        """Whether there is a worker, and it is not on its way out."""
        return self.state in COMING + STANDING

    @property
    def live(self) -> int:
        """Live tasks by the last tick."""
        return self.tick.live if self.tick else 0

    def can(self, command: str) -> bool:
        """Whether the worker understands an optional command."""
        return self.ready is not None and command in self.ready.can

    @property
    def wanted(self) -> bool:
        """Whether there is a worker, or will be one when the last has ended."""
        return self.on or self._again

    def switch_on(self, settings: Settings, now: float) -> None:
        """Start a worker, if there is none; one on its way out is waited for."""
        if self._link is not None:
            self._again = not self.on
            self.settings = settings if self._again else self.settings
            return
        self._again = False
        self.missing = self.engine.missing()
        if self.missing:
            self._fail(self.missing)
            return
        self._clear(now)
        self.limit = None
        self.settings = settings
        self._link = self._open(self.engine)
        self.state, self.reason = State.STARTING, ""

    def switch_off(self, now: float) -> None:
        """Have the worker end; it is killed if it takes longer than `STOP_LIMIT`."""
        self.target, self._again = 0, False
        if self._link is None:
            self.state, self.reason = State.OFF, ""
            return
        if self.state is not State.STOPPING:
            self._link.send("stop")
            self.state, self._since, self.reason = State.STOPPING, now, ""

    def set_target(self, tasks: int) -> None:
        """Ask for this many live tasks."""
        self.target = tasks
        self.limit = None
        self.reached = None
        if self.state in STANDING:
            self._send_target()  # else it is sent as soon as the worker stands

    def _send_target(self) -> None:
        assert self._link is not None
        if self._untouched:
            # Taken at the last moment before the first task, with all settings applied.
            self._take_baseline()
        self._untouched = self._untouched and self.target == 0
        self._link.send("target", tasks=self.target)

    def run_burst(self, burst: Burst) -> None:
        """Have a running worker without tasks run a burst; `burst_done` is there when it has ended."""
        assert self._link is not None
        self._take_baseline()
        self._untouched = False
        self.target, self.limit, self.burst_done, self.burst_refused = burst.tasks, None, None, ""
        self._link.send(
            "burst", tasks=burst.tasks, chunks=burst.chunks, older=burst.older, read_after=burst.read_after
        )

    def _take_baseline(self) -> None:
        reading = self._link.reading() if self._link else None
        if reading is not None:
            self.meter.baseline(reading.rss, self.tick.traced if self.tick else None)

    def halt(self, wall: str, value: int) -> None:
        """Have the worker stop growing because of ``wall``; its `Limit` report says where it stands."""
        if self.state in COMING:
            self._take_limit(Limit(0, self.target, wall, value))
        elif self.on and self._link is not None:
            self._link.send("halt", wall=wall, value=value)

    def apply(self, settings: Settings) -> None:
        """Tell the worker what is new in ``settings``."""
        old, self.settings = self.settings, settings
        if self._link is None or self.ready is None:
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
                self._take_garbage(arrival)
            case Noise():
                self._take_noise(arrival)
            case Flood():
                self._take_flood(arrival)
            case Building():
                self._take_building(arrival)
            case Built():
                self._take_built(arrival, now)
            case Ended():
                self._take_end(arrival, now)

    def _take_tick(self, tick: Tick, now: float) -> None:
        wrong = contradiction(self.tick, tick)
        if wrong:
            self._take_garbage(Garbage(f"a tick that cannot be: {wrong}"))
            return
        self.rates.add(tick)
        if self._unjudged is not None:
            # Only of a reading between two ticks is it known whether tasks came or went about then.
            self.meter.add(self._unjudged.rss, tick.live, tick.traced)
            self._unjudged = None
        self.tick, self._tick_at = tick, now
        self.peak_live = max(self.peak_live, tick.live)
        if self.state is State.STARTING and self.ready is not None and not self._waiting:
            tracing = self.settings.trace and self.can("trace")
            if tracing == (tick.traced is not None):  # else it was taken before the settings were applied
                self._begin()

    def _take_building(self, building: Building) -> None:
        self.state = State.BUILDING
        self._pass_on(building.text[:LONGEST_MESSAGE])

    def _take_built(self, built: Built, now: float) -> None:
        self.state, self._since = State.STARTING, now
        self._say(f"built in {format_seconds(built.seconds)}")

    def _take_ready(self, ready: Ready) -> None:
        assert self._link is not None
        if self.ready is not None:
            self._take_garbage(Garbage("ready for the second time"))
            return
        if ready.protocol != PROTOCOL:
            self._fail(f"speaks version {ready.protocol} of the wire: expected {PROTOCOL}")
            return
        self.ready, self.flags = ready, ready.flags
        # The rate comes last, since a tick follows it at once, and with that tick the lane begins.
        orders = commands(self.settings, self.can)
        orders.append(("rate", {"hz": self._hz}))
        self._waiting = [command for command, _ in orders]
        for command, fields in orders:
            self._order(command, fields)

    def _take_applied(self, applied: Applied) -> None:
        if applied.flags is not None:
            self.flags = applied.flags
        if applied.command == "workload" and self._workloads:
            self._workload = self._workloads.popleft()
        if applied.command == "trace":
            self.meter.tracing_changed(not self._untouched)
        elif applied.command in ("workload", "threads"):
            self.meter.changed(not self._untouched)
        elif applied.command == "trim":
            self._pass_on(f"trimmed in {format_seconds(applied.seconds)}")
        if applied.command in self._waiting:
            self._waiting.remove(applied.command)

    def _begin(self) -> None:
        assert self.ready is not None
        self.state = State.RUNNING
        self._take_baseline()
        flags = "".join(f" · {flag}" for flag in self.flags)
        self._say(f"on: {self.ready.runtime}{flags}, pid {self.ready.pid}")
        if self.target:
            self._send_target()

    def _take_reached(self, reached: Reached) -> None:
        if reached.target == self.target:  # else it crossed with a newer target
            self.reached = reached
        if reached.created and reached.seconds > 0:
            self.create_speed = reached.created / reached.seconds
        if reached.created or reached.cancelled:
            self._pass_on(tell_reached(reached))

    def _take_burst(self, done: BurstDone) -> None:
        self.burst_done, self.target = done, 0
        self._pass_on(tell_burst(done))

    def _take_limit(self, limit: Limit) -> None:
        limit = self._named(limit)
        if limit.wanted == self.target:  # else it crossed with a newer target
            self.limit = limit
            self.target = min(self.target, limit.standing)
        self._pass_on(tell_limit(limit)[:LONGEST_MESSAGE], "warning")

    def _named(self, limit: Limit) -> Limit:
        """Name the wall where a worker cannot tell which limit on threads it was: seen from outside."""
        if limit.wall != UNKNOWN_WALL or not self.engine.threads or self.ready is None:
            return limit
        wall, value = wall_hit(str(self.ready.pid))
        return structs.replace(limit, wall=wall, value=value)

    def _take_error(self, error: Error) -> None:
        if self.ready is None:
            self._cannot_run(error.message[:LONGEST_MESSAGE])
            return
        if error.command in self._waiting:
            # What this lane was to run it cannot: better no worker than one that runs something else.
            self._fail(error.message[:LONGEST_MESSAGE])
            return
        if error.command == "workload" and self._workloads:
            # The worker goes on with what it runs; asked for again, the refused one is sent again.
            self._workloads.popleft()
            workload, page = self._workload
            self.settings = replace(self.settings, workload=workload, page=page)
        if error.command == "burst":
            self.burst_refused, self.target = error.message[:LONGEST_MESSAGE], 0
        detail = f"\n{error.detail[-LONGEST_DETAIL:].rstrip()}" if error.detail else ""
        self._pass_on(error.message[:LONGEST_MESSAGE] + detail, "error")

    def _take_garbage(self, garbage: Garbage) -> None:
        self._garbage += 1
        if self._garbage == 1:
            self._first_garbage = garbage.message
            self._say(garbage.message, "warning")
        if self._garbage > MOST_GARBAGE:
            self._fail(
                f"more than {MOST_GARBAGE} of its lines could not be used, the first: {self._first_garbage}"
            )

    def _take_noise(self, noise: Noise) -> None:
        if not self._noisy and noise.text.strip():
            self._noisy = True
            self._say(f"wrote: {noise.text.strip().splitlines()[0][:200]}")

    def _take_flood(self, flood: Flood) -> None:
        if flood.message not in self._floods:
            self._floods.add(flood.message)
            self._say(flood.message, "warning")

    def _take_end(self, ended: Ended, now: float) -> None:
        stopping = self.state is State.STOPPING
        self._link = None
        self._gap(now)
        if stopping:
            self.state, self.reason = State.OFF, ""
            self._say("off")
        elif self.state is not State.FAILED and ended.ran and self.ready is None:
            self._cannot_run(ended.reason)
        elif self.state is not State.FAILED:
            self._fail(ended.reason)
        if self._again:
            self.switch_on(self.settings, now)

    def _cannot_run(self, reason: str) -> None:
        """Fail before the worker stood: what its engine needs is there, and does not work."""
        self._fail(self.engine.broken(reason))
        self.missing = self.reason if self.engine.needs else None

    def _fail(self, reason: str) -> None:
        if self._link is not None:
            self._link.kill()
        self.state, self.reason = State.FAILED, plain(reason)
        self.target = 0
        self._say(f"failed: {reason}", "error")

    def _sample(self, now: float) -> None:
        assert self._link is not None
        reading = self._link.reading()
        if reading is None:
            return
        self.reading = self._unjudged = reading
        self.peak_rss = max(self.peak_rss, reading.rss)
        if now <= self._sample_due - 0.5 / self._hz:
            return  # looked at more often than kept, so that the budget is watched closely at any rate
        self._sample_due = max(self._sample_due + 1 / self._hz, now)
        tick = self.tick
        values: dict[str, float] = {"rss": reading.rss, "cpu": reading.cpu}
        if tick is not None:
            values.update(
                live=tick.live,
                lag=max(tick.lag, now - self._tick_at - 1 / self._hz),
                create_rate=self.rates.created,
                completion_rate=self.rates.completed,
            )
            if tick.traced is not None:
                values["traced"] = tick.traced
            if tick.heap is not None:
                values["heap"] = tick.heap
        self._keep(now, values)

    def _gap(self, now: float) -> None:
        """Break the lines of the charts: what comes next is another process."""
        self._keep(now, {})
        self.reading = self._unjudged = self.tick = None

    def _keep(self, now: float, values: dict[str, float]) -> None:
        self.series.append(now, values)
        self.sampled = now

    def age(self, now: float) -> float:
        """Seconds since the worker was started."""
        return now - self.born

    def stalled_for(self, now: float) -> float:
        """Seconds that the worker has been silent, or something in it overdue; 0 when all is well."""
        silence = now - self._tick_at
        overdue = self.tick.lag if self.tick else 0.0
        longest = max(silence, overdue)
        return longest if overdue >= STALL or silence >= max(STALL, MISSED / self._hz) else 0.0

    def _judge(self, now: float) -> None:
        """Follow the clock from one state to the next."""
        refused = self._allowance.refused(now)
        if refused:
            self._say(f"{format_count(refused)} more of its reports are not told here", "warning")
        if self.state is State.STARTING and now - self._since > self.start_limit:
            self._fail(f"did not stand within {format_seconds(self.start_limit)}")
        elif self.state is State.RUNNING and self.stalled_for(now):
            self.state = State.STALLED
        elif self.state is State.STALLED and not self.stalled_for(now):
            self.state = State.RUNNING
        elif self.state is State.STOPPING and now - self._since > STOP_LIMIT:
            assert self._link is not None
            self._link.kill()
            self._since = math.inf
            self._say(f"did not stop within {format_seconds(STOP_LIMIT)}: killed", "warning")

    def exact_peak_rss(self) -> int:
        """Give the highest RSS in bytes: the system's own figure where it keeps one, else of the samples."""
        known = self._link.peak_rss() if self._link else None
        return max(self.peak_rss, known or 0)

    @property
    def idle(self) -> bool:
        """Whether no process is left."""
        return self._link is None

    def kill(self) -> None:
        """End the worker by force."""
        if self._link is not None:
            self._link.kill()

    def give_up(self, reason: str) -> None:
        """End the worker by force, and have the lane say why."""
        self._fail(reason)

    def _pass_on(self, text: str, weight: Weight = "info") -> None:
        """Tell what the worker has said, as long as it does not say too much."""
        if self._allowance.take(self._now):
            self._say(text, weight)

    def _say(self, text: str, weight: Weight = "info") -> None:
        self._note(self.engine.name, text, weight)
