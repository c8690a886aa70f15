"""One watched process: what its agent reports, and what is seen of it from outside."""

import math
from collections.abc import Callable
from typing import Any

from concwatch.lab.events import Severity
from concwatch.lab.histogram import Histogram
from concwatch.lab.lane_state import State
from concwatch.lab.memory_growth import MemoryGrowth
from concwatch.lab.rates import Trailing
from concwatch.lab.series import Series
from concwatch.lab.snapshot import EngineFacts, LaneStatus, Sample, blank_sample
from concwatch.lab.worker_log import WorkerLog
from concwatch.links.agent_link import Agent
from concwatch.links.agent_messages import AgentEnd, AgentReady, AgentTick, Groups, Waits
from concwatch.links.link import Ended, Garbage
from concwatch.links.messages import Error, TracedLines
from concwatch.system.process import Reading
from concwatch.watch.group import Group, known_rate
from concwatch.watch.place import ProcessReader

STALL = 1.0
"""Seconds without a report from which on a process is stalled; its agent has a thread of its own."""

MOST_CALLED = 20
"""Groups of a process that are called out at most."""

Say = Callable[[str, str, Severity], None]


class WatchedProcess:
    """A lane that cannot be given a target; time is passed in, in seconds of the monitor's clock.

    Args:
        number: its place among all lanes.
        pid: the process.
        ppid: its parent.
        name: what it is called until its agent says better.
        say: takes an event: the lane, what happened, how bad that is.
        now: when it was first seen.
        look: returns what reads the figures of a process.
        host: where it runs, if not here.
    """

    def __init__(
        self,
        number: int,
        pid: int,
        ppid: int,
        name: str,
        say: Say,
        now: float,
        look: Callable[[int], ProcessReader],
        host: str = "",
    ) -> None:
        self.number, self.pid, self.ppid, self.began = number, pid, ppid, now
        self.lane = f"{name} {pid}"
        """What the lane is called."""
        self.called, self.host = name, host
        self.how = "starting"
        """``"agent"``, ``"outside"``, or ``"starting"`` while an agent may still come."""
        self.reason = ""
        """Why there is no agent, or how the process ended."""
        self.state = State.STARTING
        self.ready: AgentReady | None = None
        self.tick: AgentTick | None = None
        self.groups: dict[int, Group] = {}
        """By the agent's own number."""
        self.lines: TracedLines | None = None
        self.reading: Reading | None = None
        self.rss_first: int | None = None
        self.told: set[int] = set()
        """Groups whose leak has been told."""
        self.ended_in_order = False
        """Whether its agent took leave."""
        self.lags = Histogram()
        self.series = Series()
        self.sample: Sample = blank_sample(number, -math.inf)
        self._say = say
        self._log = WorkerLog(self._tell, now)
        self._memory = MemoryGrowth(self._tell, lambda: self.send("lines"))
        self._link: Agent | None = None
        self._created, self._ended, self._cpu = Trailing(1.0), Trailing(1.0), Trailing(1.0)
        self._switches = Trailing(1.0)
        self._tick_at = now
        try:
            self._sampler: ProcessReader | None = look(pid)
        except LookupError:
            self._sampler = None

    def _tell(self, text: str, severity: Severity) -> None:
        self._say(self.lane, text, severity)

    @property
    def alive(self) -> bool:
        """Whether the process runs, as far as is known."""
        return self.state not in (State.OFF, State.FAILED)

    @property
    def live(self) -> int | None:
        """Its live tasks; None where nobody counts them."""
        return self.tick.live if self.tick else None

    def connect(self, link: Agent, ready: AgentReady, now: float, name: str = "") -> None:
        """Follow the process by its agent from now on; ``name`` is what to call it if not by its own word."""
        self._link, self.ready, self._tick_at = link, ready, now
        self.how, self.reason, self.state = "agent", "", State.RUNNING
        self.called, self.ppid = name or ready.name, ready.ppid
        self.lane = f"{self.called} {self.pid}"
        flags = "".join(f" · {flag}" for flag in ready.flags)
        self._say(self.lane, f"watched: {ready.runtime}{flags}, pid {self.pid}", "info")

    def see_from_outside(self, reason: str) -> None:
        """Note that no agent will come, and why."""
        self.how, self.reason, self.state = "outside", reason, State.RUNNING
        self._say(self.lane, f"seen from outside only: {reason}", "info")

    def wait_for(self, reason: str) -> None:
        """Note what an agent that was sent is waiting for."""
        self.reason = reason

    def end(self, reason: str, now: float, failed: bool = False) -> None:
        """Note that the process has ended."""
        if not self.alive:
            return
        self.step(now)
        self.state, self.reason = State.FAILED if failed else State.OFF, reason
        if self._link is not None:
            self._link.close()
            self._link = None
        self._sampler = None
        self.sample = blank_sample(self.number, now)
        self.series.append(self.sample)
        self._say(self.lane, reason, "error" if failed else "info")

    def detach(self) -> None:
        """Let the agent take its hooks back; the process goes on."""
        if self._link is not None:
            self._link.send("detach")
            self._link.close()
            self._link = None

    def send(self, type_: str, **fields: object) -> None:
        """Send its agent a command."""
        if self._link is not None:
            self._link.send(type_, **fields)

    def step(self, now: float) -> None:
        """Take in what has come, and look at the process."""
        if not self.alive:
            return
        for arrival in self._link.arrivals() if self._link else ():
            match arrival:
                case AgentTick():
                    self._take_tick(arrival, now)
                case Groups():
                    self._take_groups(arrival)
                case Waits():
                    if arrival.group in self.groups:
                        self.groups[arrival.group].waits = arrival.waits
                case TracedLines():
                    self.lines = arrival
                    self._memory.take_lines(arrival)
                case Error():
                    self._log.add(now, arrival.message, "warning")
                case AgentEnd():
                    self.ended_in_order = True
                case Garbage():
                    self._log.add_garbage(arrival.message)
                case Ended():
                    self._link = None
                    if not self.ended_in_order:
                        self.how, self.reason = "outside", "its agent's connection ended"
        self._log.summarize(now)
        self._look(now)

    def _take_tick(self, tick: AgentTick, now: float) -> None:
        self.tick, self._tick_at = tick, now
        if tick.name:
            self.called, self.lane = tick.name, f"{tick.name} {self.pid}"
        self._created.add(tick.time, tick.created)
        if tick.ended is not None and tick.scan_time is not None:
            self._ended.add(tick.scan_time, tick.ended)
        if tick.lag is not None:
            self.lags.add((tick.lag,))

    def _take_groups(self, groups: Groups) -> None:
        fresh = {report.group: report for report in groups.groups}
        rss = self.reading.rss if self.reading else None
        for number, report in fresh.items():
            if number not in self.groups:
                self.groups[number] = Group(report, groups.time)
        for number, group in self.groups.items():
            group.take(fresh.get(number, group.report), groups.time, rss)

    def _look(self, now: float) -> None:
        reading = self._sampler.read() if self._sampler else None
        if reading is None:
            return
        self.reading = reading
        self.rss_first = reading.rss if self.rss_first is None else self.rss_first
        self._cpu.add(now, reading.cpu_seconds)
        stalled = self.stalled_for(now)
        if self.how == "agent":
            self.state = State.STALLED if stalled else State.RUNNING
        self.sample = self._sample(reading, now, stalled)
        self.series.append(self.sample)
        if self.tick is not None and self.tick.live is not None:
            self._memory.add(now, reading.rss, self.tick.live, self.tick.traced is not None)

    def stalled_for(self, now: float) -> float:
        """Seconds that its agent has been silent, or a loop overdue; 0 when all is well."""
        if self._link is None or self.tick is None:
            return 0.0
        longest = max(now - self._tick_at, self.tick.lag or 0.0)
        return longest if longest >= STALL else 0.0

    def _sample(self, reading: Reading, now: float, stalled: float) -> Sample:
        tick = self.tick
        known: dict[str, Any] = {}
        if tick is not None:
            known = {
                "created_per_second": known_rate(self._created),
                "completed_per_second": known_rate(self._ended),
                "live": tick.live,
                "lag": tick.lag,
                "tick_time": tick.time,
                "created": tick.created,
                "completed": tick.ended if tick.completed is None else tick.completed,
                "failed": tick.failed,
                "cancelled": tick.cancelled,
                "queued": tick.queued,
                "gc": tick.gc,
                "traced": tick.traced,
                "tracer": tick.tracer,
            }
        return blank_sample(
            self.number,
            now,
            rss=reading.rss,
            cpu=round(self._cpu.rate, 4) if self._cpu.span else reading.cpu,
            threads=reading.threads,
            virtual=reading.virtual,
            cpu_seconds=reading.cpu_seconds,
            stalled=stalled,
            **known,
        )

    def find_leaks(self) -> None:
        """Mark the groups that leak, and ask where their tasks wait."""
        for number, group in self.groups.items():
            called = sum(one.leak for one in self.groups.values())
            if not group.leak and called < MOST_CALLED and (group.meter.leaks or group.retained_meter.leaks):
                group.leak = True
                self.send("waits", group=number)

    def untold_leaks(self) -> list[Group]:
        """Return the groups that leak and have not been returned before."""
        found = [number for number, group in self.groups.items() if group.leak and number not in self.told]
        self.told.update(found)
        return [self.groups[number] for number in found]

    @property
    def facts(self) -> EngineFacts:
        """What never changes of the lane."""
        return EngineFacts(self.lane, "task", host=self.host)

    @property
    def status(self) -> LaneStatus:
        """What changes seldom."""
        ready, reading = self.ready, self.reading
        return LaneStatus(
            state=self.state,
            reason=self.reason,
            wake_lag_p99=self.lags.quantile(0.99),
            peak_rss=reading.peak_rss if reading else None,
            idle_rss=self.rss_first,
            runtime=ready.runtime if ready else None,
            pid=self.pid,
            flags=ready.flags if ready else (),
            can=ready.can if ready else (),
            born=self.began,
            tracing=self.tick is not None and self.tick.traced is not None,
        )
