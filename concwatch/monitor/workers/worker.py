"""One worker of a lane: what is known about it, and the handling of what it reports."""

from collections.abc import Callable, Iterable

from msgspec import Struct, structs

from concwatch.links import messages
from concwatch.links.link import Ended, Flood, Garbage, Link, Noise
from concwatch.monitor.metrics.metrics import LaneStatus
from concwatch.monitor.metrics.settings import Command, Settings, WorkerSettings
from concwatch.monitor.metrics.state import ACTIVE, State
from concwatch.monitor.verdicts.events import EventSink
from concwatch.monitor.verdicts.failures import failure_text, new_failures
from concwatch.monitor.workers.catalog import Engine
from concwatch.monitor.workers.connection import Connection
from concwatch.monitor.workers.leak_watch import LeakWatch
from concwatch.monitor.workers.worker_life import WorkerLife
from concwatch.monitor.workers.worker_log import LONGEST_MESSAGE, WorkerLog, limit_with_value
from concwatch.monitor.workers.worker_stats import WorkerStats
from concwatch.monitor.workers.worker_target import WorkerTarget
from concwatch.portable.machine.limits import UNKNOWN_LIMIT, limit_hit
from concwatch.portable.protocol import PROTOCOL
from concwatch.portable.protocol.units import format_seconds
from concwatch.portable.protocol.workloads import is_function
from concwatch.system.machine import Load
from concwatch.system.process import Reading


class AnatomyAnswer(Struct, frozen=True):
    """The worker's last answer to the question what a task consists of."""

    found: messages.Anatomy | None = None
    refused: str = ""
    """Why it refused to say so."""


