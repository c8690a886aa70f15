"""The answer above the table, and what limits a lane."""

import pytest
from msgspec import structs

from concwatch.links.messages import StackFrame
from concwatch.measure.answer import Answer
from concwatch.measure.limited import limited_by
from concwatch.monitor.lanes.user_source import why_not_found
from concwatch.monitor.metrics.metrics import BY_NAME, EngineFacts, LaneSnapshot, LaneStatus, blank_sample
from concwatch.monitor.metrics.settings import Settings
from concwatch.monitor.metrics.snapshot import Machine, Snapshot, with_cheapest
from concwatch.monitor.metrics.state import State
from concwatch.monitor.verdicts.blocks import BlockedPlace
from concwatch.portable.protocol.workloads import parse


def lane(name="asyncio", threads=False, state=State.RUNNING, target=10_000, live=10_000, fits=0, **known):
    sample = blank_sample(0, 1.0, **{"live": live, "measured_live": live, **known})
    status = LaneStatus(state=state, target=target, asked=target, peak_live=live, fits=fits, clean=True)
    status = structs.replace(status, fits_limit="memory budget" if fits else "", runtime="CPython 3.11.7")
    return LaneSnapshot(EngineFacts(name, threads=threads), status, sample)


def lab(*lanes, workload="sleep:10", time=1.0):
    return Snapshot(time, time, 10.0, 0, lanes, Settings(workload=workload), Machine())


def test_the_answer_is_from_known_figures_which_are_those_of_the_table():
    answer = Answer()
    assert answer.update(lab(lane())) == ()
    threads = lane("threads", fits=21_761, rss_per_task=16_000.0)
    growing = lane("asyncio", live=5_000, rss_per_task=9_000.0)
    assert answer.update(lab(threads, growing))[-1] == "1 thread takes 15.6 KiB"
    tasks = lane("asyncio", fits=14_380_000, rss_per_task=1_260.0)
    whole, shorter, short = answer.update(lab(threads, tasks))
    assert short == "1 thread = 13 asyncio tasks"
    assert whole == f"memory of {short} · room for 21,761 threads or 14.4 M asyncio tasks"
    assert shorter == f"{short} · 21,761 threads, 14.4 M asyncio tasks fit"
    moved = structs.replace(tasks, sample=structs.replace(tasks.sample, rss_per_task=1_300.0))
    assert answer.update(lab(threads, moved))[-1] == "1 thread = 12 asyncio tasks"
    gone = lane("asyncio", state=State.OFF, target=0, live=0)
    assert answer.update(lab(threads, gone))[-1] == "1 thread = 12 asyncio tasks"
    assert answer.update(lab(threads, time=0.5))[-1] == "1 thread takes 15.6 KiB", "a replay that went back"


def test_the_reader_chooses_which_engines_are_compared():
    answer, costs = Answer(), {"threads": 16_000.0, "go": 2_700.0, "uvloop": 1_600.0, "asyncio": 1_200.0}
    lanes = lab(*(lane(name, rss_per_task=cost) for name, cost in costs.items()))

    def said():
        return answer.update(lanes)[-1]

    assert said() == "1 thread = 13 asyncio tasks"
    answer.choose("go")
    assert said() == "1 goroutine = 2.2 asyncio tasks"
    answer.choose("threads")
    assert said() == "1 thread = 5.9 goroutines"
    answer.choose("uvloop")
    assert said() == "1 thread = 10 uvloop tasks", "the last two"
    answer.choose("threads")
    answer.choose("uvloop")
    assert said() == "1 thread = 13 asyncio tasks"
    answer.choose("asyncio")
    assert said() == "1 thread = 13 asyncio tasks", "the cheapest with the dearest"
    seen = []
    for _ in range(6):
        answer.next(1)
        seen.append(said())
    assert len(set(seen)) == 6
    assert seen[-1] == "1 thread = 13 asyncio tasks"
    answer.next(-1)
    assert said() == seen[-2]


def test_tasks_of_an_engine_on_another_python_have_a_plural():
    several = lane("threads@3.12", rss_per_task=16_000.0), lane("asyncio@3.12", rss_per_task=1_600.0)
    assert Answer().update(lab(*several))[-1] == "1 thread@3.12 = 10 asyncio@3.12 tasks"


def test_what_fits_is_never_marked_as_traced():
    traced = [
        structs.replace(each, status=structs.replace(each.status, tracing=True, fits_limit=limit))
        for each, limit in (
            (lane("threads", fits=21_700, rss_per_task=16_000.0), "vm.max_map_count"),
            (lane("asyncio", fits=6_000_000, rss_per_task=2_600.0), "memory budget"),
        )
    ]
    assert Answer().update(lab(*traced))[1].endswith("tasks · 21,700 threads, 6 M asyncio tasks fit")


def test_a_cost_below_what_the_runtime_requests_at_once_is_unknown_everywhere():
    few = lane(live=2, target=2, rss_per_task=1_000.0)
    few = structs.replace(few, engine=EngineFacts("asyncio", resolution=1 << 18))
    many = lane("go", live=10_000, rss_per_task=3_000.0)
    shown = with_cheapest([few, many])
    cost, ratio = BY_NAME["rss_per_task"], BY_NAME["ratio"]
    assert [(cost.text(each), ratio.text(each)) for each in shown] == [("–", "–"), ("2.93 KiB", "1.0 ×")]
    assert cost.marks(structs.replace(few, status=structs.replace(few.status, rss_moves=True))) == ""


