"""A recording: what the screen knew, sample by sample. This is its specification, version 2.

A recording is UTF-8 text, a JSON value a line, each line ended by a line feed; or that text compressed with
gzip (RFC 1952). A line is an array, which is a sample, or an object, whose ``"type"`` tells what it is. The
first line is the header. Lines are written as things happen, so one that breaks off is whole up to its last
line end. Each line stands by itself: one that cannot be read is passed over and costs nothing else. A
reader passes over types and keys that it does not know.

Times are in seconds since the recording began, in microseconds cut and not rounded, so that nothing seems
to have happened later than it did. Memory is in bytes, rates are in tasks a second, shares of 1. ``null`` is
what was not known. Among samples of the same lane, and objects of the same type, ``time`` never goes back,
save that a mark may be put on a moment of the past.

What a worker or the system said is written exactly. What concwatch derived from it is rounded to 6
significant digits, and marked here with a *.

Lanes
=====
A lane is known by its place in the header's ``lanes``, from 0. Lanes need not run at the same time:
``concwatch run`` has one lab after another in one recording, on one clock. What a sample says of memory,
threads and counters is of one worker; a lane that is switched off and on again has another one, whose
counters start anew.

A sample: an array
==================
``[lane, time, rss, traced, create_rate, …]``: as many as the charts were given, about ten a second a lane
with a worker. When a worker has ended there is one more in which all that it and the system would say is
``null``: the lines of the charts break there. The header's ``columns`` names what each place holds:

    ``lane``                     the lane's number
    ``time``                     when it was taken
    ``rss``                      memory resident of the worker's process
    ``traced``                   bytes that the tracer knows of; null while nothing is traced
    ``heap``                     bytes that the runtime itself says live objects take; null where it does not
    ``create_rate`` *            tasks created a second, between the last two ticks
    ``completion_rate`` *        tasks that ended by themselves a second, between the last two ticks
    ``live``                     tasks created and not yet ended
    ``lag``                      seconds: ``tick_lag``, or how much overdue the next tick is, if that is more
    ``cpu``                      share of one core that the worker took since the last look
    ``threads``                  threads of the worker's process
    ``virtual``                  address space of the worker's process
    ``tick_time``                when the worker took its counters: seconds on a clock of its own
    ``created``                  tasks created so far
    ``completed``                tasks that ended by themselves so far
    ``failed``                   tasks that ended with an error so far
    ``cancelled``                tasks that the worker ended so far
    ``queued``                   those of ``live`` that wait for a thread
    ``tick_lag``                 seconds: how late, at worst since the tick before, a sleeper was woken
    ``gc``                       seconds of garbage collection so far; null where the runtime cannot tell
    ``tracer``                   bytes that the tracer itself takes; null while nothing is traced
    ``mean_completion_rate`` *   as ``completion_rate``, over the last ten seconds
    ``stalled`` *                seconds that the worker has been silent or overdue; 0 when all is well
    ``cost_rss`` *               RSS a task over the lane's idle baseline; null before it can be told
    ``cost_traced`` *            traced bytes a task; null untraced, and before it can be told
    ``cost_live``                tasks that were live when that cost was taken

``traced``, ``heap``, ``live`` and all from ``tick_time`` to ``tracer`` are the worker's last tick before the
sample, in which ``created = live + completed + failed + cancelled``. ``rss``, ``cpu``, ``threads`` and
``virtual`` are what the system said of its process as the sample was taken.

Objects
=======
``concwatch-recording``: the header.
    ``version``    2
    ``began``      when, in UTC: ``"2026-11-21T12:40:00.123456+00:00"``
    ``concwatch``  the version of concwatch that wrote it
    ``machine``    object: what it was recorded on, as in ``concwatch run --json``
    ``command``    how concwatch was called
    ``rate``       samples a second
    ``lanes``      list of objects: ``name`` of the engine; ``task``, what a task is there; ``queues``,
                   whether tasks wait there for a thread; ``threads``, whether each task takes one of
                   the system's
    ``budget``     memory that all workers might take together, as the recording began
    ``columns``    list of strings: the places of a sample; of version 2 are those above, in that order

``lab``: a lab comes in. It holds until the next.
    ``time``, ``rate``, ``budget``
    ``lanes``      list of numbers: the lanes that it has
    ``walls``      list of ``[name, value, used]``: the limits on threads, with no task live

``lane``: as its lab comes in, and whenever one of these has changed.
    ``time``, ``lane``
    ``state``           ``off``, ``building``, ``starting``, ``running``, ``stalled``, ``stopping``,
                        ``failed``
    ``reason``          why it failed, or an empty string
    ``target``          how many live tasks it is asked to hold
    ``limited``         the wall that holds it short of what was asked, or an empty string
    ``create_speed`` *  tasks a second at which the last target was created
    ``runtime``         what runs the worker, with its version; null before the worker stands
    ``pid``             its process
    ``flags``           list of strings: what else shapes its figures
    ``born``            when its worker was started; samples until then are another worker's
    ``cost_tracing``    whether tracing was on when the cost was taken
    ``cost_clean``      false where that cost may count memory that earlier tasks left behind
    ``bytes_per_task``  what one more task was expected to take; null where that is ``cost_rss``, at least 1
    ``traceable``       whether the worker can trace allocations
    ``missing``         why the engine cannot run there, or null

``settings``: as a lab comes in, and whenever one of these has changed: what all lanes have in common.
    ``time``
    ``workload``, ``refill``, ``trace``, ``gc``  as the commands of these names
    ``threads``         of a pool; null for the engine's own number
    ``stack``           bytes of each thread's stack; null for the system's own size
    ``page``            where tasks fetch, or null

``own``: as a lab comes in, and once a second if one of these has changed.
    ``time``
    ``rss``, ``cpu``, ``threads``, ``virtual``  of concwatch's own process, as in a sample; null if not known
    ``room``            memory that workers might take in all, what they took then included
    ``total``           the machine's memory, or that of the control group that binds
    ``bound``           which of both binds: ``memory`` or ``cgroup memory``

``event``: a line of the event log.
    ``time``, ``lane``  ``lane`` is its engine's name, or an empty string
    ``text``
    ``weight``          ``info``, ``warning``, ``error``

``mark``: what was asked for, or noted.
    ``time``, ``lane``  as in an event
    ``kind``            ``note``, or the command: ``switch``, ``target``, ``workload``, ``refill``, ``trace``,
                        ``gc``, ``threads``, ``trim``
    ``text``            what was noted, or asked for

``end``: the last line of a recording that was ended in order.
    ``time``, ``why``   when, and why in a few words
    ``samples``         how many samples it has
"""

