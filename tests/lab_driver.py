"""A lab without processes for tests: a clock moved by hand, and links that say what a test has them say."""

from collections import deque
from functools import partial

from msgspec.structs import replace

from concwatch.cli import main
from concwatch.lab.catalog import CATALOG, Engine
from concwatch.lab.lab import Lab
from concwatch.lab.pythons import OLDEST
from concwatch.lab.settings import Settings
from concwatch.links.link import Ended
from concwatch.links.messages import Applied, Ready, Tick
from concwatch.system.machine import Load
from concwatch.system.memory import Memory
from concwatch.system.process import Reading
from tests.fake import FakePages, FakeWorkers

GIB = 1 << 30
ENGINES = {engine.name: engine for engine in CATALOG}
TOY = Engine("toy", "one toy", 1_000)


class HandLink:
    """A `Link` that says only what ``out`` is given, and keeps what it is sent."""

    def __init__(self):
        self.out = deque()
        self.sent = []
        self.rss = 10_000_000
        self.cpu_seconds = 0.0
        self.killed = False

    def send(self, type_, **fields):
        self.sent.append((type_, fields))

    def arrivals(self, now):
        found = list(self.out)
        self.out.clear()
        return found

    def reading(self):
        return Reading(self.rss, 0.1, 3, cpu_seconds=self.cpu_seconds) if self.rss else None

    def kill(self):
        self.killed = True

    def say(self, *arrivals):
        self.out.extend(arrivals)

    def stand(self, time=0.0, **ready):
        """Report all that a worker reports until its lane runs, when every command was accepted."""
        can = ready.pop("can", ("trace", "gc", "trim"))
        self.say(Ready("toy", "Toy 1.0", 4242, can=can, **ready))
        self.say(*(Applied(type_, 0.0) for type_ in ("workload", "refill", *can[:2], "rate")), tick(time))

    def names(self):
        """Return the types of all that was sent."""
        return [type_ for type_, _ in self.sent]


def tick(time, live=0, created=None, **fields):
    """Return a tick whose counters add up: what was created and lives no more was cancelled."""
    created = live if created is None else created
    return Tick(time, created, live, 0, 0, created - live, **fields)


def end(reason="killed by SIGKILL"):
    return Ended(reason)


class Quiet:
    """A machine of two cores; ``others`` is the share of them that other programs take, and may be set."""

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
    """Have commands make their labs with these parts, besides those that an earlier call gave."""
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
        walls=(),
        open_pages=None,
        memory=lambda: Memory(16 * GIB, 12 * GIB, "memory"),
        load=None,
        reconnect=False,
    ):
        self.now = 1_000.0
        self.links = FakeWorkers() if links is None else links
        self.load = load or Quiet()
        self.pages = []
        """All page servers so far, oldest first."""
        self.lab = Lab(
            # Whatever this machine has: fake workers need nothing of it.
            [replace(ENGINES[name], needs=(), ways=(), oldest_python=OLDEST) for name in names]
            + list(engines),
            settings=settings or Settings(),
            budget=budget,
            hz=hz,
            open_link=self.links,
            open_pages=open_pages or self._open_pages,
            clock=lambda: self.now,
            memory=memory,
            walls=lambda: walls,
            load=lambda: self.load(self.now),
            reconnect=reconnect,
        )

    def _open_pages(self):
        self.pages.append(FakePages())
        return self.pages[-1]

    def pass_(self, seconds=0.1, step=0.1):
        """Let time pass, with a step of the lab every ``step`` seconds."""
        for _ in range(max(1, round(seconds / step))):
            self.now += step
            self.lab.step(self.now)

    def hear(self, *arrivals):
        """Have the newest hand link say something, and the lab take it in."""
        self.links.last.say(*arrivals)
        self.pass_()

    def until(self, done, limit=60.0):
        """Let time pass until ``done()``; fail after ``limit`` seconds of the lab's clock."""
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
    """Return a bench with one toy lane, and the lane; its links are worked by hand."""
    bench = Bench(links=HandLinks(), engines=[TOY], **arguments)
    return bench, bench.lab.lanes[0]


def standing(**arguments):
    """Return a bench whose toy lane runs, the lane, and its link."""
    bench, lane = hand_bench(**arguments)
    bench.lab.switch(lane, True)
    trace = bench.lab.settings.trace
    bench.links.last.stand()
    if trace:
        bench.links.last.say(tick(0.0, traced=600_000, tracer=100))
    bench.pass_()
    return bench, lane, bench.links.last
