"""One lane through all its states, on a clock moved by hand."""

import math
from itertools import pairwise

import pytest
from msgspec.structs import replace

from concwatch.lab.catalog import Engine
from concwatch.lab.lane_state import State
from concwatch.lab.settings import Settings
from concwatch.lab.worker import START_LIMIT, STOP_LIMIT
from concwatch.lab.worker_log import MOST_GARBAGE
from concwatch.links.link import Ended, Flood, Garbage, Noise
from concwatch.links.messages import Applied, BurstDone, Error, Limit, Reached, Ready
from concwatch.worker.burst import Burst
from tests.lab_driver import Bench, HandLinks, end, hand_bench, standing, tick


def test_a_new_lane_is_off_and_has_no_worker():
    bench, lane = hand_bench()
    bench.pass_(1)
    assert lane.state is State.OFF
    assert lane.idle
    assert not bench.links.links
    assert len(lane.series) == 0


def test_switching_on_starts_one_worker_and_runs_when_all_settings_are_applied():
    bench, lane = hand_bench()
    bench.lab.switch(lane, True)
    bench.lab.switch(lane, True)
    link = bench.links.last
    assert len(bench.links.links) == 1
    assert lane.state is State.STARTING
    assert not link.sent
    link.say(Ready("toy", "Toy 1.0", 4242, can=("trace", "gc", "trim"), flags=("red",)), tick(0))
    bench.pass_()
    assert lane.state is State.STARTING
    assert link.sent == [
        ("workload", {"spec": "sleep:10", "word": "sleep", "seconds": 10.0}),
        ("refill", {"on": True}),
        ("trace", {"on": False}),
        ("gc", {"mode": "default"}),
        ("rate", {"hz": 10.0}),
    ]
    link.say(*(Applied(name, 0.0) for name in ("workload", "refill", "trace", "gc")), tick(0.1))
    bench.pass_()
    assert lane.state is State.STARTING
    link.say(Applied("rate", 0.0), tick(0.2))
    bench.pass_()
    assert lane.state is State.RUNNING
    assert bench.texts() == ["on: Toy 1.0 · red, pid 4242"]


def test_a_worker_is_only_told_what_it_can_do():
    bench, lane = hand_bench(settings=Settings(trace=True, threads=4))
    bench.lab.switch(lane, True)
    bench.links.last.say(Ready("toy", "Toy 1.0", 1))
    bench.pass_()
    assert bench.links.last.names() == ["workload", "refill", "rate"]


def test_a_worker_is_shown_with_the_number_of_threads_that_it_was_told():
    bench, lane = hand_bench(settings=Settings(threads=20))
    bench.lab.switch(lane, True)
    bench.links.last.say(Ready("toy", "Toy 1.0", 1, can=("threads",), flags=("red", "6 threads")))
    flags = ("red", "20 threads")
    bench.links.last.say(*(Applied(name, 0.0) for name in ("workload", "refill")))
    bench.links.last.say(*(Applied(name, 0.0, flags) for name in ("threads", "rate")), tick(0))
    bench.pass_()
    assert bench.texts() == ["on: Toy 1.0 · red · 20 threads, pid 1"]


def test_a_traced_lane_does_not_begin_with_a_tick_from_before_tracing():
    bench, lane = hand_bench(settings=Settings(trace=True))
    bench.lab.set_target(lane, 1_000)
    link = bench.links.last
    link.stand()
    bench.pass_()
    assert lane.state is State.STARTING
    link.say(tick(0.1, traced=600_000))
    bench.pass_()
    assert lane.state is State.RUNNING
    for time in (0.2, 0.3, 0.4):
        link.say(tick(time, 1_000, traced=600_000 + 1_400_000))
        bench.pass_()
    assert lane.sample.traced_per_task == 1_400


def test_an_engine_that_is_not_there_fails_with_what_to_install():
    bench = Bench(engines=[Engine("ghost", "", 1, needs=("no_such_package",), install="pip install ghost")])
    lane = bench.lab.lanes[0]
    bench.lab.set_target(lane, 10)
    assert lane.state is State.FAILED
    assert lane.worker.reason == "needs no_such_package: pip install ghost"
    assert lane.idle
    assert lane.target == 0
    bench.lab.switch(lane, False)
    assert lane.state is State.OFF


