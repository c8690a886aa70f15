"""A lab of several lanes: settings, the page server, the memory budget, events, closing and snapshots."""

import asyncio
import re
from unittest.mock import Mock

import pytest

from concwatch.links.link import Ended
from concwatch.links.messages import Limit
from concwatch.monitor.lanes.forecast import IDLE, MARGIN, OFFERED
from concwatch.monitor.metrics.fit import Fit
from concwatch.monitor.metrics.settings import Settings
from concwatch.monitor.metrics.state import State
from concwatch.monitor.verdicts.events import KEPT, EventLog
from concwatch.monitor.workers.catalog import Engine
from concwatch.portable.machine.limits import SystemLimit
from concwatch.portable.protocol.workloads import parse
from concwatch.system.memory import BUDGET
from tests.fake_link import Costs, FakeWorkers, Fault
from tests.lab_driver import ENGINES, GIB, Bench, FakeServer, end, hand_bench, running_lane, tick
from tests.worker_driver import running_lab, until

MIB = 1 << 20
UNINSTALLED = Engine("uninstalled", "", 1, needs=("no_such_package",), install="pip install missing")


def running(*names, **arguments):
    """Return a bench whose lanes are all running."""
    bench = Bench(*names, **arguments)
    for lane in bench.lab.lanes:
        bench.lab.switch(lane, True)
    bench.until(lambda: all(lane.state is State.RUNNING for lane in bench.lab.lanes))
    return bench


def set_targets(bench, tasks):
    for lane in bench.lab.lanes:
        bench.lab.set_target(lane, tasks)


def sent(bench, name, command):
    """Return the fields of each ``command`` sent to the current worker of a lane."""
    return [fields for found, fields in bench.links.links[name].sent if found == command]


# Settings.


def test_settings_are_sent_to_every_lane_that_supports_them():
    bench = running("pool", "asyncio", "uvloop")
    bench.lab.switch(bench.lab.lanes[2], False)
    bench.until(lambda: bench.lab.lanes[2].idle)
    bench.lab.settings.set_workload("hold")
    bench.lab.settings.set_trace(True)
    bench.lab.settings.set_gc("frozen")
    bench.lab.settings.set_threads(20)
    bench.lab.switch(bench.lab.lanes[2], True)
    bench.until(lambda: bench.lab.lanes[2].state is State.RUNNING)
    for name in bench.links.links:
        assert sent(bench, name, "workload")[-1] == {"spec": "hold", "word": "hold"}
        assert sent(bench, name, "trace")[-1] == {"on": True}
        assert sent(bench, name, "gc")[-1] == {"mode": "frozen"}
        assert sent(bench, name, "threads") == ([{"count": 20}] if name == "pool" else [])
    assert bench.lab.settings.current == Settings("hold", True, True, "frozen", 20)


def test_an_invalid_workload_changes_nothing():
    bench = running("asyncio")
    before = list(bench.links.links["asyncio"].sent)
    with pytest.raises(ValueError, match="did you mean"):
        bench.lab.settings.set_workload("slep:3")
    assert bench.lab.settings.current.workload == "sleep:10"
    assert bench.links.links["asyncio"].sent == before


# The servers of tasks.


def urls(bench, name="asyncio"):
    """Return each URL that the lane ``name`` was sent."""
    return [fields["url"] for fields in sent(bench, name, "workload") if "url" in fields]


@pytest.mark.parametrize(
    ("specs", "addresses"),
    [(("http", "http:0.5", "hold", "http"), None), (("connect", "connect:10s", "hold", "connect"), 5)],
)
def test_tasks_of_all_lanes_connect_to_one_server_started_on_first_use(specs, addresses):
    bench = running("asyncio", "threads")
    bench.pass_(2)
    assert (bench.servers, bench.lab.settings.current.url) == ([], None)
    for workload in specs:
        bench.lab.settings.set_workload(workload)
    (server,) = bench.servers
    expected = [server.url(parse(spec)) for spec in specs if spec != "hold"]
    assert urls(bench, "asyncio") == urls(bench, "threads") == expected
    assert bench.lab.settings.current.url == expected[-1]
    assert sent(bench, "asyncio", "workload")[-1].get("addresses") == addresses


