"""A `Watching` without processes: fake agents whose reports tests make, and a fake clock."""

import json
import time
from collections import deque

from concwatch.links.agent_messages import AgentReady, AgentTick, GroupReport, Groups
from concwatch.links.link import Ended
from concwatch.monitor.processes.watched_host import WatchedHost
from concwatch.monitor.watching.watching import Watching
from concwatch.system.machine import Load
from concwatch.system.memory import Memory
from concwatch.system.process import Reading
from tests.lab_driver import GIB
from tests.processes import PATIENCE


class FakeAgent:
    """The monitor's end of a connection to an agent whose reports are queued by `report`."""

    def __init__(self, pid, name="app.py", ppid=1):
        self.pid = pid
        self.sent = []
        self.closed = False
        self.queue = deque([AgentReady(name, pid, ppid, "CPython 3.11.7", can=("waits", "profile"))])

    def arrivals(self, most=1_000):
        return [self.queue.popleft() for _ in range(min(most, len(self.queue)))]

    def send(self, type_, **fields):
        self.sent.append((type_, fields))

    def close(self):
        self.closed = True

    def report(self, *reports):
        self.queue.extend(reports)

    def report_groups(self, at, **groups):
        """Report a scan. Each group has its live tasks, or a tuple of live and created tasks."""
        rows = []
        for number, (name, figures) in enumerate(groups.items(), 1):
            live, created = figures if isinstance(figures, tuple) else (figures, figures)
            counts = {"created": created, "live": live, "ended": created - live}
            rows.append(GroupReport(number, name, "/srv/app.py", 10 * number, own=True, **counts))
        created, live = sum(row.created for row in rows), sum(row.live for row in rows)
        self.report(
            AgentTick(at, created=created, live=live, ended=created - live, since=0, scan_time=at, lag=0.001),
            Groups(at, tuple(rows)),
        )

    def disconnect(self):
        self.report(Ended("the agent's connection ended"))


class FakeHost(WatchedHost):
    """A host with the processes ``running``, and the agents in ``new``."""

    name = problem = ""

    def __init__(self):
        self.new = []
        self.running = set()
        self.names = {}
        """Pid → name of each process that a search finds."""

    def accept(self):
        agents, self.new = self.new, []
        return agents

    def family(self):
        return [*self.names]

    def parent_and_name(self, pid):
        return 1, self.names[pid]

    def why_no_agent(self, pid):
        name = self.names.get(pid, "app.py")
        return "its Python ignores sitecustomize" if name.endswith(".py") else f"{name} is not Python"

    def reader(self, pid):
        return FakeReader(pid)

    def exists(self, pid):
        return pid in self.running

    def load(self):
        return Load(time.monotonic(), 0.0, 0.0, 2)

    def memory(self):
        return Memory(16 * GIB, 12 * GIB, "memory")


class FakeReader:
    """A reader of constant figures of a process."""

    def __init__(self, pid):
        self.rss, self.threads, self.pss = pid << 20, 3, None
        self.throttling = {}
        """Fields of a reading: what a CPU quota does."""
        self.further = {}
        """More fields of a reading."""

    def read(self):
        more = {**self.throttling, **self.further}
        return Reading(self.rss, 0.1, self.threads, cpu_seconds=1.0, pss=self.pss, **more)


class WatchBench:
    """A `Watching` on a clock that only `advance` advances."""

    def __init__(self):
        self.now = 100.0
        self.host = FakeHost()
        self.watching = Watching(self.host, clock=lambda: self.now)

    @property
    def running(self):
        return self.host.running

    def agent(self, pid, *args, **kw):
        """Add a process, and connect its agent."""
        agent = FakeAgent(pid, *args, **kw)
        self.running.add(pid)
        self.host.new.append(agent)
        self.advance()
        return agent

    def advance(self, seconds=0.1):
        """Advance the clock, with a step every 0.1 s."""
        for _ in range(round(seconds * 10)):
            self.now += 0.1
            self.watching.step()

    def texts(self):
        """Return the texts of the event log."""
        return [f"{event.lane}: {event.text}" for event in self.watching.events.since(0)]


def lines_of(path):
    """Return the objects of a file of JSON lines."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def step_until(bench, condition, what):
    """Step, in real time, until ``condition()`` holds."""
    ends = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < ends, f"not within {PATIENCE:.0f} s: {what}"
        bench.advance()
        time.sleep(0.01)
