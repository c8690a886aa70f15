"""All lanes together: settings, the memory budget, the event log, the end, and the picture of it all."""

import asyncio

import pytest

from concwatch.lab.catalog import CATALOG, Engine
from concwatch.lab.events import KEPT, EventLog
from concwatch.lab.forecast import IDLE, MARGIN, OFFERED, Fit
from concwatch.lab.lab import Lab
from concwatch.lab.lane_state import State
from concwatch.lab.settings import Settings
from concwatch.links.link import Ended
from concwatch.links.messages import Limit
from concwatch.system.memory import BUDGET
from concwatch.system.walls import Wall
from concwatch.text import plain
from tests.fake import Costs, FakePages, FakeWorkers, Fault
from tests.lab_driver import ENGINES, GIB, Bench, end, hand_bench, standing, tick

MIB = 1 << 20


def running(*names, **arguments):
    """Return a bench all of whose lanes run."""
    bench = Bench(*names, **arguments)
    for lane in bench.lab.lanes:
        bench.lab.switch(lane, True)
    bench.until(lambda: all(lane.state is State.RUNNING for lane in bench.lab.lanes))
    return bench


# Many lanes.


def test_a_lab_starts_with_every_lane_off_and_nothing_started():
    bench = Bench("threads", "asyncio")
    assert [lane.engine.name for lane in bench.lab.lanes] == ["threads", "asyncio"]
    assert all(lane.state is State.OFF for lane in bench.lab.lanes)
    assert bench.lab.quiet
    assert not bench.links.links
    assert bench.lab.budget == int(0.8 * 12 * GIB)


def test_no_target_leaves_a_lane_off():
    bench = Bench("asyncio")
    bench.lab.set_target(bench.lab.lanes[0], 0)
    assert bench.lab.quiet


def test_a_killed_worker_fails_its_own_lane_only():
    faults = {"asyncio": [Fault(1.0, Ended("killed by SIGKILL"))]}
    bench = running("threads", "asyncio", "uvloop", links=FakeWorkers(faults=faults))
    for lane in bench.lab.lanes:
        bench.lab.set_target(lane, 1_000)
    bench.until(lambda: bench.lab.lanes[1].state is State.FAILED)
    bench.pass_(1)
    states = [(lane.state, lane.live) for lane in bench.lab.lanes]
    assert states == [(State.RUNNING, 1_000), (State.FAILED, 0), (State.RUNNING, 1_000)]
    bench.links.faults.clear()
    bench.lab.set_target(bench.lab.lanes[1], 10)
    bench.until(lambda: bench.lab.lanes[1].live == 10)
    assert not bench.lab.quiet


def test_stop_all_switches_every_lane_off():
    bench = running("threads", "asyncio")
    bench.lab.stop_all()
    bench.until(lambda: bench.lab.quiet)
    assert all(lane.idle and lane.state is State.OFF for lane in bench.lab.lanes)


def test_settings_reach_every_lane_also_those_switched_on_later():
    bench = running("threads", "asyncio", "uvloop")
    bench.lab.switch(bench.lab.lanes[2], False)
    bench.until(lambda: bench.lab.lanes[2].idle)
    bench.lab.set_workload("hold")
    bench.lab.set_trace(True)
    bench.lab.set_gc("frozen")
    bench.lab.switch(bench.lab.lanes[2], True)
    bench.until(lambda: bench.lab.lanes[2].state is State.RUNNING)
    for link in bench.links.links.values():
        last = dict(link.sent)
        assert last["workload"] == {"spec": "hold", "word": "hold"}
        assert last["trace"] == {"on": True}
        assert last["gc"] == {"mode": "frozen"}
    assert bench.lab.settings == Settings("hold", True, True, "frozen")


def test_a_workload_that_is_none_changes_nothing():
    bench = running("asyncio")
    sent = len(bench.links.links["asyncio"].sent)
    with pytest.raises(ValueError, match="did you mean"):
        bench.lab.set_workload("slep:3")
    assert bench.lab.settings.workload == "sleep:10"
    assert len(bench.links.links["asyncio"].sent) == sent


