"""What is concluded about a watched process: what grows or leaks in it, what blocks it, what lasts."""

from collections.abc import Callable
from functools import partial

from concwatch.links.messages import Block
from concwatch.monitor.groups.resources import POOL_WORKER, Resource, Resources
from concwatch.monitor.processes.agent_reports import AgentReports
from concwatch.monitor.verdicts.blocks import BlockedPlaces
from concwatch.monitor.verdicts.events import EventSink
from concwatch.monitor.verdicts.malloc_verdict import MallocVerdict
from concwatch.monitor.verdicts.memory_leak import MemoryLeakDetector
from concwatch.monitor.verdicts.ongoing import OngoingStatus
from concwatch.monitor.verdicts.standstill import Standstills
from concwatch.system.process import Reading

FILES_OF_ONE = 3
"""Open files per growing task or thread, such as both connections of a proxy, that are not reported too."""

MAX_GROWING = 20
"""Groups per process whose growth or leaks are reported."""


class ProcessVerdicts:
    """The verdicts on one process, which are logged as events.

    Args:
        log: adds an event.
        send: sends a command to the agent.
        request_stack: asks for the stack of the main thread.
        request_memory: called with the time to ask the agent what RSS is made of.
    """

    def __init__(
        self,
        log: EventSink,
        send: Callable[..., None],
        request_stack: Callable[[], object],
        request_memory: Callable[[float], object],
    ) -> None:
        self.blocks = BlockedPlaces(log)
        self.standstills = Standstills(log, request_stack)
        self.malloc = MallocVerdict(request_memory)
        self.memory = MemoryLeakDetector(
            log, lambda: send("lines"), lambda: self._resources.growing(), lambda: send("objects")
        )
        self._log, self._send = log, send
        self._resources = Resources()
        """Its threads, executor queues and open files when it was observed last."""

    @property
    def ongoing(self) -> tuple[OngoingStatus, ...]:
        """What lasts in the process."""
        return (*self.standstills.ongoing, *self.blocks.ongoing)

    @property
    def blocked_for(self) -> float:
        """The seconds for which an event loop has been blocked until now; 0 if none is."""
        return max([one.seconds for one in self.ongoing if one.kind == "block"], default=0.0)

    def add_reading(self, reading: Reading, now: float) -> None:
        """Record the system's figures, when they are read."""
        if reading.anonymous is not None:
            self.malloc.add(now, reading.anonymous)

    def add_block(self, block: Block, throttled_within: Callable[[float], float], now: float) -> None:
        """Record a block of an event loop; ``throttled_within`` as in `BlockedPlaces.add`."""
        self.blocks.add(block, throttled_within, partial(self.standstills.explains, now=now))

    def observe(self, reading: Reading, reports: AgentReports, heard: float | None, now: float) -> None:
        """Observe the process from outside, and its memory.

        Args:
            reading: the system's figures.
            reports: what its agent has reported.
            heard: when its agent reported last; None without one.
            now: the time in seconds.
        """
        tick, self._resources = reports.tick, reports.resources
        self.standstills.observe(now, reading, heard, tick is not None and bool(tick.loops))
        if tick is not None and tick.live is not None:
            jobs = tick.queued or 0
            held = tick.live + (tick.retained or 0) + jobs + reading.threads + self._resources.sockets
            self.memory.add(
                now,
                reading.held,
                held,
                tick.traced is not None,
                reading.shared_grown or 0,
                bool(tick.created or tick.since or tick.live),
                reports.growing_tasks(),
            )

    def judge(self, reports: AgentReports, has_agent: bool, now: float) -> None:
        """Log which tasks, threads, queues and files grow or leak, and which no longer do.

        Args:
            reports: what its agent has reported.
            has_agent: whether there is an agent now.
            now: the time in seconds.
        """
        self._judge_groups(reports, now)
        event = self.malloc.judge(now) if has_agent else None
        if event is not None:
            self._log(*event)
        self._judge_resources(reports, now)

    def _judge_groups(self, reports: AgentReports, now: float) -> None:
        sockets = reports.resources.sockets_rise
        queues = {
            one.name_in_waits for one in reports.resources.all() if one.report.kind == "jobs" and one.grows
        }
        growing = sum(group.grows for group in reports.groups.values())
        new = False
        for number, group in reports.groups.items():
            rises = (group.rises or group.finished.rises) and group.awaited not in queues
            if not group.grows and (growing >= MAX_GROWING or not rises):
                continue
            ask = partial(self._send, "waits", group=number)
            ask_finished = partial(self._send, "finished", group=number)
            for event in group.judge_tasks(now, sockets, ask, ask_finished):
                growing += event.kind == "growth"
                new = True
                self._log(*event)
        reports.add_verdicts(new)

    def _judge_resources(self, reports: AgentReports, now: float) -> None:
        sockets = reports.resources.sockets_rise
        executors = any(
            one.rises or one.grows for one in reports.resources.all() if one.report.kind == "executors"
        )
        for one in reports.resources.all():
            kind = one.report.kind
            if kind == "files" and one.rises and _are_connections(one, reports):
                continue
            if executors and one.report.name == POOL_WORKER:  # the threads of these executors
                continue
            ask = partial(self._send, "thread_waits", name=one.report.name, pool=kind == "jobs")
            event = one.judge(now, sockets, ask if kind in ("threads", "jobs") else None)
            if event is not None:
                self._log(*event)

    def lose(self, why: str) -> None:
        """End the events about what lasts, of which nothing more is known."""
        self.blocks.lose(why)
        self.standstills.lose(why)


def _are_connections(files: Resource, reports: AgentReports) -> bool:
    """Return whether open files may be the connections of a growing number of tasks or threads."""
    threads = [one for one in reports.resources.all() if one.report.kind == "threads"]
    owners = sum(one.meter.rise for one in (*reports.groups.values(), *threads))
    return files.meter.rise <= FILES_OF_ONE * owners
