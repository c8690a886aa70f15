"""Trials: what a task costs on this machine without tracing, for lanes on the screen and for commands."""

import asyncio

import pytest

from concwatch.links.link import Ended
from concwatch.measure import trials
from concwatch.measure.trials import try_engines
from concwatch.monitor.lanes.forecast import why_too_many
from concwatch.monitor.lanes.trial import FEWEST, MOST, tasks_to_try
from concwatch.monitor.metrics.settings import Settings
from concwatch.portable.machine.limits import SystemLimit
from concwatch.system.memory import Memory
from tests.fake_link import Costs, FakeWorkers, Fault
from tests.lab_driver import ENGINES, Bench
from tests.virtual_time import fast

MIB, GIB = 1 << 20, 1 << 30


# How many tasks.


@pytest.mark.parametrize(
    ("engine", "workload", "room", "expected"),
    [
        ("asyncio", "sleep:10", 8 * GIB, (10_000, MOST)),
        ("threads", "sleep:10", 8 * GIB, (FEWEST, 2_000)),
        ("threads", "sleep:10", 20 * MIB, (FEWEST, 400)),  # never more than most of what is left
        ("threads", "sleep:10", 1 * MIB, (0, 0)),
        ("asyncio", "payload:1MiB", 8 * GIB, (FEWEST, FEWEST)),
        ("asyncio", "nop", 8 * GIB, (0, 0)),  # never all live
        ("asyncio", "http", 8 * GIB, (0, 0)),
        ("asyncio", "shop:order", 8 * GIB, (0, 0)),  # not called more often than asked for
    ],
)
def test_a_trial_holds_as_many_tasks_as_stand_out_and_fit(engine, workload, room, expected):
    low, high = expected
    assert low <= tasks_to_try(ENGINES[engine], Settings(workload), room) <= high


# On the screen.


def traced_bench(**arguments):
    """Return a bench with a traced lane of 10,000 asyncio tasks, whose trial has ended."""
    bench = Bench("asyncio", settings=Settings("sleep:10", trace=True), trials=True, **arguments)
    (lane,) = bench.lab.lanes
    bench.lab.set_target(lane, 10_000)
    bench.until(lambda: lane.live == 10_000)
    bench.pass_(10)
    return bench, lane


def test_a_traced_lane_shows_the_cost_of_an_untraced_task():
    bench, _ = traced_bench()
    found = bench.snapshot("asyncio")
    assert found.sample.rss_per_task == pytest.approx(1_260, rel=0.02)
    assert (found.status.tracing, found.status.traced_cost) == (True, False)
    assert found.sample.traced_per_task == pytest.approx(1_400, rel=0.05), "that of the traced worker"
    bench.lab.settings.set_trace(False)
    bench.pass_(10)
    untraced = bench.snapshot("asyncio")
    assert untraced.sample.rss_per_task == pytest.approx(found.sample.rss_per_task, rel=0.02)


def test_without_a_trial_the_cost_is_marked_as_traced():
    bench = Bench("asyncio", settings=Settings("sleep:10", trace=True))
    (lane,) = bench.lab.lanes
    bench.lab.set_target(lane, 10_000)
    bench.until(lambda: lane.live == 10_000)
    bench.pass_(5)
    found = bench.snapshot("asyncio")
    assert found.sample.rss_per_task > 2_000
    assert found.status.traced_cost is True


def test_a_failed_trial_is_not_repeated_and_leaves_the_traced_cost():
    class Once(FakeWorkers):
        """The workers of trials are killed at once."""

        def __call__(self, engine):
            first = not self.links
            return super().__call__(engine) if first else FakeWorkers(faults=KILLED)(engine)

    KILLED = {"asyncio": [Fault(0.0, Ended("killed by SIGKILL"))]}
    opened = []
    workers = Once()

    def open_link(engine):
        opened.append(engine.name)
        return workers(engine)

    bench = Bench("asyncio", settings=Settings("sleep:10", trace=True), trials=True, links=open_link)
    (lane,) = bench.lab.lanes
    bench.lab.set_target(lane, 10_000)
    bench.until(lambda: lane.live == 10_000)
    bench.pass_(20)
    assert opened == ["asyncio", "asyncio"]
    assert bench.snapshot("asyncio").status.traced_cost is True
    assert lane.on


def test_the_worker_of_a_trial_ends_with_the_lab():
    bench = Bench("asyncio", settings=Settings("sleep:10", trace=True), trials=True)
    (lane,) = bench.lab.lanes
    bench.lab.set_target(lane, 10_000)
    bench.until(lambda: bench.lab._traced.trials.running)
    fast(bench.lab.close())
    assert not bench.lab._traced.trials.running


# For commands.


def tried(*names, room=8 * GIB, limits=(), workers=None, settings=None):
    engines = [ENGINES[name] for name in names]
    return fast(try_engines(engines, settings or Settings("hold"), workers or FakeWorkers(), room, limits))


def test_each_engine_is_tried_and_a_failed_worker_is_a_reason():
    workers = FakeWorkers(faults={"threads": [Fault(0.0, Ended("killed by SIGKILL"))]})
    found = tried("asyncio", "threads", workers=workers)
    assert found["asyncio"].cost.rss == pytest.approx(1_260, rel=0.02)
    assert "killed by SIGKILL" in found["threads"]


def test_a_trial_uses_a_small_part_of_a_limit_and_none_where_too_few_remain():
    assert "threads" in tried("threads", limits=(SystemLimit("pid_max", 2_000, 0),))
    assert tried("threads", limits=(SystemLimit("pid_max", 300, 298),)) == {}


def test_what_trials_have_measured_replaces_the_estimate_of_a_forecast():
    engine = ENGINES["asyncio"]
    found = tried("asyncio", workers=FakeWorkers(costs={"asyncio": Costs(task=630)}))
    memory = lambda: Memory(16 * GIB, 12 * GIB, "memory")  # noqa: E731
    arguments = ([engine], Settings("hold"), 400_000, False, 300 * MIB, memory, lambda: ())
    assert why_too_many(*arguments) is not None
    assert why_too_many(*arguments, trials=found) is None


def test_a_worker_that_never_answers_does_not_hold_a_command_up(monkeypatch):
    monkeypatch.setattr(trials, "ALLOWED_SECONDS", 3.0)
    silent = FakeWorkers(faults={"asyncio": [Fault(0.0, silence=1e9)]})
    assert tried("asyncio", workers=silent) == {}
    with pytest.raises(asyncio.CancelledError):
        fast(_cancelled())


async def _cancelled():
    work = asyncio.ensure_future(
        try_engines([ENGINES["asyncio"]], Settings("hold"), FakeWorkers(), 8 * GIB, ())
    )
    await asyncio.sleep(0.1)
    work.cancel()
    await work
