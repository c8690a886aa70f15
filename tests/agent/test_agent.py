"""The agent in real programs: its counts and reports, compared with the programs' own."""

import json
import subprocess
import sys

import pytest

from concwatch.portable.agent.sending.report import PART
from tests.agent_driver import EVERY, MANY, eventually, finish, oldest_and_newest, with_newest

pytestmark = pytest.mark.real


@pytest.mark.parametrize("python", EVERY.values(), ids=EVERY)
def test_tasks_are_counted_in_every_way_of_creating_them(monitor, python):
    program = monitor.start(MANY, "1", python=python)
    process = monitor.process()
    record = json.loads(program.stdout.readline())
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
async def helper(event):
    await event.wait()
async def fetch(event, number):
    if number % 3:
        await asyncio.sleep(600)
    await helper(event)
async def quick(): await asyncio.sleep(0)
async def fails(): raise ValueError("no luck")
async def main():
    print(*sys.modules, flush=True)
    loop, event = asyncio.get_running_loop(), asyncio.Event()
    tasks = [asyncio.create_task(fetch(event, number)) for number in range(300)]
    tasks += [asyncio.Task(helper(event)) for _ in range(4)]
    await asyncio.gather(*[quick() for _ in range(10)])
    await loop.run_in_executor(None, sys.stdin.readline)
    await asyncio.gather(*[fails() for _ in range(5)], return_exceptions=True)
    asyncio.create_task(helper(event)).cancel()
    kept = [asyncio.ensure_future(quick()) for _ in range(6)]
    await loop.run_in_executor(None, sys.stdin.read)
if "uvloop" in sys.argv:
    import uvloop
    uvloop.run(main())
else:
    asyncio.run(main())
"""

NOT_IMPORTED = {"re", "enum", "json", "socket", "selectors", "threading", "logging", "typing", "concwatch"}


@oldest_and_newest
def test_reports_have_groups_waits_and_outcomes_but_no_secrets(monitor, python):
    program = monitor.start(SMALL, "secret-argument", python=python, SECRET="secret-value")
    process = monitor.process()
    assert (process.ready["name"], process.ready["pid"]) == ("program.py", program.pid)
    assert process.ready["runtime"].startswith("CPython 3.")
    assert "target" not in process.ready["can"]
    fetch = process.group("fetch", created=300, live=300, ended=0, own=True, line=5, kind="asyncio")
    assert fetch["file"].endswith("/program.py")
    assert fetch["starts"][0].endswith("/program.py:14")
    process.group("helper", created=4, live=4, since=0)  # created without the loop
    process.group("quick", created=10, live=0, ended=10)
    process.send("waits", group=fetch["group"])
    found = process.wait("waits")
    assert (found["looked"], found["live"]) == (300, 300)
    places = [(wait["tasks"], wait["in"], wait["where"].rpartition(":")[2]) for wait in found["waits"]]
    assert places == [(200, "fetch", "7"), (100, "helper", "4")]
    assert found["oldest"]["start"].endswith("program.py:14")
    assert found["oldest"]["age"] > 0
    assert "failed" not in process.tick()
    process.apply("outcomes", on=True)
    program.stdin.write("\n")
    program.stdin.flush()
    process.group("fails", created=5, failed=5, completed=0, cancelled=0)
    process.group("helper", created=5, live=4, cancelled=1)
    process.group("quick", created=16, completed=6)
    tick = process.tick(lambda tick: tick["failed"] == 5)
    assert (tick["completed"], tick["cancelled"]) == (6, 1)
    if "existing" in tick:  # up to Python 3.13
        process.group("quick", live=0, retained=6)
        tick = process.tick(lambda tick: tick["retained"] == 6)
        assert tick["existing"] == tick["live"] + 6
    process.apply("outcomes", on=False)
    assert "failed" not in process.tick()
    assert "_concwatch_agent.sending.reporter" in finish(program)
    process.wait("end")
    assert "secret" not in json.dumps(process.messages)


@oldest_and_newest
def test_the_agent_imports_no_large_modules(monitor, python):
    program = monitor.start(
        "import gc, sys, time\n"
        "time.sleep(1.1)\n"  # longer than the agent waits before it starts in a program without tasks
        "gc.collect()\n"
        "sys.stdin.readline()\n"
        "print(*sys.modules)\n",
        python=python,
    )
    monitor.process().wait("tick")
    assert monitor.announced[0].all("waiting")
    plain = subprocess.run(
        [python, "-c", "import sys; print(*sys.modules)"], capture_output=True, text=True, check=True
    )
    assert not NOT_IMPORTED & (set(finish(program).split()) - set(plain.stdout.split()))


def test_tasks_on_uvloop_are_counted(monitor):
    monitor.start(SMALL, "uvloop")
    process = monitor.process()
    process.group("fetch", created=300, live=300, ended=0)
    process.group("quick", created=10, live=0, ended=10)
    assert process.tick(lambda tick: "loops" in tick)["loops"][0]["kind"] == "uvloop.Loop"
    assert any("uvloop" in flag for report in process.messages for flag in report.get("flags", ()))


NOT_RETRIEVED = """
import asyncio, gc
async def fails(): raise ValueError('no luck')
async def main():
    await asyncio.get_running_loop().run_in_executor(None, input)
    task = asyncio.create_task(fails())
    if task._source_traceback:
        print(task._source_traceback[-2].lineno, task._source_traceback[-1].name)
    del task
    await asyncio.sleep(0.1)
    gc.collect()
