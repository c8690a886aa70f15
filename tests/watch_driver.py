"""Watched processes without processes: agents that say what a test has them say, on a clock moved by hand."""

import time
from collections import deque

from concwatch.links.agent_messages import AgentReady, AgentTick, GroupReport, Groups
from concwatch.links.link import Ended
from concwatch.system.machine import Load
from concwatch.system.memory import Memory
from concwatch.system.process import Reading
from concwatch.watch.watching import Watching
from tests.lab_driver import GIB


class HandAgent:
    """The monitor's end of a connection to an agent that says only what ``out`` is given."""

    def __init__(self, pid, name="app.py", ppid=1):
        self.pid = pid
        self.sent = []
        self.closed = False
        self.out = deque([AgentReady(name, pid, ppid, "CPython 3.11.7", can=("waits",))])

    def arrivals(self, most=1_000):
        return [self.out.popleft() for _ in range(min(most, len(self.out)))]

    def send(self, type_, **fields):
        self.sent.append((type_, fields))

    def close(self):
        self.closed = True

    def say(self, *reports):
        self.out.extend(reports)

    def holds(self, at, **groups):
        """Report a scan: of each group its live tasks, or live and created ones."""
        rows = []
        for number, (name, figures) in enumerate(groups.items(), 1):
            live, created = figures if isinstance(figures, tuple) else (figures, figures)
            rows.append(
                GroupReport(
                    number,
                    name,
                    "/srv/app.py",
                    10 * number,
                    own=True,
                    created=created,
                    live=live,
                    ended=created - live,
                )
            )
        created, live = sum(row.created for row in rows), sum(row.live for row in rows)
        self.say(
            AgentTick(at, created=created, live=live, ended=created - live, since=0, scan_time=at, lag=0.001),
            Groups(at, tuple(rows)),
        )

    def ends(self):
        self.say(Ended("the agent's connection ended"))


class HandHost:
    """A machine whose processes, and the agents in ``new``, are what a test says."""

    name = problem = ""

    def hosts(self, busy):
        return ()

    def __init__(self):
        self.new = []
        self.there = set()

    async def finish(self):
        pass

    def step(self):
        pass

    def accept(self):
        found, self.new = self.new, []
        return found

    def family(self):
        return ()

    def parent_and_name(self, pid):
        raise LookupError(pid)

    def attach(self, pid, gdb):
        pass

    def why_no_agent(self, pid):
        return ""

    def reader(self, pid):
        return Still(pid)

    def exists(self, pid):
        return pid in self.there

    def load(self):
        return Load(time.monotonic(), 0.0, 0.0, 2)

    def memory(self):
        return Memory(16 * GIB, 12 * GIB, "memory")

    def close(self):
        pass


class Still:
    """A process of a size that never changes."""

    def __init__(self, pid):
        self.rss = pid << 20

    def read(self):
        return Reading(self.rss, 0.1, 3, cpu_seconds=1.0)


class WatchBench:
    """A `Watching` on a clock that only `pass_` moves."""

    def __init__(self):
        self.now = 100.0
        self.host = HandHost()
        self.watching = Watching(self.host, clock=lambda: self.now)

    @property
    def there(self):
        return self.host.there

    def agent(self, pid, *args, **kw):
        """Have the agent of a new process connect."""
        agent = HandAgent(pid, *args, **kw)
        self.there.add(pid)
        self.host.new.append(agent)
        self.pass_()
        return agent

    def pass_(self, seconds=0.1):
        """Let time pass, a step each tenth of a second."""
        for _ in range(round(seconds * 10)):
            self.now += 0.1
            self.watching.step()

    def texts(self):
        """Return what the event log says."""
        return [f"{event.lane}: {event.text}" for event in self.watching.events.since(0)]
