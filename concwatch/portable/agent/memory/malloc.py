"""What the C library's ``malloc`` says of its memory. Loads ``ctypes``: imported when a monitor asks."""

from __future__ import annotations

import ctypes
import os
from time import monotonic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Mapping, Tuple


_library: Any = None
"""The C library, which is loaded once: each time makes a class that only the garbage collector frees."""


class Malloc:
    """The ``malloc`` of this process.

    Raises:
        ValueError: the C library does not say what it keeps; the message is the reason.
    """

    def __init__(self) -> None:
        global _library
        try:
            _library = _library or ctypes.CDLL(None)
            self.addresses: Tuple[int, ...] = tuple(
                ctypes.cast(getattr(_library, name), ctypes.c_void_p).value or 0
                for name in ("malloc", "malloc_info")
            )
            """Those of ``malloc`` and ``malloc_info``."""
            _library.open_memstream.restype = ctypes.c_void_p
        except (AttributeError, OSError, TypeError):
            raise ValueError("this C library does not say so: malloc_info of glibc does") from None

    def check(self, files: Mapping[int, str]) -> None:
        """Raise unless the program allocates by the C library that is asked.

        Args:
            files: the files that are mapped at ``addresses``.

        Raises:
            ValueError: it has another ``malloc``, such as that of a library that is preloaded.
        """
        allocates, says = (files.get(address, "") for address in self.addresses)
        # The address of a function may also be that of its entry in a table of the executable.
        if allocates not in (says, os.readlink("/proc/self/exe")):
            raise ValueError(f"malloc is that of {os.path.basename(allocates)}, which is not asked")

    def read(self) -> Dict[str, Any]:
        """Return what it has: ``taken``, ``free``, ``mapped`` in bytes, ``arenas``, ``pause`` in seconds.

        One arena after the other is locked meanwhile.

        Raises:
            ValueError: it does not say.
        """
        library = _library
        text, size = ctypes.c_void_p(), ctypes.c_size_t()
        stream = library.open_memstream(ctypes.byref(text), ctypes.byref(size))
        if not stream:
            raise ValueError("malloc_info has no memory for its answer")
        began = monotonic()
        library.malloc_info(0, ctypes.c_void_p(stream))
        pause = monotonic() - began
        library.fclose(ctypes.c_void_p(stream))
        try:
            return {**parse(ctypes.string_at(text, size.value)), "pause": pause}
        finally:
            library.free(text)


def parse(text: bytes) -> Dict[str, int]:
    """Return ``taken``, ``free``, ``mapped`` in bytes and ``arenas`` from what ``malloc_info`` has written.

    Raises:
        ValueError: it is not understood.
    """
    arenas = text.count(b"<heap ")
    totals = text.rpartition(b"</heap>")[2]  # of all arenas
    return {
        "taken": _size(totals, b'<system type="current"'),
        # Glibc 2.43 has no fast bins.
        "free": _size(totals, b'<total type="fast"', b"0") + _size(totals, b'<total type="rest"'),
        "mapped": _size(totals, b'<total type="mmap"'),
        "arenas": arenas,
    }


def _size(text: bytes, tag: bytes, default: bytes = b"") -> int:
    """Return the size that a tag has; ``default`` if there is no such tag."""
    found = text.partition(tag)[2].partition(b'size="')[2].partition(b'"')[0] if tag in text else default
    if not found.isdigit():
        raise ValueError("the answer of malloc_info is not understood")
    return int(found)
