"""What RSS of a watched process is made of, as its agent has answered, and the kernel memory beside it."""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from concwatch.links.agent_messages import MallocFigures, MemoryParts
from concwatch.portable.protocol.units import format_bytes
from concwatch.system.process import Reading

LABELS = {
    "python": "Python's small objects, and other mappings",
    "c_heap": "C heap, in use or free",
    "c_heap_used": "C heap in use",
    "c_heap_free": "C heap free, kept by malloc",
    "large_blocks": "large blocks of the C heap",
    "stacks": "stacks of threads",
    "changed_pages": "changed pages of mapped files",
    "file_pages": "pages of mapped files",
    "shared": "shared memory",
    "anonymous": "anonymous memory",
    "unexplained": "not explained",
    "kernel_stack": "kernel stacks",
    "page_tables": "page tables",
    "kernel_objects": "kernel objects (slab, sockets)",
}
"""The name of a part in JSON → its name on the screen."""

AT_LEAST = ("c_heap_free",)
"""The parts that may be larger: what is in use is taken to be in RSS as a whole."""

FEW_ARENAS = 2
"""The arenas of ``MALLOC_ARENA_MAX=2``."""


class MemoryPart(Struct, frozen=True):
    """One part of the memory of a process."""

    name: str
    """One of `LABELS`."""
    bytes: int | None
    """None if it is unknown."""

    @property
    def label(self) -> str:
        """What it is."""
        return LABELS[self.name]

    @property
    def size(self) -> str:
        """Its size as a text."""
        if self.bytes is None:
            return "–"
        return f"{'≥ ' if self.name in AT_LEAST else ''}{format_bytes(self.bytes)}".replace("-", "−")


class RssParts(Struct, frozen=True):
    """The memory of a process at one moment, in bytes."""

    time: float
    """When its agent answered, in seconds on the monitor's clock."""
    rss: int | None = None
    parts: tuple[MemoryPart, ...] = ()
    """They add up to RSS; the largest first, and what is not explained last."""
    kernel: tuple[MemoryPart, ...] = ()
    """What the kernel holds for it beside RSS."""
    unknown: str = ""
    """Why some or all of it is unknown."""
    free: int | None = None
    """What malloc keeps although it is free, at least; None if unknown."""
    in_arenas: bool = False
    """Whether most of the C heap is in more arenas than ``MALLOC_ARENA_MAX=2`` allows."""
    arenas: int | None = None
    """The number of arenas of malloc."""
    blocks: int | None = None
    """Blocks of memory that Python has allocated."""
    pause: float = 0.0
    """The seconds that malloc took to answer."""

    def size_of(self, name: str) -> int | None:
        """Return the bytes of a part; None if it is unknown."""
        return next((part.bytes for part in self.parts if part.name == name), None)

    @property
    def advice(self) -> str:
        """How to have malloc keep less; empty if it keeps nothing, or that is unknown."""
        if not self.free:
            return ""
        bounds = f"; MALLOC_ARENA_MAX={FEW_ARENAS} bounds the number of its arenas, {self.arenas}"
        return f"malloc_trim(0) can return pages of it{bounds if self.in_arenas else ''}"

    def as_json(self, began: float) -> dict[str, Any]:
        """Return its object in JSON, given when the watching began."""
        return {
            "as_of": round(self.time - began, 3),
            "rss": self.rss,
            "parts": {part.name: part.bytes for part in self.parts},
            "at_least": [part.name for part in self.parts if part.name in AT_LEAST and part.bytes],
            "kernel": {part.name: part.bytes for part in self.kernel},
            "arenas": self.arenas,
            "blocks": self.blocks,
            "unknown": self.unknown or None,
        }


def rss_parts(found: MemoryParts, reading: Reading | None, time: float) -> RssParts:
    """Return the parts of RSS.

    Args:
        found: what the agent has answered.
        reading: the last reading of the process, for its kernel memory.
        time: now, in seconds.
    """
    if found.rss is None:
        return (
            outside_parts(reading, time, found.unknown) if reading else RssParts(time, unknown=found.unknown)
        )
    sizes = dict(_sizes(found))
    parts = sorted((MemoryPart(*each) for each in sizes.items()), key=lambda part: -(part.bytes or 0))
    parts.append(MemoryPart("unexplained", found.rss - sum(size or 0 for size in sizes.values())))
    malloc = found.malloc
    return RssParts(
        time,
        found.rss,
        tuple(parts),
        _kernel_parts(reading),
        found.unknown,
        sizes["c_heap_free"],
        malloc is not None and malloc.arenas > FEW_ARENAS and _is_mostly_in_arenas(found, sizes),
        malloc.arenas if malloc else None,
        found.blocks,
        malloc.pause if malloc else 0.0,
    )


def outside_parts(reading: Reading, time: float, unknown: str) -> RssParts:
    """Return the parts of RSS as far as the system itself tells, and why that is all."""
    known = {name: getattr(reading, name) for name in ("anonymous", "file_pages", "shared")}
    parts = [MemoryPart(name, size) for name, size in known.items() if size is not None]
    rest = reading.rss - sum(size or 0 for size in known.values())
    return RssParts(
        time, reading.rss, (*parts, MemoryPart("unexplained", rest)), _kernel_parts(reading), unknown
    )


_KERNEL = ("kernel_stack", "page_tables", "kernel_objects")


def _kernel_parts(reading: Reading | None) -> tuple[MemoryPart, ...]:
    return tuple(MemoryPart(name, getattr(reading, name, None)) for name in _KERNEL)


def _is_mostly_in_arenas(found: MemoryParts, sizes: Mapping[str, int | None]) -> bool:
    """Return whether no more than half of the C heap is in its first arena."""
    whole = sum(sizes[name] or 0 for name in ("c_heap_used", "c_heap_free"))
    return 2 * (found.heap - found.arenas) <= whole


def _sizes(found: MemoryParts) -> Iterator[tuple[str, int | None]]:
    """Yield the bytes of each part of RSS but what is not explained."""
    other = found.other
    if found.malloc is None:
        # What looks like an arena may be of another allocator.
        other += found.arenas
        yield "c_heap", found.heap - found.arenas
        yield "c_heap_free", None
    else:
        used, free, mapped = _malloc_sizes(found, found.malloc)
        other += found.heap - used - free - mapped
        yield "c_heap_used", used
        yield "c_heap_free", free
        yield "large_blocks", mapped
    yield "python", other
    yield "stacks", found.stacks
    yield "changed_pages", found.written
    yield "file_pages", found.file_pages
    yield "shared", found.shared


def _malloc_sizes(found: MemoryParts, malloc: MallocFigures) -> tuple[int, int, int]:
    """Return what of the C heap in RSS is in use, what is free, at least, and its large blocks.

    The heap may have mappings that only look like the C library's, and there may be others of it: together
    they have the address space that it has taken.
    """
    missing = malloc.taken - found.heap_size
    untouched = found.regions - found.regions_rss
    hidden = min(found.regions_rss, max(0, missing - untouched))
    heap = max(0, found.heap + min(0, missing) + hidden)
    in_use = max(0, malloc.taken - malloc.free)
    free = min(malloc.free, max(0, heap - in_use))
    return min(heap - free, in_use), free, min(found.other - hidden, malloc.mapped)