asyncio.run(main(), debug=True)
"""


def test_asyncio_debug_mode_still_reports_unretrieved_errors_and_creation_lines(monitor):
    program = monitor.start(NOT_RETRIEVED)
    process = monitor.process()
    process.group("main", live=1)
    process.apply("outcomes", on=True)
    output, errors = program.communicate("\n", timeout=60)
    assert output == "6 create_task\n"
    assert "Task exception was never retrieved" in errors
    process.group("fails", failed=1)


def test_threads_executors_and_loop_lag_are_reported(monitor):
    monitor.start(
        "import asyncio, sys, threading, time\n"
        "from concurrent.futures import ThreadPoolExecutor\n"
        "def poll(): time.sleep(600)\n"
        "def connect(): poll()\n"
        "for _ in range(3): threading.Thread(target=poll, daemon=True).start()\n"
        "pool = ThreadPoolExecutor(2, thread_name_prefix='disk', initializer=connect)\n"
        "for _ in range(7): pool.submit(time.sleep, 600)\n"
        "async def main():\n"
        "    while True:\n"
        "        await asyncio.sleep(0)\n"
        "        time.sleep(0.3)\n"
        "asyncio.run(main())\n"
    )
    process = monitor.process()
    tick = process.tick(lambda tick: tick.get("queued") == 7 and "threads" in tick)
    assert tick["executors"] == [{"name": "disk", "threads": 2, "queued": 7}]
    threads = {thread["name"]: thread["count"] for thread in tick["threads"]}
    assert (threads["__main__.poll"], threads["main"], sum(threads.values())) == (3, 1, 6)
    (poll,) = [thread for thread in tick["threads"] if thread["name"] == "__main__.poll"]
    assert (poll["file"], poll["line"] > 0) == (f"{monitor.folder}/program.py", True)
    assert tick.get("files", 3) >= 3
    process.send("thread_waits", name="__main__.poll")
    (place,) = process.wait("thread_waits")["waits"]
    assert (place["in"], place["tasks"]) == ("poll", 3)
    process.send("thread_waits", name="disk", pool=True)
    answer = process.wait("thread_waits", lambda answer: answer["pool"])
    assert (answer["name"], [place["in"] for place in answer["waits"]]) == ("disk", ["poll"])
    process.tick(lambda tick: tick.get("lag", 0) > 0.1)


THREADS = """
import queue, socket, sys, threading, time
event, condition, jobs, ends = threading.Event(), threading.Condition(), queue.Queue(), []
def stuck_in_event(): threading.Event().wait()
def stuck_in_condition():
    own = threading.Condition()
    with own: own.wait()
def stuck_in_semaphore(): threading.Semaphore(0).acquire()
def stuck_in_shared_event(): event.wait()
def in_shared_condition():
    with condition: condition.wait()