class Worker:
    """One worker, from its start to its end; time is passed in, in seconds.

    Each step, its lane calls `receive`, reads the process, and calls `check`. The settings and the target are
    sent once the worker is ready.
    """

    def __init__(
        self,
        engine: Engine,
        link: Link | None,
        settings: Settings,
        tasks: int,
        now: float,
        *,
        hz: float,
        load: Callable[[], Load],
        log: EventSink,
    ) -> None:
        """Create a worker that is starting.

        Args:
            engine: a row of the catalog.
            link: connects the lane to it; None if there is no process.
            settings: sent once it is ready.
            tasks: the initial target.
            now: when it was started.
            hz: ticks per second.
            load: returns the CPU time used on the machine.
            log: adds an event to the event log.
        """
        self.engine = engine
        self.connection = Connection(link)
        self.life = WorkerLife(link is not None, now)
        self.settings = WorkerSettings(settings, engine.churn)
        self.stats = WorkerStats(now, hz, log)
        self._reports = WorkerLog(log, now)
        self.target = WorkerTarget(tasks, self.connection, self.stats, self._reports, load)
        self.anatomy = AnatomyAnswer()
        self.host: messages.HostFigures | None = None
        """The last report on its host, if that is a remote one."""
        self.missing: str | None = None
        """Why the engine cannot run; None if no reason is known."""
        self._log = log
        self._hz = hz
        self._leaks = LeakWatch(log, lambda: self.send_optional("lines"))
        self._now = now  # of the last step
        self._is_set = False  # whether all settings are applied
        self._outdated: Reading | None = None  # the reading before that

    @property
    def idle(self) -> bool:
        """Whether there is no process."""
        return self.connection.link is None

    def can(self, command: str) -> bool:
        """Return whether the worker accepts an optional command."""
        return self.stats.ready is not None and command in self.stats.ready.can

    def send(self, commands: Iterable[Command]) -> None:
        """Send commands."""
        for command, fields in commands:
            self.connection.send(command, **fields)

    def send_optional(self, command: str) -> None:
        """Send a command without fields if the worker accepts it."""
        if self.can(command):
            self.connection.send(command)

    def ask_anatomy(self) -> None:
        """Ask the worker what a task consists of, and forget its last answer."""
        self.anatomy = AnatomyAnswer()
        self.send_optional("anatomy")

    def stop(self, now: float) -> None:
        """Ask the worker to stop; it is killed if that takes too long."""
        self.target.stop()
        if self.idle:
            self.life.switch_off()
        elif self.life.state is not State.STOPPING:
            self.connection.send("stop")
            self.life.stop(now)

    def fail(self, reason: str) -> None:
        """Kill the worker because of ``reason``, and clear its target."""
        self.connection.kill()
        self.life.fail(reason)
        self.target.clear()
        self._log(f"failed: {reason}", "error")

    def stalled_for(self, now: float) -> float:
        """Return for how many seconds the worker has been stalled; 0 if it is not."""
        return self.stats.stalled_for(now) if self.life.state in ACTIVE else 0.0

    @property
    def status(self) -> LaneStatus:
        """What rarely changes, except the forecast of its tasks, which the host adds."""
        target = self.target.current
        return LaneStatus(
            state=self.life.state,
            reason=self.life.reason,
            target=target.tasks,
            asked=target.asked,
            limit=target.limit.name if target.limit else "",
            limit_text=limit_with_value(target.limit) if target.limit else "",
            missing=self.missing,
            **self.stats.status(),
        )

    def check(self, now: float, start_limit: float) -> None:
        """Update the state by the time limits, and log what is due."""
        self._reports.summarize(now)
        reached = self.target.current.reached is not None and self.life.state is State.RUNNING
        own = reached and is_function(self.settings.current.workload)
        self._leaks.update(now, self.stats.reading if own else None, self.stats.tick)
        state, limit = self.life.state, self.life.overdue(now, start_limit)
        if limit is not None and state is State.STARTING:
            self.fail(f"did not start within {format_seconds(limit)}")
        elif limit is not None:
            self.connection.kill()
            self._log(f"did not stop within {format_seconds(limit)}: killed", "warning")
        elif state in ACTIVE:
            self.life.run(stalled=bool(self.stalled_for(now)))

    def receive(self, now: float) -> bool:
        """Handle what has arrived since the last step, its end last. Return whether the worker has ended.

        Reports of a stopping worker are ignored.
        """
        self._now = now
        ended = None
        assert self.connection.link is not None
        for arrival in self.connection.link.arrivals(now):
            match arrival:
                case Ended():
                    ended = arrival
                case messages.Error(command="stop"):  # the tear-down of the user's function
                    self.fail(arrival.message[:LONGEST_MESSAGE])
                case _ if not self.life.state.on:
                    pass
                case messages.Tick():
                    self._handle_tick(arrival)
                case messages.Ready():
                    self._handle_ready(arrival)
                case messages.Reached():
                    self.target.reach(arrival, now)
                case messages.Limit():
                    self.target.stop_at(_with_name(arrival, self.engine, self.stats.ready), now)
                case messages.Applied():
                    self._handle_applied(arrival)
                case messages.Error():
                    self._handle_error(arrival)
                case messages.Block():
                    self.stats.add_block(arrival, now, self.connection.reading)
                case messages.TracedLines():
                    self._leaks.add_lines(arrival)
                case messages.Anatomy():
                    self.anatomy = structs.replace(self.anatomy, found=arrival)
                    self.stats.meter.taken += arrival.taken
                case messages.HostFigures():
                    self.host = arrival
                case messages.BurstDone():
                    self.target.end_burst(arrival, now)
                case Garbage():
                    self._handle_garbage(arrival.message)
                case Noise():
                    self._reports.add_noise(arrival.text)
                case Flood():
                    self._reports.add_flood(arrival.message)
                case messages.Building():
                    self.life.build()
                    self._reports.add(now, arrival.text)
                case messages.Built():
                    self.life.start(now)
                    self._log(f"built in {format_seconds(arrival.seconds)}")
        if ended is not None:
            self._handle_end(ended)
        return ended is not None

    def _handle_tick(self, tick: messages.Tick) -> None:
        before = self.stats.failures
        has_target, reached = self.target.current.tasks > 0, self.target.take_reached()
        wrong = self.stats.add_tick(tick, self._now, has_target, reached)
        if wrong:
            self._handle_garbage(f"an impossible tick: {wrong}")
            return
        for failure in new_failures(before, self.stats.failures):
            self._reports.add(self._now, failure_text(failure), "error")
        # A tick may have been sent before the settings were applied.
        if self.life.state is State.STARTING and self.stats.ready and not self.settings.unanswered:
            tracing = self.settings.current.trace and self.can("trace")
            if tracing == (tick.traced is not None) and self._is_read():
                self._handle_start(self.stats.ready)

    def _is_read(self) -> bool:
        """Return whether its process has been read since it had its settings: on another host, it is soon."""
        reading = self.connection.reading()
        if not self._is_set:
            self._is_set, self._outdated = True, reading
            reading = self.connection.reading()
        return reading is not self._outdated

    def _handle_ready(self, ready: messages.Ready) -> None:
        if self.stats.ready is not None:
            self._handle_garbage("ready a second time")
        elif ready.protocol != PROTOCOL:
            self.fail(f"uses version {ready.protocol} of the wire protocol; expected {PROTOCOL}")
        else:
            self.stats.ready, self.stats.flags = ready, ready.flags
            self.send(self.settings.all(self.can, self._hz))

    def _handle_start(self, ready: messages.Ready) -> None:
        self.life.run()
        self.stats.set_baseline(self.connection.reading())
        flags = "".join(f" · {flag}" for flag in self.stats.flags)
        self._log(f"on: {ready.runtime}{flags}, pid {ready.pid}")
        self.target.start()

    def _handle_applied(self, applied: messages.Applied) -> None:
        if applied.flags is not None:
            self.stats.flags = applied.flags
        self.settings.handle_applied(applied.command)
        if applied.command in ("workload", "threads"):
            self.stats.reset_workload()
            self.anatomy = structs.replace(self.anatomy, found=None)
        elif applied.command == "trim":
            self._reports.add(self._now, f"trimmed in {format_seconds(applied.seconds)}")

    def _handle_error(self, error: messages.Error) -> None:
        message = error.message[:LONGEST_MESSAGE]
        if self.stats.ready is None:
            self._fail_start(message)
            return
        if error.command in self.settings.unanswered:
            # It refuses the settings of this lane: no worker is better than one that runs something else.
            self.fail(message)
            return
        if error.command == "burst":
            self.target.refuse_burst(message)
        elif error.command == "anatomy":
            self.anatomy = structs.replace(self.anatomy, refused=message)
            return
        elif error.command:
            self.settings.handle_refused(error.command)
        self._reports.add(self._now, message, "error", error.detail)

    def _handle_garbage(self, message: str) -> None:
        if reason := self._reports.add_garbage(message):
            self.fail(reason)

    def _fail_start(self, reason: str) -> None:
        """Handle a failure before it was ready: a package that its engine needs is installed but broken."""
        self.fail(self.engine.broken(reason))
        if self.engine.needs:
            self.missing = self.life.reason

    def _handle_end(self, ended: Ended) -> None:
        self.connection.link = None
        state = self.life.state
        if state is State.STOPPING:
            self.life.switch_off()
            self._log("off")
        elif state is State.FAILED:
            pass  # its reason is known, and logged
        elif ended.lost:  # the target is kept for the next worker
            self.life.lose(ended)
            self._log(f"lost: {ended.reason}", "error")
        elif ended.ran and self.stats.ready is None:
            self._fail_start(ended.reason)
        else:
            self.fail(ended.reason)


def _with_name(limit: messages.Limit, engine: Engine, ready: messages.Ready | None) -> messages.Limit:
    """Return the limit with its name, if the worker cannot tell which limit on threads it hit."""
    local = engine.host is None  # on a remote host the bridge has determined the limit
    if limit.name == UNKNOWN_LIMIT and local and engine.threads and ready is not None:
        name, value = limit_hit(str(ready.pid))  # from outside it is visible
        return structs.replace(limit, name=name, value=value)
    return limit
