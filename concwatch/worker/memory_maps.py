"""What this process's memory maps are for: stacks of threads, the C library's heap, and everything else."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, Iterable

STACKS, HEAP, OTHER = "stacks", "heap", "other"

_LARGEST_GUARD = 64 << 10
_ARENA = 64 << 20
"""Bytes of an arena of the C library, which begins at a multiple of this."""


def read_memory_maps() -> Dict[str, int]:
    """Return the bytes of anonymous memory in RSS: `STACKS`, `HEAP` and `OTHER`; empty if unknown.

    `STACKS` are those of all threads but the first, `HEAP` is what the C library allocates for small and
    medium blocks. Takes a millisecond, and 10 ms for a thousand threads.
    """
    try:
        with open("/proc/self/smaps", "rb") as file:
            return sort_memory_maps(file)
    except OSError:
        return {}


def sort_memory_maps(lines: Iterable[bytes]) -> Dict[str, int]:
    """Do the same with the lines of ``/proc/PID/smaps``."""
    found = {STACKS: 0, HEAP: 0, OTHER: 0}
    kind = ""
    size = 0  # bytes of the last mapping in RSS
    ended = guarded = 0  # where it ends; where the guard page of a stack ends
    for line in lines:
        if line.startswith(b"Rss:"):
            size = int(line.split()[1]) << 10
            if kind:
                found[kind] += size
            continue
        if not (b"0" <= line[:1] <= b"9" or b"a" <= line[:1] <= b"f"):
            continue
        fields = line.split(None, 5)
        begin, end = (int(part, 16) for part in fields[0].split(b"-"))
        path = fields[5].strip() if len(fields) > 5 else b""
        if fields[1].startswith(b"---p"):
            if end - begin <= _LARGEST_GUARD:
                guarded = end
            elif kind == OTHER and ended == begin and end % _ARENA == 0:
                # The unused rest of an arena; mappings just below the arena are part of the same one.
                used = min(size, begin - (end - _ARENA))
                found[OTHER] -= used
                found[HEAP] += used
            kind = ""
        elif path == b"[heap]":
            kind = HEAP
        elif not path or path.startswith(b"[anon"):
            kind = STACKS if begin == guarded else OTHER
        else:
            kind = ""
        ended = end
    return found
