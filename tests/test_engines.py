"""One suite over all engines: real workers, driven over the wire, their counters checked at every tick.

`Worker` checks at the end of each test that every tick added up and that no cumulative counter ever fell.
"""

import re
import signal
import subprocess
import sys
import time
from itertools import pairwise

import psutil
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from concwatch import wire
from concwatch.lab.catalog import CATALOG, PYTHONS, find
from concwatch.lab.settings import parts
from concwatch.system.child import ROOT
from tests.built import start_command
from tests.worker_driver import EARLY, PATIENCE, Worker

pytestmark = [pytest.mark.real, pytest.mark.timeout(300)]  # the first test of an engine may have to build it

EVENT_LOOPS = ("asyncio", "uvloop")
BEAM = ("erlang", "elixir")
ONE_THREAD = (*EVENT_LOOPS, "gevent")
"""Engines all of whose tasks share one thread, on which each has to give way to the others."""
MIB = 1 << 20

# The same functions for every engine: DEF is "async def" or "def", and PAUSE what sleeps there.
JOBS = """
import asyncio, gc, os, sys, time
DEF short(): PAUSE(0.02)
DEF long(): PAUSE(60)
DEF fail(): raise ValueError("no luck today")
DEF leave(): sys.exit(7)
DEF noise():
    print('{"type":"tick"}', flush=True)
    os.write(1, b'{"type":"ready"}\\n')
    os.system("echo from a child")
    assert sys.stdin.read() == "" and os.read(0, 10) == b""
DEF block(): time.sleep(1.5)
DEF block_for_ever(): time.sleep(600)
DEF collector():
    PAUSE(0.2)  # until its slice has been created, during which nothing is collected
    sys.stderr.write(f"<enabled {gc.isenabled()} frozen {gc.get_freeze_count() > 0}>\\n")
DEF slow_to_end():
    try:
        PAUSE(60)
    finally:
        PAUSE(0.3)
async def child():
    sys.stderr.write("<child begun>\\n")
    try:
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        sys.stderr.write("<child cancelled>\\n")
        raise
async def parent():
    await asyncio.gather(*[child() for _ in range(5)], return_exceptions=True)
"""


@pytest.fixture(scope="module", params=[engine.name for engine in CATALOG])
def engine(request):
    """The name of each engine in turn."""
    missing = find([request.param])[0].missing()
    if missing:
        pytest.skip(missing)
    return request.param


@pytest.fixture(scope="module")
def jobs(engine, tmp_path_factory):
    """A working directory with functions of the user's own, of the kind that this engine takes."""
    folder = tmp_path_factory.mktemp(engine)
    loop = engine in EVENT_LOOPS
    source = JOBS.replace("DEF", "async def" if loop else "def")
    pauses = dict.fromkeys(EVENT_LOOPS, "await asyncio.sleep") | {"gevent": "__import__('gevent').sleep"}
    (folder / "jobs.py").write_text(source.replace("PAUSE", pauses.get(engine, "time.sleep")))
    return folder


class Kept:
    """One worker, kept from test to test: to start it takes longer than most tests."""

    def __init__(self):
        self._engine, self._worker = "", None

    def take(self, engine, folder):
        """Return a worker of ``engine``, started in ``folder``, that is as at its start."""
        worker = self._worker
        if worker and self._engine == engine and worker.process.poll() is None:
            worker.renew()
            return worker
        self.end()
        self._engine, self._worker = engine, Worker(engine, cwd=folder)
        return self._worker

    def end(self):
        """End it."""
        worker, self._worker = self._worker, None
        if worker:
            worker.end()


@pytest.fixture(scope="module")
def kept():
    """What starts workers."""
    kept = Kept()
    yield kept
    kept.end()


@pytest.fixture
def worker(engine, jobs, kept):
    """A worker with the functions above, its tasks held until told otherwise."""
    worker = kept.take(engine, jobs)
    worker.do("rate", hz=100)
    worker.do("workload", spec="hold")
    yield worker
    worker.check()


@pytest.fixture
def fresh(engine, jobs):
    """The same, but new: for what depends on what a worker did before, such as its memory."""
    with Worker(engine, cwd=jobs) as worker:
        worker.do("rate", hz=100)
        worker.do("workload", spec="hold")
        yield worker


on_pythons = pytest.mark.parametrize(
    "engine", [engine.name for engine in PYTHONS], indirect=True, scope="module"
)
"""For what only Python's engines have: functions of the user's own, tracing, modes of the collector."""
on_event_loops = pytest.mark.parametrize("engine", EVENT_LOOPS, indirect=True, scope="module")
on_two = pytest.mark.parametrize("engine", ["pool", "asyncio"], indirect=True, scope="module")
"""For what no engine has a part in: one that blocks and one that does not will do."""
on_each_kind = pytest.mark.parametrize(
    "engine", ["threads", "asyncio", "gevent"], indirect=True, scope="module"
)
"""For what each kind of engine has once: a thread's, a coroutine's, a greenlet's."""
on_one_thread = pytest.mark.parametrize("engine", ONE_THREAD, indirect=True, scope="module")
on_threads = pytest.mark.parametrize("engine", ["threads", "pool"], indirect=True, scope="module")
on_blocking = pytest.mark.parametrize(
    "engine", ["threads", "pool", "sequential"], indirect=True, scope="module"
)
on_the_pool = pytest.mark.parametrize("engine", ["pool"], indirect=True, scope="module")


