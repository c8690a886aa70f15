"""The agent's one thread: whom it reports to, and how it is out of the way when the program forks."""

from __future__ import annotations

import atexit
import os
import sys
from time import monotonic

from . import places
from .connection import Connection, Lost
from .primitives import allocate_lock, get_native_id, leave_signals_alone, sleep, start_new_thread
from .session import LAST_PATIENCE, Session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Optional

IDLE = 0.5
"""Seconds between two looks for a monitor that wants to attach."""

FORK_PATIENCE = 0.25
"""Seconds that a fork waits for the reporter to leave, at most."""

TRIES = 5
"""Times that it is tried to connect, and to connect again after the program has closed the connection."""

LAST = -1_000
"""The priority of what ``multiprocessing`` does at a child's end: behind everything of the program's."""

RUNNING = "_concwatch_agent"
"""The name in ``sys.modules`` of the one agent of a process, wherever it was loaded from."""


class Reporter:
    """Reports this process to one monitor at a time."""

    def __init__(self) -> None:
        self.on = False
        """Whether the agent is wanted: it runs, or comes back after a fork."""
        self.pid = os.getpid()
        self._address: Optional[str] = None
        """The monitor's socket; None where monitors come here."""
        self._next: Optional[str] = None
        """The socket of a monitor that came while another one was served: it waits until that has gone."""
        self._listener: Any = None
        self._listens_at = ""
        self._connection: Optional[Connection] = None
        self._session: Optional[Session] = None
        self._native_id = 0
        self._follows_multiprocessing = False
        self._fresh_locks()

    def _fresh_locks(self) -> None:
        self._wake = allocate_lock()
        self._wake.acquire()
        self._ended = allocate_lock()  # held while the thread runs
        self._quit = False

    # Beginning and end.

    def begin(self, address: Optional[str]) -> None:
        """Start to report, from a thread of its own."""
        if self.on and address == self._address:
            return
        if self.on and self._connection is not None:
            self._next = address
            return
        if self.on:  # it listens, and is now to connect
            self.end()
        elif self._ended.acquire(True, LAST_PATIENCE):  # the last thread may be taking its hooks back still
            self._ended.release()
        self.on = True
        self._address = address
        if address is not None:  # now, not when the monitor has answered: the program goes on meanwhile
            self._session = Session()
        self._start()

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
            closed = 0
            while not self._quit:
                lost = self._serve()
                if lost is None:
                    break
                # A program that becomes a daemon closes all files that it finds.
                closed += lost.by_program
                if self._next is not None:
                    self._let_go()
                    self._address, self._next = self._next, None
                elif self._address is None:
                    self._let_go()
                elif not lost.by_program or closed >= TRIES:
                    break
                elif self._connection is not None:
                    self._connection.close()
                    self._connection = None
        except Exception:  # nothing of the agent may be seen in the program
            import traceback

            traceback.print_exc()
        finally:
            if not self._quit:
                self.on = False  # first: who sees the hooks gone may start the agent again
                self._let_go()
                self._close_listener()
            self._ended.release()

    def _serve(self) -> Optional[Lost]:
        """Serve one monitor until it goes, and return how; None where the thread is to end."""
        try:
            if self._connection is None and not self._meet():
                return None
            assert self._session is not None
            while not self._quit:
                self._wake.acquire(True, self._session.step())
        except Lost as lost:
            return lost
        return None

    def _meet(self) -> bool:
        """Get a connection to a monitor, and greet it; False where there will be none. Raises `Lost`."""
        connection = self._connect() if self._address is not None else self._accept()
        if connection is None:
            return False
        self._connection = connection
        self._session = self._session or Session()
        self._session.greet(connection)
        return True

    def _connect(self) -> Optional[Connection]:
        assert self._address is not None
        for attempt in range(TRIES):
            if attempt and (self._wake.acquire(True, 0.1 * attempt) or self._quit):
                return None
            try:
                return Connection(places.connect(self._address))
            except BlockingIOError:  # too many at once
                continue
            except OSError:
                return None
        return None

    def _accept(self) -> Optional[Connection]:
        if self._listener is None:
            self._listener, self._listens_at = places.listen()
        while not self._quit:
            try:
                return Connection(places.accept(self._listener))
            except OSError:  # nobody, or not the right one
                self._wake.acquire(True, IDLE)
        return None

    def _let_go(self) -> None:
        """Take everything back, and close the connection."""
        if self._session is not None:
            self._session.close()
            self._session = None
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _close_listener(self) -> None:
        if self._listener is not None:
            self._listener.close()
            self._listener = None
            try:
                os.unlink(self._listens_at)
            except OSError:
                pass

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
        self._let_go()
        if self._listener is not None:
            self._listener.close()  # without taking the parent's path away
            self._listener = None
        self._fresh_locks()
        if self.on:
            if self._address is not None:
                self._session = Session()
            self._start()

    def finish(self) -> None:
        """Send the last figures when the process ends."""
        if not self.on or self.pid != os.getpid():
            return
        self.on = False
        if self._leave(LAST_PATIENCE):
            try:
                # A program that was quick has met no monitor yet.
                if self._connection is not None or (self._address is not None and self._meet()):
                    assert self._session is not None
                    self._session.finish()
            except Lost:
                pass
        self._let_go()
        self._close_listener()


def _execs() -> bool:
    """Return whether this fork is `subprocess`'s own, which runs another program at once."""
    return sys._getframe(4).f_globals.get("__name__") == "subprocess"


REPORTER = Reporter()
"""This process's."""


def _quietly(act: Callable[[], None]) -> None:
    """Call ``act``; what goes wrong in it is not the program's concern."""
    try:
        act()
    except Exception:
        pass


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=lambda: _quietly(REPORTER.before_fork),
        after_in_parent=lambda: _quietly(REPORTER.after_fork_in_parent),
        after_in_child=lambda: _quietly(REPORTER.after_fork_in_child),
    )
atexit.register(lambda: _quietly(REPORTER.finish))


def start(address: Optional[str]) -> None:
    """Begin; where another copy of the agent runs in this process already, have that one do it."""
    package = sys.modules[__package__]
    owner = sys.modules.setdefault(RUNNING, package)
    (REPORTER.begin if owner is package else owner.start)(address)


def stop() -> None:
    """End."""
    package = sys.modules[__package__]
    owner = sys.modules.get(RUNNING, package)
    (REPORTER.end if owner is package else owner.stop)()
