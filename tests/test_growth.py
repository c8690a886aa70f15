"""What grows, and what of that is a leak: made-up services of a minute, each with a leak and without."""

import heapq
import math
import random

import pytest

from concwatch.watch.growth import GrowthMeter

HZ = 4


def served(seconds, rate, life, leaks=0.0, burst=None, seed=1):
    """Return a meter that has followed tasks which come at ``rate`` and live as long as ``life`` says.

    Args:
        seconds: how long.
        rate: from the time, in seconds, to tasks created a second.
        life: from a generator of random numbers to seconds.
        leaks: tasks a second that never end.
        burst: from the number of a step to tasks that come at once.
        seed: of the random numbers.
    """
    chance, meter, ends = random.Random(seed), GrowthMeter(), []
    created = leaked = 0
    owed = 0.0
    for step in range(seconds * HZ):
        now = step / HZ
        mean = rate(now) / HZ
        fresh = max(0, round(chance.gauss(mean, math.sqrt(mean)))) + (burst(step) if burst else 0)
        for _ in range(fresh):
            heapq.heappush(ends, now + chance.random() / HZ + life(chance))
        owed += leaks / HZ
        leaked, fresh, owed = leaked + int(owed), fresh + int(owed), owed % 1
        created += fresh
        while ends and ends[0] <= now + 1 / HZ:
            heapq.heappop(ends)
        meter.add(now + 1 / HZ, len(ends) + leaked, created)
    return meter


def lives(mean):
    return lambda chance: chance.expovariate(1 / mean)


def a_burst(step):
    return 600 if step % 28 == 0 else 0


SERVICES = {
    "steady and fast": {"rate": lambda t: 500, "life": lives(0.1)},
    "steady and slow": {"rate": lambda t: 20, "life": lives(2)},
    "lives of very different length": {
        "rate": lambda t: 100,
        "life": lambda chance: chance.lognormvariate(-2, 1.5),
    },
    "bursts": {"rate": lambda t: 1, "life": lambda chance: 1 + chance.random(), "burst": a_burst},
    "a day in a minute": {"rate": lambda t: 200 + 150 * math.sin(t / 60 * 2 * math.pi), "life": lives(0.5)},
    "the morning of a day": {"rate": lambda t: 200 - 190 * math.cos(t / 60 * math.pi), "life": lives(0.5)},
    "waves": {"rate": lambda t: 200 + 150 * math.sin(t / 20 * 2 * math.pi), "life": lives(1)},
    "growing load": {"rate": lambda t: 50 + 10 * t, "life": lives(0.3)},
    "load that doubles again and again": {"rate": lambda t: 20 * math.exp(t / 20), "life": lives(0.3)},
    "one more client every 15 s": {"rate": lambda t: 50 * (1 + t // 15), "life": lives(1)},
    "clients that stay for a while": {"rate": lambda t: 5, "life": lives(20)},
}

LEAKING = {
    "1 of 500 a second": {"rate": lambda t: 500, "life": lives(0.1), "leaks": 1},
    "20 of 70 a second": {"rate": lambda t: 50, "life": lives(0.2), "leaks": 20},
    "all of them": {"rate": lambda t: 0, "life": lives(1), "leaks": 2},
    "below bursts": {
        "rate": lambda t: 1,
        "life": lambda chance: 1 + chance.random(),
        "burst": a_burst,
        "leaks": 2,
    },
    "below a day in a minute": {
        "rate": lambda t: 200 + 150 * math.sin(t / 60 * 2 * math.pi),
        "life": lives(0.1),
        "leaks": 2,
    },
    "one every two seconds": {"rate": lambda t: 100, "life": lives(0.1), "leaks": 0.5},
}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", SERVICES)
def test_a_service_whose_tasks_all_end_is_no_leak(name, seed):
    assert not served(60, **SERVICES[name], seed=seed).leaks


@pytest.mark.parametrize("name", LEAKING)
def test_tasks_that_never_end_are_a_leak_within_a_minute(name):
    assert served(60, **LEAKING[name], seed=5).leaks


def test_growth_has_an_interval_that_holds_what_is_true():
    growth = served(60, lambda t: 0, lives(1), leaks=2).growth
    assert growth.low <= 120 <= growth.high
    assert growth.per_minute == pytest.approx(120, rel=0.01)
    noisy = served(60, lambda t: 500, lives(0.1)).growth
    assert noisy.low <= 0 <= noisy.high


def test_nothing_is_said_of_a_few_seconds():
    meter = served(10, lambda t: 0, lives(1), leaks=50)
    assert meter.growth is None
    assert not meter.leaks