COMMON = ["trace", "gc", "trim", "burst"]
CAN = {
    "threads": [*COMMON, "stack"],
    "pool": [*COMMON, "stack", "threads"],
    "asyncio": COMMON,
    "uvloop": COMMON,
    "gevent": COMMON,
    "sequential": COMMON,
}
"""The optional commands of each engine."""


def enough_threads(worker, count):
    """Have so many tasks run side by side: the pool needs as many threads."""
    if "threads" in worker.ready["can"]:
        worker.do("threads", count=count)


def few(engine, tasks):
    """As many tasks, or but a few where each waits for the last, so that a test stays short."""
    return min(tasks, 2) if engine == "sequential" else tasks


def burst(worker, spec, tasks):
    """Run ``tasks`` tasks of that workload just once."""
    worker.do("refill", on=False)
    worker.do("workload", spec=spec)
    return worker.send("target", tasks=tasks)


# What it says of itself.


def test_ready_says_what_it_is(engine, worker):
    assert worker.reports[0] == worker.ready
    assert worker.ready["protocol"] == 1
    assert worker.ready["engine"] == engine
    assert worker.ready["pid"] == worker.process.pid
    assert worker.ready["can"] == CAN.get(engine, ["trim", "burst"])
    assert {"sleep", "ticks", "hold", "payload", "spin", "nop"} <= set(worker.ready["workloads"])
    assert re.fullmatch(r"\.?\w[\w.#/ ]* \d+\.[\w.+ ()-]*", worker.ready["runtime"])


@on_pythons
def test_ready_says_which_python_it_is(engine, worker):
    version = ".".join(map(str, sys.version_info[:3]))
    assert worker.ready["runtime"] == f"CPython {version}"
    flags = {"pool": r"\d+ threads", "uvloop": r"uvloop [\d.]+", "gevent": r"gevent [\d.]+"}
    if engine in flags:
        assert re.fullmatch(flags[engine], worker.ready["flags"][0])
    else:
        assert worker.ready["flags"] == []
    assert worker.ready["workloads"][-1] == "module:function"


def test_an_idle_worker_ticks_zeros_and_nothing_else(worker):
    for tick in worker.next_ticks(3):
        counters = ("created", "live", "queued", "completed", "failed", "cancelled")
        assert [tick[key] for key in counters] == [0] * 6
    assert {report["type"] for report in worker.reports} == {"ready", "tick", "applied"}


@on_two
def test_the_rate_of_ticks_is_set(worker):
    worker.do("rate", hz=4)
    first, *_, last = worker.next_ticks(5)
    assert last["time"] - first["time"] > 0.6  # four intervals; at ten a second they are 0.4 s
    worker.do("rate", hz=100)
    first, *_, last = worker.next_ticks(12)
    assert last["time"] - first["time"] < 1.0  # eleven intervals; at ten a second they are 1.1 s
    for wrong in (0, 0.05, 101, -1, True, "ten", None):
        assert "expected ticks a second from 0.1 to 100" in worker.refuse("rate", hz=wrong)


# Holding a target.


def test_it_holds_its_target(worker):
    reached = worker.target(300)
    assert (reached["target"], reached["live"], reached["created"], reached["cancelled"]) == (
        300,
        300,
        300,
        0,
    )
    assert 0 < reached["seconds"] < PATIENCE
    for tick in worker.next_ticks(3):
        assert (tick["live"], tick["created"]) == (300, 300)
    worker.target(450)
    assert worker.next_ticks(1)[0]["created"] == 450


def test_a_target_is_reached_just_once(worker):
    for target in (50, 20, 20, 0, 30):
        worker.target(target)
    worker.next_ticks(2)
    assert [report["target"] for report in worker.all("reached")] == [50, 20, 20, 0, 30]
    assert worker.all("limit") == worker.all("error") == []


@pytest.mark.parametrize("spec", ["hold", "sleep:1000"])
@pytest.mark.parametrize("smaller", [120, 3, 0])
def test_it_shrinks_by_exactly_the_excess(worker, spec, smaller):
    worker.do("workload", spec=spec)
    worker.target(300)
    reached = worker.target(smaller)
    assert (reached["live"], reached["created"], reached["cancelled"]) == (smaller, 0, 300 - smaller)
    for tick in worker.next_ticks(3):
        assert (tick["created"], tick["live"], tick["cancelled"]) == (300, smaller, 300 - smaller)
        assert (tick["completed"], tick["failed"]) == (0, 0)


def test_targets_that_follow_at_once_end_at_the_last(worker):
    for target in (500, 10, 400, 0, 250, 60):
        worker.send("target", tasks=target)
    worker.wait("reached", lambda report: report["target"] == 60)
    for tick in worker.next_ticks(2):
        assert tick["live"] == 60


