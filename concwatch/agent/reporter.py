"""The agent's one thread: it ticks, scans, takes commands, and is out of the way when the program forks.

Over 300 lines: who runs when, and what happens at a fork and at the end, is one state, kept in one place.
"""

from __future__ import annotations

import atexit
import os
import sys
from time import monotonic, thread_time

from . import places
from .connection import Connection, Lost
from .counting import COUNTS
from .figures import Figures, Tracing
from .hooks import HOOKS
from .primitives import allocate_lock, get_native_id, leave_signals_alone, sleep, start_new_thread
from .process import flags, identity, name
from .report import Groups, tick
from .scan import LINKED, Scan, Tasks, see_running_loops
from .waits import look

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Iterator, List, Optional

SLOWEST, FASTEST = 0.1, 10.0

SHARE = 0.008
"""Of the process's time: one per cent, with what it takes to wake up."""

IDLE = 0.5
"""Seconds between two looks for a monitor that wants to attach."""

FORK_PATIENCE = 0.25
"""Seconds that a fork waits for the reporter to leave, at most."""

HURRY = 0.002
"""Seconds between two turns of a scan that holds tasks."""

LONGEST_PAUSE = 0.015
"""Seconds that the program may stand still more often than once in `SELDOM`."""

SELDOM = 60.0

LAST_PATIENCE = 1.0
"""Seconds that the last scan and the last reports may take when the process ends."""

COMMANDS_EVERY = 0.1
"""Seconds between two looks for a command, at most."""

ASKED_SHARE = 0.1
"""Of the process's time, while somebody waits for what was asked for."""

TRIES = 5
"""Times that it is tried to connect, and to connect again after the program has closed the connection."""

LAST = -1_000
"""The priority of what ``multiprocessing`` does at a child's end: behind everything of the program's."""

RUNNING = "_concwatch_agent"
"""The name in ``sys.modules`` of the one agent of a process, wherever it was loaded from."""


