"""The agent's thread: it connects to a monitor, runs a session, and exits around forks."""

from __future__ import annotations

import atexit
import os
import sys
from time import monotonic

from ..basics.guard import ERRORS, guarded
from ..basics.primitives import allocate_lock, block_signals, get_native_id, sleep, start_new_thread
from ..blocking.handover import HANDOVER
from ..counting.counting import COUNTS
from ..hooking.exits import BEFORE_EXIT
from ..hooking.hooks import HOOKS
from . import places
from .connection import Lost, Monitors
from .session import AgentSession

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Optional

    from .connection import Connection

PAUSE = 0.002
"""Seconds between the beginning of the connection and the first report, in which event loops may run."""

FORK_TIMEOUT = 0.25
"""Seconds that a fork may wait for the thread to exit."""

MAX_RECONNECTIONS = 5
"""Reconnections after the program has closed the connection."""

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


class AgentThread:
    """The only thread of the agent, which exits while the program forks."""

    def __init__(self) -> None:
        self._native_id = 0
        self.reset()

    def reset(self) -> None:
        """Create new locks, because in a forked child those of the parent's threads may be held."""
        HANDOVER.reset()
        self._ended = allocate_lock()  # held while the thread runs
        self.should_exit = False

    def start(self, run: Callable[[], None]) -> None:
        """Call ``run`` in the thread; if the previous one has not exited yet, it continues."""
        self.should_exit = False
        if not self._ended.acquire(True, 0.05):
            return
        try:
            start_new_thread(self._run, (run,))
        except RuntimeError:  # the system has no more threads, or the interpreter is exiting
            self._ended.release()

    def _run(self, run: Callable[[], None]) -> None:
        self._native_id = get_native_id()
        try:
            run()
        finally:
            HANDOVER.end()
            self._ended.release()

    def wait(self, seconds: float) -> bool:
        """Wait in the thread; return False if it should exit."""
        HANDOVER.wait(seconds)
        return not self.should_exit

    def stop(self, timeout: float) -> bool:
        """Make the thread exit. Return False if it takes longer than ``timeout`` seconds."""
        self.should_exit = True
        HANDOVER.wake()
        return self.join(timeout)

    def join(self, timeout: float) -> bool:
        """Wait until the thread has exited; return False if it takes longer than ``timeout`` seconds."""
        if not self._ended.acquire(True, timeout):
            return False
        self._ended.release()
        return True

    def wait_for_system(self) -> None:
        """Wait for the end of the system's thread, a little after that of the interpreter's thread."""
        deadline = monotonic() + 0.05
        while os.path.exists(f"/proc/self/task/{self._native_id}") and monotonic() < deadline:
            sleep(0.0005)


class AgentReporter:
    """Reports this process to one monitor at a time."""

    def __init__(self) -> None:
        self.on = False
        """Whether the agent should run: it is running, or starts again after the current fork."""
        self.pid = os.getpid()
        self._next: Optional[str] = None
        """The socket of another monitor, to connect to once the current one is gone."""
        self._thread = AgentThread()
        self._monitors = Monitors(self._thread.wait)
        self._connection: Optional[Connection] = None
        self._session: Optional[AgentSession] = None
        self._finalizer_registered = False

    # Start and stop.

    def start(self, address: Optional[str]) -> None:
        """Start the thread: connect to ``address``, or listen if it is None."""
        if self.on and address == self._monitors.address:
            return
        if self.on and self._connection is not None:
            self._next = address
            return
        if self.on:  # it listens, and should connect from now on
            self.stop()
        else:
            self._thread.join(FINISH_TIMEOUT)  # it may not have removed its hooks yet
        self.on = True
        self._monitors.address = address
        self._begin()

    def _begin(self) -> None:
        """Start the thread, and count from now on if it connects to a monitor."""
        if self._monitors.address is not None:  # the program creates tasks before the monitor answers
            try:
                self._session = AgentSession(os.environ.get(places.OPTIONS, "").split())
            except Exception:
                self.on = False
                HOOKS.remove()
                raise
            self._monitors.prepare()
        self._thread.start(self._run)

    def stop(self) -> None:
        """Stop the thread and remove all hooks."""
        self.on = False
        self._thread.stop(FINISH_TIMEOUT)
        self._end()

    def _run(self) -> None:
        self._serve_all()
        if not self._thread.should_exit:
            self.on = False  # before the hooks are removed: the program may then start the agent again
            self._send_errors()
            self._end()

    @guarded("")
    def _serve_all(self) -> None:
        """Report to one monitor, or one after the other, until the thread should exit. Never raises."""
        block_signals()
        closed = 0
        while not self._thread.should_exit:
            lost = self._serve()
            if lost is None:
                break
            # A program that becomes a daemon closes all open files.
            closed += lost.by_program
            if self._next is not None:
                self._disconnect()
                self._monitors.address, self._next = self._next, None
            elif self._monitors.address is None:
                self._disconnect()
            elif not lost.by_program or closed >= MAX_RECONNECTIONS:
                break
            elif self._connection is not None:
                self._connection.close()
                self._connection = None

    @guarded("")
    def _send_errors(self) -> None:
        """Report the agent's own errors, one of which may be the last that it does. Never raises."""
        if ERRORS.changed and self._connection is not None:
            try:
                self._connection.send_errors()
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
            while not self._thread.should_exit:
                due = HANDOVER.wait(self._session.step(due))
        except Lost as lost:
            return lost
        return None

    def _find_monitor(self) -> bool:
        """Connect to a monitor and send ``ready``. Return False if there will be none; raises `Lost`."""
        connection = self._monitors.find()
        if connection is None:
            return False
        self._connection = connection
        self._session = self._session or AgentSession()
        self._session.report_to(connection)
        return True

    @guarded("")
    def _disconnect(self) -> None:
        """Remove all hooks and close the connection. Never raises."""
        if self._session is not None:
            self._session.close()
            self._session = None
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _end(self) -> None:
        """Report to nobody any more."""
        self._disconnect()
        self._monitors.close()

    # Fork and exit.

    @guarded("")
    def before_fork(self) -> None:
        """Stop the thread, because forking with a second thread causes a warning and may copy held locks."""
        if self.on and not _is_subprocess():
            self._register_finalizer()
            self._thread.stop(FORK_TIMEOUT)
            self._thread.wait_for_system()

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
            self._thread.start(self._run)

    @guarded("")
    def after_fork_in_child(self) -> None:
        """Start reporting the child, over a connection of its own."""
        if _is_subprocess():  # it is about to execute another program
            self.on = False
            return
        self.pid = os.getpid()
        COUNTS.loops.start_in_child()
        self._disconnect()
        self._monitors.forget()
        self._thread.reset()
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
            if self._thread.stop(timeout) and (
                self._connection is not None or (self._monitors.address is not None and self._find_monitor())
            ):
                assert self._session is not None
                self._session.finish(timeout)
        except Lost:
            pass
        finally:
            self._end()


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
