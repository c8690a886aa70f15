"""How long tasks take and keep their loop busy, compared with the programs' own record."""

import json

import pytest

from concwatch.monitor.statistics.histogram import Histogram
from concwatch.portable.agent.blocking.busy import LoopMeter
from concwatch.portable.agent.counting.durations import OLDEST, QUOTA, YOUNGER, Durations
from tests.agent_driver import eventually, finish, oldest_and_newest


def test_more_tasks_are_timed_as_one_in_so_many_and_each_stands_for_these():
    durations, timed, weight = Durations(), 0, 0
    for period in range(200):
        for number in range(2_000 * period, 2_000 * (period + 1)):
            if number >= durations.due:
                timed, weight = timed + 1, weight + durations.choose(number, 0).weight
        durations.begin_period(2_000 * (period + 1))
    assert timed < 200 * 2 * QUOTA
    assert 0.95 < weight / (200 * 2_000) < 1.05


def test_each_task_is_timed_while_there_are_few_and_again_after_many():
    durations = Durations()
    for number in range(100_000):
        if number >= durations.due:
            durations.choose(number, 0)
    assert durations.gap > 100
    for _ in range(20):
        durations.begin_period(100_000)
    assert (durations.gap, durations.due) == (1, 100_000)


@pytest.mark.parametrize("tasks", [1, 20, 21, 30, 100])
def test_ages_of_timed_tasks_are_few_and_their_means_are_kept(tasks, monkeypatch):
    durations, now = Durations(), [0.0]
    monkeypatch.setattr("concwatch.portable.agent.counting.durations.monotonic", lambda: now[0])
    for number in range(tasks):
        now[0] = float(number)
        assert durations.add(durations.choose(number, 0))
    ages = durations.ages()
    assert len(ages) == min(tasks, len(ages)) <= YOUNGER + OLDEST
    assert ages == sorted(ages)
    assert sum(weight for _, weight in ages) == tasks
    assert sum(age * weight for age, weight in ages) == pytest.approx(sum(range(tasks)), abs=0.5)
    assert ages[-1][0] >= 0.99 * (tasks - 1)


def test_weighted_histograms_have_the_quantiles_of_all():
    whole = Histogram()
    one = Histogram().with_weighted([(0.1, 3), (0.5, 1)])
    other = Histogram().with_weighted([(0.2, 2)])
    whole.add([0.1, 0.1, 0.1, 0.2, 0.2, 0.5])
    assert one.quantile(0.5) == 0.1
    assert one.with_weighted([(0.9, 10)]).quantile(0.5) == 0.9
    assert one.quantile(0.5) == 0.1
    merged = Histogram.merged([other, whole])
    assert (merged.count, merged.quantile(0.5), merged.quantile(0.99)) == (8, 0.2, 0.5)


class FakeLoop:
    """Runs what ``call_soon`` is given on request."""

    def __init__(self):
        self.ready = []

    def call_soon(self, callback, *args, **kw):
        self.ready.append((callback, args))

    def run(self):
        ready, self.ready = self.ready, []
        for callback, args in ready:
            callback(*args)
        return [callback for callback, _ in ready]


def test_a_meter_passes_on_what_is_no_step_of_a_task_and_leaves_nothing_behind():
    loop = FakeLoop()
    meter = LoopMeter(loop, 0.0)
    loop.call_soon(print.__call__)
    loop.call_soon(len, "four")
    assert loop.run() == [print.__call__, len]
    assert meter.busy == 0
    meter.close()
    assert set(vars(loop)) == {"ready"}


PROGRAM = """
import asyncio, json, sys, time
own = {}
def spin(name, seconds):
    began = time.perf_counter()
    while time.perf_counter() - began < seconds: pass
    own[name] = own.get(name, 0) + time.perf_counter() - began
async def computes():
    spin("computes", 0.004)
    await asyncio.sleep(0.05)
    spin("computes", 0.001)
async def short(): spin("short", 0.0005)
async def sleeps(): await asyncio.sleep(0.05)
async def main():
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)
    began = time.perf_counter()
    for _ in range(100):
        await asyncio.gather(computes(), short(), sleeps(), sleeps())
    seconds = time.perf_counter() - began
    print(json.dumps({"seconds": seconds, **own}), flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
if "uvloop" in sys.argv:
    import uvloop
    uvloop.run(main())
else:
    asyncio.run(main())
"""