def test_with_refill_what_ends_is_replaced(engine, worker):
    worker.do("workload", spec="sleep:0.05")
    worker.target(40)
    worker.tick(lambda tick: tick["completed"] >= few(engine, 120))
    tick = worker.tick(lambda tick: tick["live"] == 40)
    assert tick["created"] == tick["completed"] + 40
    assert max(tick["live"] for tick in worker.ticks) == 40


def test_without_refill_a_target_is_one_burst(engine, worker):
    first, second = few(engine, 50), few(engine, 20)
    burst(worker, "sleep:0.05", first)
    worker.tick(lambda tick: tick["completed"] == first)
    for tick in worker.next_ticks(3):
        assert (tick["created"], tick["live"], tick["cancelled"]) == (first, 0, 0)
    worker.send("target", tasks=second)
    worker.tick(lambda tick: tick["completed"] == first + second)
    assert worker.next_ticks(2)[-1]["created"] == first + second
    assert [report["created"] for report in worker.all("reached")] == [first, second]


def test_refill_switched_on_again_fills_up(worker):
    burst(worker, "nop", 10)
    worker.tick(lambda tick: tick["completed"] == 10)
    worker.do("workload", spec="hold")
    worker.do("refill", on=True)
    assert worker.tick(lambda tick: tick["live"] == 10)["created"] == 20


def test_a_new_workload_replaces_what_lives(worker):
    worker.target(100)
    worker.do("workload", spec="sleep:1000")
    tick = worker.tick(lambda tick: tick["cancelled"] and tick["live"] == 100)
    assert (tick["created"], tick["cancelled"], tick["completed"]) == (200, 100, 0)


def test_a_new_workload_replaces_a_burst_just_once(engine, worker):
    tasks = few(engine, 100)
    worker.do("refill", on=False)
    worker.target(tasks)
    orders = [wire.encode("workload", spec=spec, **parts(spec)) for spec in ("sleep:1000", "sleep:0.05")]
    worker.write(b"".join(orders))
    tick = worker.tick(lambda tick: tick["completed"] == tasks)
    assert (tick["created"] - tick["cancelled"], tick["live"]) == (tasks, 0)
    before = tick["created"]
    assert worker.next_ticks(3)[-1]["created"] == before


# What tasks do.


def test_sleep_takes_its_time(engine, worker):
    enough_threads(worker, 20)
    tasks = few(engine, 20)
    began = time.monotonic()
    burst(worker, "sleep:0.4", tasks)
    tick = worker.tick(lambda tick: tick["completed"] == tasks)
    assert worker.moment(tick) - began >= 0.4 - 4 * EARLY


def test_ticks_sleeps_in_steps(engine, worker):
    enough_threads(worker, 20)
    tasks = few(engine, 20)
    began = time.monotonic()
    burst(worker, "ticks:4x0.1", tasks)
    tick = worker.tick(lambda tick: tick["completed"] == tasks)
    assert worker.moment(tick) - began >= 0.4 - 4 * EARLY


def test_hold_waits_until_told_to_stop(worker):
    worker.target(20)
    tick = worker.next_ticks(5)[-1]
    assert (tick["live"], tick["completed"]) == (20, 0)
    worker.target(0)
    assert worker.tick()["cancelled"] == 20


def test_nop_ends_at_once_over_and_over(worker):
    worker.do("workload", spec="nop")
    worker.send("target", tasks=100)
    worker.tick(lambda tick: tick["completed"] > 1_000)
    worker.target(0)
    tick = worker.tick(lambda tick: tick["live"] == 0)
    assert tick["failed"] == 0


def test_payload_is_held_in_memory_and_given_back(engine, fresh):
    enough_threads(fresh, 40)
    size, held = ("40MiB", 1) if engine == "sequential" else ("1MiB", 40)
    process = psutil.Process(fresh.process.pid)
    fresh.target(40)  # what forty tasks weigh without it
    idle, idle_heap = process.memory_info().rss, fresh.tick().get("heap", 0)

    def grown(tick):
        # What was idle may be given back as room is made: 2 MiB of java-virtual, whose heap tells all.
        return max(process.memory_info().rss - idle, tick.get("heap", 0) - idle_heap)

    fresh.do("workload", spec=f"payload:{size}")
    fresh.tick(lambda tick: grown(tick) >= 40 * MIB)
    fresh.until(lambda: process.memory_info().rss >= idle + 36 * MIB, "nearly all of it resident")
    fresh.tick(lambda tick: tick["live"] == 40 and tick["live"] - tick["queued"] == held)
    assert process.memory_info().rss < idle + 60 * MIB
    fresh.target(0)
    fresh.do("trim")
    fresh.until(lambda: process.memory_info().rss < idle + 10 * MIB, "memory given back")


@on_each_kind
def test_spin_uses_that_much_cpu_time(worker):
    process = psutil.Process(worker.process.pid)

    def used():
        return process.cpu_times().user + process.cpu_times().system

    before = used()
    burst(worker, "spin:0.3", 3)
    worker.tick(lambda tick: tick["completed"] == 3)
    assert used() - before >= 0.8


