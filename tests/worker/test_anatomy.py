"""What the memory of a task consists of: the walk over its objects, and the parts that workers report."""

import asyncio
import gc
import sys
import threading

import psutil
import pytest

from concwatch.portable.worker.anatomy import FEWEST, ROUNDING, allocated, anatomy
from tests.worker_driver import Worker

LIVE = 200

pytestmark = pytest.mark.usefixtures("unhurried")


@pytest.fixture
def unhurried(monkeypatch):
    """Let a busy machine take its time: all tasks are walked."""
    monkeypatch.setattr("concwatch.portable.worker.anatomy.MAX_SECONDS", 600.0)


CPYTHON = sys.implementation.name == "cpython"
LINUX = sys.platform.startswith("linux")


async def held(function):
    """Return the parts of tasks that run a function until they are cancelled."""
    tasks = [asyncio.create_task(function()) for _ in range(LIVE)]
    await asyncio.sleep(0)
    gc.unfreeze()  # whoever runs the tests may have frozen the loop's set of tasks
    try:
        return anatomy(lambda: tasks, {}, {}, {}, 0)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def parts_of(function):
    """Return the parts by name, and by function and variable."""
    found = asyncio.run(held(function))
    assert (found["live"], found["sampled"]) == (LIVE, LIVE)
    return {(part["name"], part["function"]): part for part in found["parts"]}


def only(parts, name, function=""):
    """Return the part with that name, or whose name begins with it."""
    if (name, function) in parts:
        return parts[name, function]
    found = [part for (whole, of), part in parts.items() if whole.startswith(name) and of == function]
    assert len(found) == 1, (name, sorted(parts))
    return found[0]


def test_a_sleeping_task_has_a_coroutine_a_future_and_a_timer():
    async def nap():
        await asyncio.sleep(1_000)

    parts = parts_of(nap)
    for name in ("Task", "Future", "TimerHandle"):
        assert only(parts, name)["count"] == pytest.approx(1, abs=0.02)
    assert only(parts, "coroutine sleep")["count"] == 1
    assert only(parts, "slot in a list of TimerHandle")["bytes"] >= 8
    assert only(parts, "slot in a set of weakref")["bytes"] > 8  # the loop's set of all tasks
    assert 0 < only(parts, ROUNDING)["bytes"] < 300
    assert not [name for name, _ in parts if "loop" in name.lower()], "the loop is no task's"


def test_variables_of_a_users_function_are_named_with_what_they_hold():
    table = {"shared": list(range(5_000))}

    async def inner():
        rows = [float(each) for each in range(100)]
        common = table
        await asyncio.sleep(1_000)
        return rows, common

    async def work():
        buffer = bytearray(2_048)
        await inner()
        return buffer

    parts = parts_of(work)
    work_name, inner_name = (
        next(of for (name, of) in parts if name == variable) for variable in ("buffer", "rows")
    )
    assert work_name.endswith("work")
    assert inner_name.endswith("inner")
    assert only(parts, "buffer", work_name)["bytes"] == pytest.approx(2_048, abs=100)
    rows = only(parts, "rows", inner_name)
    assert (rows["count"], rows["bytes"]) == (101, pytest.approx(100 * (24 + 8) + 60, abs=200))
    assert only(parts, "coroutine ", work_name)["count"] == 1
    assert not [name for name, _ in parts if name == "common"], "all tasks share it"


def test_the_frames_of_tasks_keep_nothing_of_the_look():
    class Big:
        pass

    async def work():
        big = Big()
        await asyncio.sleep(1_000)
        return big

    asyncio.run(held(work))
    gc.collect()
    assert not [each for each in gc.get_objects() if isinstance(each, Big)]


def test_what_refers_to_a_tasks_objects_belongs_to_it_too():
    registry = {}

    class Entry:
        def __init__(self, event):
            self.event = event
            self.text = str(id(event))

    async def wait():
        event = asyncio.Event()
        registry[id(event)] = Entry(event)
        await event.wait()

    parts = parts_of(wait)
    assert only(parts, "test_what")["count"] == pytest.approx(1, abs=0.02)  # an Entry
    assert only(parts, "slot in a dict of test_what")["bytes"] >= 8


def test_the_stacks_of_threads_have_objects():
    lock = threading.Lock()
    lock.acquire()

    def job():
        data = bytes(range(256)) * 16
        with lock:
            return data

    threads = [threading.Thread(target=job) for _ in range(FEWEST)]
    for thread in threads:
        thread.start()
    try:
        found = anatomy(lambda: threads, {}, {}, {}, 0)
    finally:
        lock.release()
        for thread in threads:
            thread.join()
    (data,) = [part for part in found["parts"] if part["name"] == "data"]
    assert data["function"].endswith("job")
    assert data["bytes"] == pytest.approx(4_096, abs=64)
    assert "Thread" in {part["name"] for part in found["parts"]}


