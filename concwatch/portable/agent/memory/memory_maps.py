"""What this process's memory maps are for: stacks of threads, the C library's heap, and everything else."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Collection, Dict, Iterable, Iterator, List

STACKS, HEAP, WRITTEN, OTHER = "stacks", "heap", "written", "other"

_LARGEST_GUARD = 64 << 10
_ARENA = 64 << 20
"""Bytes of an arena of the C library, which begins at a multiple of this."""

_PART = 50
"""Mappings that are read in one step: about 1 ms."""


class MemoryMaps:
    """The anonymous memory of a process by what it is for.

    Args:
        looked_up: addresses whose files are wanted.
    """

    def __init__(self, looked_up: Collection[int] = ()) -> None:
        self.anonymous = {STACKS: 0, HEAP: 0, WRITTEN: 0, OTHER: 0}
        """Bytes in RSS. `STACKS` are those of threads, `HEAP` is what the C library allocates for small and
        medium blocks, `WRITTEN` are pages of mapped files that were copied to be changed."""
        self.heap_size = 0
        """Bytes of address space of `HEAP`."""
        self.arenas = 0
        """Bytes of `HEAP` that belong to arenas of threads."""
        self.arena_heaps = 0
        """The mappings of these, of at most 64 MiB; an arena has one or more."""
        self.regions = self.regions_rss = 0
        """Address space in `OTHER` that whole arenas may take, which glibc 2.43 maps as anything else; and
        the bytes of it that are in RSS, at least."""
        self.files: Dict[int, str] = {}
        """Address looked up → the file that is mapped there."""
        self._looked_up = looked_up
        # Of the last mapping: what it is for, whether it can be accessed, bytes in RSS, beginning and end.
        self._kind, self._usable = OTHER, False
        self._size = self._begin = self._ended = 0
        self._guarded = 0
        """Where the guard page of a stack ends."""

    def add(self, lines: Iterable[bytes]) -> Iterator[None]:
        """Add the lines of ``/proc/PID/smaps`` in steps."""
        read = 0
        for line in lines:
            if line.startswith(b"Anonymous:"):
                self._size = int(line.split()[1]) << 10
                self.anonymous[self._kind] += self._size
            elif line.startswith(b"VmFlags:"):
                self._add_flags(line)
            elif b"0" <= line[:1] <= b"9" or b"a" <= line[:1] <= b"f":
                read += 1
                if read % _PART == 0:
                    yield
                self._begin_mapping(line.split(None, 5))

    def _begin_mapping(self, fields: List[bytes]) -> None:
        """Find out what a mapping is for, as far as its first line says that."""
        lowest, before, below = self._begin, self._ended, self._kind
        begin, ended = (int(part, 16) for part in fields[0].split(b"-"))
        path = fields[5].strip() if len(fields) > 5 else b""
        self._begin, self._ended = begin, ended
        self._kind, self._usable = OTHER, not fields[1].startswith(b"---p")
        if not self._usable:
            arena = ended - _ARENA  # where one that ends here begins
            is_rest = ended % _ARENA == 0 and before == begin and lowest <= arena < begin
            if is_rest and below in (OTHER, STACKS):
                # The unused rest of an arena; mappings just below the arena are part of the same one.
                self._add_arena(below, begin - arena)
            elif ended - begin <= _LARGEST_GUARD:
                self._guarded = ended
        elif path == b"[heap]":
            self._kind = HEAP
            self.heap_size += ended - begin
        elif path == b"[stack]" or (begin == self._guarded and (not path or path.startswith(b"[anon"))):
            self._kind = STACKS
        elif path and not path.startswith(b"["):
            self._kind = WRITTEN
            for address in self._looked_up:
                if begin <= address < ended:
                    self.files[address] = path.decode("utf-8", "replace")

    def _add_flags(self, line: bytes) -> None:
        """Correct what the last mapping is for by its flags."""
        first = -(-self._begin // _ARENA) * _ARENA
        is_arena = self._usable and first < self._ended and b" nr" in line  # for which nothing is reserved
        if is_arena and self._kind in (OTHER, STACKS):
            self._add_arena(self._kind, self._ended - first)
            self._kind = HEAP
        elif self._kind == OTHER and b" gu" in line:  # guarded without a mapping of its own: glibc 2.43
            self.anonymous[OTHER] -= self._size
            self.anonymous[STACKS] += self._size
            self._kind = STACKS
        elif self._kind == OTHER and self._usable:
            whole = max(0, self._ended // _ARENA * _ARENA - first)
            self.regions += whole
            outside = self._ended - self._begin - whole
            self.regions_rss += max(0, self._size - outside) if whole else 0

    def _add_arena(self, kind: str, used: int) -> None:
        """Count the last mapping, which was taken for ``kind``, as an arena of ``used`` bytes."""
        moved = min(self._size, used)
        self.anonymous[kind] -= moved
        self.anonymous[HEAP] += moved
        self.arenas += moved
        self.heap_size += used
        self.arena_heaps += -(-used // _ARENA)


def read_memory_maps() -> Dict[str, int]:
    """Return the bytes of anonymous memory in RSS by kind; empty if unknown.

    Takes a millisecond, and 10 ms for a thousand threads.
    """
    maps = MemoryMaps()
    try:
        with open("/proc/self/smaps", "rb") as file:
            for _ in maps.add(file):
                pass
    except OSError:
        return {}
    return maps.anonymous
