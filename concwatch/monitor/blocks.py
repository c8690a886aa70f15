"""What has blocked the event loops of a watched process, by place."""

from msgspec import Struct

from concwatch.protocol.agent_messages import Block, StackFrame
from concwatch.protocol.text import short_place
from concwatch.protocol.units import counted, format_seconds

MAX_PLACES = 200
"""Places that are kept; the blocks of further ones are counted in none."""

CAUSES = {
    "gc": "by the garbage collector",
    "stopped": "while its process was stopped, or waited for a processor",
}
"""Cause → the words of an event; the cause "code" has a place instead."""

DECADES = (1, 10, 100, 1_000, 10_000)
"""The counts at which the blocks of a place are logged."""


class BlockedPlace(Struct):
    """The blocks at one line, or of one cause without a line."""

    cause: str
    loop: str
    function: str = ""
    where: str = ""
    """File and line."""
    caller: StackFrame | None = None
    """The nearest function of the program's own code that called it."""
    group: str = ""
    """The coroutine function of the task."""
    exact: bool = True
    """Whether the stack was read during a block: else the line ran then, or just before."""
    count: int = 0
    seconds: float = 0.0
    longest: float = 0.0
    stack: tuple[StackFrame, ...] = ()
    """That of the longest block, innermost first."""

    def text(self) -> str:
        """Return one sentence for a person."""
        place = CAUSES.get(self.cause, self.cause)
        if self.cause == "code":
            place = f"{'in' if self.exact else 'at or before'} {self.function} ({short_place(self.where)})"
            if self.caller is not None:
                place += f", called by {self.caller.in_} ({short_place(self.caller.where)})"
        times = (
            f"; {counted(self.count, 'time')}, {format_seconds(self.seconds)} in all"
            if self.count > 1
            else ""
        )
        return f"{self.loop} blocked for {format_seconds(self.longest)} {place}{times}"

    def as_json(self) -> dict[str, object]:
        """Return its entry in the report, in seconds."""
        return {
            "cause": self.cause,
            "loop": self.loop,
            "function": self.function or None,
            "where": self.where or None,
            "group": self.group or None,
            "exact": self.exact,
            "count": self.count,
            "seconds": round(self.seconds, 3),
            "longest": round(self.longest, 3),
            "stack": [{"in": frame.in_, "where": frame.where} for frame in self.stack],
        }


class BlockedPlaces:
    """The blocks of one process."""

    def __init__(self) -> None:
        self._places: dict[tuple[str, str, str], BlockedPlace] = {}
        self._going: dict[int, tuple[BlockedPlace, float]] = {}
        """By number, of the blocks that go on: the place, and the seconds that are counted already."""

    def add(self, block: Block, group: str) -> str:
        """Add a report; return the text of an event, or an empty string.

        Args:
            block: the agent's report.
            group: the name of its group; empty if it is not known.
        """
        going = self._going.pop(block.block, None)
        place, before = going or (self._place(block, group), 0.0)
        if place is None:
            return ""
        place.count += going is None
        place.seconds += block.seconds - before
        if block.seconds >= place.longest:
            place.longest, place.stack = block.seconds, block.stack
        if not block.ended:
            self._going[block.block] = place, block.seconds
        return place.text() if block.ended and place.count in DECADES else ""

    def _place(self, block: Block, group: str) -> BlockedPlace | None:
        at = block.own[0] if block.own else 0
        inner = block.stack[at] if at < len(block.stack) else StackFrame("", "")
        key = block.cause, inner.in_, inner.where
        if key not in self._places and len(self._places) >= MAX_PLACES:
            return None
        callers = [block.stack[index] for index in block.own[1:2] if index < len(block.stack)]
        return self._places.setdefault(
            key,
            BlockedPlace(
                block.cause,
                block.loop,
                inner.in_,
                inner.where,
                callers[0] if callers else None,
                group,
                block.exact,
            ),
        )

    def ranked(self) -> list[BlockedPlace]:
        """Return the places, the most blocked first."""
        return sorted(self._places.values(), key=lambda place: -place.seconds)

    @property
    def longest(self) -> float:
        """The longest block in seconds that the program's own doing caused; 0 without one."""
        own = (place.longest for place in self._places.values() if place.cause != "stopped")
        return max(own, default=0.0)
