"""The messages of workers and bridges, decoded strictly, as `concwatch.portable.protocol.wire` has them."""

from collections.abc import Callable
from functools import cache
from types import UnionType
from typing import Annotated, Any, get_args

import msgspec
from msgspec import Meta

from concwatch.portable.protocol import PROTOCOL
from concwatch.portable.protocol.text import one_line

# The ranges hold every real figure, and keep arithmetic, drawing and formatting safe.
Count = Annotated[int, Meta(ge=0, le=1 << 53)]
"""A number of things or bytes, small enough for a double to hold exactly."""

SignedCount = Annotated[int, Meta(ge=-(1 << 53), le=1 << 53)]
"""A change in bytes."""

Int64 = Annotated[int, Meta(ge=0, le=(1 << 63) - 1)]
"""A pid, or the value of a system limit."""

Seconds = Annotated[float, Meta(ge=0, le=1e9)]
"""A duration of up to 30 years."""

Clock = Annotated[float, Meta(ge=-1e12, le=1e12)]
"""Seconds on any clock."""

ShortText = Annotated[
    str, Meta(max_length=200, pattern=r"^[^\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]*$")
]
"""Text that is shown unescaped, so it may not contain control characters."""

Durations = Annotated[tuple[Seconds, ...], Meta(max_length=10_000)]
"""Durations, one per task."""

MAX_TEXTS = 1_000
"""Length of a list of texts."""

TextList = Annotated[tuple[ShortText, ...], Meta(max_length=MAX_TEXTS)]


class Ready(msgspec.Struct, tag="ready", frozen=True):
    """The worker is ready."""

    engine: ShortText
    runtime: ShortText
    pid: Int64
    protocol: Count = PROTOCOL
    flags: TextList = ()
    can: TextList = ()
    workloads: TextList = ()


MAX_FAILURES = 100
"""Kinds of failures in one tick."""


class Failure(msgspec.Struct, frozen=True, rename={"error": "type"}):
    """How many tasks have failed in one way."""

    error: ShortText
    """The type of the exception; empty for all kinds that are not counted one by one."""
    where: ShortText
    """The line of the user's code that it came from; empty if unknown."""
    count: Count


class Tick(msgspec.Struct, tag="tick", frozen=True):
    """The worker's counters; ``time`` is in seconds on the worker's clock."""

    time: Clock
    created: Count
    live: Count
    completed: Count
    failed: Count
    cancelled: Count
    queued: Count = 0
    lag: Seconds = 0.0
    gc: Seconds | None = None
    traced: Count | None = None
    tracer: Count | None = None
    heap: Count | None = None
    number: Count | None = None
    cpu: Seconds | None = None
    switches: Count | None = None
    durations: Durations | None = None
    delays: Durations | None = None
    failures: Annotated[tuple[Failure, ...], Meta(max_length=MAX_FAILURES)] | None = None


class Reached(msgspec.Struct, tag="reached", frozen=True):
    """A target has been reached."""

    target: Count
    live: Count
    created: Count
    cancelled: Count
    seconds: Seconds

    @property
    def grew(self) -> bool:
        """Whether tasks were created for it, not only to replace some while more were cancelled."""
        return self.created > 0 and self.created >= self.cancelled


class BurstDone(msgspec.Struct, tag="burst", frozen=True):
    """A burst has ended; times in seconds, memory in bytes."""

    tasks: Count
    create_seconds: Seconds
    create_cpu: Seconds
    seconds: Seconds
    cpu: Seconds
    live: Count | None = None
    """Live tasks at the reading; None without one."""
    traced: SignedCount | None = None


class Limit(msgspec.Struct, tag="limit", frozen=True, rename={"name": "wall"}):
    """The system refused to start another task."""

    standing: Count
    wanted: Count
    name: ShortText
    """The name of the limit."""
    value: Int64 | None = None
    detail: str = ""


class Applied(msgspec.Struct, tag="applied", frozen=True):
    """A command has taken effect."""

    command: ShortText
    seconds: Seconds
    flags: TextList | None = None


MAX_STACK = 20
"""Frames of the stack of a block."""


class StackFrame(msgspec.Struct, frozen=True, rename={"in_": "in"}):
    """A function on a stack, and the line that it runs."""

    in_: ShortText
    where: ShortText


