"""A worker's reports, decoded strictly: what each line must hold is written in `concwatch.wire`.

Longer than other files: it is one list, in the order of that text.
"""

from collections.abc import Callable
from types import UnionType
from typing import Annotated, Any, get_args

import msgspec
from msgspec import Meta

from concwatch.text import one_line
from concwatch.wire import PROTOCOL

# No real figure is beyond these, and what is within them can be added, divided, drawn and written.
Count = Annotated[int, Meta(ge=0, le=1 << 53)]
"""A count, or bytes; a double still has it exactly."""

SignedCount = Annotated[int, Meta(ge=-(1 << 53), le=1 << 53)]
"""Bytes more, or fewer."""

Int64 = Annotated[int, Meta(ge=0, le=(1 << 63) - 1)]
"""The value of a limit of the system's."""

Seconds = Annotated[float, Meta(ge=0, le=1e9)]
"""A duration; 30 years are enough."""

Clock = Annotated[float, Meta(ge=-1e12, le=1e12)]
"""Seconds since whenever."""

ShortText = Annotated[
    str, Meta(max_length=200, pattern=r"^[^\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]*$")
]
"""A few words that are quoted as they are: none of them may command a terminal."""

Durations = Annotated[tuple[Seconds, ...], Meta(max_length=10_000)]
"""Durations, one a task."""

MAX_TEXTS = 1_000
"""ShortText in a list."""

TextList = Annotated[tuple[ShortText, ...], Meta(max_length=MAX_TEXTS)]


class Ready(msgspec.Struct, tag="ready", frozen=True):
    """The worker stands."""

    engine: ShortText
    runtime: ShortText
    pid: Int64
    protocol: Count = PROTOCOL
    flags: TextList = ()
    can: TextList = ()
    workloads: TextList = ()


class Tick(msgspec.Struct, tag="tick", frozen=True):
    """The worker's own counters at one moment; ``time`` in seconds of the worker's clock."""

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


class Reached(msgspec.Struct, tag="reached", frozen=True):
    """A target has been met."""

    target: Count
    live: Count
    created: Count
    cancelled: Count
    seconds: Seconds


class BurstDone(msgspec.Struct, tag="burst", frozen=True):
    """A burst has ended; seconds, CPU seconds, bytes."""

    tasks: Count
    create_seconds: Seconds
    create_cpu: Seconds
    seconds: Seconds
    cpu: Seconds
    live: Count | None = None
    """Tasks live at the reading; None without one."""
    traced: SignedCount | None = None


class Limit(msgspec.Struct, tag="limit", frozen=True):
    """The machine refused another task."""

    standing: Count
    wanted: Count
    wall: ShortText
    value: Int64 | None = None
    detail: str = ""


class Applied(msgspec.Struct, tag="applied", frozen=True):
    """A command has taken effect."""

    command: ShortText
    seconds: Seconds
    flags: TextList | None = None


class TracedLine(msgspec.Struct, frozen=True):
    """A line that holds traced memory."""

    file: ShortText
    line: Count
    bytes: Count
    grown: int = 0
    blocks: Count = 0


class TracedLines(msgspec.Struct, tag="lines", frozen=True):
    """The lines whose traced memory has grown most."""

    lines: tuple[TracedLine, ...] = ()


class Error(msgspec.Struct, tag="error", frozen=True):
    """A command was refused, or a task failed for the first time."""

    message: str
    command: ShortText | None = None
    detail: str | None = None


class WallFigures(msgspec.Struct, frozen=True, rename={"per_thread": "a_thread"}):
    """A limit on threads of another host."""

    name: ShortText
    value: Int64
    used: Int64
    per_thread: Count = 1


class HostFigures(msgspec.Struct, tag="host", frozen=True):
    """Another host as its bridge finds it: bytes, and seconds of its own clock."""

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
    walls: Annotated[tuple[WallFigures, ...], Meta(max_length=100)] = ()


