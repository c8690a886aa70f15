"""The user's function with arguments, set-up and tear-down, and its failures: real workers of each kind."""

import queue
import threading
from types import SimpleNamespace

import pytest

from concwatch.portable.protocol.workloads import join_arguments
from concwatch.portable.worker.tasks.setups import Setups
from tests.worker_driver import Worker, row_of

pytestmark = [pytest.mark.real, pytest.mark.timeout(120)]

# For every engine: DEF is "async def" or "def", and PAUSE a function that sleeps.
JOBS = """
import asyncio, contextlib, sys, threading, time

def say(*words):
    sys.stderr.write("<" + " ".join(words) + ">")
    sys.stderr.flush()

DEF pair(first, second="none"):
    say("called", first, second)
    PAUSE(60)

DEF load(name):
    say("set-up", name)
    DEF task():
        say("task", name)
        PAUSE(0.05)
    try:
        yield task
    finally:
        say("tear-down", name)

decorated = contextlib.MANAGER(load)

DEF broken_setup():
    [][1]
    yield

DEF broken_teardown():
    DEF task():
        PAUSE(0.05)
    yield task
    [][1]

DEF yields_number():
    yield 5

DEF yields_more():
    DEF task(session): ...
    yield task

OTHER other_kind():
    OTHER task(): ...
    yield task

def two_ways(count=[0]):
    count[0] += 1
    if count[0] % 3:
        raise KeyError(count)
    raise ValueError("no luck")

DEF fail():
    PAUSE(0.01)
    two_ways()
"""
LOOPS = ("asyncio", "uvloop", "asyncio-eager")
PAUSES = dict.fromkeys(LOOPS, "await asyncio.sleep") | {"gevent": "__import__('gevent').sleep"}
ENGINES = (*LOOPS, "gevent", "threads", "pool", "sequential")
SETUP_LINE = 1 + JOBS[: JOBS.index("[][1]")].count("\n")
FAILING_LINE = 1 + JOBS[: JOBS.index("raise KeyError")].count("\n")


@pytest.fixture(params=ENGINES)
def engine(request):
    """The name of an installed engine."""
    if missing := row_of(request.param).missing():
        pytest.skip(missing)
    return request.param


def write_jobs(engine, folder):
    """Write the user's functions for an engine."""
    loop = engine in LOOPS
    kind, other = ("async def", "def") if loop else ("def", "async def")
    source = JOBS.replace("DEF", kind).replace("OTHER", other)
    source = source.replace("PAUSE", PAUSES.get(engine, "time.sleep"))
    source = source.replace("MANAGER", "asynccontextmanager" if loop else "contextmanager")
    (folder / "jobs.py").write_text(source)


@pytest.fixture
def worker(engine, tmp_path):
    """A worker in a folder with the user's functions, ended at the end of the test."""
    write_jobs(engine, tmp_path)
    with Worker(row_of(engine), cwd=tmp_path) as worker:
        worker.do("rate", hz=50)
        yield worker


def said(worker, *words):
    """Return how often the user's code has said these words."""
    return worker.noise.count("<" + " ".join(words) + ">")


def test_a_function_gets_its_arguments(worker):
    worker.do("workload", spec="jobs:pair", arguments=join_arguments(["a b", ""]))
    worker.send("target", tasks=1)
    worker.until(lambda: said(worker, "called", "a b", ""), "call with two arguments")
    for arguments, expected in (
        (
            [],
            "missing a required argument: 'first'); expected a function that needs no arguments, or an --arg",
        ),
        (["1", "2", "3"], "too many positional arguments); expected a function that takes 3 arguments"),
    ):
        message = worker.refuse("workload", spec="jobs:pair", arguments=join_arguments(arguments))
        assert message.startswith('workload "jobs:pair": pair does not fit (')
        assert expected in message
    assert "null character" in worker.refuse("workload", spec="jobs:pair", arguments="no end")


SLOW_THREADS = """
import sys, threading, time

def slowly(method):
    def call(self):
        time.sleep(0.1)
        method(self)
    return call
threading.Thread.start = slowly(threading.Thread.start)
threading.Thread.run = slowly(threading.Thread.run)

def say(*words):
    sys.stderr.write(f"<{' '.join(words)}>")
    sys.stderr.flush()

def load(name):
    try:
        yield lambda: say("task", name)
    finally:
        say("tear-down", name)
        time.sleep(0.4)
"""


