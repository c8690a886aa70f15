"""What the memory of one task consists of: what its worker has found, the kernel's part, and what is left."""

from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Any

from msgspec import Struct

from concwatch.monitor.metrics.metrics import LaneSnapshot, known_cost
from concwatch.portable.protocol.units import format_bytes, format_count, format_number, format_percent

LEAST_BYTES = 0.5
"""Bytes of the smallest part that is listed."""

LEAST_SHARE = 0.005
"""The least share of an unexplained rest that is listed; negative, if the parts are more than the whole."""


_FRAMES = ("coroutine ", "generator ", "async generator ", "frame of ")
"""How the names of frames begin."""


class Kind(Enum):
    """What a part is, as the legend of the bar says it."""

    FUNCTION = "your function"
    OBJECT = "objects"
    MEMORY = "other RSS"
    KERNEL = "kernel"
    UNEXPLAINED = "not explained"


HEADINGS = ("part", "count", "bytes", "share")
"""Those of the table."""

SYMBOLS = {
    Kind.FUNCTION: "█",
    Kind.OBJECT: "▓",
    Kind.MEMORY: "▒",
    Kind.KERNEL: "░",
    Kind.UNEXPLAINED: "·",
}
"""Kind → what its cells in the bar are made of."""


class Part(Struct, frozen=True):
    """One part of a task's memory."""

    name: str
    bytes: float
    kind: Kind
    count: float = 0.0
    """How many of it a task has; 0 if it is no number."""
    function: str = ""
    """The function of the user that it is the frame of, or whose variable it is."""

    @property
    def is_frame(self) -> bool:
        """Whether it is the frame of a function, not something that a variable holds."""
        return self.name.startswith(_FRAMES)

    @property
    def label(self) -> str:
        """Its name, and the function whose variable it is."""
        return f"{self.name} in {self.function}" if self.function and not self.is_frame else self.name


class TaskAnatomy(Struct, frozen=True):
    """The memory of one task by what it is; the parts add up to the whole."""

    engine: str
    task: str
    """What a task is there."""
    live: int
    whole: float
    """Memory/task in bytes; RSS alone where the kernel's part is unknown."""
    parts: tuple[Part, ...]
    """The largest first, then those of the kernel, and what is not explained at the end."""
    sampled: int = 0
    """The tasks whose objects the worker has looked at; 0 if it cannot."""

    @property
    def origin(self) -> str:
        """Where the figures of objects come from; empty if there are none."""
        if not self.sampled:
            return ""
        return f"objects: the mean of {format_count(self.sampled)} of {format_count(self.live)} tasks"

    @property
    def unexplained(self) -> float:
        """Bytes of the whole that no other part explains; negative if the parts are more."""
        return self.whole - sum(part.bytes for part in self.parts if part.kind is not Kind.UNEXPLAINED)

    def share(self, part: Part) -> float:
        """Return the share of a part."""
        return part.bytes / self.whole

    def row(self, part: Part) -> tuple[str, str, str, str]:
        """Return the cells of a part, as `HEADINGS` says."""
        count = format_number(part.count, 3) if part.count else ""
        size, share = format_bytes(part.bytes), format_percent(self.share(part))
        return part.label, count, size.replace("-", "−"), share.replace("-", "−")

    def legend(self) -> list[tuple[Kind, str]]:
        """Return what the cells of the bar mean: by kind, a text."""
        return [
            (kind, f"{SYMBOLS[kind]} {kind.value} {format_percent(size / self.whole)}  ")
            for kind, size in self.kinds().items()
        ]

    def kinds(self) -> dict[Kind, float]:
        """Return the bytes by kind, in the order of the bar."""
        sums = {kind: sum(part.bytes for part in self.parts if part.kind is kind) for kind in Kind}
        return {kind: size for kind, size in sums.items() if size > 0}

    def bar(self, cells: int) -> list[tuple[Kind, int]]:
        """Return a bar ``cells`` wide: how many cells each kind has."""
        kinds = self.kinds()
        total, end, drawn = sum(kinds.values()), 0.0, 0
        found = []
        for kind, size in kinds.items():
            end += size
            upto = round(end / total * cells)
            found.append((kind, upto - drawn))
            drawn = upto
        return found

    def functions(self) -> list[str]:
        """Return a sentence for each function of the user: its frame, and what its variables hold."""
        names = dict.fromkeys(part.function for part in self.parts if part.function)
        return [_sentence(name, [part for part in self.parts if part.function == name]) for name in names]

    def shortened(self, rows: int) -> "TaskAnatomy":
        """Return it with at most ``rows`` parts: the smallest objects are one."""
        extra = len(self.parts) - rows
        objects = [part for part in self.parts if part.kind is Kind.OBJECT]
        if extra <= 0 or len(objects) < 2:
            return self
        merged = sorted(objects, key=lambda part: part.bytes)[: extra + 1]
        small = Part(f"{len(merged)} smaller parts", sum(part.bytes for part in merged), Kind.OBJECT)
        kept = [part for part in self.parts if part not in merged]
        at = next((at for at, part in enumerate(kept) if part.kind in _LAST), len(kept))
        kept.insert(at, small)
        return TaskAnatomy(self.engine, self.task, self.live, self.whole, tuple(kept), self.sampled)

    def as_json(self) -> dict[str, Any]:
        """Return its object in JSON: bytes per task."""
        return {
            "live": self.live,
            "sampled": self.sampled,
            "memory_per_task": self.whole,
            "parts": [
                {
                    "name": part.name,
                    "kind": part.kind.name.lower(),
                    "function": part.function or None,
                    "count": part.count or None,
                    "bytes": part.bytes,
                }
                for part in self.parts
            ],
            "unexplained": self.unexplained,
        }


