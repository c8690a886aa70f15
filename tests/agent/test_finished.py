"""What holds finished tasks is named."""

import pytest

from tests.agent_driver import EVERY, eventually, finish

pytestmark = pytest.mark.real

PROGRAM = """
import asyncio, sys

class Cache:
    def __init__(self): self.tasks = {}

history, cache, waits = [], Cache(), asyncio.sleep

async def quote(): pass
async def price(): pass
async def job(): pass

class Job:
    def __init__(self): self.task = asyncio.ensure_future(job())

async def main():
    global jobs
    jobs = tuple(Job() for _ in range(20))
    for number in range(20):
        history.append(asyncio.ensure_future(quote()))
        cache.tasks[number] = asyncio.ensure_future(price())
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)

asyncio.run(main())
"""


def kept(process, name, count):
    """Return the report of a group if it has so many finished tasks."""
    group = process.last_report(name)
    return group if group and group.get("retained", group.get("kept")) == count else None


@pytest.mark.parametrize("python", EVERY.values(), ids=EVERY)
def test_the_container_or_attribute_that_holds_finished_tasks_is_named(monitor, python):
    program = monitor.start(PROGRAM, python=python)
    process = monitor.process()
    expected = {
        "quote": ("list", "history"),
        "price": ("dict", "Cache.tasks"),
        "job": ("", "Job.task"),
    }
    for name, (within, holder) in expected.items():
        number = eventually(lambda name=name: kept(process, name, 20), name)["group"]
        process.send("finished", group=number)
        answer = process.wait("finished", lambda report, number=number: report["group"] == number)
        assert (answer["looked"], answer["within"], answer["holders"][0]["name"]) == (3, within, holder)
        assert answer["holders"][0]["in"] == "__main__"
    process.send("finished", group=12_345)
    assert "12345" in process.wait("error", lambda error: error["command"] == "finished")["message"]
    finish(program)
