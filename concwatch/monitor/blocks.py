"""What has blocked the event loops of a watched process, by place."""

from collections.abc import Callable, Iterable

from msgspec import Struct, structs

from concwatch.protocol.messages import Block, StackFrame
from concwatch.protocol.text import short_place
from concwatch.protocol.units import counted, format_seconds

MAX_PLACES = 200
"""Places that are kept; the blocks of further ones are counted in none."""

CAUSES = {
    "gc": "by the garbage collector",
    "stopped": "while its process was stopped, or waited for a processor",
}
"""Cause → the words of an event; the cause "code" has a place instead."""

SAID = 0.001
"""The least seconds of throttling that the text of a block mentions."""

DECADES = (1, 10, 100, 1_000, 10_000)
"""The counts at which the blocks of a place are logged."""


class BlockedPlace(Struct, frozen=True, omit_defaults=True):
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
    """Whether the stack was read during a block; else it was read just after, and the line ran about then."""
    count: int = 0
    seconds: float = 0.0
    longest: float = 0.0
    stack: tuple[StackFrame, ...] = ()
    """That of the longest block, innermost first."""
    throttled: float = 0.0
    """Seconds of them in which a CPU quota throttled the process, as far as the readings of it tell."""

    @property
    def place(self) -> str:
        """What has blocked the loop: a function with its line, or a cause."""
        if self.cause != "code":
            return CAUSES.get(self.cause, self.cause)
        return f"{'in' if self.exact else 'at or before'} {self.function} ({short_place(self.where)})"

    def text(self) -> str:
        """Return one sentence for a person."""
        place = self.place
        if self.caller is not None:
            place += f", called by {self.caller.in_} ({short_place(self.caller.where)})"
        times = (
            f"; {counted(self.count, 'time')}, {format_seconds(self.seconds)} in all"
            if self.count > 1
            else ""
        )
        throttled = format_seconds(self.throttled)
        quota = f", of which throttled by the CPU quota: {throttled}" if self.throttled >= SAID else ""
        return f"{self.loop} blocked for {format_seconds(self.longest)} {place}{times}{quota}"

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
            "throttled": round(self.throttled, 3),
            "stack": [{"in": frame.in_, "where": frame.where} for frame in self.stack],
        }


class NewBlock(Struct, frozen=True):
    """A block that was reported for the first time, or that has ended."""

    seconds: float
    text: str
    """How long it lasted, and where."""


class BlockedPlaces:
    """The blocks of one process."""

    def __init__(self) -> None:
        self.ended: list[NewBlock] = []
        """The blocks that have ended; whoever reads them empties the list."""
        self._places: dict[tuple[str, str, str], BlockedPlace] = {}
        self._going: dict[int, tuple[tuple[str, str, str], float, float]] = {}
        """By number, of the blocks that go on: the key, the seconds that are counted already, and those of
        them that were throttled."""
        self._ranked: tuple[BlockedPlace, ...] | None = ()
        self.longest = 0.0
        """The longest block in seconds that the program's own doing caused; 0 without one."""

    def add(self, block: Block, throttled_within: Callable[[float], float] = lambda seconds: 0.0) -> str:
        """Add a report; return the text of an event, or an empty string.

        ``throttled_within`` returns for how many of the last seconds a CPU quota throttled the process. It
        may be more, since the time of several cores is added up.
        """
        going = self._going.pop(block.block, None)
        key, before, throttled = going or (self._key(block), 0.0, 0.0)
        if key is None:
            return ""
        place = self._places[key]
        longest, seconds = block.seconds >= place.longest, max(0.0, block.seconds - before)
        fresh = min(seconds, throttled_within(seconds))
        throttled += fresh
        if place.cause != "stopped":
            self.longest = max(self.longest, block.seconds - throttled)
        self._places[key] = place = structs.replace(
            place,
            count=place.count + (going is None),
            seconds=place.seconds + block.seconds - before,
            throttled=place.throttled + fresh,
            longest=block.seconds if longest else place.longest,
            stack=block.stack if longest else place.stack,
        )
        self._ranked = None
        if not block.ended:
            self._going[block.block] = key, block.seconds, throttled
            return ""
        if len(self.ended) < MAX_PLACES:
            self.ended.append(NewBlock(block.seconds, f"{format_seconds(block.seconds)} {place.place}"))
        return place.text() if place.count in DECADES else ""

    def _key(self, block: Block) -> tuple[str, str, str] | None:
        """Return the key of the place of a block, which is added if it is new; None beyond `MAX_PLACES`."""
        at = block.own[0] if block.own else 0
        inner = block.stack[at] if at < len(block.stack) else StackFrame("", "")
        key = block.cause, inner.in_, inner.where
        if key not in self._places:
            if len(self._places) >= MAX_PLACES:
                return None
            caller = next((block.stack[index] for index in block.own[1:2] if index < len(block.stack)), None)
            self._places[key] = BlockedPlace(
                block.cause, block.loop, inner.in_, inner.where, caller, block.group or "", block.exact
            )
        return key

    def ranked(self) -> tuple[BlockedPlace, ...]:
        """Return the places, the most blocked first."""
        if self._ranked is None:
            self._ranked = tuple(sorted(self._places.values(), key=lambda place: -place.seconds))
        return self._ranked


def merge_places(places: Iterable[BlockedPlace]) -> list[BlockedPlace]:
    """Return the places of several processes, those at the same line as one, the most blocked first."""
    merged: dict[tuple[str, str, str], BlockedPlace] = {}
    for place in places:
        key = place.cause, place.function, place.where
        first = merged.get(key)
        if first is not None:
            longest = max(first, place, key=lambda one: one.longest)
            place = structs.replace(
                longest,
                count=first.count + place.count,
                seconds=first.seconds + place.seconds,
                throttled=first.throttled + place.throttled,
            )
        merged[key] = place
    return sorted(merged.values(), key=lambda place: -place.seconds)
