"""Exit when the terminal, or the web server that shows the screen, is gone."""

import os
import select
import signal
import threading
import time
from collections.abc import Callable, Iterable

GRACE = 0.5
"""Seconds that the program has to exit by itself once its terminal is gone."""

HANGUP_STATUS = 129
"""Exit status of a process that was terminated by SIGHUP: 128 + 1."""


_GONE = getattr(select, "POLLHUP", 0) | getattr(select, "POLLERR", 0)


def is_gone(descriptor: int) -> bool:
    """Return whether a terminal or the reader of a pipe is gone; False on systems without ``poll``."""
    if not hasattr(select, "poll"):  # Windows
        return False
    poll = select.poll()
    poll.register(descriptor, 0)
    return any(event & _GONE for _, event in poll.poll(0))


def wait_for_hangup(descriptors: Iterable[int]) -> None:
    """Block until the terminal or pipe behind one of ``descriptors`` is gone, without using CPU time."""
    poll = select.poll()
    for descriptor in descriptors:
        poll.register(descriptor, 0)  # no events are requested: a hangup is always reported
    while not any(event & _GONE for _, event in poll.poll()):
        time.sleep(GRACE)  # some systems report that terminals cannot be polled


def exit_with_terminal(*descriptors: int, end: Callable[[int], object] = os._exit) -> None:
    """Exit `GRACE` seconds after the terminal is gone, whatever other threads do.

    Textual's writer thread dies with the terminal. The event loop then blocks forever in its next write and
    runs no signal handlers. The workers exit with this process.

    Args:
        descriptors: file descriptors of the terminal, any of which may be gone.
        end: exits the process with a status.
    """
    _watch(descriptors, lambda: None, end)


def exit_with_page(descriptor: int, end: Callable[[int], object] = os._exit) -> None:
    """Exit at most `GRACE` seconds after the web server is gone.

    Textual's web driver continues without input, and the kernel sends no signal for a closed pipe. This sends
    SIGHUP first, so that the app can exit cleanly.

    Args:
        descriptor: the pipe or socket of the page's input.
        end: exits the process with a status.
    """
    _watch([descriptor], lambda: os.kill(os.getpid(), signal.SIGHUP), end)


def _watch(descriptors: Iterable[int], on_hangup: Callable[[], None], end: Callable[[int], object]) -> None:
    def watch() -> None:
        wait_for_hangup(descriptors)
        on_hangup()
        time.sleep(GRACE)
        end(HANGUP_STATUS)

    if hasattr(select, "poll"):  # not on Windows, which closes consoles by other means
        threading.Thread(target=watch, name="hangup", daemon=True).start()