async def test_each_workload_has_its_own_server_until_the_lab_closes():
    bench = running("asyncio")
    for workload in ("http", "connect", "http:1"):
        bench.lab.settings.set_workload(workload)
    assert [server.word for server in bench.servers] == ["http", "connect"]
    await bench.lab.close()
    assert all(server.closed for server in bench.servers)


@pytest.mark.parametrize(("spec", "name"), [("http:2", "page server"), ("connect", "echo server")])
def test_a_dead_server_is_logged_once_and_replaced_on_the_next_target(spec, name):
    bench = running("asyncio", settings=Settings(spec))
    (lane,), first = bench.lab.lanes, bench.servers[0]
    first.how = "killed by SIGKILL"
    bench.pass_(3)
    assert bench.texts("error") == [f"{name} killed by SIGKILL: the next target starts another"]
    assert (first.closed, len(bench.servers)) == (True, 1)
    bench.lab.set_target(lane, 10)
    second = bench.servers[1]
    assert urls(bench) == [first.url(parse(spec)), second.url(parse(spec))]
    second.how = "exited with status 1"
    bench.lab.switch(lane, False)
    bench.until(lambda: lane.idle)
    bench.lab.switch(lane, True)  # before the lab has noticed the end of the server
    bench.until(lambda: lane.state is State.RUNNING)
    assert urls(bench) == [bench.servers[2].url(parse(spec))]


def test_without_a_server_settings_stay_and_lanes_keep_running():
    servers = []

    def open_once(word):
        if servers:
            raise ValueError("no page server")
        servers.append(FakeServer(word))
        return servers[0]

    bench = running("asyncio", settings=Settings("http"), open_server=open_once)
    servers[0].how = "killed by SIGKILL"
    set_targets(bench, 10)
    assert bench.texts("error")[-1] == "no page server"
    bench.until(lambda: bench.lab.lanes[0].live == 10)
    with pytest.raises(ValueError, match="no page server"):
        Bench("asyncio", settings=Settings("http"), open_server=open_once)
    bench = running("asyncio", open_server=open_once)
    with pytest.raises(ValueError, match="no page server"):
        bench.lab.settings.set_workload("http")
    assert bench.lab.settings.current == Settings()


# The memory budget.


def over_budget(*names, budget=100 * MIB, **arguments):
    """Return a bench whose lanes have a target of a million tasks and are limited by the budget."""
    bench = running(*names, budget=budget, **arguments)
    set_targets(bench, 1_000_000)
    bench.until(lambda: all(lane.target.limit for lane in bench.lab.lanes))
    bench.pass_(3)
    return bench


def budget_warnings(bench):
    return [text for text in bench.texts("warning") if text.startswith("memory budget: workers use ")]


@pytest.mark.parametrize("names", [("asyncio",), ("pool", "asyncio", "uvloop")])
def test_growth_of_all_lanes_stops_at_the_budget_and_tasks_are_still_replaced(names):
    workers = FakeWorkers(costs={name: Costs(create_rate=2e6) for name in names})
    bench = over_budget(*names, settings=Settings("sleep:1"), links=workers)
    assert 0.9 * bench.lab.fleet.budget < bench.lab.fleet.memory <= bench.lab.fleet.budget
    for lane in bench.lab.lanes:
        assert (lane.state, lane.target.limit.name) == (State.RUNNING, "memory budget")
        assert 0 < lane.live == lane.target.tasks < 1_000_000
    targets = [lane.target.tasks for lane in bench.lab.lanes]
    completed = bench.lab.lanes[-1].worker.stats.tick.completed
    bench.pass_(20)
    assert [lane.target.tasks for lane in bench.lab.lanes] == targets
    assert bench.lab.lanes[-1].worker.stats.tick.completed > completed + targets[-1], "tasks are replaced"
    (text,) = budget_warnings(bench)
    assert re.search(r"of 100 MiB \(9\S+ MiB RSS, \S+ KiB kernel\), growth stopped, live tasks", text)