def test_the_pool_alone_hears_of_its_threads():
    bench = running("pool", "asyncio")
    bench.lab.set_threads(20)
    assert ("threads", {"count": 20}) in bench.links.links["pool"].sent
    assert not any(name == "threads" for name, _ in bench.links.links["asyncio"].sent)


# The page that tasks fetch.


def fetching(bench, name="asyncio"):
    """Where the lane ``name`` was told to fetch, each time that it was."""
    sent = bench.links.links[name].sent
    return [fields["url"] for command, fields in sent if command == "workload" and "url" in fields]


def test_no_page_is_served_before_tasks_fetch_one():
    bench = running("asyncio")
    bench.lab.set_workload("hold")
    bench.pass_(2)
    assert bench.pages == []
    assert bench.lab.settings.page is None
    assert fetching(bench) == []


def test_tasks_fetch_from_one_server_whose_address_says_how_late():
    bench = running("asyncio", "threads")
    bench.lab.set_workload("http")
    bench.lab.set_workload("http:0.5")
    bench.lab.set_workload("hold")
    bench.lab.set_workload("http")
    (pages,) = bench.pages
    expected = [pages.url(0.15), pages.url(0.5), pages.url(0.15)]
    assert fetching(bench, "asyncio") == fetching(bench, "threads") == expected
    assert bench.lab.settings.page == expected[-1]
    bench.lab.set_target(bench.lab.lanes[0], 100)
    bench.until(lambda: bench.lab.lanes[0].worker.tally.tick.completed >= 500)


def test_a_lab_that_begins_with_fetching_has_its_page_from_the_start():
    bench = running("asyncio", settings=Settings("http:2"))
    assert fetching(bench) == [bench.pages[0].url(2.0)]


def test_a_page_server_that_dies_is_told_once_and_the_next_target_starts_another():
    bench = running("asyncio", settings=Settings("http"))
    first = bench.pages[0]
    first.how = "killed by SIGKILL"
    bench.pass_(3)
    assert bench.texts("error") == ["page server killed by SIGKILL: the next target starts another"]
    assert first.closed
    assert len(bench.pages) == 1
    bench.lab.set_target(bench.lab.lanes[0], 10)
    second = bench.pages[1]
    assert fetching(bench) == [first.url(0.15), second.url(0.15)]
    bench.until(lambda: bench.lab.lanes[0].live == 10)
    second.how = "exited with status 1"
    bench.lab.switch(bench.lab.lanes[0], False)
    bench.until(lambda: bench.lab.lanes[0].idle)
    bench.lab.switch(bench.lab.lanes[0], True)  # asked before anybody looked
    bench.until(lambda: bench.lab.lanes[0].state is State.RUNNING)
    assert fetching(bench) == [bench.pages[2].url(0.15)]


def refuse():
    raise ValueError("no page today")


def test_where_no_page_can_be_served_nothing_is_changed():
    bench = running("asyncio", open_pages=refuse)
    with pytest.raises(ValueError, match="no page today"):
        bench.lab.set_workload("http")
    assert bench.lab.settings == Settings()
    with pytest.raises(ValueError, match="no page today"):
        Bench("asyncio", settings=Settings("http"), open_pages=refuse)


def test_a_page_that_cannot_be_served_again_is_told_and_the_lane_goes_on():
    pages = []

    def once():
        if pages:
            refuse()
        pages.append(FakePages())
        return pages[0]

    bench = running("asyncio", settings=Settings("http"), open_pages=once)
    pages[0].how = "killed by SIGKILL"
    bench.lab.set_target(bench.lab.lanes[0], 10)
    assert bench.texts("error")[-1] == "no page today"
    bench.until(lambda: bench.lab.lanes[0].live == 10)


async def test_the_page_server_ends_with_the_lab():
    bench = running("asyncio", settings=Settings("http"))
    await bench.lab.close()
    assert bench.pages[0].closed


# The memory budget.


def over_budget(*names, budget=100 * MIB, **arguments):
    """Return a bench whose lanes all wanted a million tasks and were stopped by the budget."""
    bench = running(*names, budget=budget, **arguments)
    for lane in bench.lab.lanes:
        bench.lab.set_target(lane, 1_000_000)
    bench.until(lambda: all(lane.worker.goal.limit for lane in bench.lab.lanes))
    bench.pass_(3)
    return bench


