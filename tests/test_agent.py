"""The agent in real programs: what it counts, against what the programs themselves know."""

import json
import subprocess
import sys

import pytest

from tests.agent_driver import Monitor, finish
from tests.test_other_pythons import PYTHONS

pytestmark = pytest.mark.real

EVERY = {f"{sys.version_info[0]}.{sys.version_info[1]}": sys.executable, **PYTHONS}


@pytest.fixture
def monitor():
    with Monitor() as monitor:
        yield monitor


@pytest.fixture(params=sorted(EVERY, key=lambda version: int(version.split(".")[1])))
def python(request):
    return EVERY[request.param]


MANY = """
import asyncio, json, sys, threading
NAMES = [f"job{number}" for number in range(20)]
for name in NAMES:
    exec(f"async def {name}(): await asyncio.sleep(0)")
async def stays(event):
    await event.wait()
record = dict.fromkeys(NAMES, 0)
def jobs(count):
    for at in range(count):
        name = NAMES[at % 20]
        record[name] += 1
        yield globals()[name]()
def other_loop(loop, done):
    asyncio.set_event_loop(loop)
    loop.call_soon(done.set)
    loop.run_forever()
async def main():
    for _ in range(100):
        await asyncio.gather(*jobs(1000))
    if sys.version_info >= (3, 11):
        for _ in range(20):
            async with asyncio.TaskGroup() as group:
                for job in jobs(1000):
                    group.create_task(job, name="a")
    else:
        for _ in range(20):
            await asyncio.wait([asyncio.create_task(job, name="a") for job in jobs(1000)])
    for job in jobs(20000):
        if sys.version_info >= (3, 12):  # which makes no task of it
            record[job.__name__] -= 1
        await asyncio.wait_for(job, 60)
    loop, begun = asyncio.new_event_loop(), threading.Event()
    thread = threading.Thread(target=other_loop, args=(loop, begun))
    thread.start()
    begun.wait()
    for _ in range(20):
        futures = [asyncio.run_coroutine_threadsafe(job, loop) for job in jobs(1000)]
        for future in futures:
            await asyncio.wrap_future(future)
    def nested():
        async def inner():
            await asyncio.gather(*jobs(1000))
        asyncio.run(inner())
    for _ in range(20):
        await asyncio.get_running_loop().run_in_executor(None, nested)
    if sys.version_info >= (3, 12):
        asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)
    for _ in range(20):
        await asyncio.gather(*jobs(1000))
    event = asyncio.Event()
    async def make(): return asyncio.Event()
    elsewhere = asyncio.run_coroutine_threadsafe(make(), loop).result()
    here = [asyncio.create_task(stays(event)) for _ in range(3000)]
    there = [asyncio.run_coroutine_threadsafe(stays(elsewhere), loop) for _ in range(7)]
    print(json.dumps(record), flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    event.set()
    loop.call_soon_threadsafe(elsewhere.set)
    await asyncio.gather(*here)
    for future in there:
        await asyncio.wrap_future(future)
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()
asyncio.run(main())
"""


@pytest.mark.timeout(240)
def test_every_task_is_counted_whatever_created_it(monitor, python):
    program = monitor.start(MANY, python=python)
    process = monitor.process()
    record = json.loads(program.stdout.readline())
    assert 180_000 <= sum(record.values()) <= 200_000
    for name, count in record.items():
        process.group(name, created=count, live=0, ended=count, since=0)
    process.group("stays", created=3007, live=3007, ended=0, since=0)
    tick = process.tick(lambda tick: tick["scan_created"] == tick["created"])
    assert tick["created"] == tick["live"] + tick["ended"] >= sum(record.values()) + 3008
    assert [loop["kind"] for loop in tick["loops"]] == ["asyncio._UnixSelectorEventLoop"] * 2
    assert finish(program) == ""
    process.wait("end")
    process.group("stays", created=3007, live=0, ended=3007)
    assert process.all("tick")[-1]["live"] == 0


