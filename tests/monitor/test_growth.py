"""Growth of tasks and memory, and the detection of leaks, in simulated services."""

import heapq
import math
import random
import re

import pytest
from msgspec import structs

from concwatch.links.agent_messages import Container, Holder, ObjectCount, Objects
from concwatch.links.messages import TracedLine, TracedLines
from concwatch.monitor.verdicts.growth import GrowthMeter
from concwatch.monitor.verdicts.memory_leak import NOT_FOUND, NOT_SEARCHED, UNKNOWN_CAUSE, MemoryLeakDetector

HZ = 4


def service(seconds, rate, life, leaks=0.0, burst=None, seed=1):
    """Return the meter of a service that has run for ``seconds``.

    Args:
        seconds: the duration.
        rate: a function from the time to tasks created a second.
        life: a function from a `random.Random` to the seconds of a task.
        leaks: tasks a second that never end.
        burst: a function from the number of a step to additional tasks.
        seed: the seed of the random numbers.
    """
    source, meter, ends = random.Random(seed), GrowthMeter(), []
    created = leaked = 0
    owed = 0.0
    for step in range(seconds * HZ):
        now = step / HZ
        mean = rate(now) / HZ
        fresh = max(0, round(source.gauss(mean, math.sqrt(mean)))) + (burst(step) if burst else 0)
        for _ in range(fresh):
            heapq.heappush(ends, now + source.random() / HZ + life(source))
        owed += leaks / HZ
        leaked, fresh, owed = leaked + int(owed), fresh + int(owed), owed % 1
        created += fresh
        while ends and ends[0] <= now + 1 / HZ:
            heapq.heappop(ends)
        meter.add(now + 1 / HZ, len(ends) + leaked, created)
    return meter


def around(mean):
    return lambda source: source.expovariate(1 / mean)


def burst(step):
    return 600 if step % 28 == 0 else 0


BURSTS = {"rate": lambda t: 1, "life": lambda source: 1 + source.random(), "burst": burst}


