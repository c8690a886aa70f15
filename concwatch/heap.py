"""The C library's heap, and giving back what is free in it."""

from __future__ import annotations

import sys


def give_back() -> None:
    """Have the C library give free memory back to the system, where it can (glibc); a millisecond or so."""
    if sys.platform.startswith("linux"):
        import ctypes  # only here: it weighs half a megabyte

        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # musl has none
        if trim is not None:
            trim(0)