@on_blocking
def test_a_spinning_thread_can_be_cancelled(worker):
    worker.do("workload", spec="spin:600")
    worker.target(3)
    assert worker.target(1)["cancelled"] == 2


def times(worker, name, since):
    """All ``durations`` or ``delays`` of the ticks behind the first ``since`` reports."""
    ticks = [report for report in worker.reports[since:] if report["type"] == "tick"]
    return [seconds for tick in ticks for seconds in tick[name]]


@on_pythons
def test_a_task_is_timed_from_its_creation_to_its_beginning_and_from_there_to_its_end(engine, worker):
    enough_threads(worker, 1)  # with one thread a job waits for those before it, as in sequence
    worker.do("workload", spec="sleep:0.2")
    since = worker.send("target", tasks=3)
    worker.until(lambda: len(times(worker, "durations", since)) >= 3, "timed tasks")
    durations, delays = times(worker, "durations", since), times(worker, "delays", since)
    assert 0.2 - EARLY <= min(durations) < 0.39  # two tasks in sequence take longer
    assert len(delays) >= len(durations)
    if engine in ("pool", "sequential"):
        assert max(delays) >= 2 * (0.2 - EARLY)
    else:
        assert min(delays) < 0.19


@on_pythons
def test_tasks_that_fail_or_are_cancelled_have_no_duration(engine, worker):
    since = len(worker.reports)
    tasks = few(engine, 50)
    worker.target(tasks)
    worker.target(0)
    burst(worker, "jobs:fail", tasks)
    worker.tick(lambda tick: tick["failed"] == tasks)
    worker.tick()
    assert times(worker, "durations", since) == []
    assert times(worker, "delays", since)


@on_pythons
def test_context_switches_are_counted(worker):
    first = worker.tick(lambda tick: "switches" in tick)
    worker.do("workload", spec="sleep:0.05")
    worker.target(10)
    worker.tick(lambda tick: tick.get("switches", 0) >= first["switches"] + 20)


@on_pythons
def test_the_users_own_function_runs(worker):
    worker.do("workload", spec="jobs:short")
    worker.target(4)
    worker.tick(lambda tick: tick["completed"] >= 20)
    worker.do("workload", spec="hold")
    worker.tick(lambda tick: tick["live"] == 4)


@on_pythons
@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("jobs:shrot", 'did you mean "short"?'),
        ("job:short", 'did you mean "jobs"?'),
        ("slep:3", 'did you mean "sleep"?'),
        ("sleep:-1", "expected seconds"),
        ("KIND", "def)"),
    ],
)
def test_a_wrong_workload_is_refused_and_the_lane_stays_as_it_was(engine, worker, jobs, spec, expected):
    if spec == "KIND":
        kind = "def" if engine in EVENT_LOOPS else "async def"
        (jobs / "other_kind.py").write_text(f"{kind} other(): ...\n")
        spec = "other_kind:other"
    worker.target(10)
    assert expected in worker.refuse("workload", spec=spec)
    for tick in worker.next_ticks(2):
        assert (tick["created"], tick["live"]) == (10, 10)
    worker.target(20)


@on_pythons
def test_failing_tasks_are_counted_and_the_first_traceback_is_told(worker):
    burst(worker, "jobs:fail", 200)
    worker.tick(lambda tick: tick["failed"] == 200)
    (error,) = worker.all("error")
    assert error["command"] is None
    assert error["message"] == "a task failed: ValueError: no luck today"
    assert error["detail"].startswith("Traceback")
    assert "jobs.py" in error["detail"]
    assert worker.tick()["completed"] == 0
    burst(worker, "jobs:fail", 5)  # asked for anew, it is told anew
    worker.tick(lambda tick: tick["failed"] == 205)
    assert len(worker.all("error")) == 2
    assert "exception was never retrieved" not in worker.noise


@on_pythons
def test_what_tasks_print_and_read_cannot_disturb_the_wire(worker):
    burst(worker, "jobs:noise", 5)
    worker.tick(lambda tick: tick["completed"] + tick["failed"] == 5)
    assert worker.tick()["failed"] == 0, worker.all("error")
    assert len(worker.all("ready")) == 1
    worker.until(lambda: worker.noise.count("from a child") == 5, "what the children print")
    assert worker.noise.count('{"type":"tick"}') == worker.noise.count('{"type":"ready"}') == 5


@on_one_thread
def test_leaving_a_coroutine_by_sys_exit_ends_the_worker_with_that_status(worker):
    burst(worker, "jobs:leave", 1)
    assert worker.ended() == 7


@on_blocking
def test_leaving_a_thread_by_sys_exit_is_a_failed_task(worker):
    burst(worker, "jobs:leave", 3)
    worker.tick(lambda tick: tick["failed"] == 3)
    assert "SystemExit" in worker.all("error")[0]["message"]


@on_one_thread
def test_tasks_that_take_their_time_to_end_are_not_replaced_by_others(worker):
    worker.do("workload", spec="jobs:slow_to_end")
    worker.target(100)
    worker.send("target", tasks=90)
    worker.wait("reached", lambda report: report["target"] == 90)
    now = time.monotonic()
    tick = worker.tick(lambda tick: tick["time"] > now + 0.4)  # longer than more slow endings would take
    assert (tick["created"], tick["live"], tick["cancelled"]) == (100, 90, 10)