@pytest.mark.parametrize("names", [("asyncio",), ("pool", "asyncio", "uvloop")])
def test_growth_stops_everywhere_at_the_budget_and_nothing_dies(names):
    bench = over_budget(*names)
    assert 0.9 * bench.lab.budget < bench.lab.total_rss <= bench.lab.budget
    for lane in bench.lab.lanes:
        assert (lane.state, lane.worker.goal.limit.wall) == (State.RUNNING, "memory budget")
        assert 0 < lane.live == lane.target < 1_000_000
    told = [text for text in bench.texts("warning") if text.startswith("memory budget: workers take ")]
    assert len(told) == 1
    assert told[0].endswith("of 100 MiB: growth stopped, what stands goes on")


def test_what_stands_at_the_budget_is_still_refilled():
    bench = running("asyncio", "uvloop", budget=100 * MIB, settings=Settings("sleep:1"))
    for lane in bench.lab.lanes:
        bench.lab.set_target(lane, 1_000_000)
    bench.until(lambda: all(lane.worker.goal.limit for lane in bench.lab.lanes))
    standing = [lane.target for lane in bench.lab.lanes]
    completed = bench.lab.lanes[0].worker.tally.tick.completed
    bench.pass_(20)
    assert [lane.target for lane in bench.lab.lanes] == standing
    assert bench.lab.lanes[0].worker.tally.tick.completed > completed + standing[0]
    assert len([text for text in bench.texts("warning") if text.startswith("memory budget:")]) == 1


def test_growing_goes_on_when_tasks_were_taken_away():
    bench = over_budget("asyncio", "uvloop")
    first, second = bench.lab.lanes
    bench.lab.switch(second, False)
    bench.until(lambda: second.idle)
    more = first.live + 5_000
    bench.lab.set_target(first, more)
    bench.until(lambda: first.live == more)
    assert first.worker.goal.limit is None


def test_a_lane_switched_off_and_on_at_the_budget_grows_again_and_is_stopped_again():
    bench = over_budget("asyncio", "uvloop")
    first, second = bench.lab.lanes
    held = first.live
    bench.lab.switch(second, False)
    for on in (False, True):
        bench.lab.switch(first, on)
    bench.until(lambda: first.live > held and first.worker.goal.limit is not None)
    bench.pass_()
    assert (first.status.asked, first.live == first.target > held) == (1_000_000, True)


def test_lanes_that_start_anew_with_heavier_tasks_are_all_told_where_they_end():
    bench = running("asyncio", "uvloop", "threads", budget=120 * MIB)
    for lane, tasks in zip(bench.lab.lanes, (8_000, 8_000, 1_500), strict=True):
        bench.lab.set_target(lane, tasks)
    bench.until(lambda: all(lane.worker.goal.reached for lane in bench.lab.lanes))
    bench.lab.set_trace(True)
    bench.pass_(0.3)  # they end, and others are started
    bench.until(lambda: all(lane.worker.goal.reached or lane.worker.goal.limit for lane in bench.lab.lanes))
    assert any(lane.worker.goal.limit for lane in bench.lab.lanes)
    assert bench.lab.total_rss <= bench.lab.budget


def test_a_new_target_at_the_budget_is_stopped_again_and_told_again():
    bench = over_budget("asyncio")
    (lane,) = bench.lab.lanes
    bench.lab.set_target(lane, 900_000)
    assert lane.worker.goal.limit is None
    bench.until(lambda: lane.worker.goal.limit is not None)
    bench.pass_(2)
    assert bench.lab.total_rss <= bench.lab.budget
    assert len([text for text in bench.texts("warning") if text.startswith("memory budget:")]) == 2


def test_heavier_tasks_in_place_of_what_stands_are_watched_too():
    bench = over_budget("asyncio")
    (lane,) = bench.lab.lanes
    lane.worker.goal.limit = None
    bench.lab.set_workload("payload:4096")
    bench.until(lambda: lane.worker.goal.limit is not None)
    bench.pass_(2)
    assert bench.lab.total_rss < 1.25 * bench.lab.budget


