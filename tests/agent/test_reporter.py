"""What the agent must not change in a program: its memory, its exit status, its files, how fast it starts."""

import signal
import subprocess

import pytest

from concwatch.portable.agent.attaching.inject import environment
from tests.agent_driver import EVERY, eventually, finish, oldest_and_newest

pytestmark = pytest.mark.real


KEEPS_NOTHING = """
import asyncio, gc, sys, time, weakref
blocks, count = [], 0
class Block: pass
def block():
    found = Block()
    blocks.append(weakref.ref(found))
    return found
async def fails(block): await asyncio.sleep(0.01); raise ValueError("no")
async def fails_at_once(block): raise ValueError("no")
async def is_cancelled(block): await asyncio.sleep(600)
async def is_forgotten(block): await asyncio.sleep(0.01)
FUNCTIONS = fails, fails_at_once, is_cancelled, is_forgotten
def wrapping(loop, coro, **kw):
    async def traced():
        return await coro
    return asyncio.Task(traced(), loop=loop, **kw)
async def in_asyncio():
    for function in FUNCTIONS:
        task = asyncio.create_task(function(block()))
        await asyncio.sleep(0.03)
        task.cancel()
        await asyncio.wait([task])
        task.cancelled() or task.exception()
        del task
async def in_anyio():
    import anyio
    for function in FUNCTIONS:
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(function, block())
                await anyio.sleep(0)  # until its timer is set
                await anyio.sleep(0.03)
                group.cancel_scope.cancel()
        except BaseException as error:
            pass
async def main():
    loop = asyncio.get_running_loop()
    if sys.argv[1] == "factory": loop.set_task_factory(wrapping)
    if sys.argv[1] == "eager": loop.set_task_factory(asyncio.eager_task_factory)
    for _ in range(15):  # scans find some of them
        await (in_anyio() if sys.argv[1] == "anyio" else in_asyncio())
    await asyncio.sleep(0.3)
    print(sum(one() is not None for one in blocks), "of", len(blocks), flush=True)
gc.disable()
if sys.argv[1] == "uvloop":
    import uvloop
    uvloop.run(main())
elif sys.argv[1] == "trio":
    import trio, anyio
    async def sleeps(block, seconds): await trio.sleep(seconds)
    async def trio_fails(block): await trio.sleep(0.01); raise ValueError("no")
    async def trio_main():
        for _ in range(15):
            for function in (trio_fails, sleeps):
                try:
                    async with trio.open_nursery() as nursery:
                        nursery.start_soon(*([function, block()] + [600] * (function is sleeps)))
                        await trio.sleep(0.03)
                        nursery.cancel_scope.cancel()
                except BaseException as error:
                    pass
        await trio.sleep(0.3)
        print(sum(one() is not None for one in blocks), "of", len(blocks), flush=True)
    trio.run(trio_main)
else:
    asyncio.run(main())
"""
"""Tasks that fail, are cancelled and are forgotten, each with a block; the collector is off."""


@pytest.mark.parametrize(
    ("way", "version"),
    [
        *((way, version) for version in EVERY for way in ("plain", "factory", "eager")),
        *((way, next(iter(EVERY))) for way in ("anyio", "uvloop", "trio")),
    ],
)
def test_the_agent_keeps_no_object_of_a_task_alive(monitor, way, version):
    if way in ("anyio", "uvloop", "trio"):
        pytest.importorskip(way)
    if way == "eager" and int(version.split(".")[1]) < 12:
        pytest.skip("eager tasks came with Python 3.12")
    bare, watched = (
        monitor.start(KEEPS_NOTHING, way, python=EVERY[version], watched=watched) for watched in (False, True)
    )
    assert finish(watched) == finish(bare)
    monitor.process().wait("groups")


DYNAMIC = """
import asyncio, gc, weakref
codes = []
async def main():
    for number in range(300):
        space = {}
        exec(compile("async def cell(): pass", f"<cell {number}>", "exec"), space)
        codes.append(weakref.ref(space["cell"].__code__))
        await asyncio.create_task(space["cell"]())
        if not number % 30: await asyncio.sleep(0.05)
    space = None
    await asyncio.sleep(0.1)
    gc.collect()  # a function and its globals are a cycle
    print(sum(code() is not None for code in codes), flush=True)
asyncio.run(main())
"""