SMALL = """
import asyncio, sys
async def quick(): await asyncio.sleep(0)
async def fails(): raise ValueError("no luck")
async def stays(): await asyncio.sleep(600)
async def main():
    tasks = [asyncio.create_task(stays()) for _ in range(3)]
    await asyncio.gather(*[quick() for _ in range(10)])
    if "Task" in sys.argv:
        tasks += [asyncio.Task(stays()) for _ in range(4)]
        await asyncio.sleep(0)
    if "fail" in sys.argv:
        sys.stdin.readline()
        await asyncio.gather(*[fails() for _ in range(5)], return_exceptions=True)
        asyncio.create_task(stays()).cancel()
        await asyncio.gather(*[quick() for _ in range(6)])
    if "keep" in sys.argv:
        kept = [asyncio.ensure_future(quick()) for _ in range(50)]
    print("there", flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
if "uvloop" in sys.argv:
    import uvloop
    uvloop.run(main())
else:
    asyncio.run(main(), debug="debug" in sys.argv)
"""


def test_tasks_on_uvloop_are_counted(monitor):
    program = monitor.start(SMALL, "uvloop")
    process = monitor.process()
    process.group("stays", created=3, live=3, ended=0)
    process.group("quick", created=10, live=0, ended=10)
    tick = process.tick(lambda tick: "loops" in tick)
    assert tick["loops"][0]["kind"] == "uvloop.Loop"
    assert any("uvloop" in flag for report in process.messages for flag in report.get("flags", ()))
    assert finish(program) == "there\n"


def test_tasks_made_past_the_loop_are_found(monitor, python):
    monitor.start(SMALL, "Task", python=python)
    monitor.process().group("stays", created=7, live=7, ended=0, since=0)


def test_a_process_says_who_it_is(monitor, python):
    program = monitor.start(SMALL, "secret-argument", python=python, SECRET="secret-value")
    process = monitor.process()
    ready = process.ready
    assert (ready["name"], ready["pid"], ready["engine"]) == ("program.py", program.pid, "agent")
    assert ready["runtime"].startswith("CPython 3.")
    assert "target" not in ready["can"]
    stays = process.group("stays", created=3, live=3)
    assert stays["own"]
    assert stays["file"].endswith("/program.py")
    assert stays["line"] == 5
    assert stays["starts"][0].endswith("/program.py:7")
    assert stays["oldest"] >= 0
    finish(program)
    assert "secret" not in json.dumps(process.messages)


def test_outcomes_are_counted_for_who_asks(monitor, python):
    program = monitor.start(SMALL, "fail", python=python)
    process = monitor.process()
    process.group("quick", created=10)
    assert "failed" not in process.tick(lambda tick: True)
    process.do("outcomes", on=True)
    program.stdin.write("\n")
    program.stdin.flush()
    process.group("fails", created=5, failed=5, completed=0, cancelled=0)
    process.group("stays", created=4, live=3, cancelled=1)
    process.group("quick", created=16, completed=6)
    tick = process.tick(lambda tick: tick["failed"] == 5)
    assert (tick["completed"], tick["cancelled"]) == (6, 1)
    process.do("outcomes", on=False)
    assert "failed" not in process.tick(lambda tick: True)


def test_an_error_that_nobody_looked_at_is_still_complained_of(monitor):
    program = monitor.start(
        "import asyncio, gc\n"
        "async def fails(): raise ValueError('unseen')\n"
        "async def main():\n"
        "    await asyncio.get_running_loop().run_in_executor(None, input)\n"
        "    asyncio.create_task(fails())\n"
        "    await asyncio.sleep(0.1)\n"
        "    gc.collect()\n"
        "asyncio.run(main())\n"
    )
    process = monitor.process()
    process.group("main", live=1)
    process.do("outcomes", on=True)
    _, noise = program.communicate("\n", timeout=60)
    assert "Task exception was never retrieved" in noise
    assert process.named("fails")["failed"] == 1