def in_event_for_a_while(): threading.Event().wait(600)
def in_queue(): jobs.get()
def in_socket():
    ours, theirs = socket.socketpair()
    ends.append(theirs)
    ours.makefile().readline()
def in_sleep(): time.sleep(600)
def in_join(): threading.main_thread().join()
targets = [value for name, value in list(globals().items()) if name.startswith(("in_", "stuck_"))]
for target in targets:
    for _ in range(2): threading.Thread(target=target, daemon=True).start()
for _ in range(2): threading.Timer(600, print).start()
for _ in range(2): threading.Thread(target=threading.Event().wait, daemon=True).start()
print(*[target.__qualname__ for target in targets], flush=True)
print(sys.stdin.read())
"""


@oldest_and_newest
def test_threads_that_wait_for_a_lock_of_their_own_are_distinguished(monitor, python):
    program = monitor.start(THREADS, python=python)
    process = monitor.process()
    names = [f"__main__.{name}" for name in program.stdout.readline().split()]
    for name in (*names, "Timer", "threading.Event.wait"):

        def answer(name=name):
            before = len(process.all("thread_waits"))
            process.send("thread_waits", name=name)
            found = eventually(lambda: process.all("thread_waits")[before:], "answer")[0]
            return found["looked"], found["locked"]

        expected = (2, 2 if "stuck" in name or name.startswith("threading") else 0)
        # A thread that has just started does not wait yet.
        eventually(lambda answer=answer, expected=expected: answer() == expected, name)
    if sys.platform == "linux":
        process.tick(lambda tick: tick.get("sockets") == 4)


def test_the_item_that_ends_the_threads_of_an_executor_is_not_a_job(monitor):
    program = monitor.start(
        "import sys, time\n"
        "from concurrent.futures import ThreadPoolExecutor\n"
        "pool = ThreadPoolExecutor(2)\n"
        "def work(): time.sleep(0.05)\n"
        "for _ in range(100): pool.submit(work)\n"
        "print(sys.stdin.read())\n"
    )
    process = monitor.process()
    process.tick(lambda tick: tick.get("queued"))
    finish(program)
    process.wait("end")
    # Once its threads have been collected, the last tick does not mention the executor.
    assert process.all("tick")[-1].get("queued", 0) == 0


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_anyio_tasks_are_grouped_by_function_and_its_limiter_is_reported(monitor, backend):
    monitor.start(
        "import anyio, anyio.to_thread, asyncio, sys, time\n"
        "async def reads(): await anyio.to_thread.run_sync(time.sleep, 600)\n"
        "async def stays(): await anyio.sleep(600)\n"
        "async def quick(): await anyio.sleep(0.05)\n"
        "async def serves(*, task_status):\n"
        "    task_status.started()\n"
        "    await anyio.sleep(600)\n"
        "async def main():\n"
        "    async with anyio.create_task_group() as group:\n"
        "        for _ in range(3): await group.start(serves)\n"
        "        for _ in range(45): group.start_soon(reads)\n"
        "        for _ in range(200): group.start_soon(quick)\n"
        "        for number in range(5): group.start_soon(stays, name=f'named {number}')\n"
        "        if sys.argv[1] == 'asyncio': task = asyncio.create_task(stays())\n"
        "anyio.run(main, backend=sys.argv[1])\n",
        backend,
    )
    process = monitor.process()
    assert process.group("reads", created=45, live=45, kind=backend)["line"] == 2
    process.group("quick", created=200, live=0, ended=200)
    process.group("serves", created=3, live=3, ended=0, own=True)
    if backend == "trio":
        process.group("stays", created=5, live=5, ended=0, own=True)
        return
    limiter = process.tick(lambda tick: tick.get("limiter", {}).get("waiting"))["limiter"]
    assert limiter == {"used": 40, "total": 40, "waiting": 5}
    stays = process.group("stays", created=6, live=6, ended=0, own=True)
    process.send("waits", group=stays["group"])
    assert process.wait("waits")["waits"][0]["where"].endswith("program.py:3")


INVALID_COMMANDS = {
    b"no JSON": "is not a command",
    b'{"type":5}': "is not a command",
    b"[" * 30_000: "is not a command",
    b'{"type":"target","tasks":5}': 'unknown command "target"; expected one of rate',
    b'{"type":"rate","hz":1000}': '"hz" is 1000; expected ticks a second from 0.1 to 10',
    b'{"type":"outcomes"}': '"on" is None; expected true or false',
    b'{"type":"waits","group":999}': "999; expected the number of a group",
    b'{"type":"lines"}': "nothing is traced",
}


COUNTED = """
import sys
from concurrent.futures import ThreadPoolExecutor
class Equal(type):
    def __eq__(self, other): raise SystemExit("compared")
    def __hash__(self): raise SystemExit("hashed")
