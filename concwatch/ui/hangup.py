"""Ending with the terminal, or with the page: a program that nobody sees has nobody to show anything to."""

import os
import select
import signal
import threading
import time
from collections.abc import Callable

GRACE = 0.5
"""Seconds that the program gets to end by itself once its terminal is gone."""

HANGUP_STATUS = 129
"""Exit status of a process that SIGHUP ended: 128 + 1."""


_GONE = getattr(select, "POLLHUP", 0) | getattr(select, "POLLERR", 0)


def is_gone(descriptor: int) -> bool:
    """Whether the reader of a pipe, or a terminal, is gone; False where the system cannot tell."""
    if not hasattr(select, "poll"):  # Windows
        return False
    poll = select.poll()
    poll.register(descriptor, 0)
    return any(event & _GONE for _, event in poll.poll(0))


def wait_for_hangup(descriptor: int) -> None:
    """Block until what is behind ``descriptor`` is gone; takes no CPU time meanwhile."""
    poll = select.poll()
    # Nothing is asked for: a hangup is always told.
    poll.register(descriptor, 0)
    while not any(event & _GONE for _, event in poll.poll()):
        time.sleep(GRACE)  # some systems answer that terminals cannot be polled


def end_with_terminal(*descriptors: int, end: Callable[[int], object] = os._exit) -> None:
    """Have this process end `GRACE` seconds after its terminal is gone, whatever its other threads do.

    Textual writes from a thread of its own that dies with the terminal; who writes after that waits for
    ever, and no signal handler of the event loop runs any more. The workers end with this process.

    Args:
        descriptors: of the terminal; one of them gone is enough.
        end: ends the process with a status.
    """
    for descriptor in descriptors:
        _watch(descriptor, lambda: None, end)


def end_with_page(descriptor: int, end: Callable[[int], object] = os._exit) -> None:
    """Have this process end after the web server that shows it is gone, `GRACE` seconds later at the latest.

    Textual's driver for pages goes on without input, and no kernel tells a program that its pipe is closed as
    it does of a terminal, so this says it: a SIGHUP first, upon which the screen ends in order.

    Args:
        descriptor: the pipe or socket from which the page's input comes.
        end: ends the process with a status.
    """
    _watch(descriptor, lambda: os.kill(os.getpid(), signal.SIGHUP), end)


def _watch(descriptor: int, tell: Callable[[], None], end: Callable[[int], object]) -> None:
    def watch() -> None:
        wait_for_hangup(descriptor)
        tell()
        time.sleep(GRACE)
        end(HANGUP_STATUS)

    if hasattr(select, "poll"):  # Windows has none, and closes consoles by other means
        threading.Thread(target=watch, name="hangup", daemon=True).start()
