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
Whole = Annotated[int, Meta(ge=0, le=1 << 53)]
"""A count, or bytes; a double still has it exactly."""

Difference = Annotated[int, Meta(ge=-(1 << 53), le=1 << 53)]
"""Bytes more, or fewer."""

Value = Annotated[int, Meta(ge=0, le=(1 << 63) - 1)]
"""The value of a limit of the system's."""

Seconds = Annotated[float, Meta(ge=0, le=1e9)]
"""A duration; 30 years are enough."""

Clock = Annotated[float, Meta(ge=-1e12, le=1e12)]
"""Seconds since whenever."""

Words = Annotated[str, Meta(max_length=200, pattern=r"^[^\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]*$")]
"""A few words that are shown as they are: none of them may command a terminal."""

Times = Annotated[tuple[Seconds, ...], Meta(max_length=10_000)]
"""Durations, one a task."""

MOST_WORDS = 1_000
"""Words in a list."""

WordList = Annotated[tuple[Words, ...], Meta(max_length=MOST_WORDS)]


class Ready(msgspec.Struct, tag="ready", frozen=True):
    """The worker stands."""

    engine: Words
    runtime: Words
    pid: Value
    protocol: Whole = PROTOCOL
    flags: WordList = ()
    can: WordList = ()
    workloads: WordList = ()


class Tick(msgspec.Struct, tag="tick", frozen=True):
    """The worker's own counters at one moment; ``time`` in seconds of the worker's clock."""

    time: Clock
    created: Whole
    live: Whole
    completed: Whole
    failed: Whole
    cancelled: Whole
    queued: Whole = 0
    lag: Seconds = 0.0
    gc: Seconds | None = None
    traced: Whole | None = None
    tracer: Whole | None = None
    heap: Whole | None = None
    number: Whole | None = None
    cpu: Seconds | None = None
    switches: Whole | None = None
    durations: Times | None = None
    delays: Times | None = None


class Reached(msgspec.Struct, tag="reached", frozen=True):
    """A target has been met."""

    target: Whole
    live: Whole
    created: Whole
    cancelled: Whole
    seconds: Seconds


class BurstDone(msgspec.Struct, tag="burst", frozen=True):
    """A burst has ended; seconds, CPU seconds, bytes."""

    tasks: Whole
    create_seconds: Seconds
    create_cpu: Seconds
    seconds: Seconds
    cpu: Seconds
    live: Whole | None = None
    """Tasks live at the reading; None without one."""
    traced: Difference | None = None


class Limit(msgspec.Struct, tag="limit", frozen=True):
    """The machine refused another task."""

    standing: Whole
    wanted: Whole
    wall: Words
    value: Value | None = None
    detail: str = ""


class Applied(msgspec.Struct, tag="applied", frozen=True):
    """A command has taken effect."""

    command: Words
    seconds: Seconds
    flags: WordList | None = None


class TracedLine(msgspec.Struct, frozen=True):
    """A line that holds traced memory."""

    file: Words
    line: Whole
    bytes: Whole
    grown: int = 0
    blocks: Whole = 0


class TracedLines(msgspec.Struct, tag="lines", frozen=True):
    """The lines whose traced memory has grown most."""

    lines: tuple[TracedLine, ...] = ()


class Error(msgspec.Struct, tag="error", frozen=True):
    """A command was refused, or a task failed for the first time."""

    message: str
    command: Words | None = None
    detail: str | None = None


class WallFigures(msgspec.Struct, frozen=True):
    """A limit on threads of another host."""

    name: Words
    value: Value
    used: Value
    a_thread: Whole = 1


class HostFigures(msgspec.Struct, tag="host", frozen=True):
    """Another host as its bridge finds it: bytes, and seconds of its own clock."""

    time: Clock
    name: Words
    system: Words
    processor: Words
    python: Words
    cores: Annotated[int, Meta(ge=1, le=1 << 20)]
    memory_total: Whole
    memory_available: Whole
    busy: Seconds
    own: Seconds
    memory_group: Words | None = None
    walls: Annotated[tuple[WallFigures, ...], Meta(max_length=100)] = ()


class ProcessFigures(msgspec.Struct, tag="process", frozen=True):
    """A worker's process as its bridge sees it: bytes, and seconds of that host's clock."""

    time: Clock
    rss: Whole
    virtual: Whole
    peak_rss: Whole
    threads: Whole
    cpu_seconds: Seconds


class Echo(msgspec.Struct, tag="echo", frozen=True):
    """A bridge has heard of us."""

    number: Whole


class Survey(msgspec.Struct, tag="survey", frozen=True):
    """What else is on another host."""

    pythons: WordList = ()
    tools: WordList = ()


class Building(msgspec.Struct, tag="building", frozen=True):
    """The worker is still being built: what happens there."""

    text: Words


class Built(msgspec.Struct, tag="built", frozen=True):
    """The worker has been built, and starts."""

    seconds: Seconds
    """How long that took."""


class WorkerEnded(msgspec.Struct, tag="ended", frozen=True):
    """The worker of a bridge has ended."""

    status: Annotated[int, Meta(ge=-(1 << 31), le=1 << 31)]


class Started(msgspec.Struct, tag="started", frozen=True):
    """The program that is watched on another host has started."""

    pid: Value


class Exited(msgspec.Struct, tag="exited", frozen=True):
    """That program has ended, with a status as the system has it: negative for a signal."""

    status: Annotated[int, Meta(ge=-(1 << 31), le=1 << 31)]


class Output(msgspec.Struct, tag="output", frozen=True):
    """What it has written."""

    text: str


class ProcessRow(msgspec.Struct, frozen=True):
    """One process of it: as `ProcessFigures`."""

    pid: Value
    ppid: Value
    name: str
    why: str
    """Why there is no agent in it, if there is none; nothing while one may still come."""
    rss: Whole
    virtual: Whole
    peak_rss: Whole
    threads: Whole
    cpu_seconds: Seconds


class Processes(msgspec.Struct, tag="processes", frozen=True):
    """All of its processes, and those attached to, at a moment of that host's clock."""

    time: Clock
    rows: Annotated[tuple[ProcessRow, ...], Meta(max_length=10_000)]


class AgentLine(msgspec.Struct, tag="agent", frozen=True):
    """A line of an agent's, or that its connection has ended."""

    connection: Whole
    pid: Value
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
            raise ValueError(one_line(f"not a line of {what}: {shown(line)}: {error}")) from None

    return decode_line


decode: Callable[[bytes], Report | HostReport | None] = line_decoder(Report | HostReport, "the wire")
"""Read one line of a worker's, or of a bridge's; see `line_decoder`."""


def shown(line: bytes) -> str:
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
