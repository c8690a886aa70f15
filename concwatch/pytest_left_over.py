"""What each test leaves over: asyncio tasks, threads, and executors that were not shut down.

Each is recorded with the line that created it and with its owner: the test that ran then, or the fixture of
a wider scope that was being set up. It is reported once the owner has been torn down. A task is left over if
it is pending when its loop is closed; it is reported at the teardown in which that happens.
"""

import threading
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from time import monotonic
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary, ref

import pytest

from concwatch.portable.agent.basics.own_code import creating_line
from concwatch.portable.agent.counting.counted_group import CountedGroup
from concwatch.portable.agent.counting.counting import COUNTS
from concwatch.portable.agent.counting.threads import thread_label
from concwatch.portable.agent.hooking.hooks import HOOKS, Replacement
from concwatch.portable.agent.hooking.replacements import named_like
from concwatch.portable.protocol.units import counted

GRACE = 0.5
"""Seconds that the threads of a test may take to end after its teardown, all together."""

KINDS = ("task", "thread", "executor")

ATTRIBUTE = "concwatch_left_over"
"""The attribute of a report on a teardown."""

_POOLS = "concurrent.futures"
"""The module whose threads are reported as their executors."""


class Origin(NamedTuple):
    """Where something was created."""

    owner: str
    """The node id of the test, or the name of the fixture."""
    line: str


class LeftOver(NamedTuple):
    """Things of one kind that are left over; plain values, since pytest-xdist sends them."""

    kind: str
    name: str
    line: str
    owner: str


class Tracker:
    """Records what is created, until it is closed."""

    def __init__(self) -> None:
        self.owner = ""
        """Who owns what is created now."""
        self._tasks: WeakKeyDictionary[Any, Origin] = WeakKeyDictionary()
        self._left: list[LeftOver] = []
        self._threads: list[tuple[ref[threading.Thread], Origin]] = []
        self._executors: list[tuple[ref[Any], Origin]] = []
        self._replaced: list[Replacement] = []
        COUNTS.creation_observer, COUNTS.unfinished.observer = self._add_task, self._add_left_task
        HOOKS.install()
        self._replace(threading.Thread, "start", self._recording(self._threads))
        for executor in (ThreadPoolExecutor, ProcessPoolExecutor):
            self._replace(executor, "__init__", self._recording(self._executors))
            self._replace(executor, "shutdown", self._forgetting)

    def close(self) -> None:
        """Restore everything that was replaced."""
        for replacement in self._replaced:  # first, because they may have replaced those of `HOOKS`
            replacement.remove()
        HOOKS.remove()
        COUNTS.creation_observer = COUNTS.unfinished.observer = None

    def _replace(self, owner: type, name: str, wrap: Callable[[Any], Any]) -> None:
        replacement = Replacement(owner, name)
        replacement.install(wrap)
        self._replaced.append(replacement)

    def _recording(self, created: list[tuple[ref[Any], Origin]]) -> Callable[[Any], Any]:
        def wrap(original: Any) -> Any:
            def record(this: Any, *args: Any, **kw: Any) -> Any:
                created.append((ref(this), Origin(self.owner, creating_line(2))))
                return original(this, *args, **kw)

            return named_like(original, record)

        return wrap

    def _forgetting(self, original: Any) -> Any:
        def shutdown(this: Any, *args: Any, **kw: Any) -> Any:
            self._executors[:] = [each for each in self._executors if each[0]() not in (None, this)]
            return original(this, *args, **kw)

        return named_like(original, shutdown)

    def _add_task(self, task: Any, line: str) -> None:
        self._tasks[task] = Origin(self.owner, line)

    def _add_left_task(self, task: Any, group: CountedGroup) -> None:
        origin = self._tasks.get(task, Origin("", ""))
        self._left.append(LeftOver("task", group.name, origin.line, origin.owner))

    def left_over(self, owners: set[str]) -> list[LeftOver]:
        """Return, once, what is left over: tasks of all loops that were closed; the rest of these owners."""
        left, self._left = self._left, []
        for reference, origin in self._taken(self._executors, owners):
            executor = reference()
            if executor is not None:
                left.append(LeftOver("executor", type(executor).__name__, origin.line, origin.owner))
        pools = any(each.kind == "executor" for each in left)
        deadline = monotonic() + GRACE
        for reference, origin in self._taken(self._threads, owners):
            thread = reference()
            if thread is None or (pools and thread_label(thread).startswith(_POOLS)):
                continue
            thread.join(max(0.0, deadline - monotonic()))
            if thread.is_alive():
                left.append(LeftOver("thread", thread_label(thread), origin.line, origin.owner))
        return left

    @staticmethod
    def _taken(created: list[tuple[ref[Any], Origin]], owners: set[str]) -> Iterator[tuple[ref[Any], Origin]]:
        """Remove what belongs to these owners, and what is gone; return the former."""
        taken = [each for each in created if each[1].owner in owners]
        created[:] = [each for each in created if each[1].owner not in owners and each[0]() is not None]
        return iter(taken)


