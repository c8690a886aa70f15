"""Whether a process keeps more and more memory that its tasks do not explain."""

import math
from collections.abc import Callable

from concwatch.lab.events import Severity
from concwatch.lab.growth import GrowthMeter
from concwatch.links.messages import TracedLines
from concwatch.text import plain, short_place
from concwatch.units import format_bytes

UNIT = 64 * 1024
"""Bytes in which memory is judged: the allocator takes no less from the system at a time."""

LINES = 3
"""Lines of source that are told."""

WORTH = 0.05
"""Share of the growth of the first of these that a line must have grown by."""

BETWEEN = 10.0
"""Seconds between the two looks at lines of source whose difference is told."""


class MemoryGrowth:
    """Follows the memory of one process beside its live tasks, and tells once if it grows without them.

    Judged as a leak of tasks is: by low-water marks that rise beyond chance over half a minute at least.
    """

    def __init__(self, say: Callable[[str, Severity], None], ask_lines: Callable[[], None]) -> None:
        """Begin.

        Args:
            say: takes what is found: a sentence, and how bad that is.
            ask_lines: asks the process for the lines that hold traced memory; `take_lines` takes the answer.
        """
        self._say = say
        self._ask_lines = ask_lines
        self._told = False
        self._looks = 0  # at the lines: answered so far
        self._look_due = math.inf
        self.restart()

    def restart(self) -> None:
        """Forget what has been seen: what comes is not to be compared with it."""
        self._memory, self._live = GrowthMeter(), GrowthMeter()

    def add(self, time: float, rss: int, live: int, traced: bool) -> None:
        """Take what is so at ``time`` in seconds: bytes, live tasks, and whether allocations are traced."""
        if self._told:
            if time >= self._look_due:
                self._look_due = math.inf
                self._ask_lines()
            return
        self._memory.add(time, rss // UNIT, 0)
        self._live.add(time, live, 0)
        if self._memory.leaks and not self._grows_with_tasks():
            self._told = True
            self._say(self._sentence(), "warning")
            if traced:
                self._look_due = time + BETWEEN
                self._ask_lines()

    def _grows_with_tasks(self) -> bool:
        live = self._live.growth
        return live is not None and live.low > 0

    def _sentence(self) -> str:
        growth = self._memory.growth
        rate = (
            f" by {format_bytes(round(growth.per_minute * UNIT))} a minute, "
            f"95 % {format_bytes(round(growth.low * UNIT))} to {format_bytes(round(growth.high * UNIT))}"
            if growth
            else ""
        )
        return f"memory grows{rate}, while live tasks do not: something keeps what they made"

    def take_lines(self, found: TracedLines) -> None:
        """Take an answer; of the second one tell which lines have grown most since the first."""
        self._looks += self._told
        if self._looks != 2:
            return
        most = max((line.grown for line in found.lines), default=0)
        for line in [line for line in found.lines if line.grown > WORTH * most][:LINES]:
            self._say(
                f"{plain(short_place(line.file))}:{line.line} holds {format_bytes(line.bytes)}, "
                f"{format_bytes(line.grown)} more than {BETWEEN:.0f} s ago",
                "warning",
            )