def test_a_lane_that_waits_for_its_worker_is_held_back_too():
    bench, lane = hand_bench(budget=MIB)
    bench.lab.set_target(lane, 5_000)
    bench.pass_()
    assert (lane.state, lane.target, lane.worker.goal.limit.wall) == (State.STARTING, 0, "memory budget")
    assert bench.texts("warning")[0] == "memory budget (1 MiB) reached at 0 of 5,000 tasks"
    bench.links.last.stand()
    bench.pass_()
    assert lane.state is State.RUNNING
    assert "target" not in bench.links.last.names()


def test_a_halt_is_sent_once_until_the_worker_answers():
    bench, lane, link = standing(budget=50 * MIB)
    bench.lab.set_target(lane, 5_000)
    link.rss = 60 * MIB
    bench.pass_(1)
    assert link.names().count("halt") == 1
    link.say(tick(2, 700), Limit(700, 5_000, "memory budget", 50 * MIB))
    bench.pass_()
    assert (lane.target, lane.worker.goal.limit.standing) == (700, 700)


def test_tasks_that_come_faster_than_the_lab_looks_do_not_slip_past_the_budget():
    bench = over_budget("asyncio")
    (lane,) = bench.lab.lanes
    for _ in range(20):
        bench.lab.set_target(lane, lane.target + 5_000)
        bench.pass_(0.5)
    assert bench.lab.total_rss <= bench.lab.budget
    assert lane.live == lane.target
    assert "growth stopped" in bench.texts("warning")[-2]


# Events.


def test_events_count_up_and_carry_time_lane_and_weight():
    bench = running("asyncio", "threads", links=FakeWorkers(costs={"threads": Costs(most=500)}))
    for lane in bench.lab.lanes:
        bench.lab.set_target(lane, 1_000)
    bench.pass_(2)
    bench.lab.set_trace(True)
    events = list(bench.lab.events.since(0))
    assert [event.number for event in events] == list(range(1, len(events) + 1))
    assert [event.time for event in events] == sorted(event.time for event in events)
    assert 0 < events[0].time < 5
    assert {(event.lane, event.severity) for event in events} == {
        ("asyncio", "info"),
        ("threads", "info"),
        ("threads", "warning"),
        ("", "info"),
    }
    assert bench.lab.events.count == len(events)


def test_a_log_gives_what_is_new_and_forgets_the_oldest():
    log = EventLog()
    for number in range(1, KEPT + 501):
        log.add(number, "", str(number))
    assert log.count == KEPT + 500
    assert [event.number for event in log.since(KEPT + 498)] == [KEPT + 499, KEPT + 500]
    assert [event.number for event in log.since(0)] == list(range(501, KEPT + 501))
    assert not log.since(log.count)
    assert not log.since(log.count + 7)


def test_an_event_cannot_command_a_terminal():
    assert plain("a\tb\nµ → ᵗ") == "a\tb\nµ → ᵗ"
    assert plain("\x1b]0;x\x07\r\x9b1m") == "�]0;x���1m"


# Running and ending.


async def test_closing_leaves_no_worker_also_of_lanes_that_are_starting_or_failed():
    faults = {"pool": [Fault(0.2, Ended("gone"))]}
    bench = Bench("threads", "pool", "asyncio", links=FakeWorkers(faults=faults))
    first, second, third = bench.lab.lanes
    bench.lab.set_target(first, 100)
    bench.lab.switch(second, True)
    bench.until(lambda: second.state is State.FAILED)
    bench.lab.switch(third, True)
    await bench.lab.close()
    assert all(lane.idle for lane in bench.lab.lanes)
    assert bench.lab.quiet


async def test_closing_a_lab_that_never_ran_is_nothing():
    bench = Bench("threads")
    await bench.lab.close()
    assert bench.lab.quiet


async def test_closing_kills_a_worker_that_does_not_listen(monkeypatch):
    monkeypatch.setattr("concwatch.lab.lab.CLOSE_LIMIT", 0.05)
    monkeypatch.setattr("concwatch.lab.lab.KILL_LIMIT", 0.0)  # as on a machine that stood still for so long
    bench = running("asyncio", links=FakeWorkers(faults={"asyncio": [Fault(1.0, silence=1e9)]}))
    bench.until(lambda: bench.lab.lanes[0].state is State.STALLED)
    await bench.lab.close()  # on a clock that stands still
    assert bench.lab.lanes[0].idle


