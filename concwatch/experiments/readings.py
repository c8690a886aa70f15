"""What can be read of a run, and the units that figures are written in: data."""

from dataclasses import dataclass

BYTES, SECONDS, RATE = "bytes", "seconds", "rate"

UNITS: dict[str, tuple[str, float]] = {
    "B": (BYTES, 1.0),
    "KiB": (BYTES, 1024.0),
    "MiB": (BYTES, 1024.0**2),
    "GiB": (BYTES, 1024.0**3),
    "kB": (BYTES, 1e3),
    "MB": (BYTES, 1e6),
    "GB": (BYTES, 1e9),
    "s": (SECONDS, 1.0),
    "ms": (SECONDS, 1e-3),
    "tasks/s": (RATE, 1.0),
}
"""Unit → the kind of figure, and how many bytes, seconds or tasks a second one of it is."""


@dataclass(frozen=True)
class Reading:
    """One figure that is taken of a run."""

    kind: str
    what: str
    """What it is, for a person."""
    actions: tuple[str, ...]
    """The actions of a run that give it."""
    traced: bool = False
    """Whether allocations must be traced for it."""


BURST, HOLD = "burst", "hold"
ACTIONS = {
    BURST: "create all without a pause and let them end, as the articles' scripts do",
    HOLD: "create all in short slices, as the screen does, and hold them",
}

READINGS: dict[str, Reading] = {
    "traced": Reading(BYTES, "bytes that tracemalloc adds up for all tasks", (BURST, HOLD), traced=True),
    "traced_per_task": Reading(BYTES, "bytes that tracemalloc adds up, a task", (BURST, HOLD), traced=True),
    "tracer": Reading(BYTES, "bytes that tracemalloc itself takes", (HOLD,), traced=True),
    "rss": Reading(BYTES, "RSS of the whole process while all are live", (HOLD,)),
    "rss_added": Reading(BYTES, "RSS over that of the idle process", (HOLD,)),
    "rss_per_task": Reading(BYTES, "RSS over that of the idle process, a task", (HOLD,)),
    "virtual_added": Reading(BYTES, "address space over that of the idle process", (HOLD,)),
    "peak_rss": Reading(BYTES, "the highest RSS of the whole process", (BURST, HOLD)),
    "seconds": Reading(
        SECONDS, "time until the last task has ended; of held ones, until all have started", (BURST, HOLD)
    ),
    "create_rate": Reading(RATE, "tasks created a second of CPU time, not begun", (BURST,)),
    "finish_rate": Reading(RATE, "tasks created and ended a second of CPU time", (BURST,)),
    "gc_seconds": Reading(SECONDS, "time spent in garbage collection", (BURST, HOLD)),
    "longest_stall": Reading(SECONDS, "how late a sleeper was woken at worst", (BURST, HOLD)),
}
"""Name → what it is. All but the traced ones are never taken while tracing, unless that is the subject."""
