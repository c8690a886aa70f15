"""A worker's memory: Python's garbage collector, giving memory back, and a reserve of it."""

from __future__ import annotations

import gc
import sys
from time import perf_counter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, Optional

MODES = ("default", "frozen", "off")

RESERVE = 32 << 20 if sys.implementation.name == "cpython" else 0
"""Bytes: a list of all tasks has room in it. CPython has them zeroed by the system and never touches them,
so that they weigh nothing; where that is not known, nothing is kept back."""


def give_back() -> None:
    """Return the C library's free memory to the system, where it can (glibc); a millisecond or so."""
    if sys.platform.startswith("linux"):
        import ctypes  # only here: it weighs half a megabyte

        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # musl has none
        if trim is not None:
            trim(0)


class Collector:
    """Sets the collector's mode and adds up the seconds that it takes."""

    def __init__(self) -> None:
        self.mode = "default"
        self.seconds = 0.0
        """Seconds spent collecting since the worker started."""
        self._began = 0.0
        self.knows_seconds = hasattr(gc, "callbacks")
        """Whether those seconds are known: on PyPy they are not."""
        if self.knows_seconds:
            gc.callbacks.append(self._note)

    def _note(self, phase: str, info: Dict[str, int]) -> None:
        if phase == "start":
            self._began = perf_counter()
        else:
            self.seconds += perf_counter() - self._began

    def set_mode(self, mode: str) -> None:
        """Switch to ``default``, ``frozen`` or ``off``.

        Raises:
            ValueError: for any other word.
        """
        if mode not in MODES:
            from concwatch.text import nearest  # only an error needs it

            raise ValueError(
                f'unknown collector mode "{mode}": expected {", ".join(MODES)}{nearest(mode[:60], MODES)}'
            )
        self.mode = mode
        if mode == "off":
            gc.disable()
        else:
            gc.enable()
        if mode == "default":
            self._unfreeze()

    def before_slice(self) -> None:
        """Collect nothing while a slice of tasks is created, if the mode is ``frozen``.

        Even the youngest generation costs 0.8 µs a task: all that it walks is live.
        """
        if self.mode == "frozen":
            gc.disable()

    def after_slice(self) -> None:
        """Freeze what the slice has created, and collect again, if the mode is ``frozen``.

        A full collection walks every live object again and again while a million tasks are created; frozen
        objects are not walked, and what ends is still freed at once by its reference count.
        """
        if self.mode == "frozen":
            gc.freeze()
            gc.enable()

    @staticmethod
    def _unfreeze() -> None:
        if hasattr(gc, "unfreeze"):  # PyPy has nothing that could be frozen
            gc.unfreeze()

    def trim(self) -> None:
        """Collect everything, then return free memory to the system."""
        self._unfreeze()
        gc.collect()
        self.after_slice()
        give_back()


class Reserve:
    """Address space kept back, so that a worker without memory can still report that and obey.

    It is let go when memory runs out, and taken again before a worker grows anew.
    """

    def __init__(self) -> None:
        self._bytes: Optional[bytes] = bytes(RESERVE)

    @property
    def kept(self) -> bool:
        """Whether it has not been let go."""
        return self._bytes is not None

    def take(self) -> None:
        """Keep it back again.

        Raises:
            MemoryError: there is no room for it.
        """
        self._bytes = bytes(RESERVE)

    def let_go(self) -> None:
        """Free it for whatever needs it now."""
        self._bytes = None