@pytest.mark.parametrize("live", [0, 1], ids=["being started", "started"])
def test_a_teardown_waits_for_threads_that_have_not_begun_their_task(live, tmp_path):
    (tmp_path / "jobs.py").write_text(SLOW_THREADS)
    with Worker(row_of("threads"), cwd=tmp_path) as worker:
        worker.do("rate", hz=50)
        worker.do("workload", spec="jobs:load", arguments=join_arguments(["one"]))
        worker.send("target", tasks=1)
        worker.tick(lambda tick: tick["completed"] and tick["live"] == live)
        worker.do("workload", spec="jobs:load", arguments=join_arguments(["two"]))
        worker.until(lambda: said(worker, "task", "two") >= 2, "tasks of the second workload")
        worker.tick(lambda tick: tick["live"] == live)
        worker.send("stop")
        assert worker.ended() == 0
    ones, _, twos = worker.noise.partition("<tear-down one>")
    assert "two" not in ones
    assert "one" not in twos
    assert twos.endswith("<task two><tear-down two>")


def test_whether_tasks_have_ended_is_asked_once_none_is_replaced():
    order = []
    changes = queue.Queue()

    def apply_changes():
        for change in iter(changes.get, None):
            list(change() or ())

    setups = Setups(order.append)
    setups.current = SimpleNamespace(leave=lambda: order.append("tear-down"))
    engine = threading.Thread(target=apply_changes)
    threading.Timer(0.1, engine.start).start()
    setups.finish(changes.put, lambda: order.append("stop"), lambda: order.append("asked") or True)
    changes.put(None)
    assert order == ["stop", "asked", "tear-down"]


@pytest.mark.parametrize("function", ["load", "decorated"])
def test_a_setup_is_run_once_before_the_first_task_and_torn_down_at_the_end(worker, function):
    worker.do("workload", spec=f"jobs:{function}", arguments=join_arguments(["one"]))
    worker.until(lambda: said(worker, "set-up", "one"), "set-up before there is a target")
    worker.send("target", tasks=2)
    worker.tick(lambda tick: tick["completed"] >= 5)
    worker.until(lambda: said(worker, "task", "one") >= 5, "tasks")
    assert said(worker, "tear-down", "one") == 0
    worker.send("stop")
    assert worker.ended() == 0
    assert said(worker, "set-up", "one") == said(worker, "tear-down", "one") == 1
    assert worker.noise.endswith("<tear-down one>")  # after the last task
    assert worker.all("error") == []


def test_a_setup_is_torn_down_at_the_end_of_the_input(worker):
    worker.do("workload", spec="jobs:load", arguments=join_arguments(["one"]))
    worker.process.stdin.close()
    assert worker.ended() == 0
    assert worker.noise == "<set-up one><tear-down one>"


def test_another_workload_tears_down_what_the_one_before_has_set_up(worker):
    worker.do("workload", spec="jobs:load", arguments=join_arguments(["one"]))
    worker.send("target", tasks=2)
    worker.tick(lambda tick: tick["completed"] >= 2)
    worker.do("workload", spec="jobs:load", arguments=join_arguments(["two"]))
    worker.until(lambda: said(worker, "task", "two"), "task of the second workload")
    assert said(worker, "tear-down", "one") == 1
    after = worker.noise.partition("<tear-down one>")[2]
    assert "<task one>" not in after
    worker.do("workload", spec="sleep:0.01")
    worker.until(lambda: said(worker, "tear-down", "two"), "tear-down of the second workload")
    worker.tick(lambda tick: tick["live"])
    assert worker.all("error") == []


def test_a_setup_that_fails_or_yields_no_function_is_rejected_with_the_place(worker):
    worker.do("workload", spec="hold")
    for function, expected in {
        "broken_setup": r"set-up of jobs:broken_setup failed: IndexError at ",
        "yields_number": 'workload "jobs:yields_number": yields_number yields a int; expected the function',
        "yields_more": "what yields_more yields does not fit (missing a required argument: 'session')",
    }.items():
        message = worker.refuse("workload", spec=f"jobs:{function}")
        assert expected in message
        assert "\n" not in message
    message = worker.refuse("workload", spec="jobs:broken_setup")
    assert f"/jobs.py:{SETUP_LINE}: list index" in message
    worker.target(1)  # the workload before is still in effect