async def test_closing_ends_also_where_not_even_killing_helps(monkeypatch):
    monkeypatch.setattr("concwatch.lab.lab.CLOSE_LIMIT", 0.05)
    monkeypatch.setattr("concwatch.lab.lab.KILL_LIMIT", 0.05)
    bench, lane, link = standing()
    await asyncio.wait_for(bench.lab.close(), 30)
    assert link.killed
    assert not lane.idle


async def test_a_crash_while_closing_leaves_no_worker(monkeypatch):
    bench, _, link = standing()

    def fall():
        raise RuntimeError("what nobody foresaw")

    monkeypatch.setattr(bench.lab, "step", fall)
    with pytest.raises(RuntimeError):
        await bench.lab.close()
    assert link.killed


async def test_a_running_lab_steps_by_itself():
    lab = Lab([ENGINES["asyncio"]], open_link=FakeWorkers(), hz=50)
    clock = asyncio.create_task(lab.run())
    try:
        lab.set_target(lab.lanes[0], 1_000)
        async with asyncio.timeout(30):
            while lab.lanes[0].live < 1_000 or lab.here.meter.own is None:  # noqa: ASYNC110  # a lab has no event for it
                await asyncio.sleep(0.01)
    finally:
        clock.cancel()
        await lab.close()
    assert lab.here.meter.own.rss > MIB


# Snapshots.


def test_a_snapshot_of_lanes_that_are_off_says_what_the_catalog_knows():
    ghost = Engine("ghost", "", 1, needs=("no_such_package",), install="pip install ghost")
    bench = Bench("asyncio", "threads", engines=[ghost], walls=[Wall("vm.max_map_count", 65_530, 130)])
    snapshot = bench.lab.snapshot(bench.now)
    assert [lane.name for lane in snapshot.lanes] == ["asyncio", "threads", "ghost"]
    first, second, _ = snapshot.lanes
    assert (first.status.state, first.on, first.live) == (State.OFF, False, 0)
    assert (first.sample.rss, first.sample.rss_per_task, first.cheapest) == (None, None, None)
    each = ENGINES["asyncio"].bytes_per_task
    assert first.status.bytes_per_task == each
    assert first.fit.tasks == pytest.approx((snapshot.budget * OFFERED - IDLE) / (each * MARGIN), rel=0.01)
    assert first.fit.wall == BUDGET
    assert second.fit == Fit(21_800, "vm.max_map_count")
    assert [lane.status.missing for lane in snapshot.lanes] == [
        None,
        None,
        "needs no_such_package: pip install ghost",
    ]
    assert (snapshot.total_rss, snapshot.budget) == (0, bench.lab.budget)
    assert (snapshot.machine.total, snapshot.machine.room) == (16 * GIB, 12 * GIB)


def test_the_cheapest_lane_is_the_measure_of_the_others():
    costs = {"asyncio": Costs(task=1_000), "uvloop": Costs(task=1_500), "threads": Costs(task=16_000)}
    bench = running("threads", "asyncio", "uvloop", links=FakeWorkers(costs=costs))
    for lane in bench.lab.lanes:
        bench.lab.set_target(lane, 5_000)
    bench.pass_(3)
    lanes = bench.lab.snapshot(bench.now).lanes
    ratios = {lane.name: lane.sample.rss_per_task / lane.cheapest for lane in lanes}
    assert ratios == pytest.approx({"threads": 16, "asyncio": 1, "uvloop": 1.5}, rel=0.01)
    assert all(lane.status.clean for lane in lanes)


