"""One watched process: what its agent reports, and its memory and CPU time as the system reports them."""

import contextlib
import math
from functools import partial
from operator import attrgetter
from typing import Any

from msgspec import structs

from concwatch.links.agent_link import AgentLink
from concwatch.links.agent_messages import (
    AgentEnd,
    AgentErrorKind,
    AgentErrors,
    AgentReady,
    AgentTick,
    AgentWaiting,
    Cycle,
    Finished,
    GroupReport,
    Groups,
    Lasting,
    MemoryParts,
    Objects,
    Profile,
    RawFrame,
    ThreadWaits,
    Waits,
)
from concwatch.links.link import Ended, Garbage
from concwatch.links.messages import Block, Error, TracedLines
from concwatch.monitor.lanes.worker_log import WorkerLog
from concwatch.monitor.metrics.group_status import OF_NOW
from concwatch.monitor.metrics.metric import MetricSource, fields_from
from concwatch.monitor.metrics.metrics import (
    EngineFacts,
    LaneSnapshot,
    LaneStatus,
    Sample,
    blank_sample,
    copied,
)
from concwatch.monitor.metrics.process_status import ProcessFacts, ProcessStatus
from concwatch.monitor.metrics.series import Series
from concwatch.monitor.metrics.state import State
from concwatch.monitor.statistics.buckets import EMPTY
from concwatch.monitor.statistics.histogram import Histogram
from concwatch.monitor.statistics.rates import Trailing, finite
from concwatch.monitor.verdicts.blocks import BlockedPlaces
from concwatch.monitor.verdicts.events import Kind, LaneEventSink, Severity
from concwatch.monitor.verdicts.malloc_verdict import MallocVerdict
from concwatch.monitor.verdicts.memory_leak import MemoryLeakDetector
from concwatch.monitor.verdicts.ongoing import OngoingStatus
from concwatch.monitor.verdicts.rss_parts import RssParts, outside_parts, rss_parts
from concwatch.monitor.verdicts.standstill import Standstills
from concwatch.monitor.verdicts.throttling import ThrottledTime
from concwatch.monitor.verdicts.waits import cycle_text
from concwatch.monitor.watching.group import Group
from concwatch.monitor.watching.group_moment import RATE_SECONDS, AgentTime, EndedGroup, GroupMoment
from concwatch.monitor.watching.profiling import COMMAND as PROFILE
from concwatch.monitor.watching.profiling import Profiling
from concwatch.monitor.watching.resources import POOL_WORKER, Resource, Resources
from concwatch.monitor.watching.watched_host import ProcessReader, WatchedHost
from concwatch.portable.bridge.injection import NOT_PYTHON
from concwatch.system.process import Reading

STALL = 1.0
"""Seconds without a report after which a process is stalled. The agent reports from its own thread."""

UNCHANGED = 1.25
"""Seconds without a report after which a group is taken for unchanged; agents report changes every second."""

REPLACED = "it executed another program"
"""The end of a lane whose process has executed another program, which gets its own lane."""

LOST_TIMEOUT = 2.0
"""Seconds after which a process that has lost its agent is taken to be running, perhaps another program."""

BUSY_SECONDS = 2.0
"""Seconds over which the share of the loops' time in which tasks run is averaged."""

AGED = 0.5
"""Seconds after which the ages of tasks in a snapshot are recomputed."""

COUNTS = ("created", "live", "ended", "failed", "retained", "left_over", "destroyed")
"""The counts of a process that are sums over its groups."""

_counts_of = attrgetter(*COUNTS)

OF_TASKS = (*COUNTS, "live_peak", "live_at_end")
"""The figures that are unknown if the agent cannot count the tasks of a process."""

AT_THAT_MOMENT = ("live", "retained", "queued")
"""The counts that are unknown if a process has ended without its last report."""

TASK_RATES = ("created_per_second", "completed_per_second", "created_mean", "completed_mean")

SO_FAR = ("created", "ended", "failed", "left_over", "destroyed")
"""The counts that may be too low in this case."""