def test_a_worker_that_never_stands_fails_within_the_limit():
    bench, lane = hand_bench()
    bench.lab.set_target(lane, 100)
    bench.pass_(START_LIMIT - 0.5, step=0.5)
    assert lane.state is State.STARTING
    bench.pass_(1.5, step=0.5)
    assert lane.state is State.FAILED
    assert lane.worker.reason == "did not stand within 30 s"
    assert bench.links.last.killed
    bench.links.last.stand()  # too late
    bench.pass_()
    assert lane.state is State.FAILED
    bench.links.last.say(end())
    bench.pass_()
    assert lane.idle
    assert bench.texts() == ["failed: did not stand within 30 s"]


def test_a_worker_that_ends_while_starting_fails_with_its_last_words():
    bench, lane = hand_bench()
    bench.lab.switch(lane, True)
    bench.links.last.say(end("exited with status 1: no module named uvloop"))
    bench.pass_()
    assert lane.state is State.FAILED
    assert lane.worker.reason == "exited with status 1: no module named uvloop"


PICKY = Engine("picky", "one toy", 1_000, needs=("msgspec",))
"""An engine whose package is there."""


@pytest.mark.parametrize(
    ("says", "reason"),
    [
        (Error("ImportError: no libuv", None), "ImportError: no libuv"),
        (end("killed by SIGSEGV"), "killed by SIGSEGV"),
    ],
)
def test_a_worker_that_cannot_even_stand_has_its_engine_called_broken_until_one_does(says, reason):
    bench = Bench(links=HandLinks(), engines=[PICKY])
    (lane,) = bench.lab.lanes
    bench.lab.switch(lane, True)
    bench.links.last.say(says)
    bench.pass_()
    told = f"broken msgspec: {reason}; try pip install --force-reinstall msgspec"
    assert (lane.state, lane.worker.reason, lane.missing) == (State.FAILED, told, told)
    bench.links.last.say(end("exited with status 1"))
    bench.pass_()
    assert bench.texts() == [f"failed: {told}"]
    bench.lab.switch(lane, True)
    bench.links.last.stand(bench.now)
    bench.pass_()
    assert (lane.state, lane.missing) == (State.RUNNING, None)


def test_an_engine_is_not_broken_where_no_process_could_be_started():
    bench = Bench(links=HandLinks(), engines=[PICKY])
    (lane,) = bench.lab.lanes
    bench.lab.switch(lane, True)
    bench.links.last.say(Ended("could not be started: no room", ran=False))
    bench.pass_()
    assert (lane.state, lane.missing) == (State.FAILED, None)
    assert lane.worker.reason == "could not be started: no room"


def test_a_refused_workload_at_the_start_fails_the_lane_once():
    bench, lane = hand_bench(settings=Settings(workload="app:job"))
    bench.lab.switch(lane, True)
    link = bench.links.last
    link.say(Ready("toy", "Toy 1.0", 1, can=("trace", "gc")))
    bench.pass_()
    link.say(Error('workload "app:job": no module "app"', "workload"))
    link.say(*(Applied(name, 0.0) for name in ("refill", "trace", "gc", "rate")), tick(0.2))
    bench.pass_()
    link.say(tick(0.3), end())
    bench.pass_()
    assert lane.state is State.FAILED
    assert lane.worker.reason == 'workload "app:job": no module "app"'
    assert link.killed
    assert bench.texts() == ['failed: workload "app:job": no module "app"']


def test_a_workload_refused_later_is_an_event_and_the_lane_stays_as_it_was():
    bench, lane, link = standing()
    bench.lab.set_target(lane, 100)
    bench.lab.set_workload("app:job")
    link.say(tick(0.3, 100), Error('workload "app:job": no module "app"', "workload"))
    bench.pass_()
    assert (lane.state, lane.target, lane.live) == (State.RUNNING, 100, 100)
    assert lane.worker.orders.settings.workload == bench.lab.settings.workload == "sleep:10"
    assert bench.texts("error") == ['workload "app:job": no module "app"']


