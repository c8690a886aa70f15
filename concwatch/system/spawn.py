"""Functions that a child process runs before its program. Standard library: bridges start children, too."""

from __future__ import annotations

import os
import signal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Optional

NICENESS = 5
"""The niceness of workers, which keeps the screen responsive while they use all cores."""

_PR_SET_PDEATHSIG = 1

_ENDED_FIRST = b"1000"
"""The highest ``oom_score_adj``; raising it needs no privilege."""


def end_with_parent(number: int) -> Optional[Callable[[], None]]:
    """Return a ``preexec_fn`` by which a child gets a signal when this thread ends; None if not on Linux."""
    if not sys.platform.startswith("linux"):
        return None
    import ctypes  # not at the top: it would delay the screen

    prctl, value = ctypes.CDLL(None).prctl, int(number)
    return lambda: prctl(_PR_SET_PDEATHSIG, value, 0, 0, 0)


def child_setup(niceness: int) -> Optional[Callable[[], None]]:
    """Return a ``preexec_fn`` that adds to the child's niceness.

    On Linux the child also is killed when this thread ends, and it is the first to be killed when memory runs
    out.
    """
    if sys.platform == "win32":
        return None
    import ctypes  # not at the top: it would delay the screen

    # Loaded here, not in the child: as little as possible may run between fork and exec.
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