class Session(metaclass=Equal):
    def __init__(self): self.user = []
kept, pool = [], ThreadPoolExecutor(1)
pool.submit(str).result()
for line in sys.stdin:
    kept += [Session() for _ in range(int(line))]
    print("kept", flush=True)
"""


@oldest_and_newest
def test_objects_are_counted_by_type_without_running_code_of_the_program(monitor, python):
    program = monitor.start(COUNTED, python=python)
    process = monitor.process()
    kept = 0

    def keep(count):
        nonlocal kept
        kept += count
        program.stdin.write(f"{count}\n")
        program.stdin.flush()
        assert program.stdout.readline() == "kept\n"

    keep(10)
    process.send("objects")
    while not process.all("objects"):
        keep(50)
        process.tick()
    (answer,) = process.all("objects")
    assert answer["since"] > 0
    grown = {one["name"]: one for one in answer["types"]}
    assert 50 <= grown["__main__.Session"]["grown"] < grown["__main__.Session"]["count"] <= kept
    assert grown["list"]["grown"] >= 50
    (container,) = answer["containers"]
    assert container["holders"][0]["name"] == "kept"
    keep(400_000)
    process.send("objects")
    while len(process.all("objects")) < 2:
        keep(50)
        process.tick()
    answer = process.all("objects")[1]
    assert (answer["counted"], answer["types"]) == (None, [])  # too many to list
    assert answer["containers"][0]["holders"][0]["name"] == "kept"
    assert answer["searched"] < 50_000
    finish(program)


def test_invalid_commands_are_answered_and_tracing_can_be_switched(monitor):
    monitor.start(SMALL)
    process = monitor.process()
    process.apply("rate", hz=5)
    for line in INVALID_COMMANDS:
        process.send_line(line)
    process.wait("error", lambda error: error["command"] == "lines")
    messages = [error["message"] for error in process.all("error")]
    expected = INVALID_COMMANDS.values()
    assert all(why in message for message, why in zip(messages, expected, strict=True))
    assert "traced" not in process.tick()
    process.apply("trace", on=True)
    process.tick(lambda tick: tick.get("traced"))
    process.send("lines")
    assert process.wait("lines")["lines"][0]["bytes"] > 0
    process.apply("trace", on=False)
    process.tick(lambda tick: "traced" not in tick)


def test_over_a_thousand_groups_are_limited_in_number_and_reported_in_parts(monitor):
    monitor.start(
        "import asyncio\n"
        "async def main():\n"
        "    tasks = []\n"
        "    for number in range(1050):\n"
        "        space = {'asyncio': asyncio}\n"
        "        exec(f'async def job{number}(): await asyncio.sleep(600)', space)\n"
        "        tasks.append(asyncio.create_task(space[f'job{number}']()))\n"
        "    await asyncio.gather(*tasks)\n"
        "asyncio.run(main())\n"
    )
    process = monitor.process()
    process.tick(lambda tick: tick.get("live") == 1051)
    assert process.group("other coroutines", live=51)["ended"] == 0
    assert sum(group["live"] for group in process.groups.values()) == 1051
    reports = process.all("groups")
    assert max(len(report["groups"]) for report in reports) == PART
    assert any(report["more"] for report in reports)
    assert not reports[-1]["more"]


DIRECT = """
import asyncio, sys
async def job(): await asyncio.sleep(0)
async def main():
    await asyncio.create_task(asyncio.sleep(0.3))
    for _ in range(500):
        await asyncio.Task(job())
    await asyncio.create_task(asyncio.sleep(0.3))
    stays = asyncio.Task(job_that_stays(), name=None)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    stays.cancel()