import math
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from concwatch.lab.events import Weight
from concwatch.lab.lane import State
from concwatch.lab.settings import Settings

KIND = "concwatch-recording"
VERSION = 2

Time = Annotated[float, Meta(ge=-1e10, le=1e10)]
"""Seconds: three centuries. A line that says more is damaged."""
Count = Annotated[int, Meta(ge=-(1 << 63), le=(1 << 63) - 1)]
"""What other programs take for a whole number, too."""


class Sample(Struct, array_like=True, frozen=True, gc=False):
    """One sample of one lane; the docstring above says what each place holds."""

    lane: Count
    time: Time
    rss: Count | None
    traced: Count | None
    heap: Count | None
    create_rate: float | None
    completion_rate: float | None
    live: Count | None
    lag: float | None
    cpu: float | None
    threads: Count | None
    virtual: Count | None
    tick_time: float | None
    created: Count | None
    completed: Count | None
    failed: Count | None
    cancelled: Count | None
    queued: Count | None
    tick_lag: float | None
    gc: float | None
    tracer: Count | None
    mean_completion_rate: float | None
    stalled: float
    cost_rss: float | None
    cost_traced: float | None
    cost_live: Count | None


COLUMNS = Sample.__struct_fields__


class Engine(Struct, frozen=True):
    """What the header says of a lane."""

    name: str
    task: str = ""
    queues: bool = False
    threads: bool = False


class Header(Struct, tag=KIND, frozen=True):
    """The first line."""

    version: int
    began: str
    concwatch: str
    machine: dict[str, Any]
    command: str
    rate: float
    lanes: tuple[Engine, ...]
    budget: Count
    columns: tuple[str, ...] = COLUMNS


class LabLine(Struct, tag="lab", frozen=True):
    """A lab comes in."""

    time: Time
    rate: float
    budget: Count
    lanes: tuple[Count, ...]
    walls: tuple[tuple[str, Count, Count], ...] = ()


class LaneLine(Struct, tag="lane", frozen=True):
    """What changes slowly of a lane."""

    time: Time
    lane: Count
    state: State = State.OFF
    reason: str = ""
    target: Count = 0
    limited: str = ""
    create_speed: float | None = None
    runtime: str | None = None
    pid: Count | None = None
    flags: tuple[str, ...] = ()
    born: Time = 0.0
    cost_tracing: bool = False
    cost_clean: bool = False
    bytes_per_task: float | None = None
    traceable: bool = True
    missing: str | None = None


class SettingsLine(Struct, tag="settings", frozen=True):
    """What all lanes have in common."""

    time: Time
    workload: str = Settings.workload
    refill: bool = Settings.refill
    trace: bool = Settings.trace
    gc: str = Settings.gc
    threads: Count | None = Settings.threads
    stack: Count | None = Settings.stack
    page: str | None = Settings.page


class OwnLine(Struct, tag="own", frozen=True):
    """What concwatch takes, and what the machine has."""

    time: Time
    rss: Count | None
    cpu: float | None
    threads: Count | None
    virtual: Count | None
    room: Count
    total: Count
    bound: str


class EventLine(Struct, tag="event", frozen=True):
    """A line of the event log."""

    time: Time
    lane: str
    text: str
    weight: Weight = "info"


class MarkLine(Struct, tag="mark", frozen=True):
    """What was asked for, or noted."""

    time: Time
    lane: str
    kind: str
    text: str


class EndLine(Struct, tag="end", frozen=True):
    """The last line."""

    time: Time
    why: str
    samples: Count


Line = LabLine | LaneLine | SettingsLine | OwnLine | EventLine | MarkLine | EndLine

_encoder = msgspec.json.Encoder()


def encode(line: Header | Line | Sample) -> bytes:
    """Write one line, its line end included."""
    return _encoder.encode(line) + b"\n"


def cut_time(seconds: float) -> float:
    """Give a time as recordings have it: in whole microseconds, never later than it is."""
    return math.floor(seconds * 1e6) / 1e6


def rounded(value: float | None) -> float | None:
    """Give a derived figure as recordings have it: 6 significant digits; None for what is not known."""
    return None if value is None or not math.isfinite(value) else float(f"{value:.6g}")


def tell_time(seconds: float, digits: int = 1) -> str:
    """Write a time in a recording: ``00:12.3``, ``1:02:03.4``; cut, not rounded."""
    whole = max(0, math.floor(seconds * 10**digits))
    minutes, rest = divmod(whole, 60 * 10**digits)
    hours, minutes = divmod(minutes, 60)
    shown = f"{rest / 10**digits:0{digits + 3 if digits else 2}.{digits}f}"
    return f"{hours}:{minutes:02}:{shown}" if hours else f"{minutes:02}:{shown}"
