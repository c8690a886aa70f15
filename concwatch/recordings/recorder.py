"""The recorder: writes the snapshots, events and marks of labs to a file while they run."""

import contextlib
import shlex
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from msgspec import Struct, structs

from concwatch.monitor.lanes.lane import facts
from concwatch.monitor.metrics.group_status import largest
from concwatch.monitor.metrics.metrics import LaneSnapshot, Sample
from concwatch.monitor.metrics.observable import Observable
from concwatch.monitor.metrics.snapshot import Snapshot
from concwatch.monitor.workers.catalog import Engine
from concwatch.recordings import format as lines
from concwatch.recordings.format import (
    VERSION,
    encode,
    format_position,
    round_number,
    round_sample,
    truncate_time,
)
from concwatch.recordings.writers import FileLost, FileWriter
from concwatch.system.machine import describe_machine, program_version

MAX_GROUPS = 50
"""Groups of a process that are recorded: the largest."""

MAX_BLOCKS = 20
"""Places of a process that are recorded: those that blocked its loops the longest."""

MAX_FRAMES = 10
"""Frames that are recorded of each such place."""

CHECK_INTERVAL = GROUPS_INTERVAL = 1.0
"""Seconds between two checks of the file, and between two writes of groups."""


class Recorder:
    """Records one lab, several labs one after another, or a watched program into one file.

    An error of the file ends the recording and is reported once, in the lab's event log; the lab goes on.
    """

    def __init__(self, path: Path, writer: FileWriter, command: str, engines: Sequence[Engine]) -> None:
        """Prepare the recording, which begins with the first lab.

        Args:
            path: the file's name, for messages.
            writer: writes the lines.
            command: the command line of concwatch.
            engines: the engines that have lanes from the start, for the header.
        """
        self.path = path
        self.samples = 0
        """Number of samples written."""
        self.seconds = 0.0
        """Length of the recording."""
        self.problem = ""
        """Why recording failed, and what is lost, in one line; empty if it has not failed."""
        self.on = True
        """Whether it is still recording."""
        self._writer = writer
        self._command = command
        self._engines = tuple(engines)
        self._places = {engine.name: place for place, engine in enumerate(engines)}
        self._joined: dict[int, int] = {}
        """Lanes that are not in the header: index in the snapshot → number in the recording."""
        self._began: float | None = None
        self._lab: Observable | None = None
        self._last: dict[object, object] = {}
        """The value last written of each part of a snapshot."""
        self._events = self._marks = self._blocks = 0
        self._event_lines = self._events_before = 0
        """The lines of events written so far, and how many events the lab had before it was recorded."""
        self._check_due = self._groups_due = 0.0

    @property
    def size(self) -> int:
        """Bytes written so far."""
        return self._writer.size

    def observe(self, lab: Observable) -> None:
        """Write the current state of ``lab``, and then its changes after each of its steps."""
        self._leave()
        if not self.on:
            return
        now = lab.clock()
        began = now if self._began is None else self._began
        self._lab, self._last = lab, {}
        self._events, self._marks = lab.events.count, lab.marks.count
        self._events_before = self._events - self._event_lines
        lab.observers.append(self._record)
        snapshot = lab.snapshot(now)
        self._blocks = snapshot.blocks.count
        places = tuple(self._places[lane.name] for lane in snapshot.lanes if lane.name in self._places)
        with self._failing():
            if self._began is None:
                self._write(self._header(snapshot))
                self._began = began
            self._write(lines.LabLine(truncate_time(now - began), snapshot.hz, snapshot.budget, places))
        self._record(snapshot)

    def stop(self, why: str) -> None:
        """Write the last line, with the reason in a few words, and close the file."""
        self._leave()
        if not self.on:
            return
        self.on = False
        with self._failing():
            if self._began is not None:
                self._write(lines.EndLine(self.seconds, why, self.samples))
                self._writer.check()
                self._writer.close()
            else:
                self._writer.discard()  # no lab was recorded: leave no empty file

    def _leave(self) -> None:
        """Stop observing the lab, after writing what changed since its last step."""
        if self._lab is None:
            return
        lab = self._lab
        self._record(lab.snapshot())
        self._lab = None
        lab.observers.remove(self._record)

    def _record(self, snapshot: Snapshot) -> None:
        """Write the changes since the last snapshot."""
        if not self.on or self._lab is None or self._began is None:
            return
        now = snapshot.time
        with self._failing():
            for line in self._changes(snapshot, self._began):
                self._write(line)
                self.samples += isinstance(line, Sample)
            self.seconds = truncate_time(now - self._began)
            if now >= self._check_due:
                self._check_due = now + CHECK_INTERVAL
                self._writer.check()

    def _changes(self, snapshot: Snapshot, began: float) -> Iterator[lines.Line | Sample]:
        """Yield a line for each part that has changed since the last snapshot."""
        time = truncate_time(max(0.0, snapshot.time - began))
        if self._is_new("settings", snapshot.settings):
            yield lines.SettingsLine(time=time, **structs.asdict(snapshot.settings))
        if self._is_new("own", snapshot.machine):
            yield lines.OwnLine(time=time, **_rounded(snapshot.machine))
        for index, lane in enumerate(snapshot.lanes):
            place = self._places.get(lane.name)
            if place is None:
                place = self._joined.setdefault(index, len(self._engines) + len(self._joined))
                if self._is_new((place, "join"), lane.engine):
                    yield lines.JoinLine(time=time, lane=place, **structs.asdict(lane.engine))
            if self._is_new(place, lane.status):
                status = {**_rounded(lane.status), "born": truncate_time(lane.status.born - began)}
                yield lines.LaneLine(time=time, lane=place, **status)
            # A sample from before the start of this worker is an earlier worker's.
            if self._is_new((place, "sample"), lane.sample) and lane.sample.time >= lane.status.born:
                yield round_sample(lane.sample, place, began)
        due = snapshot.time >= self._groups_due
        if due:
            self._groups_due = snapshot.time + GROUPS_INTERVAL
        for index, lane in enumerate(snapshot.lanes):
            wanted = due if lane.on else self._is_new((index, "ended"), lane.name)  # the last ones stay
            if wanted:
                yield from self._groups_and_blocks(lane, index, time)
        since = snapshot.time - snapshot.elapsed - began  # the start of the lab, in the recording
        for event in snapshot.events.since(self._events):
            moment = truncate_time(max(0.0, event.time + since))
            self._event_lines += 1
            updates = max(0, event.updates - self._events_before) if event.updates else 0
            yield lines.EventLine(moment, event.lane, event.text, event.severity, event.kind, updates)
        for mark in snapshot.marks.since(self._marks):
            moment = truncate_time(mark.time + since)
            if moment >= 0:  # a note may be on a moment before the recording
                yield lines.MarkLine(moment, mark.lane, mark.kind, mark.text)
        for block in snapshot.blocks.since(self._blocks):
            moment = truncate_time(max(0.0, block.time + since))
            yield lines.MarkLine(moment, block.lane, block.kind, block.text)
        self._events, self._marks = snapshot.events.count, snapshot.marks.count
        self._blocks = snapshot.blocks.count

    def _groups_and_blocks(
        self, lane: LaneSnapshot, index: int, time: float
    ) -> Iterator[lines.GroupsLine | lines.BlocksLine]:
        """Yield the groups of a lane, and what has blocked its loops, if these have changed."""
        groups = largest(lane.groups, MAX_GROUPS)
        if (groups or self._last.get((index, "groups"))) and self._is_new((index, "groups"), groups):
            yield lines.GroupsLine(time, self._joined[index], groups)
        blocks = lane.blocks[:MAX_BLOCKS]
        if blocks and self._is_new((index, "blocks"), blocks):
            shorter = [structs.replace(one, stack=one.stack[:MAX_FRAMES]) for one in blocks]
            yield lines.BlocksLine(time, self._joined[index], tuple(shorter))

    def _is_new(self, key: object, value: object) -> bool:
        if self._last.get(key) == value:
            return False
        self._last[key] = value
        return True

    @contextlib.contextmanager
    def _failing(self) -> Iterator[None]:
        """Stop recording if writing fails."""
        try:
            yield
        except (OSError, ValueError) as error:
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        """Stop recording and log what is lost; delete a file without a header."""
        self.on = False
        why = getattr(error, "strerror", None) or error
        done, end = "recording stopped", self._writer.close
        if self._began is None:
            done, end = "not recorded", self._writer.discard
            lost = "nothing of this session is kept"
        elif isinstance(error, FileLost):
            lost = "all of it is lost"
        else:
            lost = f"what came after {format_position(self.seconds)} is not in it"
        self.problem = f"{done}: {why} ({self.path}); {lost}"
        with contextlib.suppress(OSError, ValueError):  # closing can fail for the same reason
            end()
        if self._lab is not None:
            self._lab.log("", self.problem, "error")

    def _write(self, line: lines.Header | lines.Line | Sample) -> None:
        self._writer.write(encode(line))

    def _header(self, snapshot: Snapshot) -> lines.Header:
        return lines.Header(
            version=VERSION,
            began=datetime.now(UTC).isoformat(),
            concwatch=program_version(),
            machine=describe_machine(),
            command=self._command,
            rate=snapshot.hz,
            lanes=tuple(facts(engine) for engine in self._engines),
            budget=snapshot.budget,
        )


def _rounded(part: Struct) -> dict[str, Any]:
    return {
        name: round_number(value) if isinstance(value, float) else value
        for name, value in structs.asdict(part).items()
    }


def command_line() -> str:
    """Return the command line of this process."""
    return shlex.join(["concwatch", *sys.argv[1:]])
