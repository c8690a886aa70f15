"""The format of a recording: the session sample by sample. This is its specification, version 3.

A recording is UTF-8 text, one JSON value per line, each ended by a line feed; or that text compressed with
gzip (RFC 1952). A line is an array, which is a sample, or an object, whose ``"type"`` is its kind. The
first line is the header. Lines are written as things happen, so a truncated recording is complete up to its
last line end. Each line is independent: a line that cannot be read is skipped, and no other is affected.
A reader ignores types and keys that it does not know.

Times are in seconds since the recording began, truncated to microseconds and not rounded, so that nothing
appears later than it happened. Memory is in bytes, rates are in tasks a second, shares are of 1. ``null`` is
an unknown value. Among samples of the same lane, and objects of the same type, ``time`` never decreases,
except that a mark may be put on an earlier moment.

Whole numbers are exact; a sample's ``time`` is written to the microsecond, and a metric to as many
``decimals`` as its row in `concwatch.monitor.metrics.metrics` says; other numbers are rounded to 5
significant digits. A number that is whole after rounding is written without a point.

Lanes
=====
A lane is identified by its index in the header's ``lanes``, from 0; one that joins later by the number in its
``join`` line, which is the next free one. Lanes need not run at the same time: ``concwatch run`` puts one lab
after another into one recording, on one clock. Memory, threads and counters in a sample are those of one
worker; a lane that is switched off and on again has a new worker, whose counters start at 0.

A sample: an array
==================
``[lane, time, rss, …]``: all samples that the charts showed, about ten a second for each lane with a worker.
Nulls at the end are left out. After a worker's end there is one more sample, in which all that it and the
system report is ``null``: there the lines of the charts break. The header's ``columns`` lists the columns:

    ``lane``   the lane's number
    ``time``   time of the sample

and the metrics that are fields of a `Sample` in `concwatch.monitor.metrics.metrics`, where each is explained:
``rss``, ``created_per_second``, ``live``, and so on, in that order.

The metrics whose source is a tick are from the worker's last one before the sample, in which
``created = live + completed + failed + cancelled``. Those whose source is a reading were read from the system
when the sample was taken.

Rates are counted in windows of one sampling interval that end at the worker's ticks; if there were several
ticks since the last sample, the highest counts. Without a tick the rate is null: a reader takes that of the
next sample that has one, back to the last sample that had one. Exports do so.

Objects
=======
``concwatch-recording``: the header.
    ``version``    3
    ``began``      the start in UTC: ``"2026-11-21T12:40:00.123456+00:00"``
    ``concwatch``  the version of concwatch that wrote it
    ``machine``    object: the machine, as in ``concwatch run --json``
    ``command``    the command line of concwatch
    ``rate``       samples a second
    ``lanes``      list of objects: ``name`` of the engine; ``task``, what a task is there; ``queues``,
                   whether tasks wait for a thread; ``threads``, whether each task uses a thread of the
                   system; ``grain``, bytes that its runtime requests from the system at once, which is the
                   resolution of its memory;
                   ``host``, where it runs, if not on this machine
    ``budget``     memory that all workers together might use when the recording began
    ``columns``    list of strings: the columns of a sample, ``lane`` and ``time`` first. A reader takes the
                   others by name: older recordings lack some, and newer ones may have more

``lab``: a lab begins. Valid until the next one.
    ``time``, ``rate``, ``budget``
    ``lanes``      list of numbers: its lanes

``join``: a lane begins that is not in the header: a process of a watched program. Written again when its name
changes; the last one holds for the whole recording.
    ``time``, ``lane``  its number
    ``name``, ``task``, ``queues``, ``threads``, ``grain``, ``host``  as in the header's ``lanes``

``groups``: the groups of a watched process, at most once a second, and when it has ended. Valid until the
next. What is unknown is null, such as ``live`` if the process ended without its last report.
    ``time``, ``lane``
    ``groups``     list of objects, the largest first, at most 50: ``name``, ``file``, ``line``, ``own``,
                   ``live``, ``live_peak``, ``created``, ``ended``, ``since``, ``failed``, ``retained`` as the
                   agent reports them, and ``left_over``, ``destroyed``, ``left_lines`` if it does;
                   ``created_per_second``, ``ended_per_second``; ``mean_life``, ``oldest``
                   in seconds; ``growth``: tasks a minute with the 95 % interval, or null;
                   ``grows``: whether an event has reported it; ``leak``: whether one has called it a leak;
                   ``waits``: where they wait; ``waits_known``: whether they were asked for; ``at_least``: the
                   names of the metrics that may be higher

``blocks``: what has blocked the event loops of a watched process, at most once a second. Valid until the
next.
    ``time``, ``lane``
    ``blocks``     list of objects, the most blocked place first, at most 20. A key that is left out is 0,
                   null or empty; ``exact`` is true then: ``cause``, ``loop``, ``function``, ``where`` (file
                   and line), ``caller``, ``group``, ``exact`` as the agent reports them; ``count``,
                   ``seconds``, ``longest``; ``stack`` of the longest, innermost first, at most 10 frames

``lane``: when its lab begins, and after each change of one of these. A key that is left out has the value of
a lane that never had a worker: ``off``, 0, false, null or empty; 1 for ``bytes_per_task``.
    ``time``, ``lane``
    ``state``           ``off``, ``building``, ``starting``, ``running``, ``stalled``, ``stopping``,
                        ``failed``, ``lost``: the connection to another host is broken
    ``failures``        list of objects as in a tick
    and the other fields of a `LaneStatus` in `concwatch.monitor.metrics.metrics`, where each is explained

``settings``: the settings of all lanes, when a lab begins, and after each change.
    ``time``
    ``workload``, ``refill``, ``trace``, ``gc``  as the commands of these names
    ``threads``         threads of a pool; null for the engine's default
    ``stack``           bytes of each thread's stack; null for the system's default
    ``page``            the address that tasks fetch or connect to, or null
    ``addresses``       loopback addresses, from that one on, that tasks connect to in turn
    ``arguments``       list of strings: what the user's function is called with

``own``: when a lab begins, and once a second if one of these has changed.
    ``time``
    ``rss``, ``cpu``, ``threads``, ``virtual``  of concwatch's own process, as in a sample; null if unknown
    ``busy``            share of all cores that all programs used
    ``room``            memory that all workers might use, including what they already use
    ``total``           memory of the machine, or of the control group if that is the limit
    ``bound``           which of the two is the limit: ``memory`` or ``cgroup memory``

``event``: a line of the event log.
    ``time``, ``lane``  ``lane`` is its engine's name, or an empty string
    ``text``
    ``weight``          ``info``, ``warning``, ``error``
    ``kind``            what it is about: ``agent``, ``ended``, ``growth``, ``growth_withdrawn``, ``leak``,
                        ``leak_withdrawn``, ``left_over``, ``block``, ``block_ended``, ``stopped``,
                        ``stopped_ended``, ``deadlock``, ``deadlock_ended``, ``shutdown``,
                        ``shutdown_ended``, ``cycle``, ``memory``, ``memory_withdrawn``, ``malloc``,
                        ``malloc_withdrawn``, ``throttled``,
                        ``throttled_ended``, ``export``, or an empty string
    ``updates``         which event of the recording, counted from 1, it updates or ends; 0 for none

``mark``: a request of the user, a note, or a block of an event loop.
    ``time``, ``lane``  as in an event
    ``kind``            ``note``, ``block``, or the command: ``switch``, ``target``, ``workload``,
                        ``refill``, ``trace``, ``gc``, ``threads``, ``trim``
    ``text``            the note, how long the block was and where, or what was requested

``end``: the last line of a recording that was stopped properly.
    ``time``, ``why``   when, and why in a few words
    ``samples``         number of samples
"""