def test_a_workload_that_was_refused_can_be_asked_for_again():
    bench, _, link = standing()
    bench.lab.set_workload("app:job")
    link.say(Error("no module", "workload"))
    bench.pass_()
    bench.lab.set_workload("app:job")
    orders = [fields for name, fields in link.sent if name == "workload"][1:]
    assert orders == [{"spec": "app:job", "word": "module:function"}] * 2


def test_a_refused_fetch_leaves_the_page_of_before_and_can_be_asked_for_again():
    bench, lane, link = standing()
    bench.lab.set_workload("http:1")
    link.say(Applied("workload", 0.0))
    bench.pass_()
    bench.lab.set_workload("http:2")
    link.say(Error("no aiohttp", "workload"))
    bench.pass_()
    first, second = (bench.pages[0].url(latency) for latency in (1.0, 2.0))
    assert (lane.worker.orders.settings.workload, lane.worker.orders.settings.page) == ("http:1", first)
    bench.lab.set_workload("http:2")
    assert [fields.get("url") for name, fields in link.sent if name == "workload"] == [
        None,
        first,
        second,
        second,
    ]


def test_a_failing_task_is_an_event_with_its_traceback():
    bench, lane, link = standing()
    link.say(Error("a task failed: ValueError: 7", None, "Traceback\n  boom\nValueError: 7\n"))
    bench.pass_()
    assert bench.texts("error") == ["a task failed: ValueError: 7\nTraceback\n  boom\nValueError: 7"]
    assert lane.state is State.RUNNING


def test_a_silent_worker_is_stalled_with_for_how_long_and_recovers():
    bench, lane, link = standing()
    bench.pass_(0.9)
    assert lane.state is State.RUNNING
    assert lane.worker.stalled_for(bench.now) == 0
    bench.pass_(1.1)
    assert lane.state is State.STALLED
    assert lane.on
    assert lane.worker.stalled_for(bench.now) == pytest.approx(2.0)
    assert lane.series.last("lag") == pytest.approx(1.9)
    assert lane.series.last("rss") == link.rss
    link.say(tick(2.5))
    bench.pass_()
    assert lane.state is State.RUNNING
    assert lane.worker.stalled_for(bench.now) == 0


def test_a_worker_whose_tasks_wake_late_is_stalled_although_it_talks():
    bench, lane, link = standing()
    link.say(tick(0.2, lag=1.5))
    bench.pass_()
    assert lane.state is State.STALLED
    assert lane.worker.stalled_for(bench.now) == 1.5


def test_a_slow_rate_is_no_stall():
    bench, lane, link = standing(hz=0.5)
    for index in range(5):
        bench.pass_(2)
        assert lane.state is State.RUNNING
        link.say(tick(2.0 * index))
    bench.pass_(7)
    assert lane.state is State.STALLED


def test_a_stalled_lane_can_be_switched_off_and_is_killed_in_the_end():
    bench, lane, link = standing()
    bench.pass_(2)
    bench.lab.switch(lane, False)
    assert (lane.state, lane.on) == (State.STOPPING, False)
    assert link.names()[-1] == "stop"
    bench.pass_(STOP_LIMIT - 0.1)
    assert not link.killed
    bench.pass_(0.5)
    assert link.killed
    assert bench.texts("warning") == ["did not stop within 3 s: killed"]
    link.say(end())
    bench.pass_()
    assert (lane.state, lane.worker.reason) == (State.OFF, "")
    assert bench.texts()[-1] == "off"


def test_switching_off_twice_says_stop_once():
    bench, lane, link = standing()
    bench.lab.switch(lane, False)
    bench.lab.switch(lane, False)
    assert link.names().count("stop") == 1


def test_a_lane_switched_off_while_starting_does_not_come_up_again():
    bench, lane = hand_bench()
    bench.lab.set_target(lane, 50)
    bench.lab.switch(lane, False)
    link = bench.links.last
    link.stand()
    bench.pass_(0.3)
    assert lane.state is State.STOPPING
    assert link.names() == ["stop"]
    link.say(end("exited with status 0"))
    bench.pass_()
    assert (lane.state, lane.target) == (State.OFF, 0)