def test_a_setup_of_the_other_kind_is_rejected(engine, worker):
    message = worker.refuse("workload", spec="jobs:other_kind")
    if engine in LOOPS:  # a plain generator function may set up a loop, but not yield a plain function
        assert "what other_kind yields is a plain function; an event loop needs a coroutine" in message
    else:
        assert "other_kind is an async generator function; a thread needs a plain one (def)" in message


def test_a_tear_down_that_fails_is_reported(worker):
    worker.do("workload", spec="jobs:broken_teardown")
    worker.send("target", tasks=1)
    worker.tick(lambda tick: tick["completed"])
    worker.send("stop")
    assert worker.ended() == 0
    (error,) = worker.all("error")
    assert error["command"] == "stop"
    assert error["message"].startswith("tear-down of jobs:broken_teardown failed: IndexError at ")


def test_failures_are_counted_by_type_and_line(worker):
    worker.do("refill", on=False)
    worker.do("workload", spec="jobs:fail")
    worker.send("target", tasks=9)
    worker.tick(lambda tick: tick["failed"] == 9)
    reported = [tick["failures"] for tick in worker.ticks if "failures" in tick]
    counts = {one["type"]: one["count"] for one in reported[-1]}
    assert counts == {"KeyError": 6, "ValueError": 3}
    places = {one["type"]: one["where"] for one in reported[-1]}
    assert places["KeyError"].endswith(f"jobs.py:{FAILING_LINE}")
    assert places["ValueError"].endswith(f"jobs.py:{FAILING_LINE + 1}")
    assert "failures" not in worker.tick()  # nothing has changed
    worker.do("workload", spec="jobs:fail")  # they are counted anew
    since = worker.send("target", tasks=1)
    tick = worker.wait("tick", lambda tick: "failures" in tick, since)
    assert sum(one["count"] for one in tick["failures"]) == 1


def test_each_of_several_interpreters_runs_the_setup(tmp_path):
    row = row_of("interpreters")
    if missing := row.missing():
        pytest.skip(missing)
    write_jobs("interpreters", tmp_path)
    with Worker(row, cwd=tmp_path) as worker:
        worker.do("threads", count=2)
        worker.do("workload", spec="jobs:load", arguments=join_arguments(["one"]))
        worker.target(4)
        worker.tick(lambda tick: tick["completed"] >= 20)
        assert 1 <= said(worker, "set-up", "one") <= 2
        worker.do("workload", spec="jobs:load", arguments=join_arguments(["two"]))
        worker.until(lambda: said(worker, "task", "two") >= 20, "tasks of the second workload")
        worker.do("refill", on=False)
        worker.target(0)
        worker.send("stop")
        assert worker.ended() == 0
        for name in ("one", "two"):
            assert said(worker, "set-up", name) == said(worker, "tear-down", name) > 0
        assert worker.all("error") == []


def test_several_interpreters_call_a_function_with_arguments(tmp_path):
    row = row_of("interpreters")
    if missing := row.missing():
        pytest.skip(missing)
    write_jobs("interpreters", tmp_path)
    with Worker(row, cwd=tmp_path) as worker:
        worker.do("refill", on=False)
        worker.do("workload", spec="jobs:broken_setup")
        since = worker.send("target", tasks=1)
        tick = worker.wait("tick", lambda tick: "failures" in tick, since)
        assert tick["failures"][0]["where"].endswith(f":{SETUP_LINE}")
        assert worker.wait("error")["message"].endswith(": list index out of range")
        worker.do("refill", on=True)
        worker.do("workload", spec="jobs:fail")
        since = worker.send("target", tasks=1)
        tick = worker.wait("tick", lambda tick: "failures" in tick, since)
        assert tick["failures"][0]["where"].endswith((f":{FAILING_LINE}", f":{FAILING_LINE + 1}"))
        worker.do("workload", spec="jobs:pair", arguments=join_arguments(["x"]))
        worker.until(lambda: said(worker, "called", "x", "none"), "call with an argument")
