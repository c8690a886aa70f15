"""Errors of the agent itself: the program does not notice them, and the monitor is told, once a kind."""

import json
import sys

import pytest

from concwatch.portable.agent.basics.guard import MAX_KINDS, CaughtErrors
from tests.agent_driver import PATIENCE, eventually, finish, oldest_and_newest

pytestmark = pytest.mark.real

BREAKS = """
import json, os, sys, threading, time
def broken(*args, **kw):
    raise KeyError("a value of the program")
def break_it(name, path):
    *owners, attribute = path.split(".")
    target = sys.modules["_concwatch_agent." + name]
    for one in owners:
        target = getattr(target, one)
    setattr(target, attribute, broken)
def break_all():
    for name, path in json.loads(sys.argv[1]):
        break_it(name, path)
"""
"""Makes functions of the agent raise a `KeyError`."""

IN_ASYNCIO = (
    BREAKS
    + """
import asyncio, concurrent.futures
break_all()
errors = []
async def job(): await asyncio.sleep(0.01)
async def stays(): await asyncio.sleep(60)
async def main():
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda loop, context: errors.append(context["message"]))
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        assert pool.submit(int, "7").result() == 7
    for _ in range(3):
        await asyncio.gather(*[job() for _ in range(10)])
    assert await loop.run_in_executor(None, int, "8") == 8
    await loop.run_in_executor(None, asyncio.run, job())
    task = loop.create_task(job())
    loop.call_exception_handler({"message": "Task was destroyed but it is pending!", "task": task})
    await loop.run_in_executor(None, sys.stdin.readline)
    at = time.monotonic()
    while time.monotonic() < at + 0.5:  # a busy loop, too
        await asyncio.sleep(0)
    asyncio.create_task(stays())
asyncio.run(main())
print(errors)
"""
)

DOORS = {
    "program": [
        ("counting.grouping", "Grouping.counted_coro", "tasks"),
        ("hooking.executors", "creating_line", "executors"),
        ("hooking.left_over", "_pending", "leftover tasks"),
        ("counting.process_wide", "UnfinishedTasks.add_destroyed", "destroyed tasks"),
    ],
    "loops": [
        ("blocking.heartbeat", "Heartbeat._begin", "event loops"),
        ("hooking.left_over", "_known", "leftover tasks"),
    ],
    "figures": [
        ("blocking.heartbeat", "Heartbeat.lag", "event loops"),
        ("counting.scan", "Scan._update_groups", "live tasks"),
        ("sending.figures", "_is_socket", "open files"),
        ("counting.threads", "thread_label", "threads and executors"),
        ("sending.figures", "_by_name", "queues of executors"),
    ],
    "reports": [
        ("sending.scans", "task_fields", ""),
        ("blocking.blocks", "Blocks._find_loops", "blocked event loops"),
        ("blocking.blocks", "Blocks.finish", "the end of the process"),
    ],
    "step": [("sending.session", "AgentSession._count_and_report", "")],
    "commands": [("sending.connection", "Connection.commands", "answers to commands")],
}
"""Functions of the agent behind its doors, and the figures that depend on them."""


def start(monitor, text, doors, python):
    """Start a program in which functions are broken."""
    monitor.expects_errors = True
    return monitor.start(text, json.dumps([door[:2] for door in doors]), python=python)


def told(process, doors):
    """Wait until errors have been told that concern the figures of ``doors``; return the last report."""
    wanted = {figures for _, _, figures in doors}
    return process.wait(
        "agent_errors", lambda report: wanted <= {kind["figures"] for kind in report["kinds"]}
    )


def check(process):
    """Check what was told in all: types and lines, but no values, and each kind once in a report."""
    last = process.all("agent_errors")[-1]
    assert last["total"] == sum(kind["count"] for kind in last["kinds"])
    assert {kind["error"] for kind in last["kinds"]} == {"KeyError"}
    assert all(kind["where"].startswith("concwatch/portable/agent/") for kind in last["kinds"])
    assert len({json.dumps({**kind, "count": 0}) for kind in last["kinds"]}) == len(last["kinds"])
    assert "a value of the program" not in str(process.messages)


@oldest_and_newest
@pytest.mark.parametrize("part", DOORS)
def test_an_error_behind_a_door_is_told_and_the_program_does_not_notice(monitor, python, part):
    doors = DOORS[part]
    program = start(monitor, IN_ASYNCIO, doors, python)
    process = monitor.process()
    at_once = [door for door in doors if door[2] != "the end of the process" and part != "loops"]
    told(process, at_once)
    program.stdin.write("\n")
    assert finish(program) == "['Task was destroyed but it is pending!']\n"
    told(process, doors)
    check(process)


IN_TRIO = (
    BREAKS
    + """
import trio
break_all()
async def job(): await trio.sleep(0.01)
async def main():
    for _ in range(3):
        async with trio.open_nursery() as nursery:
            for _ in range(10): nursery.start_soon(job)
    await trio.to_thread.run_sync(sys.stdin.readline)
trio.run(main)
print("ended")
"""
)