import math
from typing import Any

from msgspec import Struct, json, structs

from concwatch.monitor.metrics.group_status import GroupStatus
from concwatch.monitor.metrics.metrics import (
    COLUMNS,
    SAMPLED_METRICS,
    Count,
    EngineFacts,
    LaneStatus,
    Sample,
    Time,
)
from concwatch.monitor.metrics.settings import Settings
from concwatch.monitor.metrics.snapshot import Machine
from concwatch.monitor.verdicts.blocks import BlockedPlace
from concwatch.monitor.verdicts.events import Kind, Severity

KIND = "concwatch-recording"
VERSION = 3


class Header(Struct, tag=KIND, frozen=True):
    """The first line."""

    version: int
    began: str
    concwatch: str
    machine: dict[str, Any]
    command: str
    rate: float
    lanes: tuple[EngineFacts, ...]
    budget: Count
    columns: tuple[str, ...] = COLUMNS


class LabLine(Struct, tag="lab", frozen=True):
    """A lab begins."""

    time: Time
    rate: float
    budget: Count
    lanes: tuple[Count, ...]


class JoinLine(EngineFacts, tag="join", frozen=True, kw_only=True, omit_defaults=True):
    """A lane begins that is not in the header."""

    time: Time
    lane: Count


class GroupsLine(Struct, tag="groups", frozen=True):
    """The groups of a watched process."""

    time: Time
    lane: Count
    groups: tuple[GroupStatus, ...]