def test_a_lane_switched_on_while_stopping_starts_again_with_its_target():
    bench, lane, link = standing()
    bench.lab.switch(lane, False)
    bench.lab.set_target(lane, 70)
    assert lane.state is State.STOPPING
    assert link.names()[-1] == "stop"
    link.say(end())
    bench.pass_()
    assert lane.state is State.STARTING
    assert len(bench.links.links) == 2
    bench.links.last.stand()
    bench.pass_()
    assert lane.state is State.RUNNING
    assert bench.links.last.sent[-1] == ("target", {"tasks": 70})


def test_a_lane_switched_on_and_off_while_stopping_stays_off():
    bench, lane, link = standing()
    for on in (False, True, False):
        bench.lab.switch(lane, on)
    link.say(end())
    bench.pass_(0.3)
    assert lane.state is State.OFF
    assert len(bench.links.links) == 1


def test_a_target_set_while_starting_is_sent_when_the_worker_stands():
    bench, lane = hand_bench()
    bench.lab.set_target(lane, 10)
    bench.lab.set_target(lane, 30)
    link = bench.links.last
    assert not link.sent
    link.stand()
    bench.pass_()
    assert [item for item in link.sent if item[0] == "target"] == [("target", {"tasks": 30})]


def test_a_killed_worker_is_a_failed_lane_that_can_be_switched_on_again():
    bench, lane, link = standing()
    bench.lab.set_target(lane, 100)
    link.say(tick(0.3, 100), end("killed by SIGKILL"))
    bench.pass_()
    assert (lane.state, lane.worker.reason, lane.target, lane.live) == (
        State.FAILED,
        "killed by SIGKILL",
        0,
        0,
    )
    assert lane.sample.rss is None
    assert bench.texts("error") == ["failed: killed by SIGKILL"]
    bench.lab.switch(lane, True)
    bench.links.last.stand()
    bench.pass_()
    assert (lane.state, lane.worker.reason, lane.target) == (State.RUNNING, "", 0)
    assert lane.sample.rss_per_task is None


def test_the_charts_break_between_two_workers():
    bench, lane, link = standing()
    link.say(end())
    bench.pass_()
    assert math.isnan(lane.series.last("rss"))
    bench.lab.switch(lane, True)
    bench.links.last.stand()
    bench.pass_()
    times, values = lane.series.since("rss", 0)
    assert [math.isnan(value) for value in values] == [False, True, False]
    assert list(times) == sorted(times)


def test_the_baseline_is_taken_just_before_the_first_task():
    bench, lane, link = standing()
    link.rss = 11_000_000
    bench.pass_()
    link.rss = 12_000_000
    bench.lab.set_target(lane, 1_000)
    assert lane.status.idle_rss == 12_000_000
    link.rss = 13_000_000
    bench.lab.set_target(lane, 2_000)  # before any tick has told of a task
    assert lane.status.idle_rss == 12_000_000


def test_the_baseline_of_a_waiting_target_comes_after_all_settings():
    bench, lane = hand_bench()
    bench.lab.set_target(lane, 1_000)
    link = bench.links.last
    link.say(Ready("toy", "Toy 1.0", 1, can=("trace",)))
    bench.pass_()
    assert lane.status.idle_rss is None
    link.rss = 15_000_000
    link.say(*(Applied(name, 0.0) for name in ("workload", "refill", "trace", "rate")), tick(0.1))
    bench.pass_()
    assert lane.status.idle_rss == 15_000_000
    assert link.names()[-1] == "target"


def test_memory_seen_after_a_tick_is_judged_by_the_next():
    bench, lane, link = standing()
    bench.lab.set_target(lane, 2_000)
    for time in (1.0, 1.1, 1.2):
        link.rss = 10_000_000 + 1_000 * 1_000
        link.say(tick(time, 1_000))
        bench.pass_()
    assert lane.sample.rss_per_task == 1_000
    link.rss = 10_000_000 + 2_000 * 1_000
    bench.pass_(0.3)  # twice as many stand, but no tick has said so yet
    assert lane.sample.rss_per_task == 1_000
    link.say(tick(1.6, 2_000))
    bench.pass_(0.3)
    assert lane.sample.rss_per_task == 1_000


