"""Watched processes as lanes: their start and end, the groups of their tasks, leaks, and the report."""

import random
import re
import subprocess
import sys

import pytest
from msgspec import structs

from concwatch.links.agent_messages import (
    AgentEnd,
    AgentErrorKind,
    AgentErrors,
    AgentTick,
    AgentWaiting,
    GroupReport,
    Groups,
    LineCount,
    ThreadCount,
    WaitPlace,
    Waits,
)
from concwatch.links.link import Ended, Garbage
from concwatch.measure.watch_report import parse_watch_expectation, watch_report
from concwatch.monitor.groups.group_memory import GroupMemory
from concwatch.monitor.groups.ranking import COMBINED, merge_groups, ranked
from concwatch.monitor.metrics.state import State
from concwatch.monitor.processes import watched_host as host
from concwatch.monitor.verdicts.growth import WINDOW
from concwatch.portable.machine.process_reader import LINUX
from concwatch.ui.widgets.lanes.process_list import details
from tests.watch_driver import FakeAgent, WatchBench


def test_a_process_whose_agent_connects_becomes_a_lane():
    bench = WatchBench()
    agent = bench.agent(40)
    (lane,) = bench.watching.snapshot().lanes
    assert (lane.name, lane.status.state) == ("app.py 40", State.RUNNING)
    assert lane.status.can == ("waits", "profile")
    assert agent.sent == [("rate", {"hz": 10.0})]
    assert bench.texts() == ["app.py 40: watched: CPython 3.11.7, pid 40"]
    agent.report_groups(1.0, fetch_page=(3, 10))
    bench.advance()
    (lane,) = bench.watching.snapshot().lanes
    assert (lane.sample.rss, lane.live, lane.sample.created, lane.sample.completed) == (40 << 20, 3, 10, 7)


def test_an_ended_process_keeps_its_lane_and_a_reused_pid_gets_a_new_one():
    bench = WatchBench()
    agent = bench.agent(40)
    agent.report_groups(1.0, fetch_page=(2, 2))
    agent.report(AgentEnd())
    agent.disconnect()
    bench.running.clear()
    bench.advance(1)
    assert bench.texts()[-1] == "app.py 40: ended"
    bench.agent(40, "other.py")
    first, second = bench.watching.lanes
    assert (first.alive, second.alive, second.name) == (False, True, "other.py 40")
    assert first.reports.groups


def test_a_process_that_executes_another_program_is_renamed():
    bench = WatchBench()
    bench.running.add(50)
    bench.host.names[50] = "app.py"
    bench.advance(1)
    (lane,) = bench.watching.lanes
    assert (lane.name, lane.current.how) == ("app.py 50", "starting")
    bench.host.names[50] = "sleep"
    bench.advance(2)
    assert (lane.name, lane.current.how, lane.current.reason) == (
        "sleep 50",
        "outside",
        "sleep is not Python",
    )


@pytest.mark.parametrize(("name", "severity"), [("app.py", "warning"), ("sleep", "info")])
def test_a_missing_agent_is_a_warning_unless_the_program_is_in_another_language(name, severity):
    bench = WatchBench()
    bench.running.add(50)
    bench.host.names[50] = name
    bench.advance(3)
    assert [event.severity for event in bench.watching.events.since(0)] == [severity]


def test_a_silent_agent_stalls_its_lane_and_a_lost_one_leaves_it_measured_from_outside():
    bench = WatchBench()
    agent = bench.agent(40)
    agent.report_groups(1.0, fetch_page=1)
    bench.advance(2)
    assert bench.watching.lanes[0].current.state is State.STALLED
    agent.disconnect()
    bench.advance()
    assert (bench.watching.lanes[0].current.how, bench.watching.lanes[0].alive) == ("outside", True)


def report_of(bench):
    (process,) = watch_report(bench.watching.snapshot(), ["python", "app.py"], None)["processes"]
    return process


