"""A monitor for tests that starts programs with the agent and collects the reports of their processes."""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest

from concwatch.portable.agent.attaching.inject import environment
from concwatch.portable.agent.blocking.blocks import BLOCKED_AFTER
from tests.other_pythons import PYTHONS

EVERY = {
    "CPython {}.{}".format(*sys.version_info): sys.executable,
    **{name: python for name, python in PYTHONS.items() if name.startswith("CPython")},
}
"""Name → interpreter of each CPython found, including this one."""

_SORTED = sorted(EVERY, key=lambda name: int(name.split(".")[1]))
OLDEST, NEWEST = EVERY[_SORTED[0]], EVERY[_SORTED[-1]]

oldest_and_newest = pytest.mark.parametrize(
    "python", [OLDEST, NEWEST][-len(EVERY) :], ids=[_SORTED[0], _SORTED[-1]][-len(EVERY) :]
)
"""Runs a test with the oldest and the newest CPython."""

with_newest = pytest.mark.parametrize("python", [NEWEST], ids=[_SORTED[-1]])

PATIENCE = 60.0
"""Seconds to wait for anything, on a busy machine."""

MANY = """
import asyncio, json, sys, threading
NAMES = [f"job{number}" for number in range(20)]
for name in NAMES:
    exec(f"async def {name}(): await asyncio.sleep(0)")
async def stays(event):
    await event.wait()
record = dict.fromkeys(NAMES, 0)
def jobs():
    for at in range(1000):
        name = NAMES[at % 20]
        record[name] += 1
        yield globals()[name]()
def other_loop(loop, running):
    asyncio.set_event_loop(loop)
    loop.call_soon(running.set)
    loop.run_forever()
async def create_all(loop):
    asyncio.get_running_loop().set_task_factory(None)
    for _ in range(10):
        await asyncio.gather(*jobs())
    if sys.version_info >= (3, 11):
        async with asyncio.TaskGroup() as group:
            for job in jobs():
                group.create_task(job, name="a")
    for job in jobs():
        if sys.version_info >= (3, 12):  # wait_for creates no task
            record[job.__name__] -= 1
        await asyncio.wait_for(job, 60)
    for future in [asyncio.run_coroutine_threadsafe(job, loop) for job in jobs()]:
        await asyncio.wrap_future(future)
    def nested():
        async def inner():
            await asyncio.gather(*jobs())
        asyncio.run(inner())
    await asyncio.get_running_loop().run_in_executor(None, nested)
    if sys.version_info >= (3, 12):
        asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)
    await asyncio.gather(*jobs())
async def main():
    loop, running = asyncio.new_event_loop(), threading.Event()
    thread = threading.Thread(target=other_loop, args=(loop, running))
    thread.start()
    running.wait()
    for _ in range(int(sys.argv[1])):
        await create_all(loop)
    event = asyncio.Event()
    async def make(): return asyncio.Event()
    other_event = asyncio.run_coroutine_threadsafe(make(), loop).result()
    tasks = [asyncio.create_task(stays(event)) for _ in range(3000)]
    futures = [asyncio.run_coroutine_threadsafe(stays(other_event), loop) for _ in range(7)]
    print(json.dumps(record), flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    event.set()
    loop.call_soon_threadsafe(other_event.set)
    await asyncio.gather(*tasks)
    for future in futures:
        await asyncio.wrap_future(future)
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()
asyncio.run(main())
"""
"""Creates 14,000 to 16,000 tasks a round, prints the count of each coroutine, and holds 3,007 more."""
"""Creates tasks of 20 names in seven ways, as often as its argument says, and prints how many of each."""


def eventually(check, what):
    """Wait until ``check()`` is true, and return its value."""
    end = time.monotonic() + PATIENCE
    while not (found := check()):
        if time.monotonic() > end:
            raise AssertionError(f"no {what() if callable(what) else what} within {PATIENCE:.0f} s")
        time.sleep(0.02)
    return found