async def job_that_stays(): await asyncio.sleep(100)
asyncio.run(main())
"""


@oldest_and_newest
def test_tasks_that_nothing_has_counted_are_reported_as_missed(monitor, python):
    program = monitor.start(DIRECT, python=python)
    process = monitor.process()
    process.tick(lambda tick: tick.get("live_peak", 0) >= 2)
    finish(program)
    process.wait("end")
    last = process.all("tick")[-1]
    assert last["missed"] + last["created"] == 506  # with two of asyncio.run


STARTS = """
import asyncio, sys
async def job(seconds=0): await asyncio.sleep(seconds)
async def main():
    loop = asyncio.get_running_loop()
    def read(): return loop.run_in_executor(None, sys.stdin.readline)
    stays = asyncio.Task(job(600), loop=loop)
    await read()
    for _ in range(5):
        direct = [asyncio.Task(job(), loop=loop) for _ in range(100)]
        counted = [asyncio.create_task(job()) for _ in range(10)]
        eager = [asyncio.Task(job(), loop=loop, eager_start=True) for _ in range(20)]
        await asyncio.gather(*direct, *counted, *eager)
        await job()
    tool = next(tool for tool in (4, 3) if sys.monitoring.get_tool(tool))
    while sys.monitoring.get_tool(tool): await asyncio.sleep(0.01)
    sys.monitoring.use_tool_id(tool, "test")
    print(sys.monitoring.get_local_events(tool, job.__code__), flush=True)
    await read()
asyncio.run(main())
"""


@pytest.mark.parametrize("version", [version for version in EVERY if int(version.split(".")[1]) >= 12])
def test_the_starts_of_tasks_that_nothing_counts_at_creation_are_counted(monitor, version):
    program = monitor.start(STARTS, python=EVERY[version])
    process = monitor.process()
    process.group("job", live=1, created=1, direct=1)
    program.stdin.write("\n")
    program.stdin.flush()
    process.group("job", live=1, created=651, direct=601)
    process.disconnect()
    assert finish(program) == "0\n"


TIMERS = """
import asyncio, sys
async def sleeps(): await asyncio.sleep(50)
async def waits(): await asyncio.Event().wait()
async def has_a_limit(): await asyncio.wait_for(waits(), 70)
async def stuck(): await asyncio.Event().wait()
async def main():
    tasks = [asyncio.create_task(kind()) for kind in (sleeps, has_a_limit, stuck) for _ in range(3)]
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
asyncio.run(main())
"""


@oldest_and_newest
def test_waits_say_when_a_timer_ends_them(monitor, python):
    program = monitor.start(TIMERS, python=python)
    process = monitor.process()
    timers = {"sleeps": 50, "has_a_limit": 70, "stuck": None}
    if int(process.ready["runtime"].split(".")[1]) < 12:
        timers["waits"] = 70  # a task that wait_for creates
    for name, longest in timers.items():
        number = process.group(name, live=3)["group"]
        process.send("waits", group=number)
        waits = process.wait("waits", lambda report, number=number: report["group"] == number)
        assert waits.get("timed", 0) == (3 if longest else 0)
        if longest:
            assert 0 < waits["until"] <= longest
    finish(program)


WAKERS = """
import asyncio, sys
async def shared(number): await event.wait()
async def own(number): await asyncio.Event().wait()
async def in_object(number): await Session().run()
async def future(number): await asyncio.get_running_loop().create_future()
async def queue(number): await asyncio.Queue().get()
async def nested(number): await asyncio.create_task(own(number))
async def sleeps(number): await asyncio.sleep(float("inf"))
async def behind_stuck(number):
    async with kept_lock: pass
async def keeps():
    async with kept_lock: await asyncio.Event().wait()
async def rests():
    async with semaphore: await asyncio.sleep(600)
class Session:
    def __init__(self): self.event = asyncio.Event()
    async def run(self): await self.event.wait()
