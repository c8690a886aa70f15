"""What a CPU quota does to lanes and watched processes: shares, marks, events, and the part of a block."""

import pytest

from concwatch.links.agent_messages import AgentTick
from concwatch.links.messages import Block, Reached, decode
from concwatch.links.readings import ReportedReadings
from concwatch.measure.watch_report import watch_report
from concwatch.monitor.metrics.metrics import BY_NAME
from concwatch.monitor.verdicts.blocks import BlockedPlaces
from concwatch.monitor.verdicts.throttling import LASTING, ThrottledTime, quota_name
from concwatch.system.process import Reading
from tests.lab_driver import running_lane, tick
from tests.watch_driver import WatchBench

HALF = 0.5


def throttled(seconds, cores=HALF):
    return {"cpu_quota": cores, "throttled": seconds}


def reading(seconds, cores=HALF):
    return Reading(1 << 20, 0.1, 3, **throttled(seconds, cores))


def test_the_throttled_part_of_a_time_is_that_before_the_last_reading():
    time = ThrottledTime()
    assert (time.within(1.0), time.share) == (0.0, None)
    for tenth in range(31):
        time.add(tenth / 10, reading(max(0, tenth - 25) * 0.04))
    assert time.within(0.2) == pytest.approx(0.08)
    assert time.within(0.25) == pytest.approx(0.1), "between two readings it is taken for even"
    assert time.within(60.0) == pytest.approx(0.2)
    assert time.share == pytest.approx(0.2)


def test_without_a_quota_no_share_is_known():
    time = ThrottledTime()
    for tenth in range(20):
        time.add(tenth / 10, reading(0.0, None))
    assert time.share is None


def test_a_quota_is_named_with_its_cores():
    assert [quota_name(cores) for cores in (0.5, 1.0, 2.0, None)] == [
        "CPU quota (0.5 cores)",
        "CPU quota (1 core)",
        "CPU quota (2 cores)",
        "CPU quota",
    ]


def test_figures_taken_while_throttled_are_marked():
    bench, lane, link = running_lane()
    link.throttling = throttled(0.0)
    bench.pass_(1)
    bench.lab.set_target(lane, 1_000)
    link.throttling = throttled(0.3)
    bench.receive(Reached(1_000, 1_000, 1_000, 0, 1.0), tick(2.0, 1_000, lag=0.2))
    view = bench.lab.snapshot(bench.now).lanes[0]
    assert (view.sample.throttled, view.status.cpu_quota) == (0.3, HALF)
    assert view.sample.throttled_share == pytest.approx(0.3, abs=0.05)
    assert view.status.create_throttled == pytest.approx(0.3)
    assert [BY_NAME[name].marks(view) for name in ("create_rate", "lag")] == ["*", "*"]
    for second in range(3):
        bench.receive(tick(3.0 + second, 1_000, lag=0.2))
        bench.pass_(1)
    view = bench.lab.snapshot(bench.now).lanes[0]
    assert view.sample.throttled_share == 0
    assert [BY_NAME[name].marks(view) for name in ("create_rate", "lag")] == ["*", ""]
    assert BY_NAME["throttled"].text(view) == "300 ms"


def watched(*pids, cores=HALF):
    """Return a bench with processes that have a quota, and a function that lets it throttle them."""
    bench = WatchBench()
    agents = [bench.agent(pid) for pid in pids]
    total = 0.0

    def pass_(seconds, share):
        nonlocal total
        for _ in range(round(seconds * 10)):
            total += share / 10
            for agent, lane in zip(agents, bench.watching.lanes, strict=True):
                lane.readings.reader.throttling = throttled(total, cores)
                agent.report(AgentTick(bench.now, created=1, live=1, ended=0, since=0, lag=0.001))
            bench.advance()

    pass_(1, 0.0)
    return bench, agents, pass_


def events(bench):
    found = [event for event in bench.watching.events.since(0) if event.kind.startswith("throttled")]
    return [(event.lane, event.kind, event.text) for event in found]


