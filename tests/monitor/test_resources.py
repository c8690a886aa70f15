"""What a process holds besides its tasks: threads, queues and files that grow are told, and taken back."""

import re

import pytest

from concwatch.links.agent_messages import (
    AgentTick,
    Executor,
    ExecutorLine,
    GroupReport,
    Groups,
    ThreadCount,
    ThreadWaits,
    WaitPlace,
    Waits,
)
from concwatch.measure.watch_report import watch_report
from concwatch.monitor.groups.resources import KEPT, MOST_GONE, POOL_WORKER, Resources
from concwatch.monitor.verdicts.events import Place
from tests.watch_driver import WatchBench

HALF_SECONDS = 2


def threads(count, name="__main__.watchdog"):
    return {"threads": (ThreadCount(name, count, "/srv/app/jobs.py", 12),)}


def jobs(count):
    return {"executors": (Executor("uploads", 6, count),)}


def files(count):
    return {"files": count}


def executors(count, created=None):
    line = ExecutorLine(
        "ThreadPoolExecutor", "/srv/app/views.py:41", "report", count, 2 * count, created or count
    )
    return {"executor_lines": (line,) if count else (), **threads(3 + 2 * count, POOL_WORKER)}


def watch(seconds, counts, bench=None, start=0, locked=20):
    """Report ``counts(second)`` twice a second, and answer where threads wait; return the bench.

    So many of 20 threads wait for a lock or an event.
    """
    if bench is None:
        bench = WatchBench()
        bench.first = bench.agent(40)
    agent = bench.first
    for half in range(HALF_SECONDS * start, HALF_SECONDS * (start + seconds)):
        agent.report(AgentTick(half / HALF_SECONDS, **counts(half / HALF_SECONDS)))
        for _, asked in [sent for sent in agent.sent if sent[0] == "thread_waits"]:
            place = WaitPlace("/srv/app/jobs.py:14", 6 if asked["pool"] else 20, "watchdog")
            agent.report(ThreadWaits(asked["name"], (place,), 20, locked=locked, pool=asked["pool"]))
        agent.sent.clear()
        bench.advance(1 / HALF_SECONDS)
    return bench


def told(bench):
    return [event for event in bench.watching.events.since(0) if event.kind != "agent"]


def kinds(bench):
    return [event.kind for event in told(bench)]


def test_threads_that_grow_are_told_within_twenty_seconds_with_the_line_at_which_they_wait():
    bench = watch(19, lambda second: threads(3 + int(second)))
    (event,) = told(bench)
    assert event.kind == "leak"
    assert event.place == Place("__main__.watchdog", "/srv/app/jobs.py:12")
    assert event.text.startswith(
        "leak: threads of watchdog (app/jobs.py:12) grow by 60 a minute, 95 % 59 to 61, to "
    )
    assert event.text.endswith("; 20 wait at app/jobs.py:14")
    record = watch_report(bench.watching.snapshot(), [], 0)["processes"][0]
    assert (record["leaks"], record["thread_targets"][0]["leak"]) == (1, True)
    assert record["thread_targets"][0]["waits"] == [{"where": "/srv/app/jobs.py:14", "threads": 20}]


@pytest.mark.parametrize(
    ("counts", "text"),
    [
        (
            lambda second: jobs(int(40 * second)),
            "uploads: 700 jobs wait for its 6 threads; 6 run watchdog (app/jobs.py:14); the queue grows "
            "by 2,400 a minute",
        ),
        (lambda second: files(10 + int(5 * second)), "open files and sockets grow by 300 a minute"),
    ],
    ids=["jobs", "files"],
)
def test_queues_and_files_that_grow_are_told(counts, text):
    (event,) = told(watch(20, counts))
    pattern = re.escape(text).replace("700", r"\d+")
    assert re.match(pattern, event.text)
    assert event.kind == "growth"


@pytest.mark.parametrize(
    "counts",
    [
        lambda second: threads(3 + int(second)),
        lambda second: jobs(int(40 * second)),
        lambda second: files(10 + int(second)),
    ],
    ids=["threads", "jobs", "files"],
)
def test_what_may_end_is_called_a_leak_after_three_minutes_and_taken_back_if_it_stops(counts):
    bench = watch(210, counts, locked=0)
    assert kinds(bench) == ["growth", "leak"]
    watch(70, lambda second: counts(210), bench, 210, locked=0)
    assert kinds(bench) == ["growth", "leak", "leak_withdrawn"]
    early = watch(100, lambda second: counts(min(second, 100)), locked=0)
    watch(70, lambda second: counts(100), early, 100, locked=0)
    assert kinds(early) == ["growth", "growth_withdrawn"]
    record = watch_report(early.watching.snapshot(), [], 0)
    assert (record["event_counts"]["growth"], record["processes"][0]["leaks"]) == (0, 0)


@pytest.mark.parametrize(
    "counts",
    [
        lambda second: threads(40),
        lambda second: threads(min(16, int(second)), POOL_WORKER),  # an executor starts its threads
        lambda second: threads(20 if second < 5 else 8 + int(second) % 5),
        lambda second: jobs(int(100 * (second % 10))),
        lambda second: files(200 if 10 < second < 20 else 20),
    ],
    ids=["level", "an executor", "come and go", "bursts", "a burst"],
)
def test_what_does_not_grow_without_end_is_not_told(counts):
    assert not told(watch(90, counts))