_LAST = (Kind.KERNEL, Kind.UNEXPLAINED)


def _sentence(function: str, parts: Sequence[Part]) -> str:
    frame = sum(part.bytes for part in parts if part.is_frame)
    variables = [part for part in parts if not part.is_frame]
    whole = format_bytes(sum(part.bytes for part in parts))
    own = f", {format_bytes(frame)} of it the frame itself" if frame else ""
    named = ", ".join(f"{part.name} {format_bytes(part.bytes)}" for part in variables[:3])
    more = f" and {len(variables) - 3} more" if len(variables) > 3 else ""
    held = f"; variables: {named}{more}" if named else ""
    return f"{function}: {whole}{own}{held}"


def task_anatomy(lane: LaneSnapshot) -> TaskAnatomy | None:
    """Return what a task of a lane consists of; None if its cost is not known yet."""
    rss, whole = lane.sample.rss_per_task, known_cost(lane)
    if rss is None or not whole:
        return None
    parts = [*_of_process(lane, rss)]
    parts.sort(key=lambda part: -part.bytes)
    parts += _of_kernel(lane)
    rest = whole - sum(part.bytes for part in parts)
    if abs(rest) >= LEAST_SHARE * whole:
        parts.append(Part("not explained", rest, Kind.UNEXPLAINED))
    found = lane.anatomy
    return TaskAnatomy(
        lane.name, lane.engine.task, found.live if found else lane.live, whole, tuple(parts),
        found.sampled if found else 0,
    )  # fmt: skip


def _of_process(lane: LaneSnapshot, rss: float) -> Iterable[Part]:
    """Yield the parts of RSS: those that the worker has found, or else what its runtime calls its heap."""
    if lane.anatomy is not None:
        for part in lane.anatomy.parts:
            kind = Kind.FUNCTION if part.function else Kind.OBJECT if part.count else Kind.MEMORY
            yield Part(part.name, part.bytes, kind, part.count, part.function)
        if lane.status.tracing and lane.status.traced_cost is not False and lane.sample.tracer and lane.live:
            yield Part("tracemalloc's own records", lane.sample.tracer / lane.live, Kind.MEMORY)
        return
    heap = 0.0
    if lane.sample.heap is not None and lane.idle_heap is not None and lane.live:
        heap = min(rss, max(0.0, (lane.sample.heap - lane.idle_heap) / lane.live))
    if heap:
        yield Part("live objects, as the runtime counts them", heap, Kind.OBJECT)
    if rss - heap >= LEAST_BYTES:
        yield Part("other RSS" if heap else "RSS", rss - heap, Kind.MEMORY)


def _of_kernel(lane: LaneSnapshot) -> Iterable[Part]:
    sample = lane.sample
    if sample.kernel_per_task is None:
        return
    for name, size in (
        ("kernel stack", sample.kernel_stack_per_task),
        ("kernel objects (slab, sockets)", sample.kernel_objects_per_task),
        ("page tables", sample.page_tables_per_task),
    ):
        if size is not None and size >= LEAST_BYTES:
            yield Part(name, size, Kind.KERNEL)