SERVICES = {
    "steady and fast": {"rate": lambda t: 500, "life": around(0.1)},
    "steady and slow": {"rate": lambda t: 20, "life": around(2)},
    "very different durations": {
        "rate": lambda t: 100,
        "life": lambda source: source.lognormvariate(-2, 1.5),
    },
    "bursts": BURSTS,
    "a day in a minute": {"rate": lambda t: 200 + 150 * math.sin(t / 60 * 2 * math.pi), "life": around(0.5)},
    "the morning of a day": {"rate": lambda t: 200 - 190 * math.cos(t / 60 * math.pi), "life": around(0.5)},
    "waves": {"rate": lambda t: 200 + 150 * math.sin(t / 20 * 2 * math.pi), "life": around(1)},
    "growing load": {"rate": lambda t: 50 + 10 * t, "life": around(0.3)},
    "exponential load": {"rate": lambda t: 20 * math.exp(t / 20), "life": around(0.3)},
    "one more client every 15 s": {"rate": lambda t: 50 * (1 + t // 15), "life": around(1)},
    "long tasks": {"rate": lambda t: 5, "life": around(20)},
}

LEAKING = {
    "1 of 500 a second": {"rate": lambda t: 500, "life": around(0.1), "leaks": 1},
    "20 of 70 a second": {"rate": lambda t: 50, "life": around(0.2), "leaks": 20},
    "all of them": {"rate": lambda t: 0, "life": around(1), "leaks": 2},
    "with bursts": {**BURSTS, "leaks": 2},
    "with a day in a minute": {
        "rate": lambda t: 200 + 150 * math.sin(t / 60 * 2 * math.pi),
        "life": around(0.1),
        "leaks": 2,
    },
    "one every two seconds": {"rate": lambda t: 100, "life": around(0.1), "leaks": 0.5},
}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", SERVICES)
def test_a_service_whose_tasks_all_end_does_not_leak(name, seed):
    assert not service(60, **SERVICES[name], seed=seed).leaks


@pytest.mark.parametrize("name", LEAKING)
def test_tasks_that_never_end_are_detected_as_a_leak_within_a_minute(name):
    assert service(60, **LEAKING[name], seed=5).leaks


def test_the_confidence_interval_of_growth_contains_the_true_rate():
    growth = service(60, lambda t: 0, around(1), leaks=2).growth
    assert growth.low <= 120 <= growth.high
    assert growth.per_minute == pytest.approx(120, rel=0.01)
    noisy = service(60, lambda t: 500, around(0.1)).growth
    assert noisy.low <= 0 <= noisy.high


def test_growth_is_unknown_after_a_few_seconds():
    meter = service(10, lambda t: 0, around(1), leaks=50)
    assert meter.growth is None
    assert not meter.leaks


def test_growth_that_was_certain_is_known_while_it_pauses_for_a_moment():
    meter = GrowthMeter()
    for tenth in range(180):
        live = min(tenth, 120)
        meter.add(tenth / 10, live, live)
        if meter.lasting:
            assert meter.growth is not None, tenth
    assert not meter.rises_evenly
    assert meter.growth.high > 300


class Detected:
    """A `MemoryLeakDetector` fed with functions of time, and its events."""

    def __init__(self, seconds, rss, live, traced=False, objects=None, shared=lambda t: 0, has_tasks=True):
        self.events, self.requests, self.counts = [], 0, 0
        self.objects = objects
        self.detector = MemoryLeakDetector(
            lambda text, severity, kind="", updates=0, place=None: self.events.append((kind, text)),
            self.request,
            request_objects=self.count if objects else None,
        )
        for tenth in range(seconds * 10):
            self.now = tenth / 10
            memory, part = int(rss(tenth / 10) * MIB), int(shared(tenth / 10) * MIB)
            self.detector.add(tenth / 10, memory, int(live(tenth / 10)), traced, part, has_tasks)

    def request(self):
        self.requests += 1
        grown = 0 if self.requests % 2 else 1 << 20
        self.detector.add_lines(TracedLines((TracedLine("/srv/app/cache.py", 12, 9 << 20, grown),)))

    def count(self):
        self.counts += 1
        self.objects(self)


MIB = 1 << 20


def sessions(detected, grown=600, containers=()):
    """Answer that there are more sessions, and that these containers grow."""
    kinds = (("app.Session", 12_000, grown), ("dict", 20_000, grown + 1), ("tuple", 50_000, 40))
    types = tuple(ObjectCount(name, count, more) for name, count, more in kinds)
    detected.detector.add_objects(Objects(150_000, 2.5, types, containers))


def test_memory_that_grows_evenly_is_told_within_twenty_seconds_with_what_grows():
    found = Detected(20, rss=lambda t: 50 + t / 4, live=lambda t: 100, objects=sessions)
    ((_, text),) = found.events
    assert found.counts == 1
    _, _, cause = text.partition("while live tasks do not: ")
    assert cause == (
        "+600 app.Session, +601 dict in 2.5 s; too early to call it a leak: a cache may be filling"
    )


HISTORY = Container(
    "list", holders=(Holder("history", "app", "/srv/app.py"),), items=900, grown=100, bytes=1 << 20
)
QUEUE = Container(
    "asyncio.Queue",
    holders=(Holder("q", "produce", "/srv/app.py:9"), Holder("self", "get", "/lib/queues.py:150")),
    items=45_000,
    grown=2_500,
    bytes=1 << 20,
)


ATEXIT = "the number of functions registered with `atexit`"


def test_the_containers_that_take_the_memory_are_named_and_no_others():
    small = structs.replace(HISTORY, bytes=100)
    for containers, cause in [
        ((HISTORY, small), "the list `history` in app (srv/app.py) grows by 2,400 items a minute, to 900"),
        (
            (QUEUE,),
            "the asyncio.Queue `q` in produce (srv/app.py:9) and `self` in get (lib/queues.py:150) grows by "
            "60,000 items a minute, to 45,000",
        ),
        ((small,), NOT_FOUND),
        ((structs.replace(small, kind="atexit", bytes=None, holders=()),), f"{ATEXIT} grows by 2,400 items"),
    ]:
        found = Detected(
            20,
            rss=lambda t: 50 + t / 4,
            live=lambda t: 100,
            objects=lambda detected, containers=containers: sessions(detected, 0, containers),
        )
        ((_, text),) = found.events
        assert re.split("do not: |; too early", text)[1].startswith(cause)


@pytest.mark.parametrize(
    ("answer", "cause"),
    [
        (lambda detected: sessions(detected, 0), NOT_FOUND),
        (lambda detected: detected.detector.add_objects(Objects(None, 9.0, complete=False)), NOT_SEARCHED),
        (lambda detected: None, UNKNOWN_CAUSE),
        (
            lambda detected: detected.detector.stop_counting("this Python cannot be searched"),
            "this Python cannot be searched: `--trace` names the lines that allocate it",
        ),
    ],
    ids=["none grows", "too many", "no answer", "refused"],
)
def test_memory_growth_is_told_if_it_is_not_known_what_grows(answer, cause):
    found = Detected(60, rss=lambda t: 50 + t / 4, live=lambda t: 100, objects=answer)
    assert [re.split("do not: |; too early", text)[1] for _, text in found.events] == [cause]


def told(**program):
    """Return what is told of memory that grows by 15 MiB a minute, without its interval."""
    found = Detected(23, rss=lambda t: 50 + t / 4, live=lambda t: 100, **program)
    ((_, text),) = found.events
    return re.sub(r" by .* a minute, 95 % .* to [\d.]+ MiB", "", text).partition("; too early")[0]


def test_tasks_are_not_mentioned_where_there_have_been_none():
    unknown = "what keeps it is not known: `--trace` names the lines that allocate it"
    assert told() == f"memory grows, while live tasks do not: {unknown}"
    assert told(has_tasks=False) == f"memory grows: {unknown}"


def test_shared_memory_that_grows_is_called_so():
    def segments(detected):
        found = ObjectCount("app.Segment", 40, 30)
        detected.detector.add_objects(Objects(150_000, 2.5, (found,)))

    def nothing(detected):
        detected.detector.add_objects(Objects(150_000, 2.5))

    assert told(shared=lambda t: t / 4, objects=segments) == (
        "shared memory grows, while live tasks do not: +30 app.Segment in 2.5 s"
    )
    assert told(shared=lambda t: t / 4, objects=nothing, has_tasks=False) == "shared memory grows"
    assert told(shared=lambda t: t / 8).startswith("memory grows, 50 % of it shared memory, while")


def test_tasks_that_a_program_starts_with_do_not_hide_that_memory_grows():
    found = Detected(23, rss=lambda t: 20 + t, live=lambda t: min(6 * t, 6) + t / 100)
    assert len(found.events) == 1


def test_objects_are_not_counted_while_memory_does_not_grow():
    found = Detected(240, rss=lambda t: 50 + 3 * math.sin(t), live=lambda t: 100, objects=sessions)
    assert (found.counts, found.events) == (0, [])


def test_memory_growth_without_task_growth_is_told_and_called_a_leak_once():
    found = Detected(240, rss=lambda t: 50 + t / 4, live=lambda t: 100, objects=sessions)
    (told, text), (called, same) = found.events
    assert (told, called, found.counts) == ("growth", "memory", 2)
    for each in (text, same):
        assert re.match(
            r"memory grows by 1\d(\.\d)? MiB a minute, 95 % .* to .*, while live tasks do not: ",
            each.removeprefix("leak: "),
        )


def test_memory_that_stops_to_grow_is_taken_back():
    found = Detected(300, rss=lambda t: 50 + min(t, 80), live=lambda t: 100)
    assert [kind for kind, _ in found.events] == ["growth", "growth_withdrawn"]
    assert found.events[1][1] == "memory: no longer grows"
    found = Detected(600, rss=lambda t: 50 + min(t, 80) + max(0, t - 400), live=lambda t: 100, traced=True)
    lines = ""
    assert [kind for kind, _ in found.events] == ["growth", lines, "growth_withdrawn", "growth", lines]
    found = Detected(400, rss=lambda t: 50 + min(t, 250), live=lambda t: 100)
    assert [kind for kind, _ in found.events] == ["growth", "memory", "memory_withdrawn"]
    assert found.events[2][1] == "memory: no longer grows, and is no longer called a leak"


@pytest.mark.parametrize(
    ("rss", "live"),
    [
        (lambda t: 50, lambda t: 100),
        (lambda t: 50 + t / 4, lambda t: 100 + 10 * t),
        (lambda t: 50 + 40 * (t > 30), lambda t: 100),
        (lambda t: 50 + 20 * (1 - 2.7 ** (-t / 10)), lambda t: 100),
        (lambda t: 50 + 10 * math.sin(t / 5), lambda t: 100),
        (lambda t: 50 + t / 4, lambda t: 100 + 10 * t + 30 * math.sin(t)),
    ],
    ids=[
        "steady",
        "with its tasks",
        "a step",
        "levels off",
        "swings",
        "with its tasks, unevenly",
    ],
)
def test_memory_that_is_bounded_or_grows_with_tasks_is_not_a_leak(rss, live):
    assert Detected(240, rss, live).events == []


def test_growing_lines_are_logged_while_allocations_are_traced():
    found = Detected(120, rss=lambda t: 50 + t / 4, live=lambda t: 100, traced=True)
    assert found.requests == 2
    assert found.events[1] == ("", "app/cache.py:12 holds 9 MiB, 1 MiB more than 10 s ago")


def test_readings_before_a_restart_are_ignored():
    found = Detected(15, rss=lambda t: 50 + t / 4, live=lambda t: 100)
    found.detector.restart()
    for tenth in range(150, 300):
        found.detector.add(tenth / 10, int((50 + tenth / 40) * MIB), 100, False)
    assert found.events == []
