"""The agent's thread: it connects to a monitor, runs a session, and exits around forks."""

from __future__ import annotations

import atexit
import os
import sys
from errno import EBADF
from time import monotonic

from ..basics.guard import ERRORS, guarded
from ..basics.primitives import allocate_lock, block_signals, get_native_id, sleep, start_new_thread
from ..blocking.handover import HANDOVER
from ..counting.counting import COUNTS
from ..hooking.exits import BEFORE_EXIT
from ..hooking.hooks import HOOKS
from . import places
from .connection import Connection, Lost
from .session import AgentSession

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

ACCEPT_INTERVAL = 0.5
"""Seconds between two checks for a monitor that has connected to the listening socket."""

PAUSE = 0.002
"""Seconds between the beginning of the connection and the first report, in which event loops may run."""

FORK_TIMEOUT = 0.25
"""Seconds that a fork may wait for the thread to exit."""

MAX_ATTEMPTS = 5
"""Attempts to connect, and reconnections after the program has closed the connection."""

FINISH_TIMEOUT = 1.0
"""Seconds that the last scan and the last reports may take at exit."""

AT_ONCE = 0.2
"""Seconds that the last scan and the last reports may take if the process exits without ``atexit``."""

EXIT_PRIORITY = -1_000
"""The priority of the agent's ``multiprocessing`` finalizer: after all of the program's."""

_AGENT = __name__.rpartition(".")[0].rpartition(".")[0]
"""The name under which this copy of the agent was loaded."""

OWNER = "_concwatch_agent"
"""The name in ``sys.modules`` of the copy of the agent that reports this process."""