class BlocksLine(Struct, tag="blocks", frozen=True):
    """What has blocked the event loops of a watched process."""

    time: Time
    lane: Count
    blocks: tuple[BlockedPlace, ...]


class LaneLine(LaneStatus, tag="lane", frozen=True, kw_only=True, omit_defaults=True):
    """The status of a lane."""

    time: Time
    lane: Count


class SettingsLine(Settings, tag="settings", frozen=True, kw_only=True):
    """The settings of all lanes."""

    time: Time


class OwnLine(Machine, tag="own", frozen=True, kw_only=True):
    """The resources that concwatch uses, and those of the machine."""

    time: Time


class EventLine(Struct, tag="event", frozen=True, rename={"severity": "weight"}):
    """A line of the event log."""

    time: Time
    lane: str
    text: str
    severity: Severity = "info"
    kind: Kind = ""
    updates: Count = 0


class MarkLine(Struct, tag="mark", frozen=True):
    """A request of the user, or a note."""

    time: Time
    lane: str
    kind: str
    text: str


class EndLine(Struct, tag="end", frozen=True):
    """The last line."""

    time: Time
    why: str
    samples: Count


Line = (
    LabLine
    | JoinLine
    | GroupsLine
    | BlocksLine
    | LaneLine
    | SettingsLine
    | OwnLine
    | EventLine
    | MarkLine
    | EndLine
)

_encoder = json.Encoder()

_DECIMALS = {row.field: row.decimals for row in SAMPLED_METRICS}
_PLACES = [_DECIMALS.get(column) for column in COLUMNS]


def encode(line: Header | Line | Sample) -> bytes:
    """Encode one line, with its line end."""
    if not isinstance(line, Sample):
        return _encoder.encode(line) + b"\n"
    values = structs.astuple(line)
    known = len(values)
    while values[known - 1] is None:
        known -= 1
    return _encoder.encode(values[:known]) + b"\n"


def truncate_time(seconds: float) -> float:
    """Truncate a time to whole microseconds."""
    return math.floor(seconds * 1e6) / 1e6


def round_sample(sample: Sample, lane: int, began: float) -> Sample:
    """Return a sample as it is written: of lane number ``lane``, in a recording that started at ``began``."""
    values: list[Any] = [
        value if not isinstance(value, float) else round_number(value, places)
        for value, places in zip(structs.astuple(sample), _PLACES, strict=True)
    ]
    time = truncate_time(sample.time - began)  # negative for a sample from before the recording
    return structs.replace(Sample(*values), lane=lane, time=time)


def round_number(value: float | None, places: int | None = None) -> float | None:
    """Round to ``places`` decimals, or to 5 significant digits; return an int if the result is whole.

    Return None for a value that is not finite.
    """
    if value is None or not math.isfinite(value):
        return None
    short = float(f"{value:.5g}") if places is None else round(value, places)
    return int(short) if short.is_integer() and abs(short) < 2**53 else short


def format_position(seconds: float, digits: int = 1) -> str:
    """Format a time in a recording: ``00:12.3``, ``1:02:03.4``; truncated, not rounded."""
    whole = max(0, math.floor(seconds * 10**digits))
    minutes, rest = divmod(whole, 60 * 10**digits)
    hours, minutes = divmod(minutes, 60)
    shown = f"{rest / 10**digits:0{digits + 3 if digits else 2}.{digits}f}"
    return f"{hours}:{minutes:02}:{shown}" if hours else f"{minutes:02}:{shown}"