@on_event_loops
def test_what_a_users_task_started_is_not_cancelled_in_its_place(worker):
    worker.do("workload", spec="jobs:parent")
    worker.target(20)
    worker.until(lambda: worker.noise.count("<child begun>") == 100, "five children a parent")
    worker.target(16)
    worker.next_ticks(2)
    worker.until(lambda: worker.noise.count("<child cancelled>") == 20, "end of their children")
    tick = worker.next_ticks(2)[-1]
    assert (tick["created"], tick["live"], tick["cancelled"], tick["completed"]) == (20, 16, 4, 0)
    assert worker.noise.count("<child cancelled>") == 20


# Any commands in any order.

targets = st.tuples(st.just("target"), st.integers(0, 500).map(lambda tasks: {"tasks": tasks}))
OPTIONAL = ("threads", "trace", "gc")
specs = st.sampled_from(["hold", "sleep:0.05", "nop", "ticks:3x0.02"])
steps = st.one_of(
    targets,
    targets,
    st.tuples(st.just("workload"), specs.map(lambda spec: {"spec": spec})),
    st.tuples(st.sampled_from(["refill", "trace"]), st.booleans().map(lambda on: {"on": on})),
    st.tuples(st.just("gc"), st.sampled_from(["default", "frozen", "off"]).map(lambda mode: {"mode": mode})),
    st.tuples(st.just("trim"), st.just({})),
    st.tuples(st.just("halt"), st.just({"wall": "patience", "value": 1})),
    st.tuples(st.just("threads"), st.integers(1, 40).map(lambda count: {"count": count})),
    st.tuples(st.just("wait"), st.just({})),
)