IN_GEVENT = (
    BREAKS
    + """
import gevent
break_all()
assert [one.get() for one in [gevent.spawn(int, "7") for _ in range(10)]] == [7] * 10
gevent.get_hub().threadpool.apply(sys.stdin.readline)
gevent.spawn(gevent.sleep).join()
print("ended")
"""
)


@pytest.mark.parametrize(
    ("framework", "text", "doors"),
    [
        ("trio", IN_TRIO, [("counting.grouping", "Grouping.group_of", "tasks")]),
        ("trio", IN_TRIO, [("blocking.heartbeat", "Heartbeat._begin", "event loops")]),
        ("gevent", IN_GEVENT, [("hooking.greenlets", "key_of_greenlet", "greenlets")]),
    ],
)
def test_an_error_in_another_framework_is_told(monitor, framework, text, doors):
    pytest.importorskip(framework)
    program = start(monitor, text, doors, sys.executable)
    process = monitor.process()
    told(process, doors)
    program.stdin.write("\n")
    assert finish(program) == "ended\n"
    check(process)


ENDS = (
    BREAKS
    + """
import asyncio
async def main(): await asyncio.sleep(0)
asyncio.run(main())
break_all()
child = os.fork()
if not child:
    print("child", flush=True)
    os._exit(0)
os.waitpid(child, 0)
print("ended", flush=True)
"""
)


@oldest_and_newest
@pytest.mark.parametrize(
    ("where", "what"),
    [
        ("sending.reporter", "AgentThread.reset"),
        ("sending.reporter", "AgentReporter._begin"),
        ("sending.session", "AgentSession.finish"),
        ("sending.scans", "HOOKS.remove"),
    ],
)
def test_a_program_forks_and_exits_although_its_agent_cannot(monitor, python, where, what):
    program = start(monitor, ENDS, [(where, what, "")], python)
    assert finish(program) == "child\nended\n"


LAZY = (
    BREAKS
    + """
import _concwatch_agent.sending.reporter
_concwatch_agent.sending.reporter.start = broken
thread = threading.Thread(target=print, args=("started",))
thread.start()
thread.join()
"""
)


@oldest_and_newest
def test_an_agent_that_cannot_be_loaded_is_told_and_the_thread_starts(monitor, python):
    program = start(monitor, LAZY, [], python)
    assert finish(program) == "started\n"

    def kinds():
        reports = [report for process in monitor.announced for report in process.all("agent_errors")]
        return [(one["error"], one["figures"]) for report in reports for one in report["kinds"]]

    assert eventually(kinds, "error of the agent") == [("KeyError", "")]


DEEP = """
import asyncio, sys
sys.setrecursionlimit(400)
async def job(): pass
async def main():
    async def at(depth):  # with room for creating a task, but not for all that the agent does
        if depth: return await at(depth - 1)
        return asyncio.get_running_loop().create_task(job())
    made = failed = 0
    for depth in range(300, 400):
        try:
            await (await at(depth))
            made += 1
        except RecursionError:
            failed += 1
    print(made + failed, failed > 0)
asyncio.run(main())
"""


@oldest_and_newest
def test_there_is_no_room_on_the_stack_for_a_guard(monitor, python):
    monitor.expects_errors = True  # of the stack
    program = monitor.start(DEEP, python=python)
    output, _ = program.communicate(timeout=PATIENCE)  # that tasks were destroyed is on standard error
    assert (program.returncode, output) == (0, "100 True\n")


ALARM = """
import _signal, asyncio, signal
import _concwatch_agent.hooking.executors
class Alarm(Exception): pass
def ring(number, frame):
    raise Alarm
signal.signal(4, ring)
_concwatch_agent.hooking.executors.creating_line = _signal.raise_signal  # of signal 4, which is its argument
from concurrent.futures import ThreadPoolExecutor
try:
    ThreadPoolExecutor(1)
    print("lost")
except Alarm:
    print("raised")
async def main(): await asyncio.sleep(0)
asyncio.run(main())
"""


@oldest_and_newest
def test_what_a_signal_handler_raises_in_the_agent_is_the_programs(monitor, python):
    program = monitor.start(ALARM, python=python)
    assert finish(program) == "raised\n"
    assert monitor.process().wait("end")
    assert monitor.process().all("agent_errors")[-1]["total"] == 0


def test_errors_of_many_kinds_are_counted_and_the_first_are_listed():
    errors = CaughtErrors()
    for number in range(MAX_KINDS + 5):
        for _ in range(2):
            try:
                raise type(f"Error{number}", (Exception,), {})
            except Exception:
                errors.add("tasks")
    assert errors.changed
    report = errors.report()
    assert not errors.changed
    assert report["total"] == 2 * (MAX_KINDS + 5)
    assert [one["error"] for one in report["kinds"]] == [f"Error{number}" for number in range(MAX_KINDS)]
    assert {one["count"] for one in report["kinds"]} == {2}
