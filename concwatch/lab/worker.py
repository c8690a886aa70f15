"""One worker process as the lab sees it, from its start to its end: what it is sent, and its reports.

Over 300 lines, since each report is judged by what was sent last, and moves the same state.
"""

import math
from collections.abc import Callable

from msgspec import structs

from concwatch.lab.catalog import Engine
from concwatch.lab.events import EventSink
from concwatch.lab.goal import Goal
from concwatch.lab.lane_state import COMING, STANDING, State
from concwatch.lab.memory_growth import MemoryGrowth
from concwatch.lab.orders import Orders
from concwatch.lab.settings import Settings
from concwatch.lab.tally import Tally
from concwatch.lab.worker_log import LONGEST_MESSAGE, WorkerLog, burst_text, limit_text, reached_text
from concwatch.links import messages
from concwatch.links.link import Arrival, Ended, Flood, Garbage, Link, Noise
from concwatch.system.machine import Load
from concwatch.system.walls import UNKNOWN_WALL, wall_hit
from concwatch.text import plain
from concwatch.units import format_seconds
from concwatch.wire import PROTOCOL
from concwatch.worker.burst import Burst
from concwatch.worker.workloads import is_function

START_LIMIT = 30.0
STOP_LIMIT = 3.0
"""Seconds from its start to having applied its settings; to its end, before it is killed."""