def test_the_tasks_of_a_process_that_continues_without_its_agent_are_unknown():
    bench = WatchBench()
    agent = bench.agent(40)
    agent.report_groups(1.0, fetch_page=(3, 10))
    agent.report(AgentTick(1.1, created=10, live=3, threads=(ThreadCount("work", 5),)))
    bench.advance()
    bench.host.names[40] = "app.py"
    agent.disconnect()
    for _ in range(2):
        bench.advance()
        (lane,) = bench.watching.snapshot().lanes
        assert (lane.on, lane.sample.live, lane.sample.created, lane.sample.rss) == (
            True,
            None,
            None,
            40 << 20,
        )
        assert (lane.groups, lane.resources, lane.tick) == ((), (), None)
        process = report_of(bench)
        assert [process[name] for name in ("live", "created", "groups", "thread_targets")] == [
            None,
            None,
            [],
            [],
        ]
        bench.advance(3)
    assert lane.name == "app.py 40"
    bench.running.clear()
    bench.host.names.clear()
    bench.advance(1)
    assert report_of(bench)["live"] is None


def test_a_process_that_executes_a_program_in_another_language_ends_and_that_has_a_lane_of_its_own():
    bench = WatchBench()
    agent = bench.agent(40)
    agent.report_groups(1.0, fetch_page=(3, 10))
    bench.advance()
    bench.host.names[40] = "sleep"
    agent.disconnect()
    for _ in range(6):
        bench.advance(1)
    first, second = watch_report(bench.watching.snapshot(), ["python", "app.py"], None)["processes"]
    assert (first["name"], first["reason"], first["live"]) == ("app.py", "it executed another program", None)
    assert (first["created"], first["ended"], first["groups"][0]["created"]) == (10, 7, 10)
    assert {"created", "ended"} <= set(first["at_least"])
    assert (second["name"], second["how"], second["runtime"]) == ("sleep", "outside", None)
    assert (second["created"], second["live_peak"], second["groups"]) == (None, None, [])


def end_of_a_process(how):
    """Return the report on a process that has ended, or is ended since the time is up, and its groups."""
    bench = WatchBench()
    agent = bench.agent(40)
    for second in range(3):
        agent.report_groups(float(second), fetch_page=(3, 10 + second))
        bench.advance(1)
    if how == "exited":
        agent.report(AgentEnd())
    elif how == "time is up":
        bench.watching.end_time()
    agent.disconnect()
    bench.advance(0.2)
    bench.watching.lanes[0].readings.reader.rss = 1 << 20  # of another program that it has executed
    bench.advance(0.2)
    bench.running.clear()
    bench.advance(1)
    (lane,) = bench.watching.snapshot().lanes
    return report_of(bench), [group.status for group in lane.groups]


OF_THEN = ("live", "retained", "created_per_second", "oldest")


def test_a_killed_process_has_its_last_counts_and_no_current_figures():
    process, shown = end_of_a_process("killed")
    assert [process[name] for name in ("live", "retained", "queued", "live_at_end")] == [None] * 4
    assert [process[name] for name in ("created", "ended", "rss_last")] == [12, 9, 40 << 20]
    assert 2 < process["as_of"] < 3
    assert {"created", "ended", "left_over"} <= set(process["at_least"])
    for group in (*process["groups"], *map(structs.asdict, shown)):
        assert [group[name] for name in (*OF_THEN, "live_at_end")] == [None] * 5
        assert {"created", "ended"} <= set(group["at_least"])


def test_a_process_that_reported_its_exit_has_exact_counts():
    process, shown = end_of_a_process("exited")
    assert (process["live"], process["live_at_end"], process["at_least"]) == (3, 3, ["live_peak"])
    for group in (*process["groups"], *map(structs.asdict, shown)):
        assert [group[name] for name in ("live", "live_at_end", "created_per_second")] == [3, 3, None]


