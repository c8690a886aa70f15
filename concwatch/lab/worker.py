"""One worker process from its start to its end: the commands it is sent, and its reports.

Over 300 lines, since each report is interpreted by the commands sent last and changes the same state.
"""

import math
from collections.abc import Callable

from msgspec import structs

from concwatch.lab.catalog import Engine
from concwatch.lab.events import EventSink
from concwatch.lab.goal import Goal
from concwatch.lab.memory_leak import MemoryLeakDetector
from concwatch.lab.settings import Settings, WorkerSettings
from concwatch.lab.snapshot import ACTIVE, PENDING, State
from concwatch.lab.worker_log import LONGEST_MESSAGE, WorkerLog, burst_text, limit_text, reached_text
from concwatch.lab.worker_stats import WorkerStats
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
"""Seconds that a worker has to start and apply its settings, and to stop before it is killed."""


class Worker:
    """Sends commands to one worker and handles its reports; time is passed in, in seconds.

    The ``settings`` and the ``target`` are sent once it is ready. Without a ``link`` its lane is off.
    """

    def __init__(
        self,
        engine: Engine,
        link: Link | None,
        settings: Settings,
        target: int,
        log: EventSink,
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
        """Why a package that its engine needs does not work, though it is installed."""
        self.settings = WorkerSettings(settings, engine.churn)
        self.goal = Goal(target)
        self.burst_refused = ""
        """Why it refused the last burst."""
        self.stats = WorkerStats(now, hz)
        self.host: messages.HostFigures | None = None
        """The last report on its host, if that is a remote one."""
        self._log_event = log
        self._hz = hz
        self._start_limit = start_limit
        self._load = load
        self._log = WorkerLog(log, now)
        self._leak_detector = MemoryLeakDetector(log, lambda: self.send_optional("lines"))
        self._reached: messages.Reached | None = None  # received since the last tick
        # When the target was set: the load of the machine, and the CPU seconds of the worker.
        self._load_before: tuple[Load, float] | None = None
        self._since = now  # when a state with a time limit began
        self._now = now

    def can(self, command: str) -> bool:
        """Return whether it accepts an optional command."""
        return self.stats.ready is not None and command in self.stats.ready.can

    # Commands.

    def set_target(self, tasks: int) -> None:
        """Set the number of live tasks to hold; it holds as many as it is granted."""
        self.goal.set_target(tasks)
        self._load_before = self._load_now()

    def grant(self, tasks: int) -> None:
        """Allow it to hold ``tasks`` of its target at present."""
        self.goal.grant(tasks)
        if self.state in ACTIVE:
            self._send_target()  # otherwise it is sent once the worker is running

    @property
    def awaits_grant(self) -> bool:
        """Whether it has created all tasks that it was granted, and its target is higher."""
        if self.state in PENDING:
            return self.goal.granted < self.goal.target
        return self.state.on and self.goal.part_done

    def _send_target(self) -> None:
        assert self.link is not None
        if self.stats.untouched:
            # Read just before the first task, with all settings applied.
            self.stats.set_baseline(self.link.reading())
        self.stats.untouched = self.stats.untouched and self.goal.target == 0
        self.link.send("target", tasks=self.goal.granted)

    def _load_now(self) -> tuple[Load, float]:
        reading = self.link.reading() if self.link else None
        return self._load(), reading.cpu_seconds if reading else 0.0

    def run_burst(self, burst: Burst) -> None:
        """Run a burst in a running worker without tasks; `stats` holds its figures once it has ended."""
        assert self.link is not None
        self.stats.set_baseline(self.link.reading())
        self.stats.untouched, self.stats.burst = False, None
        self.goal.set_target(burst.tasks)
        self.burst_refused = ""
        self.link.send(
            "burst", tasks=burst.tasks, chunks=burst.chunks, older=burst.older, read_after=burst.read_after
        )

    def halt(self, wall: str, value: int) -> None:
        """Stop its growth because of ``wall``; its `Limit` report states how many tasks are live."""
        if self.state in PENDING:
            self._handle_limit(messages.Limit(0, self.goal.granted, wall, value))
        elif self.state.on and self.link is not None:
            self.link.send("halt", wall=wall, value=value)

    def apply(self, settings: Settings) -> None:
        """Send what has changed in ``settings``; a worker that is not ready yet is sent all of them later."""
        if self.state.on and self.link is not None and self.stats.ready is not None:
            self.settings.send_changes(settings, self.link, self.can)
        else:
            self.settings.current = settings

    def send_optional(self, command: str) -> None:
        """Send a command without fields if the worker accepts it."""
        if self.link is not None and self.can(command):
            self.link.send(command)

    def stop(self, now: float) -> None:
        """Stop it; it is killed if that takes longer than `STOP_LIMIT`."""
        self.goal.target = 0
        if self.link is None:
            self.state, self.reason = State.OFF, ""
        elif self.state is not State.STOPPING:
            self.link.send("stop")
            self.state, self._since, self.reason = State.STOPPING, now, ""

    def fail(self, reason: str) -> None:
        """Kill it because of ``reason``, and clear its target."""
        self.kill()
        self.state, self.reason = State.FAILED, plain(reason)
        self.goal.clear()
        self._log_event(f"failed: {reason}", "error")

    def handle_lost(self, reason: str) -> None:
        """Handle a broken connection; the target is kept for the next worker."""
        self.state, self.reason = State.LOST, plain(reason)
        self._log_event(f"lost: {reason}", "error")

    def fail_start(self, reason: str) -> None:
        """Handle a failure before it was ready: a package that its engine needs is installed but broken."""
        self.fail(self.engine.broken(reason))
        self.broken = self.reason if self.engine.needs else ""

    def kill(self) -> None:
        """Kill it."""
        if self.link is not None:
            self.link.kill()

    # Reports.

    def receive(self, now: float) -> Ended | None:
        """Handle the messages received since the last call; return the end of the process if it has ended."""
        self._now = now
        ended = None
        for arrival in self.link.arrivals(now) if self.link else ():
            if isinstance(arrival, Ended):
                ended, self.link = arrival, None
            elif self.state.on:  # a stopping worker's reports are ignored
                self._handle(arrival)
        return ended

    def _handle(self, arrival: Arrival) -> None:
        match arrival:
            case messages.Tick():
                self._handle_tick(arrival)
            case messages.Ready():
                self._handle_ready(arrival)
            case messages.Reached():
                self._handle_reached(arrival)
            case messages.Limit():
                self._handle_limit(arrival)
            case messages.Applied():
                self._handle_applied(arrival)
            case messages.Error():
                self._handle_error(arrival)
            case messages.TracedLines():
                self._leak_detector.add_lines(arrival)
            case messages.HostFigures():
                self.host = arrival
            case messages.BurstDone():
                self.stats.burst = arrival
                self.goal.clear()
                self._log.add(self._now, burst_text(arrival))
            case Garbage():
                self._handle_garbage(arrival.message)
            case Noise():
                self._log.add_noise(arrival.text)
            case Flood():
                self._log.add_flood(arrival.message)
            case messages.Building():
                self.state = State.BUILDING
                self._log.add(self._now, arrival.text)
            case messages.Built():
                self.state, self._since = State.STARTING, self._now
                self._log_event(f"built in {format_seconds(arrival.seconds)}", "info")

    def _handle_tick(self, tick: messages.Tick) -> None:
        wrong = self.stats.add_tick(tick, self._now, self.goal.target > 0, self._reached)
        self._reached = None
        if wrong:
            self._handle_garbage(f"an impossible tick: {wrong}")
            return
        if self.state is State.STARTING and self.stats.ready is not None and not self.settings.unanswered:
            tracing = self.settings.current.trace and self.can("trace")
            if tracing == (tick.traced is not None):  # otherwise it was sent before the settings were applied
                self._handle_start(self.stats.ready)

    def _handle_ready(self, ready: messages.Ready) -> None:
        assert self.link is not None
        if self.stats.ready is not None:
            self._handle_garbage("ready a second time")
        elif ready.protocol != PROTOCOL:
            self.fail(f"uses version {ready.protocol} of the wire protocol: expected {PROTOCOL}")
        else:
            self.stats.ready, self.stats.flags = ready, ready.flags
            self.settings.send_all(self.link, self.can, self._hz)

    def _handle_start(self, ready: messages.Ready) -> None:
        assert self.link is not None
        self.state = State.RUNNING
        self.stats.set_baseline(self.link.reading())
        flags = "".join(f" · {flag}" for flag in self.stats.flags)
        self._log_event(f"on: {ready.runtime}{flags}, pid {ready.pid}", "info")
        if self.goal.target:
            self._load_before = self._load_now()
            self._send_target()

    def _handle_applied(self, applied: messages.Applied) -> None:
        if applied.flags is not None:
            self.stats.flags = applied.flags
        self.settings.handle_applied(applied.command)
        if applied.command in ("workload", "threads"):
            self.stats.reset_workload()
        elif applied.command == "trim":
            self._log.add(self._now, f"trimmed in {format_seconds(applied.seconds)}")

    def _handle_reached(self, reached: messages.Reached) -> None:
        self._reached = reached
        whole: messages.Reached | None = reached
        if reached.target == self.goal.granted:  # otherwise a newer target was sent meanwhile
            self.stats.set_live(reached.live)
            whole = self.goal.handle_reached(reached)
            if whole is not None and whole.created:
                self.stats.add_creation(whole, self._load_before, self._load_now())
            elif whole is not None and whole.cancelled and not whole.target:
                self.stats.stop_seconds = whole.seconds
        if whole is not None and (whole.created or whole.cancelled):
            self._log.add(self._now, reached_text(whole))

    def _handle_limit(self, limit: messages.Limit) -> None:
        local = self.engine.host is None  # on a remote host the bridge has determined the wall
        if limit.wall == UNKNOWN_WALL and local and self.engine.threads and self.stats.ready is not None:
            # The worker cannot tell which limit on threads it hit; from outside it is visible.
            wall, value = wall_hit(str(self.stats.ready.pid))
            limit = structs.replace(limit, wall=wall, value=value)
        if limit.wanted == self.goal.granted:  # otherwise a newer target was sent meanwhile
            limit = self.goal.handle_limit(limit)
        self._log.add(self._now, limit_text(limit), "warning")

    def _handle_error(self, error: messages.Error) -> None:
        message = error.message[:LONGEST_MESSAGE]
        if self.stats.ready is None:
            self.fail_start(message)
            return
        if error.command in self.settings.unanswered:
            # It refuses the settings of this lane: no worker is better than one that runs something else.
            self.fail(message)
            return
        if error.command == "burst":
            self.burst_refused = message
            self.goal.clear()
        elif error.command:
            self.settings.handle_refused(error.command)
        self._log.add(self._now, message, "error", error.detail)

    def _handle_garbage(self, message: str) -> None:
        if reason := self._log.add_garbage(message):
            self.fail(reason)

    # Time.

    def stalled_for(self, now: float) -> float:
        """Return for how many seconds it has been stalled; 0 if it is not."""
        return self.stats.stalled_for(now) if self.state in ACTIVE else 0.0

    def _detect_leak(self, now: float) -> None:
        """Detect memory leaks in a function of the user; what other workloads keep is known."""
        reading, tick = self.stats.reading, self.stats.tick
        own = self.goal.reached is not None and is_function(self.settings.current.workload)
        if own and self.state is State.RUNNING and reading and tick:
            self._leak_detector.add(now, reading.rss, tick.live, tick.traced is not None)
        else:
            self._leak_detector.restart()

    def update_state(self, now: float) -> None:
        """Update the state by the time limits, and log what is due."""
        self._log.summarize(now)
        self._detect_leak(now)
        if self.state is State.STARTING and now - self._since > self._start_limit:
            self.fail(f"did not start within {format_seconds(self._start_limit)}")
        elif self.state in ACTIVE:
            self.state = State.STALLED if self.stalled_for(now) else State.RUNNING
        elif self.state is State.STOPPING and now - self._since > STOP_LIMIT:
            self.kill()
            self._since = math.inf
            self._log_event(f"did not stop within {format_seconds(STOP_LIMIT)}: killed", "warning")
