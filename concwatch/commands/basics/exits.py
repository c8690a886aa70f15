"""How concwatch exits: with a status, or by dying of the signal that ended it or what it watched."""

import contextlib
import signal
import sys
from collections.abc import Iterator
from typing import NoReturn

INTERRUPTED = -int(signal.SIGINT)
"""The status for `exit_with` after an interrupt by the user."""

UNREAD = -13
"""The status for `exit_with` when the reader of standard output is gone: SIGPIPE."""


class Killed(SystemExit):
    """Asks for an exit by a signal. Its status is that of a shell, for where the process cannot die of it.

    Args:
        number: the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__(128 + number)
        self.number = number


def exit_with(status: int) -> NoReturn:
    """Exit with a status as that of `subprocess`: negative for a signal, of which this process then dies.

    A shell ends its loop or script after Ctrl-C only if the command has died of SIGINT.
    """
    if status < 0:
        raise Killed(-status)
    sys.exit(status)


@contextlib.contextmanager
def dying_of_signals() -> Iterator[None]:
    """Die of the signal that `exit_with` asks for; the context is the whole program.

    Process 1 of a container cannot: the kernel ignores the signal, and the exit status is 128 and its number.
    """
    try:
        yield
    except Killed as killed:
        if sys.platform != "win32":
            _die_of(killed.number)
        raise


def _die_of(number: int) -> None:
    """Do what Python does at exit, then send a signal to this process. Return if that does not end it."""
    import atexit  # seldom needed, and not for the first frame
    import resource

    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):  # its reader is gone, or it is closed
            stream.flush()
    # A core dump would be one of concwatch. Not 0: the kernel ignores that if a program takes the dumps.
    with contextlib.suppress(OSError, ValueError):
        hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
        resource.setrlimit(resource.RLIMIT_CORE, (0 if hard == 0 else 1, hard))
    with contextlib.suppress(OSError):  # SIGKILL has no handler
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
    signal.raise_signal(number)
