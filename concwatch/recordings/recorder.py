"""Writes what labs know while they run."""

import contextlib
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from msgspec import Struct, structs

from concwatch.lab.catalog import Engine
from concwatch.lab.events import EventLog, MarkLog
from concwatch.lab.lane import facts
from concwatch.lab.snapshot import Sample, Snapshot
from concwatch.recordings import format as lines
from concwatch.recordings.format import VERSION, cut_time, encode, format_position, rounded, written
from concwatch.recordings.writers import FileWriter, Lost
from concwatch.system.machine import describe_machine, program_version
from concwatch.watch.group import GroupStatus

LOOK_AFTER = GROUPS_AFTER = 1.0
"""Seconds between two looks whether the file is where it was, and two times that groups are written."""


class Followed(Protocol):
    """What can be recorded: a lab, or a watched program."""

    hz: float
    began: float
    clock: Callable[[], float]
    events: EventLog
    marks: MarkLog
    observers: list[Callable[[Snapshot], None]]

    @property
    def budget(self) -> int:
        """Bytes of memory that there is for all lanes."""
        ...

    def snapshot(self, now: float | None = None) -> Snapshot:
        """Return a picture of all lanes."""
        ...

    def groups(self) -> Iterable[tuple[int, tuple[GroupStatus, ...]]]:
        """Yield each lane's place whose tasks are known by coroutine function, with its groups."""
        ...