@oldest_and_newest
def test_the_agent_keeps_no_code_alive_and_the_groups_keep_their_totals(monitor, python):
    assert int(finish(monitor.start(DYNAMIC, python=python))) <= 1
    process = monitor.process()
    process.wait("end")
    last = process.all("tick")[-1]
    assert last["created"] == last["ended"] == 300 + 3  # main, and two by which asyncio.run shuts down


# However busy the machine is: how long an exit waits for the agent's thread is not what is tested here.
PATIENT = """
import asyncio, sys
sys.modules["_concwatch_agent.sending.reporter"].AT_ONCE = 60
"""

ENDS = (
    PATIENT
    + """
import multiprocessing, os, signal
async def stays(): await asyncio.sleep(600)
async def main():
    tasks = [asyncio.create_task(stays()) for _ in range(5)]
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    if sys.argv[1] == "_exit": os._exit(3)
    if sys.argv[1] == "kill": os.kill(os.getpid(), signal.SIGTERM)
    if sys.argv[1] == "raise_signal": signal.raise_signal(signal.SIGTERM)
asyncio.run(main())
"""
)


@pytest.mark.parametrize("way", ["_exit", "kill", "raise_signal"])
@oldest_and_newest
def test_the_last_figures_arrive_from_what_ends_without_atexit(monitor, python, way):
    program = monitor.start(ENDS, way, python=python)
    process = monitor.process()
    process.group("stays", live=5)
    program.communicate()
    assert program.returncode == (3 if way == "_exit" else -signal.SIGTERM)
    process.wait("end")
    assert process.all("tick")[-1]["live"] == 6


SHORT = (
    PATIENT
    + """
import os
async def job(): await asyncio.sleep(0)
for _ in range(30):
    child = os.fork()
    if not child:
        asyncio.run(job())
        os._exit(0)
    os.waitpid(child, 0)
"""
)


def test_short_children_that_exit_at_once_are_all_counted(monitor):
    finish(monitor.start(SHORT))

    def created():
        return [
            process.all("tick")[-1]["created"]
            for process in monitor.processes
            if process.closed and process.all("tick")
        ]

    # The program itself creates none, and may end before the last child's report is read.
    eventually(lambda: created().count(3) == 30, "all children")


def test_a_signal_that_the_program_handles_ends_no_report(monitor):
    text = ENDS.replace("asyncio.run", "signal.signal(signal.SIGTERM, lambda *_: None)\nasyncio.run")
    program = monitor.start(text, "kill")
    process = monitor.process()
    process.group("stays", live=5)
    finish(program)
    process.group("stays", live=0, left_over=5)  # cancelled by asyncio.run, after the signal


INTERRUPTED = """
import os, signal, sys, threading
for module in sys.argv[1:]: __import__(module)
if sys.argv[1:] == ["threading"]: threading.Thread(target=lambda: None).start()
os.kill(os.getpid(), signal.SIGINT)
"""


@pytest.mark.parametrize("python", EVERY.values(), ids=EVERY)
@pytest.mark.parametrize("module", [(), ("asyncio",), ("threading",)], ids=str)
def test_a_program_that_is_interrupted_dies_of_it(monitor, python, module):
    program = monitor.start(INTERRUPTED, *module, python=python)
    assert "KeyboardInterrupt" in program.communicate(timeout=60)[1]
    assert program.returncode == -signal.SIGINT
    if module:
        monitor.process().wait("end")


COLLECTS = """
import asyncio, gc, time
async def main():
    await asyncio.get_running_loop().run_in_executor(None, input)
    began = time.perf_counter()
    for _ in range(50): gc.collect()
    print(*{type(callback).__name__ for callback in gc.callbacks}, time.perf_counter() - began, flush=True)
    await asyncio.get_running_loop().run_in_executor(None, input)
asyncio.run(main())
"""


