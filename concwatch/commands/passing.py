"""Passing on signals to a watched program, which gets each of them once."""

import contextlib
import signal
import threading
from collections.abc import Callable, Collection, Iterator

PASSED = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2")
"""The signals that are passed on; all others are left to the system."""

FROM_KERNEL = 0x80
"""The ``si_code`` of a signal that the kernel has sent: a terminal, to all of its foreground processes."""


@contextlib.contextmanager
def signals_held() -> Iterator[Collection[int]]:
    """Hold back the signals that are to be passed on, until the program to pass them on to has started.

    Returns:
        Their numbers, which the program must unblock for itself.
    """
    if not hasattr(signal, "sigwaitinfo"):
        yield ()
        return
    numbers = _numbers()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
    try:
        yield numbers
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _numbers() -> set[int]:
    """Return the numbers of the signals that are passed on, except those that are ignored."""
    numbers = {int(getattr(signal, name)) for name in PASSED if hasattr(signal, name)}
    return numbers - {number for number in numbers if signal.getsignal(number) is signal.SIG_IGN}


@contextlib.contextmanager
def signals_passed_on(pass_on: Callable[[int], object]) -> Iterator[None]:
    """Call ``pass_on`` with the number of each signal that this process gets, and survive it.

    One that a terminal has sent is not passed on: the program, in the same process group, got it too. Signals
    that were ignored when concwatch started, as under ``nohup``, stay ignored. Processes that are started
    within this context have these signals blocked.
    """
    if not hasattr(signal, "sigwaitinfo"):
        yield
        return
    numbers = _numbers()
    stop = threading.Event()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, numbers)

    def wait() -> None:
        while not stop.is_set():
            found = signal.sigtimedwait(numbers, 0.2)
            if found is not None and found.si_code != FROM_KERNEL:
                pass_on(found.si_signo)

    waiting = threading.Thread(target=wait, name="signals", daemon=True)
    waiting.start()
    try:
        yield
    finally:
        stop.set()
        waiting.join()
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
