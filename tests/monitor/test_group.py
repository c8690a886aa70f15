"""Programs of many kinds in virtual time: what grows is told, and only what leaks is called a leak.

A row is a program: when its tasks start, how long they live, what they wait for, how many sockets each has.
"""

import heapq
import math
import random
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from concwatch.links.agent_messages import (
    AgentTick,
    Executor,
    GroupReport,
    Groups,
    ThreadCount,
    ThreadWaits,
    Waits,
)
from tests.watch_driver import WatchBench

FOR_EVER = math.inf

SCAN = 0.5

BASE, PER_TASK = 64 << 20, 64 << 10
"""Bytes of a program, and of each of its tasks, live or kept."""

Lives = Iterator[tuple[float, float]]
"""When a task starts, and how long it lives, in seconds."""


def steady(rate, life, begin=0.0, end=FOR_EVER, seed=1) -> Lives:
    """Tasks that start at random times, ``rate`` a second, from ``begin`` to ``end``."""
    source, at = random.Random(seed), begin
    while (at := at + source.expovariate(rate)) < end:
        yield at, life(source)


def even(rate, life, begin=0.0, end=FOR_EVER) -> Lives:
    """The same, evenly."""
    number = 0
    while (at := begin + number / rate) < end:
        yield at, life
        number += 1


def bursts(every, tasks, life, spread=1.0) -> Lives:
    """So many ``tasks`` at once, again and again."""
    source, number = random.Random(2), 0
    while True:
        for _ in range(tasks):
            yield number * every, life * source.uniform(1 / spread, spread)
        number += 1


def batch(rate, end, done_per_second) -> Lives:
    """Tasks that start until ``end``, of which only so many are done a second, the first ones first."""
    for number in range(int(rate * end)):
        start = number / rate
        yield start, max(0.05, number / done_per_second - start)


def about(mean):
    return lambda source: source.expovariate(1 / mean)


def exactly(seconds):
    return lambda source: seconds


def together(*lives: Lives) -> Lives:
    return heapq.merge(*lives)


@dataclass(frozen=True)
class Scenario:
    """The tasks of one function, what wakes them, and what else grows with them."""

    lives: object
    """Makes its `Lives`."""
    woken: bool = False
    """Whether others may wake them, as far as the agent can tell."""
    timer: float = 0.0
    """The longest timer that they wait for; 0 without one."""
    sockets: int = 0
    """Sockets of each."""
    kept: object = field(default=lambda ended: 0)
    """How many of those that have ended are kept."""
    kind: str = "tasks"
    """Or threads, or jobs that wait for an executor."""
    locked: bool = False
    """Whether threads wait for a lock or an event of their own."""


def verdicts(program, seconds=600):
    """Return the kinds of its events, with the seconds at which they came."""
    bench = WatchBench()
    agent = bench.agent(40)
    reader = bench.watching.lanes[0].readings.reader
    lives, ends = program.lives(), []
    upcoming = next(lives)
    created = ended = 0
    task_seconds = 0.0
    began = bench.now - bench.watching.began
    for scan in range(int(seconds / SCAN)):
        now = scan * SCAN
        while upcoming is not None and upcoming[0] <= now:
            created += 1
            heapq.heappush(ends, (sum(upcoming), upcoming[0]))
            upcoming = next(lives, None)
        while ends and ends[0][0] <= now:
            heapq.heappop(ends)
            ended += 1
        task_seconds += SCAN * len(ends)
        reader.rss = BASE + PER_TASK * (len(ends) + program.kept(ended))
        reader.threads = 1 + (program.kind == "threads") * len(ends)
        oldest = now - min([start for _, start in ends], default=now)
        _report(agent, program, now, created, ended, len(ends), task_seconds, oldest)
        bench.advance(SCAN)
        _answer(agent, program, len(ends))
    events = bench.watching.events.since(0)
    return [(event.kind, round(event.time - began)) for event in events if event.kind not in ("", "agent")]


def _report(agent, program, now, created, ended, live, task_seconds, oldest):
    sockets = program.sockets * live
    if program.kind == "threads":
        count = ThreadCount("__main__.handle", live, "/srv/app.py", 1)
        agent.report(AgentTick(now, threads=(count,), files=10 + sockets, sockets=sockets))
        return
    if program.kind == "jobs":
        agent.report(AgentTick(now, executors=(Executor("uploads", 6, live),)))
        return
    counts = {"created": created, "live": live, "ended": ended, "retained": program.kept(ended)}
    files = {"files": 10 + sockets, "sockets": sockets}
    age = oldest if live else None
    report = GroupReport(1, "handle", "/srv/app.py", 1, task_seconds=task_seconds, oldest=age, **counts)
    agent.report(AgentTick(now, scan_time=now, **counts, **files), Groups(now, (report,)))


