"""What RSS of this process is made of. Imported when a monitor asks."""

from __future__ import annotations

import sys

from .memory_maps import MemoryMaps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Iterator

_STATUS = {b"VmRSS": "rss", b"RssAnon": "anonymous", b"RssFile": "file_pages", b"RssShmem": "shared"}
"""Name in ``/proc/self/status`` → name in the report."""


def find_memory(send: Callable[[Dict[str, Any]], None]) -> Iterator[None]:
    """Read what RSS is made of, in time slices, and send the fields of a report."""
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
    if malloc is not None:
        try:
            malloc.check(maps.files)
            report["malloc"] = malloc.read()
        except (OSError, ValueError) as error:
            report["unknown"] = str(error)
    blocks = getattr(sys, "getallocatedblocks", None)
    send(
        {
            **report,
            **maps.anonymous,
            "heap_size": maps.heap_size,
            "arenas": maps.arenas,
            "blocks": None if blocks is None else blocks(),
        }
    )


def _status() -> Dict[str, int]:
    """Return the parts of RSS in bytes; raises OSError."""
    with open("/proc/self/status", "rb") as file:
        rows = (line.partition(b":") for line in file)
        return {_STATUS[name]: int(text.split()[0]) << 10 for name, _, text in rows if name in _STATUS}