def test_what_a_task_is_expected_to_take_goes_by_the_catalog_then_by_what_was_measured():
    engine = Engine("toy", "", 1_000, traced_factor=2.0)
    bench = Bench(engines=[engine], links=FakeWorkers(costs={"toy": Costs(task=3_000)}), budget=300 * MIB)
    (lane,) = bench.lab.lanes

    def expected():
        return bench.snapshot("toy").status.bytes_per_task

    assert expected() == 1_000
    bench.lab.set_trace(True)
    assert expected() == 2_000
    bench.lab.set_trace(False)
    bench.lab.set_workload("payload:64KiB")
    assert expected() == pytest.approx(1_000 + 65_536, rel=0.005)  # three digits
    bench.lab.set_workload("hold")
    bench.lab.set_target(lane, 10_000)
    bench.until(lambda: lane.live == 10_000)
    bench.pass_(2)
    assert expected() == pytest.approx(3_000, rel=0.01)
    # The same number as the question before a target, which counts what the worker takes already as room.
    fit = bench.snapshot("toy").fit
    assert fit.tasks == pytest.approx((300 * MIB * OFFERED - (20 << 20)) / 3_000, rel=0.01)
    assert bench.lab.here.capacity.forecast(lane, 1_000_000).fitting == fit.tasks


def test_a_snapshot_shows_a_stall_a_wall_and_a_failure():
    faults = {"asyncio": [Fault(1.0, silence=60)], "uvloop": [Fault(1.0, Ended("killed by SIGSEGV"))]}
    costs = {"threads": Costs(most=500)}
    bench = running("asyncio", "uvloop", "threads", links=FakeWorkers(costs, faults))
    bench.lab.set_target(bench.lab.lanes[2], 1_000)
    bench.pass_(4)
    stalled, failed, limited = bench.lab.snapshot(bench.now).lanes
    assert (stalled.status.state, stalled.on) == (State.STALLED, True)
    assert 2 < stalled.sample.stalled < 4
    assert (failed.status.state, failed.status.reason, failed.on, failed.sample.rss) == (
        State.FAILED,
        "killed by SIGSEGV",
        False,
        None,
    )
    status = limited.status
    assert (status.wall_text, status.target, status.asked) == ("vm.max_map_count (65,530)", 500, 1_000)
    assert limited.live == 500


def test_a_snapshot_shows_queues_threads_and_tracing():
    bench = running("pool", "threads", settings=Settings(trace=True))
    for lane in bench.lab.lanes:
        bench.lab.set_target(lane, 1_000)
    bench.pass_(2)
    pool, threads = bench.lab.snapshot(bench.now).lanes
    assert (pool.sample.queued, pool.engine.queues, threads.engine.queues) == (994, True, False)
    assert threads.sample.threads > 1_000
    assert pool.status.tracing
    assert pool.sample.traced > 0
    assert pool.sample.traced_per_task == pytest.approx(1_700)


def test_others_are_told_as_they_are_now_and_as_they_were_while_the_last_target_was_created():
    bench = running("asyncio", "uvloop", links=FakeWorkers(costs={"asyncio": Costs(create_rate=5_000)}))
    first = bench.lab.lanes[0]
    bench.lab.set_workload("hold")
    bench.lab.set_target(first, 5_000)  # takes this lane a second of one core, of two
    bench.until(lambda: first.live == 5_000)
    bench.pass_(2)
    assert bench.snapshot("asyncio").status.create_others == pytest.approx(0, abs=0.01)
    bench.load.others = 0.75  # that lane's own half of the cores, and a quarter
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


def test_the_cpu_of_a_worker_that_has_just_begun_is_not_that_of_others():
    bench, lane, link = standing()
    link.cpu_seconds = 50.0
    bench.pass_(3)
    bench.lab.switch(lane, False)
    link.say(end())
    bench.lab.switch(lane, True)
    bench.pass_()
    bench.links.last.stand()
    bench.links.last.cpu_seconds = 1.0
    bench.load.others = 0.5  # all of it by the new worker
    bench.pass_(1)
    assert lane.sample.others == pytest.approx(0, abs=0.01)


def test_every_lane_has_its_place_in_a_snapshot_which_does_not_change_when_time_goes_on():
    bench = running(*(engine.name for engine in CATALOG if engine.ways or not engine.missing()))
    seen = []
    bench.lab.observers.append(seen.append)
    bench.lab.set_target(bench.lab.lanes[0], 1_000)
    bench.pass_(3)
    assert len(seen) == 30
    assert all(lane.on for lane in seen[0].lanes)
    assert [snapshot.lanes[0].live for snapshot in (seen[0], seen[-1])] == [500, 1_000]
    assert seen[-1].elapsed == pytest.approx(bench.now - bench.lab.began)