def test_one_look_is_judged_by_one_tick():
    bench, lane, link = standing()
    bench.lab.set_target(lane, 2_000)
    link.rss = 10_000_000 + 2_000 * 1_000
    bench.pass_()
    # Grown meanwhile: the look lies before the first of these ticks, not between them.
    link.say(tick(1.0, 1_000), tick(1.1, 1_000))
    link.rss = 10_000_000 + 1_000 * 1_000
    bench.pass_(0.2)
    link.say(tick(1.2, 1_000))
    bench.pass_()
    assert lane.sample.rss_per_task == 1_000


def sent_targets(link):
    return [fields["tasks"] for name, fields in link.sent if name == "target"]


@pytest.mark.parametrize("traced", [False, True])
def test_a_fresh_worker_holds_the_same_target_and_every_figure_of_it_is_its_own(traced):
    bench, lane, link = standing()
    bench.lab.set_target(lane, 1_000)
    link.say(tick(1.0, 1_000), Reached(1_000, 1_000, 1_000, 0, 0.01))
    bench.pass_()
    if not traced:
        bench.lab.switch(lane, False)
        bench.lab.switch(lane, True)
    else:
        bench.lab.set_trace(True)
        assert bench.texts()[-1].endswith("lanes start anew at the same target")
    assert link.names()[-1] == "stop"
    assert "trace" not in link.names()[5:]  # a tracer that begins among tasks knows nothing of them
    link.say(end())
    bench.pass_()
    second = bench.links.last
    assert (lane.state, lane.target, second is link) == (State.STARTING, 1_000, False)
    assert (lane.worker.goal.reached, lane.status.create_rate, lane.sample.rss_per_task) == (None, None, None)
    second.stand()
    if traced:
        second.say(tick(0.1, traced=600_000))
    bench.pass_()
    assert dict(second.sent)["trace"] == {"on": traced}
    assert sent_targets(second) == [1_000]
    assert lane.status.tracing == traced


def test_a_lane_that_is_on_its_way_out_or_off_is_not_started_by_tracing():
    bench, lane, link = standing()
    bench.lab.set_target(lane, 1_000)
    bench.lab.switch(lane, False)
    bench.lab.set_trace(True)
    link.say(end())
    bench.pass_(0.3)
    assert (lane.state, len(bench.links.links)) == (State.OFF, 1)
    bench.lab.set_trace(False)
    assert lane.state is State.OFF
    bench.lab.switch(lane, True)
    bench.pass_()
    bench.links.last.stand()
    bench.pass_()
    assert sent_targets(bench.links.last) == [1_000]


@pytest.mark.parametrize(
    "says", [BurstDone(300, 0.1, 0.1, 1.0, 0.2), Error("a burst needs a worker without tasks", "burst")]
)
def test_a_burst_leaves_no_target_behind(says):
    bench, lane, link = standing()
    lane.worker.run_burst(Burst(300, 1, 0, None))
    assert (link.names()[-1], lane.target) == ("burst", 300)
    link.say(tick(0.5), says)
    bench.pass_()
    assert (lane.target, lane.worker.tally.burst is None) == (0, isinstance(says, Error))
    bench.lab.switch(lane, False)
    bench.lab.switch(lane, True)
    link.say(end())
    bench.pass_()
    bench.links.last.stand()
    bench.pass_()
    assert (lane.state, lane.target, sent_targets(bench.links.last)) == (State.RUNNING, 0, [])


def test_settings_that_change_are_sent_and_nothing_else():
    bench, _, link = standing()
    link.sent.clear()
    bench.lab.set_refill(False)
    bench.lab.set_gc("frozen")
    bench.lab.set_gc("frozen")
    bench.lab.set_workload("hold")
    bench.lab.set_trace(False)
    bench.lab.set_threads(3)
    assert link.sent == [
        ("refill", {"on": False}),
        ("gc", {"mode": "frozen"}),
        ("workload", {"spec": "hold", "word": "hold"}),
    ]


