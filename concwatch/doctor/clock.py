"""The clock that everything is measured with: how fine the system says it is, and how fine it is."""

import time
from itertools import pairwise

from msgspec import Struct

READINGS = 2_000
"""Readings between which the smallest step is looked for; they take less than a millisecond."""


class Clock(Struct, frozen=True):
    """``time.monotonic``; seconds."""

    resolution: float
    """As the system says."""
    step: float | None
    """The smallest step seen between two readings; None when it did not move."""
    source: str


def look_at_clock() -> Clock:
    """Ask the system about the clock, and read it a while."""
    info = time.get_clock_info("monotonic")
    readings = [time.monotonic_ns() for _ in range(READINGS)]
    steps = [later - earlier for earlier, later in pairwise(readings)]
    step = min((step for step in steps if step > 0), default=None)
    return Clock(info.resolution, None if step is None else step / 1e9, info.implementation)
