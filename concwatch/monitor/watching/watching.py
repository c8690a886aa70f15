"""All processes of a watched program. Each is a lane, which is kept after the process has ended."""

import time
from collections.abc import Callable, Collection, Sequence

from concwatch.links.agent_link import AgentLink
from concwatch.links.agent_messages import AgentReady
from concwatch.links.link import Ended
from concwatch.links.program import StartedProgram
from concwatch.monitor.groups.group import Group
from concwatch.monitor.lanes.host_lanes import INTERVAL, MachineMeter
from concwatch.monitor.metrics.group_status import Function
from concwatch.monitor.metrics.observable import Observable
from concwatch.monitor.metrics.settings import Settings
from concwatch.monitor.metrics.snapshot import Snapshot
from concwatch.monitor.processes.watched import REPLACED, WatchedProcess
from concwatch.monitor.processes.watched_host import WatchedHost
from concwatch.monitor.verdicts.events import BLOCK, MarkLog
from concwatch.monitor.watching.agent_options import DEFAULTS, AgentOptions
from concwatch.monitor.watching.process_table import ProcessTable
from concwatch.monitor.watching.quotas import Quotas
from concwatch.system.memory import MemoryBudget

HZ = 10.0

SEARCH_INTERVAL = 0.5
"""Seconds between two searches for new processes."""

AGENT_TIMEOUT = 2.0
"""Seconds within which an agent must connect after its process was found."""

AT_START = 5.0
"""Seconds from its start within which a program that fails probably says why in its last line of output."""

ASLEEP = "waits for its main thread to run Python"
"""Why a process has no agent yet."""

LEAK_INTERVAL = 1.0
"""Seconds between two checks for leaks."""

READINGS_PER_SECOND = 100
"""The most readings of the system's figures per second, of all processes together."""

SLACK = 5
"""Processes that are read without this limit: they would only have to wait for half a step."""

UNNAMED = "python -c"
"""The name that an agent reports for a program given as text, as ``multiprocessing`` does."""