class AgentProcess:
    """A connection to the agent of a process, and all reports received."""

    def __init__(self, sock):
        self._sock = sock
        self.messages = []
        self.groups = {}
        self.text = ""
        """What was received besides reports: the stack that ``stack_signal`` writes."""
        self.closed = False
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self):
        with self._sock.makefile("rb") as lines:
            try:
                for line in lines:
                    assert len(line) <= 1 << 20
                    if not line.startswith(b"{"):
                        self.text += line.decode()
                        continue
                    message = json.loads(line)
                    for group in message.get("groups", ()) if message["type"] == "groups" else ():
                        self.groups[group["group"]] = group
                    self.messages.append(message)
            except OSError:
                pass
        self._sock.close()
        self.closed = True

    def all(self, type_):
        """Return the reports of a type so far."""
        return [message for message in list(self.messages) if message["type"] == type_]

    @property
    def reports(self):
        """Whether the process has something to report; False before it is known."""
        return bool(self.messages) and bool(self.messages[0].get("can"))

    @property
    def name(self):
        """The name that the process last reported."""
        return ["", *(message["name"] for message in list(self.messages) if "name" in message)][-1]

    def wait(self, type_, check=lambda message: True):
        """Wait for a report that passes a check, and return the first one."""
        return eventually(
            lambda: next((message for message in self.all(type_) if check(message)), None),
            lambda: f"matching {type_}; last {(self.all(type_) or self.messages)[-3:]}",
        )

    @property
    def ready(self):
        """The report that the agent sends first."""
        return self.wait("ready")

    def tick(self, check=lambda tick: True):
        """Wait for a new tick that passes a check."""
        after = len(self.all("tick"))
        return eventually(
            lambda: next((tick for tick in self.all("tick")[after:] if check(tick)), None),
            f"matching tick; last {self.all('tick')[-1:]}",
        )

    def last_report(self, name):
        """Return the last report of the group with this name, or None."""
        return next((group for group in list(self.groups.values()) if group["name"].endswith(name)), None)

    def group(self, name, **figures):
        """Wait until a group has these figures."""
        return eventually(
            lambda: (found := self.last_report(name)) and figures.items() <= found.items() and found,
            f"{name} with {figures}: it has {self.last_report(name)}",
        )

    def send(self, type_, **fields):
        """Send a command."""
        self.send_line(json.dumps({"type": type_, **fields}).encode())

    def send_line(self, line):
        self._sock.sendall(line + b"\n")

    def apply(self, type_, **fields):
        """Send a command, and wait until the agent reports it as applied."""
        after = len(self.all("applied"))
        self.send(type_, **fields)
        return eventually(
            lambda: next((one for one in self.all("applied")[after:] if one["command"] == type_), None),
            f"answer to {type_}",
        )

    def disconnect(self):
        """Close the connection, as when a monitor is killed."""
        self._sock.shutdown(socket.SHUT_RDWR)


class Monitor:
    """Listens for agents. A context manager that kills the programs it has started."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="concwatch-agent-")
        self.address = os.path.join(self.folder, "monitor")
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(self.address)
        self._listener.listen(64)
        self.announced = []
        """All connections, including those of processes that have nothing to report so far."""
        self.programs = []
        self.expects_errors = False
        """Whether agents may report errors of their own, as ordinary programs never cause them."""
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            self.announced.append(AgentProcess(sock))

    @property
    def processes(self):
        """The connections of processes with something to report."""
        return [process for process in list(self.announced) if process.reports]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for program in self.programs:
            if program.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(program.pid, signal.SIGKILL)
            program.wait()
            for pipe in (program.stdin, program.stdout, program.stderr):
                pipe.close()
        eventually(lambda: all(process.closed for process in self.announced), "end of every connection")
        shutil.rmtree(self.folder)
        reports = [report for process in self.announced for report in process.all("agent_errors")]
        assert self.expects_errors or not any(report["total"] for report in reports), reports

    def start(self, text, *arguments, python=sys.executable, watched=True, options=(), **variables):
        """Start a program with pipes for its standard streams; ``options`` are the agent's."""
        script = Path(self.folder) / "program.py"
        if not script.exists() or script.read_text() != text:  # one may be about to read it
            script.write_text(text)
        env = {**os.environ, "PYTHONWARNINGS": "error", **variables}
        program = subprocess.Popen(
            [python, str(script), *arguments],
            env=environment(self.address, env, options=options) if watched else env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.programs.append(program)
        return program

    def process(self, number=0):
        """Wait for the ``number``-th process to connect."""
        return eventually(
            lambda: len(self.processes) > number and self.processes[number],
            f"process {number}: {[program.poll() for program in self.programs]}",
        )

    def by_name(self, name):
        """Wait for a process whose name contains ``name``."""
        return eventually(
            lambda: next((process for process in list(self.processes) if name in process.name), None),
            f"{name}: only {[process.name for process in self.processes]}",
        )


def kept_waiting(process):
    """Return for how many seconds the main thread of a running process has waited for a processor."""
    pid = process.ready["pid"]
    return int(Path(f"/proc/{pid}/task/{pid}/schedstat").read_text().split()[1]) / 1e9


def unexplained_blocks(process, waited):
    """Return the blocks reported so far, except those that the system has caused.

    The agent reports them as such. The kernel's count of the seconds for which the main thread has ``waited``
    must agree: without these, the loop would not have been blocked.
    """
    blocks = process.all("block")
    stopped = [block for block in blocks if block["cause"] == "stopped" and block["ended"]]
    explained = stopped if sum(block["seconds"] for block in stopped) - waited < BLOCKED_AFTER else []
    return [block for block in blocks if block not in explained]


def finish(program):
    """Close a program's input, and return its output. It must succeed and print no errors."""
    output, errors = program.communicate(timeout=PATIENCE)
    assert (program.returncode, errors) == (0, "")
    return output