def test_a_process_ended_by_seconds_keeps_its_figures_of_that_moment():
    process, shown = end_of_a_process("time is up")
    assert (process["live"], process["live_at_end"], process["at_least"]) == (3, None, ["live_peak"])
    assert process["left_over"] is None  # its main coroutine was not done
    for group in (*process["groups"], *map(structs.asdict, shown)):
        assert [group[name] for name in ("live", "created")] == [3, 12]
        assert group["created_per_second"] > 0


def test_a_process_that_ends_just_after_its_agent_has_connected_has_one_lane():
    bench = WatchBench()
    bench.host.names[41] = "python"
    bench.running.add(41)
    bench.advance(1)
    agent = FakeAgent(41)
    agent.report_groups(1.0, job=(0, 3))
    agent.report(AgentEnd())
    agent.disconnect()

    def family():
        """End the process, whose agent has connected since connections were accepted."""
        bench.host.new.append(agent)
        bench.running.clear()
        bench.host.family = list
        return ()

    bench.host.family = family
    bench.advance(2)
    (lane,) = bench.watching.snapshot().lanes
    assert (lane.process.created, lane.process.live_at_end) == (3, 0)


def test_an_agent_that_reconnects_continues_with_its_groups():
    bench = WatchBench()
    first, second = bench.agent(40), FakeAgent(40)
    first.report_groups(1.0, fetch_page=(3, 10))
    bench.advance()
    first.disconnect()
    bench.advance()
    assert not bench.watching.lanes[0].reports.groups
    bench.host.new.append(second)
    bench.advance()
    (lane,) = bench.watching.lanes
    assert [group.report.live for group in lane.reports.groups.values()] == [3]


def test_the_figures_of_a_process_in_a_report_are_those_of_its_groups():
    bench = WatchBench()
    agent = bench.agent(40)
    agent.report_groups(1.0, fetch_page=(3, 10), parse=(1, 2))
    later = AgentTick(1.4, created=20, live=9, ended=8, scan_time=1.3, scan_created=17, since=0, missed=5)
    agent.report(later)
    bench.advance()
    process = report_of(bench)
    assert [process[name] for name in ("created", "live", "ended")] == [12 + 5, 4, 8 + 5]
    (lane,) = bench.watching.snapshot().lanes  # what is drawn ten times a second is consistent in itself
    assert (lane.sample.created, lane.sample.live, lane.sample.completed) == (17, 9, 8)


def test_the_total_of_pss_is_known_if_that_of_each_process_is():
    bench = WatchBench()
    for pid, pss in ((40, 7 << 20), (41, 5 << 20)):
        bench.agent(pid)
        bench.watching.lanes[-1].readings.reader.pss = pss
        bench.advance()
    processes = watch_report(bench.watching.snapshot(), [], None)["processes"]
    assert [process["pss"] for process in processes] == [7 << 20, 5 << 20]
    assert bench.watching.snapshot().total_pss == 12 << 20
    bench.agent(42)  # its PSS cannot be read
    snapshot = bench.watching.snapshot()
    assert (snapshot.lanes[2].sample.pss, snapshot.total_pss) == (None, None)


FORKS = """
import os, signal
from concwatch.portable.machine.process_reader import proportional_memory
from concwatch.system.process import Sampler
shared = bytearray(b"x") * (64 << 20)
pid = os.fork()
if not pid:
    signal.pause()
print(Sampler().read().rss - proportional_memory(os.getpid()), proportional_memory(1 << 22))
os.kill(pid, signal.SIGKILL)
"""


@pytest.mark.real
@pytest.mark.skipif(not LINUX, reason="only Linux has it")
def test_memory_that_is_shared_is_divided():
    done = subprocess.run([sys.executable, "-c", FORKS], capture_output=True, text=True, check=True)
    saved, unknown = done.stdout.split()
    assert int(saved) > 20 << 20
    assert unknown == "None"


def test_garbage_is_logged_once_and_later_reports_count():
    bench = WatchBench()
    agent = bench.agent(40)
    agent.report(*[Garbage("not a line of an agent's: 'x'")] * 50)
    agent.report_groups(1.0, fetch_page=5)
    bench.advance()
    assert bench.texts()[1:] == ["app.py 40: not a line of an agent's: 'x'"]
    assert bench.watching.lanes[0].reports.live == 5