def test_growth_resumes_when_memory_is_freed_and_stops_again_at_the_budget():
    bench = over_budget("asyncio", "uvloop")
    first, second = bench.lab.lanes
    live = first.live
    bench.lab.switch(second, False)
    bench.until(lambda: second.idle)
    bench.lab.set_target(first, live + 5_000)
    bench.until(lambda: first.live == live + 5_000)
    assert first.target.limit is None
    bench.lab.set_target(first, 1_000_000)
    for on in (False, True):
        bench.lab.switch(first, on)
    bench.until(lambda: first.live > live and first.target.limit is not None)
    bench.pass_()
    assert (first.worker.status.asked, first.live == first.target.tasks > live) == (1_000_000, True)
    assert bench.lab.fleet.memory <= bench.lab.fleet.budget
    assert len(budget_warnings(bench)) == 2


def test_lanes_restarted_with_heavier_tasks_stay_within_the_budget():
    bench = running("asyncio", "uvloop", "threads", budget=160 * MIB)
    for lane, tasks in zip(bench.lab.lanes, (8_000, 8_000, 1_500), strict=True):
        bench.lab.set_target(lane, tasks)
    bench.until(lambda: all(lane.target.reached for lane in bench.lab.lanes))
    bench.lab.settings.set_trace(True)
    bench.pass_(0.3)  # the workers are restarted
    bench.until(lambda: all(lane.target.reached or lane.target.limit for lane in bench.lab.lanes))
    assert any(lane.target.limit for lane in bench.lab.lanes)
    assert bench.lab.fleet.memory <= bench.lab.fleet.budget


def test_the_budget_also_limits_a_lane_whose_worker_is_starting():
    bench, lane = hand_bench(budget=MIB)
    bench.lab.set_target(lane, 5_000)
    bench.pass_()
    assert (lane.state, lane.target.tasks, lane.target.limit.name) == (State.STARTING, 0, "memory budget")
    assert bench.texts("warning")[0] == "memory budget (1 MiB) reached at 0 of 5,000 tasks"
    bench.links.last.start()
    bench.pass_()
    assert lane.state is State.RUNNING
    assert "target" not in bench.links.last.names()


def test_halt_is_sent_once_until_the_worker_answers():
    bench, lane, link = running_lane(budget=50 * MIB)
    bench.lab.set_target(lane, 5_000)
    link.rss = 60 * MIB
    bench.pass_(1)
    assert link.names().count("halt") == 1
    bench.receive(tick(2, 700), Limit(700, 5_000, "memory budget", 50 * MIB))
    assert (lane.target.tasks, lane.target.limit.standing) == (700, 700)


# Events.


def test_the_event_log_returns_new_events_and_drops_the_oldest():
    log = EventLog()
    for number in range(1, KEPT + 501):
        log.add(number, "", "\x1b[2J")
    assert log.count == KEPT + 500
    assert [event.number for event in log.since(KEPT + 498)] == [KEPT + 499, KEPT + 500]
    assert [event.number for event in log.since(0)] == list(range(501, KEPT + 501))
    assert [*log.since(log.count), *log.since(log.count + 7)] == []
    assert log.since(0)[0].text == "\N{REPLACEMENT CHARACTER}[2J"  # no control characters reach the terminal


# Running and closing.


async def test_closing_ends_workers_in_every_state_and_the_server():
    faults = {"pool": [Fault(0.2, Ended("exited"))]}
    workers = FakeWorkers(faults=faults)
    bench = Bench("threads", "pool", "asyncio", "uvloop", links=workers, settings=Settings("http"))
    first, second, third, _ = bench.lab.lanes
    bench.lab.set_target(first, 100)
    bench.lab.switch(second, True)
    bench.until(lambda: second.state is State.FAILED)
    bench.lab.switch(third, True)  # is starting; the fourth lane is off
    await bench.lab.close()
    assert all(lane.idle for lane in bench.lab.lanes)
    assert bench.lab.fleet.quiet
    assert bench.servers[0].closed


async def test_closing_kills_a_worker_that_does_not_answer(monkeypatch):
    monkeypatch.setattr("concwatch.monitor.lanes.lab.CLOSE_LIMIT", 0.05)
    monkeypatch.setattr("concwatch.monitor.lanes.lab.KILL_LIMIT", 0.0)  # as if the machine had been suspended
    bench = running("asyncio", links=FakeWorkers(faults={"asyncio": [Fault(1.0, silence=1e9)]}))
    bench.until(lambda: bench.lab.lanes[0].state is State.STALLED)
    await bench.lab.close()
    assert bench.lab.lanes[0].idle


