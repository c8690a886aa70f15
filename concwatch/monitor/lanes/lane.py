"""A lane: starts one worker at a time, sends it commands, handles its reports, and stores its samples."""

import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from msgspec import structs

from concwatch.links import messages
from concwatch.links.link import Ended, Flood, Garbage, Link, Noise
from concwatch.monitor.lanes.catalog import Engine
from concwatch.monitor.lanes.worker_log import (
    LONGEST_MESSAGE,
    WorkerLog,
    burst_text,
    limit_text,
    limit_with_value,
    reached_text,
)
from concwatch.monitor.lanes.worker_stats import WorkerStats
from concwatch.monitor.metrics.metrics import EngineFacts, LaneStatus, blank_sample
from concwatch.monitor.metrics.series import Series
from concwatch.monitor.metrics.settings import Command, Settings, WorkerSettings
from concwatch.monitor.metrics.state import ACTIVE, PENDING, State
from concwatch.monitor.metrics.target import target_of
from concwatch.monitor.verdicts.events import Kind, LaneEventSink, Severity
from concwatch.monitor.verdicts.failures import failure_text, new_failures
from concwatch.portable.machine.limits import UNKNOWN_LIMIT, limit_hit
from concwatch.portable.protocol.text import plain
from concwatch.portable.protocol.units import format_seconds
from concwatch.portable.protocol.wire import PROTOCOL
from concwatch.portable.protocol.workloads import is_function
from concwatch.portable.worker.burst import Burst
from concwatch.system.machine import Load
from concwatch.system.process import Reading

if TYPE_CHECKING:
    from concwatch.monitor.verdicts.memory_leak import MemoryLeakDetector

START_LIMIT = 30.0
STOP_LIMIT = 3.0
"""Seconds that a worker has to start and apply its settings, and to stop before it is killed."""


def facts(engine: Engine) -> EngineFacts:
    """Return what never changes about a lane of ``engine``."""
    host = engine.host.name if engine.host else ""
    return EngineFacts(engine.name, engine.task, engine.queues, engine.threads, engine.resolution, host)