def _answer(agent, program, live):
    for asked, fields in agent.sent:
        if asked == "waits":
            woken = {"sampled": 50, "wakeable": 50 if program.woken else 0}
            timed = {"timed": live, "until": program.timer} if program.timer else {}
            agent.report(Waits(1, live, live, **woken, **timed))
        elif asked == "thread_waits":
            locked = live if program.locked else 0
            agent.report(ThreadWaits(fields["name"], looked=live, locked=locked, pool=fields["pool"]))
    agent.sent.clear()


NO_LEAKS = {
    "a steady service": (Scenario(lambda: steady(20, about(2))), None, None),
    "sessions of a minute": (Scenario(lambda: even(2, 60.0), woken=True, sockets=1), 20, 110),
    "sessions of a minute, on average": (
        Scenario(lambda: steady(5, about(60)), woken=True),
        None,
        None,
    ),
    "long polls": (Scenario(lambda: even(3, 55.0), timer=55.0, sockets=1), 20, 110),
    "connections that come for two minutes and stay": (
        Scenario(lambda: even(1, FOR_EVER, end=120), woken=True, sockets=1),
        20,
        170,
    ),
    "connections whose sockets are not known": (
        Scenario(lambda: even(1, FOR_EVER, end=120), woken=True),
        20,
        170,
    ),
    "connections at random times for three minutes": (
        Scenario(lambda: steady(2, exactly(FOR_EVER), end=180), woken=True, sockets=1),
        20,
        230,
    ),
    "connections that come for four minutes": (
        Scenario(lambda: even(0.5, FOR_EVER, end=240), woken=True, sockets=2),
        20,
        290,
    ),
    "connections that come for a minute, beside old ones": (
        Scenario(
            lambda: together(
                even(10, FOR_EVER, end=2), even(3, 40.0, begin=200), even(1, FOR_EVER, begin=300, end=380)
            ),
            woken=True,
            sockets=1,
        ),
        220,
        290,
    ),
    "connections of a proxy": (Scenario(lambda: even(1, FOR_EVER, end=100), woken=True, sockets=2), 20, 150),
    "websockets beside requests": (
        Scenario(
            lambda: together(steady(50, about(0.05)), even(1, FOR_EVER, begin=60, end=180)),
            woken=True,
            sockets=1,
        ),
        110,
        230,
    ),
    "sessions of four minutes, after others as long": (
        Scenario(lambda: together(even(10, 240.0, end=1), even(1, 240.0, begin=270)), woken=True),
        300,
        590,
    ),
    "websockets of an hour at most": (
        Scenario(lambda: even(1, FOR_EVER, end=200), timer=3600.0, sockets=1),
        20,
        250,
    ),
    "workers that start and wait on one queue": (
        Scenario(lambda: even(1, FOR_EVER, end=100), woken=True),
        20,
        150,
    ),
    "a pool of connections that are kept alive": (
        Scenario(lambda: even(0.5, FOR_EVER, end=100), timer=30.0, sockets=1),
        20,
        150,
    ),
    "a cache of finished tasks": (
        Scenario(lambda: even(10, 0.1), kept=lambda ended: min(ended, 1400)),
        20,
        190,
    ),
    "a batch each minute, whose results are gathered": (
        Scenario(lambda: bursts(60, 200, 8.0, 3.0), kept=lambda ended: ended % 200),
        None,
        None,
    ),
    "a batch behind a semaphore": (Scenario(lambda: batch(20, 30, 10), woken=True), None, None),
    "a batch that comes for two minutes": (
        Scenario(lambda: batch(20, 120, 10), woken=True),
        100,
        150,
    ),
    "jobs of twenty seconds each minute": (
        Scenario(lambda: bursts(60, 50, 20.0), timer=20.0),
        None,
        None,
    ),
    "jobs that overlap": (Scenario(lambda: bursts(10, 20, 45.0, 1.2), timer=54.0), 50, 90),
    "a task group that fans out": (Scenario(lambda: bursts(5, 200, 3.0, 1.5)), None, None),
    "a task group of long downloads": (
        Scenario(lambda: bursts(90, 100, 60.0, 1.4), woken=True, sockets=1),
        None,
        None,
    ),
    "background tasks in a set": (Scenario(lambda: steady(10, about(3)), timer=5.0), None, None),
    "tasks of the start": (Scenario(lambda: even(10, FOR_EVER, end=8)), None, None),
    "a thread for each connection": (
        Scenario(lambda: even(1, FOR_EVER, end=200), kind="threads", sockets=1),
        20,
        250,
    ),
    "threads that start and wait on one queue": (
        Scenario(lambda: even(1, FOR_EVER, end=100), kind="threads"),
        20,
        150,
    ),
    "a batch of jobs for an executor": (Scenario(lambda: batch(20, 120, 10), kind="jobs"), 20, 190),
    "jobs that come in bursts": (
        Scenario(lambda: bursts(15, 60, 10.0, 1.5), kind="jobs"),
        None,
        None,
    ),
    "threads that come and go": (
        Scenario(lambda: steady(5, about(4)), kind="threads", locked=True),
        None,
        None,
    ),
}
"""Those that are never called a leak in ten minutes.

With the seconds until which growth is told, if it is, and taken back.
"""

