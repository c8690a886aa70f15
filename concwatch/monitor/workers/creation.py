"""How fast the tasks of a target were created, and what disturbed that."""

from msgspec import Struct

from concwatch.links.messages import Reached
from concwatch.system.machine import Load
from concwatch.system.process import Reading

PERIOD = 0.1
"""The usual period of a CPU quota in seconds: a shorter time is no more throttled than that."""


class Creation(Struct, frozen=True):
    """The creation of the last target; its fields are those of a `LaneStatus` that begin with ``create``."""

    create_rate: float | None = None
    """Tasks per second."""
    create_seconds: float | None = None
    create_others: float | None = None
    """Share of the cores that others used."""
    create_throttled: float | None = None
    """Share of the time for which a CPU quota throttled it."""


def creation(
    reached: Reached, before: tuple[Load, Reading | None] | None, now: tuple[Load, Reading | None]
) -> Creation:
    """Return how fast a target was created.

    ``before`` and ``now`` are the load of the machine and a reading of the worker.
    """
    others = throttled = None
    if before is not None:
        (load_then, then), (load, reading) = before, now
        used = (reading.cpu_seconds if reading else 0.0) - (then.cpu_seconds if then else 0.0)
        others = load.others_since(load_then, used)
        if then and reading and then.throttled is not None and reading.throttled is not None:
            throttled = (reading.throttled - then.throttled) / max(reached.seconds, PERIOD)
    return Creation(reached.created / max(reached.seconds, 1e-6), reached.seconds, others, throttled)
