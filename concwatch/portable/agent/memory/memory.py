"""What RSS of this process is made of. Imported when a monitor asks."""

from __future__ import annotations

import os
import sys

from ..basics.part import FOR_EVER
from .memory_maps import HEAP, MemoryMaps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Iterator, Optional

_STATUS = {b"VmRSS": "rss", b"RssAnon": "anonymous", b"RssFile": "file_pages", b"RssShmem": "shared"}
"""Name in ``/proc/self/status`` → name in the report."""

CHUNK_SECONDS = 2e-7
"""Seconds that malloc takes to look at a free block, if these lie scattered."""

LEAST_CHUNKS = 1056
"""Bytes of a free block and of one in use beside it: neighbours that are free are one block. Python itself
allocates blocks of up to 512 bytes."""


def find_memory(send: Callable[[Dict[str, Any]], None], longest: float = FOR_EVER) -> Iterator[None]:
    """Read what RSS is made of, in time slices, and send the fields of a report.

    Args:
        send: sends them.
        longest: the seconds for which malloc may be stopped; it is not asked if that could take longer.
    """
    report: Dict[str, Any] = {}
    try:
        from .malloc import Malloc

        malloc = Malloc()
    except (ImportError, MemoryError, ValueError) as error:  # there may be no ctypes, or none that works
        malloc, report["unknown"] = None, str(error)
    maps = MemoryMaps(malloc.addresses if malloc else ())
    try:
        report.update(_status())
        with open("/proc/self/smaps", "rb") as file:
            for _ in maps.add(file):
                yield
    except OSError:
        send({"unknown": "this system does not say what memory is made of: Linux does"})
        return
    blocks = sys.getallocatedblocks() if hasattr(sys, "getallocatedblocks") else None
    if malloc is not None:
        try:
            malloc.check(maps.files)
            threads = len(os.listdir("/proc/self/task"))
            if longest_pause(maps, blocks, threads) > longest:
                raise ValueError("malloc is only asked on request, since that may stop the program for long")
            report["malloc"] = malloc.read()
        except (OSError, ValueError) as error:
            report["unknown"] = str(error)
    send(
        {
            **report,
            **maps.anonymous,
            "heap_size": maps.heap_size,
            "arenas": maps.arenas,
            "regions": maps.regions,
            "regions_rss": maps.regions_rss,
            "blocks": blocks,
        }
    )


def longest_pause(maps: MemoryMaps, blocks: Optional[int], threads: int) -> float:
    """Return the seconds for which malloc may be stopped to count what is free, in one of its arenas.

    Args:
        maps: of the process, whose threads are taken to use their arenas evenly.
        blocks: the blocks of memory that Python has allocated; there are no more free ones between them.
        threads: how many there are.
    """
    arenas = max(1, min(maps.arena_heaps, threads))
    largest = max(maps.anonymous[HEAP] - maps.arenas, maps.arenas // arenas)
    chunks = largest // LEAST_CHUNKS
    return CHUNK_SECONDS * (chunks if blocks is None else min(chunks, blocks))


def _status() -> Dict[str, int]:
    """Return the parts of RSS in bytes; raises OSError."""
    with open("/proc/self/status", "rb") as file:
        rows = (line.partition(b":") for line in file)
        return {_STATUS[name]: int(text.split()[0]) << 10 for name, _, text in rows if name in _STATUS}
