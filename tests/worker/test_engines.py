"""One suite for all engines: real workers, driven over the wire, counters checked at every tick."""

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

from concwatch.monitor.metrics.settings import parts
from concwatch.monitor.workers.catalog import PYTHONS
from concwatch.portable.agent.sending.json_lines import encode
from concwatch.portable.worker.engines import ENGINES
from concwatch.system.child import ROOT
from tests.worker_driver import EARLY, PATIENCE, Worker, row_of, start_command

pytestmark = [pytest.mark.real, pytest.mark.timeout(300)]  # the first test of an engine may have to build it

EVENT_LOOPS = ("asyncio", "uvloop", "asyncio-eager")
ONE_THREAD = (*EVENT_LOOPS, "gevent")
"""Engines whose tasks share one thread."""
POOLS = ("pool", "interpreters")
TRACED = ("threads", "pool", "asyncio", "gevent", "sequential", "asyncio-eager")
BEAM = ("erlang", "elixir")
MIB = 1 << 20

# The functions of the user for every engine: DEF is "async def" or "def", and PAUSE a function that sleeps.
JOBS = """
import asyncio, gc, os, sys, time
DEF short(): PAUSE(0.02)
DEF fail(): raise ValueError("no luck")
DEF leave(): sys.exit(7)
DEF noise():
    print('{"type":"tick"}', flush=True)
    os.write(1, b'{"type":"ready"}\\n')
    os.system("echo from a child")
    assert sys.stdin.read() == "" and os.read(0, 10) == b""
DEF block(): time.sleep(0.6)
DEF block_forever(): time.sleep(600)
DEF collector():
    while os.path.exists("growing"): PAUSE(0.01)  # collection is off while tasks are created
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
OTHER other_kind(): ...
"""
PAUSES = dict.fromkeys(EVENT_LOOPS, "await asyncio.sleep") | {"gevent": "__import__('gevent').sleep"}

KINDS = ("threads", "asyncio", "gevent", "interpreters")
"""Python's engines with different code; each of the others shares the code of one of these."""
OTHERS = ("go", "rust-threads", "tokio", "java-virtual", "csharp", "node", "erlang")
"""One engine of each program in another language; test_runtimes has all of them."""
PYTHON_NAMES = [engine.name for engine in PYTHONS]
OWN_CODE = [*(engine.name for engine in PYTHONS if engine.name != "uvloop"), *OTHERS]


@pytest.fixture(scope="module", params=OWN_CODE)
def engine(request):
    """The name of each installed engine."""
    if missing := row_of(request.param).missing():
        pytest.skip(missing)
    return request.param


@pytest.fixture(scope="module")
def jobs(engine, tmp_path_factory):
    """A working directory with functions of the user for this engine."""
    folder = tmp_path_factory.mktemp(engine)
    kinds = ("async def", "def") if engine in EVENT_LOOPS else ("def", "async def")
    source = JOBS.replace("DEF", kinds[0]).replace("OTHER", kinds[1])
    (folder / "jobs.py").write_text(source.replace("PAUSE", PAUSES.get(engine, "time.sleep")))
    return folder


class Pool:
    """The worker of an engine, shared by its tests, since starting one takes longer than most tests."""

    def __init__(self, engine, cwd):
        self._row, self._cwd, self._worker = row_of(engine), cwd, None

    def get(self):
        """Return the worker after a reset, or a new one if it has ended; with the workload ``hold``."""
        if self._worker and self._worker.process.poll() is None:
            self._worker.reset()
        else:
            self.close()
            self._worker = Worker(self._row, cwd=self._cwd)
        self._worker.do("rate", hz=100)
        self._worker.do("workload", spec="hold")
        return self._worker

    def close(self):
        """End the worker."""
        worker, self._worker = self._worker, None
        if worker:
            worker.close()


@pytest.fixture(scope="module")
def pool(engine, jobs):
    """The pool of this engine's worker."""
    pool = Pool(engine, jobs)
    yield pool
    pool.close()


@pytest.fixture
def worker(pool):
    """The shared worker after a reset."""
    worker = pool.get()
    yield worker
    worker.check()


@pytest.fixture
def fresh(pool):
    """A new worker, for tests of memory and others that depend on its history."""
    pool.close()
    worker = pool.get()
    yield worker
    worker.check()


def only(*engines):
    """Run a test only for these engines."""
    return pytest.mark.parametrize("engine", engines, indirect=True, scope="module")


on_all = only("uvloop", *OWN_CODE)
on_kinds = only(*KINDS)
on_each_program = only("threads", "asyncio", "interpreters", *OTHERS)
"""For tests that take long or need a new worker."""
on_two = only("pool", "asyncio")
"""For tests that depend little on the engine: one with threads, one with an event loop."""