def report_a_leak(bench, agent, seconds, waits=None):
    """Report a steady group, and one that gains four tasks a second; answer ``waits`` where they wait."""
    for second in range(seconds * 2):
        agent.report_groups(second / 2, steady=(30 + second % 3, 100 * second), forgotten=10 + second * 2)
        bench.advance(0.5)
        if waits is not None and ("waits", {"group": 2}) in agent.sent:
            agent.report(waits)


def test_a_leak_is_logged_once_with_its_growth():
    bench = WatchBench()
    report_a_leak(
        bench, bench.agent(40), 50, Waits(2, 100, 100, (WaitPlace("/srv/app.py:22", 100),), sampled=50)
    )
    (logged,) = [text for text in bench.texts() if "grows" in text]
    assert logged.startswith("app.py 40: leak: forgotten (srv/app.py:20) grows by 240 a minute, 95 % ")
    assert logged.endswith("; 100 wait at srv/app.py:22")


def test_groups_of_all_processes_are_merged_by_function_and_ranked():
    bench = WatchBench()
    first, second = bench.agent(40), bench.agent(41)
    for at in range(3):
        first.report_groups(float(at), fetch_page=(5, 10), parse=1)
        second.report_groups(float(at), fetch_page=(7, 20), parse=1)
        bench.advance()
    groups = [group for lane in bench.watching.snapshot().lanes for group in lane.groups]
    rows = ranked(merge_groups(groups), lambda group: group.figure("live"), "", 50)
    statuses = [row.status for row in rows]
    assert [(row.name, row.live, row.created, row.ended) for row in statuses] == [
        ("fetch_page", 12, 30, 18),
        ("parse", 2, 2, 0),
    ]
    assert all(row.figure(name) == getattr(row.status, name) for row in rows for name in COMBINED)
    assert [row.function[0] for row in ranked(rows, lambda group: 0, "PARSE", 50)] == ["parse"]
    (rest,) = ranked(rows, lambda group: group.figure("live"), "", 1)
    assert (rest.status.name, rest.status.live) == ("2 other coroutines", 14)


def test_the_report_has_the_last_figures_of_each_process():
    bench = WatchBench()
    agent = bench.agent(40)
    agent.report_groups(1.0, fetch_page=(3, 10))
    agent.report(Waits(1, 5, 5, (WaitPlace("/srv/app.py:12", 5),)))
    agent.report(AgentTick(2.0, created=10, live=3, ended=7, failed=2), AgentEnd())
    bench.advance()
    report = watch_report(bench.watching.snapshot(), ["python", "app.py"], 0)
    (process,) = report["processes"]
    expected = {"how": "agent", "created": 10, "live_at_end": 3, "failed": 2, "rss_peak": 40 << 20}
    assert expected.items() <= process.items()
    (group,) = process["groups"]
    assert (group["name"], group["line"], group["live"], group["leak"]) == ("fetch_page", 10, 3, False)
    assert [(place["where"], place["tasks"]) for place in group["waits"]] == [("/srv/app.py:12", 5)]
    assert group["waits_age"] == 1.0


def test_left_over_tasks_are_an_event_at_first_and_when_they_are_ten_times_more():
    bench = WatchBench()
    agent = bench.agent(40)
    for at, left in enumerate((0, 3, 5, 30)):
        lines = (LineCount("/app/crawl.py:41", left),) if left else ()
        agent.report(Groups(float(at), (GroupReport(1, "fetch", left_over=left, left_lines=lines),)))
        bench.advance()
    texts = [event.text for event in bench.watching.events.since(0) if "left over" in event.text]
    assert texts == [
        f"fetch: {count} tasks left over when the main coroutine ended, created at app/crawl.py:41"
        for count in (3, 30)
    ]


