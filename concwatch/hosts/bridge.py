"""The bridge: runs on another host, starts a worker or watches a program there, and passes the wire on.

It reads the worker from outside, and adds to what comes from it the reports ``host``, ``process``, ``echo``
and ``ended``, which `concwatch.wire` specifies. The worker ends with it, and it ends with its standard input,
or when nothing has come from the other side for `SILENCE` seconds: a connection may break without a word.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import threading
from time import monotonic, sleep

from concwatch.hosts.machine_report import host_report, survey_report, walls_report
from concwatch.hosts.memory_files import compiled, runnable
from concwatch.system.proc import process_figures
from concwatch.system.spawn import NICENESS, child_setup
from concwatch.system.walls import UNKNOWN_WALL, wall_hit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, BinaryIO, Callable, Dict, List, NoReturn, Optional

    from concwatch.hosts.builder import Builder
    from concwatch.hosts.watcher import Watcher

SILENCE = 4.5
"""Seconds without a line from the other side after which it is gone; it sends two a second."""

GRACE = 0.3
"""Seconds that a worker gets to end by itself once its input has ended."""

LOOKS = 10
"""Looks at the worker's process a second."""

GROWTH = 0.01
"""Share of its RSS by which a worker has grown or shrunk to be reported at once."""

LARGEST_PROGRAM = 1 << 28
"""Bytes of a program, or of the sources of one, that are sent."""

BLOCK = 1 << 14
"""Bytes of it that are read at once."""

_START = (
    "import sys; sys.path[:] = [{archive!r}, *(folder for folder in sys.path if folder)]; "
    "import concwatch; del sys.path[0]; "
    "from concwatch.worker.serve import serve; serve({engine!r}, True)"
)


class Output:
    """Standard output, of which several threads write whole lines."""

    def __init__(self, gone: Callable[[], None]) -> None:
        """Take the place of standard output; ``gone`` is called, once, when nobody reads it any more."""
        self._gone = gone
        self._descriptor = os.dup(1)
        os.dup2(2, 1)  # whatever else is printed does not mix with the wire
        self._lock = threading.Lock()

    def write(self, data: bytes) -> None:
        """Write whole lines."""
        rest = memoryview(data)
        with self._lock:
            try:
                while rest:
                    rest = rest[os.write(self._descriptor, rest) :]
            except OSError:
                self._gone()

    def send(self, type_: str, **fields: Any) -> None:
        """Write one report."""
        self.write(json.dumps({"type": type_, **fields}).encode() + b"\n")