def assert_fields(report, **expected):
    """Check some fields of a report."""
    assert {key: report[key] for key in expected} == expected


def assert_stable(worker, ticks=2, **expected):
    """Check some fields of the next ticks."""
    for tick in worker.next_ticks(ticks):
        assert_fields(tick, **expected)


def set_concurrency(worker, count):
    """Let ``count`` tasks run concurrently, also in a pool of threads."""
    if "threads" in worker.ready["can"]:
        worker.do("threads", count=count)


def shortened(engine, tasks):
    """Return ``tasks``, or at most 2 for an engine that runs them one after another."""
    return min(tasks, 2) if engine == "sequential" else tasks


def run_once(worker, spec, tasks):
    """Start ``tasks`` tasks of a workload without refill."""
    worker.do("refill", on=False)
    worker.do("workload", spec=spec)
    return worker.send("target", tasks=tasks)


BURST = {"tasks": 1, "chunks": 1, "older": 0, "read_after": None}


def run_burst(worker, tasks, **fields):
    """Run a burst and wait for its report."""
    return worker.wait("burst", since=worker.send("burst", **{**BURST, "tasks": tasks, **fields}))


# All engines.

FLAGS = {"uvloop": r"uvloop [\d.]+", "gevent": r"gevent [\d.]+"} | dict.fromkeys(POOLS, r"\d+ threads")


@on_all
def test_a_worker_without_tasks_is_idle(worker):
    worker.do("rate", hz=10)
    worker.check_idle()