class Reporter:
    """Reports this process to one monitor at a time."""

    def __init__(self) -> None:
        self.address: Optional[str] = None
        self.on = False
        """Whether the agent is wanted: it runs, or comes back after a fork."""
        self.pid = os.getpid()
        self._listener: Any = None
        self._listens_at = ""
        self._connection: Optional[Connection] = None
        self._figures = Figures()
        self._tracing = Tracing()
        self._fresh_locks()
        self._native_id = 0
        self._follows_multiprocessing = False
        self._fresh()
        self._commands: Dict[str, Callable[[Dict[str, Any]], Optional[bool]]] = {
            "rate": self._set_rate,
            "waits": self._look,
            "outcomes": lambda fields: HOOKS.set_outcomes(_flag(fields, "on")),
            "trace": lambda fields: self._tracing.set(_flag(fields, "on")),
            "lines": self._lines,
            "detach": self._detach,
        }

    def _fresh(self) -> None:
        """Begin anew, as for a new monitor."""
        COUNTS.clear()
        self._scan = Scan()
        self._turns: Optional[Iterator[None]] = None
        self._asked: List[Iterator[None]] = []
        self._groups = Groups()
        self._interval = 1 / FASTEST
        self._number = 0
        self._tick_due = self._scan_due = self._turn_due = monotonic()
        self._tick_cost = 0.0
        self._told: Dict[str, Any] = {}
        """What may change of what was said of the process."""
        self._closed = 0
        self._told_of_pause = False

    def _fresh_locks(self) -> None:
        self._wake = allocate_lock()
        self._wake.acquire()
        self._ended = allocate_lock()  # held while the thread runs
        self._quit = False

    # Beginning and end.

    def begin(self, address: Optional[str]) -> None:
        """Start to report, from a thread of its own."""
        if self.on and (self._connection is not None or address == self.address):
            return
        if self.on:  # it listens, and is now told where to connect
            self.end()
        elif self._ended.acquire(True, LAST_PATIENCE):  # the last thread may be taking its hooks back still
            self._ended.release()
        self.on = True
        self.address = address
        if address is not None:  # now, not when the monitor has answered: the program goes on meanwhile
            self._fresh()
            self._count()
        self._start()

    def _count(self) -> None:
        """Begin to count; what is there now is older than the agent."""
        see_running_loops()
        older = Tasks()
        HOOKS.put()
        self._figures.collector.put()
        self._turns = self._scan.older(older)

    def end(self) -> None:
        """Stop, with everything taken back."""
        self.on = False
        self._leave(LAST_PATIENCE)
        self._let_go()
        self._close_listener()

    def _start(self) -> None:
        self._quit = False
        if not self._ended.acquire(True, 0.05):
            return  # it has not left, and goes on
        try:
            start_new_thread(self._run, ())
        except RuntimeError:  # no thread is to be had, or the interpreter is about to end
            self._ended.release()

    def _leave(self, patience: float) -> bool:
        """Have the thread end, and wait for it; False where it takes longer than ``patience`` seconds."""
        self._quit = True
        try:
            self._wake.release()
        except RuntimeError:  # it has been woken already
            pass
        if not self._ended.acquire(True, patience):
            return False
        self._ended.release()
        return True

    def _run(self) -> None:
        self._native_id = get_native_id()
        try:
            leave_signals_alone()
            while not self._quit and self._serve_one():
                pass
        except Exception:  # nothing of the agent may be seen in the program
            pass
        finally:
            if not self._quit:
                self.on = False
                self._let_go()
                self._close_listener()
            self._ended.release()

    def _serve_one(self) -> bool:
        """Serve one monitor until it goes, or until the thread is to leave; return whether to go on."""
        connection = self._connection
        new = connection is None
        if connection is None:
            connection = self._wait_for_one() if self.address is None else self._connect()
            if connection is None:
                return False
            if self.address is None:
                self._fresh()
                self._count()
            self._connection = connection
        try:
            if new:
                self._greet()
            self._serve()
        except Lost as lost:
            # A program that becomes a daemon closes all files that it finds.
            self._closed += 1
            if lost.by_program and self.address is not None and self._closed < TRIES:
                connection.close()
                self._connection = None
                return True
            self._let_go()
            return self.address is None
        return False

    def _connect(self) -> Optional[Connection]:
        assert self.address is not None
        for attempt in range(TRIES):
            if attempt and (self._wake.acquire(True, 0.1 * attempt) or self._quit):
                return None
            try:
                return Connection(places.connect(self.address))
            except BlockingIOError:  # too many at once
                continue
            except OSError:
                return None
        return None

    def _wait_for_one(self) -> Optional[Connection]:
        if self._listener is None:
            self._listener, self._listens_at = places.listen()
        while not self._quit:
            try:
                return Connection(places.accept(self._listener))
            except OSError:  # nobody, or not the right one
                self._wake.acquire(True, IDLE)
        return None

    def _greet(self) -> None:
        """Say who this is."""
        assert self._connection is not None
        self._groups = Groups()
        for group in list(COUNTS.groups.values()):
            group.sent = None
        self._told = {"name": name(), "flags": flags()}
        self._tick_due = monotonic()
        self._connection.send("ready", **identity(), **self._told, can=list(self._commands), workloads=[])

    def _let_go(self) -> None:
        """Take everything back, and close the connection."""
        HOOKS.take_back()
        self._figures.collector.take_back()
        try:
            self._tracing.set(False)
        except Exception:
            pass
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        self._turns = None
        self._asked = []
        COUNTS.clear()

    def _close_listener(self) -> None:
        if self._listener is not None:
            self._listener.close()
            self._listener = None
            try:
                os.unlink(self._listens_at)
            except OSError:
                pass

    # The thread's turns.

    def _serve(self) -> None:
        assert self._connection is not None
        while not self._quit:
            began = thread_time()
            now = monotonic()
            self._take_commands()
            if now >= self._turn_due or self._hurry:
                self._turn(now)
            if now >= self._tick_due:
                self._tick_due = now + self._interval
                if not self._connection.behind:
                    self._tick(now)
            self._connection.flush()
            self._pay(thread_time() - began)
            due = self._tick_due
            if self._hurry:
                due = monotonic() + HURRY
            elif self._turns is not None or self._asked:
                due = min(due, self._turn_due)
            self._wake.acquire(True, min(COMMANDS_EVERY, max(0.0005, due - monotonic())))

    @property
    def _hurry(self) -> bool:
        return self._turns is not None and self._scan.hurry

    def _pay(self, used: float) -> None:
        """Put the next turn off until the time that was used is the agent's share."""
        share = ASKED_SHARE if self._asked else SHARE
        self._turn_due = max(self._turn_due, monotonic()) + used / share

    def _turn(self, now: float) -> None:
        """Go on with a scan, or with what was asked for."""
        if self._turns is None and now >= self._scan_due and not self._asked:
            HOOKS.look()
            self._scan_due = now + self._interval
            self._turns = self._scan.next()
        turns = self._asked[0] if self._asked else self._turns
        if turns is None:
            return
        for _ in turns:
            break
        else:
            if self._asked:
                del self._asked[0]
            else:
                self._turns = None
                self._send_groups(now)
                if LINKED and self._scan.pause > LONGEST_PAUSE:
                    self._scan_due = now + SELDOM
                    self._tell_of_pause()

    def _tell_of_pause(self) -> None:
        if not self._told_of_pause:
            self._told_of_pause = True
            assert self._connection is not None
            message = (
                "with so many tasks they are counted once a minute: this Python lists them all at once, "
                f"and the program stands still for {self._scan.pause * 1000:.0f} ms"
            )
            self._connection.send("error", command=None, message=message, detail=None)

    def _tick(self, now: float) -> None:
        assert self._connection is not None
        began = thread_time()
        self._number += 1
        fields = tick(self._number, self._scan, self._figures, HOOKS.outcomes)
        known = {"name": name(), "flags": flags()}
        fields.update({key: value for key, value in known.items() if self._told[key] != value})
        self._told = known
        self._connection.send("tick", **fields)
        self._tick_cost = 0.8 * self._tick_cost + 0.2 * (thread_time() - began)
        # Never catch up; and a process with thousands of threads and groups is asked less often.
        self._tick_due = now + max(self._interval, self._tick_cost / (SHARE / 2))

    def _send_groups(self, now: float) -> None:
        assert self._connection is not None
        if self._connection.behind:
            return
        report = self._groups.report(now, self._scan, HOOKS.outcomes)
        if report is not None:
            self._connection.send("groups", **report)

    # Commands.

    def _take_commands(self) -> None:
        assert self._connection is not None
        for fields, problem in self._connection.commands():
            arrived = monotonic()
            asked = None if fields is None else fields["type"][:60]
            try:
                if fields is None:
                    raise ValueError(problem)
                act = self._commands.get(fields["type"])
                if act is None:
                    raise ValueError(
                        f'unknown command "{asked}": expected one of {", ".join(self._commands)}'
                    )
                if not act(fields):
                    self._connection.send(
                        "applied", command=asked, seconds=monotonic() - arrived, flags=flags()
                    )
            except Lost:
                raise
            except Exception as error:
                message = " ".join(str(error).split())[:1000] or type(error).__name__
                self._connection.send("error", command=asked, message=message, detail=None)

    def _set_rate(self, fields: Dict[str, Any]) -> None:
        hz = fields.get("hz")
        if isinstance(hz, bool) or not isinstance(hz, (int, float)) or not SLOWEST <= hz <= FASTEST:
            raise ValueError(f'"hz" is {hz!r}: expected ticks a second from {SLOWEST} to {FASTEST:.0f}')
        self._interval = 1 / hz
        self._tick_due = self._scan_due = monotonic()

    def _look(self, fields: Dict[str, Any]) -> bool:
        wanted = fields.get("group")
        group = next((one for one in list(COUNTS.groups.values()) if one.number == wanted), None)
        if group is None:
            raise ValueError(f'"group" is {wanted!r}: expected the number of a group that was reported')
        if len(self._asked) >= 10:
            raise ValueError("ten are being looked up already")

        def answer(report: Dict[str, Any]) -> None:
            if self._connection is not None:
                self._connection.send("waits", **report)

        self._asked.append(look(group, answer))
        return True

    def _lines(self, fields: Dict[str, Any]) -> bool:
        assert self._connection is not None
        self._connection.send("lines", **self._tracing.lines())
        return True

    def _detach(self, fields: Dict[str, Any]) -> bool:
        raise Lost

    # At a fork, and at the end.

    def before_fork(self) -> None:
        """Leave: a fork with a second thread would be warned of, and may find locks held for ever."""
        if self.on and not _execs():
            self._finish_with_multiprocessing()
            self._leave(FORK_PATIENCE)
            until = monotonic() + 0.05  # a thread has ended for Python a little before it has for the system
            while os.path.exists(f"/proc/self/task/{self._native_id}") and monotonic() < until:
                sleep(0.0005)

    def _finish_with_multiprocessing(self) -> None:
        """Have the last figures sent by children of ``multiprocessing``, too: they end without ``atexit``."""
        util = sys.modules.get("multiprocessing.util")
        if util is None or self._follows_multiprocessing:
            return
        self._follows_multiprocessing = True
        util.register_after_fork(
            self, lambda one: util.Finalize(None, lambda: _quietly(one.finish), exitpriority=LAST)
        )

    def after_fork_in_parent(self) -> None:
        """Go on."""
        if self.on and not _execs():
            self._start()

    def after_fork_in_child(self) -> None:
        """Begin anew, as a process of its own."""
        if _execs():  # in a moment this is another program
            self.on = False
            return
        self.pid = os.getpid()
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        if self._listener is not None:
            self._listener.close()  # without taking the parent's path away
            self._listener = None
        self._fresh_locks()
        if self.on:
            self._figures.collector.take_back()
            self._figures = Figures()
            self._fresh()
            if self.address is None:
                HOOKS.take_back()
            else:
                self._count()
            self._start()

    def finish(self) -> None:
        """Send the last figures when the process ends."""
        if not self.on or self.pid != os.getpid():
            return
        self.on = False
        if self._leave(LAST_PATIENCE):
            try:
                if self._connection is None and self.address is not None:  # it was quick
                    self._connection = self._connect()
                    self._greet()
                self._send_last()
            except (AssertionError, Lost):  # there is no monitor
                pass
        self._let_go()
        self._close_listener()

    def _send_last(self) -> None:
        connection = self._connection
        assert connection is not None
        connection.patience = LAST_PATIENCE
        until = monotonic() + LAST_PATIENCE
        for turns in (self._turns, self._scan.next()):
            for _ in turns or ():
                if monotonic() > until:
                    break
        connection.send("tick", **tick(self._number + 1, self._scan, self._figures, HOOKS.outcomes))
        report = self._groups.report(monotonic(), self._scan, HOOKS.outcomes, last=True)
        if report is not None:
            connection.send("groups", **report)
        connection.send("end")
        connection.flush()