def test_counters_stay_exact_whatever_is_asked(engine, jobs):
    @settings(
        # Fewer where a worker takes its time to start.
        max_examples=4 if find([engine])[0].ways else 10,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(sequence=st.lists(steps, min_size=1, max_size=12), last=st.integers(0, 500), refill=st.booleans())
    def check(sequence, last, refill):
        with Worker(engine, cwd=jobs) as worker:
            worker.do("rate", hz=100)
            sent = []
            for command, fields in sequence:
                if command == "wait":
                    worker.tick()
                elif command not in OPTIONAL or command in worker.ready["can"]:
                    worker.send(command, **fields)
                    sent.append(command)
            worker.do("workload", spec="hold")
            worker.do("refill", on=refill)
            since = worker.send("target", tasks=last)
            worker.wait("reached", lambda report: report["target"] == last, since)
            for tick in worker.next_ticks(3):
                assert tick["live"] == last
            assert worker.all("error") == []
            # Erlang gives memory back in half a second, and obeys what comes behind a trim meanwhile.
            asked = ["rate", *(name for name in sent if name != "target"), "workload", "refill"]
            worker.until(lambda: len(worker.all("applied")) == len(asked), "an answer to each")
            applied = [report["command"] for report in worker.all("applied")]
            assert applied == asked if engine not in BEAM else sorted(applied) == sorted(asked)

    check()


# Tracing, collecting, halting, and commands that cannot be.


@on_pythons
def test_tracing_shows_in_ticks_while_it_is_on(engine, worker):
    assert all("traced" not in tick and "tracer" not in tick for tick in worker.next_ticks(2))
    worker.do("trace", on=True)
    before = worker.tick(lambda tick: "traced" in tick)
    worker.target(300)
    tick = worker.tick(lambda tick: tick["live"] == 300)
    if engine != "sequential":  # whose waiting tasks are no bytes at all
        assert tick["traced"] > before["traced"] + 300 * 100  # bytes: no other task is smaller
        assert tick["tracer"] > before["tracer"]
    assert before["tracer"] > 0
    worker.do("trace", on=False)
    worker.tick(lambda tick: "traced" not in tick)
    assert all("traced" not in tick and "tracer" not in tick for tick in worker.next_ticks(3))
    worker.do("trace", on=True)
    again = worker.tick(lambda tick: "traced" in tick)
    assert again["traced"] < tick["traced"]  # it had really ended: what stood meanwhile is unknown


@on_pythons
@pytest.mark.parametrize(
    ("mode", "state"),
    [
        ("off", "<enabled False frozen False>"),
        ("frozen", "<enabled True frozen True>"),
        ("default", "<enabled True frozen False>"),
    ],
)
def test_the_collector_has_three_modes(worker, mode, state):
    worker.do("gc", mode="off" if mode == "default" else "frozen")
    worker.target(10)
    worker.do("gc", mode="default")
    worker.do("gc", mode=mode)
    worker.target(30)
    burst(worker, "jobs:collector", 5)
    worker.tick(lambda tick: tick["completed"] >= 5)
    worker.until(lambda: worker.noise.count("<") >= 5, "what the tasks saw")
    assert set(worker.noise.splitlines()) == {state}
    assert 'did you mean "frozen"?' in worker.refuse("gc", mode="froze")


def test_seconds_lost_in_collecting_are_told_and_trim_collects(worker):
    before = worker.tick()
    assert worker.do("trim")["seconds"] >= 0
    if "gc" in before:  # Rust has no collector, and Erlang does not tell
        worker.tick(lambda tick: tick["gc"] > before["gc"])


def test_halt_stops_growth_between_two_slices_and_names_the_wall_it_was_given(engine, worker):
    many = {"threads": 2_000, "rust-threads": 5_000, "java-threads": 5_000, "pool": 20_000}.get(
        engine, 200_000
    )
    worker.do("rate", hz=100)
    for _ in range(10):  # on a busy machine so few may stand before the word arrives
        worker.send("target", tasks=many)
        worker.tick(lambda tick: tick["live"] > 0)
        limit = worker.wait("limit", since=worker.send("halt", wall="memory budget", value=123))
        if limit["standing"] < many:
            break
        worker.target(0)
    assert 0 < limit["standing"] < limit["wanted"] == many
    assert (limit["wall"], limit["value"], limit["detail"]) == ("memory budget", 123, "")
    standing = limit["standing"]
    created = worker.next_ticks(1)[0]["created"]
    for tick in worker.next_ticks(10):
        assert (tick["created"], tick["live"]) == (created, standing)
    assert worker.target(standing + 10)["created"] == 10
    worker.target(5)
    assert worker.next_ticks(1)[0]["live"] == 5


WRONG = [
    (b"nonsense", None, "not a command: 'nonsense'"),
    (b"[1,2]", None, "expected one flat JSON object"),
    (b'{"tasks":5}', None, "not a command"),
    (b'{"type":"target","tasks":5', None, "not a command"),
    (b"\xff\xfe\x00", None, "not a command"),
    (b'{"type":"targt","tasks":5}', "targt", 'did you mean "target"?'),
    (b'{"type":"ready"}', "ready", 'unknown command "ready": expected one of'),
    (b'{"type":"target"}', "target", '"tasks" is None: expected a whole number from 0 to 1,000,000,000'),
    (b'{"type":"target","tasks":-1}', "target", '"tasks" is -1: expected a whole number'),
    (b'{"type":"target","tasks":1.5}', "target", "expected a whole number"),
    (b'{"type":"target","tasks":true}', "target", "expected a whole number"),
    (b'{"type":"target","tasks":"many"}', "target", "\"tasks\" is 'many': expected a whole number"),
    (b'{"type":"target","tasks":99999999999}', "target", "expected a whole number"),
    (b'{"type":"refill","on":1}', "refill", '"on" is 1: expected true or false'),
    (b'{"type":"trace"}', "trace", "expected true or false"),
    (b'{"type":"workload","spec":3}', "workload", "expected a string"),
    (b'{"type":"workload","spec":"hold\\nup"}', "workload", 'unknown workload "hold up"'),
    (b'{"type":"gc","mode":"on"}', "gc", "expected default, frozen, off"),
    (b'{"type":"halt","wall":"x"}', "halt", '"value" is None'),
    (b'{"type":"threads","count":0}', "threads", "threads"),
    (b'{"type":"threads","count":1000000}', "threads", "threads"),
    (b'{"type":"' + b"x" * 500_000 + b'"}', "x" * 60, "unknown command"),
    (b'{"type":"target","tasks":"' + b"x" * 500_000 + b'"}', "target", "expected a whole number"[:0]),
    (b'{"type":"workload","spec":"' + b"x" * 500_000 + b':y"}', "workload", "workload"),
    (b'{"x":"' + b"x" * 1_500_000 + b'","type":"stop"}', None, "not a command"),
    (b" " * ((1 << 20) + 10) + b'{"type":"stop"}', None, ""),
]


@on_two
def test_each_wrong_command_is_answered_on_one_line_and_nothing_changes(worker):
    worker.target(10)
    for line, command, expected in WRONG:
        since = worker.write(line + b"\n")
        if not expected and command is None:
            continue  # a line too long that begins with nothing: dropped
        error = worker.wait("error", since=since)
        assert error["command"] == command
        assert expected in error["message"], line[:80]
        assert "\n" not in error["message"]
        assert len(error["message"]) <= 1_000
        assert error["detail"] is None
    assert len(worker.all("error")) == len(WRONG) - 1
    for tick in worker.next_ticks(2):
        assert (tick["created"], tick["live"]) == (10, 10)
    worker.write(b'\n  \n\r\n{ "type" : "target", "tasks": 12, "newer": "key" }\r\n')
    worker.tick(lambda tick: tick["live"] == 12)


# A pool's threads.


def test_tasks_that_wait_for_a_thread_are_queued_and_no_engine_else_has_any(engine, worker):
    enough_threads(worker, 2)
    worker.target(30)
    queued = {"pool": 28, "sequential": 29}.get(engine, 0)
    assert worker.tick(lambda tick: tick["queued"] <= queued)["queued"] == queued
    if engine != "pool":
        assert "threads" in worker.refuse("threads", count=4)


@on_the_pool
def test_new_threads_take_over_the_queue_and_the_counters_stay(worker):
    worker.do("threads", count=2)
    worker.target(30)
    worker.do("threads", count=10)
    tick = worker.tick(lambda tick: tick["queued"] == 18)  # two run on where they are
    worker.do("threads", count=1)
    tick = worker.tick(lambda tick: tick["queued"] == 17)
    assert (tick["created"], tick["live"], tick["cancelled"]) == (30, 30, 0)
    assert worker.target(15)["cancelled"] == 15
    tick = worker.next_ticks(1)[0]
    assert (tick["live"], tick["queued"]) == (15, 2)
    assert worker.target(5)["cancelled"] == 10
    assert worker.next_ticks(1)[0]["queued"] == 0
    worker.do("workload", spec="nop")
    worker.tick(lambda tick: tick["completed"] > 500)
    assert "expected a number from 1 to 100,000" in worker.refuse("threads", count=0)
    for count in (3, 1, 8, 2):
        worker.do("threads", count=count)
    worker.do("workload", spec="hold")
    worker.tick(lambda tick: (tick["live"], tick["queued"]) == (5, 3))


# Staying awake.


@on_one_thread
def test_lag_grows_while_a_task_blocks_the_loop(worker):
    worker.tick(lambda tick: tick["lag"] < 0.2)
    since = burst(worker, "jobs:block", 1)
    worker.wait("tick", lambda tick: tick["lag"] > 0.5 and tick["live"] == 1, since)  # overdue, not yet over
    worker.wait("tick", lambda tick: tick["lag"] > 1.3, since)
    worker.tick(lambda tick: tick["completed"] == 1 and tick["lag"] < 0.2)


def test_ticks_and_commands_get_through_while_many_tasks_start(engine, worker):
    many = 2_000 if find([engine])[0].threads else 20_000
    worker.tick()
    before = len(worker.ticks)
    # In one piece: between two, this process may be kept waiting for longer than it takes to start so many.
    since = worker.write(wire.encode("target", tasks=many) + wire.encode("refill", on=True))
    reached = worker.wait("reached", since=since)
    worker.tick()
    times = [tick["time"] for tick in worker.ticks[before - 1 :]]
    assert max(later - earlier for earlier, later in pairwise(times)) < 1.0
    assert reached["live"] == many
    applied = worker.wait("applied", since=since)
    assert worker.reports.index(applied) < worker.reports.index(reached)
    assert worker.target(0)["cancelled"] == many


# The end.


def test_the_end_of_its_input_ends_it(worker):
    worker.target(100)
    worker.process.stdin.close()
    assert worker.ended() == 0


def test_stop_ends_it(worker):
    worker.target(100)
    worker.send("stop")
    assert worker.ended() == 0


def test_stop_without_a_line_end_ends_it(worker):
    worker.write(b'{"type":"stop"}')
    worker.process.stdin.close()
    assert worker.ended() == 0


@on_pythons
def test_the_end_of_its_input_ends_it_while_tasks_block(worker):
    burst(worker, "jobs:block_for_ever", 1)  # on one thread the next would not begin
    worker.tick(lambda tick: tick["live"] == 1)
    worker.process.stdin.close()
    assert worker.ended() == 0


def test_the_end_of_its_input_ends_it_while_a_thousand_stand(worker):
    enough_threads(worker, 1_000)
    worker.target(1_000)
    worker.process.stdin.close()
    assert worker.ended() == 0


def test_the_end_of_its_input_ends_it_while_it_grows(engine, worker):
    worker.send("target", tasks=2_000 if find([engine])[0].threads else 20_000)
    worker.process.stdin.close()
    assert worker.ended() == 0


@pytest.fixture
def bare(engine):
    """A worker's process alone, whose pipes a test treats as it likes."""
    command = start_command(find([engine])[0])
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, bufsize=0) as process:
        yield process
        process.kill()