def test_throttling_is_said_once_while_it_lasts_and_once_at_its_end():
    bench, _, pass_ = watched(40)
    pass_(LASTING + 2, 0.0)
    assert not events(bench)
    pass_(20, 0.5)
    ((lane, kind, text),) = events(bench)
    assert (lane, kind) == ("app.py 40", "throttled")
    assert text.startswith("CPU quota (0.5 cores): throttled for ")
    assert text.endswith(" in the last 5 s")
    pass_(LASTING + 2, 0.0)
    (_, (lane, kind, text)) = events(bench)
    assert (lane, kind) == ("app.py 40", "throttled_ended")
    assert text.startswith("CPU quota (0.5 cores): no longer throttled, after ")
    pass_(20, 0.01)
    assert len(events(bench)) == 2


def test_processes_with_one_quota_have_one_event():
    bench, _, pass_ = watched(40, 41, 42)
    pass_(20, 1.5)
    ((lane, _, text),) = events(bench)
    assert lane == ""
    assert text.startswith("CPU quota (0.5 cores) of 3 processes: throttled for ")


def test_a_process_without_a_quota_is_never_called_throttled():
    bench, _, pass_ = watched(40, cores=None)
    pass_(20, 0.0)
    assert not events(bench)
    (process,) = watch_report(bench.watching.snapshot(), [], None)["processes"]
    assert process["throttled"] == 0


def test_the_event_of_a_block_says_how_much_of_it_was_throttled():
    bench, (agent,), pass_ = watched(40)
    pass_(2, 0.0)
    pass_(0.2, 0.45)
    agent.report(Block(1, "loop 1", 0.2, cause="stopped"))
    pass_(0.1, 0.0)
    (text,) = [text for text in bench.texts() if "blocked" in text]
    said = "while its process was stopped, or waited for a processor, of which throttled by the CPU quota: "
    assert text.startswith(f"app.py 40: loop 1 blocked for 200 ms {said}")
    (process,) = watch_report(bench.watching.snapshot(), [], None)["processes"]
    assert 0.03 < process["blocks"][0]["throttled"] <= 0.09
    assert process["throttled"] == pytest.approx(0.09)


def test_a_block_that_goes_on_counts_each_second_once_and_never_more_than_it_lasted():
    bench, (agent,), pass_ = watched(40)
    pass_(2, 0.0)
    for second in (1, 2, 3):
        pass_(1, 1.5)  # two cores throttled: more than the time
        agent.report(Block(1, "loop 1", float(second), ended=second == 3))
    pass_(0.1, 1.5)
    (process,) = watch_report(bench.watching.snapshot(), [], None)["processes"]
    assert process["blocks"][0]["throttled"] == pytest.approx(3.0)


BRIDGE = b'{"type":"process","time":1.0,"rss":1,"virtual":2,"peak_rss":3,"threads":4,"cpu_seconds":0.5'


def test_the_throttled_time_of_a_process_on_a_host_is_read_if_its_bridge_sends_it():
    older = ReportedReadings().reading(1.0, decode(BRIDGE + b"}"))
    assert (older.cpu_quota, older.throttled) == (None, None)
    newer = ReportedReadings().reading(1.0, decode(BRIDGE + b',"cpu_quota":0.5,"throttled":1.8}'))
    assert (newer.cpu_quota, newer.throttled) == (0.5, 1.8)
    row = b'{"pid":7,"ppid":1,"name":"app","why":"",' + BRIDGE.partition(b'"time":1.0,')[2]
    rows = decode(
        b'{"type":"processes","time":1.0,"rows":[' + row + b"}," + row + b',"throttled":2.0}]}'
    ).rows
    assert [ReportedReadings().reading(1.0, each).throttled for each in rows] == [None, 2.0]


def test_the_longest_block_is_without_the_time_that_was_throttled():
    places = BlockedPlaces()
    places.add(Block(1, "loop 1", 1.0, ended=False), lambda seconds: 0.9)
    places.add(Block(1, "loop 1", 1.5), lambda seconds: 0.5)
    places.add(Block(2, "loop 1", 0.2), lambda seconds: 0.0)
    places.add(Block(3, "loop 1", 0.9, cause="stopped"), lambda seconds: 0.0)
    assert places.longest == pytest.approx(0.2)