@on_all
def test_churn_replaces_tasks_at_its_rate_and_holds_each_target(engine, worker):
    assert "churn" in worker.ready["workloads"]
    for rate in (0, -1, 1e7, "fast", None):
        if engine in PYTHON_NAMES:  # they parse the text
            worker.refuse("workload", spec="churn:0/s")
        else:
            worker.refuse("workload", spec="churn:1/s", word="churn", rate=rate)
    tasks = shortened(engine, 50)
    set_concurrency(worker, tasks)
    worker.do("workload", spec="churn:100/s")
    worker.target(tasks)
    first = worker.tick()
    last = worker.tick(lambda tick: tick["completed"] >= first["completed"] + 50)
    assert_fields(last, failed=0, cancelled=first["cancelled"])
    assert last["completed"] - first["completed"] <= 120 * (last["time"] - first["time"]) + 30
    worker.do("workload", spec="churn:0.0001/s")  # tasks live for days
    worker.tick(lambda tick: tick["live"] == tasks and tick["created"] >= last["created"] + tasks)
    assert_fields(worker.target(tasks // 2), cancelled=tasks - tasks // 2)
    worker.target(tasks)
    before, *_, last = worker.next_ticks()
    assert_fields(last, live=tasks, completed=before["completed"])


@on_all
def test_ready_describes_the_worker(engine, worker):
    row, ready = row_of(engine), worker.ready
    assert worker.reports[0] == ready
    assert_fields(ready, protocol=1, engine=engine, pid=worker.process.pid)
    assert {"sleep", "ticks", "hold", "payload", "spin", "nop"} <= set(ready["workloads"])
    assert re.fullmatch(r"\.?\w[\w.#/ ]* \d+\.[\w.+ ()-]*", ready["runtime"])
    can = {"trim", "burst"}
    if not row.ways:
        version = row.python.version if row.python else sys.version_info[:3]
        assert ready["runtime"] == "CPython " + ".".join(map(str, version))
        assert re.fullmatch(FLAGS.get(engine, ""), "".join(ready["flags"]))
        assert ready["workloads"][-1] == "module:function"
        can |= {"trace", "gc", "lines", "anatomy"} if engine != "interpreters" else set()
        can -= {"anatomy"} if engine == "sequential" else set()
        can |= {"stack"} if engine in ("threads", *POOLS) else set()
        can |= {"threads"} if engine in POOLS else set()
    assert set(ready["can"]) == can
    assert_stable(worker, created=0, live=0, queued=0, completed=0, failed=0, cancelled=0)
    assert {report["type"] for report in worker.reports} == {"ready", "tick", "applied"}


@on_all
def test_each_target_is_reached_exactly_and_reported_once(worker):
    live, targets = 0, (300, 120, 120, 3, 450, 0, 30)
    for target in targets:
        reached = worker.target(target)
        assert_fields(reached, target=target, live=target)
        assert_fields(reached, created=max(0, target - live), cancelled=max(0, live - target))
        assert_stable(worker, 1, live=target, completed=0, failed=0)
        live = target
    worker.do("workload", spec="sleep:1000")  # replaces the live tasks
    worker.tick(lambda tick: tick["cancelled"] == 747 + 30 and tick["live"] == 30)
    assert_fields(worker.target(7), live=7, created=0, cancelled=23)
    assert_stable(worker, created=777 + 30, live=7, completed=0, failed=0)
    assert [report["target"] for report in worker.all("reached")] == [*targets, 7]
    assert 0 < worker.all("reached")[0]["seconds"] < PATIENCE
    assert worker.all("limit") == worker.all("error") == []


@on_all
def test_with_refill_ended_tasks_are_replaced(engine, worker):
    worker.do("workload", spec="sleep:0.05")
    worker.target(40)
    worker.tick(lambda tick: tick["completed"] >= shortened(engine, 120))
    tick = worker.tick(lambda tick: tick["live"] == 40)
    assert_fields(tick, created=tick["completed"] + 40)
    assert max(tick["live"] for tick in worker.ticks) == 40
    worker.do("workload", spec="nop")
    worker.tick(lambda tick: tick["completed"] > 1_000)
    worker.target(0)
    assert_fields(worker.tick(lambda tick: tick["live"] == 0), failed=0)


def test_without_refill_each_target_creates_its_tasks_once(engine, worker):
    set_concurrency(worker, 20)
    tasks = shortened(engine, 20)
    began = time.monotonic()
    run_once(worker, "sleep:0.1", tasks)
    tick = worker.tick(lambda tick: tick["completed"] == tasks)
    assert worker.moment(tick) - began >= 0.1 - EARLY
    assert_stable(worker, created=tasks, live=0, cancelled=0)
    worker.send("target", tasks=tasks)
    worker.tick(lambda tick: tick["completed"] == 2 * tasks)
    assert_stable(worker, created=2 * tasks)
    assert [report["created"] for report in worker.all("reached")] == [tasks, tasks]
    worker.do("workload", spec="hold")
    worker.do("refill", on=True)  # fills up to the target
    assert_fields(worker.tick(lambda tick: tick["live"] == tasks), created=3 * tasks)
    worker.do("refill", on=False)  # two workloads at once replace the live tasks once
    worker.write(b"".join(encode("workload", spec=spec, **parts(spec)) for spec in ("hold", "sleep:0")))
    tick = worker.tick(lambda tick: tick["completed"] == 3 * tasks)
    assert_fields(tick, created=3 * tasks + tick["cancelled"], live=0)
    assert_stable(worker, created=tick["created"])


@on_each_program
def test_payload_is_held_in_memory_and_freed(fresh):
    set_concurrency(fresh, 40)
    process = psutil.Process(fresh.process.pid)
    fresh.target(40)  # the memory of forty tasks without payload
    fresh.tick(lambda tick: tick["live"] - tick["queued"] == 40)
    idle, idle_heap = process.memory_info().rss, fresh.tick().get("heap", 0)

    def grown(tick):
        # Java may free idle memory meanwhile, but its heap has all of the payload.
        return max(process.memory_info().rss - idle, tick.get("heap", 0) - idle_heap)

    fresh.do("workload", spec="payload:1MiB")
    fresh.tick(lambda tick: grown(tick) >= 40 * MIB)
    fresh.until(lambda: process.memory_info().rss >= idle + 36 * MIB, "resident payload")
    fresh.tick(lambda tick: tick["live"] - tick["queued"] == 40)
    assert process.memory_info().rss < idle + 60 * MIB
    fresh.target(0)
    fresh.do("rate", hz=10)

    def freed():
        fresh.do("trim")  # repeated, as tasks that have been counted may still unwind
        return process.memory_info().rss < idle + 10 * MIB

    fresh.until(freed, "memory freed")


MANY = {"threads": 2_000, "rust-threads": 5_000, "java-threads": 5_000, **dict.fromkeys(POOLS, 20_000)}


def test_halt_stops_growth_and_reports_its_limit(engine, worker):
    many = MANY.get(engine, 200_000)
    for _ in range(10):  # on a busy machine all tasks may be live before the command arrives
        worker.send("target", tasks=many)
        worker.tick(lambda tick: tick["live"] > 0)
        limit = worker.wait("limit", since=worker.send("halt", wall="memory budget", value=123))
        if limit["standing"] < many:
            break
        worker.target(0)
    live = limit["standing"]
    assert 0 < live < many
    assert_fields(limit, wanted=many, wall="memory budget", value=123, detail="")
    created = worker.tick(lambda tick: tick["live"] == live)["created"]  # one may be on its way from before
    assert_stable(worker, 5, created=created, live=live)
    assert_fields(worker.target(live + 10), created=10)
    worker.target(5)
    before = worker.tick()
    assert worker.do("trim")["seconds"] >= 0
    if "gc" in before:  # Rust has no collector, and Erlang does not report it
        worker.tick(lambda tick: tick["gc"] > before["gc"])


@only(*KINDS, *OTHERS)
def test_ticks_and_commands_are_handled_while_many_tasks_start(engine, worker):
    many = 2_000 if row_of(engine).threads else 5_000 if engine in KINDS else 20_000
    for _ in range(10):  # on a busy machine all tasks may be live before the second command is read
        worker.tick()
        before = len(worker.ticks)
        # In one write, as all tasks may start while this process waits between two.
        since = worker.write(encode("target", tasks=many) + encode("refill", on=True))
        reached = worker.wait("reached", since=since)
        worker.tick()
        times = [tick["time"] for tick in worker.ticks[before - 1 :]]
        assert max(later - earlier for earlier, later in pairwise(times)) < 1.0
        assert reached["live"] == many
        applied = worker.wait("applied", since=since)
        assert_fields(worker.target(0), cancelled=many)
        if worker.reports.index(applied) < worker.reports.index(reached):
            return
    raise AssertionError("commands are read only once all tasks have started")


def test_only_tasks_without_a_thread_are_queued(engine, worker):
    set_concurrency(worker, 2)
    worker.target(30)
    queued = 28 if engine in POOLS else 29 if engine == "sequential" else 0
    worker.tick(lambda tick: tick["queued"] <= queued)
    assert_stable(worker, queued=queued)
    if engine not in POOLS:
        assert "threads" in worker.refuse("threads", count=4)


def test_a_burst_completes_its_tasks_and_times_them(engine, worker):
    set_concurrency(worker, 50)
    tasks = shortened(engine, 50)
    worker.do("workload", spec="ticks:3x0.05")
    done = run_burst(worker, tasks)
    assert_fields(done, tasks=tasks, live=None, traced=None)
    assert 0 < done["create_seconds"] < done["seconds"]
    assert done["seconds"] >= 3 * (0.05 - EARLY)
    assert done["cpu"] >= done["create_cpu"]
    assert done["create_cpu"] > 0 or engine in BEAM  # counts it in milliseconds
    assert_fields(worker.tick(lambda tick: tick["live"] == 0), created=tasks, completed=tasks)
    worker.do("workload", spec="hold")
    worker.send("target", tasks=7)  # the target after a burst
    assert_fields(worker.tick(lambda tick: tick["live"] == 7), created=tasks + 7)
    assert "7 tasks are live" in worker.refuse("burst", **BURST)
    assert_stable(worker, 1, live=7)


# Commands in any order.

OPTIONAL = ("threads", "trace", "gc")
specs = st.sampled_from(["hold", "sleep:0.05", "nop", "ticks:3x0.02"])
targets = st.tuples(st.just("target"), st.integers(0, 500).map(lambda tasks: {"tasks": tasks}))
steps = st.one_of(
    targets,
    targets,
    st.tuples(st.just("workload"), specs.map(lambda spec: {"spec": spec})),
    st.tuples(st.sampled_from(["refill", "trace"]), st.booleans().map(lambda on: {"on": on})),
    st.tuples(st.just("gc"), st.sampled_from(["default", "frozen", "off"]).map(lambda mode: {"mode": mode})),
    st.tuples(st.sampled_from(["trim", "wait"]), st.just({})),
    st.tuples(st.just("halt"), st.just({"wall": "patience", "value": 1})),
    st.tuples(st.just("threads"), st.integers(1, 40).map(lambda count: {"count": count})),
)


def test_counters_stay_exact_after_any_sequence_of_commands(engine, pool):
    @settings(
        max_examples=6,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(sequence=st.lists(steps, min_size=1, max_size=12), last=st.integers(0, 500), refill=st.booleans())
    def check(sequence, last, refill):
        worker = pool.get()
        before = len(worker.all("applied"))
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
        assert_stable(worker, live=last)
        assert worker.all("error") == []
        # Erlang takes half a second to trim, and applies later commands meanwhile.
        expected = [*(name for name in sent if name != "target"), "workload", "refill"]
        worker.until(lambda: len(worker.all("applied")) == before + len(expected), "answers")
        applied = [report["command"] for report in worker.all("applied")][before:]
        assert applied == expected if engine not in BEAM else sorted(applied) == sorted(expected)
        worker.check()

    try:
        check()
    except BaseException:
        pool.close()  # its state is unknown
        raise


# Tasks.


@only("threads", "pool", "asyncio", "interpreters")
def test_spin_uses_its_cpu_time_and_can_be_cancelled(engine, worker):
    process = psutil.Process(worker.process.pid)

    def used():
        return process.cpu_times().user + process.cpu_times().system

    before = used()
    run_once(worker, "spin:0.1", 2)
    worker.tick(lambda tick: tick["completed"] == 2)
    assert used() - before >= 0.16
    if engine not in ONE_THREAD:  # with one thread, nothing else runs meanwhile
        worker.do("refill", on=True)
        worker.do("workload", spec="spin:600")
        worker.target(3)
        assert_fields(worker.target(1), cancelled=2)


def times(worker, name, since):
    """Return all ``durations`` or ``delays`` of ticks after the first ``since`` reports."""
    ticks = [report for report in worker.reports[since:] if report["type"] == "tick"]
    return [seconds for tick in ticks for seconds in tick[name]]


@only(*TRACED)
def test_delays_and_durations_of_completed_tasks_are_reported(engine, worker):
    since = len(worker.reports)
    worker.target(shortened(engine, 50))
    worker.tick(lambda tick: tick["queued"] < shortened(engine, 50))
    worker.target(0)
    run_once(worker, "jobs:fail", 5)
    worker.tick(lambda tick: tick["failed"] == 5)
    worker.tick()
    assert times(worker, "durations", since) == []  # all were cancelled or failed
    assert times(worker, "delays", since)
    set_concurrency(worker, 1)  # with one thread, jobs of a pool wait for one another
    since = len(worker.reports)
    worker.do("refill", on=True)
    worker.do("workload", spec="sleep:0.2")
    worker.send("target", tasks=3)

    def timed():
        durations = times(worker, "durations", since)
        return len(durations) >= 3 and min(durations) < 0.39  # less than two tasks in sequence

    worker.until(timed, "timed tasks")  # on a busy machine each of the first ones may take longer
    durations, delays = times(worker, "durations", since), times(worker, "delays", since)
    assert min(durations) >= 0.2 - EARLY
    assert len(delays) >= len(durations)
    if engine in ("sequential", *POOLS):
        assert max(delays) >= 2 * (0.2 - EARLY)
    else:
        assert min(delays) < 0.19


@only("asyncio-eager")
def test_an_eager_task_that_ends_during_its_creation_is_counted_and_timed_once(fresh):
    since = run_once(fresh, "nop", 50)
    fresh.tick(lambda tick: tick["completed"] == 50)
    assert_stable(fresh, created=50, completed=50, live=0)
    assert len(times(fresh, "durations", since)) == len(times(fresh, "delays", since)) == 50


@on_kinds
def test_a_function_of_the_user_runs_and_an_invalid_one_is_rejected(worker):
    first = worker.tick(lambda tick: "switches" in tick)
    worker.do("workload", spec="jobs:short")
    worker.target(4)
    worker.tick(lambda tick: tick["completed"] >= 20)
    worker.tick(lambda tick: tick.get("switches", 0) >= first["switches"] + 20)
    worker.do("workload", spec="hold")
    worker.target(0)  # tasks of the previous workload may still be live
    worker.target(4)
    created = worker.tick(lambda tick: tick["live"] == 4)["created"]
    for spec, expected in (
        ("jobs:shrot", 'did you mean "short"?'),
        ("job:short", 'did you mean "jobs"?'),
        ("slep:3", 'did you mean "sleep"?'),
        ("sleep:-1", "expected seconds"),
        ("jobs:other_kind", "def)"),
    ):
        assert expected in worker.refuse("workload", spec=spec)
    assert_stable(worker, created=created, live=4)


@on_kinds
def test_failing_tasks_are_counted_and_the_first_traceback_is_reported(worker):
    run_once(worker, "jobs:fail", 200)
    assert_fields(worker.tick(lambda tick: tick["failed"] == 200), completed=0)
    (error,) = worker.all("error")
    assert_fields(error, command=None, message="a task failed: ValueError: no luck")
    assert "Traceback" in error["detail"]
    assert "jobs.py" in error["detail"]
    worker.target(0)
    worker.do("workload", spec="jobs:fail")  # a new workload reports its first error, too
    assert_fields(run_burst(worker, 5), tasks=5)
    assert_fields(worker.tick(lambda tick: tick["failed"] == 205), live=0)
    assert len(worker.all("error")) == 2
    assert "exception was never retrieved" not in worker.noise


@on_kinds
def test_input_and_output_of_tasks_do_not_disturb_the_wire(worker):
    run_once(worker, "jobs:noise", 5)
    worker.tick(lambda tick: tick["completed"] + tick["failed"] == 5)
    assert worker.tick()["failed"] == 0, worker.all("error")
    assert len(worker.all("ready")) == 1
    worker.until(lambda: worker.noise.count("from a child") == 5, "output of the children")
    assert worker.noise.count('{"type":"tick"}') == worker.noise.count('{"type":"ready"}') == 5


@on_kinds
def test_sys_exit_ends_a_single_threaded_worker_and_otherwise_fails_its_task(engine, worker):
    run_once(worker, "jobs:leave", 1)
    if engine in ONE_THREAD:
        assert worker.ended() == 7
    else:
        worker.tick(lambda tick: tick["failed"] == 1)
        assert "SystemExit" in worker.all("error")[0]["message"]


@only("asyncio", "gevent")
def test_tasks_that_end_slowly_are_not_replaced(worker):
    worker.do("workload", spec="jobs:slow_to_end")
    worker.target(100)
    worker.target(90)
    now = time.monotonic()
    tick = worker.tick(lambda tick: tick["time"] > now + 0.4)  # longer than further endings would take
    assert_fields(tick, created=100, live=90, cancelled=10)


@only("asyncio")
def test_child_tasks_are_not_cancelled_instead_of_their_parents(worker):
    worker.do("workload", spec="jobs:parent")
    worker.target(20)
    worker.until(lambda: worker.noise.count("<child begun>") == 100, "five children per parent")
    worker.target(16)
    worker.until(lambda: worker.noise.count("<child cancelled>") == 20, "end of their children")
    assert_stable(worker, created=20, live=16, cancelled=4, completed=0)
    assert worker.noise.count("<child cancelled>") == 20


@only("uvloop", "gevent")
def test_lag_grows_while_a_task_blocks_the_event_loop(worker):
    worker.tick(lambda tick: tick["lag"] < 0.2)
    since = run_once(worker, "jobs:block", 1)
    worker.wait("tick", lambda tick: tick["lag"] > 0.3 and not tick["completed"], since)  # while it blocks
    worker.wait("tick", lambda tick: tick["lag"] > 0.5, since)
    worker.tick(lambda tick: tick["completed"] == 1 and tick["lag"] < 0.2)


# Optional and invalid commands.


@only(*EVENT_LOOPS)
def test_what_blocks_the_loop_of_a_function_of_the_user_is_named(worker):
    threads = psutil.Process(worker.ready["pid"]).num_threads
    before = threads()
    worker.do("workload", spec="jobs:block")
    since = len(worker.reports)
    worker.target(1)
    block = worker.wait("block", lambda block: block["cause"] in ("code", "stopped"), since)
    if block["cause"] == "code":  # on a busy machine, it may have waited for a processor instead
        frame = block["stack"][block["own"][0]]
        assert (frame["in"], block["group"]) == ("block", None)
        assert "jobs.py:" in frame["where"]
    worker.do("workload", spec="sleep:600")
    worker.target(1)
    worker.until(lambda: threads() == before, "end of the thread that looks for blocks")
    worker.tick()
    reports = len(worker.all("block"))
    worker.target(20_000)
    worker.next_ticks()
    assert len(worker.all("block")) == reports  # it is not looked for


@only("asyncio")
def test_the_rate_of_ticks_is_set(worker):
    worker.do("rate", hz=4)
    first, *_, last = worker.next_ticks(5)
    assert last["time"] - first["time"] > 4 * 0.15  # four intervals, not 0.1 s each as before
    worker.do("rate", hz=100)

    def soon():
        times = [tick["time"] for tick in worker.ticks[-12:]]
        return len(times) == 12 and times[-1] - times[0] < 1.0  # eleven intervals, not 1.1 s as at 10 Hz

    worker.until(soon, "twelve ticks within a second")
    for hz in (0, 0.05, 101, -1, True, "ten", None):
        assert "expected ticks a second from 0.1 to 100" in worker.refuse("rate", hz=hz)


@on_two
def test_ticks_have_traced_memory_only_while_tracing_is_on(worker):
    def untraced(ticks):
        assert all("traced" not in tick and "tracer" not in tick for tick in worker.next_ticks(ticks))

    untraced(1)
    worker.do("trace", on=True)
    before = worker.tick(lambda tick: "traced" in tick)
    assert before["tracer"] > 0
    worker.target(300)
    tick = worker.tick(lambda tick: tick["live"] == 300)
    assert tick["traced"] > before["traced"] + 300 * 100  # bytes of the smallest task
    assert tick["tracer"] > before["tracer"]
    worker.do("lines")
    (found,) = worker.all("lines")
    assert sum(line["bytes"] for line in found["lines"]) > 300 * 100
    worker.do("trace", on=False)
    worker.tick(lambda tick: "traced" not in tick)
    worker.refuse("lines")
    untraced(2)
    worker.do("trace", on=True)
    assert worker.tick(lambda tick: "traced" in tick)["traced"] < tick["traced"]  # tracing had been stopped


@only("threads", "asyncio", "gevent")
def test_a_burst_reports_the_traced_memory_of_its_live_tasks(worker):
    tasks = 100
    worker.do("workload", spec="ticks:4x0.06")
    worker.do("trace", on=True)
    done = run_burst(worker, tasks, chunks=2, read_after=0.1)
    assert_fields(done, tasks=tasks)
    assert done["seconds"] >= 2 * 4 * (0.06 - EARLY)  # two chunks in sequence
    assert 0 < done["live"] <= tasks / 2
    assert done["traced"] > tasks / 2 * 100  # bytes of the smallest task


@only("threads", "asyncio", "gevent", "asyncio-eager")
def test_a_burst_can_have_older_tasks_that_have_not_begun(engine, worker):
    worker.do("workload", spec="nop")
    if engine in ("asyncio", "gevent"):
        assert_fields(run_burst(worker, 10, older=500), tasks=10)
        assert_fields(worker.tick(lambda tick: tick["completed"] == 510), created=510)
    else:
        assert "older tasks that have not begun" in worker.refuse("burst", **{**BURST, "older": 1})


@only("threads", "asyncio")
def test_each_mode_of_the_garbage_collector_is_applied(worker, jobs):
    for mode, state in (
        ("off", "<enabled False frozen False>"),
        ("frozen", "<enabled True frozen True>"),
        ("default", "<enabled True frozen False>"),
    ):
        worker.do("gc", mode="off" if mode == "default" else "frozen")
        worker.target(10)
        worker.do("gc", mode="default")
        worker.do("gc", mode=mode)
        worker.target(30)
        worker.target(0)  # or more of those that are to stay would begin with the workload
        (jobs / "growing").touch()
        since = run_once(worker, "jobs:collector", 5)
        worker.wait("reached", since=since)
        (jobs / "growing").unlink()
        worker.until(lambda: worker.noise.count("<") >= 5, "output of the tasks")
        worker.tick(lambda tick: tick["live"] == 0)
        assert set(worker.noise.splitlines()) == {state}
        worker.reset()
    assert 'did you mean "frozen"?' in worker.refuse("gc", mode="froze")


@only(*POOLS)
def test_the_number_of_threads_can_change_while_tasks_are_queued(worker):
    worker.do("threads", count=2)
    worker.target(30)
    worker.tick(lambda tick: tick["queued"] == 28)
    worker.do("threads", count=10)
    worker.tick(lambda tick: tick["queued"] == 18)  # two tasks keep their old threads
    worker.do("threads", count=1)
    assert_fields(worker.tick(lambda tick: tick["queued"] == 17), created=30, live=30, cancelled=0)
    assert_fields(worker.target(15), cancelled=15)
    assert_stable(worker, live=15, queued=2)
    assert_fields(worker.target(5), cancelled=10)
    assert_stable(worker, live=5, queued=0)
    worker.do("workload", spec="nop")
    worker.tick(lambda tick: tick["completed"] > 500)
    assert "expected a number from 1 to 100,000" in worker.refuse("threads", count=0)
    for count in (3, 1, 8, 2):
        worker.do("threads", count=count)
    worker.do("workload", spec="hold")
    worker.tick(lambda tick: (tick["live"], tick["queued"]) == (5, 3))


@only("threads", *POOLS)
def test_the_stack_size_of_new_threads_can_be_set(fresh):
    set_concurrency(fresh, 20)
    before = psutil.Process(fresh.process.pid).memory_info().vms
    fresh.do("stack", size=64 << 20)
    fresh.send("target", tasks=20)
    fresh.tick(lambda tick: tick["live"] - tick["queued"] == 20)
    assert psutil.Process(fresh.process.pid).memory_info().vms - before >= 20 * (64 << 20)
    assert "32,768" in fresh.refuse("stack", size=1)


X = b"x" * 500_000
WHOLE = "expected a whole number from 0 to 1,000,000,000"
INVALID = (
    (b"nonsense", None, "'nonsense' is not a command"),
    (b"\xff\xfe\x00", None, "is not a command"),
    (b'{"type":"targt","tasks":5}', "targt", 'did you mean "target"?'),
    (b'{"type":"target"}', "target", f'"tasks" is None; {WHOLE}'),
    (b'{"type":"target","tasks":-1}', "target", f'"tasks" is -1; {WHOLE}'),
    (b'{"type":"target","tasks":true}', "target", WHOLE),
    (b'{"type":"target","tasks":99999999999}', "target", WHOLE),
    (b'{"type":"refill","on":1}', "refill", '"on" is 1; expected true or false'),
    (b'{"type":"workload","spec":3}', "workload", "expected a string"),
    (b'{"type":"gc","mode":"on"}', "gc", "expected default, frozen, off"),
    (b'{"type":"halt","wall":"x"}', "halt", '"value" is None'),
    (b'{"type":"threads","count":0}', "threads", "threads"),
    (b'{"type":"burst","tasks":1,"chunks":1.5}', "burst", '"chunks"'),
    (b'{"type":"burst","tasks":1,"chunks":1,"older":0,"read_after":"soon"}', "burst", '"read_after"'),
    (b'{"type":"burst","tasks":5,"chunks":1,"older":0,"read_after":null}', "burst", "10 tasks are live"),
    (b'{"type":"' + X + b'"}', "x" * 60, "unknown command"),
    (b'{"type":"target","tasks":"' + X + b'"}', "target", ""),
    (b'{"type":"workload","spec":"' + X + b':y"}', "workload", "workload"),
    (b'{"x":"' + 3 * X + b'","type":"stop"}', None, "is not a command"),
)


@only("asyncio")
def test_each_invalid_command_gets_a_one_line_error_and_changes_nothing(worker):
    worker.target(10)
    worker.write(b" " * ((1 << 20) + 10) + b'{"type":"stop"}\n')  # too long: dropped
    for line, command, expected in INVALID:
        error = worker.wait("error", since=worker.write(line + b"\n"))
        assert_fields(error, command=command, detail=None)
        assert expected in error["message"], line[:80]
        assert "\n" not in error["message"]
        assert len(error["message"]) <= 1_000
    assert len(worker.all("error")) == len(INVALID)
    assert_stable(worker, created=10, live=10)
    worker.write(b'\n  \n\r\n{ "type" : "target", "tasks": 12, "newer": "key" }\r\n')
    worker.tick(lambda tick: tick["live"] == 12)


# The end.


def stop(worker):
    """Stop a worker with a thousand tasks by a command without its newline."""
    set_concurrency(worker, 100 if worker.ready["engine"] == "interpreters" else 1_000)
    worker.target(1_000)
    worker.write(b'{"type":"stop"}')
    worker.process.stdin.close()


def close_input(worker):
    """Close the input of a worker while tasks start."""
    worker.send("target", tasks=2_000 if row_of(worker.ready["engine"]).threads else 20_000)
    worker.process.stdin.close()


def signalled(number):
    """Return a function that sends a signal to a worker with tasks that never end."""

    def end(worker):
        worker.target(20)
        worker.process.send_signal(number)

    return end


@on_each_program
def test_a_worker_ends_on_stop_end_of_input_and_signals(engine, pool):
    signals = [signal.SIGINT]
    if engine in ("java-virtual", "csharp", "node", "erlang"):  # these runtimes handle it on their own
        signals.append(signal.SIGTERM)
    for end in (stop, close_input, *map(signalled, signals)):
        worker = pool.get()
        end(worker)
        status = worker.ended()
        assert engine in BEAM or (status == 0) is (
            end in (stop, close_input)
        )  # BEAM exits with 0 on a signal, too
        worker.check()


@on_kinds
def test_the_end_of_input_ends_a_worker_whose_tasks_block(worker):
    run_once(worker, "jobs:block_forever", 1)  # on one thread only one can start
    worker.tick(lambda tick: tick["live"] == 1)
    worker.process.stdin.close()
    assert worker.ended() == 0


@on_two
def test_a_worker_ends_when_its_output_is_closed(engine):
    pipe = subprocess.PIPE
    command = start_command(row_of(engine))
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, bufsize=0) as process:
        try:
            assert b'"ready"' in process.stdout.readline()
            process.stdin.write(b'{"type":"rate","hz":100}\n{"type":"target","tasks":100}\n')
            process.stdout.close()
            assert process.wait(PATIENCE) == 0
        finally:
            process.kill()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["asynci"], f'unknown engine "asynci"; expected one of {", ".join(ENGINES)}; did you mean "asyncio'),
        ([], "usage: python -m concwatch.portable.worker ENGINE"),
        (["asyncio", "more"], "usage: python -m concwatch.portable.worker ENGINE"),
    ],
)
def test_invalid_arguments_of_a_worker_give_one_line_and_status_2(arguments, expected):
    command = [sys.executable, "-m", "concwatch.portable.worker", *arguments]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=PATIENCE
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert expected in done.stderr
    assert done.stderr.count("\n") == 1


def test_worker_and_catalog_have_the_same_engines():
    assert list(ENGINES) == [engine.name for engine in PYTHONS]
