"""A worker's memory: the garbage collector's modes, trimming, and a memory reserve."""

from __future__ import annotations

import gc
import sys
from time import perf_counter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, Optional

MODES = ("default", "frozen", "off")

RESERVE = 32 << 20 if sys.implementation.name == "cpython" else 0
"""Bytes, enough for a list of all tasks. CPython leaves zeroing them to the system and never touches them, so
that they add nothing to RSS; other implementations may differ, so they reserve nothing."""


def trim_heap() -> None:
    """Return the C library's free memory to the system, if it is glibc; takes about a millisecond."""
    if sys.platform.startswith("linux"):
        import ctypes  # imported only here: it takes half a megabyte

        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # musl has none
        if trim is not None:
            trim(0)


class Collector:
    """Sets the garbage collector's mode and sums the seconds that it takes."""

    def __init__(self) -> None:
        self.mode = "default"
        self.seconds = 0.0
        """Seconds spent collecting since the worker started."""
        self._began = 0.0
        self.has_seconds = hasattr(gc, "callbacks")
        """Whether ``seconds`` is measured: PyPy has no callbacks."""
        if self.has_seconds:
            gc.callbacks.append(self._on_collection)

    def _on_collection(self, phase: str, info: Dict[str, int]) -> None:
        if phase == "start":
            self._began = perf_counter()
        else:
            self.seconds += perf_counter() - self._began

    def set_mode(self, mode: str) -> None:
        """Switch to ``default``, ``frozen`` or ``off``.

        Raises:
            ValueError: it is none of these.
        """
        if mode not in MODES:
            from concwatch.portable.protocol.text import suggest  # only an error needs it

            raise ValueError(
                f'unknown collector mode "{mode}"; expected {", ".join(MODES)}{suggest(mode[:60], MODES)}'
            )
        self.mode = mode
        if mode == "off":
            gc.disable()
        else:
            gc.enable()
        if mode == "default":
            self.unfreeze()

    def before_slice(self) -> None:
        """Stop collecting while a slice of tasks is created, if the mode is ``frozen``.

        Even the youngest generation costs 0.8 µs a task: everything it walks is live.
        """
        if self.mode == "frozen":
            gc.disable()

    def after_slice(self) -> None:
        """Freeze what the slice has created, and resume collecting, if the mode is ``frozen``.

        Full collections would walk every live object again and again while a million tasks are created.
        Frozen objects are skipped; tasks that end are still freed at once by their reference count.
        """
        if self.mode == "frozen":
            gc.freeze()
            gc.enable()

    def freeze(self) -> None:
        """Freeze what has been created since the last slice, if the mode is ``frozen``."""
        if self.mode == "frozen":
            gc.freeze()

    @staticmethod
    def unfreeze() -> None:
        """Let collections look at frozen objects again."""
        if hasattr(gc, "unfreeze"):  # PyPy has none
            gc.unfreeze()

    def trim(self) -> None:
        """Run a full collection, then return free memory to the system."""
        self.unfreeze()
        gc.collect()
        self.after_slice()
        trim_heap()


class Reserve:
    """Reserved address space that lets a worker that runs out of memory still report that and obey.

    It is released when memory runs out, and allocated again before the worker next grows.
    """

    def __init__(self) -> None:
        self._bytes: Optional[bytes] = bytes(RESERVE)

    @property
    def held(self) -> bool:
        """Whether the reserve is allocated."""
        return self._bytes is not None

    def allocate(self) -> None:
        """Allocate the reserve again.

        Raises:
            MemoryError: there is not enough memory.
        """
        self._bytes = bytes(RESERVE)

    def release(self) -> None:
        """Free the reserve."""
        self._bytes = None
