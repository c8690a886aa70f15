"""A worker's reports, decoded strictly: what each line must hold is written in `concwatch.wire`."""

import msgspec

from concwatch.wire import PROTOCOL


class Ready(msgspec.Struct, tag="ready", frozen=True):
    """The worker stands."""

    engine: str
    runtime: str
    pid: int
    protocol: int = PROTOCOL
    flags: tuple[str, ...] = ()
    can: tuple[str, ...] = ()
    workloads: tuple[str, ...] = ()


class Tick(msgspec.Struct, tag="tick", frozen=True):
    """The worker's own counters at one moment; ``time`` in seconds of the worker's clock."""

    time: float
    created: int
    live: int
    completed: int
    failed: int
    cancelled: int
    queued: int = 0
    lag: float = 0.0
    gc: float | None = None
    traced: int | None = None
    tracer: int | None = None


class Reached(msgspec.Struct, tag="reached", frozen=True):
    """A target has been met."""

    target: int
    live: int
    created: int
    cancelled: int
    seconds: float


class BurstDone(msgspec.Struct, tag="burst", frozen=True):
    """A burst has ended; seconds, CPU seconds, bytes."""

    tasks: int
    create_seconds: float
    create_cpu: float
    seconds: float
    cpu: float
    live: int | None = None
    """Tasks live at the reading; None without one."""
    traced: int | None = None


class Limit(msgspec.Struct, tag="limit", frozen=True):
    """The machine refused another task."""

    standing: int
    wanted: int
    wall: str
    value: int | None = None
    detail: str = ""


class Applied(msgspec.Struct, tag="applied", frozen=True):
    """A command has taken effect."""

    command: str
    seconds: float
    flags: tuple[str, ...] | None = None


class Error(msgspec.Struct, tag="error", frozen=True):
    """A command was refused, or a task failed for the first time."""

    message: str
    command: str | None = None
    detail: str | None = None


Report = Ready | Tick | Reached | BurstDone | Limit | Applied | Error

_KNOWN = {report.__struct_config__.tag for report in (Ready, Tick, Reached, BurstDone, Limit, Applied, Error)}
_decoder = msgspec.json.Decoder(Report)


class _Type(msgspec.Struct):
    type: str


_type_decoder = msgspec.json.Decoder(_Type)


def decode(line: bytes) -> Report | None:
    """Read one line of the wire; None for a type that is newer than this program.

    Raises:
        ValueError: one line for a person, with the beginning of what came.
    """
    try:
        report: Report = _decoder.decode(line)
        return report
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        try:
            if _type_decoder.decode(line).type not in _KNOWN:
                return None
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            pass
        shown = line[:60].decode(errors="replace")
        raise ValueError(f"not a line of the wire: {shown!r}: {error}") from None