def test_too_few_tasks_are_refused():
    with pytest.raises(ValueError, match="3 tasks are live; to tell what each has, 100"):
        anatomy(lambda: [object() for _ in range(3)], {}, {}, {}, 0)


def test_what_an_allocation_takes():
    assert allocated(1) == pytest.approx(16, rel=0.01)
    assert allocated(256) == pytest.approx(256, rel=0.02)
    assert allocated(257) == pytest.approx(272, rel=0.03)
    assert allocated(4_129) == 4_144
    assert allocated(200_000) % 4_096 == 0


def rss_of(worker):
    return psutil.Process(worker.ready["pid"]).memory_info().rss


def report(engine, spec, tasks, cwd=None):
    """Return RSS per task, and the parts of a task that a real worker reports."""
    with Worker(engine, cwd=cwd) as worker:
        worker.do("workload", spec=spec)
        worker.next_ticks()
        idle = rss_of(worker)
        worker.target(tasks)
        worker.next_ticks(10)  # threads have reached their waits
        rss = (rss_of(worker) - idle) / tasks
        since = worker.send("anatomy")
        found = worker.wait("anatomy", since=since)
        again = worker.wait("anatomy", since=worker.send("anatomy"))
    assert found["live"] == again["live"] == tasks
    first, second = ({part["name"]: part["bytes"] for part in each["parts"]} for each in (found, again))
    assert sum(second.values()) == pytest.approx(sum(first.values()), rel=0.05), (
        "the look itself is no task's"
    )
    return rss, first


@pytest.mark.real
@pytest.mark.skipif(not (CPYTHON and LINUX), reason="sizes of objects and maps are those of CPython on Linux")
@pytest.mark.parametrize(
    ("engine", "spec", "tasks", "within", "names"),
    [
        ("asyncio", "sleep:1000", 20_000, 0.03, {"Task", "Future", "TimerHandle"}),
        ("asyncio", "payload:4KiB", 5_000, 0.04, {"Task", "bytes"}),
        ("uvloop", "sleep:1000", 20_000, 0.04, {"Task", "UVTimer"}),
        ("gevent", "sleep:1000", 2_000, 0.05, {"Task", "timer"}),
        ("threads", "sleep:1000", 500, 0.05, {"Thread", "stack pages touched", "Python frames (data stack)"}),
        ("threads", "payload:4KiB", 500, 0.05, {"Thread", "bytes", "stack pages touched"}),
        ("pool", "sleep:1000", 20_000, 0.06, {"Future", "_WorkItem"}),
    ],
)
def test_the_parts_add_up_to_rss(engine, spec, tasks, within, names):
    if engine in ("uvloop", "gevent"):
        pytest.importorskip(engine)
    rss, parts = report_or_queued(engine, spec, tasks)
    assert names <= set(parts)
    assert sum(parts.values()) == pytest.approx(rss, rel=within)


def report_or_queued(engine, spec, tasks):
    """Do the same as `report`; of a pool only the jobs that wait are looked at."""
    if engine != "pool":
        return report(engine, spec, tasks)
    with Worker(engine) as worker:
        worker.do("workload", spec=spec)
        worker.next_ticks()
        idle = rss_of(worker)
        worker.target(tasks)
        worker.next_ticks(3)
        rss = (rss_of(worker) - idle) / tasks
        found = worker.wait("anatomy", since=worker.send("anatomy"))
    assert 0 < tasks - found["live"] < 100
    return rss, {part["name"]: part["bytes"] for part in found["parts"]}


@pytest.mark.real
@pytest.mark.skipif(not (CPYTHON and LINUX), reason="sizes of objects and maps are those of CPython on Linux")
def test_a_function_of_the_user_is_looked_into(tmp_path):
    (tmp_path / "shop.py").write_text(
        "import asyncio\n"
        "async def order():\n"
        "    basket = bytearray(2048)\n"
        "    await asyncio.sleep(1000)\n"
        "    return basket\n"
    )
    rss, parts = report("asyncio", "shop:order", 20_000, cwd=tmp_path)
    assert parts["basket"] == pytest.approx(2_048, abs=100)
    assert sum(parts.values()) == pytest.approx(rss, rel=0.04)


@pytest.mark.real
def test_a_worker_refuses_with_too_few_tasks_and_goes_on():
    with Worker("asyncio") as worker:
        worker.target(5)
        assert "5 tasks are live; to tell what each has, 100" in worker.refuse("anatomy")
        worker.target(7)


@pytest.mark.real
def test_an_engine_whose_tasks_are_only_numbers_has_no_such_command():
    with Worker("sequential") as worker:
        assert "anatomy" not in worker.ready["can"]
        assert "unknown command" in worker.refuse("anatomy")