@pytest.mark.parametrize("python", EVERY.values(), ids=EVERY)
def test_the_collector_is_measured_and_calls_no_function_in_which_ctrl_c_would_be_lost(monitor, python):
    program = monitor.start(COLLECTS, python=python)
    process = monitor.process()
    before = process.tick()["gc"]
    program.stdin.write("\n")
    program.stdin.flush()
    kind, took = program.stdout.readline().split()
    assert kind == "partial"
    assert 0 < process.tick()["gc"] - before <= float(took) + 0.1
    program.communicate("\n", timeout=60)


FILES = """
import asyncio, os
first = open(os.devnull)
async def main():
    second = open(os.devnull)
    await asyncio.get_running_loop().run_in_executor(None, input)
    third = open(os.devnull)
    print(first.fileno(), second.fileno(), third.fileno(), flush=True)
asyncio.run(main())
"""


@oldest_and_newest
def test_the_programs_files_have_the_numbers_that_they_have_without_it(monitor, python):
    bare = monitor.start(FILES, python=python, watched=False)
    numbers = bare.communicate("\n", timeout=60)
    program = monitor.start(FILES, python=python)
    monitor.process().wait("tick")
    assert program.communicate("\n", timeout=60) == numbers


@pytest.mark.parametrize("python", EVERY.values(), ids=EVERY)
def test_a_process_without_tasks_and_threads_loads_only_a_few_modules(monitor, python):
    program = monitor.start("import sys, threading, subprocess\nprint(*sys.modules)\n", python=python)
    loaded = {name for name in finish(program).split() if name.startswith("_concwatch_agent.")}
    needed = (
        "attaching.lazy",
        "basics.imports",
        "sending.places",
        "sending.process",
        "basics.names",
        "basics.guard",
    )
    rooms = {name.partition(".")[0] for name in needed}
    assert loaded <= {f"_concwatch_agent.{name}" for name in (*needed, *rooms)}
    process = eventually(lambda: monitor.announced and monitor.announced[0], "announcement")
    process.wait("waiting")
    assert (process.ready["name"], process.ready["pid"]) == ("program.py", program.pid)
    (tick,) = process.all("tick")
    assert (tick["created"], tick["live"]) == (0, 0)
    assert not monitor.processes


@oldest_and_newest
def test_outcomes_are_counted_from_the_first_task_on(monitor, python):
    text = (
        "import asyncio\n"
        "async def fails(): raise ValueError\n"
        "async def main():\n"
        "    await asyncio.gather(*[fails() for _ in range(20)], return_exceptions=True)\n"
        "asyncio.run(main())\n"
    )
    program = subprocess.Popen(
        [python, "-c", text], env=environment(monitor.address, {}, options=["outcomes"])
    )
    program.wait(60)
    process = monitor.process()
    process.wait("end")
    process.group("fails", created=20, failed=20)


WRAPPED = """
import asyncio, collections.abc, sys
async def work(seconds): await asyncio.sleep(seconds)
def closure(loop, coro, **kw):
    async def traced(): return await coro
    return asyncio.Task(traced(), loop=loop, **kw)
async def span(name, coro): return await coro
def argument(loop, coro, **kw): return asyncio.Task(span("x", coro), loop=loop, **kw)
class Traced(collections.abc.Coroutine):
    def __init__(self, coro): self.coro = coro
    def send(self, value): return self.coro.send(value)
    def throw(self, *args): return self.coro.throw(*args)
    def close(self): return self.coro.close()
    def __await__(self): return self.coro.__await__()
def instance(loop, coro, **kw): return asyncio.Task(Traced(coro), loop=loop, **kw)
class Loop(asyncio.SelectorEventLoop):
    def create_task(self, coro, **kw):
        async def observed(): return await coro
        return super().create_task(observed(), **kw)
async def main():
    if sys.argv[1] != "subclass": asyncio.get_running_loop().set_task_factory(globals()[sys.argv[1]])
    keep = [asyncio.create_task(work(600)) for _ in range(50)]
    for _ in range(4):
        await asyncio.gather(*[asyncio.create_task(work(0.15)) for _ in range(50)])
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
loop = Loop() if sys.argv[1] == "subclass" else asyncio.new_event_loop()
loop.run_until_complete(loop.create_task(main()))
"""