@on_two
def test_a_reader_that_is_gone_ends_it(bare):
    assert b'"ready"' in bare.stdout.readline()
    bare.stdout.close()
    assert bare.wait(PATIENCE) == 0


@on_two
def test_the_end_of_its_input_ends_it_even_while_nobody_reads(bare):
    assert b'"ready"' in bare.stdout.readline()
    bare.stdin.write(b'{"type":"rate","hz":100}\n{"type":"target","tasks":100}\n')
    bare.stdin.close()
    assert bare.wait(PATIENCE) == 0


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
@pytest.mark.parametrize("signal_", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_although_its_tasks_never_would(engine, worker, signal_):
    worker.target(20)
    worker.process.send_signal(signal_)
    status = worker.ended()
    assert status != 0 or engine in BEAM  # which leave in order at SIGTERM


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["asynci"], "expected one of threads, pool, asyncio, uvloop, gevent, sequential"),
        (["asynci"], 'unknown engine "asynci": expected one of '),
        (["asynci"], 'did you mean "asyncio"?'),
        (["THREADS"], 'did you mean "threads"?'),
        (["x"], 'unknown engine "x": expected one of'),
        ([], "usage: python -m concwatch.worker ENGINE"),
        (["asyncio", "more"], "usage: python -m concwatch.worker ENGINE"),
    ],
)
def test_an_unknown_engine_is_one_line_and_status_2(arguments, expected):
    command = [sys.executable, "-m", "concwatch.worker", *arguments]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=PATIENCE
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert expected in done.stderr
    assert done.stderr.count("\n") == 1