def test_settings_changed_while_starting_are_the_ones_applied():
    bench, lane = hand_bench()
    bench.lab.switch(lane, True)
    bench.lab.set_workload("nop")
    bench.links.last.say(Ready("toy", "Toy 1.0", 1))
    bench.pass_()
    assert ("workload", {"spec": "nop", "word": "nop"}) in bench.links.last.sent


def test_a_new_workload_forgets_the_cost_of_the_old_one():
    bench, lane, link = standing()
    bench.lab.set_target(lane, 1_000)
    for time in (1.0, 1.1, 1.2):
        link.say(tick(time, 1_000))
        bench.pass_()
    assert lane.status.clean
    link.say(Applied("gc", 0.0))
    bench.pass_()
    assert lane.status.clean
    link.say(Applied("workload", 0.0))
    bench.pass_()
    assert lane.sample.rss_per_task is None
    link.say(tick(1.3, 1_000))
    bench.pass_()
    assert not lane.status.clean


def test_a_limit_is_told_with_its_wall_and_the_lane_goes_on():
    bench, lane, link = standing()
    bench.lab.set_target(lane, 50_000)
    link.say(tick(0.3, 21_800), Limit(21_800, 50_000, "vm.max_map_count", 65_530, "can't start new thread"))
    bench.pass_()
    assert (lane.state, lane.target, lane.worker.goal.limit.wall) == (
        State.RUNNING,
        21_800,
        "vm.max_map_count",
    )
    assert bench.texts("warning") == [
        "vm.max_map_count (65,530) reached at 21,800 of 50,000 tasks: can't start new thread"
    ]
    bench.lab.set_target(lane, 1_000)
    assert lane.worker.goal.limit is None
    assert link.sent[-1] == ("target", {"tasks": 1_000})


def test_a_limit_that_crossed_with_a_newer_target_does_not_undo_it():
    bench, lane, link = standing()
    bench.lab.set_target(lane, 50_000)
    bench.lab.set_target(lane, 20_000)
    link.say(Limit(300, 50_000, "memory budget", 1 << 30))
    bench.pass_()
    assert (lane.target, lane.worker.goal.limit) == (20_000, None)
    assert "memory budget (1 GiB) reached at 300 of 50,000 tasks" in bench.texts("warning")


def test_a_reached_that_crossed_with_a_newer_target_is_not_taken_for_it():
    bench, lane, link = standing()
    bench.lab.set_target(lane, 100)
    bench.lab.set_target(lane, 0)
    link.say(Reached(100, 100, 100, 0, 0.01))
    bench.pass_()
    assert lane.worker.goal.reached is None
    link.say(Reached(0, 0, 0, 100, 0.5))
    bench.pass_()
    assert lane.worker.goal.reached.cancelled == 100
    assert bench.texts()[-2:] == [
        "100 tasks started in 10 ms (10 k/s)",
        "100 tasks stopped in 500 ms",
    ]


def test_the_first_line_of_garbage_is_told_and_a_hundred_more_end_the_worker():
    bench, lane, link = standing()
    link.say(*(Garbage(f"not a line of the wire: {index}") for index in range(MOST_GARBAGE)))
    bench.pass_()
    assert lane.state is State.RUNNING
    assert bench.texts("warning") == ["not a line of the wire: 0"]
    link.say(*(Garbage("more") for _ in range(500)))
    bench.pass_()
    assert lane.state is State.FAILED
    assert (
        lane.worker.reason
        == "more than 100 of its lines could not be used, the first: not a line of the wire: 0"
    )
    assert link.killed
    assert len(bench.texts("error")) == 1


def test_a_tick_that_cannot_be_is_told_once_and_no_figure_of_it_is_taken():
    bench, lane, link = standing()
    link.say(tick(1.0, 100, created=500))
    bench.pass_()
    link.say(tick(1.1, 90, created=400), tick(0.5, 90, created=500), replace(tick(1.2, 100), created=501))
    link.say(tick(1.2, 80, created=500, queued=81))
    bench.pass_()
    assert (lane.live, lane.sample.tick_time) == (100, 1.0)
    assert bench.texts("warning") == ["a tick that cannot be: created fell from 500 to 400"]
    link.say(tick(1.3, 110, created=510))
    bench.pass_()
    assert (lane.state, lane.live) == (State.RUNNING, 110)
    assert lane.sample.created_per_second == pytest.approx(10 / 0.3)