def test_littles_law_is_mentioned_only_while_as_many_tasks_start_as_end():
    def limit_of(created, completed, workload="shop:order"):
        rates = {"created_per_second": created, "completed_per_second": completed, "completed_mean": 5.0}
        view = lane(live=5_000, **rates)
        return limited_by(view, lab(view, workload=workload))

    assert limit_of(1_000.0, 5.0) is None, "it grows"
    assert limit_of(1_000.0, 990.0).startswith("Little's law: at 990/s and a mean life of 5.05 s")
    assert limit_of(1_000.0, 990.0, "sleep:5") == limit_of(1_000.0, 990.0)
    assert limit_of(2_500.0, 2_400.0, "sleep:5") is None, "a wave of tasks that end together"


def test_collection_on_several_hosts_is_told_for_each():
    alone = lane(cpu_seconds=2.0, gc=4.0)
    alone = structs.replace(alone, status=structs.replace(alone.status, can=("gc",)))
    row = structs.replace(alone, combines=("asyncio · a", "asyncio · b"))
    assert limited_by(alone, lab(alone)).startswith("garbage collection: 4 s so far")
    assert limited_by(row, lab(row)).startswith("garbage collection: 2 s per host so far")


@pytest.mark.parametrize(("workload", "named"), [("sleep:10", False), ("ticks:10x0.1", True)])
def test_the_gil_is_named_only_if_threads_want_to_run(workload, named):
    busy = lane("threads", threads=True, cpu=1.0, cpu_seconds=5.0)
    busy = structs.replace(busy, sample=structs.replace(busy.sample, threads=100))
    limit = limited_by(busy, lab(busy, workload=workload)) or ""
    assert ("the GIL" in limit) is named


@pytest.mark.parametrize(("cpu", "named"), [(0.95, True), (0.85, False)])
def test_the_gil_is_named_on_a_busy_machine_if_the_worker_has_a_core(cpu, named):
    busy = lane("threads", threads=True, cpu=cpu, cpu_seconds=5.0, others=0.6)
    busy = structs.replace(busy, sample=structs.replace(busy.sample, threads=100))
    assert ("the GIL" in (limited_by(busy, lab(busy, workload="spin:0.002")) or "")) is named


@pytest.mark.parametrize(("throttled", "named"), [(1.8, True), (0.2, False), (0.05, False), (0.0, False)])
def test_a_cpu_quota_that_throttles_comes_before_the_collector_and_shared_cores(throttled, named):
    slow = lane(cpu=0.5, cpu_seconds=3.0, gc=2.9, others=0.6, throttled=throttled)
    slow = structs.replace(slow, status=structs.replace(slow.status, can=("gc",), cpu_quota=0.5))
    limit = limited_by(slow, lab(slow)) or ""
    assert limit.startswith("other processes, which use ") is not named
    assert (limit == "CPU quota (0.5 cores): throttled for 1.8 s") is named
    short = lane(cpu_seconds=0.1, throttled=0.05)
    assert limited_by(short, lab(short)) is None


def test_a_function_that_never_yields_is_named_with_how_many_tasks_have_started():
    blocked = lane(state=State.STALLED, target=500, live=1, others=0.9)
    blocked = structs.replace(blocked, sample=structs.replace(blocked.sample, stalled=4.0))
    assert limited_by(blocked, lab(blocked, workload="app:block")) == "block() never yields: 1 of 500 started"
    assert "never yields" not in (limited_by(blocked, lab(blocked, workload="spin:1")) or "")
    known = structs.replace(blocked, blocks=(BlockedPlace("code", "loop 1", "block", "/srv/app.py:3"),))
    limit = limited_by(known, lab(known, workload="app:block"))
    assert limit == "block() (srv/app.py:3) never yields: 1 of 500 started"
    known = structs.replace(blocked, blocks=(BlockedPlace("code", "loop 1", "wait", "/srv/app.py:9"),))
    limit = limited_by(known, lab(known, workload="app:block"))
    assert limit == "block() in wait() (srv/app.py:9) never yields: 1 of 500 started"


def test_what_blocks_the_loop_of_the_users_function_is_what_limits_it():
    view = lane(target=500, live=500)
    place = BlockedPlace("code", "loop 1", "hash", "/srv/app.py:3", count=14, seconds=4.1, longest=0.312)
    place = structs.replace(place, caller=StackFrame("login", "/srv/app.py:9"))
    late = structs.replace(view, blocks=(place,), status=structs.replace(view.status, wake_lag_p99=0.3))
    limit = limited_by(late, lab(late, workload="app:login"))
    assert limit == (
        "hash() (srv/app.py:3), called by login, blocks the event loop: for 312 ms at most, 14 times, "
        "4.1 s in all"
    )
    once = structs.replace(late, blocks=(structs.replace(place, caller=None, count=1),))
    assert limited_by(once, lab(once, workload="app:login")).endswith("for 312 ms at most, once")
    assert limited_by(view, lab(view, workload="app:login")) is None


@pytest.mark.parametrize(
    ("workload", "problem"),
    [
        ("shop:order", None),
        ("shop:helper", None),
        ("shop:ordr", 'module "shop" has no "ordr"; did you mean "order"?'),
        ("shop.cart:add", None),
        ("nowhere_at_all:run", 'no module "nowhere_at_all" in the working directory, or installed'),
        ("json:dumps", None),
        ("sleep:10", None),
    ],
)
def test_a_function_that_is_not_in_its_module_is_found_without_running_it(tmp_path, workload, problem):
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "__init__.py").write_text("async def order(): ...\nhelper = order\nraise OSError\n")
    (tmp_path / "shop" / "cart.py").write_text("def add(): ...\n")
    assert why_not_found(parse(workload), tmp_path) == problem