class Recorder:
    """Follows one lab, or several one after another, or a watched program, into one file.

    Whatever goes wrong with the file is reported once, in the lab's event log, and the lab goes on.
    """

    def __init__(self, path: Path, writer: FileWriter, command: str, engines: Sequence[Engine]) -> None:
        """Prepare to record; the recording begins with the first lab.

        Args:
            path: the file's name, for messages.
            writer: where the lines go.
            command: how concwatch was called.
            engines: all that will have a lane in it from its beginning.
        """
        self.path = path
        self.samples = 0
        """How many samples have been written."""
        self.seconds = 0.0
        """How long it is."""
        self.problem = ""
        """Why it has stopped by itself, and what is lost; one line for a person."""
        self.on = True
        """Whether what comes is written."""
        self._writer = writer
        self._command = command
        self._engines = tuple(engines)
        self._places = {engine.name: place for place, engine in enumerate(engines)}
        self._joined: dict[int, int] = {}
        """Lanes that the header does not have: place in the snapshot → number in the recording."""
        self._began: float | None = None
        self._lab: Followed | None = None
        self._told: dict[object, object] = {}
        self._events = self._marks = 0
        self._look_due = self._groups_due = 0.0

    @property
    def size(self) -> int:
        """Bytes written so far."""
        return self._writer.size

    def follow(self, lab: Followed) -> None:
        """Write what holds of ``lab`` now, and from now on whatever is new after each of its steps."""
        self._leave()
        if not self.on:
            return
        now = lab.clock()
        began = now if self._began is None else self._began
        self._lab, self._told = lab, {}
        self._events, self._marks = lab.events.count, lab.marks.count
        lab.observers.append(self._look)
        names = [lane.name for lane in lab.snapshot(now).lanes]
        places = tuple(self._places[name] for name in names if name in self._places)
        with self._failing():
            if self._began is None:
                self._put(self._header(lab))
                self._began = began
            self._put(lines.LabLine(cut_time(now - began), lab.hz, lab.budget, places))
        self._look(lab.snapshot(now))

    def stop(self, why: str) -> None:
        """Write the last line, with ``why`` it ends in a few words, and close the file."""
        self._leave()
        if not self.on:
            return
        self.on = False
        with self._failing():
            if self._began is not None:
                self._put(lines.EndLine(self.seconds, why, self.samples))
                self._writer.check()
                self._writer.close()
            else:
                self._writer.discard()  # nothing has begun: an empty file would only be in the way

    def _leave(self) -> None:
        """Follow the lab no more; what came after its last step is written first."""
        if self._lab is None:
            return
        lab = self._lab
        self._look(lab.snapshot())
        self._lab = None
        lab.observers.remove(self._look)

    def _look(self, snapshot: Snapshot) -> None:
        """Write what is new."""
        if not self.on or self._lab is None or self._began is None:
            return
        now = snapshot.time
        with self._failing():
            for line in self._changes(snapshot, self._lab, self._began):
                self._put(line)
                self.samples += isinstance(line, Sample)
            self.seconds = cut_time(now - self._began)
            if now >= self._look_due:
                self._look_due = now + LOOK_AFTER
                self._writer.check()

    def _changes(self, snapshot: Snapshot, lab: Followed, began: float) -> Iterator[lines.Line | Sample]:
        """Yield the lines of what was not so at the last look."""
        time = cut_time(max(0.0, snapshot.time - began))
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
                known = {**_rounded(lane.status), "born": cut_time(lane.status.born - began)}
                yield lines.LaneLine(time=time, lane=place, **known)
            # A sample from before the worker's start is of one that nothing is known of any more.
            if self._is_new((place, "sample"), lane.sample) and lane.sample.time >= lane.status.born:
                yield written(lane.sample, place, began)
        if snapshot.time >= self._groups_due:
            self._groups_due = snapshot.time + GROUPS_AFTER
            for index, groups in lab.groups():
                if self._is_new((index, "groups"), groups):
                    yield lines.GroupsLine(time, self._joined[index], groups)
        for event in lab.events.since(self._events):
            moment = cut_time(max(0.0, event.time + lab.began - began))
            yield lines.EventLine(moment, event.lane, event.text, event.severity)
        for mark in lab.marks.since(self._marks):
            moment = cut_time(mark.time + lab.began - began)
            if moment >= 0:  # a note may be put on any moment of the past
                yield lines.MarkLine(moment, mark.lane, mark.kind, mark.text)
        self._events, self._marks = lab.events.count, lab.marks.count

    def _is_new(self, key: object, value: object) -> bool:
        if self._told.get(key) == value:
            return False
        self._told[key] = value
        return True

    @contextlib.contextmanager
    def _failing(self) -> Iterator[None]:
        """Have what goes wrong with the file end the recording, and no more."""
        try:
            yield
        except (OSError, ValueError) as error:
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        """End, and report what is lost in the event log; a file that has not even a header is removed."""
        self.on = False
        why = getattr(error, "strerror", None) or error
        done, end = "recording stopped", self._writer.close
        if self._began is None:
            done, end = "not recorded", self._writer.discard
            lost = "nothing of this session is kept"
        elif isinstance(error, Lost):
            lost = "all of it is lost"
        else:
            lost = f"what came after {format_position(self.seconds)} is not in it"
        self.problem = f"{done}: {self.path}: {why}: {lost}"
        with contextlib.suppress(OSError, ValueError):  # it would be the same trouble once more
            end()
        if self._lab is not None:
            self._lab.events.add(self._lab.clock() - self._lab.began, "", self.problem, "error")

    def _put(self, line: lines.Header | lines.Line | Sample) -> None:
        self._writer.write(encode(line))

    def _header(self, lab: Followed) -> lines.Header:
        return lines.Header(
            version=VERSION,
            began=datetime.now(UTC).isoformat(),
            concwatch=program_version(),
            machine=describe_machine(),
            command=self._command,
            rate=lab.hz,
            lanes=tuple(facts(engine) for engine in self._engines),
            budget=lab.budget,
        )


def _rounded(part: Struct) -> dict[str, Any]:
    return {
        name: rounded(value) if isinstance(value, float) else value
        for name, value in structs.asdict(part).items()
    }


def called() -> str:
    """Return how this program was called."""
    return shlex.join(["concwatch", *sys.argv[1:]])
