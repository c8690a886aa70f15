"""Writes what labs know while they run."""

import contextlib
import shlex
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from concwatch.lab.catalog import Engine
from concwatch.lab.lab import Lab
from concwatch.lab.machine import describe_machine, program_version
from concwatch.recordings import format as lines
from concwatch.recordings.format import COLUMNS, VERSION, encode, tell_time
from concwatch.recordings.news import News
from concwatch.recordings.sinks import Lost, Sink

LOOK_AFTER = 1.0
"""Seconds between two looks whether the file still is where it was."""


class Recorder:
    """Follows one lab, or several one after another, into one file.

    Whatever goes wrong with the file is told once, in the lab's event log, and the lab goes on.
    """

    def __init__(self, path: Path, sink: Sink, command: str, engines: Sequence[Engine]) -> None:
        """Prepare to record; the recording begins with the first lab.

        Args:
            path: the file's name, for who is told of it.
            sink: where the lines go.
            command: how concwatch was called.
            engines: all that will have a lane in it.
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
        self._sink = sink
        self._command = command
        self._engines = tuple(engines)
        self._began: float | None = None
        self._news: News | None = None
        self._look_due = 0.0

    @property
    def size(self) -> int:
        """Bytes written so far."""
        return self._sink.size

    def follow(self, lab: Lab) -> None:
        """Write what holds of ``lab`` now, and from now on whatever is new after each of its steps."""
        self._leave()
        if not self.on:
            return
        now = lab.clock()
        began = now if self._began is None else self._began
        self._news = News(lab, {engine.name: place for place, engine in enumerate(self._engines)}, began)
        lab.observers.append(self._look)
        try:
            if self._began is None:
                self._put(self._header(lab))
                self._began = began
            self._put(self._news.beginning(now))
        except (OSError, ValueError) as error:
            self._fail(error)
        self._look(now)

    def stop(self, why: str) -> None:
        """Write the last line, which says in a few words ``why`` it ends, and close the file."""
        self._leave()
        if not self.on:
            return
        self.on = False
        try:
            if self._began is not None:
                self._put(lines.EndLine(self.seconds, why, self.samples))
                self._sink.check()
                self._sink.close()
            else:
                self._sink.discard()  # nothing has begun: an empty file would only be in the way
        except (OSError, ValueError) as error:
            self._fail(error)

    def _leave(self) -> None:
        """Follow the lab no more; what came after its last step is written first."""
        if self._news is None:
            return
        lab = self._news.lab
        self._look(lab.clock())
        self._news = None
        lab.observers.remove(self._look)

    def _look(self, now: float) -> None:
        """Write what is new; ``now`` in seconds on the lab's clock."""
        if not self.on or self._news is None or self._began is None:
            return
        try:
            for line in self._news.look(now):
                self._put(line)
                self.samples += isinstance(line, lines.Sample)
            self.seconds = lines.cut_time(now - self._began)
            if now >= self._look_due:
                self._look_due = now + LOOK_AFTER
                self._sink.check()
        except (OSError, ValueError) as error:
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        """End, and say in the event log what is lost; a file that has not even a header is removed."""
        self.on = False
        why = getattr(error, "strerror", None) or error
        end = self._sink.close
        if self._began is None:
            self.problem = f"not recorded: {self.path}: {why}: nothing of this session is kept"
            end = self._sink.discard
        elif isinstance(error, Lost):
            self.problem = f"recording stopped: {self.path}: {why}: all of it is lost"
        else:
            lost = f"what came after {tell_time(self.seconds)} is not in it"
            self.problem = f"recording stopped: {self.path}: {why}: {lost}"
        with contextlib.suppress(OSError, ValueError):  # it would be the same trouble once more
            end()
        if self._news is not None:
            lab = self._news.lab
            lab.events.add(lab.clock() - lab.began, "", self.problem, "error")

    def _put(self, line: "lines.Header | lines.Line | lines.Sample") -> None:
        self._sink.write(encode(line))

    def _header(self, lab: Lab) -> lines.Header:
        return lines.Header(
            version=VERSION,
            began=datetime.now(UTC).isoformat(),
            concwatch=program_version(),
            machine=describe_machine(),
            command=self._command,
            rate=lab.hz,
            lanes=tuple(
                lines.Engine(engine.name, engine.task, engine.queues, engine.threads)
                for engine in self._engines
            ),
            budget=lab.budget,
            columns=COLUMNS,
        )


def called() -> str:
    """Say how this program was called."""
    return shlex.join(["concwatch", *sys.argv[1:]])
