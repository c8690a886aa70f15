"""The messages of agents, decoded strictly. `concwatch.agent` specifies them."""

from collections.abc import Callable
from typing import Annotated

from msgspec import Meta, Struct

from concwatch.protocol.messages import (
    Applied,
    Block,
    Clock,
    Count,
    Error,
    Int64,
    Seconds,
    ShortText,
    TextList,
    TracedLines,
    line_decoder,
)

MAX_GROUPS = 200
"""Groups of one report."""


MAX_TYPES = 20
"""Types of objects in one report."""

MAX_CONTAINERS = 3
"""Growing containers in one report."""

MAX_HOLDERS = 3
"""Holders of one object in a report."""


class AgentReady(Struct, tag="ready", frozen=True):
    """The agent is running, and counts from now on."""

    name: ShortText
    pid: Int64
    ppid: Int64
    runtime: ShortText
    protocol: Count = 1
    flags: TextList = ()
    can: TextList = ()
    started: Clock | None = None


class LoopLag(Struct, frozen=True):
    """One running event loop."""

    name: ShortText
    lag: Seconds = 0.0
    kind: ShortText = ""


class ThreadCount(Struct, frozen=True):
    """Live threads of one target."""

    name: ShortText
    count: Count
    file: ShortText = ""
    line: Count = 0
    created: Count | None = None
    """At least so many were created since the agent started."""


class Executor(Struct, frozen=True):
    """One thread pool."""

    name: ShortText
    threads: Count = 0
    queued: Count = 0


class Limiter(Struct, frozen=True):
    """The sums of AnyIO's thread limiters."""

    used: Count = 0
    total: float = 0
    waiting: Count = 0


class AgentTick(Struct, tag="tick", frozen=True):
    """The counters of the whole process; None for those that are not available."""

    time: Clock
    number: Count = 0
    created: Count = 0
    live: Count | None = None
    ended: Count | None = None
    since: Count | None = None
    scan_created: Count | None = None
    live_peak: Count | None = None
    missed: Count = 0
    scan_time: Clock | None = None
    existing: Count | None = None
    retained: Count | None = None
    left_over: Count | None = None
    destroyed: Count | None = None
    queued: Count | None = None
    completed: Count | None = None
    failed: Count | None = None
    cancelled: Count | None = None
    lag: Seconds | None = None
    loops: tuple[LoopLag, ...] = ()
    threads: tuple[ThreadCount, ...] = ()
    files: Count | None = None
    sockets: Count | None = None
    executors: tuple[Executor, ...] = ()
    limiter: Limiter | None = None
    gc: Seconds | None = None
    cpu: Seconds | None = None
    agent_cpu: Seconds | None = None
    busy: Seconds | None = None
    """The seconds in which tasks ran on the event loops."""
    looped: Seconds | None = None
    """The seconds of all loops over which ``busy`` is known."""
    covered: Seconds | None = None
    """Those of them in which each step of a task was timed."""
    traced: Count | None = None
    tracer: Count | None = None
    flags: TextList = ()
    name: ShortText = ""
    """The process's new name; empty if it has not changed."""


class LineCount(Struct, frozen=True):
    """How many tasks a line created; the line is empty if it was not recorded."""

    line: ShortText
    tasks: Count


class GroupReport(Struct, frozen=True):
    """The tasks of one coroutine function at the last scan."""

    group: Count
    name: ShortText
    file: ShortText = ""
    line: Count = 0
    kind: ShortText = "asyncio"
    own: bool = False
    created: Count = 0
    live: Count = 0
    ended: Count = 0
    since: Count = 0
    retained: Count | None = None
    completed: Count | None = None
    failed: Count | None = None
    cancelled: Count | None = None
    live_peak: Count | None = None
    task_seconds: Clock | None = None
    direct: Count = 0
    moved: Count = 0
    oldest: Seconds | None = None
    busy: Seconds = 0.0
    """The seconds in which its tasks ran."""
    durations: tuple[tuple[Seconds, Count], ...] = ()
    """Of timed tasks that have ended since the last report: seconds, and how many tasks each stands for."""
    timing: tuple[tuple[Seconds, Count], ...] = ()
    """Of timed tasks that have not ended: their ages, and how many tasks each stands for."""
    starts: TextList = ()
    left_over: Count | None = None
    destroyed: Count | None = None
    left_lines: tuple[LineCount, ...] = ()


class Groups(Struct, tag="groups", frozen=True):
    """The groups that have changed since their last report."""

    time: Clock
    groups: Annotated[tuple[GroupReport, ...], Meta(max_length=MAX_GROUPS)]
    more: bool = False
    """Whether another report has further groups of the same scan."""


