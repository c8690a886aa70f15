"""Tasks of a framework belong to the program's functions that they run, or to their names."""

import sys
import types

import pytest

from concwatch.portable.agent.basics.own_code import is_own
from concwatch.portable.agent.counting.regrouping import folded
from tests.agent_driver import EVERY, NEWEST, finish

PROGRAM = """
import asyncio, sys
FRAMEWORK = '''
import asyncio
async def run_asgi(app): await middleware(app)
async def middleware(app): await app()
async def polls(): await asyncio.Event().wait()
'''
exec(compile(FRAMEWORK, "/env/site-packages/framework.py", "exec"))
async def list_orders(): await event.wait()
async def load(): await event.wait()
async def report(): await load()
async def quick(): pass
async def main():
    global event
    event = asyncio.Event()
    loop = asyncio.get_running_loop()
    def create(coro, name=None):
        task = loop.create_task(coro)
        if name: task.set_name(name)
        return task
    tasks = [create(run_asgi(list_orders), f"GET /orders/{number}") for number in range(30)]
    tasks += [create(run_asgi(report)) for _ in range(7)]
    tasks += [create(run_asgi(quick)) for _ in range(10)]
    tasks += [create(list_orders()) for _ in range(2)]
    stays = [create(polls()) for _ in range(5)]
    await loop.run_in_executor(None, sys.stdin.readline)
    event.set()
    await asyncio.gather(*tasks)
    del tasks
    event.clear()
    tasks = [create(run_asgi(list_orders), f"GET /orders/{number}") for number in range(4)]
    await loop.run_in_executor(None, sys.stdin.readline)
    event.set()
    await asyncio.gather(*tasks)
if "uvloop" in sys.argv:
    import uvloop
    uvloop.run(main())
else:
    asyncio.run(main())
"""


def check_sums(process):
    """Check that a tick counts each task once."""
    tick = process.tick(lambda tick: tick["scan_created"] == tick["created"])
    assert tick["created"] + tick["since"] == tick["live"] + tick["ended"]
    return tick["created"]


@pytest.mark.real
@pytest.mark.parametrize(
    ("loop", "python"),
    [*[("asyncio", python) for python in EVERY.values()], ("uvloop", sys.executable)],
    ids=[*EVERY, "uvloop"],
)
def test_tasks_of_a_framework_belong_to_the_function_of_the_program_that_they_run(monitor, loop, python):
    program = monitor.start(PROGRAM, loop, python=python)
    process = monitor.process()
    orders = process.group("list_orders", live=32, created=32, moved=30, own=True)
    process.group("load", live=7, created=7, moved=7)
    process.group("run_asgi", live=0, created=10, ended=10, own=False)
    process.group("polls", live=5, created=5, moved=0)
    assert "task_seconds" not in orders  # what ends before a scan finds it is not among them
    assert check_sums(process) == 55
    process.send("waits", group=orders["group"])
    waits = process.wait("waits")
    assert (waits["looked"], [place["tasks"] for place in waits["waits"]]) == (32, [32])
    program.stdin.write("\n")
    program.stdin.flush()
    process.group("load", live=0, created=7, ended=7)
    process.group("list_orders", live=4, created=36, ended=32, moved=34)
    process.group("run_asgi", live=0, created=10, ended=10)
    assert check_sums(process) == 59
    finish(program)
    process.wait("end")


@pytest.mark.real
@pytest.mark.parametrize("asked", ["at start", "later"])
def test_tasks_are_grouped_by_their_names_if_that_is_asked_for(monitor, asked):
    options = ["by_name"] if asked == "at start" else []
    program = monitor.start(PROGRAM, "asyncio", python=NEWEST, options=options)
    process = monitor.process()
    if asked == "later":
        process.group("list_orders", live=32)
        process.apply("by_name", on=True)
        program.stdin.write("\n")
        program.stdin.flush()
        process.group("GET /orders/N", live=4, created=4)
        process.group("list_orders", live=0, created=32)
    else:
        process.group("GET /orders/N", live=30, created=30, own=False, file="")
        process.group("list_orders", live=2, created=2)
        process.group("load", live=7, created=7)
    check_sums(process)
    finish(program)


def test_what_differs_in_the_names_of_tasks_that_do_the_same_is_folded():
    names = {
        "Task-12": "",
        "Task handling GET /orders": "Task handling GET /orders",
        "worker-12": "worker-N",
        "conn 10.0.0.7:4711": "conn N.N.N.N:N",
        "job 3fa9c1d2-11ee-4b2a-9c1d-0123456789ab": "job N",
        "<Peer at 0x7f3a9c1d>": "<Peer at N>",
        "deadbeef": "deadbeef",
        "session 0a1b2c3d4e5f": "session N",
        "Task-x": "Task-x",
        "a\nb": "a?b",
    }
    assert {name: folded(name) for name in names} == names


def test_code_that_was_compiled_into_an_installed_package_is_not_the_programs_own(monkeypatch):
    for name, place in (("framework_x", "/env/site-packages/framework_x"), ("app_x", "/app/app_x")):
        package = types.ModuleType(name)
        package.__file__ = f"{place}/__init__.py"
        monkeypatch.setitem(sys.modules, name, package)
    assert not is_own("framework_x/_http/reader.pyx")
    assert not is_own("src/python/framework_x/aio/server.pyx.pxi")
    assert is_own("app_x/fast.pyx")
    assert is_own("<string>")


def test_the_script_that_python_was_started_with_is_the_programs_own_wherever_it_lies(monkeypatch):
    script, module = "/env/site-packages/tool_s/run.py", "/env/site-packages/tool_m/__main__.py"
    for file, spec, own in ((script, None, True), (module, object(), False)):
        main = types.ModuleType("__main__")
        main.__file__, main.__spec__ = file, spec
        monkeypatch.setitem(sys.modules, "__main__", main)
        assert is_own(file) is own
