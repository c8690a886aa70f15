"""Find threads that wait for each other: each for a lock of the next one, the last for a lock of the first.

A lock of `threading` does not know which thread holds it. But a thread that is inside a ``with`` statement
holds the lock of that statement, and one between the calls of ``acquire`` and ``release`` of a function holds
that lock, too. Which lock that is, is read from the expressions in the code. Only threads that have not moved
between two looks are examined.
"""

from __future__ import annotations

import os
import sys
from _thread import RLock
from bisect import bisect_right

from ..basics.guard import guarded
from ..basics.names import printable
from ..basics.own_code import is_agent, is_own
from ..basics.primitives import allocate_lock, get_ident
from ..counting.counted_group import FREE_THREADED
from ..counting.threads import THREADING, place_of
from .expressions import LoadedExpressions, attribute_of, names_in, text_of, value_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, FrameType
    from typing import Any, Dict, Iterator, List, Optional, Set, Tuple

    from .expressions import Expression

MAX_THREADS = 1_000
"""Threads above which there is no look."""

MAX_DEPTH = 100
"""The most frames of a thread that are examined."""

MAX_CODE = 20_000
"""Bytes of a function's code above which it is not examined: that would take too long."""

NEW_CODES = 3
"""The most functions that are examined in one look for the first time."""

MAX_CODES = 500
"""The most functions that are remembered."""

LOCKS = (type(allocate_lock()), RLock)

ENTERING = ("BEFORE_WITH", "SETUP_WITH", "BEFORE_ASYNC_WITH", "SETUP_ASYNC_WITH")
"""Instructions that enter a context manager. Since Python 3.14, ``LOAD_SPECIAL`` and ``CALL`` do."""

CALLS = ("CALL", "PRECALL", "CALL_METHOD", "CALL_FUNCTION")

ACQUIRING, RELEASING = ("acquire", "__enter__"), ("release", "__exit__")


