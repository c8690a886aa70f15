"""Events of a watched program as JSON lines, as they happen, and the figures of its processes in between."""

import json
import math
import os
import stat
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from concwatch.exporters.exporter import PROCESS_EXPORTED
from concwatch.monitor.metrics.metrics import LaneSnapshot
from concwatch.monitor.metrics.snapshot import Snapshot
from concwatch.monitor.verdicts.events import Event
from concwatch.monitor.watching.watching import Watching
from concwatch.portable.protocol.text import flat


class JsonEvents:
    """What happens in a watched program, as JSON objects of one line each.

    An event has ``time`` (UTC, ISO 8601), ``process``, ``kind``, ``severity``, ``text``, ``number``;
    ``function`` and ``where``: the function that it is about, and its file and line, or null; and
    ``updates``: the number of the event about the same thing that it updates or ends, or null. A sample has
    ``time``, ``process``, ``pid``, its ``state`` and the metrics of `PROCESS_EXPORTED`, by name, in bytes and
    seconds.
    """

    def __init__(self, watching: Watching) -> None:
        """Begin with the first event of ``watching``, such as why a process has no agent."""
        self._watching = watching
        self._seen = 0
        self._began = time.time() - (watching.clock() - watching.began)

    def events(self) -> Sequence[tuple[Event, str]]:
        """Return the events since the last call, each with its line."""
        new = self._watching.events.since(self._seen)
        self._seen = self._watching.events.count
        return [(event, self._event(event)) for event in new]

    def _event(self, event: Event) -> str:
        return self._line(
            event.time,
            {
                "process": event.lane,
                **event.identity,
            },
        )

    def samples(self, snapshot: Snapshot) -> Sequence[str]:
        """Return a line for each process of a snapshot that is running."""
        return [self._sample(lane, snapshot.elapsed) for lane in snapshot.lanes if lane.on]

    def _sample(self, lane: LaneSnapshot, elapsed: float) -> str:
        metrics = {row.field: row.value(lane) for row in PROCESS_EXPORTED}
        return self._line(
            elapsed,
            {"process": lane.name, "pid": lane.status.pid, "state": lane.status.state.value, **metrics},
        )

    def _line(self, seconds: float, fields: Mapping[str, Any]) -> str:
        moment = datetime.fromtimestamp(self._began + seconds, UTC).isoformat(timespec="milliseconds")
        return json.dumps({"time": moment, **fields}) + "\n"


RECOVERY = 10.0
"""Seconds without a line left out after which a file counts as one that can be written again."""


class EventFile:
    """Writes the events of a watched program to a file as they happen, one JSON object a line.

    A line that cannot be written, such as on a full disk, is left out whole. One event says so, and another
    one how many were left out, once none has been for `RECOVERY` seconds: a short line may still have room
    where a long one has not.
    """

    def __init__(self, file: str, sample_interval: float | None = None) -> None:
        """Open a file to append to.

        Args:
            file: the path of the file, or ``-`` for standard output.
            sample_interval: seconds between two samples of all processes; None for events only.

        Raises:
            ValueError: the file cannot be opened; the message is one line.
        """
        self._file = file
        try:
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
            self._descriptor = os.dup(1) if file == "-" else os.open(file, flags, 0o666)
        except OSError as error:
            raise ValueError(f'file "{flat(file)}" cannot be written ({error.strerror})') from None
        self._can_truncate = stat.S_ISREG(os.fstat(self._descriptor).st_mode)
        self._interval = sample_interval
        self._sample_due = math.inf
        self._left_out = 0
        self._failed = 0.0
        """When a line was last left out."""
        self._watching: Watching | None = None

    def observe(self, watching: Watching) -> None:
        """Write what happens in a program, which the caller steps."""
        self._watching = watching
        self._lines = JsonEvents(watching)
        if self._interval is not None:
            self._sample_due = watching.clock() + self._interval
        watching.observers.append(self._update)

    def _update(self, snapshot: Snapshot) -> None:
        """Write what is new."""
        for _, line in self._lines.events():
            self._write(line)
        if self._left_out and snapshot.time >= self._failed + RECOVERY:
            left_out, self._left_out = self._left_out, 0
            lines = "1 line was" if left_out == 1 else f"{left_out} lines were"
            self._log(f"can be written again; {lines} left out")
        if self._interval is not None and snapshot.time >= self._sample_due:
            self._sample_due = snapshot.time + self._interval
            for line in self._lines.samples(snapshot):
                self._write(line)

    def _write(self, line: str) -> None:
        data = line.encode()
        try:
            before = os.fstat(self._descriptor).st_size
            if os.write(self._descriptor, data) < len(data):
                if self._can_truncate:
                    os.ftruncate(self._descriptor, before)
                raise OSError(0, "no room")
        except OSError as error:
            assert self._watching is not None
            self._failed = self._watching.clock()
            self._left_out += 1
            if self._left_out == 1:
                self._log(f"{error.strerror}: lines are left out until there is room")

    def _log(self, text: str) -> None:
        assert self._watching is not None
        self._watching.log("", f"--log {flat(self._file)}: {text}", "warning", "export")

    def close(self) -> None:
        """Write the last events and close the file."""
        for _, line in self._lines.events() if self._watching else ():
            self._write(line)
        os.close(self._descriptor)