class Worker:
    """Commands one worker and takes in its reports; time is passed in, in seconds.

    It is sent its ``settings`` and the ``target`` once it is ready; without a ``link`` it stands for a lane
    that is off.
    """

    def __init__(
        self,
        engine: Engine,
        link: Link | None,
        settings: Settings,
        target: int,
        say: EventSink,
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
        self.orders = Orders(settings)
        self.goal = Goal(target)
        self.burst_refused = ""
        """Why it would not run the last burst."""
        self.tally = Tally(now, hz)
        self.host: messages.HostFigures | None = None
        """The last report on the machine that it runs on, where that is another."""
        self._say = say
        self._hz = hz
        self._start_limit = start_limit
        self._load = load
        self._log = WorkerLog(say, now)
        self._memory = MemoryGrowth(say, lambda: self.send_optional("lines"))
        self._fresh: messages.Reached | None = None  # since the last tick
        self._asked_at: tuple[Load, float] | None = None  # the machine, and the worker's CPU seconds
        self._since = now  # of a state that may only last so long
        self._now = now

    def can(self, command: str) -> bool:
        """Return whether it understands an optional command."""
        return self.tally.ready is not None and command in self.tally.ready.can

    # Commands.

    def ask(self, tasks: int) -> None:
        """Ask for this many live tasks; it holds as many as it is granted."""
        self.goal.ask(tasks)
        self._asked_at = self._used()

    def grant(self, tasks: int) -> None:
        """Let it hold ``tasks`` at present, of those asked for."""
        self.goal.grant(tasks)
        if self.state in STANDING:
            self._send_target()  # else it is sent as soon as the worker stands

    @property
    def waits(self) -> bool:
        """Whether it has created all that it was granted, and more is asked for."""
        if self.state in COMING:
            return self.goal.granted < self.goal.target
        return self.state.on and self.goal.part_done

    def _send_target(self) -> None:
        assert self.link is not None
        if self.tally.untouched:
            # Taken at the last moment before the first task, with all settings applied.
            self.tally.take_baseline(self.link.reading())
        self.tally.untouched = self.tally.untouched and self.goal.target == 0
        self.link.send("target", tasks=self.goal.granted)

    def _used(self) -> tuple[Load, float]:
        reading = self.link.reading() if self.link else None
        return self._load(), reading.cpu_seconds if reading else 0.0

    def run_burst(self, burst: Burst) -> None:
        """Have a running worker without tasks run a burst; its figures are in the tally when it has ended."""
        assert self.link is not None
        self.tally.take_baseline(self.link.reading())
        self.tally.untouched, self.tally.burst = False, None
        self.goal.ask(burst.tasks)
        self.burst_refused = ""
        self.link.send(
            "burst", tasks=burst.tasks, chunks=burst.chunks, older=burst.older, read_after=burst.read_after
        )

    def halt(self, wall: str, value: int) -> None:
        """Have it stop growing because of ``wall``; its `Limit` report says where it stands."""
        if self.state in COMING:
            self._take_limit(messages.Limit(0, self.goal.granted, wall, value))
        elif self.state.on and self.link is not None:
            self.link.send("halt", wall=wall, value=value)

    def apply(self, settings: Settings) -> None:
        """Send it what is new in ``settings``; one that is not ready yet is sent all of them then."""
        if self.state.on and self.link is not None and self.tally.ready is not None:
            self.orders.change(settings, self.link, self.can)
        else:
            self.orders.settings = settings

    def send_optional(self, command: str) -> None:
        """Send a command without fields to a worker that understands it."""
        if self.link is not None and self.can(command):
            self.link.send(command)

    def stop(self, now: float) -> None:
        """Have it end; it is killed if it takes longer than `STOP_LIMIT`."""
        self.goal.target = 0
        if self.link is None:
            self.state, self.reason = State.OFF, ""
        elif self.state is not State.STOPPING:
            self.link.send("stop")
            self.state, self._since, self.reason = State.STOPPING, now, ""

    def fail(self, reason: str) -> None:
        """Kill it because of ``reason``, and forget its target."""
        self.kill()
        self.state, self.reason = State.FAILED, plain(reason)
        self.goal.clear()
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

    # Reports.

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
            case messages.Tick():
                self._take_tick(arrival)
            case messages.Ready():
                self._take_ready(arrival)
            case messages.Reached():
                self._take_reached(arrival)
            case messages.Limit():
                self._take_limit(arrival)
            case messages.Applied():
                self._take_applied(arrival)
            case messages.Error():
                self._take_error(arrival)
            case messages.TracedLines():
                self._memory.take_lines(arrival)
            case messages.HostFigures():
                self.host = arrival
            case messages.BurstDone():
                self.tally.burst = arrival
                self.goal.clear()
                self._log.add(self._now, burst_text(arrival))
            case Garbage():
                self._take_garbage(arrival.message)
            case Noise():
                self._log.add_noise(arrival.text)
            case Flood():
                self._log.add_flood(arrival.message)
            case messages.Building():
                self.state = State.BUILDING
                self._log.add(self._now, arrival.text)
            case messages.Built():
                self.state, self._since = State.STARTING, self._now
                self._say(f"built in {format_seconds(arrival.seconds)}", "info")

    def _take_tick(self, tick: messages.Tick) -> None:
        wrong = self.tally.add_tick(tick, self._now, self.goal.target > 0, self._fresh)
        self._fresh = None
        if wrong:
            self._take_garbage(f"a tick that cannot be: {wrong}")
            return
        if self.state is State.STARTING and self.tally.ready is not None and not self.orders.unanswered:
            tracing = self.orders.settings.trace and self.can("trace")
            if tracing == (tick.traced is not None):  # else it was taken before the settings were applied
                self._begin(self.tally.ready)

    def _take_ready(self, ready: messages.Ready) -> None:
        assert self.link is not None
        if self.tally.ready is not None:
            self._take_garbage("ready for the second time")
        elif ready.protocol != PROTOCOL:
            self.fail(f"speaks version {ready.protocol} of the wire: expected {PROTOCOL}")
        else:
            self.tally.ready, self.tally.flags = ready, ready.flags
            self.orders.begin(self.link, self.can, self._hz)

    def _begin(self, ready: messages.Ready) -> None:
        assert self.link is not None
        self.state = State.RUNNING
        self.tally.take_baseline(self.link.reading())
        flags = "".join(f" · {flag}" for flag in self.tally.flags)
        self._say(f"on: {ready.runtime}{flags}, pid {ready.pid}", "info")
        if self.goal.target:
            self._asked_at = self._used()
            self._send_target()

    def _take_applied(self, applied: messages.Applied) -> None:
        if applied.flags is not None:
            self.tally.flags = applied.flags
        self.orders.accepted(applied.command)
        if applied.command in ("workload", "threads"):
            self.tally.workload_changed()
        elif applied.command == "trim":
            self._log.add(self._now, f"trimmed in {format_seconds(applied.seconds)}")

    def _take_reached(self, reached: messages.Reached) -> None:
        self._fresh = reached
        whole: messages.Reached | None = reached
        if reached.target == self.goal.granted:  # else it crossed with a newer target
            self.tally.count_live(reached.live)
            whole = self.goal.meet(reached)
            if whole is not None and whole.created:
                before, now = self._asked_at, self._used()
                self.tally.grew(whole, before, now)
            elif whole is not None and whole.cancelled and not whole.target:
                self.tally.stop_seconds = whole.seconds
        if whole is not None and (whole.created or whole.cancelled):
            self._log.add(self._now, reached_text(whole))

    def _take_limit(self, limit: messages.Limit) -> None:
        here = self.engine.host is None  # elsewhere the bridge has looked
        if limit.wall == UNKNOWN_WALL and here and self.engine.threads and self.tally.ready is not None:
            # The worker cannot tell which limit on threads it was; from outside it can be seen.
            wall, value = wall_hit(str(self.tally.ready.pid))
            limit = structs.replace(limit, wall=wall, value=value)
        if limit.wanted == self.goal.granted:  # else it crossed with a newer target
            limit = self.goal.stop_at(limit)
        self._log.add(self._now, limit_text(limit), "warning")

    def _take_error(self, error: messages.Error) -> None:
        message = error.message[:LONGEST_MESSAGE]
        if self.tally.ready is None:
            self.cannot_run(message)
            return
        if error.command in self.orders.unanswered:
            # What this lane was to run it cannot: better no worker than one that runs something else.
            self.fail(message)
            return
        if error.command == "burst":
            self.burst_refused = message
            self.goal.clear()
        elif error.command:
            self.orders.refused(error.command)
        self._log.add(self._now, message, "error", error.detail)

    def _take_garbage(self, message: str) -> None:
        if reason := self._log.add_garbage(message):
            self.fail(reason)

    # Time.

    def stalled_for(self, now: float) -> float:
        """Return the seconds that it has been silent, or something in it overdue; 0 when all is well."""
        return self.tally.stalled_for(now) if self.state in STANDING else 0.0

    def _judge_memory(self, now: float) -> None:
        """Look whether a person's own function keeps memory; what other workloads keep is known."""
        reading, tick = self.tally.reading, self.tally.tick
        own = self.goal.reached is not None and is_function(self.orders.settings.workload)
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