@pytest.mark.parametrize("python", EVERY.values(), ids=EVERY)
@pytest.mark.parametrize("way", ["closure", "argument", "instance", "subclass"])
def test_a_wrapped_coroutine_is_counted_once_under_its_own_name(monitor, python, way):
    monitor.start(WRAPPED, way, python=python)
    process = monitor.process()
    process.group("work", created=250, live=50, ended=200, since=0)
    wrappers = {"traced", "span", "observed", "Traced"}
    counted = {group["name"].rpartition(".")[2] for group in process.groups.values() if group["created"]}
    assert not counted & wrappers


UNUSUAL = """
import asyncio, sys
async def work(seconds): await asyncio.sleep(seconds)
class Step:
    def __init__(self, coro): self.coro = coro
    def __await__(self):
        try:
            while True: yield self.coro.send(None)
        except StopIteration as end: return end.value
async def run(awaitable): return await awaitable
async def call(function): return await function()
def awaitable(loop, coro, **kw): return asyncio.Task(run(Step(coro)), loop=loop, **kw)
def hidden(loop, coro, **kw): return asyncio.Task(call(lambda: coro), loop=loop, **kw)
async def main():
    asyncio.get_running_loop().set_task_factory(globals()[sys.argv[1]])
    keep = [asyncio.create_task(work(600)) for _ in range(50)]
    for _ in range(4):
        await asyncio.gather(*[asyncio.create_task(work(0.15)) for _ in range(50)])
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
asyncio.run(main())
"""


@pytest.mark.parametrize("python", EVERY.values(), ids=EVERY)
@pytest.mark.parametrize(("way", "name"), [("awaitable", "work"), ("hidden", "call")])
def test_tasks_of_a_wrapper_that_hides_its_coroutine_are_counted_once(monitor, python, way, name):
    monitor.start(UNUSUAL, way, python=python)
    process = monitor.process()
    process.group(name, created=250, live=50, ended=200, since=0)
    counted = {group["name"]: group["created"] for group in process.groups.values() if group["created"]}
    assert counted == {name: 250, "main": 1}


KEPT_WRAPPED = """
import asyncio, sys
async def keep(event): await event.wait()
async def other(event): await event.wait()
def traced(loop, coro, **kw):
    async def span(): return await coro
    return asyncio.Task(span(), loop=loop, **kw)
async def main():
    loop, event = asyncio.get_running_loop(), asyncio.Event()
    loop.set_task_factory(traced)
    functions = [globals()[name] for name in sys.argv[1:]]
    tasks = [asyncio.create_task(function(event)) for _ in range(30) for function in functions]
    await loop.run_in_executor(None, sys.stdin.readline)
    event.set()
    await asyncio.wait(tasks)
    await loop.run_in_executor(None, sys.stdin.readline)
asyncio.run(main())
"""


@pytest.mark.parametrize("functions", [("keep",), ("keep", "other")], ids=["one function", "several"])
def test_finished_tasks_that_were_wrapped_are_those_of_the_function_wrapped(monitor, functions):
    program = monitor.start(KEPT_WRAPPED, *functions)
    process = monitor.process()
    for name in functions:
        process.group(name, live=30)
    program.stdin.write("\n")
    program.stdin.flush()
    for name in functions:
        process.group(name, live=0, ended=30, retained=30)
    assert not any(group["name"].endswith("span") for group in process.groups.values())
    assert finish(program) == ""


LOADS = """
import gc, sys
def loaded():
    return sum(name.startswith("_concwatch_agent.") for name in sys.modules)
found = []
gc.callbacks.append(lambda phase, info: found.append(loaded()))
if sys.argv[1] == "off":
    gc.disable()
before = loaded()
import asyncio
after = loaded()
print(gc.isenabled(), after > before + 20, [one for one in found if before < one < after])
"""


@oldest_and_newest
@pytest.mark.parametrize("collects", ["on", "off"])
def test_the_agent_is_loaded_without_a_collection_and_leaves_the_collector_as_it_was(
    monitor, collects, python
):
    assert finish(monitor.start(LOADS, collects, python=python)) == f"{collects == 'on'} True []\n"