class Block(msgspec.Struct, tag="block", frozen=True):
    """What has blocked an event loop. A block that goes on is reported again and again, under one number."""

    block: Count
    loop: ShortText
    seconds: Seconds
    time: Clock = 0.0
    ended: bool = True
    cause: ShortText = "code"
    exact: bool = True
    stack: Annotated[tuple[StackFrame, ...], Meta(max_length=MAX_STACK)] = ()
    own: Annotated[tuple[Count, ...], Meta(max_length=MAX_STACK)] = ()
    group: ShortText | None = None
    """The name of the task's group."""


class TracedLine(msgspec.Struct, frozen=True):
    """A line of code that has allocated traced memory."""

    file: ShortText
    line: Count
    bytes: Count
    grown: int = 0
    blocks: Count = 0


class TracedLines(msgspec.Struct, tag="lines", frozen=True):
    """The lines of code whose traced memory has grown most."""

    lines: tuple[TracedLine, ...] = ()


Amount = Annotated[float, Meta(ge=0, le=1 << 53)]
"""Bytes, or a number of things, per task."""


class TaskPart(msgspec.Struct, frozen=True):
    """A part of the memory of one task: the mean of the tasks that were looked at."""

    name: ShortText
    bytes: Amount
    count: Amount = 0.0
    """How many there are; 0 if that is not known, or is no number."""
    function: ShortText = ""
    """The function of the user that it is the frame of, or whose variable it is."""


class Anatomy(msgspec.Struct, tag="anatomy", frozen=True):
    """What the memory of a task consists of, as the worker knows it."""

    live: Count
    sampled: Count
    """The tasks that were looked at."""
    taken: Count = 0
    """Bytes of RSS that looking has taken."""
    parts: Annotated[tuple[TaskPart, ...], Meta(max_length=100)] = ()


class Error(msgspec.Struct, tag="error", frozen=True):
    """A command was refused, or a task failed for the first time."""

    message: str
    command: ShortText | None = None
    detail: str | None = None


class LimitFigures(msgspec.Struct, frozen=True, rename={"per_thread": "a_thread"}):
    """A limit on threads on another host."""

    name: ShortText
    value: Int64
    used: Int64
    per_thread: Count = 1


class HostFigures(msgspec.Struct, tag="host", frozen=True, rename={"limits": "walls"}):
    """The bridge's figures of its host: bytes, and seconds on the host's clock."""

    time: Clock
    name: ShortText
    system: ShortText
    processor: ShortText
    python: ShortText
    cores: Annotated[int, Meta(ge=1, le=1 << 20)]
    memory_total: Count
    memory_available: Count
    busy: Seconds
    own: Seconds
    memory_group: ShortText | None = None
    boot_id: ShortText | None = None
    limits: Annotated[tuple[LimitFigures, ...], Meta(max_length=100)] = ()


class ProcessFigures(msgspec.Struct, tag="process", frozen=True):
    """The bridge's figures of its worker's process: bytes, and seconds on the host's clock."""

    time: Clock
    rss: Count
    virtual: Count
    peak_rss: Count
    threads: Count
    cpu_seconds: Seconds
    kernel_stack: Count | None = None
    page_tables: Count | None = None
    kernel_objects: Count | None = None
    objects_known: str = ""
    cpu_quota: Seconds | None = None
    throttled: Seconds | None = None
    anonymous: Count | None = None
    shared: Count | None = None
    shared_grown: Count | None = None
    state: str = ""


class Echo(msgspec.Struct, tag="echo", frozen=True):
    """A bridge's answer to a heartbeat."""

    number: Count


class Survey(msgspec.Struct, tag="survey", frozen=True):
    """Pythons and toolchains found on another host."""

    pythons: TextList = ()
    tools: TextList = ()


class Building(msgspec.Struct, tag="building", frozen=True):
    """The worker is being built; ``text`` is a line of progress."""

    text: ShortText


class Built(msgspec.Struct, tag="built", frozen=True):
    """The worker has been built, and is being started."""

    seconds: Seconds
    """How long the build took."""


class WorkerEnded(msgspec.Struct, tag="ended", frozen=True):
    """The worker of a bridge has ended."""

    status: Annotated[int, Meta(ge=-(1 << 31), le=1 << 31)]


