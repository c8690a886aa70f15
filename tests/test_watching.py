"""Watched processes as lanes: their start and end, the groups of their tasks, leaks, and the report."""

import random

import pytest

from concwatch.lab.growth import WINDOW
from concwatch.lab.snapshot import State
from concwatch.links.agent_messages import AgentEnd, AgentTick, WaitPlace, Waits
from concwatch.links.link import Garbage
from concwatch.watch.group import GroupMemory
from concwatch.watch.ranking import merge_groups, ranked
from concwatch.watch.report import WatchRecord
from tests.watch_driver import WatchBench


def test_a_process_whose_agent_connects_is_a_lane_without_a_target():
    bench = WatchBench()
    agent = bench.agent(40)
    (lane,) = bench.watching.snapshot().lanes
    assert (lane.name, lane.status.state, lane.status.can) == ("app.py 40", State.RUNNING, ("waits",))
    assert agent.sent == [("rate", {"hz": 10.0})]
    assert bench.texts() == ["app.py 40: watched: CPython 3.11.7, pid 40"]
    agent.holds(1.0, fetch_page=(3, 10))
    bench.pass_()
    (lane,) = bench.watching.snapshot().lanes
    assert (lane.sample.rss, lane.live, lane.sample.created, lane.sample.completed) == (40 << 20, 3, 10, 7)


def test_a_process_that_ends_stays_as_a_lane_and_another_with_its_pid_is_a_new_one():
    bench = WatchBench()
    agent = bench.agent(40)
    agent.holds(1.0, fetch_page=(2, 2))
    agent.say(AgentEnd())
    agent.ends()
    bench.running.clear()
    bench.pass_(1)
    assert bench.texts()[-1] == "app.py 40: ended"
    bench.agent(40, "other.py")
    first, second = bench.watching.lanes
    assert (first.alive, second.alive, second.name) == (False, True, "other.py 40")
    assert first.groups


def test_a_silent_agent_is_a_stall_and_without_it_a_process_is_seen_from_outside():
    bench = WatchBench()
    agent = bench.agent(40)
    agent.holds(1.0, fetch_page=1)
    bench.pass_(2)
    assert bench.watching.lanes[0].state is State.STALLED
    agent.ends()
    bench.pass_()
    assert (bench.watching.lanes[0].how, bench.watching.lanes[0].alive) == ("outside", True)


def test_garbage_is_logged_once_and_the_process_goes_on():
    bench = WatchBench()
    agent = bench.agent(40)
    agent.say(*[Garbage("not a line of an agent's: 'x'")] * 50)
    agent.holds(1.0, fetch_page=5)
    bench.pass_()
    assert bench.texts()[1:] == ["app.py 40: not a line of an agent's: 'x'"]
    assert bench.watching.lanes[0].live == 5


def leak_for(bench, agent, seconds):
    for second in range(seconds * 2):
        agent.holds(second / 2, steady=(30 + second % 3, 100 * second), forgotten=10 + second * 2)
        bench.pass_(0.5)


def test_a_leak_is_logged_once_with_where_its_tasks_wait():
    bench = WatchBench()
    agent = bench.agent(40)
    leak_for(bench, agent, 45)
    assert ("waits", {"group": 2}) in agent.sent
    agent.say(Waits(2, 100, 100, (WaitPlace("/srv/app.py:22", 100),)))
    leak_for(bench, agent, 5)
    logged = [text for text in bench.texts() if "grows" in text]
    assert len(logged) == 1
    assert logged[0].startswith("app.py 40: forgotten (srv/app.py:20) grows by 240 a minute, 95 % ")


def test_groups_of_all_processes_are_joined_by_function_and_ranked():
    bench = WatchBench()
    one, other = bench.agent(40), bench.agent(41)
    for at in range(3):
        one.holds(float(at), fetch_page=(5, 10), parse=1)
        other.holds(float(at), fetch_page=(7, 20), parse=1)
        bench.pass_()
    groups = [group.status for lane in bench.watching.lanes for group in lane.groups.values()]
    rows = ranked(merge_groups(groups), lambda group: group.live, "", 50)
    assert [(row.name, row.live, row.created, row.ended) for row in rows] == [
        ("fetch_page", 12, 30, 18),
        ("parse", 2, 2, 0),
    ]
    assert [row.name for row in ranked(rows, lambda group: group.live, "PARSE", 50)] == ["parse"]
    (rest,) = ranked(rows, lambda group: group.live, "", 1)
    assert (rest.name, rest.live) == ("2 other coroutines", 14)


def test_the_report_has_the_last_figures_of_each_process():
    bench = WatchBench()
    record = WatchRecord(bench.watching)
    agent = bench.agent(40)
    agent.holds(1.0, fetch_page=(3, 10))
    agent.say(AgentTick(2.0, created=10, live=3, ended=7, failed=2), AgentEnd())
    bench.pass_()
    report = record.as_json(["python", "app.py"], 0, 1.0)
    (process,) = report["processes"]
    assert (process["how"], process["created"], process["live_at_end"], process["failed"]) == (
        "agent",
        10,
        3,
        2,
    )
    assert process["rss_peak"] == 40 << 20
    (group,) = process["groups"]
    assert (group["name"], group["line"], group["live"], group["leak"]) == ("fetch_page", 10, 3, False)


def test_memory_that_grows_and_shrinks_with_the_tasks_of_a_group_is_estimated():
    moved, other = GroupMemory(), GroupMemory()
    noise = random.Random(1)
    for at in range(40):
        live = 1_000 + 50 * (at % 8)
        moved.add(at * WINDOW, live, (64 << 20) + 4_096 * live + noise.randrange(1 << 12))
        other.add(at * WINDOW, noise.randrange(1_000), 64 << 20)
    assert moved.at(1_000) == pytest.approx(4_096_000, rel=0.01)
    assert other.at(1_000) is None