class Server:
    kept = {}
    async def has_event(self, number):
        session = self.kept["event", number] = Session()
        await session.run()
    async def has_future(self, number):
        self.kept["future", number] = asyncio.get_running_loop().create_future()
        await self.kept["future", number]
    async def has_timer(self, number):
        event = asyncio.Event()
        asyncio.get_running_loop().call_later(600, event.set)
        await event.wait()
    async def has_connection(self, number):
        reader, _ = await asyncio.open_connection("127.0.0.1", port)
        await reader.read()
    async def has_queue(self, number): await jobs.get()
    async def has_lock(self, number):
        async with lock: pass
    async def has_semaphore(self, number):
        async with semaphore: pass
    async def has_part(self, number): await asyncio.gather(self.has_event((number, "part")))
    async def has_thread(self, number): await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
async def serve(reader, writer): await reader.read()
async def main():
    global event, lock, kept_lock, semaphore, jobs, port
    event, lock, kept_lock, server = asyncio.Event(), asyncio.Lock(), asyncio.Lock(), Server()
    semaphore, jobs = asyncio.Semaphore(2), asyncio.Queue()
    await lock.acquire()
    holders = [asyncio.create_task(holder()) for holder in (keeps, rests, rests)]
    await asyncio.sleep(0)
    listener = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    kinds = [shared, own, in_object, future, queue, nested, sleeps, behind_stuck]
    kinds += [getattr(server, name) for name in dir(server) if name.startswith("has_")]
    tasks = [asyncio.create_task(kind(number)) for kind in kinds for number in range(3)]
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
asyncio.run(main())
"""
"""Tasks that nothing can wake, or that all wait for one event; and of ``Server``, which others can wake."""


WOKEN = (
    "event",
    "future",
    "timer",
    "connection",
    "part",
    "queue",
    "lock",
    "semaphore",
    "thread",
)


@oldest_and_newest
def test_tasks_that_something_else_may_wake_are_told_from_those_that_are_stuck(monitor, python):
    monitor.start(WAKERS, python=python)
    process = monitor.process()
    stuck = ("shared", "own", "in_object", "future", "queue", "nested", "sleeps", "behind_stuck")
    woken = [f"has_{what}" for what in WOKEN]
    for name in (*stuck, *woken):
        live = {"own": 6, "has_event": 6}.get(name, 3)
        number = process.group(name, live=live)["group"]

        def answer(number=number):
            before = len(process.all("waits"))
            process.send("waits", group=number)
            found = eventually(lambda: process.all("waits")[before:], "answer")[0]
            return found["group"] == number and (found["sampled"], found["wakeable"])

        # A connection is made in several turns of the loop.
        expected = (live, 0 if name in stuck else live)
        eventually(lambda answer=answer, expected=expected: answer() == expected, f"{name}: {expected}")


SCOPES = """
import sys, anyio
async def sleeps(): await anyio.sleep(50)
async def has_a_limit():
    with anyio.move_on_after(60): await anyio.sleep_forever()
async def may_fail():
    with anyio.fail_after(70): await anyio.sleep_forever()
async def stuck():
    with anyio.CancelScope(): await anyio.sleep_forever()
async def main():
    async with anyio.create_task_group() as group:
        for kind in (sleeps, has_a_limit, may_fail, stuck):
            for _ in range(3): group.start_soon(kind)
        await anyio.to_thread.run_sync(sys.stdin.read)
        group.cancel_scope.cancel()
anyio.run(main, backend=sys.argv[1])
"""


GROWS = """
import asyncio, sys
async def stays(): await asyncio.sleep(600)
async def grows(): await asyncio.sleep(600)
async def main():
    tasks = [asyncio.create_task(stays()) for _ in range(5000)]
    while True:
        tasks.append(asyncio.create_task(grows()))
        await asyncio.sleep(0.01)
asyncio.run(main())
"""


@with_newest
def test_scans_continue_while_the_agent_is_asked_repeatedly_where_tasks_wait(monitor, python):
    monitor.start(GROWS, python=python)
    process = monitor.process()
    number = process.group("stays", live=5000)["group"]
    before = process.last_report("grows")["live"]

    def has_grown():
        process.send("waits", group=number)
        return process.last_report("grows")["live"] > before + 100

    eventually(has_grown, "growth")


IN_TRIO = """
import sys, trio
kept = []
async def has_event():
    kept.append(trio.Event())
    await kept[-1].wait()
