"""What lasts is reported while it lasts: deadlocks of threads and shutdowns; and the last block of a loop."""

import os
import signal

import pytest

from tests.agent_driver import eventually, finish, kept_waiting, oldest_and_newest, unexplained_blocks

pytestmark = pytest.mark.real

DEADLOCKS = """
import sys, threading, time
a, b, again = threading.Lock(), threading.Lock(), threading.Lock()
class Account:
    def __init__(self): self.lock = threading.RLock()
    def transfer(self, other, ready):
        with self.lock:
            ready.wait()
            other.lock.acquire()
            other.lock.release()
def left(ready):
    with a:
        ready.wait()
        with b: pass
def right(ready):
    b.acquire()
    try:
        ready.wait()
        with a: pass
    finally:
        b.release()
def twice():
    with again:
        try:
            with again: pass
        except ValueError:
            pass
class Bank:
    def __init__(self): self.locks = {name: threading.RLock() for name in "xyz"}
    def transfer(self, source, target, ready):
        with self.locks[source]:
            ready.wait()
            with self.locks[target]: pass
forks = [threading.Lock() for _ in range(4)]
def dine(seat, ready):
    with forks[seat]:
        ready.wait()
        with forks[(seat + 1) % 4]: pass
def walks(ready):  # holds the last one, whatever ``number`` is now
    for number in range(2):
        with spare[number]:
            number = 2
            try:
                ready.wait()
                with spare[2]: pass
            except ValueError: pass
spare = [threading.Lock() for _ in range(3)]
def waits(event):  # for a lock that nobody gives back, which is no deadlock
    with event._cond: pass
def queue(items): items.get()
import queue as queues
one, other, items = Account(), Account(), queues.Queue()
for functions in ([left, right], [one.transfer, other.transfer]):
    ready = threading.Barrier(2)
    for index, function in enumerate(functions):
        arguments = (ready,) if function in (left, right) else ((other, one)[index], ready)
        threading.Thread(target=function, args=arguments, daemon=True).start()
threading.Thread(target=twice, daemon=True).start()
bank, ready = Bank(), threading.Barrier(2)
for source, target in ("xz", "zx"):
    threading.Thread(target=bank.transfer, args=(source, target, ready), daemon=True).start()
ready = threading.Barrier(4)
for seat in range(4):
    threading.Thread(target=dine, args=(seat, ready), daemon=True).start()
spare[2].acquire()
threading.Thread(target=walks, args=(threading.Barrier(1),), daemon=True).start()
event = threading.Event()
event._cond.acquire()
threading.Thread(target=waits, args=(event,), daemon=True).start()
threading.Thread(target=queue, args=(items,), daemon=True).start()
sys.stdin.read()
"""


def line_of(program, text):
    """Return the number of the line with a text."""
    return next(number for number, line in enumerate(program.splitlines(), 1) if text in line)


@oldest_and_newest
def test_threads_that_wait_for_each_others_locks_are_reported(monitor, python):
    program = monitor.start(DEADLOCKS, python=python)
    process = monitor.process()

    def found():
        return {
            tuple(sorted((place["where"].rpartition(":")[2], place["on"]) for place in report["places"]))
            for report in process.all("lasting")
            if report["kind"] == "deadlock" and not report["ended"]
        }

    eventually(lambda: len(found()) == 5, "five deadlocks")
    lines = [line_of(DEADLOCKS, text) for text in ("with b: pass", "with a: pass", "other.lock.acquire")]
    bank, table = "self.locks[target]", "forks[(seat + 1) % 4]"
    assert found() == {
        tuple(sorted(((str(lines[0]), "b"), (str(lines[1]), "a")))),
        ((str(lines[2]), "other.lock"),) * 2,
        ((str(line_of(DEADLOCKS, "with again: pass")), "again"),),
        ((str(line_of(DEADLOCKS, f"with {bank}: pass")), bank),) * 2,
        ((str(line_of(DEADLOCKS, f"with {table}: pass")), table),) * 4,
    }
    finish(program)
    process.wait("end")
    assert {report["number"] for report in process.all("lasting") if report["ended"]} == {1, 2, 3, 4, 5}