class AgentReporter:
    """Reports this process to one monitor at a time."""

    def __init__(self) -> None:
        self.on = False
        """Whether the agent should run: it is running, or starts again after the current fork."""
        self.pid = os.getpid()
        self._address: Optional[str] = None
        """The monitor's socket; None if the agent listens for monitors."""
        self._next: Optional[str] = None
        """The socket of another monitor, to connect to once the current one is gone."""
        self._listener: Any = None
        self._listens_at = ""
        self._socket: Any = None
        """A socket created before it is connected, while the program opens no files."""
        self._connection: Optional[Connection] = None
        self._session: Optional[AgentSession] = None
        self._native_id = 0
        self._finalizer_registered = False
        self._create_locks()

    def _create_locks(self) -> None:
        HANDOVER.reset()
        self._ended = allocate_lock()  # held while the thread runs
        self._quit = False

    # Start and stop.

    def start(self, address: Optional[str]) -> None:
        """Start the thread: connect to ``address``, or listen if it is None."""
        if self.on and address == self._address:
            return
        if self.on and self._connection is not None:
            self._next = address
            return
        if self.on:  # it listens, and should connect from now on
            self.stop()
        elif self._ended.acquire(
            True, FINISH_TIMEOUT
        ):  # the previous thread may not have removed its hooks yet
            self._ended.release()
        self.on = True
        self._address = address
        self._begin()

    def _begin(self) -> None:
        """Start the thread, and count from now on if it connects to a monitor."""
        if (
            self._address is not None
        ):  # the program creates tasks, and opens files, before the monitor answers
            try:
                self._session = AgentSession(os.environ.get(places.OPTIONS, "").split())
            except Exception:
                self.on = False
                HOOKS.remove()
                raise
            try:
                self._socket = places.moved(places.unix_socket())
            except OSError:  # no more descriptors: `_connect` tries again
                pass
        self._start_thread()

    def stop(self) -> None:
        """Stop the thread and remove all hooks."""
        self.on = False
        self._stop_thread(FINISH_TIMEOUT)
        self._disconnect()
        self._close_listener()

    def _start_thread(self) -> None:
        self._quit = False
        if not self._ended.acquire(True, 0.05):
            return  # the previous thread has not exited, and continues
        try:
            start_new_thread(self._run, ())
        except RuntimeError:  # the system has no more threads, or the interpreter is exiting
            self._ended.release()

    def _stop_thread(self, timeout: float) -> bool:
        """Make the thread exit. Return False if it takes longer than ``timeout`` seconds."""
        self._quit = True
        HANDOVER.wake()
        if not self._ended.acquire(True, timeout):
            return False
        self._ended.release()
        return True

    def _run(self) -> None:
        self._native_id = get_native_id()
        try:
            self._serve_all()
        finally:
            if not self._quit:
                self.on = False  # before the hooks are removed: the program may then start the agent again
                self._send_errors()
                self._disconnect()
                self._close_listener()
            HANDOVER.end()
            self._ended.release()

    @guarded("")
    def _serve_all(self) -> None:
        """Report to one monitor, or one after the other, until the thread should exit. Never raises."""
        block_signals()
        closed = 0
        while not self._quit:
            lost = self._serve()
            if lost is None:
                break
            # A program that becomes a daemon closes all open files.
            closed += lost.by_program
            if self._next is not None:
                self._disconnect()
                self._address, self._next = self._next, None
            elif self._address is None:
                self._disconnect()
            elif not lost.by_program or closed >= MAX_ATTEMPTS:
                break
            elif self._connection is not None:
                self._connection.close()
                self._connection = None

    @guarded("")
    def _send_errors(self) -> None:
        """Report the agent's own errors, one of which may be the last that it does. Never raises."""
        if ERRORS.changed and self._connection is not None:
            try:
                self._connection.send("agent_errors", **ERRORS.report())
                self._connection.flush()
            except Lost:
                pass

    def _serve(self) -> Optional[Lost]:
        """Report to one monitor until the connection is lost. Return None if the thread should exit."""
        try:
            if self._connection is None and not self._find_monitor():
                return None
            assert self._session is not None
            due = HANDOVER.wait(PAUSE)
            while not self._quit:
                due = HANDOVER.wait(self._session.step(due))
        except Lost as lost:
            return lost
        return None

    def _find_monitor(self) -> bool:
        """Connect to a monitor and send ``ready``. Return False if there will be none; raises `Lost`."""
        connection = self._connect() if self._address is not None else self._accept()
        if connection is None:
            return False
        self._connection = connection
        self._session = self._session or AgentSession()
        self._session.report_to(connection)
        return True

    def _connect(self) -> Optional[Connection]:
        assert self._address is not None
        for attempt in range(MAX_ATTEMPTS):
            if attempt:
                HANDOVER.wait(0.1 * attempt)
                if self._quit:
                    return None
            prepared, self._socket = self._socket, None
            try:
                sock = prepared or places.moved(places.unix_socket())
                return Connection(places.connect(self._address, sock))
            except BlockingIOError:  # its backlog is full
                continue
            except OSError as error:
                if prepared is None or error.errno != EBADF:
                    return None
        return None

    def _accept(self) -> Optional[Connection]:
        if self._listener is None:
            self._listener, self._listens_at = places.listen()
        while not self._quit:
            try:
                return Connection(places.accept(self._listener))
            except OSError:  # no connection, or one of another user
                HANDOVER.wait(ACCEPT_INTERVAL)
        return None

    @guarded("")
    def _disconnect(self) -> None:
        """Remove all hooks and close the connection. Never raises."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None
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

    # Fork and exit.

    @guarded("")
    def before_fork(self) -> None:
        """Stop the thread, because forking with a second thread causes a warning and may copy held locks."""
        if self.on and not _is_subprocess():
            self._register_finalizer()
            self._stop_thread(FORK_TIMEOUT)
            deadline = monotonic() + 0.05  # the system thread ends a little later than the Python thread
            while os.path.exists(f"/proc/self/task/{self._native_id}") and monotonic() < deadline:
                sleep(0.0005)

    def _register_finalizer(self) -> None:
        """Make children of ``multiprocessing``, which exit without ``atexit``, send their last figures."""
        util = sys.modules.get("multiprocessing.util")
        if util is None or self._finalizer_registered:
            return
        self._finalizer_registered = True
        util.register_after_fork(
            self, lambda one: util.Finalize(None, one.finish, exitpriority=EXIT_PRIORITY)
        )

    @guarded("")
    def after_fork_in_parent(self) -> None:
        """Start the thread again."""
        if self.on and not _is_subprocess():
            self._start_thread()

    @guarded("")
    def after_fork_in_child(self) -> None:
        """Start reporting the child, over a connection of its own."""
        if _is_subprocess():  # it is about to execute another program
            self.on = False
            return
        self.pid = os.getpid()
        self._disconnect()
        if self._listener is not None:
            self._listener.close()  # the path stays: it is the parent's
            self._listener = None
        self._create_locks()
        if self.on:
            self._begin()

    @guarded("the end of the process")
    def finish(self) -> None:
        """Send the last figures when the process exits."""
        self._finish(FINISH_TIMEOUT)

    def finish_at_once(self) -> None:
        """Send the last figures when the process exits without ``atexit``.

        A child that has had no tasks, and is not connected yet, has nothing to report.
        """
        if self._connection is not None or COUNTS.table.created():
            self._finish(AT_ONCE)

    def _finish(self, timeout: float) -> None:
        if not self.on or self.pid != os.getpid():
            return
        self.on = False
        try:
            # A short program may not be connected yet.
            if self._stop_thread(timeout) and (
                self._connection is not None or (self._address is not None and self._find_monitor())
            ):
                assert self._session is not None
                self._session.finish(timeout)
        except Lost:
            pass
        finally:
            self._disconnect()
            self._close_listener()


def _is_subprocess() -> bool:
    """Return whether `subprocess` is forking, to execute another program at once."""
    # Below: the agent's method, its guard, and the hook.
    return sys._getframe(4).f_globals.get("__name__") == "subprocess"


REPORTER = AgentReporter()
"""The reporter of this process."""


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=lambda: REPORTER.before_fork(),
        after_in_parent=lambda: REPORTER.after_fork_in_parent(),
        after_in_child=lambda: REPORTER.after_fork_in_child(),
    )
atexit.register(REPORTER.finish)
BEFORE_EXIT.callback = REPORTER.finish_at_once


def start(address: Optional[str]) -> None:
    """Start reporting, with the copy of the agent that is already running in this process if there is one."""
    package = sys.modules[_AGENT]
    owner = sys.modules.setdefault(OWNER, package)
    (REPORTER.start if owner is package else owner.start)(address)


def stop() -> None:
    """Stop reporting."""
    package = sys.modules[_AGENT]
    owner = sys.modules.get(OWNER, package)
    (REPORTER.stop if owner is package else owner.stop)()
