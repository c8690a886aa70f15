"""What an agent reports of a watched process, decoded strictly: `concwatch.agent` specifies the lines."""

from collections.abc import Callable
from typing import Annotated

from msgspec import Meta, Struct

from concwatch.links.messages import (
    Applied,
    Clock,
    Error,
    Seconds,
    TracedLines,
    Value,
    Whole,
    WordList,
    Words,
    line_decoder,
)

MOST_GROUPS = 200
"""Groups in one report."""


class AgentReady(Struct, tag="ready", frozen=True):
    """The agent stands, and counts from now on."""

    name: Words
    pid: Value
    ppid: Value
    runtime: Words
    protocol: Whole = 1
    flags: WordList = ()
    can: WordList = ()


class LoopLag(Struct, frozen=True):
    """One running event loop."""

    name: Words
    lag: Seconds = 0.0
    kind: Words = ""


class ThreadCount(Struct, frozen=True):
    """Live threads of one target."""

    name: Words
    count: Whole


class Executor(Struct, frozen=True):
    """One thread pool."""

    name: Words
    threads: Whole = 0
    queued: Whole = 0


class Limiter(Struct, frozen=True):
    """AnyIO's limiters of threads together."""

    used: Whole = 0
    total: float = 0
    waiting: Whole = 0


class AgentTick(Struct, tag="tick", frozen=True):
    """The whole process at one moment; what could not be had is None."""

    time: Clock
    number: Whole = 0
    created: Whole = 0
    live: Whole | None = None
    ended: Whole | None = None
    since: Whole | None = None
    scan_created: Whole | None = None
    scan_time: Clock | None = None
    existing: Whole | None = None
    retained: Whole | None = None
    queued: Whole | None = None
    completed: Whole | None = None
    failed: Whole | None = None
    cancelled: Whole | None = None
    lag: Seconds | None = None
    loops: tuple[LoopLag, ...] = ()
    threads: tuple[ThreadCount, ...] = ()
    executors: tuple[Executor, ...] = ()
    limiter: Limiter | None = None
    gc: Seconds | None = None
    cpu: Seconds | None = None
    agent_cpu: Seconds | None = None
    traced: Whole | None = None
    tracer: Whole | None = None
    flags: WordList = ()
    name: Words = ""
    """What the process is called from now on; empty where that has not changed."""


class GroupReport(Struct, frozen=True):
    """The tasks of one coroutine function, as the last scan found them."""

    group: Whole
    name: Words
    file: Words = ""
    line: Whole = 0
    kind: Words = "asyncio"
    own: bool = False
    created: Whole = 0
    live: Whole = 0
    ended: Whole = 0
    since: Whole = 0
    retained: Whole | None = None
    completed: Whole | None = None
    failed: Whole | None = None
    cancelled: Whole | None = None
    oldest: Seconds | None = None
    starts: WordList = ()


class Rest(Struct, frozen=True):
    """The groups that are not among the first together."""

    groups: Whole = 0
    created: Whole = 0
    live: Whole = 0
    ended: Whole = 0
    since: Whole = 0
    retained: Whole | None = None


class Groups(Struct, tag="groups", frozen=True):
    """The groups that have changed since they were last reported."""

    time: Clock
    groups: Annotated[tuple[GroupReport, ...], Meta(max_length=MOST_GROUPS)]
    rest: Rest | None = None


class WaitPlace(Struct, frozen=True, rename={"in_": "in"}):
    """A line at which tasks of a group wait, and how many."""

    where: Words
    tasks: Whole
    in_: Words = ""
    on: Words = ""


class OldestTask(Struct, frozen=True):
    """The oldest task of a group that is known."""

    age: Seconds
    where: Words = ""
    start: Words | None = None


class Waits(Struct, tag="waits", frozen=True):
    """Where the tasks of a group wait, the most frequent place first."""

    group: Whole
    looked: Whole = 0
    live: Whole = 0
    waits: tuple[WaitPlace, ...] = ()
    oldest: OldestTask | None = None


class AgentEnd(Struct, tag="end", frozen=True):
    """The process ends in the ordinary way."""


AgentReport = AgentReady | AgentTick | Groups | Waits | TracedLines | Applied | Error | AgentEnd

decode_report: Callable[[bytes], AgentReport | None] = line_decoder(AgentReport, "an agent's")
"""Read one line of an agent's; see `line_decoder`."""