class _Code:
    """What the code of a function does with locks, as far as its expressions tell."""

    __slots__ = ("calls", "held", "offsets", "stores", "waits")

    def __init__(self, code: CodeType) -> None:
        import dis  # few programs need it

        instructions = list(dis.get_instructions(code))
        self.offsets = [one.offset for one in instructions]
        self.waits: Dict[int, Expression] = {}
        """By offset: what the instruction there waits for, if that is a lock."""
        self.calls: List[Tuple[int, bool, Expression]] = []
        """The calls of ``acquire`` (true) and ``release`` (false), with the offset after them."""
        self.held: List[Tuple[int, int, Expression]] = []
        """What is held between two offsets, by ``with``."""
        self.stores = [(one.offset, name) for one in instructions for name in _stored(one)]
        """The assignments to variables: where, and its name."""
        enters: List[Tuple[int, Expression]] = []
        loaded, special = LoadedExpressions(), False
        for one in instructions:
            op, value, last = one.opname, one.argval, loaded.last
            if op in ENTERING or (special and op == "CALL"):
                self.waits[one.offset] = last
                enters.append((one.offset, last))
                if op.startswith("SETUP"):
                    self._add_held([(one.offset + 1, value)], one.offset, last)
                special = False
                loaded.forget()
            elif op == "LOAD_SPECIAL":
                special = True
            elif op in CALLS:
                method = last[2] if last[:1] == ("attribute",) else ""
                if value == 0 and method in ACQUIRING + RELEASING:
                    if method in ACQUIRING:
                        self.waits[one.offset] = last[1]
                    if op != "PRECALL":
                        self.calls.append((one.offset, method in ACQUIRING, last[1]))
                if op != "PRECALL":
                    loaded.forget()
            else:
                loaded.add(one)
        handlers = {
            one.offset
            for one, after in zip(instructions, instructions[1:])  # not in Python 3.9
            if one.opname == "PUSH_EXC_INFO" and after.opname == "WITH_EXCEPT_START"
        }
        if hasattr(code, "co_exceptiontable"):
            self._add_regions(list(dis._parse_exception_table(code)), handlers, enters)  # type: ignore[attr-defined]

    def _add_regions(self, entries: List[Any], handlers: Any, enters: List[Tuple[int, Expression]]) -> None:
        """Add what is held where: in the body of a ``with`` statement, and in what is nested in it."""
        entries.sort(key=lambda one: one.start)  # they do not overlap
        starts = [one.start for one in entries]
        entered: Dict[int, Tuple[int, Expression]] = {}
        held: Dict[int, List[Tuple[int, int]]] = {}
        for entry in entries:
            if entry.target in handlers and entry.target not in entered:
                at = bisect_right([offset for offset, _ in enters], entry.start - 1) - 1
                entered[entry.target] = enters[at] if at >= 0 else (0, ())
        for entry in entries:
            target = entry.target
            for _ in range(MAX_DEPTH):
                if target in entered:
                    held.setdefault(target, []).append((entry.start, entry.end))
                outer = entries[max(0, bisect_right(starts, target) - 1)]
                if not outer.start <= target < outer.end or outer.target == target:
                    break
                target = outer.target
        for target, regions in held.items():
            self._add_held(regions, *entered[target])

    def _add_held(self, regions: List[Tuple[int, int]], since: int, lock: Expression) -> None:
        """Add that a lock is held in these regions, if its expression means the same lock in all of them."""
        if lock and not self._changes(lock, since, max([end for _, end in regions])):
            self.held += [(*region, lock) for region in regions]

    def at(self, offset: int) -> int:
        """Return the offset of the instruction at or around an offset."""
        return self.offsets[max(0, bisect_right(self.offsets, offset) - 1)]

    def held_at(self, offset: int) -> Iterator[Expression]:
        """Yield what is held at an offset."""
        calls = {lock: (is_acquired, at) for at, is_acquired, lock in self.calls if at < offset}
        for start, end, lock in self.held:
            if start <= offset < end and calls.get(lock, (True, 0))[0]:
                yield lock
        # One that this function does not release later on may be a signal, which another thread releases.
        released = {lock: at for at, is_acquired, lock in self.calls if at > offset and not is_acquired}
        for lock, until in released.items():
            is_held, since = calls.get(lock, (False, 0))
            if is_held and not self._changes(lock, since, until):
                yield lock

    def _changes(self, lock: Expression, start: int, end: int) -> bool:
        """Return whether an expression may mean different locks between two offsets."""
        stored = [name for at, name in self.stores if start <= at < end]
        return not set(names_in(lock)).isdisjoint(stored)


class Deadlocks:
    """Looks for deadlocks of threads."""

    def __init__(self) -> None:
        self._seen: Dict[int, Tuple[int, int, float]] = {}
        """By thread: its innermost frame and instruction at the last look, and since when it is there."""
        self._codes: Dict[Tuple[str, int, str], Optional[_Code]] = {}
        self._new = 0
        self._others: Set[Tuple[str, int, int]] = set()
        """Files, first lines of functions and instructions that are known not to wait for a lock."""

    def look(self, now: float) -> List[Tuple[Tuple[int, ...], float, List[Dict[str, Any]]]]:
        """Return the threads of each deadlock, since when they have waited, and where they wait."""
        frames = sys._current_frames()
        frames.pop(get_ident(), None)
        if len(frames) > MAX_THREADS or FREE_THREADED:  # there a frame may end meanwhile
            return []
        self._new = 0
        seen: Dict[int, Tuple[int, int, float]] = {}
        waiting: Dict[int, Tuple[Any, str]] = {}
        for thread, frame in frames.items():
            at = id(frame), frame.f_lasti
            before = self._seen.get(thread)
            moved = before is None or before[:2] != at
            seen[thread] = (*at, now if moved or before is None else before[2])
            if not moved:
                wait = self._wait(frame)
                if wait is not None:
                    waiting[thread] = wait
        self._seen = seen
        found = []
        if waiting:
            holders = {id(lock): thread for thread in waiting for lock in self._held(frames[thread])}
            for lock, _ in waiting.values():
                owner = _owner(lock)
                if owner:
                    holders[id(lock)] = owner
            for cycle in _cycles(waiting, holders):
                places = [_place(frames[thread], waiting[thread][1]) for thread in cycle]
                found.append((tuple(sorted(cycle)), max([seen[thread][2] for thread in cycle]), places))
        frame = None  # type: ignore[assignment]  # it would keep its local variables alive
        return found

    def _code(self, code: CodeType) -> Optional[_Code]:
        key = code.co_filename, code.co_firstlineno, code.co_name
        if key not in self._codes:
            if self._new >= NEW_CODES or len(self._codes) >= MAX_CODES:
                return None
            self._new += 1
            small = len(code.co_code) <= MAX_CODE and not is_agent(code.co_filename)
            self._codes[key] = _read_code(code) if small else None
        return self._codes[key]

    def _wait(self, frame: FrameType) -> Optional[Tuple[Any, str]]:
        """Return the lock for which a thread waits without a time limit, and its name; None without one."""
        at = frame.f_code.co_filename, frame.f_code.co_firstlineno, frame.f_lasti
        if at in self._others:
            return None
        if not _may_wait(frame.f_code, frame.f_lasti):
            if len(self._others) < MAX_CODES:
                self._others.add(at)
            return None
        code = self._code(frame.f_code)
        expression = code.waits.get(code.at(frame.f_lasti), ()) if code is not None else ()
        lock = _lock(frame, expression)
        if lock is None or not _is_locked(lock):
            return None
        name = text_of(expression) if is_own(frame.f_code.co_filename) else type(lock).__name__
        return lock, printable(name)

    def _held(self, frame: Optional[FrameType]) -> Iterator[Any]:
        """Yield the locks that a thread holds, as far as that is known."""
        for _ in range(MAX_DEPTH):
            if frame is None:
                break
            code = self._code(frame.f_code)
            for expression in code.held_at(code.at(frame.f_lasti)) if code is not None else ():
                lock = _lock(frame, expression)
                if lock is not None and _is_locked(lock):
                    yield lock
            frame = frame.f_back


