"""A command that is run for each event of a watched program, such as one that calls a webhook."""

import contextlib
import os
import signal
import subprocess
import time
from collections import deque

from concwatch.exporters.event_lines import JsonEvents
from concwatch.monitor.metrics.snapshot import Snapshot
from concwatch.monitor.watching.watching import Watching
from concwatch.portable.machine.spawn import ChildSetup
from concwatch.portable.protocol.text import flat
from concwatch.portable.protocol.units import format_seconds
from concwatch.system.child import describe_exit

MOST_WAITING = 100
"""Events that wait for the command; of more, the oldest are dropped."""

RUN_LIMIT = 30.0
"""Seconds that one run may take; then it is killed."""

END_LIMIT = 5.0
"""Seconds that the last runs may take after the program has ended."""

POLL_INTERVAL = 0.02
"""Seconds between two checks whether the last run has ended."""


class EventCommand:
    """Runs a shell command for each event, with the event as one line of JSON on its standard input.

    At most one run at a time; the program is watched meanwhile. Its output goes to standard error. An event
    of kind ``export`` says when it fails, is killed, or is too slow, and starts no run.
    """

    def __init__(self, command: str) -> None:
        """Prepare to run ``command``."""
        self._command = command
        self._watching: Watching | None = None
        self._waiting: deque[str] = deque(maxlen=MOST_WAITING)
        self._dropped = 0
        self._run: subprocess.Popen[bytes] | None = None
        self._started = 0.0
        self._problem = ""

    def observe(self, watching: Watching) -> None:
        """Run it for each event of a program, which the caller steps."""
        self._watching = watching
        self._lines = JsonEvents(watching)
        watching.observers.append(self._update)

    def _update(self, _: Snapshot) -> None:
        self._step()

    def _step(self) -> bool:
        """Take the new events, and start the next run once the last has ended; return whether one runs."""
        for event, line in self._lines.events():
            if event.kind != "export":
                self._dropped += len(self._waiting) == MOST_WAITING
                self._waiting.append(line)
        if self._run is not None:
            status = self._run.poll()
            if status is None and time.monotonic() < self._started + RUN_LIMIT:
                return True
            if status is None:
                self._kill()
                self._report(f"killed: it took longer than {format_seconds(RUN_LIMIT)}")
            elif status:
                self._report(describe_exit(status))
            else:
                self._problem = ""
            self._run = None
        if self._dropped:
            dropped, self._dropped = self._dropped, 0
            self._report(f"too slow: {dropped} events were dropped")
        if self._waiting:
            self._start(self._waiting.popleft())
        return self._run is not None

    def _start(self, line: str) -> None:
        try:
            with ChildSetup(0) as setup:
                self._run = subprocess.Popen(
                    self._command,
                    shell=True,
                    stdin=subprocess.PIPE,
                    stdout=2,
                    start_new_session=True,
                    pass_fds=setup.descriptors,
                )
                setup.apply(self._run.pid)
        except OSError as error:
            self._report(str(error.strerror))
            return
        self._started = time.monotonic()
        assert self._run.stdin is not None
        # It fits into an empty pipe, so that this does not wait for the command to read it.
        with contextlib.suppress(OSError), self._run.stdin as pipe:
            pipe.write(line.encode())

    def _kill(self) -> None:
        assert self._run is not None
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._run.pid, signal.SIGKILL)
        self._run.wait()

    def _report(self, problem: str) -> None:
        """Add an event, unless the last run had the same problem."""
        if problem != self._problem:
            self._problem = problem
            assert self._watching is not None
            self._watching.log("", f"--on-event {flat(self._command)}: {problem}", "warning", "export")

    def close(self) -> None:
        """Run the command for the last events, for at most `END_LIMIT` seconds, and kill what is left."""
        ends = time.monotonic() + END_LIMIT
        while self._watching and self._step() and time.monotonic() < ends:
            time.sleep(POLL_INTERVAL)
        if self._run is not None:
            self._kill()