def test_finished_tasks_that_something_holds_are_told(monitor):
    monitor.start(SMALL, "keep")
    process = monitor.process()
    process.group("quick", created=60, live=0, retained=50)
    tick = process.tick(lambda tick: tick["retained"] == 50)
    assert tick["existing"] == tick["live"] + 50


def test_where_tasks_wait(monitor, python):
    monitor.start(
        "import asyncio\n"
        "async def helper(event):\n"
        "    await event.wait()\n"
        "async def fetch(event, number):\n"
        "    if number % 3:\n"
        "        await asyncio.sleep(600)\n"
        "    await helper(event)\n"
        "async def main():\n"
        "    event = asyncio.Event()\n"
        "    await asyncio.gather(*[fetch(event, number) for number in range(300)])\n"
        "asyncio.run(main())\n",
        python=python,
    )
    process = monitor.process()
    group = process.group("fetch", created=300, live=300)
    process.send("waits", group=group["group"])
    found = process.wait("waits")
    assert (found["looked"], found["live"]) == (300, 300)
    first, second = found["waits"]
    assert (first["tasks"], first["in"], first["where"].rpartition(":")[2]) == (200, "fetch", "6")
    assert (second["tasks"], second["in"], second["where"].rpartition(":")[2]) == (100, "helper", "3")
    assert found["oldest"]["start"].endswith("program.py:10")
    assert found["oldest"]["age"] > 0
    process.send("waits", group=999)
    assert "999: expected the number of a group" in process.wait("error")["message"]


def test_threads_executors_and_the_delay_of_the_loop(monitor):
    monitor.start(
        "import asyncio, sys, threading, time\n"
        "from concurrent.futures import ThreadPoolExecutor\n"
        "def poll(): time.sleep(600)\n"
        "for _ in range(3): threading.Thread(target=poll, daemon=True).start()\n"
        "pool = ThreadPoolExecutor(2, thread_name_prefix='disk')\n"
        "for _ in range(7): pool.submit(time.sleep, 600)\n"
        "async def main():\n"
        "    while True:\n"
        "        await asyncio.sleep(0)\n"
        "        time.sleep(0.3)\n"
        "asyncio.run(main())\n"
    )
    process = monitor.process()
    tick = process.tick(lambda tick: tick.get("queued") == 5 and "threads" in tick)
    assert tick["executors"] == [{"name": "disk", "threads": 2, "queued": 5}]
    threads = {thread["name"]: thread["count"] for thread in tick["threads"]}
    assert threads["__main__.poll"] == 3
    assert threads["main"] == 1
    assert sum(threads.values()) == 6
    process.tick(lambda tick: tick.get("lag", 0) > 0.1)


def test_tasks_of_anyio_are_told_apart_and_its_limiter_is_read(monitor):
    monitor.start(
        "import anyio, anyio.to_thread, asyncio, time\n"
        "async def reads(): await anyio.to_thread.run_sync(time.sleep, 600)\n"
        "async def stays(): await anyio.sleep(600)\n"
        "async def main():\n"
        "    async with anyio.create_task_group() as group:\n"
        "        for _ in range(45): group.start_soon(reads)\n"
        "        for number in range(5): group.start_soon(stays, name=f'named {number}')\n"
        "        also = asyncio.create_task(stays())\n"
        "anyio.run(main)\n"
    )
    process = monitor.process()
    assert process.tick(lambda tick: tick.get("limiter", {}).get("waiting"))["limiter"] == {
        "used": 40,
        "total": 40,
        "waiting": 5,
    }
    assert process.group("reads", created=45, live=45)["line"] == 2
    stays = process.group("stays", created=6, live=6, ended=0, own=True)
    process.send("waits", group=stays["group"])
    assert process.wait("waits")["waits"][0]["where"].endswith("program.py:3")


