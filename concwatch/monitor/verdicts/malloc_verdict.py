"""Free memory that malloc keeps: why RSS stays high after memory has stopped growing."""

import math
from collections import deque
from collections.abc import Callable

from concwatch.monitor.verdicts.growth import WINDOW
from concwatch.monitor.verdicts.growth_verdict import GrowthEvent
from concwatch.monitor.verdicts.rss_parts import RssParts
from concwatch.portable.protocol.units import format_bytes

LEAST_RISE, LEAST_FACTOR = 32 << 20, 1.5
"""Memory is far above what it was if it has risen by so many bytes, and to so many times as much."""

LEVEL_WINDOWS, LEVEL_SHARE = 4, 0.03
"""Memory has stopped growing if its highest values in so many windows, 10 s, differ by this share at most."""

LEAST_FREE, LEAST_SHARE = 24 << 20, 0.3
"""The least free memory that is reported: in bytes, and as a share of RSS."""

ANSWERS, CONFIRM = 3, 4.0
"""How many answers in a row must say so, and the seconds between them: what is free may be in use soon."""

ASK_INTERVAL, MAX_INTERVAL, ASK_SHARE = 60.0, 600.0, 0.0005
"""Seconds until the next question, which are doubled up to a maximum while the program needs its memory; and
the share of the time for which malloc may be stopped by questions."""

GIVEN_BACK = 0.5
"""The verdict is withdrawn once less than this share of the free memory is left."""


class MallocVerdict:
    """Whether malloc keeps much free memory, which is asked once memory has stopped growing.

    Args:
        ask: called with the time to ask the agent what RSS is made of; the answer goes to `add_parts`.
    """

    def __init__(self, ask: Callable[[float], object]) -> None:
        self._ask = ask
        self._highest: deque[int] = deque(maxlen=LEVEL_WINDOWS)
        self._until = -math.inf
        self._base = self._memory = 0
        """The lowest value of memory so far, and the last one."""
        self._due = -math.inf
        self._interval = ASK_INTERVAL
        self._parts: RssParts | None = None
        """An answer that has not been judged yet."""
        self._free: list[int] = []
        """The free bytes of each of the last answers, if all say that it is much."""
        self._answered = -math.inf
        self._said = 0
        """The free bytes of the event; 0 without one."""
        self._said_memory = 0

    def add(self, time: float, memory: int) -> None:
        """Add a reading of anonymous memory in bytes at ``time`` in seconds."""
        self._memory = memory
        self._base = min(self._base or memory, memory)
        if time >= self._until:
            self._until = time + WINDOW
            self._highest.append(memory)
        self._highest[-1] = max(self._highest[-1], memory)

    def add_parts(self, parts: RssParts) -> None:
        """Add what RSS is made of."""
        self._parts = parts

    @property
    def _is_level(self) -> bool:
        highest = self._highest
        return len(highest) == LEVEL_WINDOWS and max(highest) - min(highest) <= LEVEL_SHARE * max(highest)

    @property
    def _is_high(self) -> bool:
        return self._memory >= max(self._base + LEAST_RISE, LEAST_FACTOR * self._base)

    def judge(self, now: float) -> GrowthEvent | None:
        """Return an event if malloc keeps much, or no longer does; None if nothing has changed."""
        parts, self._parts = self._parts, None
        if self._said and self._memory <= self._said_memory - GIVEN_BACK * self._said:
            return self._withdraw(f"RSS has fallen: {format_bytes(self._memory)} are anonymous")
        event = self._judge_parts(parts, now) if parts is not None else None
        if event is None and now >= self._due and (self._said or (self._is_high and self._is_level)):
            self._due = now + self._interval
            self._ask(now)
        return event

    def _judge_parts(self, parts: RssParts, now: float) -> GrowthEvent | None:
        free, rss = parts.free or 0, parts.rss or 0
        if self._said:
            return self._withdraw("it is in use again") if free <= GIVEN_BACK * self._said else None
        if free < max(LEAST_FREE, LEAST_SHARE * rss) or not (self._is_high and self._is_level):
            self._free, self._interval = [], min(MAX_INTERVAL, 2 * self._interval)
            self._due = now + max(self._interval, parts.pause / ASK_SHARE)
            return None
        if now >= self._answered + CONFIRM:  # the user may have asked a moment after
            self._answered = now
            self._free.append(free)
        if len(self._free) < ANSWERS:
            self._due = self._answered + CONFIRM
            return None
        self._due, self._interval = now + max(ASK_INTERVAL, parts.pause / ASK_SHARE), ASK_INTERVAL
        self._said, self._said_memory = min(self._free), self._memory
        text = (
            f"{format_bytes(self._said)} of {format_bytes(rss)} RSS are free memory that malloc keeps "
            f"(fordblks), not a leak; {parts.advice}"
        )
        return GrowthEvent(text, "info", "malloc")

    def _withdraw(self, reason: str) -> GrowthEvent:
        said, self._said, self._free = self._said, 0, []
        text = f"malloc no longer keeps {format_bytes(said)} of free memory: {reason}"
        return GrowthEvent(text, "info", "malloc_withdrawn")
