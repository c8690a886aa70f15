"""Tasks that wait for each other are reported; those that only wait for others are not."""

import pytest

from tests.agent_driver import Monitor, finish, oldest_and_newest

pytestmark = pytest.mark.real

PROGRAM = """
import asyncio, sys
async def first(tasks): await tasks["second"]
async def second(tasks): await asyncio.gather(tasks["third"], asyncio.sleep(600))
async def third(tasks): await tasks["first"]
async def left(one, other):
    async with one:
        await asyncio.sleep(0.1)
        async with other: pass
async def right(one, other):
    async with other:
        await asyncio.sleep(0.1)
        async with one: pass
async def limited(tasks): await asyncio.wait_for(asyncio.shield(tasks["unlimited"]), 600)
async def unlimited(tasks): await tasks["limited"]
async def child(): await asyncio.sleep(600)
async def parent(): await asyncio.gather(child(), child())
OTHERS_MODULE = '''
import asyncio
async def serve(connections): await asyncio.get_running_loop().create_future()
'''  # of a server that has a module of that name
exec(compile(OTHERS_MODULE, "/env/site-packages/server/asyncio/run.py", "exec"))
async def main():
    tasks, one, other = {}, asyncio.Lock(), asyncio.Lock()
    connections = set()
    connections |= {asyncio.ensure_future(serve(connections)) for _ in range(3)}
    for function in (first, second, third, limited, unlimited):
        tasks[function.__name__] = asyncio.ensure_future(function(tasks))
    others = [left(one, other), right(one, other), parent(), parent()]
    others = [asyncio.ensure_future(each) for each in others]
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    import os
    os._exit(0)
asyncio.run(main())
"""


@oldest_and_newest
def test_tasks_that_wait_for_each_other_are_reported_once(python):
    with Monitor() as monitor:
        program = monitor.start(PROGRAM, python=python)
        process = monitor.process()
        process.wait("cycle", lambda _: len(process.all("cycle")) == 2)
        found = {frozenset(task["in"] for task in cycle["tasks"]) for cycle in process.all("cycle")}
        assert found == {frozenset(("first", "second", "third")), frozenset(("left", "right"))}
        awaited = {task["in"]: task["on"] for cycle in process.all("cycle") for task in cycle["tasks"]}
        assert (awaited["first"], awaited["second"], awaited["left"]) == ("second", "gather", "Lock")
        process.tick()
        assert len(process.all("cycle")) == 2
        finish(program)