async def has_socket():
    ours, theirs = trio.socket.socketpair()
    kept.append(theirs)
    await ours.recv(1)
async def shared(): await event.wait()
async def own(): await trio.Event().wait()
async def sleeps(): await trio.sleep_forever()
async def main():
    global event
    event = trio.Event()
    async with trio.open_nursery() as nursery:
        for _ in range(3):
            for kind in (has_event, has_socket, shared, own, sleeps): nursery.start_soon(kind)
            await trio.sleep(0.6)  # one task of a function is sampled each half second
        await trio.to_thread.run_sync(sys.stdin.read)
        nursery.cancel_scope.cancel()
trio.run(main)
"""


def test_tasks_of_trio_that_something_else_may_wake_are_told_from_those_that_are_stuck(monitor):
    pytest.importorskip("trio")
    monitor.start(IN_TRIO)
    process = monitor.process()
    for name in ("has_event", "has_socket", "shared", "own", "sleeps"):
        number = process.group(name, live=3)["group"]
        process.send("waits", group=number)
        waits = process.wait("waits", lambda report, number=number: report["group"] == number)
        looked = waits["looked"]
        assert looked > 1
        assert (waits["sampled"], waits["wakeable"]) == (looked, looked if name.startswith("has_") else 0)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_the_deadlines_of_anyio_and_trio_are_timers(monitor, backend):
    pytest.importorskip(backend)
    program = monitor.start(SCOPES, backend)
    process = monitor.process()
    for name, longest in (("sleeps", 50), ("has_a_limit", 60), ("may_fail", 70), ("stuck", None)):
        number = process.group(name, live=3)["group"]
        process.send("waits", group=number)
        waits = process.wait("waits", lambda report, number=number: report["group"] == number)
        assert (waits["looked"], waits.get("timed", 0)) == (3, 3 if longest else 0)
        if longest:
            assert longest - 40 < waits["until"] <= longest
    finish(program)


BLOCKS = """
import asyncio, sys, time
def crunch(seconds):
    time.sleep(seconds)
def count(numbers):
    sum(range(numbers))  # holds the GIL
async def handler():
    crunch(0.3)
async def counting():
    count(30_000_000)
async def short():
    time.sleep(0.002)
async def main():
    await asyncio.gather(*[short() for _ in range(100)])  # many short ones are no block
    # Not in an executor: to start a thread may block the loop, too.
    ended, loop = asyncio.Event(), asyncio.get_running_loop()
    loop.add_reader(0, lambda: (loop.remove_reader(0), ended.set()))
    while not ended.is_set():  # on a busy machine, a process may have waited for a processor instead
        await asyncio.sleep(0.1)
        await asyncio.create_task(handler())
        await asyncio.sleep(0.1)
        await asyncio.create_task(counting())
        print("done", flush=True)
"""


@pytest.mark.parametrize("run", ["asyncio.run(main())", "import uvloop; uvloop.run(main())"])
def test_what_blocks_a_loop_is_named(monitor, run):
    program = monitor.start(BLOCKS + run)
    process = monitor.process()
    process.wait("block", lambda block: "count" in str(block.get("stack")) or block["cause"] == "stopped")
    blocks = [block for block in process.all("block") if block["ended"] and block["cause"] == "code"]
    named = {block["stack"][block["own"][0]]["in"]: block for block in blocks}
    assert set(named) <= {"crunch", "count", "counting"}
    if "crunch" in named:
        block = named["crunch"]
        assert block["stack"][block["own"][0]]["where"].endswith("program.py:4")
        assert block["stack"][block["own"][1]]["in"] == block["group"] == "handler"
        assert block["seconds"] >= 0.25
        assert block["exact"]
    finish(program)


@oldest_and_newest
def test_a_blocked_loop_is_reported_on_every_python(monitor, python):
    program = monitor.start(BLOCKS + "asyncio.run(main())", python=python)
    process = monitor.process()
    block = process.wait(
        "block", lambda block: block["cause"] in ("code", "stopped") and block["seconds"] >= 0.25
    )
    if block["cause"] == "code":
        assert [frame["in"] for frame in block["stack"]][-1] in ("handler", "counting")
    finish(program)


TRIO_BLOCKS = """
import sys, time, trio
longest = 0
def crunch(seconds):
    time.sleep(seconds)
