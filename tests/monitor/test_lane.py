"""One lane in all its states, on a simulated clock."""

import math
from itertools import pairwise

import pytest
from msgspec.structs import replace

from concwatch.links.link import Ended, Flood, Garbage, Noise
from concwatch.links.messages import Applied, BurstDone, Error, Limit, Reached, Ready, Tick
from concwatch.monitor.metrics.metrics import BY_NAME
from concwatch.monitor.metrics.settings import Settings
from concwatch.monitor.metrics.state import State
from concwatch.monitor.workers.catalog import Engine
from concwatch.monitor.workers.worker_life import START_LIMIT, STOP_LIMIT
from concwatch.monitor.workers.worker_log import MOST_GARBAGE, reached_text
from concwatch.monitor.workers.worker_stats import WorkerStats
from concwatch.portable.protocol.workloads import parse
from concwatch.portable.worker.burst import Burst
from concwatch.system.process import Reading
from tests.lab_driver import Bench, HandLinks, end, hand_bench, running_lane, tick

READY = Ready("toy", "Toy 1.0", 4242, can=("trace", "gc", "trim"), flags=("red",))
UNINSTALLED = Engine("uninstalled", "", 1, needs=("no_such_package",), install="pip install missing")
INSTALLED = Engine("installed", "", 1_000, needs=("msgspec",))
"""`UNINSTALLED` lacks its package; `INSTALLED` has it."""


def applied(*commands, flags=None):
    return [Applied(command, 0.0, flags) for command in commands]


def starting(**arguments):
    """Return a bench whose toy lane is starting, the lane, and its link."""
    bench, lane = hand_bench(**arguments)
    bench.lab.switch(lane, True)
    return bench, lane, bench.links.last


def sent(link, command):
    """Return the fields of each ``command`` sent."""
    return [fields for name, fields in link.sent if name == command]


def targets(link):
    return [fields["tasks"] for fields in sent(link, "target")]


# Switching on.


def test_a_lane_runs_when_its_one_worker_has_applied_all_settings():
    bench, lane = hand_bench()
    bench.pass_(1)
    assert (lane.state, lane.idle, bench.links.links, len(lane.series)) == (State.OFF, True, [], 0)
    bench.lab.switch(lane, True)
    bench.lab.switch(lane, True)
    (link,) = bench.links.links
    assert (lane.state, link.sent) == (State.STARTING, [])
    bench.receive(READY, tick(0))
    assert link.sent == [
        ("workload", {"spec": "sleep:10", "word": "sleep", "seconds": 10.0}),
        ("refill", {"on": True}),
        ("trace", {"on": False}),
        ("gc", {"mode": "default"}),
        ("rate", {"hz": 10.0}),
    ]
    bench.receive(*applied("workload", "refill", "trace", "gc"), tick(0.1))
    assert lane.state is State.STARTING
    bench.receive(*applied("rate"), tick(0.2))
    assert lane.state is State.RUNNING
    assert bench.texts() == ["on: Toy 1.0 · red, pid 4242"]


def test_only_supported_commands_are_sent_and_flags_are_logged():
    bench, _, link = starting(settings=Settings(trace=True, gc="frozen", threads=20))
    bench.receive(Ready("toy", "Toy 1.0", 1, can=("threads",), flags=("red", "6 threads")))
    assert link.names() == ["workload", "refill", "threads", "rate"]
    bench.receive(*applied("workload", "refill"))
    bench.receive(*applied("threads", "rate", flags=("red", "20 threads")), tick(0))
    assert bench.texts() == ["on: Toy 1.0 · red · 20 threads, pid 1"]


def test_a_starting_worker_gets_only_the_latest_settings_and_target():
    bench, lane, link = starting()
    for tasks in (10, 30):
        bench.lab.set_target(lane, tasks)
    bench.lab.settings.set_workload("nop")
    assert link.sent == []
    link.start()
    bench.pass_()
    assert sent(link, "workload") == [{"spec": "nop", "word": "nop"}]
    assert targets(link) == [30]