def test_a_worker_is_ready_once():
    bench, _, link = standing()
    before = len(link.sent)
    link.say(Ready("toy", "Other 2.0", 1))
    bench.pass_()
    assert bench.texts("warning") == ["ready for the second time"]
    assert len(link.sent) == before


def test_a_worker_of_another_version_of_the_wire_fails():
    bench, lane = hand_bench()
    bench.lab.switch(lane, True)
    bench.links.last.say(Ready("toy", "Toy 1.0", 1, protocol=2))
    bench.pass_()
    assert (lane.state, lane.worker.reason) == (State.FAILED, "speaks version 2 of the wire: expected 1")


def test_a_worker_that_says_too_much_does_not_fill_the_event_log():
    bench, _, link = standing()
    for _ in range(100):
        link.say(*(Error("x" * 5_000, None, "y" * 20_000) for _ in range(100)), Flood("too much"))
        bench.pass_()
    assert len(bench.texts()) < 100
    assert len(bench.texts("error")) >= 30
    assert all(len(text) < 10_000 for text in bench.texts())
    assert bench.texts("warning").count("too much") == 1
    told = [text for text in bench.texts("warning") if "more of its reports were dropped" in text]
    assert len(told) == 1
    bench.pass_(10)
    link.say(Error("at last", "gc"))
    bench.pass_()
    assert bench.texts("error")[-1] == "at last"


def test_what_a_worker_writes_is_told_once_without_commands_to_the_terminal():
    bench, _, link = standing()
    link.say(Noise("\x1b[2J\x07hello\nworld\n"), Noise("again"))
    bench.pass_()
    assert bench.texts()[-1] == "wrote: \N{REPLACEMENT CHARACTER}[2J\N{REPLACEMENT CHARACTER}hello"
    link.say(Noise("\n \n"), end("killed by SIGTERM: \x1b[31mred"))
    bench.pass_()
    assert bench.lab.lanes[0].worker.reason == "killed by SIGTERM: \N{REPLACEMENT CHARACTER}[31mred"


def test_a_flood_of_ticks_leaves_one_sample_a_step():
    bench, lane, link = standing()
    before = len(lane.series)
    link.say(*(tick(1 + index / 1e6, index) for index in range(20_000)))
    bench.pass_()
    assert len(lane.series) == before + 1
    assert lane.live == lane.status.peak_live == 19_999


def test_samples_keep_to_the_rate_when_the_lab_steps_faster():
    bench, lane, _ = standing(hz=1)
    bench.pass_(60)
    times = list(lane.series.since("rss", 0)[0])
    assert len(times) == pytest.approx(61, abs=1)
    assert all(0.4 < after - before < 1.6 for before, after in pairwise(times))


def test_trim_is_asked_of_who_can_and_answered_by_an_event():
    bench, lane, link = standing()
    lane.worker.send_optional("trim")
    assert link.names()[-1] == "trim"
    link.say(Applied("trim", 0.25))
    bench.pass_()
    assert bench.texts()[-1] == "trimmed in 250 ms"
    bench, lane = hand_bench()
    lane.worker.send_optional("trim")
    bench.lab.switch(lane, True)
    bench.links.last.say(Ready("toy", "Toy 1.0", 1))
    bench.pass_()
    lane.worker.send_optional("trim")
    assert "trim" not in bench.links.last.names()


def test_the_most_tasks_ever_live_are_kept():
    bench, lane, link = standing()
    bench.lab.set_target(lane, 500)
    for live in (500, 20):
        link.say(tick(1 / live, live, created=500))
        bench.pass_()
    assert (lane.live, lane.status.peak_live) == (20, 500)


def test_a_worker_that_cannot_be_looked_at_adds_no_sample():
    bench, lane, link = standing()
    before = len(lane.series)
    link.rss = 0
    bench.pass_(0.5)
    assert len(lane.series) == before