class ProcessFigures(msgspec.Struct, tag="process", frozen=True):
    """A worker's process as its bridge sees it: bytes, and seconds of that host's clock."""

    time: Clock
    rss: Count
    virtual: Count
    peak_rss: Count
    threads: Count
    cpu_seconds: Seconds


class Echo(msgspec.Struct, tag="echo", frozen=True):
    """A bridge has heard of us."""

    number: Count


class Survey(msgspec.Struct, tag="survey", frozen=True):
    """What else is on another host."""

    pythons: TextList = ()
    tools: TextList = ()


class Building(msgspec.Struct, tag="building", frozen=True):
    """The worker is still being built: what happens there."""

    text: ShortText


class Built(msgspec.Struct, tag="built", frozen=True):
    """The worker has been built, and starts."""

    seconds: Seconds
    """How long that took."""


class WorkerEnded(msgspec.Struct, tag="ended", frozen=True):
    """The worker of a bridge has ended."""

    status: Annotated[int, Meta(ge=-(1 << 31), le=1 << 31)]


class Started(msgspec.Struct, tag="started", frozen=True):
    """The program that is watched on another host has started."""

    pid: Int64


class Exited(msgspec.Struct, tag="exited", frozen=True):
    """That program has ended, with a status as the system has it: negative for a signal."""

    status: Annotated[int, Meta(ge=-(1 << 31), le=1 << 31)]


class Output(msgspec.Struct, tag="output", frozen=True):
    """What it has written."""

    text: str


class ProcessRow(msgspec.Struct, frozen=True):
    """One process of it: as `ProcessFigures`."""

    pid: Int64
    ppid: Int64
    name: str
    why: str
    """Why there is no agent in it, if there is none; nothing while one may still come."""
    rss: Count
    virtual: Count
    peak_rss: Count
    threads: Count
    cpu_seconds: Seconds


class Processes(msgspec.Struct, tag="processes", frozen=True):
    """All of its processes, and those attached to, at a moment of that host's clock."""

    time: Clock
    rows: Annotated[tuple[ProcessRow, ...], Meta(max_length=10_000)]


class AgentLine(msgspec.Struct, tag="agent", frozen=True):
    """A line of an agent's, or that its connection has ended."""

    connection: Count
    pid: Int64
    """The process at the other end."""
    report: msgspec.Raw
    """As `concwatch.agent` specifies it; null at the end."""


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
"""What a bridge adds to its worker's reports."""

Report = Ready | Tick | Reached | BurstDone | Limit | Applied | TracedLines | Error


class _Type(msgspec.Struct):
    type: str


_type_decoder = msgspec.json.Decoder(_Type)


def line_decoder(reports: UnionType, what: str) -> Callable[[bytes], Any]:
    """Return what reads one line of a wire.

    It returns None for a type that is newer than this program, and raises a ValueError whose message is one
    line for a person, with the beginning of what came.

    Args:
        reports: the types of its lines.
        what: what a wrong line is none of.
    """
    known = {report.__struct_config__.tag for report in get_args(reports)}
    decoder = msgspec.json.Decoder(reports)

    def decode_line(line: bytes) -> Any:
        try:
            return decoder.decode(line)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
            try:
                if _type_decoder.decode(line).type not in known:
                    return None
            except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
                pass
            raise ValueError(one_line(f"not a line of {what}: {quoted(line)}: {error}")) from None

    return decode_line


decode: Callable[[bytes], Report | HostReport | None] = line_decoder(Report | HostReport, "the wire")
"""Read one line of a worker's, or of a bridge's; see `line_decoder`."""


def quoted(line: bytes) -> str:
    """Quote the beginning of what came."""
    return repr(line[:60].decode(errors="replace"))


def contradiction(before: Tick | None, tick: Tick) -> str | None:
    """Return what cannot be in ``tick``, by itself or behind ``before`` of the same worker, or None."""
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