class Started(msgspec.Struct, tag="started", frozen=True):
    """The watched program on another host has started."""

    pid: Int64


class Exited(msgspec.Struct, tag="exited", frozen=True):
    """The watched program has exited; a negative status is a signal's number."""

    status: Annotated[int, Meta(ge=-(1 << 31), le=1 << 31)]


class Output(msgspec.Struct, tag="output", frozen=True):
    """Output of the watched program."""

    text: str


class ProcessRow(msgspec.Struct, frozen=True):
    """One watched process, with the figures of `ProcessFigures`.

    Also its PSS, its memory limit, what is used of that, and when it started, if the system reports them.
    """

    pid: Int64
    ppid: Int64
    name: str
    why: str
    """Why it has no agent; empty if it has one or may still get one."""
    rss: Count
    virtual: Count
    peak_rss: Count
    threads: Count
    cpu_seconds: Seconds
    pss: Count | None = None
    kernel_stack: Count | None = None
    page_tables: Count | None = None
    kernel_objects: Count | None = None
    objects_known: str = ""
    cpu_quota: Seconds | None = None
    throttled: Seconds | None = None
    memory_limit: Int64 | None = None
    memory_used: Int64 | None = None
    started: Clock | None = None
    anonymous: Count | None = None
    shared: Count | None = None
    shared_grown: Count | None = None
    state: str = ""


class Processes(msgspec.Struct, tag="processes", frozen=True):
    """All processes of the watched program and those attached to, at a time on the host's clock."""

    time: Clock
    rows: Annotated[tuple[ProcessRow, ...], Meta(max_length=10_000)]


class AgentLine(msgspec.Struct, tag="agent", frozen=True):
    """A line from an agent on another host, or the end of its connection."""

    connection: Count
    pid: Int64
    """The process at the other end."""
    report: msgspec.Raw
    """A message specified in `concwatch.links.agent_messages`; null at the end."""


HostReport = (
    HostFigures
    | ProcessFigures
    | Echo
    | Survey
    | Building
    | Built
    | WorkerEnded
    | Started
    | Exited
    | Output
    | Processes
    | AgentLine
)
"""The reports that a bridge adds to its worker's."""

Report = Ready | Tick | Reached | BurstDone | Limit | Applied | Block | TracedLines | Anatomy | Error


class _Type(msgspec.Struct):
    type: str


_type_decoder = msgspec.json.Decoder(_Type)


def line_decoder(reports: UnionType, what: str) -> Callable[[bytes], Any]:
    """Return a decoder of lines.

    The decoder returns None for a message type that is unknown to this version. For an invalid line it raises
    a ValueError whose message is one line that quotes the beginning.

    Args:
        reports: the union of the message types.
        what: the sender, for error messages.
    """
    known = {report.__struct_config__.tag for report in get_args(reports)}
    decoder = cache(lambda: msgspec.json.Decoder(reports))  # made at the first line: it takes a millisecond

    def decode_line(line: bytes) -> Any:
        try:
            return decoder().decode(line)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
            try:
                if _type_decoder.decode(line).type not in known:
                    return None
            except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
                pass
            raise ValueError(one_line(f"not a line of {what}: {quoted(line)}: {error}")) from None

    return decode_line


decode: Callable[[bytes], Report | HostReport | None] = line_decoder(Report | HostReport, "the wire")
"""Decode one line from a worker or a bridge; see `line_decoder`."""


def quoted(line: bytes) -> str:
    """Quote the beginning of a line."""
    return repr(line[:60].decode(errors="replace"))


def contradiction(before: Tick | None, tick: Tick) -> str | None:
    """Return what is inconsistent in ``tick``, or between it and the tick ``before`` it; None if nothing."""
    ended = tick.completed + tick.failed + tick.cancelled
    if tick.created != tick.live + ended:
        return f"created is {tick.created:,}, and live with all that ended {tick.live + ended:,}"
    if tick.queued > tick.live:
        return f"queued is {tick.queued:,}, and live {tick.live:,}"
    if before is not None:
        for name in ("time", "created", "completed", "failed", "cancelled"):
            was, now = getattr(before, name), getattr(tick, name)
            if now < was:
                return f"{name} fell from {was:,} to {now:,}"
    return None