def test_a_traced_lane_runs_from_its_first_traced_tick():
    bench, lane, link = starting(settings=Settings(trace=True))
    bench.lab.set_target(lane, 1_000)
    link.start()
    bench.pass_()
    assert lane.state is State.STARTING
    bench.receive(tick(0.1, traced=600_000))
    assert lane.state is State.RUNNING
    for time in (0.2, 0.3, 0.4):
        bench.receive(tick(time, 1_000, traced=600_000 + 1_400_000))
    assert lane.sample.traced_per_task == 1_400


# Failures at the start.


def test_a_lane_without_its_package_fails_with_the_install_command():
    bench = Bench(engines=[UNINSTALLED])
    (lane,) = bench.lab.lanes
    bench.lab.set_target(lane, 10)
    assert (lane.state, lane.worker.life.reason) == (
        State.FAILED,
        "needs no_such_package: pip install missing",
    )
    assert (lane.idle, lane.target.tasks) == (True, 0)
    bench.lab.switch(lane, False)
    assert lane.state is State.OFF


def test_a_worker_that_does_not_start_fails_after_the_time_limit():
    bench, lane, link = starting()
    bench.pass_(START_LIMIT - 0.5, step=0.5)
    assert lane.state is State.STARTING
    bench.pass_(1.5, step=0.5)
    assert (lane.state, lane.worker.life.reason, link.killed) == (
        State.FAILED,
        "did not start within 30 s",
        True,
    )
    link.start()  # too late
    bench.pass_()
    assert lane.state is State.FAILED
    bench.receive(end())
    assert lane.idle
    assert bench.texts() == ["failed: did not start within 30 s"]


@pytest.mark.parametrize(
    ("report", "reason"),
    [
        (end("exited with status 1: no module named toy"), "exited with status 1: no module named toy"),
        (end("killed by SIGTERM: \x1b[31mred"), "killed by SIGTERM: \N{REPLACEMENT CHARACTER}[31mred"),
        (Ended("could not be started: no room", ran=False), "could not be started: no room"),
        (replace(READY, protocol=2), "uses version 2 of the wire protocol; expected 1"),
    ],
)
def test_a_worker_that_cannot_start_fails_with_the_reason(report, reason):
    bench, lane, _ = starting()
    bench.receive(report)
    assert (lane.state, lane.worker.life.reason, lane.worker.missing) == (State.FAILED, reason, None)


@pytest.mark.parametrize(
    ("report", "reason"),
    [
        (Error("ImportError: no libuv", None), "ImportError: no libuv"),
        (end("killed by SIGSEGV"), "killed by SIGSEGV"),
    ],
)
def test_an_engine_whose_worker_cannot_start_is_broken_until_one_does(report, reason):
    bench = Bench(links=HandLinks(), engines=[INSTALLED])
    (lane,) = bench.lab.lanes
    bench.lab.switch(lane, True)
    bench.receive(report)
    text = f"broken msgspec: {reason}; try pip install --force-reinstall msgspec"
    assert (lane.state, lane.worker.life.reason, lane.worker.missing) == (State.FAILED, text, text)
    bench.receive(end("exited with status 1"))
    assert bench.texts() == [f"failed: {text}"]
    bench.lab.switch(lane, True)
    bench.links.last.start(bench.now)
    bench.pass_()
    assert (lane.state, lane.worker.missing) == (State.RUNNING, None)


def test_a_workload_rejected_at_start_fails_the_lane_once():
    bench, lane, link = starting(settings=Settings(workload="app:job"))
    bench.receive(Ready("toy", "Toy 1.0", 1, can=("trace", "gc")))
    rejected = 'workload "app:job": no module "app"'
    bench.receive(Error(rejected, "workload"), *applied("refill", "trace", "gc", "rate"), tick(0.2))
    bench.receive(tick(0.3), end())
    assert (lane.state, lane.worker.life.reason, link.killed) == (State.FAILED, rejected, True)
    assert bench.texts() == [f"failed: {rejected}"]