def test_memory_that_follows_the_number_of_tasks_is_attributed_to_their_group():
    following, unrelated = GroupMemory(), GroupMemory()
    noise = random.Random(1)
    for at in range(40):
        live = 1_000 + 50 * (at % 8)
        following.add(at * WINDOW, live, (64 << 20) + 4_096 * live + noise.randrange(1 << 12))
        unrelated.add(at * WINDOW, noise.randrange(1_000), 64 << 20)
    assert following.slope.at(1_000) == pytest.approx(4_096_000, rel=0.01)
    assert unrelated.slope.at(1_000) is None


def test_a_process_that_ends_while_its_reader_is_made_has_none(monkeypatch):
    monkeypatch.setattr(host.LocalHost, "exists", lambda *_: True)  # it was there a moment ago
    with pytest.raises(LookupError):
        host.LocalHost(None).reader(1 << 22)


def only_group(bench):
    (group,) = bench.watching.lanes[0].reports.groups.values()
    return group.moment.status


def report_group(bench, agent, at, **figures):
    agent.report(
        AgentTick(
            at, created=figures["created"], live=0, ended=0, scan_time=at, live_peak=figures.get("live_peak")
        ),
        Groups(at, (GroupReport(1, "job", "/srv/app.py", 1, **figures),)),
    )
    bench.advance()


def test_mean_life_and_peak_are_those_of_all_scans_and_not_only_of_those_reported():
    bench = WatchBench()
    agent = bench.agent(40)
    for second in range(1, 21):  # fifty jobs a second, each for 0.1 s, between the reports
        counts = {"created": 50 * second, "ended": 50 * second, "live": 0}
        report_group(bench, agent, float(second), **counts, live_peak=50, task_seconds=5.0 * second)
    status = only_group(bench)
    assert (status.live_peak, status.at_least) == (50, ("live_peak",))
    assert status.mean_life == pytest.approx(0.1)
    assert bench.watching.lanes[0].history.live_peak == 50


def test_a_mean_life_longer_than_the_time_observed_is_marked():
    bench = WatchBench()
    agent = bench.agent(40)
    report_group(bench, agent, 0.0, created=50, live=50)
    report_group(bench, agent, 10.0, created=50, live=49, ended=1, live_peak=50, task_seconds=500.0)
    status = only_group(bench)
    assert (status.mean_life, status.at_least) == (10.0, ("mean_life",))


def test_timed_tasks_that_live_count_as_longer_than_their_age():
    bench = WatchBench()
    agent = bench.agent(40)
    timed = {"durations": ((1.0, 4), (3.0, 2)), "timing": ((0.5, 2), (2.0, 4))}
    counts = {"created": 12, "ended": 6, "live": 6, "live_peak": 12}
    report_group(bench, agent, 3.0, **counts, task_seconds=19.0, **timed)
    status = only_group(bench)
    # At 1 s, 4 of the 10 that are left end; at 3 s, the other 2, of 2 that are left.
    assert (status.p50, status.p99, status.timed) == (3.0, 3.0, 2)
    assert status.at_least == ()
    # By Little's law they would live (4 + 6 + 1 + 8) / 6 seconds.
    assert status.mean_life == pytest.approx(0.4 * 1 + 0.6 * 3)
    # Nothing has changed for two seconds: those that live have aged.
    agent.report(AgentTick(5.0, created=12, live=6, ended=6, scan_time=5.0, groups_time=5.0, live_peak=12))
    bench.advance()
    status = only_group(bench)
    # Now 4 of 12 end at 1 s, and 2 of 6 at 3 s.
    assert (status.p50, status.p99) == (3.0, 3.0)
    assert {"p50", "p99"} & set(status.at_least) == {"p99"}


def test_the_mean_life_is_that_of_all_if_few_of_those_that_ended_were_timed():
    bench = WatchBench()
    agent = bench.agent(40)
    timed = {"durations": ((1.0, 4),), "timing": ((2.0, 4),)}
    report_group(bench, agent, 9.0, created=100, ended=50, live=50, live_peak=50, task_seconds=100.0, **timed)
    assert only_group(bench).mean_life == 2.0


