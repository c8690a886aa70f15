# Longer than other files: the one suite that every engine has to pass.

"""One suite over all engines: real workers, driven over the wire, their counters checked at every tick."""

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
from concwatch.lab.catalog import PYTHONS
from concwatch.lab.settings import parts
from concwatch.system.child import ROOT
from concwatch.worker.engines import ENGINES
from tests.built import row_of, start_command
from tests.worker_driver import EARLY, PATIENCE, Worker

pytestmark = [pytest.mark.real, pytest.mark.timeout(300)]  # the first test of an engine may have to build it

EVENT_LOOPS = ("asyncio", "uvloop", "asyncio-eager")
ONE_THREAD = (*EVENT_LOOPS, "gevent")
"""Engines all of whose tasks share one thread, on which each has to give way to the others."""
POOLS = ("pool", "interpreters")
TRACED = ("threads", "pool", "asyncio", "gevent", "sequential", "asyncio-eager")
BEAM = ("erlang", "elixir")
MIB = 1 << 20

# The same functions for every engine: DEF is "async def" or "def", and PAUSE what sleeps there.
JOBS = """
import asyncio, gc, os, sys, time
DEF short(): PAUSE(0.02)
DEF fail(): raise ValueError("no luck today")
DEF leave(): sys.exit(7)
DEF noise():
    print('{"type":"tick"}', flush=True)
    os.write(1, b'{"type":"ready"}\\n')
    os.system("echo from a child")
    assert sys.stdin.read() == "" and os.read(0, 10) == b""
DEF block(): time.sleep(0.6)
DEF block_for_ever(): time.sleep(600)
DEF collector():
    PAUSE(0.1)  # until its slice has been created, during which nothing is collected
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
"""For what only Python's engines have; each of the others shares the code of one of these."""
OTHERS = ("go", "rust-threads", "tokio", "java-virtual", "csharp", "node", "erlang")
"""One engine for each program in another language; test_runtimes has the variants of some of them."""
OWN_CODE = [*(engine.name for engine in PYTHONS if engine.name != "uvloop"), *OTHERS]


@pytest.fixture(scope="module", params=OWN_CODE)
def engine(request):
    """The name of each engine that can run here."""
    if missing := row_of(request.param).missing():
        pytest.skip(missing)
    return request.param


@pytest.fixture(scope="module")
def jobs(engine, tmp_path_factory):
    """A working directory with a user's functions, of the kind that this engine takes."""
    folder = tmp_path_factory.mktemp(engine)
    kinds = ("async def", "def") if engine in EVENT_LOOPS else ("def", "async def")
    source = JOBS.replace("DEF", kinds[0]).replace("OTHER", kinds[1])
    (folder / "jobs.py").write_text(source.replace("PAUSE", PAUSES.get(engine, "time.sleep")))
    return folder


class Pool:
    """One worker of an engine, shared by its tests: starting one takes longer than most tests."""

    def __init__(self, engine, cwd):
        self._row, self._cwd, self._worker = row_of(engine), cwd, None

    def get(self):
        """Return the worker, reset as after its start, or a new one if it has ended; its tasks hold."""
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
    """The shared worker of this engine."""
    pool = Pool(engine, jobs)
    yield pool
    pool.close()


@pytest.fixture
def worker(pool):
    """The shared worker, reset for one test."""
    worker = pool.get()
    yield worker
    worker.check()


@pytest.fixture
def fresh(pool):
    """A new worker, for what depends on what it did before, such as its memory."""
    pool.close()
    worker = pool.get()
    yield worker
    worker.check()


def only(*engines):
    """Run a test for these engines alone."""
    return pytest.mark.parametrize("engine", engines, indirect=True, scope="module")


on_all = only("uvloop", *OWN_CODE)
on_kinds = only(*KINDS)
on_each_program = only("threads", "asyncio", "interpreters", *OTHERS)
"""For what takes long, or needs a new worker."""
on_two = only("pool", "asyncio")
"""For what does not depend on the engine: one that blocks and one that does not."""