# Changes of settings.


def test_only_changed_settings_are_sent():
    bench, _, link = running_lane()
    link.sent.clear()
    bench.lab.settings.set_refill(False)
    for _ in range(2):
        bench.lab.settings.set_gc("frozen")
    bench.lab.settings.set_workload("hold")
    bench.lab.settings.set_trace(False)
    bench.lab.settings.set_threads(3)
    assert link.sent == [
        ("refill", {"on": False}),
        ("gc", {"mode": "frozen"}),
        ("workload", {"spec": "hold", "word": "hold"}),
    ]


def test_a_rejected_workload_keeps_the_previous_one_and_can_be_retried():
    bench, lane, link = running_lane()
    bench.lab.set_target(lane, 100)
    bench.lab.settings.set_workload("http:1")
    bench.receive(*applied("workload"))
    for _ in range(2):
        bench.lab.settings.set_workload("http:2")
        bench.receive(tick(0.3, 100), Error("no aiohttp", "workload"))
        first, second = (bench.servers[0].url(parse(spec)) for spec in ("http:1", "http:2"))
        assert (lane.worker.settings.current.workload, lane.worker.settings.current.url) == ("http:1", first)
        assert (lane.state, lane.target.tasks, lane.live) == (State.RUNNING, 100, 100)
    assert bench.lab.settings.current.workload == "http:1"
    assert bench.texts("error") == ["no aiohttp"] * 2
    assert [fields.get("url") for fields in sent(link, "workload")] == [None, first, second, second]


@pytest.mark.parametrize("traced", [False, True])
def test_a_restarted_lane_keeps_its_target_and_resets_its_figures(traced):
    bench, lane, link = running_lane()
    bench.lab.set_target(lane, 1_000)
    bench.receive(tick(1.0, 1_000), Reached(1_000, 1_000, 1_000, 0, 0.01))
    if traced:
        bench.lab.settings.set_trace(True)
        assert bench.texts()[-1].endswith("lanes restart at the same target")
    else:
        bench.lab.switch(lane, False)
        bench.lab.switch(lane, True)
    assert link.names()[-1] == "stop"
    assert "trace" not in link.names()[5:]  # a tracer started late would miss the live tasks
    bench.receive(end())
    second = bench.links.last
    assert (lane.state, lane.target.tasks, second is link) == (State.STARTING, 1_000, False)
    assert (lane.target.reached, lane.worker.status.create_rate, lane.sample.rss_per_task) == (
        None,
        None,
        None,
    )
    second.start()
    bench.receive(*([tick(0.1, traced=600_000)] if traced else []))
    assert sent(second, "trace") == [{"on": traced}]
    assert targets(second) == [1_000]
    assert lane.worker.status.tracing == traced


def test_tracing_does_not_start_a_lane_that_is_stopping_or_off():
    bench, lane, _ = running_lane()
    bench.lab.switch(lane, False)
    bench.lab.settings.set_trace(True)
    bench.receive(end())
    bench.pass_(0.3)
    bench.lab.settings.set_trace(False)
    assert (lane.state, len(bench.links.links)) == (State.OFF, 1)


# Switching off.


@pytest.mark.parametrize("ready", [True, False], ids=["stalled", "starting"])
def test_switching_off_sends_one_stop_and_kills_the_worker_after_the_time_limit(ready):
    bench, lane, link = running_lane() if ready else starting()
    bench.pass_(2)
    assert lane.state is (State.STALLED if ready else State.STARTING)
    for _ in range(2):
        bench.lab.switch(lane, False)
    link.start()  # reports of a stopping worker are ignored
    bench.pass_(STOP_LIMIT - 0.1)
    assert (lane.state, lane.on, link.names().count("stop"), link.killed) == (State.STOPPING, False, 1, False)
    assert link.names()[-1] == "stop"
    bench.pass_(0.5)
    assert link.killed
    assert bench.texts("warning") == ["did not stop within 3 s: killed"]
    bench.receive(end())
    assert (lane.state, lane.worker.life.reason, lane.target.tasks) == (State.OFF, "", 0)
    assert bench.texts()[-1] == "off"


