"""One worker process as the lab sees it, from its start to its end: what it was told and what it reported.

Over 300 lines, since each report is judged by what was told last, and moves the same state.
"""

import math
from collections import deque
from collections.abc import Callable

from msgspec import structs

from concwatch.lab.catalog import Engine
from concwatch.lab.event_text import burst_text, limit_text, reached_text
from concwatch.lab.events import Severity
from concwatch.lab.lane_state import COMING, STANDING, State
from concwatch.lab.memory_growth import MemoryGrowth
from concwatch.lab.settings import Settings, commands
from concwatch.lab.tally import Tally
from concwatch.lab.worker_log import LONGEST_MESSAGE, WorkerLog
from concwatch.links.link import Arrival, Building, Built, Ended, Flood, Garbage, Link, Noise
from concwatch.links.messages import (
    Applied,
    BurstDone,
    Error,
    HostFigures,
    Limit,
    Reached,
    Ready,
    Tick,
    TracedLines,
)
from concwatch.system.machine import Load
from concwatch.system.walls import UNKNOWN_WALL, wall_hit
from concwatch.text import plain
from concwatch.units import format_seconds
from concwatch.wire import PROTOCOL
from concwatch.worker.burst import Burst
from concwatch.worker.workloads import is_function

START_LIMIT = 30.0
"""Seconds a worker may take from its start to having applied its settings."""

STOP_LIMIT = 3.0
"""Seconds a worker may take to end by itself before it is killed."""

STALL = 1.0
"""Seconds without a tick, or that something in the worker is overdue, from which on a lane is stalled."""

MISSED = 3
"""Ticks that must be missing besides, so that a slow rate is no stall."""