class Watching(Observable):
    """Observes one program, with or without a screen. All work is done in `step`.

    Args:
        host: where the program runs.
        program: the program that was started; None if concwatch only attaches to processes.
        hz: ticks and samples per second.
        agents: what agents are asked to do.
        clock: returns monotonic seconds.
    """

    def __init__(
        self,
        host: WatchedHost,
        program: StartedProgram | None = None,
        *,
        hz: float = HZ,
        agents: AgentOptions = DEFAULTS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(clock, hz)
        self.host, self.program = host, program
        self.settings = Settings()
        self.machine = MachineMeter(host.load)
        self.blocks = MarkLog()
        self._agents = agents
        self._options = agents.switches
        self._budget = MemoryBudget(None, host.memory)
        self._unidentified: list[AgentLink] = []  # connections whose ``ready`` has not arrived
        self._table, self._quotas = ProcessTable(host, self.log), Quotas(self.log)
        self._found: Collection[int] = ()
        self._attached: set[int] = set()
        self._search_due = self._leaks_due = 0.0
        self._machine_due = clock() + INTERVAL / 2  # not beside the first frame, which it would delay

    def attach(self, pid: int, gdb: bool = False) -> None:
        """Observe a running process, with an agent if it can be loaded.

        Args:
            pid: the process.
            gdb: whether gdb may load the agent into an older Python.
        """
        self.host.attach(pid, gdb)
        self._attached.add(pid)
        self._search(self.clock())

    @property
    def lanes(self) -> list[WatchedProcess]:
        """The lanes of all processes that were found, by number."""
        return self._table.lanes

    @property
    def alive(self) -> Sequence[WatchedProcess]:
        """The processes that are running."""
        return [lane for lane in self.lanes if lane.alive]

    def set_option(self, name: str) -> None:
        """Toggle an option of all agents: ``"outcomes"``, ``"timing"`` or ``"trace"``."""
        on = self._options[name] = not self._options[name]
        for lane in self.alive:
            lane.agent.send(name, on=on)
        self.log("", f"{name} {'on' if on else 'off'}")

    def step(self, now: float | None = None) -> None:
        """Process received messages, read each process's figures, and search for processes and leaks."""
        now = self.clock() if now is None else now
        self.host.step()
        self._connect_agents(now)
        if now >= self._search_due:
            self._search_due = now + SEARCH_INTERVAL
            self._search(now)
        alive = self.alive
        for lane in alive:
            lane.readings.interval = (len(alive) - SLACK) / READINGS_PER_SECOND
            lane.step(now)
            for block in lane.verdicts.blocks.ended:
                self.blocks.add(now - block.seconds - self.began, lane.name, BLOCK, block.text)
            lane.verdicts.blocks.ended.clear()
        if now >= self._leaks_due:
            self._leaks_due = now + LEAK_INTERVAL
            for lane in alive:
                lane.detect_growth(now)
            self._quotas.judge(self.alive, now)
        if now >= self._machine_due:
            self._machine_due = now + INTERVAL
            self.machine.update_own()
            self.machine.update(())
            self._budget.update(0)
        self.publish(now)

    def _connect_agents(self, now: float) -> None:
        """Connect each new agent to its lane once its ``ready`` has arrived."""
        self._unidentified += self.host.accept()
        waiting = []
        for link in self._unidentified:
            first = next(iter(link.arrivals(1)), None)
            if isinstance(first, AgentReady):
                pid = link.pid or first.pid
                known = self._table.find(pid)
                if known is not None and known.current.was_replaced_by(first):
                    known.end(REPLACED, now)
                lane = self._table.add(pid, first.ppid, first.name, now)
                if lane is not None:
                    parent = self._table.find(first.ppid)
                    unnamed_child = first.name == UNNAMED and parent is not None
                    name = f"{parent.current.name} child" if parent and unnamed_child else ""
                    lane.connect(link, first, now, name)
                    lane.agent.send("rate", hz=self.hz)
                    self._send_options(lane)
                    continue
            elif first is None:
                waiting.append(link)
                continue
            if not isinstance(first, Ended):
                link.close()
        self._unidentified = waiting

    def _send_options(self, lane: WatchedProcess) -> None:
        """Send a new agent the options that differ from those with which it has started."""
        for command, on in self._options.items():
            if on or getattr(self._agents, command):
                lane.agent.send(command, on=on)
        if self._agents.blocked_after != DEFAULTS.blocked_after and lane.pid in self._attached:
            lane.agent.send("blocked_after", **self._agents.block_command)

    def _search(self, now: float) -> None:
        """Find processes that are new or have ended."""
        self._found = self.host.family()
        self._connect_agents(now)  # again: a process that has just ended may have connected since
        for pid in self._found:
            known = self._table.find(pid)
            if known is not None and known.alive and known.current.how != "starting":
                continue
            try:
                parent, name = self.host.parent_and_name(pid)
            except LookupError:
                continue
            lane = self._table.add(pid, parent, name, now)
            if lane is None:
                continue
            lane.set(name=name)
            late = now - lane.began >= AGENT_TIMEOUT
            reason = self.host.why_no_agent(pid) if late or pid in self._attached else ""
            if reason:
                lane.observe_from_outside(reason)
            elif late and lane.current.reason != ASLEEP:
                lane.set(reason=ASLEEP)
                if pid in self._attached:
                    self.log(lane.name, f"no agent yet: it {ASLEEP}", kind="agent")
        for lane in self.alive:
            # A process on another host may connect before the host reports it.
            young = self.host.name and now < lane.began + AGENT_TIMEOUT and not lane.current.exited_normally
            if not young and lane.pid not in self._found and not self.host.exists(lane.pid):
                self._end(lane, now)
        if self.program is not None and self.program.status is not None:
            root = self._table.find(self.program.pid)
            if root is not None and root.alive:
                self._end(root, now)

    def _end(self, lane: WatchedProcess, now: float) -> None:
        program = self.program
        if program is not None and lane.pid == program.pid and program.status is not None:
            failed = program.status != 0 and not lane.current.time_is_up
            why = program.last_line() if program.status > 0 and now - self.began < AT_START else ""
            lane.end(": ".join(filter(None, (program.describe_exit(), why))), now, failed)
        else:
            lane.end("ended", now)

    def snapshot(self, now: float | None = None) -> Snapshot:
        """Return a snapshot of all processes."""
        now = self.clock() if now is None else now
        return Snapshot(
            time=now,
            elapsed=now - self.began,
            hz=self.hz,
            budget=self._budget.size,
            lanes=tuple(lane.snapshot(now) for lane in self.lanes),
            settings=self.settings,
            machine=self.machine.snapshot(self._budget),
            hosts=self.host.hosts(self.machine.busy),
            series=tuple(lane.history.series for lane in self.lanes),
            events=self.events,
            marks=self.marks,
            blocks=self.blocks,
            event_kinds=dict(self.events.kinds),
            left_out=self._table.left_out,
        )

    def request_waits(self, count: int) -> None:
        """Ask each agent where the tasks of its ``count`` largest groups wait."""
        for lane in self.alive:
            for group in _largest(lane, count):
                if group.report.live:
                    lane.agent.send("waits", group=group.report.group)

    def request_memory(self) -> None:
        """Ask each agent what RSS of its process is made of."""
        for lane in self.alive:
            lane.request_memory(self.clock())

    def request_waits_of(self, function: Function) -> None:
        """Ask each agent where the tasks of one function wait."""
        for lane in self.alive:
            for number, group in lane.reports.groups.items():
                if group.function == function:
                    lane.agent.send("waits", group=number)

    def request_lines(self) -> Sequence[int]:
        """Ask the agents that trace for the lines that hold memory; return the numbers of their lanes."""
        traced = [lane for lane in self.alive if lane.reports.tick and lane.reports.tick.traced is not None]
        for lane in traced:
            lane.request_lines()
        return [lane.number for lane in traced]

    @property
    def ended(self) -> str:
        """How the program ended, or why it can no longer be observed; empty while it runs."""
        program = self.program
        if self.host.problem:
            return self.host.problem
        if program is None or program.status is None:
            return ""
        return f"the program {program.describe_exit()}"

    def end_time(self) -> None:
        """Mark the last figures of each process as final, because they are ended now that time is up."""
        for lane in self.alive:
            lane.set(time_is_up=True)

    def leave_daemons(self) -> None:
        """Log each process that has outlived the program; it is a daemon, and is left running."""
        for lane in self.alive:
            lane.set(reason="keeps running as a daemon, and is no longer watched")
            self.log(lane.name, lane.current.reason, kind="agent")

    def close(self) -> None:
        """Detach all agents and stop listening for new ones."""
        for lane in self.lanes:
            lane.agent.detach()
        for link in self._unidentified:
            link.close()
        self.host.close()


def _largest(lane: WatchedProcess, count: int) -> Sequence[Group]:
    """Return the ``count`` groups with the most live tasks."""
    return sorted(lane.reports.groups.values(), key=lambda group: group.report.live, reverse=True)[:count]
