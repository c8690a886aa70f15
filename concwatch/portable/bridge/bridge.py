"""The bridge: runs on another host, starts a worker or watches a program there, and relays the wire.

It measures the worker from outside and adds its own reports (``host``, ``process``, ``echo``, ``ended``, …;
see `concwatch.portable.protocol.wire`). The worker ends with the bridge. The bridge ends when its standard
input closes, or after `SILENCE` seconds without input, since a broken connection may not be closed.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import threading
from functools import partial
from time import monotonic, sleep

from concwatch.portable.bridge.machine_report import host_report, limits_report, survey_report
from concwatch.portable.bridge.memory_files import compiled_archive, executable_file
from concwatch.portable.bridge.report_stream import ReportStream
from concwatch.portable.machine.cpu_quota import throttling_of
from concwatch.portable.machine.kernel_objects import KernelObjectsSource
from concwatch.portable.machine.limits import UNKNOWN_LIMIT, limit_hit
from concwatch.portable.machine.process_reader import SharedGrowth, process_figures
from concwatch.portable.machine.spawn import NICENESS, ChildSetup

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, BinaryIO, Callable, Dict, List, NoReturn, Optional

    from concwatch.portable.bridge.watcher import Watcher
    from concwatch.portable.build.builder import Builder
    from concwatch.portable.machine.cpu_quota import Throttling
    from concwatch.portable.machine.kernel_memory import KernelObjects

SILENCE = 4.5
"""Seconds without input after which the monitor counts as gone; it sends two lines a second."""

GRACE = 0.3
"""Seconds that a worker gets to exit once its input is closed, before it is killed."""

SAMPLE_RATE = 10
"""Readings of the worker's process per second."""

GROWTH = 0.01
"""Relative change of the worker's RSS that is reported at once."""

MAX_PROGRAM = 1 << 28
"""Largest program, or sources of one, that can be sent, in bytes."""

BLOCK = 1 << 14
"""Bytes of it that are read at once."""

_START = (
    "import sys; sys.path[:] = [{archive!r}, *(folder for folder in sys.path if folder)]; "
    "import concwatch; del sys.path[0]; "
    "from concwatch.portable.worker.serve import serve; serve({engine!r}, True)"
)


