"""One watched process: what its agent reports, and its memory and CPU time as the system reports them."""

import contextlib
import math
from functools import partial
from typing import Any, NamedTuple

from msgspec import structs

from concwatch.links.agent_link import AgentArrival, AgentLink
from concwatch.links.agent_messages import (
    AgentEnd,
    AgentErrors,
    AgentReady,
    AgentTick,
    AgentWaiting,
    Cycle,
    Finished,
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
from concwatch.monitor.groups.group_moment import EndedGroup
from concwatch.monitor.metrics.metrics import EngineFacts, LaneSnapshot
from concwatch.monitor.metrics.process_status import ProcessFacts
from concwatch.monitor.metrics.state import State
from concwatch.monitor.processes.agent_connection import AgentConnection
from concwatch.monitor.processes.agent_reports import AgentReports
from concwatch.monitor.processes.process_figures import ended_group, lane_status, process_status
from concwatch.monitor.processes.process_history import ProcessHistory
from concwatch.monitor.processes.process_now import ProcessNow
from concwatch.monitor.processes.process_verdicts import ProcessVerdicts
from concwatch.monitor.processes.profiling import COMMAND as PROFILE
from concwatch.monitor.processes.readings import Readings
from concwatch.monitor.processes.watched_host import WatchedHost
from concwatch.monitor.verdicts.events import EventSink, LaneEventSink, Severity
from concwatch.monitor.verdicts.rss_parts import outside_parts, rss_parts
from concwatch.monitor.verdicts.waits import cycle_text
from concwatch.portable.bridge.injection import NOT_PYTHON
from concwatch.system.process import Reading

REPLACED = "it executed another program"
"""The end of a lane whose process has executed another program, which gets its own lane."""

LOST_TIMEOUT = 2.0
"""Seconds after which a process that has lost its agent is taken to be running, perhaps another program."""

UNCONNECTED = "its agent connects once it has a task or a thread"

MAX_PAUSE = 0.02
"""Seconds for which a program's malloc may be stopped by a question that nobody has asked for."""


class _LostAgent(NamedTuple):
    """An agent whose connection has ended, until it is known whether the process has ended too."""

    at: float
    """When it ended."""
    reports: AgentReports
    """Its last figures."""
    reading: Reading | None
    """The system's figures then; later ones may be of another program that the process has executed."""


class WatchedProcess:
    """A lane without a target. Times are passed in, in seconds of the monitor's clock.

    Its parts are what the process is now (`current`), the connection to its agent (`agent`), what is read and
    reported (`readings`, `reports`), what is remembered (`history`), and what is concluded (`verdicts`). Each
    is given what it needs when it is called; none of them refers to the process.

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
        self.number, self.pid, self.began, self.host = number, pid, now, host.name
        self.current = ProcessNow(name, ppid)
        self._log_event: EventSink = lambda *event, **fields: log(self.name, *event, **fields)
        self.agent = AgentConnection(self._log_event, partial(host.request_stack, pid), now)
        self.readings = Readings(host, pid, now)
        self.reports = AgentReports(self._log_event)
        self.history = ProcessHistory(number)
        self.verdicts = ProcessVerdicts(
            self._log_event,
            self.agent.send,
            self.agent.request_stack,
            partial(self.request_memory, longest=MAX_PAUSE),
        )
        self._host = host
        self._lost: _LostAgent | None = None
        self._final: tuple[EndedGroup, ...] = ()
        """Its groups once it has ended."""

    @property
    def name(self) -> str:
        """The name of the lane: that of the process, and its pid."""
        return f"{self.current.name} {self.pid}"

    @property
    def alive(self) -> bool:
        """Whether the process is running, as far as is known."""
        return self.current.alive

    def set(self, **fields: Any) -> None:
        """Set fields of `current`."""
        self.current = structs.replace(self.current, **fields)

    def connect(self, link: AgentLink, ready: AgentReady, now: float, name: str = "") -> None:
        """Observe the process through its agent; ``name`` replaces the name that the agent reports."""
        if self.agent.is_open:
            self.step(now)  # process what the previous connection has sent
        self._restore_reports()
        self.agent.open(link, now)
        was_waiting = self.current.waiting
        self.set(name=name or ready.name, ppid=ready.ppid, waiting=False, ready=ready)
        self.set(state=State.RUNNING, how="agent", reason="")
        if not was_waiting:
            flags = "".join(f" · {flag}" for flag in ready.flags)
            self._log_event(f"watched: {ready.runtime}{flags}, pid {self.pid}", "info", "agent")

    def observe_from_outside(self, reason: str) -> None:
        """Observe the process without an agent, for this ``reason``."""
        self.set(state=State.RUNNING, how="outside", reason=reason)
        severity: Severity = "info" if reason.endswith(NOT_PYTHON) else "warning"  # which nobody expects
        self._log_event(f"measured from outside only: {reason}", severity, "agent")

    def request_lines(self) -> None:
        """Ask its agent for the lines that hold traced memory; they are None until it has answered."""
        self.set(lines=None)
        self.agent.send("lines")

    def request_memory(self, now: float, longest: float | None = None) -> None:
        """Ask its agent what RSS is made of; without an agent, what is known is the answer.

        ``longest`` are the seconds for which the program's malloc may be stopped; None for no limit.
        """
        current = self.current
        if self.agent.is_open and current.ready is not None and "memory" in current.ready.can:
            self.agent.send("memory", longest=longest)
        elif current.reading is not None and self.alive:
            reason = UNCONNECTED if current.waiting else current.reason or "it has no agent"
            self.set(memory=outside_parts(current.reading, now, reason))

    def end(self, reason: str, now: float, failed: bool = False) -> None:
        """Handle the exit of the process."""
        if not self.alive:
            return
        self.step(now)
        if self._lost is not None:
            self.set(reading=self._lost.reading)
        self._restore_reports()
        self.verdicts.lose("then the process ended")
        exited_normally = self.current.exited_normally or self.current.waiting
        state = State.FAILED if failed else State.OFF
        self.set(state=state, reason=reason, exited_normally=exited_normally)
        self._final = tuple(ended_group(one, self.current) for one in self.reports.aged_moments())
        self.agent.close()
        self.readings.close()
        self.history.add_end(now)
        self._log_event(reason, "error" if failed else "info", "ended")

    def step(self, now: float) -> None:
        """Process the reports received since the last step, and sample the process."""
        if not self.alive:
            return
        for arrival in self.agent.arrivals():
            self._receive(arrival, now)
        if self._lost is not None and now >= self._lost.at + LOST_TIMEOUT:
            if self._host.why_no_agent(self.pid).endswith(NOT_PYTHON):
                self._lost = self._lost._replace(at=math.inf)
                self.end(REPLACED, now)
                return
            self._give_up_agent()
        self.agent.log.summarize(now)
        self._add_sample(now)

    def _receive(self, arrival: AgentArrival, now: float) -> None:
        """Hand what has arrived to the parts that it concerns."""
        current, reports, verdicts = self.current, self.reports, self.verdicts
        match arrival:
            case AgentTick():
                self._add_tick(arrival, now)
            case Groups():
                reports.add_groups(arrival, current.rss, current.agent_began)
            case Waits():
                reports.add_waits(arrival)
            case Finished():
                reports.add_finished(arrival)
            case ThreadWaits():
                reports.resources.add_waits(arrival)
            case Cycle():
                self._log_event(cycle_text(arrival.tasks), "warning", "cycle")
            case Block():
                verdicts.add_block(arrival, partial(self._throttled_within, now), now)
            case RawFrame():
                verdicts.standstills.add_frame(arrival)
            case Lasting():
                verdicts.standstills.add(arrival)
            case AgentErrors():
                self.agent.errors.add(arrival)
            case TracedLines():
                self.set(lines=arrival)
                verdicts.memory.add_lines(arrival)
            case Objects():
                verdicts.memory.add_objects(arrival)
            case Error(command="objects"):
                verdicts.memory.stop_counting(arrival.message)
            case MemoryParts():
                parts = rss_parts(arrival, current.reading, now)
                self.set(memory=parts)
                verdicts.malloc.add_parts(parts)
            case Error(command="memory"):
                self._receive(MemoryParts(unknown=arrival.message), now)
            case Profile():
                self.agent.profiling.add(arrival)
            case Error(command=command) if command == PROFILE:
                self.agent.profiling.refuse(arrival.message)
            case Error(command="finished"):  # refused, because there are too many objects
                pass
            case Error():
                self.agent.log.add(now, arrival.message, "warning")
            case Garbage():
                self.agent.log.add_garbage(arrival.message)
            case AgentWaiting():
                self.set(waiting=True)
            case AgentEnd():
                self.set(exited_normally=True)
            case Ended():
                self.agent.forget()
                if not current.exited_normally and not current.waiting:
                    self._lose_agent(now)

    def _add_tick(self, tick: AgentTick, now: float) -> None:
        current = self.current
        self.agent.add_tick(tick, now)
        self.reports.add_tick(tick, current.rss, current.agent_began)
        self.history.add_tick(tick)
        if tick.name and tick.name != current.name:
            self.set(name=tick.name)
        if tick.flags and current.ready is not None and tick.flags != current.ready.flags:
            self.set(ready=structs.replace(current.ready, flags=tick.flags))

    def _throttled_within(self, now: float, seconds: float) -> float:
        """Return for how many of the ``seconds`` before ``now`` a CPU quota throttled the process."""
        reading = self.readings.read_again()
        if reading is not None:
            self.history.add_throttled(reading, now)
        return self.history.throttled_within(seconds)

    def _lose_agent(self, now: float) -> None:
        """Set the figures of an agent aside until it is known whether the process has ended too."""
        reason = "its agent's connection ended"
        self.set(how="outside", reason=reason)
        self.agent.refuse(reason)
        self._lost = _LostAgent(now, self.reports, self.current.reading)
        self.reports = AgentReports(self._log_event)

    def _give_up_agent(self) -> None:
        """Take a process that has lost its agent to be running without it."""
        self._lost = None
        self.verdicts.lose("what came then is unknown, since its agent's connection has ended")
        with contextlib.suppress(LookupError):
            self.set(name=self._host.parent_and_name(self.pid)[1])

    def _restore_reports(self) -> None:
        """Restore the agent's last figures, because the process has ended or its agent has reconnected."""
        if self._lost is not None:
            self.reports, self._lost = self._lost.reports, None

    def _add_sample(self, now: float) -> None:
        reading = self.current.reading
        if reading is None or self.readings.is_due(now):
            reading = self.readings.read(now)
            if reading is None:
                return
            self.set(reading=reading)
            self.history.add_reading(reading, now)
            self.verdicts.add_reading(reading, now)
        # What is heard of another host may only be late.
        is_heard = self.agent.is_open and self.reports.tick is not None and not self.host
        self.verdicts.observe(reading, self.reports, self.agent.heard if is_heard else None, now)
        stalled = self.agent.stalled_for(self.reports.tick, now)
        state = State.STALLED if stalled else State.RUNNING
        if self.current.how == "agent" and state is not self.current.state:
            self.set(state=state)
        self.history.add_sample(reading, self.reports.tick, stalled, now)

    def detect_growth(self, now: float) -> None:
        """Log which tasks, threads, queues and files grow or leak, and which no longer do."""
        self.verdicts.judge(self.reports, self.current.how == "agent", now)

    def snapshot(self, now: float) -> LaneSnapshot:
        """Return the lane at ``now``."""
        current, reports, history, verdicts = self.current, self.reports, self.history, self.verdicts
        ready, reading, errors = current.ready, current.reading, self.agent.errors.found
        return LaneSnapshot(
            EngineFacts(self.name, "task", host=self.host),
            lane_status(self.pid, self.began, current, reports, history, verdicts),
            history.sample,
            groups=reports.moments() if current.alive else self._final,
            tick=reports.tick,
            process=process_status(current, reports, history, verdicts, errors),
            facts=ProcessFacts(
                self.pid,
                current.ppid,
                current.name,
                ready is not None,
                self.agent.heard if ready else None,
                reading.started if reading else None,
            ),
            resources=reports.resources.statuses(),
            blocks=verdicts.blocks.ranked(),
            lags=history.lag_buckets if ready else None,
            containers=verdicts.memory.containers,
            memory=current.memory,
            lines=current.lines,
            agent_errors=errors.kinds if errors else (),
        )
