"""What blocks a loop: the longest run of samples, and the blocks of a process by place."""

import asyncio
import sys
import threading
from functools import partial
from time import monotonic

from concwatch.links.messages import Block, StackFrame
from concwatch.monitor.verdicts.blocks import BlockedPlaces, merge_places
from concwatch.monitor.verdicts.events import EventLog
from concwatch.portable.agent.basics.names import FILE
from concwatch.portable.agent.blocking.blocks import LOOPS_INTERVAL, Blocks
from concwatch.portable.agent.blocking.heartbeat import TIMERS
from concwatch.portable.agent.blocking.stacks import StackSample, longest_run, take_sample
from concwatch.portable.agent.counting.counting import COUNTS
from tests.agent_driver import eventually

STACK = (
    StackFrame("sleep", "/lib/time.py:3"),
    StackFrame("hash_password", "/srv/app/auth.py:34"),
    StackFrame("login", "/srv/app/v.py:12"),
)


def sample(time, key, line=1):
    return StackSample(time, key, [("work", f"app.py:{line}")], [0], "login")


def block(number=1, seconds=0.3, **fields):
    fields = {"stack": STACK, "own": (1, 2), "group": "login", **fields}
    return Block(number, "loop 1", seconds, **fields)


def texts(events):
    return [event.text for event in events.since(0)]


def test_the_longest_run_is_that_of_one_task():
    run = longest_run([sample(1.02, 5), sample(1.04, 5, 2), sample(1.06, 5, 2), sample(1.08, 6)], 1.0, 1.1)
    assert run is not None
    assert round(run.seconds, 3) == 0.07
    assert run.typical().stack == [("work", "app.py:2")]


def test_many_short_tasks_are_no_long_run():
    run = longest_run([sample(1 + at / 50, at + 1) for at in range(1, 10)], 1.0, 1.2)
    assert run is not None
    assert run.seconds < 0.05


def test_the_loop_itself_is_no_run():
    run = longest_run([StackSample(1.05, 0, [], [], "")], 1.0, 1.2)
    assert run is not None
    assert run.seconds == 0


def test_without_a_sample_nothing_is_known():
    assert longest_run([], 1.0, 1.2) is None


def test_a_run_begins_no_earlier_than_the_step_that_was_sampled():
    first, second = sample(1.16, 78), sample(1.2, 98)
    first.began, second.began = 1.159, 1.199  # what ran before, while no samples were taken, is not known
    run = longest_run([first, second], 1.0, 1.21)
    assert run.seconds < 0.03


def test_a_search_that_ends_leaves_the_loops_to_the_one_that_has_followed_it():
    loop = asyncio.new_event_loop()
    running = threading.Thread(target=loop.run_forever)
    running.start()
    eventually(loop.is_running, "running loop")
    COUNTS.loops.add(loop)
    first, second = Blocks(lambda: 0.0, [].append), Blocks(lambda: 0.0, [].append)
    try:
        first.step(monotonic())
        second.step(monotonic())
        first.close()
        second.step(monotonic() + 2 * LOOPS_INTERVAL)
        assert id(loop) in TIMERS
    finally:
        second.close()
        loop.call_soon_threadsafe(loop.stop)
        running.join()
        loop.close()
    assert id(loop) not in TIMERS


def test_a_place_is_reported_once_and_then_counted():
    events = EventLog()
    places = BlockedPlaces(partial(events.add, 0.0, "app.py 40"))
    places.add(block())
    assert texts(events) == [
        "loop 1 blocked for 300 ms in hash_password (app/auth.py:34), called by login (app/v.py:12)"
    ]
    for number in range(2, 10):
        places.add(block(number))
    assert events.count == 1
    places.add(block(10, 0.5))
    assert texts(events)[1].endswith("; 10 times, 3.2 s in all")
    (row,) = places.ranked()
    assert row.as_json() | {"stack": None} == {
        "cause": "code",
        "loop": "loop 1",
        "function": "hash_password",
        "where": "/srv/app/auth.py:34",
        "group": "login",
        "exact": True,
        "count": 10,
        "seconds": 3.2,
        "longest": 0.5,
        "throttled": 0.0,
        "stack": None,
    }


def test_the_places_of_several_processes_are_one_list():
    first, second = BlockedPlaces(), BlockedPlaces()
    first.add(block())
    second.add(block(1, 0.5))
    second.add(block(2, 0.1, cause="gc"))
    one, other = merge_places([*first.ranked(), *second.ranked()])
    assert (one.function, one.count, one.seconds, one.longest) == ("hash_password", 2, 0.8, 0.5)
    assert other.cause == "gc"
    assert [ended.text for ended in second.ended] == [
        "500 ms in hash_password (app/auth.py:34)",
        "100 ms by the garbage collector",
    ]


def test_a_block_that_goes_on_is_counted_once():
    places = BlockedPlaces()
    places.add(block(1, 1.0, ended=False))
    places.add(block(1, 2.0, ended=False))
    assert places.ranked()[0].seconds == 2.0
    places.add(block(1, 2.5))
    assert (places.ranked()[0].count, places.longest) == (1, 2.5)


def test_a_block_that_goes_on_at_another_line_is_counted_there():
    places = BlockedPlaces()
    places.add(block(1, 1.0, ended=False))
    places.add(block(1, 9.0, ended=False, own=(2,)))
    (place,) = places.ranked()
    assert (place.function, place.count, place.seconds) == ("login", 1, 9.0)
    (status,) = places.ongoing
    assert status.brief == "blocked for 9 s in login (app/v.py:12)"


def test_a_process_that_did_not_run_is_not_blocked_by_its_code():
    events = EventLog()
    places = BlockedPlaces(partial(events.add, 0.0, ""))
    places.add(block(1, 4.0, cause="stopped", stack=(), own=(), group=None))
    assert texts(events) == [
        "loop 1 blocked for 4 s while its process was stopped, or waited for a processor"
    ]
    assert places.longest == 0


def test_frames_of_the_agent_are_not_taken_for_what_blocks():
    namespace = {"sys": sys}
    exec(compile("def called(): return sys._getframe()", FILE, "exec"), namespace)
    frame = namespace["called"]()
    taken = take_sample(frame, 0, 0, None, 1.0)
    assert taken.stack[0][0] == "test_frames_of_the_agent_are_not_taken_for_what_blocks"
    depth = len(taken.stack)
    while frame := frame.f_back:
        depth += 1
    assert take_sample(namespace["called"](), depth, 0, None, 1.0).key == 0
