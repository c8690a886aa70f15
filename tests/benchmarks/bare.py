"""The references: scripts as anybody would write them, each run in a process of its own."""

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

import psutil

from .figures import PYTHON, ROOT, environment

SETTLE = 0.5
"""Seconds between a change and the look at a process's memory."""

CREATE = """
import asyncio, os, time

async def one():
    await asyncio.sleep(600)

async def main():
    began = time.perf_counter()
    tasks = [asyncio.create_task({coroutine}) for _ in range({tasks})]
    await asyncio.sleep(0)
    print({tasks} / (time.perf_counter() - began), flush=True)
    os._exit(0)

asyncio.run(main())
"""

ASYNCIO_TASKS = """
import asyncio, sys

async def main():
    print(flush=True)
    sys.stdin.readline()
    for _ in range({tasks}):  # the loop's timers keep them
        asyncio.create_task(asyncio.sleep(600))
    await asyncio.sleep(0)
    print(flush=True)
    await asyncio.sleep(600)

asyncio.run(main())
"""

UVLOOP_TASKS = """
import asyncio, sys, uvloop

async def main():
    print(flush=True)
    sys.stdin.readline()
    for _ in range({tasks}):  # the loop's timers keep them
        asyncio.create_task(asyncio.sleep(600))
    await asyncio.sleep(0)
    print(flush=True)
    await asyncio.sleep(600)

with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
    runner.run(main())
"""

THREADS = """
import sys, threading, time

print(flush=True)
sys.stdin.readline()
threads = [threading.Thread(target=time.sleep, args=(600,), daemon=True) for _ in range({tasks})]
for thread in threads:
    thread.start()
print(flush=True)
time.sleep(600)
"""

HOLDING = {"asyncio": ASYNCIO_TASKS, "uvloop": UVLOOP_TASKS, "threads": THREADS}
"""By engine: says a line, waits for one, starts its tasks, says a line, and holds them."""

SPINNING_THREADS = """
import os, threading, time

def spin():
    end = time.thread_time() + 0.01
    while time.thread_time() < end:
        pass

def starter():
    for _ in range({tasks}):
        thread = threading.Thread(target=spin)
        thread.start()
        thread.join()

starters = [threading.Thread(target=starter) for _ in range({live})]
before = time.process_time()
for thread in starters:
    thread.start()
for thread in starters:
    thread.join()
print((time.process_time() - before) / ({live} * {tasks}))
"""

IDLE = {
    "threads": "import threading, time; print(flush=True); time.sleep(600)",
    "pool": "import time; from concurrent.futures import ThreadPoolExecutor; pool = ThreadPoolExecutor(); "
    "print(flush=True); time.sleep(600)",
    "asyncio": "import asyncio\nasync def main():\n    print(flush=True)\n    await asyncio.sleep(600)\n"
    "asyncio.run(main())",
    "uvloop": "import asyncio, uvloop\n"
    "async def main():\n    print(flush=True)\n    await asyncio.sleep(600)\n"
    "with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:\n    runner.run(main())",
}
"""By engine: an interpreter that has imported it, runs its loop, says a line, and does nothing."""


def create_rate(tasks: int, coroutine: str, collect: bool = True) -> float:
    """Return asyncio tasks created and started a second by a list of ``create_task`` and a ``sleep(0)``."""
    script = CREATE.format(tasks=tasks, coroutine=coroutine)
    if not collect:
        script = f"import gc\ngc.disable()\n{script}"
    done = subprocess.run(
        [PYTHON, "-c", script], env=environment(), cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True
    )
    return float(done.stdout)


def cpu_per_thread(live: int, tasks: int) -> float:
    """Return the seconds of CPU of a thread that spins for 10 ms: ``live`` at a time, ``tasks`` in turn."""
    script = SPINNING_THREADS.format(live=live, tasks=tasks)
    done = subprocess.run(
        [PYTHON, "-c", script], env=environment(), cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True
    )
    return float(done.stdout)


@contextmanager
def _running(script: str) -> Iterator[tuple["subprocess.Popen[str]", psutil.Process]]:
    process = subprocess.Popen(
        [PYTHON, "-c", script],
        env=environment(),
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(SETTLE)
            yield process, psutil.Process(process.pid)
        finally:
            process.kill()


def idle_rss(engine: str) -> float:
    """Return the RSS in bytes of an interpreter in which ``engine`` stands idle."""
    with _running(IDLE[engine]) as (_, process):
        return float(process.memory_info().rss)


def rss_per_task(engine: str, tasks: int) -> float:
    """Return the bytes of RSS that each of ``tasks`` sleeping tasks adds."""
    with _running(HOLDING[engine].format(tasks=tasks)) as (script, process):
        before = process.memory_info().rss
        assert script.stdin is not None
        assert script.stdout is not None
        script.stdin.write("\n")
        script.stdin.flush()
        script.stdout.readline()
        time.sleep(SETTLE)
        return (process.memory_info().rss - before) / tasks
