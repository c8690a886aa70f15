"""Executors that are not shut down are counted by the line that created them."""

import pytest

from tests.agent_driver import eventually, finish, oldest_and_newest

pytestmark = pytest.mark.real

PROGRAM = """
import asyncio, gc, sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing.pool import ThreadPool
def request():
    executor = ThreadPoolExecutor(2)
    executor.submit(len, "").result()
    return executor
class Own(ThreadPoolExecutor):
    def __init__(self, threads):
        super().__init__(threads)
async def use_default():
    await asyncio.get_running_loop().run_in_executor(None, len, "")
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
kept = [request() for _ in range(7)]
with ThreadPoolExecutor(1): pass
request().shutdown()
kept += [ProcessPoolExecutor(1), ThreadPool(3), Own(1)]
ThreadPoolExecutor(1)
try: ThreadPoolExecutor(0)
except ValueError as error: assert len(error.__traceback__.tb_frame.f_code.co_filename) > 0
ThreadPool(1).terminate()
gc.collect()
asyncio.run(use_default())
kept[8].terminate()
"""

FOUND = {
    ("ThreadPoolExecutor", "request"): (7, 7, 8),
    ("ProcessPoolExecutor", "<module>"): (1, 0, 1),
    ("ThreadPool", "<module>"): (1, 3, 1),
    ("Own", "Own.__init__"): (1, 0, 1),
    ("ThreadPoolExecutor", "use_default"): (1, 1, 1),
}


@oldest_and_newest
def test_executors_are_counted_until_they_are_shut_down_or_gone(monitor, python):
    program = monitor.start(PROGRAM, python=python)
    process = monitor.process()

    def read():
        lines = [tick["executor_lines"] for tick in process.all("tick") if "executor_lines" in tick]
        return lines[-1] if lines else []

    def counted():
        names = [(one["name"], one["in"].replace("Own.", "")) for one in read()]
        counts = [(one["count"], one["workers"], one["created"]) for one in read()]
        return dict(zip(names, counts, strict=False))

    expected = {(name, function.replace("Own.", "")): counts for (name, function), counts in FOUND.items()}
    eventually(lambda: counted() == expected, f"{expected}; last {counted()}")
    assert {one["line"].rpartition(":")[2] for one in read() if one["in"] == "request"} == {"6"}
    finish(program)