def same(report, **expected):
    """Check some fields of a report."""
    assert {key: report[key] for key in expected} == expected


def stays(worker, ticks=2, **expected):
    """Check some fields of the next ticks."""
    for tick in worker.next_ticks(ticks):
        same(tick, **expected)


def side_by_side(worker, count):
    """Have so many tasks run side by side: a pool needs as many threads."""
    if "threads" in worker.ready["can"]:
        worker.do("threads", count=count)


def few(engine, tasks):
    """As many tasks, or but a few where each waits for the last, so that a test stays short."""
    return min(tasks, 2) if engine == "sequential" else tasks


def once(worker, spec, tasks):
    """Run ``tasks`` tasks of that workload just once."""
    worker.do("refill", on=False)
    worker.do("workload", spec=spec)
    return worker.send("target", tasks=tasks)


BURST = {"tasks": 1, "chunks": 1, "older": 0, "read_after": None}


def run_burst(worker, tasks, **fields):
    """Run a burst and wait for its report."""
    return worker.wait("burst", since=worker.send("burst", **{**BURST, "tasks": tasks, **fields}))


# What every engine does.

FLAGS = {"uvloop": r"uvloop [\d.]+", "gevent": r"gevent [\d.]+"} | dict.fromkeys(POOLS, r"\d+ threads")


@on_all
def test_ready_describes_the_worker(engine, worker):
    row, ready = row_of(engine), worker.ready
    assert worker.reports[0] == ready
    same(ready, protocol=1, engine=engine, pid=worker.process.pid)
    assert {"sleep", "ticks", "hold", "payload", "spin", "nop"} <= set(ready["workloads"])
    assert re.fullmatch(r"\.?\w[\w.#/ ]* \d+\.[\w.+ ()-]*", ready["runtime"])
    can = {"trim", "burst"}
    if not row.ways:
        version = row.python.version if row.python else sys.version_info[:3]
        assert ready["runtime"] == "CPython " + ".".join(map(str, version))
        assert re.fullmatch(FLAGS.get(engine, ""), "".join(ready["flags"]))
        assert ready["workloads"][-1] == "module:function"
        can |= {"trace", "gc", "lines"} if engine != "interpreters" else set()
        can |= {"stack"} if engine in ("threads", *POOLS) else set()
        can |= {"threads"} if engine in POOLS else set()
    assert set(ready["can"]) == can
    stays(worker, created=0, live=0, queued=0, completed=0, failed=0, cancelled=0)
    assert {report["type"] for report in worker.reports} == {"ready", "tick", "applied"}


@on_all
def test_each_target_is_reached_exactly_and_reported_once(worker):
    live, targets = 0, (300, 120, 120, 3, 450, 0, 30)
    for target in targets:
        reached = worker.target(target)
        same(reached, target=target, live=target)
        same(reached, created=max(0, target - live), cancelled=max(0, live - target))
        stays(worker, 1, live=target, completed=0, failed=0)
        live = target
    worker.do("workload", spec="sleep:1000")  # what lives is replaced
    worker.tick(lambda tick: tick["cancelled"] == 747 + 30 and tick["live"] == 30)
    same(worker.target(7), live=7, created=0, cancelled=23)
    stays(worker, created=777 + 30, live=7, completed=0, failed=0)
    assert [report["target"] for report in worker.all("reached")] == [*targets, 7]
    assert 0 < worker.all("reached")[0]["seconds"] < PATIENCE
    assert worker.all("limit") == worker.all("error") == []


@on_all
def test_with_refill_ended_tasks_are_replaced(engine, worker):
    worker.do("workload", spec="sleep:0.05")
    worker.target(40)
    worker.tick(lambda tick: tick["completed"] >= few(engine, 120))
    tick = worker.tick(lambda tick: tick["live"] == 40)
    same(tick, created=tick["completed"] + 40)
    assert max(tick["live"] for tick in worker.ticks) == 40
    worker.do("workload", spec="nop")
    worker.tick(lambda tick: tick["completed"] > 1_000)
    worker.target(0)
    same(worker.tick(lambda tick: tick["live"] == 0), failed=0)