class LeftOverPlugin:
    """Reports what tests leave over, at the teardown of each and in a summary."""

    def __init__(self, fail: bool) -> None:
        self._fail = fail
        self._tracker = Tracker()
        self._finished: set[str] = set()
        """The owners that the current teardown has finished."""
        self._reported: dict[str, list[LeftOver]] = {}

    @contextmanager
    def _owned_by(self, owner: str) -> Iterator[None]:
        before, self._tracker.owner = self._tracker.owner, owner
        try:
            yield
        finally:
            self._tracker.owner = before

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Make a test the owner of what is created."""
        self._finished = {item.nodeid}
        with self._owned_by(item.nodeid):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
    ) -> Generator[None, object, object]:
        """Make a fixture that several tests share the owner of what it creates."""
        shared = request.scope != "function"
        with self._owned_by(_owner(fixturedef) if shared else self._tracker.owner):
            return (yield)

    def pytest_fixture_post_finalizer(self, fixturedef: pytest.FixtureDef[Any]) -> None:
        """Note that what a fixture has created should be gone."""
        self._finished.add(_owner(fixturedef))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Add what is left over to the report on a teardown."""
        report = yield
        if call.when == "teardown":
            left = self._tracker.left_over(self._finished)
            if left:
                vars(report)[ATTRIBUTE] = [list(each) for each in left]
                if self._fail and report.passed:
                    report.outcome = "failed"
                    report.longrepr = "\n".join(f"left over: {line}" for line in _lines(left, item.nodeid))
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep what is left over for the summary; with pytest-xdist, the workers send it."""
        for fields in getattr(report, ATTRIBUTE, ()):
            self._reported.setdefault(report.nodeid, []).append(LeftOver(*fields))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print what is left over, test by test."""
        terminalreporter.section("concwatch: left over")
        totals = Counter(each.kind for left in self._reported.values() for each in left)
        for nodeid, left in self._reported.items():
            for line in _lines(left, nodeid):
                terminalreporter.line(f"{nodeid}: {line}")
        sums = ", ".join(counted(totals[kind], kind) for kind in KINDS)
        terminalreporter.line(f"{sums} left over by {counted(len(self._reported), 'test')}")

    def pytest_unconfigure(self) -> None:
        """Restore everything."""
        self._tracker.close()


def _owner(fixture: pytest.FixtureDef[Any]) -> str:
    return f"fixture {fixture.argname}"


def _lines(left: list[LeftOver], nodeid: str) -> Iterator[str]:
    """Return a line for each name and creating line, the most frequent first."""
    for each, count in Counter(left).most_common():
        created = f", created at {each.line}" if each.line else ""
        by = f" by {each.owner}" if each.owner not in ("", nodeid) else ""
        yield f"{counted(count, each.kind)} {each.name}{created}{by}"