def test_the_memory_of_a_stopping_worker_is_not_that_of_its_tasks():
    bench, lane, link = running_lane()
    bench.lab.set_target(lane, 1_000)
    bench.receive(tick(0.3, 1_000))
    assert lane.sample.live == 1_000
    bench.lab.switch(lane, False)
    link.rss //= 2
    bench.pass_(0.2)
    assert (lane.sample.rss, lane.sample.live) == (link.rss, None)


@pytest.mark.parametrize("on", [True, False])
def test_a_lane_switched_on_while_stopping_restarts_unless_switched_off_again(on):
    bench, lane, link = running_lane()
    bench.lab.switch(lane, False)
    bench.lab.set_target(lane, 70)
    if not on:
        bench.lab.switch(lane, False)
    assert (lane.state, link.names()[-1]) == (State.STOPPING, "stop")
    bench.receive(end())
    assert (lane.state, len(bench.links.links)) == ((State.STARTING, 2) if on else (State.OFF, 1))
    if on:
        bench.links.last.start()
        bench.pass_()
        assert (lane.state, targets(bench.links.last)) == (State.RUNNING, [70])


def test_a_killed_worker_fails_its_lane_which_can_be_switched_on_again():
    bench, lane, _ = running_lane()
    bench.lab.set_target(lane, 100)
    bench.receive(tick(0.3, 100), end("killed by SIGKILL"))
    assert (lane.state, lane.worker.life.reason) == (State.FAILED, "killed by SIGKILL")
    assert (lane.target.tasks, lane.live, lane.sample.rss) == (0, 0, None)
    assert bench.texts("error") == ["failed: killed by SIGKILL"]
    bench.lab.switch(lane, True)
    bench.links.last.start()
    bench.pass_()
    assert (lane.state, lane.worker.life.reason, lane.target.tasks) == (State.RUNNING, "", 0)
    assert lane.sample.rss_per_task is None
    times, values = lane.series.since("rss", 0)
    assert [math.isnan(value) for value in values] == [False, True, False]
    assert list(times) == sorted(times)


# Stalls.


def test_a_silent_worker_is_stalled_until_it_ticks_again():
    bench, lane, link = running_lane()
    bench.pass_(0.9)
    assert (lane.state, lane.worker.stalled_for(bench.now)) == (State.RUNNING, 0)
    bench.pass_(1.1)
    assert (lane.state, lane.on) == (State.STALLED, True)
    assert lane.worker.stalled_for(bench.now) == pytest.approx(2.0)
    assert lane.series.last("lag") == pytest.approx(1.9)
    assert lane.series.last("rss") == link.rss
    bench.receive(tick(2.5))
    assert (lane.state, lane.worker.stalled_for(bench.now)) == (State.RUNNING, 0)
    bench.receive(tick(2.6, lag=1.5))  # it sends ticks, but its tasks wake late
    assert (lane.state, lane.worker.stalled_for(bench.now)) == (State.STALLED, 1.5)


def test_a_slow_rate_of_ticks_is_not_a_stall():
    bench, lane, link = running_lane(hz=0.5)
    for index in range(5):
        bench.pass_(2)
        assert lane.state is State.RUNNING
        link.report(tick(2.0 * index))
    bench.pass_(7)
    assert lane.state is State.STALLED


# Targets, limits and bursts.


def test_a_limit_is_logged_and_lowers_the_target():
    bench, lane, link = running_lane()
    bench.lab.set_target(lane, 50_000)
    limit = Limit(21_800, 50_000, "vm.max_map_count", 65_530, "can't start new thread")
    bench.receive(tick(0.3, 21_800), limit)
    assert (lane.state, lane.target.tasks, lane.target.limit) == (State.RUNNING, 21_800, limit)
    (text,) = bench.texts("warning")
    assert text == "vm.max_map_count (65,530) reached at 21,800 of 50,000 tasks: can't start new thread"
    bench.lab.set_target(lane, 1_000)
    assert (lane.target.limit, targets(link)[-1]) == (None, 1_000)