def test_without_refill_each_target_creates_its_tasks_once(engine, worker):
    side_by_side(worker, 20)
    tasks = few(engine, 20)
    began = time.monotonic()
    once(worker, "sleep:0.1", tasks)
    tick = worker.tick(lambda tick: tick["completed"] == tasks)
    assert worker.moment(tick) - began >= 0.1 - EARLY
    stays(worker, created=tasks, live=0, cancelled=0)
    worker.send("target", tasks=tasks)
    worker.tick(lambda tick: tick["completed"] == 2 * tasks)
    stays(worker, created=2 * tasks)
    assert [report["created"] for report in worker.all("reached")] == [tasks, tasks]
    worker.do("workload", spec="hold")
    worker.do("refill", on=True)  # switched on again it fills up
    same(worker.tick(lambda tick: tick["live"] == tasks), created=3 * tasks)
    worker.do("refill", on=False)  # two workloads at once replace what lives just once
    worker.write(b"".join(wire.encode("workload", spec=spec, **parts(spec)) for spec in ("hold", "sleep:0")))
    tick = worker.tick(lambda tick: tick["completed"] == 3 * tasks)
    same(tick, created=3 * tasks + tick["cancelled"], live=0)
    stays(worker, created=tick["created"])


@on_each_program
def test_payload_is_held_in_memory_and_freed(fresh):
    side_by_side(fresh, 40)
    process = psutil.Process(fresh.process.pid)
    fresh.target(40)  # what forty tasks weigh without it
    fresh.tick(lambda tick: tick["live"] - tick["queued"] == 40)
    idle, idle_heap = process.memory_info().rss, fresh.tick().get("heap", 0)

    def grown(tick):
        # What was idle may be given back as room is made: 2 MiB of java-virtual, whose heap tells all.
        return max(process.memory_info().rss - idle, tick.get("heap", 0) - idle_heap)

    fresh.do("workload", spec="payload:1MiB")
    fresh.tick(lambda tick: grown(tick) >= 40 * MIB)
    fresh.until(lambda: process.memory_info().rss >= idle + 36 * MIB, "nearly all of it resident")
    fresh.tick(lambda tick: tick["live"] - tick["queued"] == 40)
    assert process.memory_info().rss < idle + 60 * MIB
    fresh.target(0)
    fresh.do("rate", hz=10)

    def given_back():
        fresh.do("trim")  # again, where a task that has been counted still unwinds
        return process.memory_info().rss < idle + 10 * MIB

    fresh.until(given_back, "memory given back")


MANY = {"threads": 2_000, "rust-threads": 5_000, "java-threads": 5_000, **dict.fromkeys(POOLS, 20_000)}


def test_halt_stops_growth_and_reports_its_wall(engine, worker):
    many = MANY.get(engine, 200_000)
    for _ in range(10):  # on a busy machine so few may stand before the word arrives
        worker.send("target", tasks=many)
        worker.tick(lambda tick: tick["live"] > 0)
        limit = worker.wait("limit", since=worker.send("halt", wall="memory budget", value=123))
        if limit["standing"] < many:
            break
        worker.target(0)
    standing = limit["standing"]
    assert 0 < standing < many
    same(limit, wanted=many, wall="memory budget", value=123, detail="")
    stays(worker, 5, created=worker.tick()["created"], live=standing)
    same(worker.target(standing + 10), created=10)
    worker.target(5)
    before = worker.tick()
    assert worker.do("trim")["seconds"] >= 0
    if "gc" in before:  # Rust has no collector, and Erlang does not tell
        worker.tick(lambda tick: tick["gc"] > before["gc"])