def test_every_engine_of_the_worker_has_a_row_in_the_catalog_and_the_other_way_round():
    from concwatch.worker.engines import ENGINES

    assert list(ENGINES) == [engine.name for engine in PYTHONS]


# Bursts.


def run_burst(worker, tasks, **fields):
    """Run a burst and wait for its report."""
    since = len(worker.reports)
    worker.send("burst", **{"tasks": tasks, "chunks": 1, "older": 0, "read_after": None, **fields})
    return worker.wait("burst", since=since)


def test_a_burst_runs_so_many_tasks_to_their_end_and_times_them(engine, worker):
    enough_threads(worker, 50)
    tasks = few(engine, 50)
    worker.do("workload", spec="ticks:3x0.05")
    done = run_burst(worker, tasks)
    assert done["tasks"] == tasks
    assert 0 < done["create_seconds"] < done["seconds"]
    assert done["seconds"] >= 3 * (0.05 - EARLY)
    assert done["cpu"] >= done["create_cpu"]
    assert done["create_cpu"] > 0 or engine in BEAM  # which counts it in milliseconds
    assert (done["live"], done["traced"]) == (None, None)
    tick = worker.tick()
    assert (tick["created"], tick["completed"], tick["live"]) == (tasks, tasks, 0)


@on_pythons
def test_a_burst_in_parts_begins_each_when_the_last_has_ended(engine, worker):
    enough_threads(worker, 10)
    worker.do("workload", spec="sleep:0.05")
    together, parted = run_burst(worker, 10), run_burst(worker, 10, chunks=5)
    assert (together["tasks"], parted["tasks"]) == (10, 10)
    assert parted["seconds"] >= 5 * (0.05 - EARLY)
    assert worker.tick()["completed"] == 20


@on_pythons
def test_a_burst_reads_what_its_live_tasks_have_traced(engine, worker):
    enough_threads(worker, 200)
    worker.do("workload", spec="ticks:10x0.06")
    worker.do("trace", on=True)
    tasks = few(engine, 200)
    done = run_burst(worker, tasks, read_after=0.1)
    assert 0 < done["live"] <= tasks
    assert done["traced"] > (0 if engine == "sequential" else 200 * 100)  # bytes: no other task is smaller


@on_pythons
def test_a_burst_counts_tasks_that_fail(engine, worker):
    worker.do("workload", spec="jobs:fail")
    assert run_burst(worker, 20)["tasks"] == 20
    tick = worker.tick()
    assert (tick["failed"], tick["live"]) == (20, 0)
    assert len(worker.all("error")) == 1


def test_after_a_burst_a_target_is_held_as_before(engine, worker):
    worker.do("workload", spec="nop")
    run_burst(worker, 10)
    worker.do("workload", spec="hold")
    worker.send("target", tasks=7)
    assert worker.tick(lambda tick: tick["live"] == 7)["created"] == 17


def test_a_burst_among_live_tasks_is_refused(engine, worker):
    worker.send("target", tasks=3)
    worker.tick(lambda tick: tick["live"] == 3)
    worker.send("burst", tasks=5, chunks=1, older=0, read_after=None)
    assert "3 tasks are live" in worker.wait("error")["message"]
    assert worker.tick()["live"] == 3


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"tasks": -1}, '"tasks"'),
        ({"chunks": 1.5}, '"chunks"'),
        ({"older": None}, '"older"'),
        ({"read_after": "soon"}, '"read_after"'),
    ],
)
@on_two
def test_a_burst_that_cannot_be_is_refused_by_the_name_of_the_field(engine, worker, fields, named):
    worker.send("burst", **{"tasks": 1, "chunks": 1, "older": 0, "read_after": None, **fields})
    error = worker.wait("error")
    assert named in error["message"]
    assert error["command"] == "burst"


@on_one_thread
def test_older_tasks_wait_unbegun_until_the_burst_is_created(engine, worker):
    worker.do("workload", spec="nop")
    assert run_burst(worker, 10, older=500)["tasks"] == 10
    tick = worker.tick()
    assert (tick["created"], tick["completed"]) == (510, 510)


@on_blocking
def test_threads_have_no_older_tasks(engine, worker):
    worker.send("burst", tasks=1, chunks=1, older=1, read_after=None)
    assert "only an event loop" in worker.wait("error")["message"]


@on_threads
def test_the_stack_of_new_threads_can_be_set(engine, fresh):
    enough_threads(fresh, 20)
    before = psutil.Process(fresh.process.pid).memory_info().vms
    fresh.do("stack", size=64 << 20)
    fresh.send("target", tasks=20)
    fresh.tick(lambda tick: tick["live"] - tick["queued"] == 20)
    assert psutil.Process(fresh.process.pid).memory_info().vms - before >= 20 * (64 << 20)
    fresh.send("stack", size=1)
    assert "32,768" in fresh.wait("error")["message"]