@guarded("deadlocks")
def _read_code(code: CodeType) -> _Code:
    return _Code(code)


def _may_wait(code: CodeType, offset: int) -> bool:
    """Return whether an instruction may wait for a lock, which is found out with little effort."""
    from opcode import opmap  # a small part of ``dis``

    if os.path.basename(code.co_filename) == THREADING:  # others wait for a lock that is only a signal
        return code.co_name in ACQUIRING
    if not set(code.co_names).isdisjoint(ACQUIRING):
        return True
    instruction = code.co_code[offset]
    if any(instruction == opmap.get(name) for name in ENTERING):
        return True
    return "LOAD_SPECIAL" in opmap and opmap["LOAD_SPECIAL"] in code.co_code[::2]


def _cycles(waiting: Dict[int, Tuple[Any, str]], holders: Dict[int, int]) -> Iterator[List[int]]:
    """Yield the threads each of which waits for a lock of the next one, and the last for one of the first."""
    done: Set[int] = set()
    for start in waiting:
        path: List[int] = []
        thread: Optional[int] = start
        while thread in waiting and thread not in done:
            done.add(thread)
            path.append(thread)
            thread = holders.get(id(waiting[thread][0]))
        if thread in path:
            yield path[path.index(thread) :]


def _place(frame: FrameType, lock: str) -> Dict[str, Any]:
    where, inside = place_of(frame)
    return {"where": where, "in": inside, "on": lock, "tasks": 1}


def _owner(lock: Any) -> int:
    """Return the thread that holds a lock, if the lock itself knows it; else 0."""
    digits = repr(lock).partition(" owner=")[2].partition(" ")[0]
    return int(digits) if digits.isdigit() else 0


def _is_locked(lock: Any) -> bool:
    return repr(lock).startswith("<locked")  # an RLock has had the method only since Python 3.14


def _lock(frame: FrameType, expression: Expression) -> Any:
    """Return the lock that an expression stands for in a frame; None if it is not one, or not known."""
    value = value_of(frame, expression)
    if type(value).__name__ == "Condition":
        value = attribute_of(value, "_lock")
    return value if type(value) in LOCKS else None


def _stored(instruction: Any) -> Tuple[str, ...]:
    """Return the names of the variables that an instruction sets."""
    number = instruction.opname.count("STORE_")
    value = instruction.argval
    return value[:number] if isinstance(value, tuple) else (value,) * number
