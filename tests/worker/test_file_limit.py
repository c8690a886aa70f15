"""Tasks that fail at the limit on open files: the errors, the target and the report."""

import errno
from collections import deque
from itertools import pairwise

import pytest

from concwatch.portable.machine.open_files import is_too_many_files, open_file_limit
from concwatch.portable.worker.engines import file_limit
from concwatch.portable.worker.engines.file_limit import QUIET, FileLimit
from concwatch.portable.worker.target import TargetTracker, TaskCounts


def caused(*errors):
    """Chain errors, and return the last one."""
    for before, error in pairwise(errors):
        error.__cause__ = before
    return errors[-1]


TOO_MANY = OSError(errno.EMFILE, "Too many open files")


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (TOO_MANY, True),
        (caused(OSError(errno.EMFILE, "x"), ValueError("no connection"), RuntimeError("no page")), True),
        (caused(*[OSError(errno.EMFILE, "x"), *(ValueError(str(n)) for n in range(20))]), False),
        (OSError(errno.ECONNREFUSED, "x"), False),
        (OSError("Too many open files"), False),
        (None, False),
    ],
)
def test_an_error_is_too_many_files_if_one_of_its_causes_is(error, expected):
    assert is_too_many_files(error) is expected


class FileBench:
    """Live tasks and the inbox of an engine, processed by `turn`. A tick takes most of `QUIET`."""

    def __init__(self, monkeypatch, target, live):
        self.now = 1000.0
        monkeypatch.setattr(file_limit, "monotonic", lambda: self.now)
        self.tracker, self.counts = TargetTracker(), TaskCounts()
        self.counts.created = live
        self.tracker.set_target(target, self.counts, 0.0)
        self.inbox = deque()
        self.limit = FileLimit(self.tracker, self.counts, self.inbox.append)
        self.reported = []

    def fail(self, tasks=1):
        for _ in range(tasks):
            assert self.limit.handle(TOO_MANY)
            self.counts.failed += 1

    def turn(self):
        while self.inbox:
            self.inbox.popleft()()

    def tick(self):
        self.now += 0.8 * QUIET
        self.limit.check(lambda *fields: self.reported.append(fields))
        self.turn()


def test_the_target_is_lowered_at_once_and_reported_when_failures_stop(monkeypatch):
    bench = FileBench(monkeypatch, 500, 300)
    assert not bench.limit.handle(ValueError("another error"))
    bench.fail(100)
    assert len(bench.inbox) == 1
    bench.turn()
    assert bench.tracker.target == 200
    bench.tick()  # tasks have failed since the last tick
    bench.fail(50)
    bench.turn()
    bench.tick()
    assert bench.reported == []
    bench.tick()
    assert bench.reported == [(150, 500, "ulimit -n", open_file_limit(), "Too many open files")]
    bench.tick()
    assert len(bench.reported) == 1
    assert bench.tracker.wanted(bench.counts.live) == 0


def test_a_target_set_after_failures_is_kept(monkeypatch):
    bench = FileBench(monkeypatch, 500, 300)
    bench.fail(100)
    bench.turn()
    bench.tracker.set_target(50, bench.counts, 1.0)
    bench.tick()
    bench.tick()
    assert bench.reported == []
    assert bench.tracker.target == 50


def test_failures_of_tasks_being_cancelled_are_not_a_limit(monkeypatch):
    bench = FileBench(monkeypatch, 10, 300)
    bench.fail(100)
    bench.turn()
    bench.tick()
    bench.tick()
    assert (bench.reported, bench.tracker.target) == ([], 10)