@only(*KINDS, *OTHERS)
def test_ticks_and_commands_are_handled_while_many_tasks_start(engine, worker):
    many = 2_000 if row_of(engine).threads else 5_000 if engine in KINDS else 20_000
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
    same(worker.target(0), cancelled=many)


def test_only_tasks_without_a_thread_are_queued(engine, worker):
    side_by_side(worker, 2)
    worker.target(30)
    queued = 28 if engine in POOLS else 29 if engine == "sequential" else 0
    worker.tick(lambda tick: tick["queued"] <= queued)
    stays(worker, queued=queued)
    if engine not in POOLS:
        assert "threads" in worker.refuse("threads", count=4)


def test_a_burst_completes_its_tasks_and_times_them(engine, worker):
    side_by_side(worker, 50)
    tasks = few(engine, 50)
    worker.do("workload", spec="ticks:3x0.05")
    done = run_burst(worker, tasks)
    same(done, tasks=tasks, live=None, traced=None)
    assert 0 < done["create_seconds"] < done["seconds"]
    assert done["seconds"] >= 3 * (0.05 - EARLY)
    assert done["cpu"] >= done["create_cpu"]
    assert done["create_cpu"] > 0 or engine in BEAM  # which counts it in milliseconds
    same(worker.tick(lambda tick: tick["live"] == 0), created=tasks, completed=tasks)
    worker.do("workload", spec="hold")
    worker.send("target", tasks=7)  # is held as before
    same(worker.tick(lambda tick: tick["live"] == 7), created=tasks + 7)
    assert "7 tasks are live" in worker.refuse("burst", **BURST)
    stays(worker, 1, live=7)


# Any commands in any order.

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
        stays(worker, live=last)
        assert worker.all("error") == []
        # Erlang gives memory back in half a second, and obeys what comes behind a trim meanwhile.
        asked = [*(name for name in sent if name != "target"), "workload", "refill"]
        worker.until(lambda: len(worker.all("applied")) == before + len(asked), "an answer to each")
        applied = [report["command"] for report in worker.all("applied")][before:]
        assert applied == asked if engine not in BEAM else sorted(applied) == sorted(asked)
        worker.check()

    try:
        check()
    except BaseException:
        pool.close()  # its state is unknown
        raise


# What a task does, and how long it takes.


@only("threads", "pool", "asyncio", "interpreters")
def test_spin_uses_its_cpu_time_and_can_be_cancelled(engine, worker):
    process = psutil.Process(worker.process.pid)

    def used():
        return process.cpu_times().user + process.cpu_times().system

    before = used()
    once(worker, "spin:0.1", 2)
    worker.tick(lambda tick: tick["completed"] == 2)
    assert used() - before >= 0.16
    if engine not in ONE_THREAD:  # where nothing else runs meanwhile
        worker.do("refill", on=True)
        worker.do("workload", spec="spin:600")
        worker.target(3)
        same(worker.target(1), cancelled=2)


def times(worker, name, since):
    """All ``durations`` or ``delays`` of the ticks behind the first ``since`` reports."""
    ticks = [report for report in worker.reports[since:] if report["type"] == "tick"]
    return [seconds for tick in ticks for seconds in tick[name]]


@only(*TRACED)
def test_delays_and_durations_of_completed_tasks_are_reported(engine, worker):
    since = len(worker.reports)
    worker.target(few(engine, 50))
    worker.tick(lambda tick: tick["queued"] < few(engine, 50))
    worker.target(0)
    once(worker, "jobs:fail", 5)
    worker.tick(lambda tick: tick["failed"] == 5)
    worker.tick()
    assert times(worker, "durations", since) == []  # they were cancelled, or failed
    assert times(worker, "delays", since)
    side_by_side(worker, 1)  # with one thread a job waits for those before it, as in sequence
    since = len(worker.reports)
    worker.do("refill", on=True)
    worker.do("workload", spec="sleep:0.2")
    worker.send("target", tasks=3)
    worker.until(lambda: len(times(worker, "durations", since)) >= 3, "timed tasks")
    durations, delays = times(worker, "durations", since), times(worker, "delays", since)
    assert 0.2 - EARLY <= min(durations) < 0.39  # two tasks in sequence take longer
    assert len(delays) >= len(durations)
    if engine in ("sequential", *POOLS):
        assert max(delays) >= 2 * (0.2 - EARLY)
    else:
        assert min(delays) < 0.19