async def test_closing_returns_even_if_a_killed_worker_does_not_end(monkeypatch):
    monkeypatch.setattr("concwatch.monitor.lanes.lab.CLOSE_LIMIT", 0.05)
    monkeypatch.setattr("concwatch.monitor.lanes.lab.KILL_LIMIT", 0.05)
    bench, lane, link = running_lane()
    await asyncio.wait_for(bench.lab.close(), 30)
    assert link.killed
    assert not lane.idle


async def test_an_error_while_closing_still_kills_the_workers(monkeypatch):
    bench, _, link = running_lane()
    monkeypatch.setattr(bench.lab, "step", Mock(side_effect=RuntimeError("unexpected")))
    with pytest.raises(RuntimeError):
        await bench.lab.close()
    assert link.killed


async def test_a_running_lab_steps_on_its_own():
    async with running_lab([ENGINES["asyncio"]], open_link=FakeWorkers(), hz=50) as lab:
        lab.set_target(lab.lanes[0], 1_000)
        await until(lambda: lab.lanes[0].live == 1_000 and lab.fleet.local.meter.own, "target and own memory")
        assert lab.fleet.local.meter.own.rss > MIB


# Snapshots.


def test_a_snapshot_of_lanes_that_are_off_has_the_estimates_of_the_catalog():
    limits = [SystemLimit("vm.max_map_count", 65_530, 130)]
    bench = Bench("asyncio", "threads", engines=[UNINSTALLED], limits=limits)
    set_targets(bench, 0)  # leaves the lanes off
    snapshot = bench.lab.snapshot(bench.now)
    assert (bench.lab.fleet.quiet, bench.links.links) == (True, {})
    assert [lane.name for lane in snapshot.lanes] == ["asyncio", "threads", "uninstalled"]
    first, second, third = snapshot.lanes
    assert (first.status.state, first.on, first.live) == (State.OFF, False, 0)
    assert (first.sample.rss, first.sample.rss_per_task, first.cheapest) == (None, None, None)
    each = ENGINES["asyncio"].bytes_per_task
    assert first.status.bytes_per_task == each
    assert first.fit.tasks == pytest.approx((snapshot.budget * OFFERED - IDLE) / (each * MARGIN), rel=0.01)
    assert first.fit.limit == BUDGET
    assert second.fit == Fit(21_800, "vm.max_map_count")
    missing = [lane.status.missing for lane in (first, second, third)]
    assert missing == [None, None, "needs no_such_package: pip install missing"]
    assert (snapshot.total_memory, snapshot.budget) == (0, bench.lab.fleet.budget)
    assert (snapshot.machine.total, snapshot.machine.room) == (16 * GIB, 12 * GIB)


def test_lanes_are_compared_with_the_cheapest_one():
    costs = {"asyncio": Costs(task=1_000), "uvloop": Costs(task=1_500), "threads": Costs(task=16_000)}
    bench = running(*costs, links=FakeWorkers(costs=costs))
    set_targets(bench, 5_000)
    bench.pass_(3)
    lanes = bench.lab.snapshot(bench.now).lanes
    ratios = {lane.name: lane.sample.rss_per_task / lane.cheapest for lane in lanes}
    assert ratios == pytest.approx({"threads": 16, "asyncio": 1, "uvloop": 1.5}, rel=0.01)
    assert all(lane.status.clean for lane in lanes)


def test_the_expected_memory_of_a_task_is_the_catalogs_until_it_is_measured():
    engine = Engine("toy", "", 1_000, traced_factor=2.0)
    bench = Bench(engines=[engine], links=FakeWorkers(costs={"toy": Costs(task=3_000)}), budget=300 * MIB)
    (lane,) = bench.lab.lanes

    def expected():
        return bench.snapshot("toy").status.bytes_per_task

    assert expected() == 1_000
    bench.lab.settings.set_trace(True)
    assert expected() == 2_000
    bench.lab.settings.set_trace(False)
    bench.lab.settings.set_workload("payload:64KiB")
    assert expected() == pytest.approx(1_000 + 65_536, rel=0.005)  # rounded to three digits
    bench.lab.settings.set_workload("hold")
    bench.lab.set_target(lane, 10_000)
    bench.until(lambda: lane.live == 10_000)
    bench.pass_(2)
    assert expected() == pytest.approx(3_000, rel=0.01)
    # The dialog before a target offers the same number, as it counts the memory the worker already has.
    fit = bench.snapshot("toy").fit
    assert fit.tasks == pytest.approx((300 * MIB * OFFERED - (20 << 20)) / 3_000, rel=0.01)
    assert bench.lab.fleet.local.capacity.forecast(lane, 1_000_000).fitting == fit.tasks