def _execs() -> bool:
    """Return whether this fork is `subprocess`'s own, which runs another program at once."""
    return sys._getframe(4).f_globals.get("__name__") == "subprocess"


def _flag(fields: Dict[str, Any], key: str) -> bool:
    value = fields.get(key)
    if not isinstance(value, bool):
        raise ValueError(f'"{key}" is {value!r}: expected true or false')
    return value


REPORTER = Reporter()
"""This process's."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=lambda: _quietly(REPORTER.before_fork),
        after_in_parent=lambda: _quietly(REPORTER.after_fork_in_parent),
        after_in_child=lambda: _quietly(REPORTER.after_fork_in_child),
    )
atexit.register(lambda: _quietly(REPORTER.finish))


def _quietly(act: Callable[[], None]) -> None:
    """Call ``act``; what goes wrong in it is not the program's concern."""
    try:
        act()
    except Exception:
        pass


def start(address: Optional[str]) -> None:
    """Begin; where another copy of the agent runs in this process already, have that one do it."""
    package = sys.modules[__package__]
    owner = sys.modules.setdefault(RUNNING, package)
    if owner is not package:
        owner.start(address)
    else:
        REPORTER.begin(address)


def stop() -> None:
    """End."""
    owner = sys.modules.get(RUNNING)
    if owner is not None and owner is not sys.modules[__package__]:
        owner.stop()
    else:
        REPORTER.end()
