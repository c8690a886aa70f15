"""What tasks wait for, and for whom, as the agent finds it in real programs."""

import pytest

from tests.agent_driver import EVERY, finish

pytestmark = pytest.mark.real


PROGRAM = """
import asyncio, sys, time
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager

async def list_orders(semaphore):
    async with semaphore: await asyncio.sleep(600)
async def report(semaphore):
    async with semaphore: await asyncio.sleep(600)
async def explicit(lock):
    await lock.acquire()
    await asyncio.sleep(600)
async def through(acquired):
    async with acquired(): await asyncio.sleep(600)
async def gets(queue): await asyncio.wait_for(queue.get(), 600)
async def consumes(queue): await queue.get()
async def notified(condition):
    async with condition: await condition.wait()
async def leaf(): await asyncio.sleep(600)
async def gathers(): await asyncio.gather(leaf(), leaf(), leaf())
async def waits(): await asyncio.wait([asyncio.ensure_future(leaf()) for _ in range(2)])
async def shields(): await asyncio.shield(leaf())
async def awaits(): await asyncio.ensure_future(leaf())
async def uploads(pool): await asyncio.get_running_loop().run_in_executor(pool, time.sleep, 600)
async def future(): await asyncio.get_running_loop().create_future()
async def ticker():
    try:
        yield 1
    finally: await asyncio.sleep(600)
async def first():
    async for one in ticker(): return one
async def iterates():
    async for one in slow(): pass
async def slow():
    await asyncio.sleep(600)
    yield 1

async def main():
    semaphore, lock, queue = asyncio.Semaphore(5), asyncio.Lock(), asyncio.Queue()
    guarded = asyncio.BoundedSemaphore(1)
    @asynccontextmanager
    async def acquired():
        async with guarded: yield
    tasks = [asyncio.ensure_future(list_orders(semaphore)) for _ in range(4)]
    tasks.append(asyncio.ensure_future(report(semaphore)))
    await asyncio.sleep(0)
    tasks += [asyncio.ensure_future(list_orders(semaphore)) for _ in range(23)]
    pool = ThreadPoolExecutor(1, thread_name_prefix="disk")
    condition = asyncio.Condition()
    for one in (
        explicit(lock), explicit(lock), through(acquired), through(acquired), gets(queue), consumes(queue),
        notified(condition), gathers(), waits(), shields(), awaits(), uploads(pool), uploads(pool), future(),
        iterates(), slow().__anext__(),
    ):
        tasks.append(asyncio.ensure_future(one))
    if sys.version_info >= (3, 11):
        async def groups():
            async with asyncio.TaskGroup() as group:
                for _ in range(4): group.create_task(leaf())
        tasks.append(asyncio.ensure_future(groups()))
    await first()
    await asyncio.sleep(0.1)
    print("ready", flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    import os
    os._exit(0)
if "uvloop" in sys.argv:
    import uvloop
    uvloop.run(main())
else:
    asyncio.run(main())
"""

LINES = {line: number for number, line in enumerate(PROGRAM.splitlines(), 1)}


def asked(process, name, live):
    """Return the answer of the agent about the group of a name."""
    number = process.group(name, live=live)["group"]
    process.send("waits", group=number)
    return process.wait("waits", lambda report: report["group"] == number)


def places(rows):
    """Return the function, the line and the tasks of each place."""
    return [
        (row["in"].rpartition(".")[2], int(row["where"].rpartition(":")[2]), row["tasks"]) for row in rows
    ]


def check(process, newest):
    """Compare what the agent says of `PROGRAM` with what it does."""
    waiting, inside = asked(process, "list_orders", 27)["waits"]
    line = LINES["async def list_orders(semaphore):"] + 1
    assert (waiting["on"], waiting["tasks"], inside["on"], inside["tasks"]) == ("Semaphore", 23, "sleep", 4)
    assert places(waiting["inside"]) == [("list_orders", line, 4), ("report", line + 2, 1)]
    explicit = {wait["on"]: wait for wait in asked(process, "explicit", 2)["waits"]}
    assert set(explicit) == {"Lock", "sleep"}
    assert "inside" not in explicit["Lock"]
    through = {wait["on"]: wait for wait in asked(process, "through", 2)["waits"]}
    assert places(through["BoundedSemaphore(1)"]["inside"])[0][0] == "through"
    on = {
        "consumes": "Queue.get",
        "notified": "Condition.wait",
        "gathers": "gather",
        "waits": "wait",
        "shields": "leaf",
        "awaits": "leaf",
        "future": "Future",
    }
    found = {name: asked(process, name, 1)["waits"][0] for name in on}
    assert {name: wait["on"] for name, wait in found.items()} == on
    leaf = places(found["awaits"]["for"])[0][:2]
    assert leaf == ("leaf", LINES["async def leaf(): await asyncio.sleep(600)"])
    assert {name: places(found[name]["for"]) for name in ("gathers", "waits", "shields")} == {
        "gathers": [(*leaf, 3)],
        "waits": [(*leaf, 2)],
        "shields": [(*leaf, 1)],
    }
    assert "get" in asked(process, "gets", 1)["waits"][0]["on"]
    queued = {wait["on"]: wait["tasks"] for wait in asked(process, "uploads", 2)["waits"]}
    assert queued["executor disk, in its queue"] == 1
    about = asked(process, "leaf", 11 if newest else 7)
    by = {function for function, _, _ in places(about["awaited_by"])}
    assert by == {"gathers", "waits", "shields", "awaits", *(["groups"] if newest else [])}
    assert {"gathers", "shields"} <= {function for function, _, _ in places(about["created"])}
    for name in ("ticker", "slow"):  # what a generator's methods return has the generator's line
        group = process.group(name, live=1)
        assert group["line"] == LINES[f"async def {name}():"]
        assert asked(process, name, 1)["waits"][0]["on"] == "sleep"
    (iterates,) = asked(process, "iterates", 1)["waits"]
    assert (iterates["in"], iterates["on"]) == ("slow", "sleep")


@pytest.mark.parametrize("python", EVERY.values(), ids=EVERY)
def test_who_waits_for_what_and_for_whom(monitor, python):
    program = monitor.start(PROGRAM, python=python)
    assert program.stdout.readline() == "ready\n"
    process = monitor.process()
    check(process, int(process.ready["runtime"].split(".")[1]) >= 11)
    assert not process.all("error")
    finish(program)


BUSY = """
import asyncio, time
async def blocks():
    await asyncio.sleep(0)
    print("ready", flush=True); time.sleep(600)
async def main():
    tasks = [asyncio.create_task(blocks()) for _ in range(2)]
    await asyncio.sleep(600)
asyncio.run(main())
"""


@pytest.mark.parametrize("python", EVERY.values(), ids=EVERY)
def test_a_task_that_blocks_its_loop_runs_and_does_not_wait(monitor, python):
    program = monitor.start(BUSY, python=python)
    assert program.stdout.readline() == "ready\n"
    waits = asked(monitor.process(), "blocks", 2)["waits"]
    assert sorted((wait["tasks"], wait["on"], wait.get("running", False)) for wait in waits) == [
        (1, "", True),
        (1, "sleep", False),
    ]
    (line,) = [int(wait["where"].rpartition(":")[2]) for wait in waits if wait.get("running")]
    assert line == 5


def test_who_waits_for_what_on_uvloop(monitor):
    program = monitor.start(PROGRAM, "uvloop")
    assert program.stdout.readline() == "ready\n"
    check(monitor.process(), True)
    finish(program)
