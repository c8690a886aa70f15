"""A monitor for tests: it starts programs to be watched and collects the reports of their processes."""

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

from concwatch.agent.inject import environment
from tests.test_other_pythons import PYTHONS

EVERY = {
    "CPython {}.{}".format(*sys.version_info): sys.executable,
    **{name: python for name, python in PYTHONS.items() if name.startswith("CPython")},
}
"""Name → interpreter of each CPython found, including this one."""

OLDEST, *_, NEWEST = [EVERY[name] for name in sorted(EVERY, key=lambda name: int(name.split(".")[1]))] * 2

PATIENCE = 60.0
"""Seconds to wait for anything, on a busy machine."""


def eventually(check, what, patience=PATIENCE):
    """Wait until ``check()`` is true, and return its value."""
    until = time.monotonic() + patience
    while not (found := check()):
        if time.monotonic() > until:
            raise AssertionError(f"no {what} within {patience:.0f} s")
        time.sleep(0.02)
    return found


class Process:
    """The connection to the agent of one process, and all its reports."""

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
        """Return every report of a type so far."""
        return [message for message in list(self.messages) if message["type"] == type_]

    @property
    def name(self):
        """The last name that the process reported."""
        return ["", *(message["name"] for message in list(self.messages) if "name" in message)][-1]

    def wait(self, type_, check=lambda message: True, patience=PATIENCE):
        """Wait for a report that passes a check, and return the first one."""
        return eventually(
            lambda: next((message for message in self.all(type_) if check(message)), None),
            f"{type_} that fits; last {self.messages[-1:]}",
            patience,
        )

    @property
    def ready(self):
        return self.wait("ready")

    def tick(self, check):
        """Wait for a new tick that passes a check."""
        after = len(self.all("tick"))
        return eventually(
            lambda: next((tick for tick in self.all("tick")[after:] if check(tick)), None),
            f"tick that fits; last {self.all('tick')[-1:]}",
        )

    def named(self, name):
        """Return the last report of the group with this name, or None."""
        return next((group for group in list(self.groups.values()) if group["name"].endswith(name)), None)

    def group(self, name, **figures):
        """Wait until a group has these figures."""
        return eventually(
            lambda: (found := self.named(name)) and figures.items() <= found.items() and found,
            f"{name} with {figures}: it has {self.named(name)}",
        )

    def send(self, type_, **fields):
        self.send_line(json.dumps({"type": type_, **fields}).encode())

    def send_line(self, line):
        self._sock.sendall(line + b"\n")

    def do(self, type_, **fields):
        """Send a command and wait until it has taken effect."""
        self.send(type_, **fields)
        return self.wait("applied", lambda message: message["command"] == type_)

    def hang_up(self):
        """Close the connection, as happens when a monitor is killed."""
        self._sock.shutdown(socket.SHUT_RDWR)


class Monitor:
    """Listens in a folder of its own. A context manager that kills all programs that it has started."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="concwatch-agent-")
        self.address = os.path.join(self.folder, "monitor")
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(self.address)
        self._listener.listen(64)
        self.processes = []
        self.programs = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            self.processes.append(Process(sock))

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
        eventually(lambda: all(process.closed for process in self.processes), "end of every connection")
        shutil.rmtree(self.folder)

    def start(self, text, *arguments, python=sys.executable, watched=True, options=(), **more):
        """Start a program, whose standard input is a pipe."""
        script = Path(self.folder) / "program.py"
        script.write_text(text)
        env = {**os.environ, "PYTHONWARNINGS": "error", **more}
        program = subprocess.Popen(
            [python, *options, str(script), *arguments],
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
            lambda: next((one for one in list(self.processes) if name in one.name), None),
            f"{name}: only {[one.name for one in self.processes]}",
        )


def finish(program, status=0):
    """Close a program's input, wait for it, and return its output. Its errors must be empty."""
    out, noise = program.communicate(timeout=PATIENCE)
    assert (program.returncode, noise) == (status, "")
    return out
