"""Tasks are counted under the function that their owner wrote."""

import pytest

from tests.agent_driver import EVERY, finish

pytestmark = pytest.mark.real


DECORATED = """
import asyncio, functools, sys
def retry(function):
    @functools.wraps(function)
    async def wrapper(*args):
        return await function(*args)
    return wrapper
def traced(name):
    def decorate(function):
        @functools.wraps(function)
        async def inner(*args):
            return await function(*args)
        return inner
    return decorate
@retry
async def fetch(): await asyncio.sleep(600)
@traced("store")
@retry
async def store(): await asyncio.sleep(600)
class Client:
    @retry
    async def get(self): await asyncio.sleep(600)
@retry
async def quick(): await asyncio.sleep(0)
async def main():
    tasks = [asyncio.ensure_future(one()) for one in (fetch, store, Client().get) for _ in range(5)]
    await asyncio.gather(*[quick() for _ in range(500)])
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
asyncio.run(main())
"""

LINES = {line: number for number, line in enumerate(DECORATED.splitlines(), 1)}


@pytest.mark.parametrize("python", EVERY.values(), ids=EVERY)
def test_decorated_functions_are_named_by_what_they_wrap(monitor, python):
    program = monitor.start(DECORATED, python=python)
    process = monitor.process()
    for name in ("fetch", "store"):
        group = process.group(name, created=5, live=5)
        above = LINES[f"async def {name}(): await asyncio.sleep(600)"]
        assert group["line"] in range(above - 2, above + 1)  # of the function, or of its decorators
    assert process.group("get", created=5, live=5)["name"] in ("get", "Client.get")
    process.group("quick", created=500, live=0)
    assert process.last_report("wrapper") is None
    assert process.last_report("inner") is None
    finish(program)
