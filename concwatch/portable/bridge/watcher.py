"""The part of the bridge that watches a program and relays its agents' reports.

The agent's files are in a temporary folder of mode 0700 while the bridge runs, since the program's processes
import them. Commands and reports are specified in `concwatch.portable.protocol.wire`.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import threading
import zipfile
from time import monotonic, sleep

from concwatch.portable.agent.attaching.inject import environment, script
from concwatch.portable.agent.sending.places import accept, socket_paths
from concwatch.portable.bridge.injection import inject, process_name, why_no_agent
from concwatch.portable.bridge.private_folder import remove_socket_folder, socket_folder
from concwatch.portable.machine.cpu_quota import throttling_of
from concwatch.portable.machine.kernel_objects import KernelObjectsSource
from concwatch.portable.machine.limits import read_text
from concwatch.portable.machine.memory_limit import memory_limit_of
from concwatch.portable.machine.process_reader import PssReader, SharedGrowth, process_figures, start_time
from concwatch.portable.machine.processes import children_of, find_process, pids
from concwatch.portable.machine.spawn import Terminator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, BinaryIO

    from concwatch.portable.bridge.report_stream import ReportStream
    from concwatch.portable.machine.cpu_quota import Throttling
    from concwatch.portable.machine.kernel_memory import KernelObjects
    from concwatch.portable.machine.memory_limit import MemoryLimit
    from concwatch.portable.machine.process_reader import Process

REPORT_RATE = 5
"""Reports of all processes per second."""

REPORTS_PER_SEARCH = 2
"""Reports between two searches for new processes."""

TERMINATE_TIMEOUT = 3.0
"""Seconds that the program gets to exit after ``SIGTERM``."""

RELAY_TIME, LEAST_RELAY_TIME = 2.0, 0.2
"""Seconds, at most and at least, to relay the last output and figures of a program that has exited."""

BLOCK = 1 << 14
"""Bytes of the program's output that are read at once."""

CALIBRATION_DELAY = 2.0
"""Seconds of watching after which it is measured what the kernel holds for a thread and a socket."""

MAX_PROCESSES = 1_000
"""Processes in one report at most."""