class Worker:
    """Commands one worker and takes in its reports; time is passed in, in seconds.

    Args:
        engine: what it runs.
        link: leads to its process; None for a lane that is off.
        settings: what it is told once it is ready.
        target: tasks it is asked to hold.
        say: takes an event: what happened, how bad that is.
        now: when it was started.
        hz: ticks a second.
        start_limit: seconds it may take from its start to having applied its settings.
        load: tells what CPU time has been used on this machine.
    """

    def __init__(
        self,
        engine: Engine,
        link: Link | None,
        settings: Settings,
        target: int,
        say: Callable[[str, Severity], None],
        *,
        now: float,
        hz: float,
        start_limit: float,
        load: Callable[[], Load],
    ) -> None:
        self.engine = engine
        self.link = link
        """None once the process has ended."""
        self.state = State.OFF if link is None else State.STARTING
        self.reason = ""
        """Why it failed."""
        self.broken = ""
        """Why what its engine needs does not work, though it is there."""
        self.settings = settings
        """What it was last told."""
        self.target = self.asked = target
        """Tasks it is to hold; those asked for last, whatever held them back."""
        self.granted = 0
        """How many of the tasks asked for it may hold at present."""
        self.limit: Limit | None = None
        """The wall that holds it short of what was asked."""
        self.reached: Reached | None = None
        """The last target met, its parts added up."""
        self.burst_refused = ""
        """Why it would not run the last burst."""
        self.tally = Tally(now, hz)
        """What is known of it."""
        self.host: HostFigures | None = None
        """The machine that it runs on, where that is another; as last reported."""
        self._say = say
        self._hz = hz
        self._start_limit = start_limit
        self._load = load
        self._log = WorkerLog(say, now)
        self._memory = MemoryGrowth(say, self._ask_lines)
        self._fresh: Reached | None = None  # since the last tick
        self._parts: list[Reached] = []  # of a target that is granted bit by bit
        self._asked_at: tuple[Load, float] | None = None  # the machine, and the worker's CPU seconds
        self._since = now  # of a state that may only last so long
        self._unanswered: list[str] = []  # commands without which it does not begin
        # The workload and page that it runs, then those that it was told and has not answered for.
        self._workload: tuple[str, str | None] = ("", None)
        self._workloads: deque[tuple[str, str | None]] = deque()
        self._now = now

    def can(self, command: str) -> bool:
        """Whether it understands an optional command."""
        return self.tally.ready is not None and command in self.tally.ready.can

    # What it is told.

    def ask(self, tasks: int) -> None:
        """Ask for this many live tasks; it holds as many as it is granted."""
        self.target = self.asked = tasks
        self.limit = self.reached = None
        self._parts.clear()
        self._asked_at = self._used()

    def grant(self, tasks: int) -> None:
        """Let it hold ``tasks`` at present, of those asked for."""
        self.granted = min(tasks, self.target)
        if self.state in STANDING:
            self._send_target()  # else it is sent as soon as the worker stands

    @property
    def waits(self) -> bool:
        """Whether it has created all that it was granted, and more is asked for."""
        if not self.state.on or self.granted >= self.target:
            return False
        return self.state in COMING or bool(self._parts and self._parts[-1].target == self.granted)

    def _send_target(self) -> None:
        assert self.link is not None
        if self.tally.untouched:
            # Taken at the last moment before the first task, with all settings applied.
            self.tally.take_baseline(self.link.reading())
        self.tally.untouched = self.tally.untouched and self.target == 0
        self.link.send("target", tasks=self.granted)

    def _used(self) -> tuple[Load, float]:
        reading = self.link.reading() if self.link else None
        return self._load(), reading.cpu_seconds if reading else 0.0

    def run_burst(self, burst: Burst) -> None:
        """Have a running worker without tasks run a burst; its figures are there when it has ended."""
        assert self.link is not None
        self.tally.take_baseline(self.link.reading())
        self.tally.untouched, self.tally.burst = False, None
        self.target = self.asked = self.granted = burst.tasks
        self.limit, self.burst_refused = None, ""
        self.link.send(
            "burst", tasks=burst.tasks, chunks=burst.chunks, older=burst.older, read_after=burst.read_after
        )

    def halt(self, wall: str, value: int) -> None:
        """Have it stop growing because of ``wall``; its `Limit` report says where it stands."""
        if self.state in COMING:
            self._take_limit(Limit(0, self.granted, wall, value))
        elif self.state.on and self.link is not None:
            self.link.send("halt", wall=wall, value=value)

    def apply(self, settings: Settings) -> None:
        """Tell it what is new in ``settings``; one that is not ready yet is told all of them then."""
        old, self.settings = self.settings, settings
        if self.state.on and self.tally.ready is not None:
            before = commands(old, self.can)
            self._send([command for command in commands(settings, self.can) if command not in before])

    def _send(self, orders: list[tuple[str, dict[str, object]]]) -> None:
        assert self.link is not None
        for command, fields in orders:
            if command == "workload":
                self._workloads.append((self.settings.workload, self.settings.page))
            self.link.send(command, **fields)

    def _ask_lines(self) -> None:
        if self.link is not None and self.can("lines"):
            self.link.send("lines")

    def trim(self) -> None:
        """Have it collect, and give memory back to the system."""
        if self.link is not None and self.can("trim"):
            self.link.send("trim")

    def stop(self, now: float) -> None:
        """Have it end; it is killed if it takes longer than `STOP_LIMIT`."""
        self.target = 0
        if self.link is None:
            self.state, self.reason = State.OFF, ""
        elif self.state is not State.STOPPING:
            self.link.send("stop")
            self.state, self._since, self.reason = State.STOPPING, now, ""

    def fail(self, reason: str) -> None:
        """End it by force; it has failed, and says why."""
        self.kill()
        self.state, self.reason = State.FAILED, plain(reason)
        self.target = self.asked = 0
        self._say(f"failed: {reason}", "error")

    def lose(self, reason: str) -> None:
        """Note that the connection is broken; what was asked for is kept, to be asked for again."""
        self.state, self.reason = State.LOST, plain(reason)
        self._say(f"lost: {reason}", "error")

    def cannot_run(self, reason: str) -> None:
        """Fail before it was ready: what its engine needs is there, and does not work."""
        self.fail(self.engine.broken(reason))
        self.broken = self.reason if self.engine.needs else ""

    def kill(self) -> None:
        """End it by force."""
        if self.link is not None:
            self.link.kill()

    # What it reports.

    def take_arrivals(self, now: float) -> Ended | None:
        """Take in what has come since the last call, and return its end where that has come."""
        self._now = now
        ended = None
        for arrival in self.link.arrivals(now) if self.link else ():
            if isinstance(arrival, Ended):
                ended, self.link = arrival, None
            elif self.state.on:  # nothing else matters of a worker on its way out
                self._take(arrival)
        return ended

    def _take(self, arrival: Arrival) -> None:
        match arrival:
            case Tick():
                self._take_tick(arrival)
            case Ready():
                self._take_ready(arrival)
            case Reached():
                self._take_reached(arrival)
            case Limit():
                self._take_limit(arrival)
            case Applied():
                self._take_applied(arrival)
            case Error():
                self._take_error(arrival)
            case TracedLines():
                self._memory.take_lines(arrival)
            case HostFigures():
                self.host = arrival
            case BurstDone():
                self.tally.burst = arrival
                self.target = self.asked = self.granted = 0
                self._log.add(self._now, burst_text(arrival))
            case Garbage():
                self._take_garbage(arrival.message)
            case Noise():
                self._log.add_noise(arrival.text)
            case Flood():
                self._log.add_flood(arrival.message)
            case Building():
                self.state = State.BUILDING
                self._log.add(self._now, arrival.text)
            case Built():
                self.state, self._since = State.STARTING, self._now
                self._say(f"built in {format_seconds(arrival.seconds)}", "info")

    def _take_tick(self, tick: Tick) -> None:
        wrong = self.tally.add_tick(tick, self._now, self.target > 0, self._fresh)
        self._fresh = None
        if wrong:
            self._take_garbage(f"a tick that cannot be: {wrong}")
            return
        if self.state is State.STARTING and self.tally.ready is not None and not self._unanswered:
            tracing = self.settings.trace and self.can("trace")
            if tracing == (tick.traced is not None):  # else it was taken before the settings were applied
                self._begin(self.tally.ready)

    def _take_ready(self, ready: Ready) -> None:
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
        self._unanswered = [command for command, _ in orders]
        self._send(orders)

    def _begin(self, ready: Ready) -> None:
        assert self.link is not None
        self.state = State.RUNNING
        self.tally.take_baseline(self.link.reading())
        flags = "".join(f" · {flag}" for flag in self.tally.flags)
        self._say(f"on: {ready.runtime}{flags}, pid {ready.pid}", "info")
        if self.target:
            self._asked_at = self._used()
            self._send_target()

    def _take_applied(self, applied: Applied) -> None:
        if applied.flags is not None:
            self.tally.flags = applied.flags
        if applied.command == "workload" and self._workloads:
            self._workload = self._workloads.popleft()
        if applied.command in ("workload", "threads"):
            self.tally.workload_changed()
        elif applied.command == "trim":
            self._log.add(self._now, f"trimmed in {format_seconds(applied.seconds)}")
        if applied.command in self._unanswered:
            self._unanswered.remove(applied.command)

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
            now, before = self._used(), self._asked_at
            self.tally.grew(
                whole, (before[0], now[0]) if before else None, now[1] - before[1] if before else 0.0
            )
        elif whole.cancelled and not whole.target:
            self.tally.stop_seconds = whole.seconds
        if whole.created or whole.cancelled:
            self._log.add(self._now, reached_text(whole))

    def _take_limit(self, limit: Limit) -> None:
        here = self.engine.host is None  # elsewhere the bridge has looked
        if limit.wall == UNKNOWN_WALL and here and self.engine.threads and self.tally.ready is not None:
            # The worker cannot tell which limit on threads it was; from outside it can be seen.
            wall, value = wall_hit(str(self.tally.ready.pid))
            limit = structs.replace(limit, wall=wall, value=value)
        if limit.wanted == self.granted:  # else it crossed with a newer target
            self.limit = limit = structs.replace(limit, wanted=self.asked)
            self.target = self.granted = min(self.target, limit.standing)
        self._log.add(self._now, limit_text(limit), "warning")

    def _take_error(self, error: Error) -> None:
        message = error.message[:LONGEST_MESSAGE]
        if self.tally.ready is None:
            self.cannot_run(message)
            return
        if error.command in self._unanswered:
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

    # What time brings.

    def stalled_for(self, now: float) -> float:
        """Seconds that a running worker has been silent, or something in it overdue; 0 when all is well."""
        if self.state not in STANDING:
            return 0.0
        silence = now - self.tally.tick_at
        overdue = self.tally.tick.lag if self.tally.tick else 0.0
        longest = max(silence, overdue)
        return longest if overdue >= STALL or silence >= max(STALL, MISSED / self._hz) else 0.0

    def _judge_memory(self, now: float) -> None:
        """Look whether a person's own function keeps memory; what other workloads keep is as they say."""
        reading, tick = self.tally.reading, self.tally.tick
        own = self.reached is not None and is_function(self.settings.workload)
        if own and self.state is State.RUNNING and reading and tick:
            self._memory.add(now, reading.rss, tick.live, tick.traced is not None)
        else:
            self._memory.restart()

    def judge(self, now: float) -> None:
        """Follow the clock from one state to the next."""
        self._log.summarize(now)
        self._judge_memory(now)
        if self.state is State.STARTING and now - self._since > self._start_limit:
            self.fail(f"did not stand within {format_seconds(self._start_limit)}")
        elif self.state in STANDING:
            self.state = State.STALLED if self.stalled_for(now) else State.RUNNING
        elif self.state is State.STOPPING and now - self._since > STOP_LIMIT:
            self.kill()
            self._since = math.inf
            self._say(f"did not stop within {format_seconds(STOP_LIMIT)}: killed", "warning")