@only("asyncio-eager")
def test_an_eager_task_that_ends_during_its_creation_is_counted_and_timed_once(fresh):
    since = once(fresh, "nop", 50)
    stays(fresh, created=50, completed=50, live=0)
    assert len(times(fresh, "durations", since)) == len(times(fresh, "delays", since)) == 50


@on_kinds
def test_a_function_of_the_user_runs_and_an_invalid_one_is_rejected(worker):
    first = worker.tick(lambda tick: "switches" in tick)
    worker.do("workload", spec="jobs:short")
    worker.target(4)
    worker.tick(lambda tick: tick["completed"] >= 20)
    worker.tick(lambda tick: tick.get("switches", 0) >= first["switches"] + 20)
    worker.do("workload", spec="hold")
    worker.target(0)  # those of the workload before may still be live
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
    stays(worker, created=created, live=4)


@on_kinds
def test_failing_tasks_are_counted_and_the_first_traceback_is_reported(worker):
    once(worker, "jobs:fail", 200)
    same(worker.tick(lambda tick: tick["failed"] == 200), completed=0)
    (error,) = worker.all("error")
    same(error, command=None, message="a task failed: ValueError: no luck today")
    assert "Traceback" in error["detail"]
    assert "jobs.py" in error["detail"]
    worker.target(0)
    worker.do("workload", spec="jobs:fail")  # asked for anew, it is told anew
    same(run_burst(worker, 5), tasks=5)
    same(worker.tick(lambda tick: tick["failed"] == 205), live=0)
    assert len(worker.all("error")) == 2
    assert "exception was never retrieved" not in worker.noise


@on_kinds
def test_input_and_output_of_tasks_do_not_disturb_the_wire(worker):
    once(worker, "jobs:noise", 5)
    worker.tick(lambda tick: tick["completed"] + tick["failed"] == 5)
    assert worker.tick()["failed"] == 0, worker.all("error")
    assert len(worker.all("ready")) == 1
    worker.until(lambda: worker.noise.count("from a child") == 5, "what the children print")
    assert worker.noise.count('{"type":"tick"}') == worker.noise.count('{"type":"ready"}') == 5


@on_kinds
def test_sys_exit_ends_a_single_threaded_worker_and_otherwise_fails_its_task(engine, worker):
    once(worker, "jobs:leave", 1)
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
    tick = worker.tick(lambda tick: tick["time"] > now + 0.4)  # longer than more slow endings would take
    same(tick, created=100, live=90, cancelled=10)


@only("asyncio")
def test_child_tasks_are_not_cancelled_instead_of_their_parents(worker):
    worker.do("workload", spec="jobs:parent")
    worker.target(20)
    worker.until(lambda: worker.noise.count("<child begun>") == 100, "five children a parent")
    worker.target(16)
    worker.until(lambda: worker.noise.count("<child cancelled>") == 20, "end of their children")
    stays(worker, created=20, live=16, cancelled=4, completed=0)
    assert worker.noise.count("<child cancelled>") == 20


@only("uvloop", "gevent")
def test_lag_grows_while_a_task_blocks_the_event_loop(worker):
    worker.tick(lambda tick: tick["lag"] < 0.2)
    since = once(worker, "jobs:block", 1)
    worker.wait("tick", lambda tick: tick["lag"] > 0.3 and not tick["completed"], since)  # overdue, not over
    worker.wait("tick", lambda tick: tick["lag"] > 0.5, since)
    worker.tick(lambda tick: tick["completed"] == 1 and tick["lag"] < 0.2)