def test_tasks_that_no_scan_has_found_have_no_peak_and_no_mean_life():
    bench = WatchBench()
    agent = bench.agent(40)
    report_group(bench, agent, 1.0, created=20, ended=20, live_peak=0)
    assert (only_group(bench).live_peak, only_group(bench).mean_life) == (None, None)
    (process,) = watch_report(bench.watching.snapshot(), ["app.py"], 0)["processes"]
    assert (process["live_peak"], process["at_least"]) == (None, ["live_peak"])


def test_figures_of_tasks_that_only_scans_find_are_marked():
    bench = WatchBench()
    agent = bench.agent(40)
    report_group(bench, agent, 1.0, created=60, ended=60, live_peak=10, direct=60)
    agent.report(AgentTick(2.0, created=60, live=0, ended=60, missed=1490, queued=3))
    bench.advance()
    agent.report(AgentTick(3.0, created=60, live=0, ended=60, missed=1490, queued=0))
    bench.advance()
    assert only_group(bench).mean_life is None
    (process,) = watch_report(bench.watching.snapshot(), ["app.py"], 0)["processes"]
    assert (process["created"], process["ended"], process["missed"]) == (1550, 1550, 1490)
    assert "created" in process["at_least"]
    assert "created" in process["groups"][0]["at_least"]
    assert (process["queued"], process["queued_peak"]) == (0, 3)


def test_threads_by_target_stay_between_their_reports():
    bench = WatchBench()
    agent = bench.agent(40)
    agent.report(AgentTick(1.0, threads=(ThreadCount("app.waiter", 7),)))
    bench.advance()
    agent.report(AgentTick(1.1))
    bench.advance()
    assert ("app.waiter", "7 threads") in details(bench.watching.snapshot().lanes[0])


def watch_a_group(seconds, live, created=None, ended=None, until=None, wakeable=0, files=False):
    """Return the bench after a group has had ``live(second)`` tasks.

    Its agent knows timers of ``until`` seconds, or that so many of 50 tasks are ``wakeable``. With ``files``,
    each task has one.
    """
    bench = WatchBench()
    agent = bench.agent(40)
    for second in (half / 2 for half in range(2 * seconds)):
        count = int(live(second))
        total = int(created(second)) if created else count
        figures = {
            "live": count,
            "created": total,
            "ended": total - count,
            "oldest": min(second, ended or second),
        }
        agent.report(
            AgentTick(
                float(second),
                created=total,
                live=count,
                ended=total - count,
                scan_time=float(second),
                files=10 + count if files else None,
            ),
            Groups(float(second), (GroupReport(1, "session", "/srv/app.py", 1, **figures),)),
        )
        asked = [sent for sent in agent.sent if sent[0] == "waits"]
        agent.sent.clear()
        bench.advance(0.5)
        if asked and until is not None:
            agent.report(Waits(1, count, count, timed=count, until=until))
        elif asked:
            agent.report(Waits(1, count, count, sampled=50, wakeable=wakeable))
    return bench


def growth_events(bench):
    return [event for event in bench.watching.events.since(0) if event.kind != "agent"]


def kinds(bench):
    return [event.kind for event in growth_events(bench)]


@pytest.mark.parametrize("rate", [1, 40])
def test_growth_that_nothing_may_end_is_called_a_leak_within_twenty_seconds(rate):
    assert kinds(watch_a_group(20, lambda second: rate * second)) == ["leak"]


def test_growth_is_not_called_a_leak_while_it_is_not_known_what_its_tasks_wait_for():
    bench = WatchBench()
    report_a_leak(bench, bench.agent(40), 60)
    (event,) = growth_events(bench)
    assert event.kind == "growth"
    assert event.text.endswith("; too early to call it a leak: it is not known what they wait for")