class Bridge:
    """Starts one worker, and ends with it."""

    def __init__(self, archive: str, lines: BinaryIO) -> None:
        """Serve what comes on ``lines``; ``archive`` is where worker and agent are imported from."""
        self._archive = archive
        self._lines = lines
        self._out = Output(self._end)
        self._ending = threading.Lock()
        self._heard = monotonic()
        self._worker: Optional[subprocess.Popen[bytes]] = None
        self._watcher: Optional[Watcher] = None
        self._builder: Optional[Builder] = None
        self._hz = float(LOOKS)
        self._pid = 0  # of the process to be read: what the worker says in its "ready"

    def run(self) -> None:
        """Serve until either side ends."""
        self._out.write(b"\n")  # ends whatever a shell has printed without a line end
        self._out.send("host", walls=walls_report(), **host_report())
        threading.Thread(target=self._watch, daemon=True).start()
        for line in iter(self._lines.readline, b""):
            self._heard = monotonic()
            self._take(line)
        self._end()

    def _take(self, line: bytes) -> None:
        try:
            fields = json.loads(line)
            type_ = fields["type"]
        except (ValueError, LookupError, TypeError):
            type_, fields = "", {}
        if type_ == "beat":
            self._out.send("echo", number=fields.get("number", 0))
        elif type_ == "start":
            self._start(fields)
        elif type_ == "survey":
            self._out.send("survey", **survey_report())
        elif type_ in ("watch", "attach"):
            self._watch_program(type_, fields)
        elif self._watcher is not None:
            if type_ == "agent":
                self._watcher.pass_on(fields)
            elif type_ == "stop":
                self._watcher.stop()
            elif type_ == "end":
                self._end()
        elif self._builder is not None and type_ == "stop" and self._worker is None:
            self._end()
        elif self._worker is not None and self._worker.stdin is not None:
            if type_ == "rate":
                self._hz = float(fields.get("hz", LOOKS))
            try:
                self._worker.stdin.write(line)
                self._worker.stdin.flush()
            except OSError:
                pass  # it has ended, which is being reported

    def _watch_program(self, type_: str, fields: Dict[str, Any]) -> None:
        """Start a program and watch it, or attach to a process."""
        if self._watcher is None:
            from concwatch.hosts.watcher import Watcher  # only for who asks

            try:
                self._watcher = Watcher(self._archive, self._out)
            except OSError as error:
                self._refuse(f"no folder for the agent: {error}")
            threading.Thread(target=self._report_machine, daemon=True).start()
        if type_ == "watch":
            self._watcher.start(fields)
        else:
            self._watcher.attach(fields)

    def _report_machine(self) -> None:
        while self._worker is None:
            self._out.send("host", **host_report())
            sleep(1)

    def _start(self, fields: Dict[str, Any]) -> None:
        """Start the worker: of an engine of Python's, a program that follows, or one that is built here."""
        program, sources = (self._read(int(fields.get(name, 0))) for name in ("size", "sources"))
        variables = fields.get("environment", {})
        here = {"system": platform.system(), "processor": platform.machine()}
        unlike = [(fields.get(name), value) for name, value in here.items() if fields.get(name) != value]
        if program and not unlike:
            kept = [runnable("concwatch-program", program)]
            self._run([f"/proc/self/fd/{kept[0]}", *fields.get("arguments", [])], variables, kept)
        elif sources:
            work = (fields["ways"], sources, fields["engine"], variables)  # while this thread goes on reading
            threading.Thread(target=self._build, args=work, daemon=True).start()
        elif program:
            self._refuse("the program is built for {}: this is {}".format(*unlike[0]))
        else:
            kept = [compiled(self._archive)]
            code = _START.format(archive=f"/proc/self/fd/{kept[0]}", engine=fields["engine"])
            safe_path = ["-P"] if sys.version_info >= (3, 11) else []
            self._run([sys.executable, *safe_path, "-c", code], variables, kept)

    def _build(self, ways: List[Any], sources: bytes, engine: str, variables: Dict[str, str]) -> None:
        """Build the worker and start it."""
        from concwatch.hosts.builder import Builder, folder  # only for who asks

        self._builder = Builder(lambda text: self._out.send("building", text=text))
        threading.Thread(target=self._report_machine, daemon=True).start()
        try:
            command = self._builder.command(ways, sources, engine)
        except ValueError as error:
            self._refuse(str(error))
        except OSError as error:
            self._refuse(f"cannot be built in {folder()}: {error.strerror}: expected a folder to write to")
        if self._builder.seconds:
            self._out.send("built", seconds=self._builder.seconds)
        self._run(command, variables, [])
        assert self._worker is not None
        self._worker.wait()  # it would get a signal with the end of the thread that has started it

    def _read(self, size: int) -> bytes:
        """Read so many bytes, and show signs of life meanwhile: over a slow connection that takes a while."""
        parts, left, told = [], min(size, LARGEST_PROGRAM), monotonic()
        while left:
            part = self._lines.read(min(left, BLOCK))
            if not part:
                self._end()
            parts.append(part)
            left -= len(part)
            self._heard = monotonic()
            if self._heard - told >= 1:
                told = self._heard
                self._out.send("host", **host_report())
        return b"".join(parts)

    def _run(self, command: List[str], environment: Dict[str, str], kept: List[int]) -> None:
        try:
            self._worker = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={**os.environ, **environment},
                pass_fds=kept,
                start_new_session=True,
                preexec_fn=child_setup(NICENESS),
            )
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            self._refuse(f"could not be started: {error}")
        self._pid = self._worker.pid
        threading.Thread(target=self._pass_on, args=(self._worker,), daemon=True).start()
        threading.Thread(target=self._look, daemon=True).start()

    def _refuse(self, message: str) -> NoReturn:
        """Report why there is no worker, and end."""
        self._out.send("error", command=None, message=message)
        os._exit(2)

    def _pass_on(self, worker: subprocess.Popen[bytes]) -> None:
        """Pass on what the worker reports, and its end."""
        assert worker.stdout is not None
        for line in iter(worker.stdout.readline, b""):
            if line.startswith(b'{"type":"limit"'):
                line = self._named_limit(line)
            elif line.startswith(b'{"type":"ready"'):
                self._pid = json.loads(line).get("pid", self._pid)
            self._out.write(line if line.endswith(b"\n") else line + b"\n")
        self._out.send("ended", status=worker.wait())
        os._exit(0)

    def _named_limit(self, line: bytes) -> bytes:
        """Name the limit that the worker could not tell: from outside it can be seen."""
        fields = json.loads(line)
        if fields.get("wall") == UNKNOWN_WALL:
            fields["wall"], fields["value"] = wall_hit(str(self._pid))
        return json.dumps(fields).encode() + b"\n"

    def _look(self) -> None:
        """Report the machine, and the worker's process as often as it ticks, more often while it grows."""
        told = machine_told = 0.0
        rss = 0.0
        while True:
            figures, now = process_figures(self._pid), monotonic()
            if figures and (now - told >= 0.95 / self._hz or abs(figures["rss"] - rss) > GROWTH * rss):
                self._out.send("process", time=now, **figures)
                told, rss = now, figures["rss"]
            if now - machine_told >= 1:
                self._out.send("host", **host_report())
                machine_told = now
            sleep(1 / LOOKS)

    def _watch(self) -> None:
        """End when the other side is silent; this thread never waits for a pipe."""
        while monotonic() - self._heard < SILENCE:
            sleep(SILENCE / 20)
        self._end()

    def _end(self) -> None:
        """End the worker or the program, by force if need be, and this process."""
        self._ending.acquire()  # any other thread that comes here waits for the end
        if self._watcher is not None:
            self._watcher.end()
        if self._builder is not None:
            self._builder.stop()
        worker = self._worker
        if worker is not None:
            if worker.stdin is not None:
                os.close(worker.stdin.fileno())  # not "close", which may wait for another thread's write
            try:
                worker.wait(GRACE)
            except subprocess.TimeoutExpired:
                worker.kill()
        os._exit(0)


def serve(archive: str, descriptor: int) -> None:
    """Serve what follows on standard input.

    Args:
        archive: the path of the zip file that this was imported from.
        descriptor: the open file behind it.
    """
    os.set_inheritable(descriptor, False)
    Bridge(archive, sys.stdin.buffer).run()