SHUTDOWN = """
import asyncio, sys
async def stubborn(event):
    while True:
        try:
            await event.wait()
            return
        except asyncio.CancelledError:
            pass
async def main():
    global loop, event
    loop, event = asyncio.get_running_loop(), asyncio.Event()
    asyncio.create_task(stubborn(event))
    await asyncio.sleep(0.3)
import threading
def release():
    sys.stdin.readline()
    loop.call_soon_threadsafe(event.set)
threading.Thread(target=release).start()
{run}
sys.stdin.read()
"""


@oldest_and_newest
def test_a_task_that_does_not_end_when_its_loop_does_is_reported(monitor, python):
    program = monitor.start(SHUTDOWN.format(run="asyncio.run(main())"), python=python)
    check_shutdown(monitor, program)


def test_a_task_that_does_not_end_on_uvloop_is_reported(monitor):
    program = monitor.start(SHUTDOWN.format(run="import uvloop; uvloop.run(main())"))
    check_shutdown(monitor, program)


def check_shutdown(monitor, program):
    process = monitor.process()
    report = process.wait("lasting", lambda report: report["seconds"] >= 2)
    (place,) = report["places"]
    assert (report["kind"], report["ended"], place["in"], place["on"], place["tasks"]) == (
        "shutdown",
        False,
        "stubborn",
        "Event.wait",
        1,
    )
    assert place["where"].endswith("program.py:6")
    program.stdin.write("\n")
    program.stdin.flush()
    process.wait("lasting", lambda report: report["ended"])
    finish(program)


FORKS_IN_SHUTDOWN = """
import asyncio, os, sys
async def stubborn():
    try:
        await asyncio.sleep(600)
    finally:
        if not os.fork():
            sys.stdin.read()
            os._exit(0)
        await asyncio.sleep(600)
async def main():
    asyncio.create_task(stubborn())
    await asyncio.sleep(0.3)
asyncio.run(main())
"""


@oldest_and_newest
def test_a_child_forked_during_a_shutdown_does_not_report_it(monitor, python):
    monitor.start(FORKS_IN_SHUTDOWN, python=python)
    monitor.process(1)
    parent = next(one for one in monitor.processes if one.ready["pid"] == monitor.programs[0].pid)
    child = next(one for one in monitor.processes if one is not parent)
    parent.wait("lasting", lambda report: report["seconds"] >= 4)
    child.tick(lambda tick: tick["time"] >= child.ready["started"] + 4)
    assert child.all("lasting") == []


LAST = """
import sys, time
def save(): time.sleep(0.5)
async def main(sleep):
    await sleep(0.4)
    save()
{run}
{then}
"""

ASYNCIO = "import asyncio; asyncio.run(main(asyncio.sleep))"
WAYS = {
    "asyncio": ASYNCIO,
    "a loop that is closed": (
        "import asyncio; loop = asyncio.new_event_loop(); loop.run_until_complete(main(asyncio.sleep)); "
        "loop.close()"
    ),
    "uvloop": "import asyncio, uvloop; uvloop.run(main(asyncio.sleep))",
    "trio": "import trio; trio.run(main, trio.sleep)",
}


def check_last_block(program, process):
    blocks = process.wait("block", lambda block: block["ended"] and block["seconds"] >= 0.4)
    if blocks["cause"] == "code":  # on a busy machine, it may have waited for a processor instead
        assert blocks["stack"][blocks["own"][0]]["in"] == "save"
        assert blocks["seconds"] < 0.9
    ended = [block["block"] for block in process.all("block") if block["ended"]]
    assert len(ended) == len(set(ended))
    finish(program)


@pytest.mark.parametrize("then", ["", "sys.stdin.read()"], ids=["ends", "goes on"])
@pytest.mark.parametrize("way", WAYS)
def test_the_last_block_of_a_loop_is_reported(monitor, way, then):
    program = monitor.start(LAST.format(run=WAYS[way], then=then))
    check_last_block(program, monitor.process())


@oldest_and_newest
def test_the_last_block_of_a_loop_is_reported_on_every_python(monitor, python):
    program = monitor.start(LAST.format(run=ASYNCIO, then=""), python=python)
    check_last_block(program, monitor.process())