def test_reports_about_an_older_target_are_logged_but_not_applied():
    bench, lane, _ = running_lane()
    for tasks in (50_000, 100, 0):
        bench.lab.set_target(lane, tasks)
    bench.receive(Limit(300, 50_000, "memory budget", 1 << 30), Reached(100, 100, 100, 0, 0.01))
    assert (lane.target.tasks, lane.target.limit, lane.target.reached) == (0, None, None)
    bench.receive(Reached(0, 0, 0, 100, 0.5))
    assert lane.target.reached.cancelled == 100
    assert bench.texts()[-3:] == [
        "memory budget (1 GiB) reached at 300 of 50,000 tasks",
        "100 tasks live after 10 ms (10 k/s)",
        "100 tasks stopped in 500 ms",
    ]


def test_a_lower_target_keeps_the_rate_at_which_tasks_were_created():
    bench, lane, _ = running_lane()
    bench.lab.set_target(lane, 100_000)
    bench.receive(tick(1.0, 100_000), Reached(100_000, 100_000, 100_000, 0, 1.0))
    bench.lab.set_target(lane, 50_000)
    bench.receive(tick(1.5, 50_000), Reached(50_000, 50_000, 8, 50_008, 0.333))
    assert lane.worker.status.create_rate == 100_000
    assert bench.texts()[-1] == "50,008 tasks stopped in 333 ms, 50,000 left"


@pytest.mark.parametrize(
    ("reached", "text"),
    [
        (Reached(10_000, 10_000, 10_350, 0, 5.0), "10,000 tasks live after 5 s (2.07 k/s)"),
        (Reached(100, 99, 103, 0, 0.5), "99 of 100 tasks live after 500 ms (103 created, 206/s)"),
        (Reached(1, 1, 1, 0, 0.0), "1 task live after 0 s (at once)"),
        (Reached(50_000, 50_000, 8, 50_008, 0.333), "50,008 tasks stopped in 333 ms, 50,000 left"),
    ],
)
def test_a_reached_target_is_logged_in_the_words_of_who_asked_for_it(reached, text):
    assert reached_text(reached) == text


@pytest.mark.parametrize(
    "report", [BurstDone(300, 0.1, 0.1, 1.0, 0.2), Error("a burst needs a worker without tasks", "burst")]
)
def test_the_target_is_zero_after_a_burst(report):
    bench, lane, link = running_lane()
    lane.worker.target.run_burst(Burst(300, 1, 0, None))
    assert (link.names()[-1], lane.target.tasks) == ("burst", 300)
    bench.receive(tick(0.5), report)
    assert (lane.target.tasks, lane.worker.stats.burst is None) == (0, isinstance(report, Error))
    bench.lab.switch(lane, False)
    bench.lab.switch(lane, True)
    bench.receive(end())
    bench.links.last.start()
    bench.pass_()
    assert (lane.state, lane.target.tasks, targets(bench.links.last)) == (State.RUNNING, 0, [])


# Figures.


def test_idle_memory_is_read_after_all_settings_and_before_the_first_task():
    bench, lane, link = starting()
    bench.lab.set_target(lane, 1_000)
    bench.receive(READY)
    assert lane.worker.status.idle_rss is None
    link.rss = 15_000_000
    bench.receive(*applied("workload", "refill", "trace", "gc", "rate"), tick(0.1))
    assert (lane.worker.status.idle_rss, link.names()[-1]) == (15_000_000, "target")
    link.rss = 16_000_000
    bench.lab.set_target(lane, 2_000)  # before any tick reports a task
    assert lane.worker.status.idle_rss == 15_000_000