class Bridge:
    """Runs one worker, or watches one program, for a monitor on another host.

    Args:
        archive: the zip file from which worker and agent are imported.
        lines: the commands.
    """

    def __init__(self, archive: str, lines: BinaryIO) -> None:
        self._archive = archive
        self._lines = lines
        self._out = ReportStream(self._end)
        self._ending = threading.Lock()
        self._last_received = monotonic()
        self._worker: Optional[subprocess.Popen[bytes]] = None
        self._watcher: Optional[Watcher] = None
        self._builder: Optional[Builder] = None
        self._hz = float(SAMPLE_RATE)
        self._pid = 0  # of the process to measure: the worker's "ready" has it
        self._objects: Optional[KernelObjects] = None
        self._throttling: Optional[Throttling] = None
        self._commands: Dict[str, Callable[[Dict[str, Any]], None]] = {
            "beat": lambda fields: self._out.send("echo", number=fields.get("number", 0)),
            "start": self._start,
            "survey": lambda fields: self._out.send("survey", **survey_report()),
            "watch": lambda fields: self._open_watcher().start(fields),
            "attach": lambda fields: self._open_watcher().attach(fields),
        }
        """Type → handler, of the commands that are for the bridge itself; the others are the worker's."""

    def run(self) -> None:
        """Handle commands until either side ends."""
        self._out.write(b"\n")  # ends a line that a shell may have left unfinished
        self._out.send("host", walls=limits_report(), **host_report())
        for target in (self._end_when_silent, self._report_machine):
            threading.Thread(target=target, daemon=True).start()
        for line in iter(self._lines.readline, b""):
            self._last_received = monotonic()
            self._handle(line)
        self._end()

    def _handle(self, line: bytes) -> None:
        """Execute a command, or pass it on to the worker."""
        fields = _decoded(line)
        execute = self._commands.get(str(fields.get("type")))
        if execute is not None:
            execute(fields)
        elif self._worker is not None and self._worker.stdin is not None:
            if fields.get("type") == "rate":
                self._hz = float(fields.get("hz", SAMPLE_RATE))
            try:
                self._worker.stdin.write(line)
                self._worker.stdin.flush()
            except OSError:
                pass  # the worker has ended: `_relay` reports it

    def _open_watcher(self) -> Watcher:
        """Return the watcher, which is created for the first program or process to watch."""
        if self._watcher is None:
            from concwatch.portable.bridge.watcher import Watcher  # only where a program is watched

            try:
                self._watcher = watcher = Watcher(self._archive, self._out)
            except OSError as error:
                self._fail(f"no folder for the agent: {error}")
            self._commands.update(
                agent=watcher.send_to_agent,
                stop=lambda fields: watcher.stop(),
                end=lambda fields: self._end(),
            )
        return self._watcher

    def _report_machine(self) -> None:
        """Report the host once a second until there is a worker: a slow start is no broken connection."""
        while self._worker is None:
            sleep(1)
            self._out.send("host", **host_report())

    def _start(self, fields: Dict[str, Any]) -> None:
        """Start the worker: a Python engine, a program whose bytes follow, or one that is built here.

        Meanwhile commands are read: with a small CPU quota compiling a Python engine takes seconds.
        """
        program, sources = (self._read(int(fields.get(name, 0))) for name in ("size", "sources"))
        variables = fields.get("environment", {})
        host = {"system": platform.system(), "processor": platform.machine()}
        mismatches = [(fields.get(name), value) for name, value in host.items() if fields.get(name) != value]
        if program and not mismatches:
            descriptor = executable_file("concwatch-program", program)
            self._run([f"/proc/self/fd/{descriptor}", *fields.get("arguments", [])], variables, [descriptor])
        elif program and not sources:
            self._fail("the program is built for {}: this is {}".format(*mismatches[0]))
        else:
            self._commands["stop"] = lambda fields: self._end()
            start = partial(self._build, fields["ways"], sources) if sources else self._compile
            threading.Thread(target=start, args=(fields["engine"], variables), daemon=True).start()

    def _compile(self, engine: str, variables: Dict[str, str]) -> None:
        """Compile a Python engine and start it."""
        descriptor = compiled_archive(self._archive)
        code = _START.format(archive=f"/proc/self/fd/{descriptor}", engine=engine)
        safe_path = ["-P"] if sys.version_info >= (3, 11) else []
        self._run([sys.executable, *safe_path, "-c", code], variables, [descriptor])

    def _build(self, ways: List[Any], sources: bytes, engine: str, variables: Dict[str, str]) -> None:
        """Build the worker and start it."""
        # Only where something is built.
        from concwatch.portable.build.builder import Builder, BuildError, BuildStopped
        from concwatch.portable.build.runtime import Runtime

        self._builder = Builder(lambda text: self._out.send("building", text=text))
        try:
            built = self._builder.build(list(map(Runtime.from_fields, ways)), engine, sources)
        except BuildStopped:
            return
        except BuildError as error:
            self._fail(str(error))
        if built.seconds:
            self._out.send("built", seconds=built.seconds)
        self._run(built.command, variables, [])

    def _read(self, size: int) -> bytes:
        """Read ``size`` bytes, sending a report each second: over a slow connection this takes a while."""
        parts, left, reported = [], min(size, MAX_PROGRAM), monotonic()
        while left:
            part = self._lines.read(min(left, BLOCK))
            if not part:
                self._end()
            parts.append(part)
            left -= len(part)
            self._last_received = monotonic()
            if self._last_received - reported >= 1:
                reported = self._last_received
                self._out.send("host", **host_report())
        return b"".join(parts)

    def _run(self, command: List[str], environment: Dict[str, str], descriptors: List[int]) -> None:
        try:
            with ChildSetup(NICENESS) as setup:
                self._worker = subprocess.Popen(
                    command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    env={**os.environ, **environment},
                    pass_fds=(*descriptors, *setup.descriptors),
                    start_new_session=True,
                )
                setup.apply(self._worker.pid)
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            self._fail(f"could not be started: {error}")
        self._commands.pop("stop", None)  # it is the worker's from now on
        self._pid = self._worker.pid
        self._objects = KernelObjectsSource(self._archive).of_worker(self._pid)
        self._throttling = throttling_of(self._pid)
        threading.Thread(target=self._relay, args=(self._worker,), daemon=True).start()
        threading.Thread(target=self._report_process, daemon=True).start()

    def _fail(self, message: str) -> NoReturn:
        """Report why there is no worker, and exit."""
        self._out.send("error", command=None, message=message)
        os._exit(2)

    def _relay(self, worker: subprocess.Popen[bytes]) -> None:
        """Send the worker's reports, then its exit status, and exit."""
        assert worker.stdout is not None
        for line in iter(worker.stdout.readline, b""):
            report = _decoded(line)
            if report.get("type") == "ready":
                self._pid = report.get("pid", self._pid)
            if report.get("type") == "limit" and report.get("wall") == UNKNOWN_LIMIT:
                # The worker could not find out itself which limit was hit.
                report["wall"], report["value"] = limit_hit(str(self._pid))
                line = json.dumps(report).encode()
            self._out.write(line if line.endswith(b"\n") else line + b"\n")
        self._out.send("ended", status=worker.wait())
        os._exit(0)

    def _report_process(self) -> None:
        """Report the host, and the worker's process once a tick, or sooner while its RSS changes."""
        reported = host_reported = 0.0
        rss, shared = 0.0, SharedGrowth()
        while True:
            figures, now = process_figures(self._pid), monotonic()
            if figures and (now - reported >= 0.95 / self._hz or abs(figures["rss"] - rss) > GROWTH * rss):
                objects = self._objects.fields(figures) if self._objects else {}
                throttled = self._throttling.fields() if self._throttling else {}
                grown = shared.fields(figures)
                self._out.send("process", time=now, **figures, **objects, **throttled, **grown)
                reported, rss = now, figures["rss"]
            if now - host_reported >= 1:
                self._out.send("host", **host_report())
                host_reported = now
            sleep(1 / SAMPLE_RATE)

    def _end_when_silent(self) -> None:
        """End after `SILENCE` seconds without input. This thread never blocks on a pipe."""
        while monotonic() - self._last_received < SILENCE:
            sleep(SILENCE / 20)
        self._end()

    def _end(self) -> None:
        """End the worker or the program, killing it if necessary, and exit."""
        self._ending.acquire()  # never released: any other thread waits here until the process exits
        if self._watcher is not None:
            self._watcher.end()
        if self._builder is not None:
            self._builder.stop()
        worker = self._worker
        if worker is not None:
            if worker.stdin is not None:
                os.close(worker.stdin.fileno())  # not "stdin.close()", which may wait for a blocked write
            try:
                worker.wait(GRACE)
            except subprocess.TimeoutExpired:
                worker.kill()
        os._exit(0)


def _decoded(line: bytes) -> Dict[str, Any]:
    """Return a message's fields; none if it is not a valid one, which is for the other side to judge."""
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError):
        fields = None
    return fields if isinstance(fields, dict) else {}


def serve(archive: str, descriptor: int) -> None:
    """Run the bridge, imported from the zip file ``archive`` (open as ``descriptor``), on standard input."""
    os.set_inheritable(descriptor, False)
    Bridge(archive, sys.stdin.buffer).run()