def check(program, process):
    """Compare the agent's figures with the program's own, which includes what the agent itself does."""
    process.tick(lambda tick: tick.get("looped"))  # on a busy machine, the agent's thread begins late
    program.stdin.write("\n")
    program.stdin.flush()
    own = json.loads(program.stdout.readline())
    for name, created in (("computes", 100), ("short", 100), ("sleeps", 200)):
        process.group(name, created=created, live=0)
    tick = process.tick(lambda tick: tick["scan_created"] == tick["created"])

    def groups():
        return [group for report in process.all("groups") for group in report["groups"]]

    def busy(name):
        return max(report["busy"] for report in groups() if report["name"] == name)

    for name in ("computes", "short"):  # on a busy machine, steps are interrupted, and reports are late
        eventually(lambda name=name: busy(name) > 0.95 * own[name] - 0.02, f"{own[name]} s of {name}")
        assert busy(name) < 1.2 * own[name] + 0.2
    reports = groups()
    assert tick["covered"] > 0.9 * tick["looped"] - 0.2
    timed = [each for report in reports if report["name"] == "sleeps" for each in report.get("durations", ())]
    assert sum(weight for _, weight in timed) > 150
    assert all(seconds >= 0.045 for seconds, _ in timed)


@pytest.mark.real
@oldest_and_newest
def test_durations_and_the_time_of_the_loop_are_those_of_the_program(monitor, python):
    program = monitor.start(PROGRAM, python=python, options=["timing"])
    check(program, monitor.process())
    finish(program)


@pytest.mark.real
def test_durations_and_the_time_of_the_loop_on_uvloop(monitor):
    program = monitor.start(PROGRAM, "uvloop", options=["timing"])
    check(program, monitor.process())
    finish(program)


TOGGLED = """
import asyncio, sys
async def sleeps(): await asyncio.sleep(0.01)
async def main():
    loop = asyncio.get_running_loop()
    lines = loop.run_in_executor(None, sys.stdin.read)
    while not lines.done():
        await asyncio.gather(*[asyncio.create_task(sleeps()) for _ in range(5)])
        print(int("call_soon" in vars(loop)), flush=True)
asyncio.run(main())
"""


@pytest.mark.real
def test_nothing_is_timed_until_that_is_asked_for(monitor):
    program = monitor.start(TOGGLED)
    process = monitor.process()
    process.tick(lambda tick: tick["created"] > 200)

    def reports():
        return [group for report in process.all("groups") for group in report["groups"]]

    assert program.stdout.readline() == "0\n"
    assert not any("looped" in tick for tick in process.all("tick"))
    assert not any("durations" in report or "timing" in report for report in reports())
    process.apply("timing", on=True)
    while program.stdout.readline() == "0\n":
        pass
    process.tick(lambda tick: tick.get("looped"))
    process.wait("groups", lambda report: any("durations" in group for group in report["groups"]))
    process.apply("timing", on=False)
    while program.stdout.readline() == "1\n":
        pass
    finish(program)


TRIO = """
import sys, trio
async def sleeps(): await trio.sleep(0.05)
async def main():
    for _ in range(20):
        async with trio.open_nursery() as nursery:
            for _ in range(5): nursery.start_soon(sleeps)
    await trio.to_thread.run_sync(sys.stdin.read)
trio.run(main)
"""


@pytest.mark.real
def test_durations_of_trio(monitor):
    pytest.importorskip("trio")
    program = monitor.start(TRIO, options=["timing"])
    process = monitor.process()
    process.group("sleeps", created=100, live=0)
    finish(program)
    process.wait("end")
    groups = [group for report in process.all("groups") for group in report["groups"]]
    timed = [
        each for group in groups if group["name"].endswith("sleeps") for each in group.get("durations", ())
    ]
    assert sum(weight for _, weight in timed) == 100
    assert all(seconds >= 0.045 for seconds, _ in timed)
