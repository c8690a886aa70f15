"""Worker processes: their output, commands, memory and end."""

import asyncio
import json
import os
import select
import signal
import sys
import time

import psutil
import pytest

from concwatch.commands.basics.lab import open_process
from concwatch.links.link import Ended, Flood, Garbage, Noise
from concwatch.links.messages import Applied, Error, Ready, Tick
from concwatch.links.output import NOISE_KEPT
from concwatch.links.pipe_bytes import MAX_LINES
from concwatch.links.process import WorkerProcess
from concwatch.portable.agent.sending.json_lines import LONGEST_LINE
from concwatch.portable.machine.spawn import NICENESS
from concwatch.system.child import describe_exit
from tests.host_driver import Remote, eventually
from tests.lab_driver import ENGINES

pytestmark = pytest.mark.real

BEFORE = "import json, os, sys, time\ndef send(**fields): print(json.dumps(fields), flush=True)\n"


@pytest.fixture
async def run():
    """Starts children from a few lines of Python; kills them after the test."""
    children = []

    def start(script=None, engine=None, command=None):
        link = (
            open_process(ENGINES[engine])
            if engine
            else WorkerProcess(command or [sys.executable, "-c", BEFORE + script])
        )
        children.append(Remote(link))
        return children[-1]

    yield start
    for child in children:
        child.link.kill()
        await child.end()


ONE = "one = json.dumps(dict(type='applied', command='gc', seconds=1))\n"
LONG = "a line longer than 1,048,576 bytes"
WRITTEN = {
    "in pieces": (ONE + "for char in one + '\\n': os.write(1, char.encode()); time.sleep(0.002)", 1, []),
    "two and the start of a third": (
        ONE + "os.write(1, (one + '\\n\\n  \\n' + one + '\\n' + one[:9]).encode())",
        2,
        ["""ended in the middle of a line: '{"type": '"""],
    ),
    "after a line over the limit": (
        ONE + f"sys.stdout.write('x' * {LONGEST_LINE} + 'y' * {2 * LONGEST_LINE} + '\\n' + one + '\\n')",
        1,
        [LONG],
    ),
    "after garbage": (
        ONE + "os.write(1, b'hello\\n\\xff\\xfe\\x00\\n[1,2]\\n' + b'[' * 100_000 + b'\\n')\n"
        "send(type='tick'); send(type='news', text='later'); os.write(1, (one + '\\n').encode())",
        1,
        ["not a line of the wire: 'hello'", *["not a line of the wire: "] * 4],
    ),
}


@pytest.mark.parametrize("how", WRITTEN)
async def test_lines_are_read_in_any_chunks_and_garbage_is_reported(run, how):
    script, reports, garbage = WRITTEN[how]
    child = run(script)
    assert (await child.end()).reason == "exited with status 0"
    assert child.all(Applied) == [Applied("gc", 1)] * reports
    messages = [item.message for item in child.all(Garbage)]
    assert [message[: len(start)] for message, start in zip(messages, garbage, strict=True)] == garbage
    assert all(len(message) < 400 for message in messages)


async def test_many_reports_are_returned_in_batches_and_none_is_lost(run):
    count = 20 * MAX_LINES
    child = run(f"for n in range({count}): send(type='error', message=str(n))\nsys.stdin.read()")
    while len(child.all(Error)) < count:
        batch = child.link.arrivals(time.monotonic())
        assert sum(isinstance(message, Error) for message in batch) <= MAX_LINES
        child.received += batch
        await asyncio.sleep(0.005)
    assert [int(error.message) for error in child.all(Error)] == list(range(count))
    assert not child.all(Garbage)


async def test_output_that_is_not_read_blocks_the_worker_and_uses_little_memory(run):
    child = run("line = 'x' * 1000 + '\\n'\nwhile True: sys.stdout.write(line)")
    before = psutil.Process().memory_info().rss
    await eventually(lambda: child.link._paused)
    await asyncio.sleep(0.1)
    assert psutil.Process().memory_info().rss - before < 20 << 20
    assert await child.receive(Flood) == Flood("sends faster than it is read: it has to wait")