def test_a_snapshot_shows_stalled_failed_limited_queueing_and_traced_lanes():
    faults = {"asyncio": [Fault(1.0, silence=60)], "uvloop": [Fault(1.0, Ended("killed by SIGSEGV"))]}
    workers = FakeWorkers({"threads": Costs(most=500)}, faults)
    bench = running("asyncio", "uvloop", "threads", "pool", links=workers, settings=Settings(trace=True))
    for lane in bench.lab.lanes[2:]:
        bench.lab.set_target(lane, 1_000)
    bench.pass_(4)
    stalled, failed, limited, pool = bench.lab.snapshot(bench.now).lanes
    assert (stalled.status.state, stalled.on) == (State.STALLED, True)
    assert 2 < stalled.sample.stalled < 4
    assert (failed.status.state, failed.status.reason) == (State.FAILED, "killed by SIGSEGV")
    assert (failed.on, failed.sample.rss) == (False, None)
    status = limited.status
    assert (status.limit_text, status.target, status.asked) == ("vm.max_map_count (65,530)", 500, 1_000)
    assert (limited.live, limited.sample.threads > 500) == (500, True)
    assert (pool.sample.queued, pool.engine.queues, limited.engine.queues) == (994, True, False)
    assert pool.status.tracing
    assert pool.sample.traced_per_task == pytest.approx(1_700)
    events = {(event.lane, event.severity) for event in bench.lab.events.since(0)}
    assert {("uvloop", "error"), ("threads", "warning"), ("pool", "info")} <= events
    bench.links.faults.clear()
    bench.lab.set_target(bench.lab.lanes[1], 10)
    bench.until(lambda: bench.lab.lanes[1].live == 10)
    bench.lab.stop_all()
    bench.until(lambda: bench.lab.fleet.quiet)
    assert all(lane.idle and lane.state is State.OFF for lane in bench.lab.lanes)


def test_the_load_of_other_programs_is_reported_now_and_during_the_last_growth():
    bench = running("asyncio", "uvloop", links=FakeWorkers(costs={"asyncio": Costs(create_rate=5_000)}))
    first = bench.lab.lanes[0]
    bench.lab.settings.set_workload("hold")
    bench.lab.set_target(first, 5_000)  # keeps one of the two cores busy for a second
    bench.until(lambda: first.live == 5_000)
    bench.pass_(2)
    assert bench.snapshot("asyncio").status.create_others == pytest.approx(0, abs=0.01)
    bench.load.others = 0.75  # half of the cores for that lane, a quarter for other programs
    bench.lab.set_target(first, 10_000)
    bench.until(lambda: first.live == 10_000)
    assert bench.snapshot("asyncio").status.create_others == pytest.approx(0.25, abs=0.05)
    bench.pass_(3)
    assert bench.snapshot("uvloop").sample.others == pytest.approx(0.75)
    assert bench.lab.snapshot(bench.now).machine.busy == pytest.approx(0.75)
    bench.load.others = 0.0
    bench.pass_(2)
    assert bench.snapshot("uvloop").sample.others == 0
    assert bench.snapshot("asyncio").status.create_others == pytest.approx(0.25, abs=0.05)


def test_the_cpu_of_a_new_worker_is_not_counted_as_that_of_other_programs():
    bench, lane, link = running_lane()
    link.cpu_seconds = 50.0
    bench.pass_(3)
    bench.lab.switch(lane, False)
    link.report(end())
    bench.lab.switch(lane, True)
    bench.pass_()
    bench.links.last.start()
    bench.links.last.cpu_seconds = 1.0
    bench.load.others = 0.5  # all of it is the new worker's
    bench.pass_(1)
    assert lane.sample.others == pytest.approx(0, abs=0.01)