def test_sessions_that_a_timer_ends_in_a_minute_are_not_called_a_leak_in_ten():
    bench = watch_a_group(
        600, lambda second: 4 * min(second, 60), lambda second: 4 * second, ended=60, until=60.0
    )
    assert kinds(bench) == ["growth", "growth_withdrawn"]


def sessions(rate):
    """Return sessions of a minute, so many a second, that a connection may end at any time."""
    return {
        "live": lambda second: rate * min(second, 60),
        "created": lambda second: rate * second,
        "ended": 60,
        "wakeable": 50,
    }


@pytest.mark.parametrize("rate", [1, 20])
def test_sessions_of_a_minute_that_others_may_end_are_not_called_a_leak_in_ten(rate):
    assert kinds(watch_a_group(600, **sessions(rate), files=True)) == ["growth", "growth_withdrawn"]


def test_tasks_that_others_may_end_are_called_a_leak_once_they_have_grown_for_three_minutes():
    bench = watch_a_group(210, lambda second: second, wakeable=50)
    told, called = growth_events(bench)
    assert (told.kind, told.severity, called.kind, called.severity) == ("growth", "info", "leak", "warning")
    assert re.fullmatch(
        r"session \(srv/app.py:1\) grows by 60 a minute, 95 % \d+ to \d+; too early to call it a leak: "
        "something else may end them",
        told.text,
    )
    assert (told.time <= 20, 180 <= called.time <= 210) == (True, True)


def test_tasks_of_which_some_are_stuck_are_called_a_leak_within_twenty_seconds():
    assert kinds(watch_a_group(20, lambda second: second, wakeable=40)) == ["leak"]


def test_tasks_far_older_than_their_timers_are_called_a_leak():
    assert kinds(watch_a_group(210, lambda second: second, until=1.0)) == ["growth", "leak"]


def test_the_status_and_the_report_of_a_group_say_what_was_told():
    def verdict(bench):
        (process,) = watch_report(bench.watching.snapshot(), [], 0)["processes"]
        (group,) = process["groups"]
        return group["grows"], group["leak"], process["leaks"]

    assert verdict(watch_a_group(10, lambda second: second, wakeable=50)) == (False, False, 0)
    assert verdict(watch_a_group(20, lambda second: second, wakeable=50)) == (True, False, 0)
    assert verdict(watch_a_group(210, lambda second: second, wakeable=50)) == (True, True, 1)


def test_a_leak_is_withdrawn_once_and_not_called_again_if_the_group_stays_level():
    bench = watch_a_group(600, lambda second: 4 * min(second, 50))
    called, withdrawn = growth_events(bench)
    assert "grows by 240 a minute" in called.text
    assert withdrawn.kind == "leak_withdrawn"
    assert withdrawn.text == "session (srv/app.py:1): no longer grows, and is no longer called a leak"
    assert not bench.watching.lanes[0].reports.groups[1].leaks


def test_a_burst_of_ten_seconds_is_not_called_a_leak():
    assert kinds(watch_a_group(120, lambda second: 40 * min(second, 10))) == []


def test_a_withdrawn_event_is_not_counted():
    bench = WatchBench()
    expectation = parse_watch_expectation("events.leak <= 0")

    def verdict():
        return expectation.judge(watch_report(bench.watching.snapshot(), [], 0))

    assert verdict().holds
    bench.watching.log("app.py 40", "fetch grows", "warning", "leak")
    assert (verdict().holds, verdict().measured, verdict().culprits) == (False, 1, "fetch grows")
    bench.watching.log("app.py 40", "fetch no longer grows", kind="leak_withdrawn")
    assert verdict().holds
    assert watch_report(bench.watching.snapshot(), [], 0)["event_counts"]["leak_withdrawn"] == 1


def test_a_process_that_connects_again_at_once_is_announced_once():
    bench = WatchBench()
    first = FakeAgent(40)
    first.report(AgentTick(1.0), AgentWaiting(), Ended("its agent's connection ended"))
    bench.running.add(40)
    bench.host.new += [first, FakeAgent(40)]
    bench.advance()
    assert len([text for text in bench.texts() if "watched: " in text]) == 1
    assert bench.watching.lanes[0].current.how == "agent"