async def handler():
    crunch(0.3)
async def short():
    global longest
    began = time.monotonic()
    time.sleep(0.002)
    longest = max(longest, time.monotonic() - began)
async def main():
    async with trio.open_nursery() as nursery:
        for _ in range(100):
            nursery.start_soon(short)  # many short ones are no block
    for _ in range(8):  # on a busy machine, the first ones may be over before the agent's thread has begun
        await trio.sleep(0.1)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(handler)
    await trio.lowlevel.wait_readable(sys.stdin)  # not in a thread, whose start may block the loop, too
    print(longest)
trio.run(main)
"""


def test_what_blocks_trio_is_named(monitor):
    program = monitor.start(TRIO_BLOCKS)
    process = monitor.process()
    process.wait("block", lambda block: block["ended"] and block["seconds"] >= 0.29)
    process.tick(lambda tick: tick["loops"][0]["kind"] == "trio")
    longest = float(finish(program))
    process.wait("end")
    blocks = [block for block in process.all("block") if block["cause"] == "code"]
    if longest > 0.09:  # on a busy machine even a short one may take that long
        blocks = [block for block in blocks if block["stack"][0]["in"] != "short"]
    assert {block["stack"][0]["where"].rpartition("/")[2] for block in blocks} <= {"program.py:5"}
    assert all(block["stack"][1]["in"] == block["group"] == "handler" for block in blocks)


def test_blocks_are_not_detected_if_that_is_off(monitor):
    program = monitor.start(BLOCKS + "asyncio.run(main())", options=["blocked-after:inf"])
    process = monitor.process()
    assert program.stdout.readline() == "done\n"
    process.tick(lambda tick: tick["number"] > 3 and tick["lag"] > 0)
    assert "blocks" not in process.wait("ready")["flags"]
    assert not process.all("block")
    finish(program)


@pytest.mark.parametrize("asked", ["at start", "later"])
@pytest.mark.parametrize("module", ["asyncio", "uvloop"])
def test_a_longer_time_can_be_asked_for(monitor, asked, module):
    begins = "await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)"
    text = BLOCKS.replace("crunch(0.3)", "crunch(0.3); crunch(0.7)").replace(
        "async def main():", f"async def main():\n    {begins}\n    await asyncio.sleep(0.5)"
    )
    program = monitor.start(
        f"import {module}\n{text}{module}.run(main())",
        options=["blocked-after:0.6" if asked == "at start" else "blocked-after:inf"],
    )
    process = monitor.process()
    if asked == "later":
        assert "blocks" in process.apply("blocked_after", seconds=0.6)["flags"]
    program.stdin.write("\n")
    program.stdin.flush()
    assert process.wait("block", lambda block: "crunch" in str(block))["seconds"] >= 0.6
    assert all(block["seconds"] >= 0.6 for block in process.all("block"))
    finish(program)


def test_threads_that_have_ended_are_counted_as_created(monitor):
    program = monitor.start(
        "import sys, threading, time\n"
        "def job(event): event.wait()\n"
        "for _ in range(3):\n"
        "    events = [threading.Event() for _ in range(4)]\n"
        "    threads = [threading.Thread(target=job, args=[event]) for event in events]\n"
        "    for thread in threads: thread.start()\n"
        "    sys.stdin.readline()\n"
        "    for event in events: event.set()\n"
        "    for thread in threads: thread.join()\n"
        "sys.stdin.read()\n"
    )
    process = monitor.process()

    def jobs(tick):
        return next((one for one in tick.get("threads", ()) if one["name"] == "__main__.job"), None)

    for created in (4, 8, 12):
        tick = process.tick(lambda tick, created=created: (jobs(tick) or {}).get("created") == created)
        assert jobs(tick)["count"] == 4
        program.stdin.write("\n")
        program.stdin.flush()
    finish(program)
