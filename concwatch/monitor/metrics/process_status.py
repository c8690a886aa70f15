"""The figures of a whole watched process, as a snapshot and the report on its program have them."""

from typing import Annotated

from msgspec import Struct

from concwatch.monitor.metrics.metric import (
    AS_OF,
    AT_END,
    DERIVED,
    MAX,
    PEAK,
    SAMPLED,
    SUM,
    TICK,
    UP,
    Metric,
    PerSecond,
    rows_of,
)
from concwatch.monitor.metrics.unit import BYTES, COUNT, RATE, SECONDS, SHARE

# fmt: off


class ProcessFacts(Struct, frozen=True):
    """What a process is, and how it is watched."""

    pid: int
    ppid: int
    """Its parent."""
    name: str
    has_agent: bool = False
    """Whether its agent has ever reported."""
    reported: float | None = None
    """When its agent reported last, in seconds on the monitor's clock; None without one."""
    started: float | None = None
    """When it started, in seconds since the epoch; None if unknown."""


class ProcessStatus(Struct, frozen=True):
    """The figures of a process at one moment. Those with `MetricSource.TICK` are as its agent reports them."""

    rss_first: Annotated[int | None, Metric("RSS at first", BYTES, "RSS when the process was found.", DERIVED, SUM, AS_OF)] = None
    rss_last: Annotated[int | None, Metric(
        "RSS at the end", BYTES, "The last RSS that was read.", DERIVED, SUM, AS_OF, worse=UP, compared=True,
    )] = None
    rss_peak: Annotated[int | None, Metric(
        "peak RSS", BYTES, "The highest RSS that the process ever had.", DERIVED, MAX, PEAK, worse=UP, compared=True,
    )] = None
    pss: Annotated[int | None, Metric(
        "PSS at the end", BYTES, "The last PSS that was read: RSS, with each page divided by the number of processes that share it.", DERIVED, SUM, AS_OF, worse=UP, compared=True,
    )] = None
    kernel_last: Annotated[int | None, Metric(
        "kernel memory at the end", BYTES, "What the kernel held for the process beside its RSS when it was last read: stacks of threads and page tables exactly, slab objects and socket buffers estimated from its threads and open files.",
        DERIVED, SUM, AS_OF, worse=UP, compared=True,
    )] = None
    anonymous: Annotated[int | None, Metric(
        "anonymous memory", BYTES, "The part of RSS, when it was last read, that belongs to no file: what the program has allocated, and stacks. Its growth, and that of shared memory, is what is called a leak; unknown if the system does not tell.",
        DERIVED, SUM, AS_OF, worse=UP, openmetrics="anonymous_memory",
    )] = None
    file_pages: Annotated[int | None, Metric(
        "file pages", BYTES, "The part of RSS, when it was last read, that are pages of mapped files, which the system may drop at any time.",
        DERIVED, SUM, AS_OF, openmetrics="file_pages",
    )] = None
    shared: Annotated[int | None, Metric(
        "shared memory", BYTES, "The part of RSS, when it was last read, that is shared memory, files in a tmpfs included.",
        DERIVED, SUM, AS_OF, worse=UP, openmetrics="shared_memory",
    )] = None
    cpu_seconds: Annotated[float, Metric(
        "CPU time", SECONDS, "CPU time that the process has used.", DERIVED, SUM, AT_END, worse=UP, decimals=3,
        compared=True, per_second=PerSecond("cpu", "CPU", SHARE),
    )] = 0.0
    threads: Annotated[int, Metric("peak threads", COUNT, "The most threads at once.", DERIVED, SUM, PEAK)] = 0
    queued: Annotated[int | None, Metric("queued", COUNT, "Jobs that wait for a thread of an executor; unknown if the process ended without its last report.", TICK, SUM)] = None
    queued_peak: Annotated[int | None, Metric(
        "peak queued", COUNT, "The most jobs that waited for a thread of an executor at once.", DERIVED, SUM, PEAK,
    )] = None
    created: Annotated[int | None, Metric(
        "created", COUNT, "Tasks created.", DERIVED, SUM, AT_END,
        compared=True, per_second=PerSecond("created_per_second", "created", RATE),
    )] = None
    live: Annotated[int | None, Metric("live", COUNT, "Tasks created and not yet ended; unknown if the process ended without its last report.", TICK, SUM)] = None
    live_peak: Annotated[int | None, Metric(
        "peak live", COUNT, "The most tasks live at once in any scan.", DERIVED, SUM, PEAK, worse=UP, compared=True,
    )] = None
    live_at_end: Annotated[int | None, Metric(
        "live at end", COUNT, "Live tasks when the process reported its exit; unknown if it did not.", DERIVED, SUM, AT_END, worse=UP, compared=True,
    )] = None
    left_over: Annotated[int | None, Metric(
        "left over", COUNT, "Tasks that were pending when the main coroutine of their loop returned, or when the loop was closed.",
        DERIVED, SUM, AT_END, worse=UP, compared=True,
    )] = None
    destroyed: Annotated[int | None, Metric(
        "destroyed", COUNT, "Tasks that were destroyed while they were pending.", DERIVED, SUM, AT_END, worse=UP, compared=True,
    )] = None
    ended: Annotated[int | None, Metric("ended", COUNT, "Tasks that have ended.", DERIVED, SUM, AT_END)] = None
    failed: Annotated[int | None, Metric("failed", COUNT, "Tasks that ended with an error.", TICK, SUM, AT_END)] = None
    retained: Annotated[int | None, Metric(
        "retained", COUNT, "Ended tasks that something still references.", TICK, SUM, worse=UP, compared=True,
    )] = None
    missed: Annotated[int | None, Metric("missed", COUNT, "Lower bound of the tasks that were created without being counted, and that no scan has found.", TICK, SUM, AT_END)] = None
    lag_p99: Annotated[float | None, Metric(
        "lag p99", SECONDS, "In 99 % of the reports, an event loop was no later than this.", DERIVED, MAX, SAMPLED, worse=UP, compared=True,
    )] = None
    blocked: Annotated[float | None, Metric(
        "blocked", SECONDS, "The longest time that an event loop was blocked, without that in which a CPU quota throttled it; unknown if blocks are not detected.", DERIVED, MAX, worse=UP, decimals=3,
    )] = None
    blocked_for: Annotated[float | None, Metric(
        "blocked for", SECONDS, "The time for which an event loop has been blocked until now; 0 if none is, unknown if blocks are not detected.", DERIVED, MAX, AS_OF, decimals=3,
    )] = None
    gc_seconds: Annotated[float | None, Metric("in GC", SECONDS, "Time spent in garbage collection.", DERIVED, SUM, AT_END, worse=UP)] = None
    throttled: Annotated[float | None, Metric(
        "throttled", SECONDS, "Time for which the tightest CPU quota of its control groups throttled that group since the process was found; added up over the cores.", DERIVED, MAX, AT_END, worse=UP, decimals=3,
    )] = None
    leaks: Annotated[int, Metric("leaks", COUNT, "Groups of tasks, threads, queues and files that grow without end.", DERIVED, SUM, worse=UP, openmetrics="leaks")] = 0
    memory_leaks: Annotated[int, Metric("memory leaks", COUNT, "Processes whose memory grows without end, while their live tasks do not.", DERIVED, SUM, worse=UP, openmetrics="memory_leaks")] = 0
    agent_errors: Annotated[int | None, Metric(
        "agent errors", COUNT, "Errors of the agent itself, which the program does not notice, but after which figures may be missing or wrong.",
        DERIVED, SUM, AT_END, worse=UP, openmetrics="agent_errors",
    )] = None
    memory_limit: Annotated[int | None, Metric(
        "memory limit", BYTES, "The memory limit of its control groups that leaves the least; unknown without one.", DERIVED, MAX, AS_OF, openmetrics="cgroup_memory_limit",
    )] = None
    memory_used: Annotated[int | None, Metric(
        "memory used of it", BYTES, "What all processes of the control group with that limit use, without the file pages that the kernel drops first.",
        DERIVED, MAX, AS_OF, openmetrics="cgroup_memory",
    )] = None
    at_least: tuple[str, ...] = ()
    """The figures that may be higher, since scans may have missed some tasks."""


# fmt: on

PROCESS_METRICS = tuple(rows_of(ProcessStatus, "process"))
"""The metrics of a whole process, read from the snapshot of its lane."""