class TaskPlace(Struct, frozen=True, rename={"in_": "in"}):
    """A line and its function, and how many tasks are there."""

    where: ShortText
    tasks: Count
    in_: ShortText = ""


class WaitPlace(TaskPlace, frozen=True, rename={"for_": "for"}, omit_defaults=True):
    """A line at which tasks of a group wait, and how many."""

    on: ShortText = ""
    """What they wait for, by its own name."""
    for_: tuple[TaskPlace, ...] = ()
    """Where the tasks that they wait for wait themselves."""
    inside: tuple[TaskPlace, ...] = ()
    """Where those wait that hold the lock or semaphore."""


class OldestTask(Struct, frozen=True):
    """The oldest known task of a group."""

    age: Seconds
    where: ShortText = ""
    start: ShortText | None = None


class Waits(Struct, tag="waits", frozen=True):
    """Where the tasks of a group wait, most frequent first."""

    group: Count
    looked: Count = 0
    live: Count = 0
    waits: tuple[WaitPlace, ...] = ()
    oldest: OldestTask | None = None
    timed: Count = 0
    until: Seconds | None = None
    sampled: Count = 0
    wakeable: Count = 0
    """Of those sampled, the tasks that something else may wake."""
    created: tuple[TaskPlace, ...] = ()
    """The lines that created its sampled tasks."""
    awaited_by: tuple[TaskPlace, ...] = ()
    """Where the tasks wait that await tasks of the group."""


class ThreadWaits(Struct, tag="thread_waits", frozen=True):
    """Where the threads of a target, or of an executor, wait, most frequent first."""

    name: ShortText
    waits: tuple[WaitPlace, ...] = ()
    looked: Count = 0
    locked: Count = 0
    """The threads that wait for a lock or an event of ``threading`` of their own."""
    pool: bool = False
    """Whether ``name`` is that of an executor."""


class Cycle(Struct, tag="cycle", frozen=True):
    """Tasks that wait each for the next, and the last for the first."""

    tasks: tuple[WaitPlace, ...] = ()


class Holder(Struct, frozen=True, rename={"in_": "in"}):
    """A variable, attribute or cache that holds something."""

    name: ShortText = ""
    """Its name; empty if it has none."""
    in_: ShortText = ""
    """The function or module that it belongs to."""
    where: ShortText = ""
    """The line or file of that."""


class HeldValue(Struct, frozen=True):
    """An object, and what holds it."""

    kind: ShortText
    """Its type, or the class of a library whose attribute it is."""
    within: ShortText = ""
    """The type of what contains it and is held by the holders; empty if they hold it itself."""
    holders: Annotated[tuple[Holder, ...], Meta(max_length=MAX_HOLDERS)] = ()


class Container(HeldValue, frozen=True):
    """A container that grows, or several within another one."""

    count: Count = 1
    items: Count = 0
    grown: Count = 0
    """Items more than at the beginning."""
    bytes: Count = 0
    """About how many bytes these take."""


class Finished(HeldValue, tag="finished", frozen=True):
    """What holds most of some finished tasks of a group that are still referenced."""

    group: Count = 0
    looked: Count = 0
    """How many were examined."""


class ObjectCount(Struct, frozen=True):
    """The objects of one type."""

    name: ShortText
    count: Count
    grown: Int64 = 0
    """More than at the beginning."""


class Objects(Struct, tag="objects", frozen=True):
    """What has grown within a few seconds."""

    counted: Count
    since: Seconds
    """How many seconds that took."""
    types: Annotated[tuple[ObjectCount, ...], Meta(max_length=MAX_TYPES)] = ()
    """The objects that the garbage collector tracks, by type, those that have grown most first."""
    containers: Annotated[tuple[Container, ...], Meta(max_length=MAX_CONTAINERS)] = ()
    """Those that have grown most, by bytes."""


class AgentEnd(Struct, tag="end", frozen=True):
    """The process is about to exit."""


class AgentWaiting(Struct, tag="waiting", frozen=True):
    """The process has no tasks and no threads so far; its agent connects again once it has."""


AgentReport = (
    AgentReady
    | AgentWaiting
    | AgentTick
    | Groups
    | Block
    | Waits
    | ThreadWaits
    | Cycle
    | TracedLines
    | Objects
    | Finished
    | Applied
    | Error
    | AgentEnd
)

decode_report: Callable[[bytes], AgentReport | None] = line_decoder(AgentReport, "an agent's")
"""Decode one line from an agent; see `line_decoder`."""