async def test_output_is_read_when_it_is_polled(run):
    child = run("for line in sys.stdin: send(type='error', message=line.strip())")
    child.link.send("target", tasks=0)
    await child.until(lambda: child.all(Error))
    for number in (1, 2):
        child.link.send("target", tasks=number)
    waiting = child.link._polled.get_extra_info("pipe")
    await eventually(lambda: select.select([waiting], [], [], 0)[0])
    await asyncio.sleep(0)
    assert not child.link._lines.waiting
    await child.until(lambda: len(child.all(Error)) == 3)
    assert [json.loads(item.message)["tasks"] for item in child.all(Error)] == [0, 1, 2]


async def test_standard_error_is_truncated_and_its_last_line_is_the_reason(run):
    child = run("sys.stderr.write('first line\\n' + 'x' * 200_000 + '\\nlast line\\n'); sys.exit(3)")
    assert (await child.end()).reason == "exited with status 3: last line"
    noise = child.all(Noise)
    assert noise[0].text.startswith("first line\n")
    assert all(len(item.text) <= NOISE_KEPT for item in noise)


async def test_an_end_by_a_signal_is_reported_with_its_name_or_number(run):
    child = run("import resource; resource.setrlimit(resource.RLIMIT_CORE, (0, 0))\n"
                "os.kill(os.getpid(), 11)")  # fmt: skip
    assert (await child.end()).reason == "killed by SIGSEGV"
    assert isinstance(child.received[-1], Ended)
    assert describe_exit(-63) == "killed by signal 63"


async def test_a_missing_program_ends_with_the_reason(run):
    child = run(command=["/no/such/program"])
    reason = (await child.end()).reason
    assert reason.startswith("could not be started: ")
    assert "No such file" in reason
    child.link.send("target", tasks=1)
    assert child.link.reading() is None


async def test_commands_sent_before_the_start_arrive_in_order(run):
    killed = run("time.sleep(1000)")
    killed.link.send("target", tasks=1)
    killed.link.kill()
    assert (await killed.end()).reason == "killed by SIGKILL"
    child = run("for line in sys.stdin: send(type='error', message=line.strip())")
    for number in range(3):
        child.link.send("target", tasks=number)
    await child.until(lambda: len(child.all(Error)) == 3)
    assert [json.loads(item.message) for item in child.all(Error)] == [
        {"type": "target", "tasks": number} for number in range(3)
    ]


async def test_sending_to_a_worker_that_closed_its_input_or_ended_is_ignored(run):
    child = run("os.close(0); send(type='error', message='closed'); time.sleep(0.1)")
    await child.until(lambda: child.all(Error))
    for _ in range(20):
        child.link.send("target", tasks=1)
        await asyncio.sleep(0)
    await child.end()
    child.link.send("target", tasks=1)
    child.link.kill()


async def test_a_grandchild_that_keeps_the_pipes_open_does_not_delay_the_end(run):
    child = run(
        "import subprocess\n"
        "p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        "send(type='error', message=str(p.pid))\n"
    )
    try:
        assert (await child.end()).reason == "exited with status 0"
    finally:
        (error,) = child.all(Error)
        os.kill(int(error.message), signal.SIGKILL)


async def test_memory_and_threads_of_a_real_worker_are_read_until_it_is_killed(run):
    child = run(engine="asyncio")
    child.link.send("target", tasks=200)
    await child.until(lambda: any(tick.live == 200 for tick in child.all(Tick)))
    (ready,) = child.all(Ready)
    reading = child.link.reading()
    process = psutil.Process(ready.pid)
    assert reading.rss == pytest.approx(process.memory_info().rss, rel=0.2)
    assert reading.threads == process.num_threads()
    assert reading.peak_rss >= reading.rss
    nice = {os.getpriority(os.PRIO_PROCESS, thread.id) for thread in process.threads()}
    assert nice == {min(19, psutil.Process().nice() + NICENESS)}
    process.kill()
    assert (await child.end()).reason == "killed by SIGKILL"
    assert child.link.reading() is None