LEAKS = {
    "one a second": (Scenario(lambda: even(1, FOR_EVER)), None, 20),
    "forty a second": (Scenario(lambda: even(40, FOR_EVER)), None, 20),
    "one a second, in the sixth minute": (Scenario(lambda: even(1, FOR_EVER, begin=300)), None, 340),
    "beside as many sockets": (Scenario(lambda: even(1, FOR_EVER), sockets=1), None, 20),
    "twenty each ten seconds": (Scenario(lambda: bursts(10, 20, FOR_EVER)), None, 90),
    "one each ten seconds": (Scenario(lambda: even(0.1, FOR_EVER)), None, 120),
    "one of a hundred requests": (
        Scenario(lambda: together(steady(100, about(0.1)), even(1, FOR_EVER))),
        None,
        60,
    ),
    "one of three requests": (
        Scenario(lambda: together(steady(2, about(1)), even(1, FOR_EVER))),
        None,
        60,
    ),
    "one of a hundred requests, which others may wake": (
        Scenario(lambda: together(steady(100, about(0.1)), even(1, FOR_EVER)), woken=True),
        None,
        60,
    ),
    "futures in a dictionary that nobody sets": (
        Scenario(lambda: even(1, FOR_EVER), woken=True),
        20,
        220,
    ),
    "heartbeats that are not cancelled": (Scenario(lambda: even(1, FOR_EVER), timer=1.0), 20, 220),
    "finished tasks that a list keeps": (
        Scenario(lambda: even(10, 0.1), kept=lambda ended: ended),
        20,
        240,
    ),
    "connections that nobody closes": (
        Scenario(lambda: even(1, FOR_EVER), woken=True, sockets=1),
        20,
        330,
    ),
    "threads that wait for an event": (
        Scenario(lambda: even(1, FOR_EVER), kind="threads", locked=True),
        None,
        20,
    ),
    "threads that wait for an event, with a socket": (
        Scenario(lambda: even(1, FOR_EVER), kind="threads", locked=True, sockets=1),
        None,
        20,
    ),
    "threads that sleep": (Scenario(lambda: even(1, FOR_EVER), kind="threads"), 20, 220),
    "jobs that wait for a slow executor": (Scenario(lambda: even(5, FOR_EVER), kind="jobs"), 20, 220),
}
"""Those that are, with the seconds until which growth is told, unless it is plain, and a leak."""


def check(program, seconds, expected):
    """Check that the events are those ``expected``: pairs of a kind and the seconds until which it comes."""
    found = verdicts(program, seconds)
    assert [kind for kind, _ in found] == [kind for kind, _ in expected]
    assert all(at <= until for (_, at), (_, until) in zip(found, expected, strict=True)), found


@pytest.mark.parametrize("name", NO_LEAKS)
def test_what_does_not_leak_is_not_called_a_leak_in_ten_minutes(name):
    program, told, withdrawn = NO_LEAKS[name]
    check(program, 600, [("growth", told), ("growth_withdrawn", withdrawn)] if told else [])


@pytest.mark.parametrize("name", LEAKS)
def test_what_leaks_is_called_a_leak_once_and_not_taken_back(name):
    program, told, called = LEAKS[name]
    check(program, max(600, called + 10), [*([("growth", told)] if told else []), ("leak", called)])