def test_tracing_and_its_lines(monitor):
    monitor.start(SMALL)
    process = monitor.process()
    process.do("rate", hz=5)
    assert "traced" not in process.tick(lambda tick: True)
    process.send("lines")
    assert "nothing is traced" in process.wait("error")["message"]
    process.do("trace", on=True)
    process.tick(lambda tick: tick.get("traced"))
    process.send("lines")
    assert process.wait("lines")["lines"][0]["bytes"] > 0
    process.do("trace", on=False)
    process.tick(lambda tick: "traced" not in tick)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"no JSON\n", "not a command"),
        (b'{"type":5}\n', "not a command"),
        (b'{"type":"target","tasks":5}\n', 'unknown command "target": expected one of rate'),
        (b'{"type":"rate","hz":1000}\n', '"hz" is 1000: expected ticks a second from 0.1 to 10'),
        (b'{"type":"outcomes"}\n', '"on" is None: expected true or false'),
        (b"[" * 30_000 + b"\n", "not a command"),
    ],
)
def test_a_command_that_cannot_be_obeyed_is_answered(monitor, line, why):
    monitor.start(SMALL)
    process = monitor.process()
    process.ready  # noqa: B018
    process._sock.sendall(line)
    assert why in process.wait("error")["message"]
    process.group("stays", live=3)


def test_debug_mode_shows_the_program_where_it_created_a_task(monitor):
    program = monitor.start(
        "import asyncio\n"
        "async def stays(): await asyncio.sleep(600)\n"
        "async def main():\n"
        "    await asyncio.get_running_loop().run_in_executor(None, input)\n"
        "    task = asyncio.create_task(stays())\n"
        "    print(task._source_traceback[-2].lineno, task._source_traceback[-1].name)\n"
        "asyncio.run(main(), debug=True)\n"
    )
    monitor.process().group("main", live=1)
    out, _ = program.communicate("\n", timeout=60)
    assert out == "5 create_task\n"


def test_a_thousand_groups_and_more_stay_within_bounds(monitor):
    monitor.start(
        "import asyncio\n"
        "async def main():\n"
        "    tasks = []\n"
        "    for number in range(1500):\n"
        "        space = {'asyncio': asyncio}\n"
        "        exec(f'async def job{number}(): await asyncio.sleep(600)', space)\n"
        "        tasks += [asyncio.create_task(space[f'job{number}']()) for _ in range(2)]\n"
        "    await asyncio.gather(*tasks)\n"
        "asyncio.run(main())\n"
    )
    process = monitor.process()
    process.tick(lambda tick: tick.get("live") == 3001)
    report = process.wait("groups", lambda report: report.get("rest", {}).get("live", 0) > 1000)
    assert len(report["groups"]) <= 200
    total = sum(group["live"] for group in process.groups.values()) + report["rest"]["live"]
    assert total <= 3001
    assert process.named("other coroutines")["live"] > 1000


NEVER = {
    "re",
    "enum",
    "json",
    "socket",
    "selectors",
    "threading",
    "logging",
    "asyncio",
    "typing",
    "concwatch",
}


def test_the_agent_loads_nothing_that_weighs(monitor, python):
    program = monitor.start("import sys\nprint(*sys.modules)\nsys.stdin.read()\n", python=python)
    monitor.process().wait("tick")
    loaded = set(program.stdout.readline().split())
    bare = subprocess.run(
        [python, "-c", "import sys; print(*sys.modules)"], capture_output=True, text=True, check=True
    )
    extra = loaded - set(bare.stdout.split())
    assert "_concwatch_agent.reporter" in loaded
    assert not NEVER & extra
    finish(program)


def test_tasks_of_trio_are_told_by_its_instrument(monitor):
    pytest.importorskip("trio")
    monitor.start(
        "import trio\n"
        "async def quick(): await trio.sleep(0)\n"
        "async def stays(): await trio.sleep(600)\n"
        "async def main():\n"
        "    async with trio.open_nursery() as nursery:\n"
        "        for _ in range(3): nursery.start_soon(stays)\n"
        "        for _ in range(10): nursery.start_soon(quick)\n"
        "trio.run(main)\n"
    )
    process = monitor.process()
    process.group("quick", kind="trio", created=10, live=0, ended=10)
    process.group("stays", kind="trio", created=3, live=3, ended=0)
