"""What the monitor asks for: the commands, and the parts that only work once they are asked to."""

from __future__ import annotations

from time import monotonic

from ..basics.guard import guarded
from ..basics.part import FOR_EVER, Part, is_exhausted
from ..counting.counting import COUNTS
from .connection import ANSWERS, Lost

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Iterator, List, Optional

    from ..blocking.profiler import Profiler
    from ..counting.counted_group import CountedGroup
    from .connection import Outbox

    Fields = Dict[str, Any]
    Command = Callable[[Fields], Optional[bool]]
    """Executes a command, given its fields; returns whether a report of its own answers it."""

INTERVAL = 0.1
"""Seconds between two reads of commands."""

MAX_REQUESTS = 10
"""The most pending requests about groups."""

MAX_PROFILE = 600.0
"""The most seconds for which stacks are sampled."""

OVERDUE = 0.01
"""Seconds after which a sample is taken wherever the agent's thread has got the interpreter's lock."""


class Commands(Part):
    """Executes and answers commands.

    Args:
        outbox: what sends the answers.
        state: returns the flags of the process, among others.
        commands: by name.
    """

    due = 0.0

    def __init__(self, outbox: Outbox, state: Callable[[], Fields], commands: Dict[str, Command]) -> None:
        self._outbox, self._state = outbox, state
        self.known = commands

    @guarded(ANSWERS, passes=(Lost,))
    def step(self, now: float) -> None:
        """Execute the commands received since the last step."""
        self.due = now + INTERVAL
        for fields, problem in self._outbox.connection.commands():
            self._execute(fields, problem)

    def _execute(self, fields: Optional[Fields], problem: str) -> None:
        arrived = monotonic()
        command = None if fields is None else fields["type"][:60]
        try:
            if fields is None:
                raise ValueError(problem)
            execute = self.known.get(fields["type"])
            if execute is None:
                raise ValueError(f'unknown command "{command}"; expected one of {", ".join(self.known)}')
            if not execute(fields):
                seconds = monotonic() - arrived
                flags = self._state()["flags"]
                self._outbox.send("applied", command=command, seconds=seconds, flags=flags)
        except Lost:
            raise
        except Exception as error:  # report whatever is wrong with a command to the monitor
            self._outbox.send_failure(command, error)


class Requests(Part):
    """Questions that are answered in several time slices, one after the other."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox
        self._pending: List[Iterator[None]] = []

    def _add(self, request: Iterator[None]) -> bool:
        if len(self._pending) >= MAX_REQUESTS:
            raise ValueError(f"{MAX_REQUESTS} requests are already pending")
        self._pending.append(request)
        self.due = 0.0
        return True

    def step(self, now: float) -> None:
        """Run one time slice of the first request."""
        try:
            if is_exhausted(self._pending[0]):
                del self._pending[0]
        except Exception as error:  # the next one is still answered
            del self._pending[0]
            self._outbox.send_failure(None, error)
        self.due = 0.0 if self._pending else FOR_EVER

    def waits(self, fields: Fields) -> bool:
        """Find what the tasks of a group wait for."""
        from ..waiting.waits import find_waits  # few programs need it

        return self._add(find_waits(_group(fields), self._outbox.sender("waits")))

    def finished(self, fields: Fields) -> bool:
        """Find what holds the finished tasks of a group."""
        from ..memory.finished import find_finished  # few programs need it
        from ..memory.objects import check_search

        check_search()
        return self._add(find_finished(_group(fields), self._outbox.sender("finished")))

    def memory(self, fields: Fields) -> bool:
        """Find what memory is made of."""
        from ..memory.memory import find_memory  # few programs need it

        longest = fields.get("longest")
        limit = (longest,) if isinstance(longest, (int, float)) else ()
        return self._add(find_memory(self._outbox.sender("memory"), *limit))


class TimedWork(Part):
    """What is done in steps for some seconds, and sends its own report in the end.

    Args:
        outbox: what sends it.
    """

    command = ""
    """What begins it."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox

    def _advance(self, now: float) -> Optional[float]:
        """Do a step, and return the seconds until the next one; None after the last."""
        raise NotImplementedError

    def step(self, now: float) -> None:
        """Do what is due."""
        delay = None
        try:
            delay = self._advance(now)
        except Exception as error:
            self._outbox.send_failure(self.command, error)
        if delay is None:
            self.close()
        else:
            self.due = monotonic() + delay


class GrowthSearch(TimedWork):
    """Finds what grows."""

    command = "objects"
    _search: Optional[Iterator[float]] = None

    def start(self) -> bool:
        """Begin a search, unless one is running."""
        from ..memory.objects import check_search, find_what_grows  # few programs need them

        check_search()
        if self._search is None:
            self._search, self.due = find_what_grows(self._outbox.sender("objects")), 0.0
        return True

    def _advance(self, now: float) -> Optional[float]:
        return next(self._search, None) if self._search is not None else None

    def close(self) -> None:
        """End the search."""
        self._search, self.due = None, FOR_EVER


class StackSampling(TimedWork):
    """Samples the stacks of the threads."""

    command = "profile"
    _profiler: Optional[Profiler] = None

    def start(self, fields: Fields, loops: Callable[[], Dict[int, int]]) -> bool:
        """Begin to sample, or end that early.

        Args:
            fields: those of the command.
            loops: returns, by thread, how many of its outermost frames are those of an event loop.
        """
        from ..blocking.profiler import Profiler  # few programs need it

        expected = f"a number from 0 to {MAX_PROFILE:.0f}"
        seconds = number(fields, "seconds", lambda value: 0 <= value <= MAX_PROFILE, expected)
        if self._profiler is None:
            self._profiler = Profiler(seconds, self._outbox.sender("profile"), loops) if seconds else None
        elif seconds:
            raise ValueError("stacks are being sampled already; ask again once the profile has been sent")
        else:
            self._profiler.end()
        self.due = 0.0
        return True

    def resume(self) -> None:
        """Note that the agent's thread has waited."""
        if self._profiler is not None:
            self._profiler.resume()

    def wait(self) -> None:
        """Prepare that the agent's thread waits."""
        if self._profiler is not None:
            self._profiler.wait()

    def catch_up(self) -> None:
        """Take a sample that is overdue, directly after the agent's thread has waited for the lock.

        The program is interrupted now where it has kept the lock, and somewhere else after the next wait.
        """
        now = monotonic()
        if now >= self.due + OVERDUE:
            self.step(now)

    def _advance(self, now: float) -> Optional[float]:
        return self._profiler.step(now) if self._profiler is not None else None

    def close(self) -> None:
        """End sampling."""
        profiler, self._profiler, self.due = self._profiler, None, FOR_EVER
        if profiler is not None:
            profiler.close()


# What is in the fields of a command; each raises ValueError.


def flag(fields: Fields, key: str = "on") -> bool:
    """Return whether something is to be switched on."""
    value = fields.get(key)
    if not isinstance(value, bool):
        raise ValueError(f'"{key}" is {value!r}; expected true or false')
    return value


def number(fields: Fields, key: str, accepts: Callable[[float], bool], expected: str) -> float:
    """Return a number that is accepted; ``expected`` says which ones are."""
    value = fields.get(key)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not accepts(value):
        raise ValueError(f'"{key}" is {value!r}; expected {expected}')
    return value


def _group(fields: Fields) -> CountedGroup:
    number = fields.get("group")
    group = next((one for one in list(COUNTS.groups.values()) if one.number == number), None)
    if group is None:
        raise ValueError(f'"group" is {number!r}; expected the number of a group that was reported')
    return group