def test_tasks_that_wait_in_the_queue_of_an_executor_that_grows_are_not_told_beside_it():
    bench = WatchBench()
    agent = bench.agent(40)
    for second in (half / HALF_SECONDS for half in range(HALF_SECONDS * 100)):
        live = 4 * int(second)
        report = GroupReport(
            1, "upload", "/srv/app.py", 1, created=live + int(second), ended=int(second), live=live
        )
        tick = AgentTick(second, created=live, live=live, scan_time=second, **jobs(live))
        agent.report(tick, Groups(second, (report,)))
        bench.advance(1 / HALF_SECONDS)
        for asked, _ in agent.sent:
            if asked == "waits":
                queue = WaitPlace("/srv/app.py:2", live, on="executor uploads, in its queue")
                agent.report(Waits(1, live, live, (queue,), sampled=50, wakeable=50))
        agent.sent.clear()
    (event,) = told(bench)
    assert event.text.startswith("uploads: ")


def test_executors_that_grow_are_told_with_the_line_that_creates_them_and_their_threads_are_not():
    bench = watch(210, lambda second: executors(int(5 * second)), locked=0)
    growth, leak = told(bench)
    assert (growth.kind, leak.kind) == ("growth", "leak")
    assert re.match(
        r"executors created in report \(app/views.py:41\) grow by 300 a minute, 95 % 299 to 301, "
        r"to \d+ that are not shut down \(ThreadPoolExecutor\), with \d+ threads; too early .*"
        r"they may be shut down",
        growth.text,
    )
    record = watch_report(bench.watching.snapshot(), [], 0)["processes"][0]
    (line,) = record["executor_lines"]
    assert (line["file"], line["line"], line["in"]) == ("/srv/app/views.py", 41, "report")
    assert (line["count"], line["workers"], line["created"], line["leak"]) == (1047, 2094, 1047, True)
    watch(70, lambda second: executors(0), bench, 210)
    assert kinds(bench) == ["growth", "leak", "leak_withdrawn"]


def test_executors_that_are_shut_down_are_not_told():
    assert not told(watch(90, lambda second: executors(2 + int(second) % 5, 10 * int(second) + 10)))


def test_tasks_that_cannot_be_counted_are_unknown_and_not_0():
    bench = WatchBench()
    bench.agent(40).report(AgentTick(1.0, live=0, ended=0, since=0, scan_time=1.0, uncounted="greenlets …"))
    bench.advance(1)
    record = watch_report(bench.watching.snapshot(), [], 0)["processes"][0]
    assert (record["created"], record["live"], record["ended"], record["live_peak"]) == (None,) * 4
    assert record["reason"] == "greenlets …"
    events = [event.text for event in bench.watching.events.since(0)]
    assert "tasks are unknown: greenlets …" in events


def test_what_grows_no_longer_is_taken_back_once():
    bench = watch(20, lambda second: threads(3 + int(second)))
    watch(100, lambda second: threads(22), bench, 20)
    assert kinds(bench) == ["leak", "leak_withdrawn"]


def watch_while_memory_grows(counts, groups=None):
    """Return the bench after a minute in which memory grows by 4 MiB a second, with ``groups(second)``."""
    bench = WatchBench()
    bench.first = bench.agent(40)
    lane = bench.watching.lanes[0]

    def growing(second):
        lane.readings.reader.rss += 2 << 20
        if groups is not None:
            bench.first.report(Groups(second, groups(second)))
        return counts(second)

    return watch(60, growing, bench)


def test_memory_that_grows_names_the_threads_that_grow_with_it():
    bench = watch_while_memory_grows(
        lambda second: {"live": 1, "created": 1, **threads(3 + int(second))},
    )
    leak, memory = told(bench)
    assert (leak.kind, memory.kind) == ("leak", "growth")
    assert "while live tasks do not: along with watchdog (app/jobs.py:12); too early" in memory.text


def test_memory_that_grows_names_the_function_whose_tasks_grow_although_the_sum_of_all_does_not():
    def groups(second):
        stays, others = int(second), 200 - int(second)
        return (
            GroupReport(1, "confirm_later", "app/orders.py", 30, live=stays, created=stays, ended=0),
            GroupReport(2, "serve", "app/orders.py", 15, live=others, created=200, ended=200 - others),
        )

    bench = watch_while_memory_grows(lambda second: {"live": 200, "created": 200 + int(second)}, groups)
    memory = next(event for event in told(bench) if event.text.startswith("memory"))
    assert "live tasks do not" not in memory.text
    assert ": along with confirm_later (app/orders.py:30); too early" in memory.text


def test_memory_that_grows_with_the_jobs_of_a_queue_is_not_told_beside_it():
    bench = watch_while_memory_grows(
        lambda second: {"live": 1, "created": 1, "queued": int(40 * second), **jobs(int(40 * second))},
    )
    assert kinds(bench) == ["growth"]


def test_pools_that_are_gone_are_forgotten():
    resources = Resources()
    for number in range(1_000):  # one for each request
        pool = Executor(f"ThreadPoolExecutor-{number}", 1, 2)
        resources.update(AgentTick(number / 10, executors=(pool,)))
        counts = [one.report.count for one in resources.all()]
        assert len(counts) <= MOST_GONE + 1
        assert sum(counts) == 2
    resources.update(AgentTick(100.0))
    assert not any(one.count for one in resources.statuses())
    resources.update(AgentTick(100.0 + KEPT))
    assert not resources.all()
