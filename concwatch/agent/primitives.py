"""Threads, locks and sockets of the system's own, also where gevent has put others in their place.

A reporter that ran as a greenlet would block everything that it reports.
"""

from __future__ import annotations

import _thread
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


_MODULES = {"_thread": _thread, "time": time}


def _original(module: str, name: str) -> Any:
    monkey = sys.modules.get("gevent.monkey")
    if monkey is not None:
        return monkey.get_original(module, name)
    return getattr(_MODULES[module], name)


start_new_thread = _original("_thread", "start_new_thread")
"""A thread that ``threading`` does not know: no program counts it, joins it or traces it."""

allocate_lock = _original("_thread", "allocate_lock")
get_native_id = _original("_thread", "get_native_id")
sleep = _original("time", "sleep")


FAULTS = (4, 7, 8, 11)
"""Signals that a thread brings upon itself: they cannot be left to another."""


def leave_signals_alone() -> None:
    """Have no signal of the program's delivered to this thread: one may have to end another's wait."""
    import _signal  # type: ignore[import-not-found]  # ``signal`` would bring enum with it

    block = getattr(_signal, "pthread_sigmask", None)
    if block is not None:
        block(_signal.SIG_BLOCK, set(_signal.valid_signals()) - set(FAULTS))
