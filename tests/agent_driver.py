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

from concwatch.agent.inject import environment
from tests.test_other_pythons import PYTHONS

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


def eventually(check, what):
    """Wait until ``check()`` is true, and return its value."""
    end = time.monotonic() + PATIENCE
    while not (found := check()):
        if time.monotonic() > end:
            raise AssertionError(f"no {what} within {PATIENCE:.0f} s")
        time.sleep(0.02)
    return found


class Process:
    """A connection to the agent of a process, and all reports received."""

    def __init__(self, sock):
        self._sock = sock
        self.messages = []
        self.groups = {}
        self.closed = False
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self):
        with self._sock.makefile("rb") as lines:
            try:
                for line in lines:
                    assert len(line) <= 1 << 20
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
            f"matching {type_}; last {self.messages[-1:]}",
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
        self.send(type_, **fields)
        return self.wait("applied", lambda message: message["command"] == type_)

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
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            self.announced.append(Process(sock))

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

    def start(self, text, *arguments, python=sys.executable, watched=True, **variables):
        """Start a program with pipes for its standard streams."""
        script = Path(self.folder) / "program.py"
        script.write_text(text)
        env = {**os.environ, "PYTHONWARNINGS": "error", **variables}
        program = subprocess.Popen(
            [python, str(script), *arguments],
            env=environment(self.address, env) if watched else env,
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


def finish(program):
    """Close a program's input, and return its output. It must succeed and print no errors."""
    output, errors = program.communicate(timeout=PATIENCE)
    assert (program.returncode, errors) == (0, "")
    return output
