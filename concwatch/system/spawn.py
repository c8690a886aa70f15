"""What a new child does before its program runs; standard library only, since bridges start children too."""

from __future__ import annotations

import os
import signal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Optional

NICENESS = 5
"""Workers run a little nicer, so that the screen stays alive while they have both cores busy."""

_PR_SET_PDEATHSIG = 1

_ENDED_FIRST = b"1000"
"""The highest that ``oom_score_adj`` can be; raising it needs no privilege."""


def end_with_parent(number: int) -> Optional[Callable[[], None]]:
    """Return what has a new child get a signal when this thread ends, where the system can do that."""
    if not sys.platform.startswith("linux"):
        return None
    import ctypes  # only here: the screen need not wait for it

    prctl, value = ctypes.CDLL(None).prctl, int(number)
    return lambda: prctl(_PR_SET_PDEATHSIG, value, 0, 0, 0)


def child_setup(niceness: int) -> Optional[Callable[[], None]]:
    """Return what a new child runs before its program.

    It is so much nicer; on Linux it dies with this process, and when memory runs out it is ended first,
    before anything that its user works with.
    """
    if sys.platform == "win32":
        return None
    import ctypes  # only here: the screen need not wait for it

    # Loaded here, not in the child: between fork and exec as little as possible may happen.
    prctl = getattr(ctypes.CDLL(None), "prctl", None) if sys.platform.startswith("linux") else None
    kill = int(signal.SIGKILL)

    def setup() -> None:
        os.nice(niceness)
        if prctl is not None:
            prctl(_PR_SET_PDEATHSIG, kill, 0, 0, 0)
            try:
                with open("/proc/self/oom_score_adj", "wb", buffering=0) as file:
                    file.write(_ENDED_FIRST)
            except OSError:
                pass

    return setup