def test_memory_per_task_uses_the_first_tick_after_each_reading():
    bench, lane, link = running_lane()
    bench.lab.set_target(lane, 2_000)
    link.rss = 10_000_000 + 2_000 * 1_000
    bench.pass_()
    # The reading precedes both of these ticks.
    link.report(tick(1.0, 1_000), tick(1.1, 1_000))
    link.rss = 10_000_000 + 1_000 * 1_000
    bench.pass_(0.2)
    for time in (1.2, 1.3):
        bench.receive(tick(time, 1_000))
    assert lane.sample.rss_per_task == 1_000
    link.rss = 10_000_000 + 2_000 * 1_000
    bench.pass_(0.3)  # twice as many are live, but no tick has reported them yet
    assert lane.sample.rss_per_task == 1_000
    link.report(tick(1.6, 2_000))
    bench.pass_(0.3)
    assert lane.sample.rss_per_task == 1_000


def test_only_a_new_workload_resets_the_cost_of_a_task():
    bench, lane, _ = running_lane()
    bench.lab.set_target(lane, 1_000)
    for time in (1.0, 1.1, 1.2):
        bench.receive(tick(time, 1_000))
    bench.receive(*applied("gc"))
    assert lane.worker.status.clean
    bench.receive(*applied("workload"))
    assert lane.sample.rss_per_task is None
    bench.receive(tick(1.3, 1_000))
    assert not lane.worker.status.clean


def test_a_sample_has_the_median_duration_with_tasks_and_retained_memory_without():
    stats = WorkerStats(0.0, 10.0)
    stats.add_reading(Reading(5_000, 0.0, 3))
    ticks = [
        (Tick(0.1, 9, 9, 0, 0, 0), None),
        (Tick(0.15, 12, 9, 3, 0, 0, durations=(0.1,)), None),  # so far, only the shortest have ended
        (Tick(0.2, 22, 6, 16, 0, 0, durations=(5.0, 0.123456, 0.1)), 0.123),
        (Tick(0.3, 22, 6, 16, 0, 0), 0.123),
        (Tick(0.4, 22, 0, 22, 0, 0, durations=(5.0,)), None),
    ]
    for each, duration in ticks:
        assert stats.add_tick(each, each.time, True) is None
        sample = stats.sample(each.time, 0, 0.0)
        assert (sample.duration, sample.retained) == (duration, None if each.live else 5_000)
    stats.add_tick(Tick(0.5, 31, 9, 22, 0, 0, durations=(1.0,)), 0.5, True)
    stats.reset_workload()
    assert stats.sample(0.5, 0, 0.0).duration is None, "the durations of another workload"


def test_quantiles_of_durations_count_those_that_live_and_are_marked_where_too_little_is_known():
    bench, lane, _ = running_lane()
    bench.lab.set_target(lane, 20)

    def ticks(*rows):
        for time, created, live, delays, durations in rows:
            completed = created - live
            bench.receive(Tick(time, created, live, completed, 0, 0, durations=durations, delays=delays))
            bench.pass_(0.2)
        snapshot = bench.lab.snapshot(bench.now).lanes[0]
        rows = BY_NAME["duration_p50"], BY_NAME["duration_p99"]
        return [(row.text(snapshot), row.marks(snapshot)) for row in rows]

    assert ticks((1.0, 0, 0, (), ()), (1.1, 20, 20, (0.001,) * 20, ())) == [("–", "")] * 2
    few = ticks((1.8, 24, 20, (0.001,) * 4, (0.7,) * 4), (2.0, 24, 20, (), ()), (2.2, 24, 20, (), ()))
    assert few == [("700 ms", "*")] * 2, "four of twenty have ended"
    most = ticks((3.0, 38, 20, (0.001,) * 14, (1.9,) * 14), (4.1, 38, 20, (), ()), (4.2, 38, 20, (), ()))
    assert most == [("1.9 s", ""), ("1.9 s", "*")], "two of the first twenty are still live"


