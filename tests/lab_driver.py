"""A lab without processes: a clock advanced by the test, and links whose reports the test sends."""

from collections import deque
from functools import partial

from msgspec.structs import replace

from concwatch.commands.cli import main
from concwatch.links.link import Ended
from concwatch.links.messages import Applied, Ready, Tick
from concwatch.monitor.lanes.host_lanes import LocalMachine
from concwatch.monitor.lanes.lab import Lab
from concwatch.monitor.metrics.settings import Settings
from concwatch.monitor.workers.catalog import CATALOG, Engine
from concwatch.portable.protocol.workloads import HTTP
from concwatch.runtimes.pythons import OLDEST
from concwatch.system.machine import Load
from concwatch.system.memory import Memory
from concwatch.system.process import Reading
from tests.fake_link import FakeWorkers

GIB = 1 << 30
ENGINES = {engine.name: engine for engine in CATALOG}
TOY = Engine("toy", "one toy", 1_000)


class FakeServer:
    """A server without a process, which has ended once ``how`` is set."""

    def __init__(self, word):
        self.word = word
        self.addresses = 1 if word == HTTP else 5
        self.how = None
        self.closed = False

    def url(self, workload):
        return f"{self.word}://fake.invalid/{id(self)}?{workload.values}"

    def ended(self):
        return self.how

    def close(self):
        self.closed = True


class HandLink:
    """A `Link` that reports what the test passes to `report`, and records commands in ``sent``."""

    def __init__(self):
        self.out = deque()
        self.sent = []
        self.rss = 10_000_000
        self.cpu_seconds = 0.0
        self.throttling = {}
        """Fields of a reading: what a CPU quota does."""
        self.killed = False

    def send(self, type_, **fields):
        self.sent.append((type_, fields))

    def arrivals(self, now):
        arrived = list(self.out)
        self.out.clear()
        return arrived

    def reading(self):
        fields = {"cpu_seconds": self.cpu_seconds, **self.throttling}
        return Reading(self.rss, 0.1, 3, **fields) if self.rss else None

    def kill(self):
        self.killed = True

    def report(self, *arrivals):
        self.out.extend(arrivals)

    def start(self, time=0.0, **ready):
        """Report what a worker reports until its lane runs: ready, all commands applied, a tick."""
        can = ready.pop("can", ("trace", "gc", "trim"))
        self.report(Ready("toy", "Toy 1.0", 4242, can=can, **ready))
        self.report(*(Applied(type_, 0.0) for type_ in ("workload", "refill", *can[:2], "rate")), tick(time))

    def names(self):
        """Return the types of all commands sent."""
        return [type_ for type_, _ in self.sent]


def tick(time, live=0, created=None, **fields):
    """Return a tick whose counters add up: tasks created and not live were cancelled."""
    created = live if created is None else created
    return Tick(time, created, live, 0, 0, created - live, **fields)


def end(reason="killed by SIGKILL"):
    return Ended(reason)


class Quiet:
    """The load of a machine with two cores, of which other programs use the share ``others``."""

    def __init__(self, others=0.0):
        self.others = others
        self._time = self._busy = 0.0

    def __call__(self, now):
        self._busy += max(0.0, now - self._time) * 2 * self.others
        self._time = now
        return Load(now, self._busy, 0.0, 2)


class HandLinks:
    """Opens hand links; ``links`` has all of them, oldest first."""

    def __init__(self):
        self.links = []

    def __call__(self, engine):
        self.links.append(HandLink())
        return self.links[-1]

    @property
    def last(self):
        return self.links[-1]


def use_lab(monkeypatch, **parts):
    """Make commands create labs with these parts, in addition to those of earlier calls."""
    make = main.context_settings.get("obj", Lab)
    monkeypatch.setitem(main.context_settings, "obj", partial(make, **parts))


class Bench:
    """A lab on a clock that only `pass_` moves."""

    def __init__(
        self,
        *names,
        links=None,
        engines=(),
        settings=None,
        budget=None,
        hz=10.0,
        limits=(),
        open_server=None,
        memory=lambda: Memory(16 * GIB, 12 * GIB, "memory"),
        load=None,
        reconnect=False,
        trials=False,
    ):
        self.now = 1_000.0
        self.links = FakeWorkers() if links is None else links
        self.load = load or Quiet()
        self.servers = []
        """All servers so far, oldest first."""
        self.lab = Lab(
            # Fake workers need no packages.
            [replace(ENGINES[name], needs=(), ways=(), oldest_python=OLDEST) for name in names]
            + list(engines),
            settings=settings or Settings(),
            budget=budget,
            hz=hz,
            open_link=self.links,
            open_server=open_server or self._open_server,
            clock=lambda: self.now,
            machine=LocalMachine(memory, lambda: limits, lambda: self.load(self.now)),
            reconnect=reconnect,
            trials=trials,
        )

    def _open_server(self, word):
        self.servers.append(FakeServer(word))
        return self.servers[-1]

    def pass_(self, seconds=0.1, step=0.1):
        """Advance the clock, with a step of the lab every ``step`` seconds."""
        for _ in range(max(1, round(seconds / step))):
            self.now += step
            self.lab.step(self.now)

    def receive(self, *arrivals):
        """Send reports by the newest hand link, and step the lab."""
        self.links.last.report(*arrivals)
        self.pass_()

    def until(self, done, limit=60.0):
        """Advance the clock until ``done()``; fail after ``limit`` seconds."""
        end_ = self.now + limit
        while not done():
            assert self.now < end_, self.texts()
            self.pass_()

    def snapshot(self, name):
        """Return the lane ``name`` of a snapshot taken now."""
        return next(lane for lane in self.lab.snapshot(self.now).lanes if lane.name == name)

    def texts(self, *weights):
        return [event.text for event in self.lab.events.since(0) if not weights or event.severity in weights]


def hand_bench(**arguments):
    """Return a bench with one toy lane whose links are operated by the test, and the lane."""
    bench = Bench(links=HandLinks(), engines=[TOY], **arguments)
    return bench, bench.lab.lanes[0]


def running_lane(**arguments):
    """Return a bench whose toy lane runs, the lane, and its link."""
    bench, lane = hand_bench(**arguments)
    bench.lab.switch(lane, True)
    trace = bench.lab.settings.current.trace
    bench.links.last.start()
    if trace:
        bench.links.last.report(tick(0.0, traced=600_000, tracer=100))
    bench.pass_()
    return bench, lane, bench.links.last