# Commands that some engines have, and commands that cannot be.


@only("asyncio")
def test_the_rate_of_ticks_is_set(worker):
    worker.do("rate", hz=4)
    first, last = worker.next_ticks(2)
    assert last["time"] - first["time"] > 0.15  # one interval; at ten a second it is 0.1 s
    worker.do("rate", hz=100)
    first, *_, last = worker.next_ticks(12)
    assert last["time"] - first["time"] < 1.0  # eleven intervals; at ten a second they are 1.1 s
    for wrong in (0, 0.05, 101, -1, True, "ten", None):
        assert "expected ticks a second from 0.1 to 100" in worker.refuse("rate", hz=wrong)


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
    assert tick["traced"] > before["traced"] + 300 * 100  # bytes: no other task is smaller
    assert tick["tracer"] > before["tracer"]
    worker.do("lines")
    (found,) = worker.all("lines")
    assert sum(line["bytes"] for line in found["lines"]) > 300 * 100
    worker.do("trace", on=False)
    worker.tick(lambda tick: "traced" not in tick)
    worker.refuse("lines")
    untraced(2)
    worker.do("trace", on=True)
    assert worker.tick(lambda tick: "traced" in tick)["traced"] < tick["traced"]  # it had really ended


@only("threads", "asyncio", "gevent")
def test_a_burst_reports_the_traced_memory_of_its_live_tasks(worker):
    tasks = 100
    worker.do("workload", spec="ticks:4x0.06")
    worker.do("trace", on=True)
    done = run_burst(worker, tasks, chunks=2, read_after=0.1)
    same(done, tasks=tasks)
    assert done["seconds"] >= 2 * 4 * (0.06 - EARLY)  # each part begins when the last one has ended
    assert 0 < done["live"] <= tasks / 2
    assert done["traced"] > tasks / 2 * 100  # bytes: no task is smaller


@only("threads", "asyncio", "gevent", "asyncio-eager")
def test_a_burst_can_have_older_tasks_that_have_not_begun(engine, worker):
    worker.do("workload", spec="nop")
    if engine in ("asyncio", "gevent"):
        same(run_burst(worker, 10, older=500), tasks=10)
        same(worker.tick(lambda tick: tick["completed"] == 510), created=510)
    else:
        assert "older tasks that have not begun" in worker.refuse("burst", **{**BURST, "older": 1})


@only("threads", "asyncio")
def test_each_mode_of_the_garbage_collector_is_applied(worker):
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
        once(worker, "jobs:collector", 5)
        worker.until(lambda: worker.noise.count("<") >= 5, "what the tasks saw")
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
    worker.tick(lambda tick: tick["queued"] == 18)  # two run on where they are
    worker.do("threads", count=1)
    same(worker.tick(lambda tick: tick["queued"] == 17), created=30, live=30, cancelled=0)
    same(worker.target(15), cancelled=15)
    stays(worker, live=15, queued=2)
    same(worker.target(5), cancelled=10)
    stays(worker, live=5, queued=0)
    worker.do("workload", spec="nop")
    worker.tick(lambda tick: tick["completed"] > 500)
    assert "expected a number from 1 to 100,000" in worker.refuse("threads", count=0)
    for count in (3, 1, 8, 2):
        worker.do("threads", count=count)
    worker.do("workload", spec="hold")
    worker.tick(lambda tick: (tick["live"], tick["queued"]) == (5, 3))


@only("threads", *POOLS)
def test_the_stack_size_of_new_threads_can_be_set(fresh):
    side_by_side(fresh, 20)
    before = psutil.Process(fresh.process.pid).memory_info().vms
    fresh.do("stack", size=64 << 20)
    fresh.send("target", tasks=20)
    fresh.tick(lambda tick: tick["live"] - tick["queued"] == 20)
    assert psutil.Process(fresh.process.pid).memory_info().vms - before >= 20 * (64 << 20)
    assert "32,768" in fresh.refuse("stack", size=1)