class Lane:
    """Owns one worker at a time, from its start to its end; time is passed in, in seconds.

    The settings and the target are sent once the worker is ready.
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
        self.missing = engine.missing()
        """Why the engine cannot run; None if no reason is known. Updated each time it is switched on."""
        self._open = open_link
        self._log_event = log
        self._hz = hz
        self._load = load
        self._respawn = False
        self._begin(None, Settings(), 0, 0.0)

    def _begin(self, link: Link | None, settings: Settings, tasks: int, now: float) -> None:
        """Replace the worker and all that is known about it; without a ``link`` the lane is off."""
        self.link = link
        """Connects the lane to its worker; None without a process."""
        self.state = State.OFF if link is None else State.STARTING
        self.reason = ""
        """Why it failed."""
        self.settings = WorkerSettings(settings, self.engine.churn)
        self.target = target_of(tasks)
        self.stats = WorkerStats(now, self._hz, self._log)
        """The statistics of the running worker, or of the last one."""
        self.sample = blank_sample(self.number, -math.inf)
        """The newest sample of the worker."""
        self.burst_refused = ""
        """Why the worker refused the last burst."""
        self.anatomy: messages.Anatomy | None = None
        """What a task consists of, as the worker has answered last."""
        self.anatomy_refused = ""
        """Why it refused to say so."""
        self.host: messages.HostFigures | None = None
        """The last report on its host, if that is a remote one."""
        self._reports = WorkerLog(self._log, now)
        self._leak_detector: MemoryLeakDetector | None = None  # only for functions of the user
        self._reached: messages.Reached | None = None  # received since the last tick
        # When the target was set: the load of the machine, and a reading of the worker.
        self._load_before: tuple[Load, Reading | None] | None = None
        self._since = now  # when a state with a time limit began
        self._now = now  # of the last step
        self._sample_due = now

    @property
    def on(self) -> bool:
        """Whether there is a worker that is not stopping."""
        return self.state.on

    @property
    def idle(self) -> bool:
        """Whether there is no process."""
        return self.link is None

    @property
    def wanted(self) -> bool:
        """Whether there is a worker, or one will start once the last has ended."""
        return self.on or self._respawn

    @property
    def live(self) -> int:
        """Live tasks in the last report."""
        return self.stats.live

    @property
    def rss(self) -> int:
        """Bytes of RSS in the last reading; 0 without a worker."""
        return self.stats.reading.rss if self.stats.reading else 0

    @property
    def memory(self) -> int:
        """Bytes of RSS and kernel memory in the last reading; 0 without a worker."""
        return self.stats.reading.memory if self.stats.reading else 0

    @property
    def delay(self) -> float | None:
        """Round-trip time to its host in seconds; None on this machine."""
        return getattr(self.link, "delay", None)

    @property
    def growing(self) -> bool:
        """Whether fewer tasks are live than its target."""
        return self.on and self.live < self.target.tasks

    @property
    def awaits_grant(self) -> bool:
        """Whether it has created all tasks that it was granted, and its target is higher."""
        if self.state in PENDING:
            return self.target.granted < self.target.tasks
        return self.on and self.target.awaits_grant

    def can(self, command: str) -> bool:
        """Return whether the worker accepts an optional command."""
        return self.stats.ready is not None and command in self.stats.ready.can

    # Commands.

    def switch_on(self, settings: Settings, now: float) -> None:
        """Start a worker with the last target, once the previous worker has ended."""
        if not self.idle:
            self._respawn = not self.on
            if self._respawn:
                self.settings.current = settings
            return
        self._respawn = False
        self.missing = self.engine.missing()
        if self.missing:
            self.fail(self.missing)
            return
        self._begin(self._open(self.engine), settings, self.target.asked, now)

    def switch_off(self, now: float) -> None:
        """Stop the worker; it is killed if that takes longer than `STOP_LIMIT`."""
        self._respawn = False
        self.target = structs.replace(self.target, tasks=0)
        if self.link is None:
            self.state, self.reason = State.OFF, ""
        elif self.state is not State.STOPPING:
            self.link.send("stop")
            self.state, self._since, self.reason = State.STOPPING, now, ""

    def set_target(self, tasks: int, granted: int | None = None) -> None:
        """Set the number of live tasks to hold, of which ``granted`` may be live at present; None for all."""
        self.target = target_of(tasks)
        self._load_before = self._load_now()
        self.grant(tasks if granted is None else granted)

    def grant(self, tasks: int) -> None:
        """Allow the worker to hold ``tasks`` of its target at present, and send that once it is running."""
        self.target = self.target.grant(tasks)
        if self.state not in ACTIVE or self.link is None:
            return
        if self.stats.untouched:
            # Read just before the first task, with all settings applied.
            self.stats.set_baseline(self.link.reading())
        self.stats.untouched = self.stats.untouched and self.target.tasks == 0
        self.link.send("target", tasks=self.target.granted)

    def halt(self, limit: str, value: int) -> None:
        """Stop the growth because of ``limit``; the worker reports how many tasks are live."""
        if self.state in PENDING:
            self._handle_limit(messages.Limit(0, self.target.granted, limit, value))
        elif self.on and self.link is not None:
            self.link.send("halt", wall=limit, value=value)

    def run_burst(self, burst: Burst) -> None:
        """Run a burst in a running worker without tasks; `stats` holds its figures once it has ended."""
        assert self.link is not None
        self.stats.set_baseline(self.link.reading())
        self.stats.untouched, self.stats.burst = False, None
        self.target = target_of(burst.tasks)
        self.burst_refused = ""
        self.link.send(
            "burst", tasks=burst.tasks, chunks=burst.chunks, older=burst.older, read_after=burst.read_after
        )

    def apply(self, settings: Settings) -> None:
        """Send what has changed in ``settings``; restart the worker if tracing is switched on or off.

        Memory that was allocated before the switch would falsify every figure. A worker that is not ready yet
        is sent all settings later.
        """
        if self.on and self.can("trace") and settings.trace != self.settings.current.trace:
            self.switch_off(self._now)
            self.switch_on(settings, self._now)
        elif self.on and self.stats.ready is not None:
            self._send(self.settings.changes(settings, self.can))
        else:
            self.settings.current = settings

    def send_optional(self, command: str) -> None:
        """Send a command without fields if the worker accepts it."""
        if self.can(command):
            self._send([(command, {})])

    def ask_anatomy(self) -> None:
        """Ask the worker what a task consists of, and forget its last answer."""
        self.forget_anatomy()
        self.send_optional("anatomy")

    def forget_anatomy(self) -> None:
        """Forget what a task consists of."""
        self.anatomy, self.anatomy_refused = None, ""

    def fail(self, reason: str) -> None:
        """Kill the worker because of ``reason``, and clear its target."""
        self.kill()
        self.state, self.reason = State.FAILED, plain(reason)
        self.target = self.target.clear()
        self._log(f"failed: {reason}", "error")

    def kill(self) -> None:
        """Kill the worker."""
        if self.link is not None:
            self.link.kill()

    def _send(self, commands: Iterable[Command]) -> None:
        if self.link is not None:
            for command, fields in commands:
                self.link.send(command, **fields)

    def _load_now(self) -> tuple[Load, Reading | None]:
        return self._load(), self.link.reading() if self.link else None

    # Time.

    def step(self, now: float) -> None:
        """Handle the messages received since the last step, read the process, and add one sample."""
        if self.link is None:
            return
        self._now = now
        self._receive(self.link)
        if self.link is not None:
            self._sample(self.link)
            self._update_state()

    def _sample(self, link: Link) -> None:
        reading, now = link.reading(), self._now
        if reading is None:
            return
        self.stats.add_reading(reading)
        if now <= self._sample_due - 0.5 / self._hz:
            return  # read more often than stored: admission control sees memory grow at any rate
        self._sample_due = max(self._sample_due + 1 / self._hz, now)
        self.sample = self.stats.sample(now, self.number, self.stalled_for(now))
        if self.state is State.STOPPING:  # its tasks are ending; memory must not be attributed to them
            self.sample = structs.replace(self.sample, live=None)
        self.series.append(self.sample)

    def set_others(self, share: float) -> None:
        """Set the share of the cores that other programs and lanes used in the last second."""
        self.stats.others = share

    def stalled_for(self, now: float) -> float:
        """Return for how many seconds the worker has been stalled; 0 if it is not."""
        return self.stats.stalled_for(now) if self.state in ACTIVE else 0.0

    def _update_state(self) -> None:
        """Update the state by the time limits, and log what is due."""
        now = self._now
        self._reports.summarize(now)
        self._detect_leak()
        if self.state is State.STARTING and now - self._since > self.start_limit:
            self.fail(f"did not start within {format_seconds(self.start_limit)}")
        elif self.state in ACTIVE:
            self.state = State.STALLED if self.stalled_for(now) else State.RUNNING
        elif self.state is State.STOPPING and now - self._since > STOP_LIMIT:
            self.kill()
            self._since = math.inf
            self._log(f"did not stop within {format_seconds(STOP_LIMIT)}: killed", "warning")

    def _detect_leak(self) -> None:
        """Detect memory leaks in a function of the user; what other workloads keep is known."""
        reading, tick = self.stats.reading, self.stats.tick
        own = self.target.reached is not None and is_function(self.settings.current.workload)
        if own and self.state is State.RUNNING and reading and tick:
            if self._leak_detector is None:
                from concwatch.monitor.verdicts.memory_leak import MemoryLeakDetector

                self._leak_detector = MemoryLeakDetector(self._log, lambda: self.send_optional("lines"))
            self._leak_detector.add(self._now, reading.held, tick.live, tick.traced is not None)
        elif self._leak_detector is not None:
            self._leak_detector.restart()

    @property
    def status(self) -> LaneStatus:
        """What rarely changes, except the forecast of its tasks, which the host adds."""
        limit = self.target.limit
        return LaneStatus(
            state=self.state,
            reason=self.reason,
            target=self.target.tasks,
            asked=self.target.asked,
            limit=limit.name if limit else "",
            limit_text=limit_with_value(limit) if limit else "",
            missing=self.missing,
            **self.stats.status(),
        )

    # Reports.

    def _receive(self, link: Link) -> None:
        """Handle what has arrived since the last step, the end last; ignore reports of a stopping worker."""
        ended = None
        for arrival in link.arrivals(self._now):
            match arrival:
                case Ended():
                    ended = arrival
                case messages.Error(command="stop"):  # the tear-down of the user's function
                    self.fail(arrival.message[:LONGEST_MESSAGE])
                case _ if not self.on:
                    pass
                case messages.Tick():
                    before = self.stats.failures
                    wrong = self.stats.add_tick(arrival, self._now, self.target.tasks > 0, self._reached)
                    self._reached = None
                    if wrong:
                        self._handle_garbage(f"an impossible tick: {wrong}")
                    else:
                        for failure in new_failures(before, self.stats.failures):
                            self._reports.add(self._now, failure_text(failure), "error")
                        self._check_start(arrival)
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
                case messages.Block():
                    self.stats.blocks.add(arrival, self._throttled_within)
                    self.stats.blocks.ended.clear()
                case messages.TracedLines() if self._leak_detector is not None:
                    self._leak_detector.add_lines(arrival)
                case messages.Anatomy():
                    self.anatomy = arrival
                    self.stats.meter.taken += arrival.taken
                case messages.HostFigures():
                    self.host = arrival
                case messages.BurstDone():
                    self.stats.burst = arrival
                    self.target = self.target.clear()
                    self._reports.add(self._now, burst_text(arrival))
                case Garbage():
                    self._handle_garbage(arrival.message)
                case Noise():
                    self._reports.add_noise(arrival.text)
                case Flood():
                    self._reports.add_flood(arrival.message)
                case messages.Building():
                    self.state = State.BUILDING
                    self._reports.add(self._now, arrival.text)
                case messages.Built():
                    self.state, self._since = State.STARTING, self._now
                    self._log(f"built in {format_seconds(arrival.seconds)}")
        if ended is not None:
            self._handle_end(ended)

    def _throttled_within(self, seconds: float) -> float:
        """Return for how many of the last ``seconds`` a CPU quota throttled the worker."""
        reading = self.link.reading() if self.link else None
        if reading is not None:
            self.stats.throttled.add(self._now, reading)
        return self.stats.throttled.within(seconds)

    def _check_start(self, tick: messages.Tick) -> None:
        """Handle the start of the worker, unless it sent this tick before its settings were applied."""
        if self.state is State.STARTING and self.stats.ready is not None and not self.settings.unanswered:
            tracing = self.settings.current.trace and self.can("trace")
            if tracing == (tick.traced is not None):
                self._handle_start(self.stats.ready)

    def _handle_ready(self, ready: messages.Ready) -> None:
        if self.stats.ready is not None:
            self._handle_garbage("ready a second time")
        elif ready.protocol != PROTOCOL:
            self.fail(f"uses version {ready.protocol} of the wire protocol; expected {PROTOCOL}")
        else:
            self.stats.ready, self.stats.flags = ready, ready.flags
            self._send(self.settings.all(self.can, self._hz))

    def _handle_start(self, ready: messages.Ready) -> None:
        assert self.link is not None
        self.state = State.RUNNING
        self.stats.set_baseline(self.link.reading())
        flags = "".join(f" · {flag}" for flag in self.stats.flags)
        self._log(f"on: {ready.runtime}{flags}, pid {ready.pid}")
        if self.target.tasks:
            self._load_before = self._load_now()
            self.grant(self.target.granted)

    def _handle_applied(self, applied: messages.Applied) -> None:
        if applied.flags is not None:
            self.stats.flags = applied.flags
        self.settings.handle_applied(applied.command)
        if applied.command in ("workload", "threads"):
            self.stats.reset_workload()
            self.anatomy = None
        elif applied.command == "trim":
            self._reports.add(self._now, f"trimmed in {format_seconds(applied.seconds)}")

    def _handle_reached(self, reached: messages.Reached) -> None:
        self._reached = reached
        whole: messages.Reached | None = reached
        if reached.target == self.target.granted:  # otherwise a newer target was sent meanwhile
            self.stats.set_live(reached.live)
            self.target = self.target.add_part(reached)
            whole = self.target.reached
            if whole is not None and whole.grew:
                self.stats.add_creation(whole, self._load_before, self._load_now())
            elif whole is not None and whole.cancelled and not whole.target:
                self.stats.stop_seconds = whole.seconds
        if whole is not None and (whole.created or whole.cancelled):
            self._reports.add(self._now, reached_text(whole))

    def _handle_limit(self, limit: messages.Limit) -> None:
        local = self.engine.host is None  # on a remote host the bridge has determined the limit
        if limit.name == UNKNOWN_LIMIT and local and self.engine.threads and self.stats.ready is not None:
            # The worker cannot tell which limit on threads it hit; from outside it is visible.
            name, value = limit_hit(str(self.stats.ready.pid))
            limit = structs.replace(limit, name=name, value=value)
        if limit.wanted == self.target.granted:  # otherwise a newer target was sent meanwhile
            self.target = self.target.stop_at(limit)
            limit = self.target.limit or limit
        self._reports.add(self._now, limit_text(limit), "warning")

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
            self.burst_refused = message
            self.target = self.target.clear()
        elif error.command == "anatomy":
            self.anatomy_refused = message
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
            self.missing = self.reason

    def _handle_end(self, ended: Ended) -> None:
        self.link = None
        self.sample = self.stats.last_sample(self._now, self.number)
        self.series.append(self.sample)  # a gap in the charts: what follows is another process
        if self.state is State.STOPPING:
            self.state, self.reason = State.OFF, ""
            self._log("off")
        elif self.state is State.FAILED:
            pass  # its reason is known, and logged
        elif ended.lost:  # the target is kept for the next worker
            self.state, self.reason = State.LOST, plain(ended.reason)
            self._log(f"lost: {ended.reason}", "error")
        elif ended.ran and self.stats.ready is None:
            self._fail_start(ended.reason)
        else:
            self.fail(ended.reason)
        if self._respawn:
            self.switch_on(self.settings.current, self._now)

    def _log(self, text: str, severity: Severity = "info", kind: Kind = "", updates: int = 0) -> int:
        return self._log_event(self.engine.name, text, severity, kind, updates)
