"""Threads, locks and sleep of the system, also in a program that gevent has monkey-patched.

A reporter that ran as a greenlet would block the program that it reports.
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
"""Starts a thread that ``threading`` does not know: no program counts, joins or traces it."""

allocate_lock = _original("_thread", "allocate_lock")
get_ident = _original("_thread", "get_ident")
get_native_id = _original("_thread", "get_native_id")
get_ident = _original("_thread", "get_ident")
sleep = _original("time", "sleep")

FAULTS = (4, 7, 8, 11)
"""Signals that the system sends to the thread that caused them (SIGILL, SIGBUS, SIGFPE, SIGSEGV)."""


def block_signals() -> None:
    """Block signals in this thread, so that they interrupt waits in the program's threads. `FAULTS` stay."""
    import _signal  # type: ignore[import-not-found]  # ``signal`` would import enum

    set_mask = getattr(_signal, "pthread_sigmask", None)
    if set_mask is not None:
        set_mask(_signal.SIG_BLOCK, set(_signal.valid_signals()) - set(FAULTS))