def test_the_last_block_of_a_main_coroutine_that_exits_is_reported(monitor):
    text = LAST.format(run=ASYNCIO, then="").replace("    save()\n", "    save()\n    sys.exit(0)\n")
    program = monitor.start(text)
    check_last_block(program, monitor.process())


AGAIN = """
import asyncio, sys, time
def crunch(): time.sleep(0.5)
async def idle(): await asyncio.sleep(0.2)
async def busy(): crunch()
loop = asyncio.new_event_loop()
loop.run_until_complete(idle())
time.sleep(0.6)  # no loop runs meanwhile
loop.run_until_complete(idle())
loop.run_until_complete(busy())
loop.close()
sys.stdin.read()
"""


def test_between_two_runs_a_loop_is_not_blocked(monitor):
    program = monitor.start(AGAIN)
    process = monitor.process()
    process.wait("block", lambda block: "crunch" in str(block.get("stack")) or block["cause"] == "stopped")
    finish(program)
    process.wait("end")
    blocks = [block for block in process.all("block") if block["cause"] == "code"]
    assert {block["stack"][block["own"][0]]["in"] for block in blocks} <= {"crunch"}


LASTING = """
import asyncio, queue, sys, threading
items = queue.Queue()
async def sync_queue():
    await asyncio.sleep(0.3)
    items.get()
threading.Thread(target=lambda: items.put(sys.stdin.readline())).start()
asyncio.run(sync_queue())
sys.stdin.read()
"""


@oldest_and_newest
def test_a_block_is_reported_each_second_while_it_lasts_and_ends_once(monitor, python):
    program = monitor.start(LASTING, python=python)
    process = monitor.process()
    number = process.wait("block", lambda block: not block["ended"] and block["seconds"] >= 2)["block"]
    program.stdin.write("\n")
    program.stdin.flush()
    process.wait("block", lambda block: block["ended"] and block["block"] == number)
    waited = kept_waiting(process)
    finish(program)
    process.wait("end")
    assert {block["block"] for block in process.all("block")} == set(range(1, number + 1))
    blocks = unexplained_blocks(process, waited)
    assert [block["block"] for block in blocks] == [number] * len(blocks)
    assert [block["ended"] for block in blocks] == [False] * (len(blocks) - 1) + [True]
    code = [block for block in blocks if block["cause"] == "code"]
    assert {block["stack"][block["own"][0]]["in"] for block in code} == {"sync_queue"}


def test_a_block_ends_with_the_process(monitor):
    exits = "import signal; signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))\nasyncio.run"
    program = monitor.start(LASTING.replace("asyncio.run", exits))
    process = monitor.process()
    process.wait("block", lambda block: block["seconds"] >= 1)
    os.kill(program.pid, signal.SIGTERM)
    process.wait("block", lambda block: block["ended"])
    finish(program)


HOLDS = """
import asyncio, re, sys
def validate(text): return re.match(r"(a+)+$", text)
async def main():
    print("ready", flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)
    validate("a" * 20 + "b")
asyncio.run(main())
"""


@oldest_and_newest
def test_a_signal_makes_a_process_write_its_stack_and_changes_nothing_else(monitor, python):
    program = monitor.start(HOLDS, python=python)
    process = monitor.process()
    number = process.tick(lambda tick: tick.get("stack_signal"))["stack_signal"]
    assert program.stdout.readline() == "ready\n"

    def stack():
        os.kill(program.pid, number)  # again: a thread that is just starting may get the first one
        return " in <module>" in process.text

    eventually(stack, "stack")
    process.tick()
    program.stdin.write("\n")
    finish(program)


def test_the_handler_of_that_signal_is_removed_with_the_agent(monitor):
    program = monitor.start("import asyncio, sys, concwatch.portable.agent\nsys.stdin.read()")
    process = monitor.process()
    bit = 1 << (process.tick(lambda tick: tick.get("stack_signal"))["stack_signal"] - 1)

    def is_caught():
        with open(f"/proc/{program.pid}/status") as status:
            (line,) = [line for line in status if line.startswith("SigCgt:")]
        return bool(int(line.split()[1], 16) & bit)

    assert is_caught()
    process.send("detach")
    eventually(lambda: not is_caught(), "end of the handler")
    finish(program)