FILES_OF_ONE = 3
"""Open files per growing task or thread, such as both connections of a proxy, that are not reported too."""

UNCONNECTED = "its agent connects once it has a task or a thread"

MAX_PAUSE = 0.02
"""Seconds for which a program's malloc may be stopped by a question that nobody has asked for."""

kind_of_error = attrgetter("error", "where", "figures")
"""Returns what the errors of one kind have in common."""

MAX_GROWING = 20
"""Groups per process whose growth or leaks are reported."""


def error_text(kind: AgentErrorKind) -> str:
    """Return the text of an event about an error of an agent."""
    what = f"what it reports of {kind.figures}" if kind.figures else "what it reports"
    return f"error in its agent: {kind.error} at {kind.where}; {what} may be missing or wrong"


class WatchedProcess:
    """A lane without a target. Times are passed in, in seconds of the monitor's clock.

    Args:
        number: its index among all lanes.
        pid: the process.
        ppid: its parent.
        name: the name of the process, until its agent reports another one.
        host: where it runs.
        log: called with an event: the lane's name, what happened, and its severity.
        now: when the process was found.
    """

    def __init__(
        self, number: int, pid: int, ppid: int, name: str, host: WatchedHost, log: LaneEventSink, now: float
    ) -> None:
        self.number, self.pid, self.ppid, self.began = number, pid, ppid, now
        self.process_name, self.host = name, host.name
        self.how = "starting"
        """``"agent"``, ``"outside"`` without one, or ``"starting"`` while one may still connect."""
        self.reason = ""
        """Why it has no agent, or how it ended."""
        self.state = State.STARTING
        self.ready: AgentReady | None = None
        self.tick: AgentTick | None = None
        self.groups: dict[int, Group] = {}
        """By the agent's number of the group."""
        self.resources = Resources()
        """Its threads, executor queues and open files."""
        self.agent_errors: AgentErrors | None = None
        """The errors of its agent itself; None if unknown."""
        self.queued_peak: int | None = None
        self.live_peak: int | None = None
        self.lines: TracedLines | None = None
        self.reading: Reading | None = None
        self.reading_interval = 0.0
        """The least number of seconds between two readings of the system's figures."""
        self.rss_first: int | None = None
        self.rss_peak: int | None = None
        self.cpu_seconds = 0.0
        self.threads_peak = 0
        self.throttled: float | None = None
        """The seconds for which a CPU quota has throttled it."""
        self.exited_normally = False
        """Whether its agent has reported the exit."""
        self.time_is_up = False
        """Whether it is ended because its time is up, so that its last figures are the result."""
        self.waiting = False
        """Whether its agent is not connected yet, because it has had no tasks and no threads so far."""
        self.lags = Histogram()
        self.lag_buckets = EMPTY
        """The same readings, as Prometheus gets them."""
        self.blocks = BlockedPlaces(self._log_event)
        self.standstills = Standstills(self._log_event, self._request_stack)
        self.profiling = Profiling(self.send)
        self.series = Series()
        self.sample: Sample = blank_sample(number, -math.inf)
        self._log = log
        self._stack_signal = 0
        """The signal that makes the process write its stack; 0 if unknown."""
        self._agent_log = WorkerLog(self._log_event, now)
        self._told_errors: set[tuple[str, ...]] = set()
        """The kinds of the agent's errors that were logged."""
        self._memory = MemoryLeakDetector(
            self._log_event,
            lambda: self.send("lines"),
            lambda: self.resources.growing(),
            lambda: self.send("objects"),
        )
        self._malloc = MallocVerdict(partial(self.request_memory, longest=MAX_PAUSE))
        self.memory: RssParts | None = None
        """What RSS is made of, as its agent has answered last."""
        self._link: AgentLink | None = None
        self._created, self._ended, self._cpu = Trailing(1.0), Trailing(1.0), Trailing(1.0)
        self._created_mean, self._ended_mean = Trailing(RATE_SECONDS), Trailing(RATE_SECONDS)
        self._busy = Trailing(BUSY_SECONDS)
        self._throttled = ThrottledTime()
        self._tick_at = self._reading_due = now
        self._clock = AgentTime()
        self._changed: dict[int, GroupReport] = {}  # of a scan that is not completely reported yet
        self._groups_time = -math.inf
        self._leaks = 0
        self._moments: tuple[GroupMoment, ...] | None = None  # None if they have changed
        self._counts: dict[str, int | None] = {}
        """The sums of `COUNTS` over the groups; empty until computed."""
        self._direct = False  # whether tasks of a group were not counted at creation
        self._lost_at = math.inf
        self._host = host
        self._last: tuple[AgentTick | None, dict[int, Group], Resources] | None = None
        """The agent's last figures, kept until it is known whether the process has ended too."""
        self._last_reading: Reading | None = None
        """The system's figures at that time; later ones may be of another program that it has executed."""
        self._final: tuple[EndedGroup, ...] = ()
        """Its groups once it has ended."""
        try:
            self._reader: ProcessReader | None = host.reader(pid)
        except LookupError:
            self._reader = None

    @property
    def name(self) -> str:
        """The name of the lane: that of the process, and its pid."""
        return f"{self.process_name} {self.pid}"

    def _log_event(self, text: str, severity: Severity = "info", kind: Kind = "", updates: int = 0) -> int:
        return self._log(self.name, text, severity, kind, updates)

    @property
    def alive(self) -> bool:
        """Whether the process is running, as far as is known."""
        return self.state not in (State.OFF, State.FAILED)

    @property
    def live(self) -> int | None:
        """Its live tasks; None without an agent."""
        return self.tick.live if self.tick else None

    def connect(self, link: AgentLink, ready: AgentReady, now: float, name: str = "") -> None:
        """Observe the process through its agent; ``name`` replaces the name that the agent reports."""
        if self._link is not None:
            self.step(now)  # process what the previous connection has sent
        self._restore_last()
        self._link, self.ready, self._tick_at = link, ready, now
        self.how, self.reason, self.state = "agent", "", State.RUNNING
        self.process_name, self.ppid = name or ready.name, ready.ppid
        if not self.waiting:
            flags = "".join(f" · {flag}" for flag in ready.flags)
            self._log_event(f"watched: {ready.runtime}{flags}, pid {self.pid}", "info", "agent")
        self.waiting = False

    def rename(self, name: str) -> None:
        """Set the name of the process, which changes when a forked process executes another program."""
        self.process_name = name

    def explain(self, reason: str) -> None:
        """Set the reason why it has no agent, or is no longer watched."""
        self.reason = reason

    def request_lines(self) -> None:
        """Ask its agent for the lines that hold traced memory; ``lines`` is None until it has answered."""
        self.lines = None
        self.send("lines")

    def request_memory(self, now: float, longest: float | None = None) -> None:
        """Ask its agent what RSS is made of; ``memory`` is the answer, or what is known without an agent.

        ``longest`` are the seconds for which the program's malloc may be stopped; None for no limit.
        """
        if self._link is not None and self.ready is not None and "memory" in self.ready.can:
            self.send("memory", longest=longest)
        elif self.reading is not None and self.alive:
            reason = UNCONNECTED if self.waiting else self.reason or "it has no agent"
            self.memory = outside_parts(self.reading, now, reason)

    def was_replaced_by(self, ready: AgentReady) -> bool:
        """Return whether ``ready`` comes from another program that this process has executed."""
        before = self.ready.started if self.ready and self.alive and not self.waiting else None
        return before is not None and ready.started != before

    def observe_from_outside(self, reason: str) -> None:
        """Observe the process without an agent, for this ``reason``."""
        self.how, self.reason, self.state = "outside", reason, State.RUNNING
        self._log_event(f"measured from outside only: {reason}", "info", "agent")

    def end(self, reason: str, now: float, failed: bool = False) -> None:
        """Handle the exit of the process."""
        if not self.alive:
            return
        self.step(now)
        if self._last is not None:
            self.reading = self._last_reading
        self._restore_last()
        self._lose_lasting("then the process ended")
        self.exited_normally |= self.waiting
        self.state, self.reason = State.FAILED if failed else State.OFF, reason
        self._final = tuple(map(self._ended_group, self.groups.values()))
        self._disconnect()
        self._reader = None
        self.sample = blank_sample(self.number, now)
        self.series.append(self.sample)
        self._log_event(reason, "error" if failed else "info", "ended")

    def detach(self) -> None:
        """Make the agent remove its hooks; the process continues."""
        self.send("detach")
        self._disconnect()

    def _disconnect(self) -> None:
        if self.profiling.asked:
            self.profiling.refuse("the process has ended")
        if self._link is not None:
            self._link.close()
            self._link = None

    def _request_stack(self) -> None:
        """Ask for the stack of the main thread, which the agent itself cannot read now."""
        if self._stack_signal:
            self._host.request_stack(self.pid, self._stack_signal)

    def send(self, type_: str, **fields: object) -> None:
        """Send a command to the agent."""
        if self._link is not None:
            self._link.send(type_, **fields)

    def step(self, now: float) -> None:
        """Process the reports received since the last step, and sample the process."""
        if not self.alive:
            return
        for arrival in self._link.arrivals() if self._link else ():
            match arrival:
                case AgentTick():
                    self._handle_tick(arrival, now)
                case Groups():
                    self._changed.update({report.group: report for report in arrival.groups})
                    if not arrival.more:
                        self._update_groups(arrival.time)
                case Waits():
                    if arrival.group in self.groups:
                        self.groups[arrival.group].add_waits(arrival, self._clock.now)
                        self._moments = None
                case Finished():
                    if arrival.group in self.groups:
                        self.groups[arrival.group].finished.add_held(arrival)
                case Cycle():
                    self._log_event(cycle_text(arrival.tasks), "warning", "cycle")
                case ThreadWaits():
                    self.resources.add_waits(arrival)
                case Block():
                    explains = partial(self.standstills.explains, now=now)
                    self.blocks.add(arrival, partial(self._throttled_within, now), explains)
                case RawFrame():
                    self.standstills.add_frame(arrival)
                case Lasting():
                    self.standstills.add(arrival)
                case AgentErrors():
                    self._add_errors(arrival)
                case TracedLines():
                    self.lines = arrival
                    self._memory.add_lines(arrival)
                case Objects():
                    self._memory.add_objects(arrival)
                case Profile():
                    self.profiling.add(arrival)
                case Error(command=command) if command == PROFILE:
                    self.profiling.refuse(arrival.message)
                case MemoryParts():
                    self._add_memory(arrival, now)
                case Error(command="memory"):
                    self._add_memory(MemoryParts(unknown=arrival.message), now)
                case Error(command="objects"):
                    self._memory.stop_counting(arrival.message)
                case Error(command="finished"):  # refused, because there are too many objects
                    pass
                case Error():
                    self._agent_log.add(now, arrival.message, "warning")
                case AgentWaiting():
                    self.waiting = True
                case AgentEnd():
                    self.exited_normally = True
                case Garbage():
                    self._agent_log.add_garbage(arrival.message)
                case Ended():
                    self._link = None
                    if not self.exited_normally and not self.waiting:
                        self._lose_agent(now)
        if now >= self._lost_at + LOST_TIMEOUT:
            self._lost_at = math.inf
            if self._host.why_no_agent(self.pid).endswith(NOT_PYTHON):
                self.end(REPLACED, now)
                return
            self._last = None
            self._lose_lasting("what came then is unknown, since its agent's connection has ended")
            with contextlib.suppress(LookupError):
                _, self.process_name = self._host.parent_and_name(self.pid)
        self._agent_log.summarize(now)
        self._add_sample(now)

    def _add_errors(self, found: AgentErrors) -> None:
        """Log each kind of errors of the agent once."""
        for one in found.kinds:
            if kind_of_error(one) not in self._told_errors:
                self._told_errors.add(kind_of_error(one))
                self._log_event(error_text(one), "warning", "agent_error")
        self.agent_errors = found

    def _add_memory(self, found: MemoryParts, now: float) -> None:
        self.memory = rss_parts(found, self.reading, now)
        self._malloc.add_parts(self.memory)

    def _lose_agent(self, now: float) -> None:
        """Keep the figures of an agent that is lost until it is known whether the process has ended too."""
        self.how, self.reason = "outside", "its agent's connection ended"
        if self.profiling.asked:
            self.profiling.refuse(self.reason)
        self._last, self._lost_at = (self.tick, self.groups, self.resources), now
        self._last_reading = self.reading
        self._set_figures(None, {}, Resources())

    def _lose_lasting(self, why: str) -> None:
        """End the events about what lasts, of which nothing more is known."""
        self.blocks.lose(why)
        self.standstills.lose(why)

    def _restore_last(self) -> None:
        """Restore the agent's last figures, because the process has ended or its agent has reconnected."""
        if self._last is not None:
            self._set_figures(*self._last)
            self._last, self._lost_at = None, math.inf

    def _set_figures(self, tick: AgentTick | None, groups: dict[int, Group], resources: Resources) -> None:
        self.tick, self.groups, self.resources, self._counts = tick, groups, resources, {}
        self._moments = None
        self._leaks = sum(group.leaks for group in groups.values())

    def _handle_tick(self, tick: AgentTick, now: float) -> None:
        if tick.uncounted and (self.tick is None or not self.tick.uncounted):
            self._log_event(f"tasks are unknown: {tick.uncounted}", "info", "agent")
        self.tick, self._tick_at = tick, now
        self._clock = self._clock._replace(now=tick.time)
        # Groups that have not changed are not reported again; keep their rates and growth up to date.
        if tick.scan_time is not None and tick.scan_time >= self._groups_time + UNCHANGED:
            self._update_groups(tick.scan_time)
        self._clock = AgentTime(self._clock.now, tick.looped or 0.0, tick.covered or 0.0)
        self._busy.add(tick.looped or 0.0, tick.busy or 0.0)
        self.resources.update(tick)
        if tick.queued is not None:
            self.queued_peak = max(self.queued_peak or 0, tick.queued)
        if tick.live is not None:
            self.live_peak = max(self.live_peak or 0, tick.live, tick.live_peak or 0)
        self.process_name = tick.name or self.process_name
        self._stack_signal = tick.stack_signal or self._stack_signal
        if self.ready is not None and tick.flags:
            self.ready = structs.replace(self.ready, flags=tick.flags)
        for rate in (self._created, self._created_mean):
            rate.add(tick.time, tick.created)
        if tick.ended is not None and tick.scan_time is not None:
            for rate in (self._ended, self._ended_mean):
                rate.add(tick.scan_time, tick.ended)
        if tick.lag is not None:
            self.lags.add((tick.lag,))
            self.lag_buckets = self.lag_buckets.with_weighted(((tick.lag, 1),))

    def _update_groups(self, time: float) -> None:
        """Update all groups as of a scan at ``time``; those that were not reported have not changed."""
        self._groups_time = time
        self._clock = self._clock._replace(now=max(self._clock.now, time))
        self._moments = None
        reports, self._changed = self._changed, {}
        if reports:
            self._counts = {}
        self._direct = self._direct or any(report.direct for report in reports.values())
        rss = self.reading.rss if self.reading else None
        for number, report in reports.items():
            if number not in self.groups:
                began = self.ready.started if self.ready else None
                self.groups[number] = Group(report, time, self._clock, began)
        for number, group in self.groups.items():
            report = reports.get(number, group.report)
            group.update(report, time, self._clock, rss)
            if report.left_over and (text := group.left_text()):
                self._log_event(text, "warning", "left_over")

    def _add_sample(self, now: float) -> None:
        reading = self.reading
        if reading is None or now >= self._reading_due:
            self._reading_due = now + self.reading_interval
            reading = self._reader.read() if self._reader else None
            if reading is None or not reading.rss:  # a zombie
                self._reading_due = now
                return
            self.reading = reading
            self.rss_first = self.rss_first or reading.rss
            self.rss_peak = max(self.rss_peak or 0, reading.rss, reading.peak_rss or 0)
            self.cpu_seconds = max(self.cpu_seconds, reading.cpu_seconds)
            self.threads_peak = max(self.threads_peak, reading.threads)
            self._cpu.add(now, reading.cpu_seconds)
            self._add_throttled(now, reading)
            if reading.anonymous is not None:
                self._malloc.add(now, reading.anonymous)
        # What is heard of another host may only be late.
        is_heard = self._link is not None and self.tick is not None and not self.host
        has_loops = self.tick is not None and bool(self.tick.loops)
        self.standstills.observe(now, reading, self._tick_at if is_heard else None, has_loops)
        stalled = self._stalled_for(now)
        if self.how == "agent":
            self.state = State.STALLED if stalled else State.RUNNING
        self.sample = self._sample(reading, now, stalled)
        self.series.append(self.sample)
        if self.tick is not None and self.tick.live is not None:
            jobs = self.tick.queued or 0
            held = (
                self.tick.live + (self.tick.retained or 0) + jobs + reading.threads + self.resources.sockets
            )
            self._memory.add(
                now,
                reading.held,
                held,
                self.tick.traced is not None,
                reading.shared_grown or 0,
                bool(self.tick.created or self.tick.since or self.tick.live),
            )

    def _add_throttled(self, now: float, reading: Reading) -> None:
        self._throttled.add(now, reading)
        self.throttled = reading.throttled if reading.throttled is not None else self.throttled

    def _throttled_within(self, now: float, seconds: float) -> float:
        """Return for how many of the ``seconds`` before ``now`` a CPU quota throttled the process."""
        reading = self._reader.read() if self._reader else None
        if reading is not None:
            self._add_throttled(now, reading)
        return self._throttled.within(seconds)

    def _stalled_for(self, now: float) -> float:
        """Return the seconds since the last tick, or the lag if longer; 0 if below `STALL`."""
        if self._link is None or self.tick is None:
            return 0.0
        longest = max(now - self._tick_at, self.tick.lag or 0.0)
        return longest if longest >= STALL else 0.0

    def _sample(self, reading: Reading, now: float, stalled: float) -> Sample:
        tick = self.tick
        reported: dict[str, Any] = {}
        if tick is not None:
            reported = copied(MetricSource.TICK, tick) | {
                "lag": tick.lag,
                "busy": None if not tick.looped else finite(self._busy.rate),
                "created_per_second": finite(self._created.rate),
                "completed_per_second": finite(self._ended.rate),
                "created_mean": finite(self._created_mean.rate),
                "completed_mean": finite(self._ended_mean.rate),
                "completed": tick.ended if tick.completed is None else tick.completed,
                "tick_time": tick.time,
                # As of the last scan, to be consistent with the live and ended tasks.
                "created": tick.created if tick.scan_created is None else tick.scan_created,
            }
            if tick.uncounted:
                reported |= dict.fromkeys(reported.keys() & {*OF_TASKS, "completed", *TASK_RATES})
        return blank_sample(
            self.number,
            now,
            cpu=round(self._cpu.rate, 4) if self._cpu.span else reading.cpu,
            stalled=stalled,
            throttled_share=self._throttled.share,
            **copied(MetricSource.READING, reading),
            **reported,
        )

    def detect_growth(self, now: float) -> None:
        """Log which tasks, threads, queues and files grow or leak, and which no longer do."""
        sockets = self.resources.sockets_rise
        queues = {
            one.name_in_waits for one in self.resources.all() if one.report.kind == "jobs" and one.grows
        }
        growing = sum(group.grows for group in self.groups.values())
        for number, group in self.groups.items():
            rises = (group.rises or group.finished.rises) and group.awaited not in queues
            if not group.grows and (growing >= MAX_GROWING or not rises):
                continue
            ask = partial(self.send, "waits", group=number)
            ask_finished = partial(self.send, "finished", group=number)
            for event in group.judge_tasks(now, sockets, ask, ask_finished):
                growing += event.kind == "growth"
                self._moments = None
                self._log_event(*event)
        self._leaks = sum(group.leaks for group in self.groups.values())
        malloc_event = self._malloc.judge(now) if self.how == "agent" else None
        if malloc_event is not None:
            self._log_event(*malloc_event)
        executors = any(
            one.rises or one.grows for one in self.resources.all() if one.report.kind == "executors"
        )
        for one in self.resources.all():
            kind = one.report.kind
            if kind == "files" and one.rises and self._are_connections(one):
                continue
            if executors and one.report.name == POOL_WORKER:  # the threads of these executors
                continue
            ask = partial(self.send, "thread_waits", name=one.report.name, pool=kind == "jobs")
            resource_event = one.judge(now, sockets, ask if kind in ("threads", "jobs") else None)
            if resource_event is not None:
                self._log_event(*resource_event)

    def _are_connections(self, files: Resource) -> bool:
        """Return whether the open files may be the connections of a growing number of tasks or threads."""
        threads = [one for one in self.resources.all() if one.report.kind == "threads"]
        owners = sum(one.meter.rise for one in (*self.groups.values(), *threads))
        return files.meter.rise <= FILES_OF_ONE * owners

    @property
    def facts(self) -> EngineFacts:
        """The constant facts of the lane."""
        return EngineFacts(self.name, "task", host=self.host)

    @property
    def status(self) -> LaneStatus:
        """The figures of the lane that seldom change."""
        ready, reading = self.ready, self.reading
        return LaneStatus(
            state=self.state,
            reason="; ".join(filter(None, (self.reason, self._uncounted))),
            wake_lag_p99=self.lags.quantile(0.99),
            peak_rss=reading.peak_rss if reading else None,
            idle_rss=self.rss_first,
            runtime=ready.runtime if ready else None,
            pid=self.pid,
            flags=ready.flags if ready else (),
            can=ready.can if ready else (),
            born=self.began,
            tracing=self.tick is not None and self.tick.traced is not None,
            cpu_quota=reading.cpu_quota if reading else None,
            ongoing=self.ongoing if self.alive else (),
        )

    @property
    def ongoing(self) -> tuple[OngoingStatus, ...]:
        """What lasts in the process."""
        return (*self.standstills.ongoing, *self.blocks.ongoing)

    @property
    def process(self) -> ProcessStatus:
        """The figures of the whole process."""
        tick = self.tick
        reported: dict[str, Any] = {"live_peak": self.live_peak}
        if tick is not None:
            counts = self._counts or self._sums(tick)
            self._counts = counts if self.groups else {}
            created, ended = counts["created"] or 0, counts["ended"]
            reported |= {name: getattr(tick, name) for name in fields_from(ProcessStatus, MetricSource.TICK)}
            reported["live_peak"] = self.live_peak or (None if tick.created else self.live_peak)
            reported |= counts | {
                "created": created + tick.missed,
                "ended": None if ended is None else ended + tick.missed,
                "live_at_end": counts["live"] if self.exited_normally else None,
                "left_over": self._so_far(counts["left_over"]),
                "destroyed": self._so_far(counts["destroyed"]),
                "gc_seconds": tick.gc,
            }
            if self._ended_unreported:
                reported |= dict.fromkeys(AT_THAT_MOMENT)
            if tick.uncounted:
                reported |= dict.fromkeys(OF_TASKS)
        return ProcessStatus(
            rss_first=self.rss_first,
            rss_last=self.reading.rss if self.reading else None,
            rss_peak=self.rss_peak,
            pss=self.reading.pss if self.reading else None,
            kernel_last=self.reading.kernel if self.reading else None,
            anonymous=self.reading.anonymous if self.reading else None,
            file_pages=self.reading.file_pages if self.reading else None,
            shared=self.reading.shared if self.reading else None,
            cpu_seconds=self.cpu_seconds,
            threads=self.threads_peak,
            throttled=self.throttled,
            queued_peak=self.queued_peak,
            lag_p99=self.lags.quantile(0.99),
            blocked=self.blocks.longest if self._detects_blocks else None,
            blocked_for=self._blocked_for if self._detects_blocks and self.alive else None,
            leaks=self._leaks + sum(one.leaks for one in self.resources.all()),
            agent_errors=self._so_far(self.agent_errors.total) if self.agent_errors else None,
            memory_leaks=int(self._memory.leaks),
            memory_limit=self.reading.memory_limit if self.reading else None,
            memory_used=self.reading.memory_used if self.reading else None,
            at_least=self._at_least(tick) if tick else (),
            **reported,
        )

    @property
    def _detects_blocks(self) -> bool:
        return self.ready is not None and "blocks" in self.ready.flags

    @property
    def _blocked_for(self) -> float:
        """The seconds for which an event loop has been blocked until now; 0 if none is."""
        return max([one.seconds for one in self.ongoing if one.kind == "block"], default=0.0)

    def _sums(self, tick: AgentTick) -> dict[str, int | None]:
        """Return the sums over the groups, all as of one scan; before the first, the counts of a tick."""
        columns = zip(*[_counts_of(group.report) for group in self.groups.values()], strict=True)
        found = {name: getattr(tick, name) for name in COUNTS}
        for name, counts in zip(COUNTS, columns, strict=False):
            known = [count for count in counts if count is not None] if None in counts else counts
            if known:
                found[name] = sum(known)
        return found

    def _at_least(self, tick: AgentTick) -> tuple[str, ...]:
        """Return the names of figures that may be too low, because scans may have missed tasks."""
        if self._ended_unreported:
            return (*SO_FAR, "live_peak")
        if tick.missed or self._direct:
            return ("created", "ended", "live_peak")
        return ("live_peak",) if (self.live_peak or 0) < tick.created + (tick.since or 0) else ()

    @property
    def _ended_unreported(self) -> bool:
        return not (self.alive or self.exited_normally or self.time_is_up)

    @property
    def _uncounted(self) -> str:
        """Why the tasks of the process are not counted; empty if they are."""
        return self.tick.uncounted if self.tick else ""

    def _so_far(self, count: int | None) -> int | None:
        """Return a count that never falls; None for 0 if the process has ended without its last report."""
        return count if count or self.alive or self.exited_normally else None

    def _moment(self, group: Group) -> GroupMoment:
        """Return a group as of now."""
        return structs.replace(group.moment, clock=self._clock)

    def _ended_group(self, group: Group) -> EndedGroup:
        """Return the final figures of a group of the process, which has ended."""
        moment = self._moment(group)
        status = moment.status
        unknown = () if self.time_is_up else OF_NOW
        at_least = status.at_least
        if self._ended_unreported:
            unknown += ("live", "retained")
            at_least += tuple(name for name in SO_FAR if name not in at_least)
        known: dict[str, Any] = {
            "left_over": self._so_far(status.left_over),
            "destroyed": self._so_far(status.destroyed),
            "live_at_end": status.live if self.exited_normally else None,
            "at_least": at_least,
        }
        return EndedGroup(moment, structs.replace(status, **known, **dict.fromkeys(unknown)))

    def _group_moments(self) -> tuple[GroupMoment, ...]:
        """Return its groups; the same objects as before unless their figures or ages have changed."""
        found = self._moments
        if found is None:
            found = tuple([group.moment for group in self.groups.values()])
        if found and self._clock.now >= found[0].clock.now + AGED:
            found = tuple(map(self._moment, self.groups.values()))
        self._moments = found
        return found

    def snapshot(self, now: float) -> LaneSnapshot:
        """Return the lane at ``now``."""
        return LaneSnapshot(
            self.facts,
            self.status,
            self.sample,
            groups=self._group_moments() if self.alive else self._final,
            tick=self.tick,
            process=self.process,
            facts=ProcessFacts(
                self.pid,
                self.ppid,
                self.process_name,
                self.ready is not None,
                self._tick_at if self.ready else None,
                self.reading.started if self.reading else None,
            ),
            resources=self.resources.statuses(),
            blocks=self.blocks.ranked(),
            lags=self.lag_buckets if self.ready else None,
            containers=self._memory.containers,
            memory=self.memory,
            lines=self.lines,
            agent_errors=self.agent_errors.kinds if self.agent_errors else (),
        )
