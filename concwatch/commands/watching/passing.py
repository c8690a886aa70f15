"""Passing on signals to a watched program, which gets each of them once."""

import contextlib
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

PASSED = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2")
"""The signals that are passed on; all others are left to the system."""

NUMBERS = frozenset(int(getattr(signal, name)) for name in PASSED if hasattr(signal, name))
"""Their numbers. Those that were ignored when concwatch started, as under ``nohup``, are among them: the
program inherits that, and handles or ignores them as it would by itself."""

FROM_KERNEL = 0x80
"""The ``si_code`` of a signal that the kernel has sent: a terminal, to all of its foreground processes."""

GROUP_TIME = 0.02
"""Seconds after which a signal that was sent to a whole process group has reached each process of it."""


class _GroupProbe:
    """A process of this process group in which signals stay pending, to detect those sent to the whole group.

    Nothing else tells a signal that was sent to the group, as by ``timeout`` or a shell that has lost its
    terminal, from one that was sent to this process alone. It ends with this process.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._start()

    def _start(self) -> None:
        with contextlib.suppress(OSError):  # it inherits that the signals are blocked
            self._process = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)

    def _has(self, number: int) -> bool:
        """Return whether a signal is pending in the process."""
        try:
            status = Path(f"/proc/{self._process.pid}/status").read_text() if self._process else ""
        except OSError:
            return False
        pending = re.search(r"^ShdPnd:\s*(\w+)$", status, re.MULTILINE)
        return pending is not None and bool(int(pending[1], 16) >> (number - 1) & 1)

    def got(self, signal_info: signal.struct_siginfo) -> bool:
        """Return whether a signal that this process has got was sent to its whole group."""
        if signal_info.si_code == FROM_KERNEL:
            # Of a terminal that is closed, only the process that leads the session gets SIGHUP.
            return signal_info.si_signo != signal.SIGHUP or os.getsid(0) != os.getpid()
        deadline = time.monotonic() + GROUP_TIME
        while not self._has(signal_info.si_signo):
            if time.monotonic() > deadline:
                return False
            time.sleep(GROUP_TIME / 10)
        self.close()
        self._start()
        return True

    def close(self) -> None:
        """End it."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


class HeldSignals:
    """The signals that are held back, and the probe for those sent to the process group.

    Args:
        in_group: whether the program is in this process group. What the whole group gets, as from a terminal,
            is not passed on then: the program gets it too.
    """

    numbers = NUMBERS

    def __init__(self, in_group: bool) -> None:
        self._in_group = in_group
        self._probe: _GroupProbe | None = None

    def take(self) -> Sequence[int]:
        """Return those that are pending, which this process then no longer gets."""
        if self._in_group:
            # First: what the group is sent from now on, the program gets by itself.
            self._probe = _GroupProbe()
        pending = []
        while found := signal.sigtimedwait(NUMBERS, 0):
            pending.append(found.si_signo)
        if pending and self._probe is not None:
            self._probe.close()  # it may have got them, too
            self._probe = _GroupProbe()
        return pending

    def was_for_group(self, found: signal.struct_siginfo) -> bool:
        """Return whether a signal that this process has got was sent to the whole group of the program."""
        return self._probe is not None and self._probe.got(found)

    def close(self) -> None:
        """End the probe."""
        if self._probe is not None:
            self._probe.close()


@contextlib.contextmanager
def signals_held(*, in_group: bool = True) -> Iterator[HeldSignals | None]:
    """Hold back the signals that are to be passed on, until the program to pass them on to has started.

    Args:
        in_group: as for `HeldSignals`.

    Yields:
        The signals; None if this system cannot hold them back.
    """
    if not hasattr(signal, "sigwaitinfo"):
        yield None
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, NUMBERS)
    held = HeldSignals(in_group)
    try:
        yield held
    finally:
        held.close()
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def signals_passed_on(pass_on: Callable[[int], object], held: HeldSignals | None) -> Iterator[None]:
    """Call ``pass_on`` with the number of each signal that this process receives, instead of exiting.

    Processes that are started within this context have these signals blocked.

    Args:
        pass_on: called in a thread.
        held: the signals; None if this system cannot hold them back.
    """
    if held is None:
        yield
        return
    stop = threading.Event()

    def wait() -> None:
        while not stop.is_set():
            found = signal.sigtimedwait(NUMBERS, 0.2)
            if found is not None and not held.was_for_group(found):
                pass_on(found.si_signo)

    waiting = threading.Thread(target=wait, name="signals", daemon=True)
    waiting.start()
    try:
        yield
    finally:
        stop.set()
        waiting.join()