X = b"x" * 500_000
WHOLE = "expected a whole number from 0 to 1,000,000,000"
WRONG = (
    (b"nonsense", None, "not a command: 'nonsense'"),
    (b"\xff\xfe\x00", None, "not a command"),
    (b'{"type":"targt","tasks":5}', "targt", 'did you mean "target"?'),
    (b'{"type":"target"}', "target", f'"tasks" is None: {WHOLE}'),
    (b'{"type":"target","tasks":-1}', "target", f'"tasks" is -1: {WHOLE}'),
    (b'{"type":"target","tasks":true}', "target", WHOLE),
    (b'{"type":"target","tasks":99999999999}', "target", WHOLE),
    (b'{"type":"refill","on":1}', "refill", '"on" is 1: expected true or false'),
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
    (b'{"x":"' + 3 * X + b'","type":"stop"}', None, "not a command"),
)


@only("asyncio")
def test_each_invalid_command_gets_a_one_line_error_and_changes_nothing(worker):
    worker.target(10)
    worker.write(b" " * ((1 << 20) + 10) + b'{"type":"stop"}\n')  # too long, and begins with nothing: dropped
    for line, command, expected in WRONG:
        error = worker.wait("error", since=worker.write(line + b"\n"))
        same(error, command=command, detail=None)
        assert expected in error["message"], line[:80]
        assert "\n" not in error["message"]
        assert len(error["message"]) <= 1_000
    assert len(worker.all("error")) == len(WRONG)
    stays(worker, created=10, live=10)
    worker.write(b'\n  \n\r\n{ "type" : "target", "tasks": 12, "newer": "key" }\r\n')
    worker.tick(lambda tick: tick["live"] == 12)


# The end.


def stop(worker):
    """Stop it, by an unfinished last line, while a thousand tasks run."""
    side_by_side(worker, 100 if worker.ready["engine"] == "interpreters" else 1_000)
    worker.target(1_000)
    worker.write(b'{"type":"stop"}')
    worker.process.stdin.close()


def close(worker):
    """Close its input while it grows."""
    worker.send("target", tasks=2_000 if row_of(worker.ready["engine"]).threads else 20_000)
    worker.process.stdin.close()


def interrupt(worker):
    """Send it what ctrl-c sends while it holds tasks that never end."""
    worker.target(20)
    worker.process.send_signal(signal.SIGINT)


def terminate(worker):
    """Send it the other signal that some runtimes handle by themselves."""
    worker.target(20)
    worker.process.send_signal(signal.SIGTERM)


@on_each_program
def test_a_worker_ends_on_stop_end_of_input_and_signals(engine, pool):
    managed = engine in ("java-virtual", "csharp", "node", "erlang")
    for end in (stop, close, interrupt, *([terminate] if managed else [])):
        worker = pool.get()
        end(worker)
        status = worker.ended()
        assert engine in BEAM or (status == 0) is (
            end in (stop, close)
        )  # BEAM may exit normally all the same
        worker.check()


@on_kinds
def test_the_end_of_input_ends_a_worker_whose_tasks_block(worker):
    once(worker, "jobs:block_for_ever", 1)  # on one thread the next would not begin
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
        (["asynci"], f'unknown engine "asynci": expected one of {", ".join(ENGINES)}; did you mean "asyncio'),
        ([], "usage: python -m concwatch.worker ENGINE"),
        (["asyncio", "more"], "usage: python -m concwatch.worker ENGINE"),
    ],
)
def test_invalid_arguments_of_a_worker_give_one_line_and_status_2(arguments, expected):
    command = [sys.executable, "-m", "concwatch.worker", *arguments]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=PATIENCE
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert expected in done.stderr
    assert done.stderr.count("\n") == 1


def test_worker_and_catalog_have_the_same_engines():
    assert list(ENGINES) == [engine.name for engine in PYTHONS]