class Watcher:
    """Starts a program or attaches to processes, and relays their agents.

    Args:
        archive: the zip file from which the agent is extracted.
        out: where reports are written.

    Raises:
        OSError: the folder for the agent cannot be created.
    """

    def __init__(self, archive: str, out: ReportStream) -> None:
        self._out = out
        self._folder = socket_folder()
        with zipfile.ZipFile(archive) as source:
            for name in source.namelist():
                if name.startswith("concwatch/portable/agent/"):
                    source.extract(name, self._folder)
        self._package = os.path.join(self._folder, "concwatch", "portable", "agent")
        self._address = os.path.join(self._folder, "monitor")
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(self._address)
        self._listener.listen(1024)
        self._program: subprocess.Popen[bytes] | None = None
        self._known: set[int] = set()
        self._attached: dict[int, str] = {}
        self._pss: dict[int, PssReader] = {}
        self._objects_source = KernelObjectsSource(archive, CALIBRATION_DELAY)
        self._objects: dict[int, KernelObjects | None] = {}
        self._throttling: dict[int, Throttling | None] = {}
        self._limits: dict[int, MemoryLimit | None] = {}
        self._started: dict[int, float | None] = {}
        self._shared: dict[int, SharedGrowth] = {}
        self._agents: dict[int, socket.socket] = {}
        self._relays: list[tuple[int, threading.Thread]] = []
        """By the pid of the process whose agent it relays."""
        self._relaying_output = threading.Lock()
        self._connections = 0
        self._lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()
        threading.Thread(target=self._report, daemon=True).start()

    # Commands.

    def start(self, fields: dict[str, Any]) -> None:
        """Start the program; its child processes connect by themselves."""
        command = fields["command"]
        if shutil.which(command[0]) is None:
            self._out.send("error", command="watch", message=f'"{command[0]}": no such program on the host')
            return
        self._terminator = Terminator()
        try:
            self._program = subprocess.Popen(
                command,
                env=environment(self._address, os.environ, self._package, fields.get("options") or ()),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            self._terminator.release()
            self._out.send("error", command="watch", message=f'"{command[0]}" could not be started: {error}')
            return
        self._terminator.watch(self._program.pid)
        self._known = {self._program.pid}
        self._out.send("started", pid=self._program.pid)
        self._report_processes()
        threading.Thread(target=self._relay_output, args=(self._program,), daemon=True).start()

    def attach(self, fields: dict[str, Any]) -> None:
        """Bring the agent into a running process; where that fails, only its memory and CPU are reported."""
        pid = int(fields["pid"])
        found = find_process(pid)
        if found is None:
            message = f"no process with PID {pid}"
            self._out.send("error", command="attach", message=message)
        elif found.user != os.geteuid() and os.geteuid() != 0:
            message = f"process {pid} belongs to another user than the one that is connected"
            self._out.send("error", command="attach", message=message)
        else:
            self._attached[pid] = self._connect_or_inject(found, bool(fields.get("gdb")))

    def _connect_or_inject(self, found: Process, gdb: bool) -> str:
        """Return why there will be no agent in the process; empty if there will be one."""
        pid = found.pid
        for path in socket_paths(pid, found.user):
            connection = socket.socket(socket.AF_UNIX)
            connection.settimeout(1.0)
            try:
                connection.connect(path)
            except OSError:
                connection.close()
                continue
            connection.settimeout(None)
            self._add_agent(connection)
            return ""
        file = os.path.join(self._folder, f"attach-{pid}.py")
        with open(file, "w") as text:
            text.write(script(self._address, self._package))
        return inject(pid, file, gdb, self._package) or ""

    def send_to_agent(self, fields: dict[str, Any]) -> None:
        """Send an agent a command, or close its connection."""
        with self._lock:
            agent = self._agents.get(fields.get("connection", 0))
        if agent is None:
            return
        try:
            if fields.get("line") is None:
                agent.shutdown(socket.SHUT_RDWR)
            else:
                agent.sendall(fields["line"].encode() + b"\n")
        except OSError:
            pass  # the connection has ended: `_relay` reports it

    def stop(self) -> None:
        """Terminate the program; processes that it leaves behind end with the bridge."""
        program = self._program
        if program is not None and program.poll() is None:
            program.terminate()

    def end(self) -> None:
        """Terminate the program's processes, then kill them; disconnect all agents; remove the folder."""
        program = self._program
        if program is not None:
            self.stop()
            try:
                program.wait(TERMINATE_TIMEOUT)
            except subprocess.TimeoutExpired:
                pass
            self._signal(signal.SIGTERM)
            deadline = monotonic() + TERMINATE_TIMEOUT / 3
            while self._signal(0) and monotonic() < deadline:
                sleep(0.02)
            self._signal(signal.SIGKILL)
        self._listener.close()
        remove_socket_folder(self._folder)

    def _signal(self, number: int) -> bool:
        """Send a signal to the program's process group. Return whether any process of it is left."""
        assert self._program is not None
        self._program.poll()
        left = [
            found.pid for found in map(find_process, pids()) if found and found.group == self._program.pid
        ]
        for pid in left:
            try:
                os.kill(pid, number)
            except OSError:
                pass
        return bool(left)

    # Threads.

    def _accept(self) -> None:
        while True:
            try:
                connection = accept(self._listener)
            except PermissionError:
                continue
            except OSError:
                return
            connection.setblocking(True)
            self._add_agent(connection)

    def _add_agent(self, connection: Any) -> None:
        credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        pid = int.from_bytes(credentials[:4], sys.byteorder)
        with self._lock:
            self._connections += 1
            number = self._connections
            self._agents[number] = connection
            relay = threading.Thread(target=self._relay, args=(number, connection, pid), daemon=True)
            relay.start()
            self._relays = [one for one in self._relays if one[1].is_alive()] + [(pid, relay)]

    def _relay(self, number: int, connection: Any, pid: int) -> None:
        """Relay an agent's lines, then report the end of its connection."""
        head = f'{{"type":"agent","connection":{number},"pid":{pid},"report":'.encode()
        file: BinaryIO
        with open(os.dup(connection.fileno()), "rb") as file:
            try:
                for line in iter(lambda: file.readline(1 << 20), b""):
                    if line.strip():
                        self._out.write(head + line.strip() + b"}\n")
            except OSError:
                pass
        self._out.write(head + b"null}\n")
        with self._lock:
            self._agents.pop(number, None)
        connection.close()

    def _relay_output(self, program: subprocess.Popen[bytes]) -> None:
        """Relay the program's output; another thread reports its exit."""
        assert program.stdout is not None
        descriptor = program.stdout.fileno()
        relay = threading.current_thread()
        threading.Thread(target=self._report_exit, args=(program, relay), daemon=True).start()
        while _is_readable(descriptor, None):
            with self._relaying_output:
                data = os.read(descriptor, BLOCK)
                if not data:
                    return
                self._out.send("output", text=data.decode(errors="replace"))

    def _report_exit(self, program: subprocess.Popen[bytes], output: threading.Thread) -> None:
        """Report the program's exit, after the last of its output and of what its agent has sent.

        Args:
            program: the program.
            output: relays its output, which processes that it has left behind may continue.
        """
        status = program.wait()
        self._terminator.release()
        deadline = monotonic() + RELAY_TIME
        sleep(LEAST_RELAY_TIME)  # a connection may not be accepted yet
        with self._lock:
            relays = [relay for pid, relay in self._relays if pid == program.pid]
        for relay in relays:
            relay.join(max(0.0, deadline - monotonic()))
        assert program.stdout is not None
        while output.is_alive() and monotonic() < deadline:
            with self._relaying_output:
                if not _is_readable(program.stdout.fileno(), 0.0):
                    break
            sleep(0.01)
        self._report_processes()
        self._out.send("exited", status=status)

    def _report(self) -> None:
        while True:
            for _ in range(REPORTS_PER_SEARCH):
                self._report_processes()
                sleep(1 / REPORT_RATE)
            self._known |= children_of(set(self._known))

    def _report_processes(self) -> None:
        """Report the program's processes and those attached to."""
        self._known = {pid for pid in set(self._known) if find_process(pid)}
        rows = []
        reported = sorted(self._known | {pid for pid in self._attached if find_process(pid)})[:MAX_PROCESSES]
        self._pss = {pid: self._pss.get(pid) or PssReader(pid) for pid in reported}
        self._objects = {pid: self._objects.get(pid) or self._objects_source.of(pid) for pid in reported}
        self._throttling = {pid: self._throttling.get(pid) or throttling_of(pid) for pid in reported}
        self._limits = {pid: self._limits.get(pid) or memory_limit_of(pid) for pid in reported}
        self._started = {pid: self._started.get(pid) or _start_time(pid) for pid in reported}
        self._shared = {pid: self._shared.get(pid) or SharedGrowth() for pid in reported}
        for pid in reported:
            found, figures = find_process(pid), process_figures(pid)
            if found is not None and figures is not None:
                why = self._attached[pid] if pid in self._attached else why_no_agent(pid, self._address)
                names = {"ppid": found.parent, "name": process_name(pid), "why": why}
                pss = self._pss[pid].at(monotonic(), int(figures["rss"]))
                objects, throttling = self._objects[pid], self._throttling[pid]
                kernel = objects.fields(figures) if objects else {}
                throttled = throttling.fields() if throttling else {}
                grown = self._shared[pid].fields(figures)
                limits = self._limits[pid]
                limit = limits.fields() if limits else {}
                known = {**names, **figures, **kernel, **throttled, **grown, **limit}
                rows.append({"pid": pid, **known, "pss": pss, "started": self._started[pid]})
        with self._lock:  # in order
            self._out.send("processes", time=monotonic(), rows=rows)


def _is_readable(descriptor: int, seconds: float | None) -> bool:
    """Wait for some seconds until there is something to read, or the end; without a limit for None."""
    waiting = select.poll()
    waiting.register(descriptor, select.POLLIN)
    return bool(waiting.poll(None if seconds is None else seconds * 1000))


def _start_time(pid: int) -> float | None:
    return start_time(read_text(f"/proc/{pid}/stat"))