def test_samples_are_taken_at_the_rate_independent_of_steps_and_ticks():
    bench, lane, link = running_lane(hz=1)
    bench.pass_(60)
    times = list(lane.series.since("rss", 0)[0])
    assert len(times) == pytest.approx(61, abs=1)
    assert all(0.4 < after - before < 1.6 for before, after in pairwise(times))
    link.report(*(tick(100 + index / 1e6, index) for index in range(20_000)))
    bench.receive(tick(101, 20, created=19_999))
    assert len(lane.series) - len(times) <= 1
    assert (lane.live, lane.worker.status.peak_live) == (20, 19_999)
    before = len(lane.series)
    link.rss = 0  # cannot be read
    bench.pass_(5)
    assert len(lane.series) == before


# Invalid and excessive reports.


def test_an_impossible_tick_and_a_second_ready_are_logged_once_and_ignored():
    bench, lane, link = running_lane()
    bench.receive(tick(1.0, 100, created=500))
    before = len(link.sent)
    invalid = [tick(1.1, 90, created=400), tick(0.5, 90, created=500), replace(tick(1.2, 100), created=501)]
    bench.receive(*invalid, tick(1.2, 80, created=500, queued=81), replace(READY, runtime="Other 2.0"))
    assert (lane.live, lane.sample.tick_time, lane.worker.status.runtime) == (100, 1.0, "Toy 1.0")
    assert bench.texts("warning") == ["an impossible tick: created fell from 500 to 400"]
    assert len(link.sent) == before
    bench.receive(tick(1.3, 110, created=510))
    assert (lane.state, lane.live) == (State.RUNNING, 110)
    assert lane.sample.created_per_second == pytest.approx(10 / 0.3)


def test_garbage_is_logged_once_and_kills_the_worker_after_a_hundred_lines():
    bench, lane, link = running_lane()
    bench.receive(*(Garbage(f"not a line of the wire: {index}") for index in range(MOST_GARBAGE)))
    assert lane.state is State.RUNNING
    assert bench.texts("warning") == ["not a line of the wire: 0"]
    bench.receive(*(Garbage("more") for _ in range(500)))
    reason = "more than 100 invalid lines, the first: not a line of the wire: 0"
    assert (lane.state, lane.worker.life.reason, link.killed) == (State.FAILED, reason, True)
    assert len(bench.texts("error")) == 1


def test_too_many_reports_do_not_fill_the_event_log():
    bench, _, _ = running_lane()
    for _ in range(100):
        bench.receive(*(Error("x" * 5_000, None, "y" * 20_000) for _ in range(100)), Flood("too much"))
    assert len(bench.texts()) < 100
    assert len(bench.texts("error")) >= 30
    assert all(len(text) < 10_000 for text in bench.texts())
    assert bench.texts("warning").count("too much") == 1
    assert len([text for text in bench.texts("warning") if "more of its reports were dropped" in text]) == 1
    bench.pass_(10)
    bench.receive(Error("later", "gc"))
    assert bench.texts("error")[-1] == "later"


def test_errors_are_logged_and_only_the_first_line_of_standard_error():
    bench, lane, _ = running_lane()
    bench.receive(Error("a task failed: ValueError: 7", None, "Traceback\n  boom\nValueError: 7\n"))
    bench.receive(Noise("\x1b[2J\x07hello\nworld\n"), Noise("again"), Noise("\n \n"))
    assert lane.state is State.RUNNING
    assert bench.texts()[-2:] == [
        "a task failed: ValueError: 7\nTraceback\n  boom\nValueError: 7",
        "wrote: \N{REPLACEMENT CHARACTER}[2J\N{REPLACEMENT CHARACTER}hello",
    ]


def test_trim_is_logged_and_only_sent_to_workers_that_support_it():
    bench, lane, link = running_lane()
    bench.lab.trim(lane)
    assert link.names()[-1] == "trim"
    bench.receive(Applied("trim", 0.25))
    assert bench.texts()[-1] == "trimmed in 250 ms"
    bench, lane = hand_bench()
    bench.lab.trim(lane)
    bench.lab.switch(lane, True)
    bench.receive(Ready("toy", "Toy 1.0", 1))
    bench.lab.trim(lane)
    assert "trim" not in bench.links.last.names()
