"""What has blocked the event loops of a watched process, by place."""

from collections.abc import Callable, Iterable

from msgspec import Struct, structs

from concwatch.links.messages import Block, StackFrame
from concwatch.monitor.verdicts.events import EventSink, Place, ignored
from concwatch.monitor.verdicts.ongoing import DECADES, Ongoing, OngoingStatus, told_after
from concwatch.portable.protocol.text import short_place
from concwatch.portable.protocol.units import counted, format_seconds

MAX_PLACES = 200
"""Places that are kept; the blocks of further ones are counted in none."""

CAUSES = {
    "gc": "by the garbage collector",
    "stopped": "while its process was stopped, or waited for a processor",
}
"""Cause → the words of an event; the cause "code" has a place instead."""

SAID = 0.001
"""The least seconds of throttling that the text of a block mentions."""


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
        times = (
            f"; {counted(self.count, 'time')}, {format_seconds(self.seconds)} in all"
            if self.count > 1
            else ""
        )
        blocked = f"{self.loop} blocked for {format_seconds(self.longest)} {self.place}{self.called_by}"
        return f"{blocked}{times}{quota_text(self.throttled)}"

    @property
    def called_by(self) -> str:
        """What has called it, with a comma before it; empty if that is not known."""
        caller = self.caller
        return "" if caller is None else f", called by {caller.in_} ({short_place(caller.where)})"

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


class _Going(Struct):
    """A block that goes on."""

    events: Ongoing
    block: Block
    """Its last report."""
    seconds: float = 0.0
    """How long it had lasted then."""
    throttled: float = 0.0
    """Seconds of it in which a CPU quota throttled the process."""


Key = tuple[str, str, str]
"""A cause, a function and its line."""


class BlockedPlaces:
    """The blocks of one process.

    Args:
        log: adds an event.
    """

    def __init__(self, log: EventSink = ignored) -> None:
        self.ended: list[NewBlock] = []
        """The blocks that have ended; whoever reads them empties the list."""
        self.longest = 0.0
        """The longest block in seconds that the program's own doing caused; 0 without one."""
        self._log = log
        self._places: dict[Key, BlockedPlace] = {}
        """Without the blocks that go on."""
        self._going: dict[int, _Going] = {}
        """By number of the block."""
        self._ranked: tuple[BlockedPlace, ...] | None = ()

    def add(
        self,
        block: Block,
        throttled_within: Callable[[float], float] = lambda seconds: 0.0,
        explains: Callable[[Block, str], bool] = lambda block, text: False,
    ) -> None:
        """Add a report, and the events about it.

        Args:
            block: the report.
            throttled_within: returns for how many of the last seconds a CPU quota throttled the process. It
                may be more, since the time of several cores is added up.
            explains: returns whether there have been other events about it, which its text has ended.
        """
        going = self._going.pop(block.block, None)
        if going is None:
            if len(self._going) >= MAX_PLACES:
                return
            going = _Going(Ongoing(self._log, "block", self._told(block)), block)
        fresh = max(0.0, block.seconds - going.seconds)
        going.block, going.seconds = block, block.seconds
        going.throttled += min(fresh, throttled_within(fresh))
        place = _with_block(self._places.get(_key(block)) or _place(block), going)
        if place.cause != "stopped":
            self.longest = max(self.longest, block.seconds - going.throttled)
        self._ranked = None
        if not block.ended:
            self._going[block.block] = going
            if going.events.is_told or not explains(block, ""):
                going.events.update(_status(block, going.throttled))
            return
        if len(self.ended) < MAX_PLACES:
            self.ended.append(NewBlock(block.seconds, f"{format_seconds(block.seconds)} {place.place}"))
        if _key(block) in self._places or len(self._places) < MAX_PLACES:
            self._places[_key(block)] = place
        text = _status(block, going.throttled).ended
        if not (going.events.end(text) or explains(block, text)) and place.count in DECADES:
            self._log(place.text(), "warning", "block", place=Place(place.function, place.where))

    def _told(self, block: Block) -> float:
        """Return the seconds after which there is an event about a new block."""
        before = self._places.get(_key(block))
        return told_after(1 if before is None else before.count + 1)

    def lose(self, why: str) -> None:
        """End the blocks that go on, since nothing more is known of them for the reason ``why``."""
        for going in [*self._going.values()]:
            block = structs.replace(going.block, ended=True)
            self._places[_key(block)] = _with_block(self._places.get(_key(block)) or _place(block), going)
            going.events.end(f"{_status(block, going.throttled).ended}; {why}")
        self._going.clear()
        self._ranked = None

    @property
    def ongoing(self) -> tuple[OngoingStatus, ...]:
        """The blocks that go on, the longest first."""
        found = [going.events.status for going in self._going.values() if going.events.status is not None]
        return tuple(sorted(found, key=lambda one: -one.seconds))

    def ranked(self) -> tuple[BlockedPlace, ...]:
        """Return the places, the most blocked first."""
        if self._ranked is None:
            places = self._places.copy()
            for going in self._going.values():
                key = _key(going.block)
                places[key] = _with_block(places.get(key) or _place(going.block), going)
            ranked = sorted(places.values(), key=lambda place: -place.seconds)
            self._ranked = tuple(ranked[:MAX_PLACES])
        return self._ranked


def _key(block: Block) -> Key:
    inner = _frame(block, 0)
    return block.cause, inner.in_, inner.where


def _frame(block: Block, number: int) -> StackFrame:
    """Return the innermost frame in the program's own code (0), the next one (1); or the innermost of all."""
    found = [block.stack[at] for at in block.own or (0,) if at < len(block.stack)]
    return found[number] if number < len(found) else StackFrame("", "")


def _place(block: Block) -> BlockedPlace:
    """Return the place of a block, without any block."""
    inner, caller = _frame(block, 0), _frame(block, 1)
    return BlockedPlace(
        block.cause,
        block.loop,
        inner.in_,
        inner.where,
        caller if caller.in_ else None,
        block.group or "",
        block.exact,
    )


def _with_block(place: BlockedPlace, going: _Going) -> BlockedPlace:
    """Return a place with one more block."""
    block = going.block
    longest = block.seconds >= place.longest
    return structs.replace(
        place,
        count=place.count + 1,
        seconds=place.seconds + block.seconds,
        throttled=place.throttled + going.throttled,
        longest=block.seconds if longest else place.longest,
        stack=block.stack if longest else place.stack,
    )


def _status(block: Block, throttled: float) -> OngoingStatus:
    """Return what a block is as of its last report."""
    place = _place(block)
    return OngoingStatus(
        "block",
        block.seconds,
        block.loop,
        "blocked",
        f" {place.place}{place.called_by}{quota_text(throttled)}",
        place.function,
        place.where,
    )


def quota_text(throttled: float) -> str:
    """Return how much of a block was throttled; empty if that is too little to be said."""
    seconds = format_seconds(throttled)
    return f", of which throttled by the CPU quota: {seconds}" if throttled >= SAID else ""


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
