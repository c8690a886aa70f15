"""A program watched on another host: runs in the bridge, and passes on what its agents say.

The agent's files lie in a folder of mode 0700 as long as the bridge runs: other processes import them. What
is sent and reported is specified in `concwatch.wire`.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import zipfile
from time import monotonic, sleep

from concwatch.agent.inject import environment, script
from concwatch.agent.places import accept, socket_paths
from concwatch.links.injection import inject, process_name, why_no_agent
from concwatch.system.proc import process_figures
from concwatch.system.processes import children_of, find_process, pids
from concwatch.system.spawn import end_with_parent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, BinaryIO

    from concwatch.hosts.bridge import Output
    from concwatch.system.processes import Process

LOOKS = 5
"""Reports of all processes a second."""

SEARCHES = 2
"""Reports from one search for new processes to the next."""

END_LIMIT = 3.0
"""Seconds that the program gets to end by itself."""

BLOCK = 1 << 14
"""Bytes of the program's output that are read at once."""

MOST = 1_000
"""Processes that are reported."""


class Watcher:
    """Starts a program or attaches to processes, and relays their agents."""

    def __init__(self, archive: str, out: Output) -> None:
        """Make the folder with the agent, and listen there.

        Raises:
            OSError: no folder can be made.
        """
        self._out = out
        self._folder = tempfile.mkdtemp(prefix="concwatch-")
        with zipfile.ZipFile(archive) as source:
            for name in source.namelist():
                if name.startswith("concwatch/agent/"):
                    source.extract(name, self._folder)
        self._package = os.path.join(self._folder, "concwatch", "agent")
        self._address = os.path.join(self._folder, "monitor")
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(self._address)
        self._listener.listen(128)
        self._program: subprocess.Popen[bytes] | None = None
        self._known: set[int] = set()
        self._attached: dict[int, str] = {}
        self._agents: dict[int, socket.socket] = {}
        self._lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()
        threading.Thread(target=self._report, daemon=True).start()

    # Commands.

    def start(self, fields: dict[str, Any]) -> None:
        """Start the program; its children report by themselves."""
        command = fields["command"]
        if shutil.which(command[0]) is None:
            self._out.send("error", command="watch", message=f'"{command[0]}": no such program there')
            return
        try:
            self._program = subprocess.Popen(
                command,
                env=environment(self._address, os.environ, os.path.join(self._package, "site")),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=end_with_parent(signal.SIGTERM),
            )
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            self._out.send("error", command="watch", message=f'"{command[0]}" could not be started: {error}')
            return
        self._known = {self._program.pid}
        self._out.send("started", pid=self._program.pid)
        self._processes()
        threading.Thread(target=self._pass_output, args=(self._program,), daemon=True).start()

    def attach(self, fields: dict[str, Any]) -> None:
        """Have a process that runs already report, if it can be made to; else it is seen from outside."""
        pid = int(fields["pid"])
        found = find_process(pid)
        if found is None:
            message = f"there is no process {pid}: expected one that runs"
            self._out.send("error", command="attach", message=message)
        elif found.user != os.geteuid() and os.geteuid() != 0:
            message = f"{pid} is another user's: expected a process of the user that is connected"
            self._out.send("error", command="attach", message=message)
        else:
            self._attached[pid] = self._reason(found, bool(fields.get("gdb")))

    def _reason(self, found: Process, gdb: bool) -> str:
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
            self._take(connection)
            return ""
        file = os.path.join(self._folder, f"attach-{pid}.py")
        with open(file, "w") as text:
            text.write(script(self._address, self._package))
        return inject(pid, file, gdb) or ""

    def pass_on(self, fields: dict[str, Any]) -> None:
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
            pass  # its end is seen by who reads

    def stop(self) -> None:
        """Ask the program to end; what it leaves behind ends with the bridge."""
        program = self._program
        if program is not None and program.poll() is None:
            program.terminate()

    def end(self) -> None:
        """End the program and what it has left behind, let go of all agents, and remove the folder."""
        program = self._program
        if program is not None:
            self.stop()
            try:
                program.wait(END_LIMIT)
            except subprocess.TimeoutExpired:
                pass
            self._signal(signal.SIGTERM)
            deadline = monotonic() + END_LIMIT / 3
            while self._signal(0) and monotonic() < deadline:
                sleep(0.02)
            self._signal(signal.SIGKILL)
        self._listener.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _signal(self, number: int) -> bool:
        """Send a signal to what is left of the program's group; return whether anything is."""
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
            self._take(connection)

    def _take(self, connection: Any) -> None:
        credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        pid = int.from_bytes(credentials[:4], sys.byteorder)
        with self._lock:
            number = 1 + max(self._agents, default=0)
            self._agents[number] = connection
        threading.Thread(target=self._relay, args=(number, connection, pid), daemon=True).start()

    def _relay(self, number: int, connection: Any, pid: int) -> None:
        """Pass on every line of an agent, and that it has gone."""
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
        connection.close()

    def _pass_output(self, program: subprocess.Popen[bytes]) -> None:
        """Pass on what the program writes, and its end."""
        assert program.stdout is not None
        descriptor = program.stdout.fileno()
        threading.Thread(target=self._wait, args=(program,), daemon=True).start()
        for data in iter(lambda: os.read(descriptor, BLOCK), b""):
            self._out.send("output", text=data.decode(errors="replace"))

    def _wait(self, program: subprocess.Popen[bytes]) -> None:
        status = program.wait()
        sleep(0.2)  # what it wrote last comes first
        self._processes()
        self._out.send("exited", status=status)

    def _report(self) -> None:
        while True:
            for _ in range(SEARCHES):
                self._processes()
                sleep(1 / LOOKS)
            self._known |= children_of(set(self._known))

    def _processes(self) -> None:
        """Report the program's processes and those attached to."""
        self._known = {pid for pid in set(self._known) if find_process(pid)}
        rows = []
        for pid in sorted(self._known | {pid for pid in self._attached if find_process(pid)})[:MOST]:
            found, figures = find_process(pid), process_figures(pid)
            if found is not None and figures is not None:
                why = self._attached[pid] if pid in self._attached else why_no_agent(pid, self._address)
                rows.append(
                    {"pid": pid, "ppid": found.parent, "name": process_name(pid), "why": why, **figures}
                )
        with self._lock:  # one at a time, the older first
            self._out.send("processes", time=monotonic(), rows=rows)


COMMANDS = {"watch": "start", "attach": "attach", "agent": "pass_on"}
"""Which method serves which command of the wire."""
