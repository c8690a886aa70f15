"""A recording: what the screen knew, sample by sample. This is its specification, version 3.

A recording is UTF-8 text, a JSON value a line, each line ended by a line feed; or that text compressed with
gzip (RFC 1952). A line is an array, which is a sample, or an object, whose ``"type"`` tells what it is. The
first line is the header. Lines are written as things happen, so one that breaks off is whole up to its last
line end. Each line stands by itself: one that cannot be read is passed over and costs nothing else. A
reader passes over types and keys that it does not know.

Times are in seconds since the recording began, cut to microseconds and not rounded, so that nothing seems
to have happened later than it did. Memory is in bytes, rates are in tasks a second, shares of 1. ``null`` is
what was not known. Among samples of the same lane, and objects of the same type, ``time`` never goes back,
save that a mark may be put on a moment of the past.

Whole numbers are written exactly; a sample's ``time``, ``lag`` and ``gc`` to the microsecond, its
``tick_time``, ``cpu_seconds``, ``cpu`` and ``others`` to 0.0001, its ``duration`` to 3 significant digits;
other numbers are rounded to 5. A number that happens to be whole has no point.

Lanes
=====
A lane is known by its place in the header's ``lanes``, from 0; one that ``join``s later by the number that it
joins with, which is the next. Lanes need not run at the same time:
``concwatch run`` has one lab after another in one recording, on one clock. What a sample says of memory,
threads and counters is of one worker; a lane that is switched off and on again has another one, whose
counters start anew.

A sample: an array
==================
``[lane, time, rss, …]``: as many as the charts were given, about ten a second a lane with a worker. Nulls
at its end are left out. When a worker has ended there is one more in which all that it and the system would
say is ``null``: the lines of the charts break there. The header's ``columns`` names what each place holds:

    ``lane``                     the lane's number
    ``time``                     when it was taken
    ``rss``                      memory resident of the worker's process
    ``created_per_second``       tasks created a second; see below
    ``completed_per_second``     tasks that ended by themselves a second; see below
    ``live``                     tasks created and not yet ended
    ``lag``                      seconds that a sleeper was woken late, at worst since the tick before; or how
                                 much overdue the next tick is, if that is more
    ``cpu``                      share of one core that the worker took in the last second
    ``threads``                  threads of the worker's process
    ``virtual``                  address space of the worker's process
    ``tick_time``                when the worker took its counters: seconds on a clock of its own
    ``created``                  tasks created so far
    ``completed``                tasks that ended by themselves so far
    ``failed``                   tasks that ended with an error so far
    ``cancelled``                tasks that the worker ended so far
    ``queued``                   those of ``live`` that wait for a thread
    ``gc``                       seconds of garbage collection so far; null where the runtime cannot tell
    ``completed_mean``           tasks that ended by themselves a second, over the last ten seconds
    ``stalled``                  seconds that the worker has been silent or overdue; 0 when all is well
    ``rss_per_task``             bytes of a task; null before that can be told
    ``measured_live``            tasks that were live when these were taken
    ``cpu_seconds``              seconds of CPU that the worker's process has used
    ``cpu_per_task``             seconds of CPU of a task
    ``switches``                 context switches of the worker's process so far; null where it cannot tell
    ``switches_per_second``      over the last second
    ``others``                   share of the cores that other programs and lanes had in the last second
    ``duration``                 seconds that the tasks took that were timed last, the median; null where no
                                 task is live or none was timed
    ``traced``                   bytes that the tracer knows of; null while nothing is traced
    ``tracer``                   bytes that the tracer itself takes; null while nothing is traced
    ``traced_per_task``          traced bytes of a task; null before that can be told
    ``heap``                     bytes that the runtime itself says live objects take; null where it does not

``live``, all from ``tick_time`` to ``gc``, ``switches``, ``traced``, ``tracer`` and ``heap`` are of the
worker's last tick before the sample, in which ``created = live + completed + failed + cancelled``. What is of
the process is what the system said as the sample was taken. What the figures mean is told by
``concwatch figures``.

The rates are counted in windows of one sampling interval that end at the worker's ticks; of several ticks
since the sample before, the highest. Where none has come the rate is null: it is then that of the next sample
that has one, as far back as the last one that had, and so it is exported.

Objects
=======
``concwatch-recording``: the header.
    ``version``    3
    ``began``      when, in UTC: ``"2026-11-21T12:40:00.123456+00:00"``
    ``concwatch``  the version of concwatch that wrote it
    ``machine``    object: what it was recorded on, as in ``concwatch run --json``
    ``command``    how concwatch was called
    ``rate``       samples a second
    ``lanes``      list of objects: ``name`` of the engine; ``task``, what a task is there; ``queues``,
                   whether tasks wait there for a thread; ``threads``, whether each task takes one of
                   the system's; ``grain``, bytes that its runtime takes from the system at once;
                   ``host``, where it runs, if not on this machine
    ``budget``     memory that all workers might take together, as the recording began
    ``columns``    list of strings: the places of a sample; of version 3 are those above, in that order; older
                   recordings lack ``duration``

``lab``: a lab comes in. It holds until the next.
    ``time``, ``rate``, ``budget``
    ``lanes``      list of numbers: the lanes that it has

``join``: a lane comes in that the header does not have: a process of a watched program. Once more where it is
called otherwise from then on; the last holds for all of it.
    ``time``, ``lane``  its number
    ``name``, ``task``, ``queues``, ``threads``, ``grain``, ``host``  as in the header's ``lanes``

``groups``: the tasks of a watched process by coroutine function, at most once a second. Holds until the next.
    ``time``, ``lane``
    ``groups``     list of objects, the largest first, at most 50: ``name``, ``file``, ``line``, ``own``,
                   ``live``, ``live_peak``, ``created``, ``ended``, ``since``, ``failed``, ``retained`` as the
                   agent reports them; ``created_per_second``, ``ended_per_second``; ``mean_life``, ``oldest``
                   in seconds; ``growth``: tasks a minute with the 95 % interval, or null; ``leak``;
                   ``waits``: where they wait

``lane``: as its lab comes in, and whenever one of these has changed. A key that is left out is as in a lane
that never had a worker: ``off``, 0, false, null or empty; ``bytes_per_task`` 1.
    ``time``, ``lane``
    ``state``           ``off``, ``building``, ``starting``, ``running``, ``stalled``, ``stopping``,
                        ``failed``, ``lost``: the connection to another host is broken
    ``reason``          why it failed, or an empty string
    ``target``          how many live tasks it is asked to hold
    ``asked``           how many it was asked to hold last
    ``wall``, ``wall_text``  the limit that holds it short of that, and the same with its value; or empty
    ``create_rate``     tasks a second at which the last target was created
    ``create_seconds``  how long that took
    ``create_others``   share of the cores that other programs and lanes had meanwhile
    ``stop_seconds``    how long it took until all tasks that were told to had ended
    ``completion_rate`` the most tasks completed in any second
    ``longest_stall``   seconds that a sleeper was woken late at worst, while there were tasks
    ``wake_lag_p99``    seconds late that 99 % of the ticks with tasks did not exceed
    ``start_delay_p99`` seconds from creation to beginning that 99 % of timed tasks did not exceed
    ``duration_p50``    seconds from beginning to end that half of timed tasks did not exceed
    ``duration_p99``    the same that 99 % of them did not exceed
    ``peak_live``       the most tasks live at once
    ``peak_rss``        the highest ``rss`` that the process ever had
    ``idle_rss``, ``idle_virtual``, ``idle_traced``  the worker's process before the first task
    ``runtime``         what runs the worker, with its version; null before the worker stands
    ``pid``             its process
    ``flags``           list of strings: what else shapes its figures
    ``can``             list of strings: the optional commands that it understands
    ``born``            when its worker was started; samples until then are another worker's
    ``tracing``         whether it is traced
    ``clean``           false where bytes a task may count memory that earlier tasks left behind
    ``bytes_per_task``  what one more task was expected to take
    ``fits``, ``fits_wall``  tasks that would fit if nothing else ran, and what comes first then
    ``missing``         why the engine cannot run there, or null
    ``burst``           what the last burst took, as on the wire, or null

``settings``: as a lab comes in, and whenever one of these has changed: what all lanes have in common.
    ``time``
    ``workload``, ``refill``, ``trace``, ``gc``  as the commands of these names
    ``threads``         of a pool; null for the engine's own number
    ``stack``           bytes of each thread's stack; null for the system's own size
    ``page``            where tasks fetch, or null

``own``: as a lab comes in, and once a second if one of these has changed.
    ``time``
    ``rss``, ``cpu``, ``threads``, ``virtual``  of concwatch's own process, as in a sample; null if not known
    ``busy``            share of all cores that all programs used
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
from typing import Any

from msgspec import Struct, json, structs

from concwatch.lab.events import Severity
from concwatch.lab.settings import Settings
from concwatch.lab.snapshot import COLUMNS, Count, EngineFacts, LaneStatus, Machine, Sample, Time
from concwatch.watch.group import GroupStatus

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
    """A lab comes in."""

    time: Time
    rate: float
    budget: Count
    lanes: tuple[Count, ...]


class JoinLine(EngineFacts, tag="join", frozen=True, kw_only=True, omit_defaults=True):
    """A lane comes in that the header does not have."""

    time: Time
    lane: Count


class GroupsLine(Struct, tag="groups", frozen=True):
    """The tasks of a watched process by coroutine function."""

    time: Time
    lane: Count
    groups: tuple[GroupStatus, ...]


class LaneLine(LaneStatus, tag="lane", frozen=True, kw_only=True, omit_defaults=True):
    """What changes seldom of a lane."""

    time: Time
    lane: Count


class SettingsLine(Settings, tag="settings", frozen=True, kw_only=True):
    """What all lanes have in common."""

    time: Time


class OwnLine(Machine, tag="own", frozen=True, kw_only=True):
    """What concwatch takes, and what the machine has."""

    time: Time


class EventLine(Struct, tag="event", frozen=True, rename={"severity": "weight"}):
    """A line of the event log."""

    time: Time
    lane: str
    text: str
    severity: Severity = "info"


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


Line = LabLine | JoinLine | GroupsLine | LaneLine | SettingsLine | OwnLine | EventLine | MarkLine | EndLine

_encoder = json.Encoder()

_DECIMALS = {"lag": 6, "gc": 6, "tick_time": 4, "cpu_seconds": 4, "cpu": 4, "others": 4}
"""Columns that are written with so many decimals."""

_PLACES = [_DECIMALS.get(column) for column in COLUMNS]


def encode(line: Header | Line | Sample) -> bytes:
    """Write one line, its line end included."""
    if not isinstance(line, Sample):
        return _encoder.encode(line) + b"\n"
    values = structs.astuple(line)
    known = len(values)
    while values[known - 1] is None:
        known -= 1
    return _encoder.encode(values[:known]) + b"\n"


def cut_time(seconds: float) -> float:
    """Return a time as recordings have it: in whole microseconds, never later than it is."""
    return math.floor(seconds * 1e6) / 1e6


def written(sample: Sample, lane: int, began: float) -> Sample:
    """Return a sample as lane number ``lane`` of a recording has it that ``began`` then."""
    values: list[Any] = [
        value if not isinstance(value, float) else rounded(value, places)
        for value, places in zip(structs.astuple(sample), _PLACES, strict=True)
    ]
    time = cut_time(sample.time - began)  # that which stood as it began is from before
    return structs.replace(Sample(*values), lane=lane, time=time)


def rounded(value: float | None, places: int | None = None) -> float | None:
    """Return a number as recordings have it: an int if it is whole once it has been rounded.

    That is to ``places`` decimals, or to 5 significant digits.
    """
    if value is None or not math.isfinite(value):
        return None
    short = float(f"{value:.5g}") if places is None else round(value, places)
    return int(short) if short.is_integer() and abs(short) < 2**53 else short


def format_position(seconds: float, digits: int = 1) -> str:
    """Write a time in a recording: ``00:12.3``, ``1:02:03.4``; cut, not rounded."""
    whole = max(0, math.floor(seconds * 10**digits))
    minutes, rest = divmod(whole, 60 * 10**digits)
    hours, minutes = divmod(minutes, 60)
    shown = f"{rest / 10**digits:0{digits + 3 if digits else 2}.{digits}f}"
    return f"{hours}:{minutes:02}:{shown}" if hours else f"{minutes:02}:{shown}"