def test_a_snapshot_keeps_its_groups_while_later_reports_come():
    bench = WatchBench()
    agent = bench.agent(40)
    kept = []
    for at in range(80):
        agent.report_groups(float(at), fetch_page=(2 + at, 10 * (at + 1)), parse=1)
        bench.advance()
        (lane,) = bench.watching.snapshot().lanes
        kept.append((lane.groups, [group.status for group in lane.groups]))
        if at % 3:
            agent.report(Waits(1, at, at, (WaitPlace("/srv/app.py:12", at),)))
    assert kept[-1][1][0].growth is not None
    assert all([group.status for group in groups] == statuses for groups, statuses in kept)
    assert len({statuses[0].live for _, statuses in kept}) == 80


def test_a_tick_before_the_groups_of_its_scan_does_not_change_their_rates():
    bench = WatchBench()
    agent = bench.agent(40)
    rates = []
    for at in range(0, 40, 2):  # a busy program: scans take long, and groups follow later
        counts = {"created": 200 * at, "live": 0, "ended": 200 * at}
        agent.report(AgentTick(at + 0.4, **counts, scan_time=float(at), groups_time=at - 2.0))
        bench.advance()
        agent.report(
            Groups(float(at), (GroupReport(1, "serve", "/srv/app.py", 15, **counts),)),
            AgentTick(at + 1.4, **counts, scan_time=float(at), groups_time=float(at)),
        )
        bench.advance()
        rates.append(only_group(bench).created_per_second)
    assert rates[3:] == [pytest.approx(200)] * len(rates[3:])
    end = AgentTick(60.0, **counts, scan_time=60.0, groups_time=60.0)
    agent.report(end)
    bench.advance()
    assert only_group(bench).created_per_second == 0


def test_groups_are_the_same_objects_until_something_is_reported():
    bench = WatchBench()
    agent = bench.agent(40)
    agent.report_groups(1.0, fetch_page=(2, 10))
    bench.advance()
    first, second = bench.watching.snapshot().lanes[0].groups, bench.watching.snapshot().lanes[0].groups
    assert first is second
    agent.report(AgentTick(1.9, created=10, live=2, ended=8, scan_time=1.0))
    bench.advance()
    (aged,) = bench.watching.snapshot().lanes[0].groups
    assert (aged.clock.now, aged.report) == (1.9, first[0].report)


def test_an_error_of_an_agent_is_told_once_a_kind_and_counted():
    bench = WatchBench()
    agent = bench.agent(40)
    agent.report(AgentErrors())
    bench.advance()
    process = report_of(bench)
    assert (process["agent_errors"], process["agent_error_kinds"]) == (0, [])
    first = AgentErrorKind("KeyError", "concwatch/portable/agent/counting/counting.py:12", "tasks", 1)
    second = AgentErrorKind("OSError", "concwatch/portable/agent/sending/reporter.py:7")
    for report in (AgentErrors(1, (first,)), AgentErrors(30, (structs.replace(first, count=29), second))):
        agent.report(report)
        bench.advance()
    events = [event for event in bench.watching.snapshot().events.since(0) if event.kind == "agent_error"]
    assert [(event.lane, event.severity, event.text) for event in events] == [
        ("app.py 40", "warning", f"error in its agent: {text} may be missing or wrong")
        for text in (
            "KeyError at concwatch/portable/agent/counting/counting.py:12; what it reports of tasks",
            "OSError at concwatch/portable/agent/sending/reporter.py:7; what it reports",
        )
    ]
    process = report_of(bench)
    assert process["agent_errors"] == 30
    assert [one["count"] for one in process["agent_error_kinds"]] == [29, 1]


def test_the_errors_of_an_agent_are_unknown_without_its_report():
    bench = WatchBench()
    bench.agent(40).report_groups(1.0, fetch_page=1)
    bench.advance()
    assert report_of(bench)["agent_errors"] is None
