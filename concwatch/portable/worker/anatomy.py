"""What the memory of one task consists of, found by walking the objects of some tasks.

Nothing is looked up in a table: each object is asked for its size. An object belongs to a task unless many
tasks refer to it. Imported when a worker is asked.
"""

from __future__ import annotations

import gc
import sys
import threading
import weakref
from collections import deque
from itertools import islice
from time import monotonic
from types import (
    AsyncGeneratorType,
    BuiltinFunctionType,
    CodeType,
    CoroutineType,
    FrameType,
    FunctionType,
    GeneratorType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    ModuleType,
    WrapperDescriptorType,
)

import concwatch
from concwatch.portable.agent.basics.names import printable
from concwatch.portable.agent.basics.own_code import is_own, name_of
from concwatch.portable.agent.memory.memory_maps import HEAP, OTHER, STACKS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Set, Tuple

    _Key = Tuple[str, str]

FEWEST = 100
"""Live tasks below which what they share cannot be told from what each has."""

SAMPLE = 500
"""Tasks whose objects are walked."""

FIRST = 3
"""Tasks for which everything is found that refers to their objects: that takes a look at every object."""

DEPTH = 6
"""How many references away from a task's objects something that belongs to the task is searched."""

MAX_OBJECTS, MAX_OWNED = 300_000, 300
"""The most objects that are walked, in all and for something that refers to a task's objects."""

LONG = 64
"""Entries from which on a container is divided by the live tasks instead of being searched for more."""

MAX_SECONDS = 5.0
"""Seconds after which no further task is walked."""

MAX_PARTS = 60
"""The most parts that are reported; the rest is one part."""

LEAST_BYTES = 1.0
"""The least bytes per task of a part that is reported."""

SMALL = 512
"""Bytes of the largest object that Python allocates itself; the C library allocates larger ones."""

POOL, POOL_HEADER = (16 << 10 if sys.version_info >= (3, 10) else 4 << 10), 48
"""Bytes of a pool in which Python allocates objects of one size, and of its header."""

MAPPED = 128 << 10
"""Bytes from which on the C library maps pages for a block alone."""

COROUTINES = {
    CoroutineType: ("coroutine", "cr_"),
    GeneratorType: ("generator", "gi_"),
    AsyncGeneratorType: ("async generator", "ag_"),
}
"""Type → what it is called, and how the names of its attributes begin."""

CONTAINERS = (list, set, dict, deque)

GROWING = (*CONTAINERS, bytearray)
"""Types whose objects have what they hold in a block of its own."""

GC_HEADER = 16
"""Bytes before an object that the garbage collector tracks."""

_SHARED: Tuple[type, ...] = (
    type,
    ModuleType,
    CodeType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    WrapperDescriptorType,
)
if sys.version_info >= (3, 11):
    _SHARED += (
        FrameType,
    )  # made only to be looked at: a frame is part of its coroutine, or of a thread's stack
_PACKAGE = concwatch.__path__[0]
_OPTIMIZED = 0x1  # of co_flags: the locals are not in a dictionary
_TRACKED = 1 << 14  # of type flags
_INLINE_VALUES = 1 << (2 if sys.version_info >= (3, 13) else 4)  # of type flags, since Python 3.11

NAMES = {
    "ReferenceType": "weakref",
    "builtin_function_or_method": "built-in method",
    "method": "bound method",
}
"""Names of types that others than Python's own programmers know by other names."""

STACK = "stack pages touched"
OTHERS = "other objects"
ROUNDING = "rounded up by the allocator"


def allocated(size: int) -> float:
    """Return what allocating ``size`` bytes takes: rounded up, with a share of what manages the memory."""
    if size <= SMALL:
        rounded = (size + 15) & ~15
        return POOL / ((POOL - POOL_HEADER) // rounded) if rounded else 0
    if size >= MAPPED:
        return (size + 16 + 4095) & ~4095
    return (size + 8 + 15) & ~15


def _is_users(code: CodeType) -> bool:
    """Return whether this is code of the user's own function."""
    file = code.co_filename
    return is_own(file) and not file.startswith(_PACKAGE)


def _hidden_size(obj: Any) -> int:
    """Return the bytes of an object's attributes that `sys.getsizeof` leaves out since Python 3.11."""
    kind = type(obj)
    if sys.version_info < (3, 11) or not kind.__flags__ & _INLINE_VALUES:
        return 0
    attributes = [value for value in gc.get_referents(obj) if value is not kind]
    if not attributes or type(attributes[0]) is dict:
        return 0
    slots = len(attributes) + 1
    return ((slots + 2 + 7) & ~7) + 8 * slots


def _blocks(obj: Any) -> List[int]:
    """Return the sizes of the blocks of memory of an object."""
    kind, size, hidden = type(obj), sys.getsizeof(obj), _hidden_size(obj)
    own = kind.__basicsize__ + (GC_HEADER if kind.__flags__ & _TRACKED else 0)
    blocks = [own, size - own] if kind in GROWING and size > own else [size]
    if hidden and sys.version_info < (3, 13):
        return [*blocks, hidden]
    blocks[0] += hidden
    return blocks


class Sizes:
    """The sum of the sizes of objects of one kind."""

    __slots__ = ("bytes", "count", "large", "small")

    def __init__(self) -> None:
        self.count = 0.0
        self.bytes = 0.0
        self.small = self.large = 0.0
        """What Python itself, and the C library, has allocated for them."""

    def add(self, blocks: Iterable[int]) -> None:
        """Add one object, of blocks of these sizes."""
        self.count += 1
        for size in blocks:
            self.bytes += size
            if size <= SMALL:
                self.small += allocated(size)
            else:
                self.large += allocated(size)

    def add_scaled(self, other: Sizes, factor: float) -> None:
        """Add ``factor`` times another sum."""
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name) * factor)


class Walk:
    """Finds the objects of a sample of tasks.

    Args:
        tasks: all live tasks, in a set of its own.
    """

    def __init__(self, tasks: Set[Any]) -> None:
        self.sizes: Dict[_Key, Sizes] = {}
        """Of each part, by its name, and the function of the user whose variable it is: the sum over all
        tasks walked."""
        self.walked = 0
        """The tasks walked."""
        self._tasks = tasks
        self._types = {type(task) for task in tasks}
        self._frames = sys._current_frames() if threading.Thread in map(_base, self._types) else {}
        self._many = len(tasks) / 2
        self._seen: Set[int] = set()
        self._kept: List[Any] = []  # what was seen may not be freed: its number would be used again

    def run(self) -> None:
        """Walk the sample."""
        step = max(1, len(self._tasks) // SAMPLE)
        sample = list(islice(self._tasks, 0, step * SAMPLE, step))
        deadline = monotonic() + MAX_SECONDS
        owned: Dict[_Key, Sizes] = {}
        for task in sample:
            if len(self._kept) > MAX_OBJECTS or monotonic() > deadline:
                break
            self._walk_task(task)
            self.walked += 1
            if self.walked == FIRST:
                owned = self._find_owned(sample)
        for key in [key for key, sizes in self.sizes.items() if sizes.count < 2 and not key[1]]:
            del self.sizes[key]  # something that all tasks share
        for key, sizes in owned.items():
            if sizes.count < FIRST:
                continue
            self.sizes.setdefault(key, Sizes()).add_scaled(sizes, self.walked / FIRST)

    def _walk_task(self, task: Any) -> None:
        """Find the objects of one task."""
        for frame in self._running_frames(task):
            if _is_users(frame.f_code):
                self._walk_variables(frame)
        for coroutine in _awaited(task):
            if _is_users(coroutine.cr_code) and coroutine.cr_frame is not None:
                self._walk_variables(coroutine.cr_frame)
        self._count(task)
        self._claim(_referents(task))
        for frame in self._running_frames(task):
            self._claim(self._variables(frame).values())

    def _running_frames(self, task: Any) -> Iterator[FrameType]:
        """Yield the frames of a thread or greenlet, the innermost first."""
        frame = self._frames.get(getattr(task, "ident", None) or 0) or getattr(task, "gr_frame", None)
        while frame is not None:
            yield frame
            frame = frame.f_back

    def _walk_variables(self, frame: FrameType) -> None:
        """Find what each variable of a function of the user holds."""
        function = printable(name_of(frame.f_code))
        for name, value in self._variables(frame).items():
            self._claim([value], (printable(name), function))

    def _variables(self, frame: FrameType) -> Dict[str, Any]:
        """Return the local variables of a frame of a function, without those of functions around it."""
        code = frame.f_code
        if not code.co_flags & _OPTIMIZED:
            return {}
        found = frame.f_locals
        copied = {name: value for name, value in found.items() if name not in code.co_freevars}
        if type(found) is dict:  # up to Python 3.12; it stays in the frame, but not what it refers to
            found.clear()
            self._seen.add(id(found))
        return copied

    def _claim(self, objects: Iterable[Any], key: Optional[_Key] = None, most: int = MAX_OBJECTS) -> bool:
        """Count objects, and what they refer to, as those of a task; return False at the limit.

        ``key`` is the part that they all belong to; by default each is part of its own.
        """
        most += len(self._kept)
        waiting = list(objects)
        while waiting and len(self._kept) < most:
            obj = waiting.pop()
            if id(obj) not in self._seen and not self._is_shared(obj, key is not None):
                self._count(obj, key)
                waiting += _referents(obj)
        return not waiting

    def _is_shared(self, obj: Any, held: bool = False) -> bool:
        """Return whether an object does not belong to a single task, or is another task.

        One that is ``held`` by a variable of the user's function may be large.
        """
        if isinstance(obj, _SHARED) or sys.getrefcount(obj) > self._many:
            return True
        kind = type(obj)
        if kind is BuiltinFunctionType:
            return isinstance(obj.__self__, (ModuleType, type))
        if kind is FunctionType:
            return "<locals>" not in obj.__qualname__
        if kind in CONTAINERS:
            return (len(obj) >= self._many and not held) or (
                kind is dict and ("__loader__" in obj or "__builtins__" in obj)
            )
        return kind in self._types and obj in self._tasks

    def _count(self, obj: Any, key: Optional[_Key] = None) -> None:
        """Count one object."""
        self._seen.add(id(obj))
        self._kept.append(obj)
        try:
            blocks = _blocks(obj)
        except Exception:  # a class of the user may define __sizeof__
            return
        self.sizes.setdefault(key or describe(obj), Sizes()).add(blocks)

    def _find_owned(self, sample: List[Any]) -> Dict[_Key, Sizes]:
        """Find what refers to the objects of the tasks walked so far, and belongs to these tasks too.

        Such as the loop's heap of timers, of which each task has a slot, or a callback for its socket.
        """
        found: Dict[_Key, Sizes] = {}
        tasks, self.sizes = self.sizes, found
        new = list(self._kept)
        containers: Dict[int, Any] = {}
        for _ in range(DEPTH):
            known = len(self._kept)
            own = {id(each) for each in (self._tasks, self._kept, sample, new, self.__dict__, containers)}
            for referrer in gc.get_referrers(*new):
                kind = type(referrer)
                if id(referrer) in own or isinstance(referrer, (FrameType, Walk)):
                    continue
                if kind is tuple and len(referrer) == len(new) and referrer[0] is new[0]:
                    continue  # the arguments of this very call
                if kind in CONTAINERS and len(referrer) >= LONG:
                    containers[id(referrer)] = referrer
                elif id(referrer) not in self._seen and not self._is_shared(referrer):
                    self._claim_owner(referrer)
            new = self._kept[known:]
            if not new:
                break
        self.sizes = tasks
        for container in containers.values():
            size = sys.getsizeof(container)
            sizes = found.setdefault(_slot(container), Sizes())
            sizes.count += FIRST
            sizes.bytes += size * FIRST / len(self._tasks)
            sizes.large += size * FIRST / len(self._tasks)
        return found

    def _claim_owner(self, owner: Any) -> None:
        """Count an object that refers to a task's, with what else it refers to, unless that is much."""
        before = {
            key: (sizes.count, sizes.bytes, sizes.small, sizes.large) for key, sizes in self.sizes.items()
        }
        if not self._claim([owner], most=MAX_OWNED):
            for key, sizes in self.sizes.items():
                sizes.count, sizes.bytes, sizes.small, sizes.large = before.get(key, (0.0, 0.0, 0.0, 0.0))


def _base(kind: type) -> type:
    """Return the class of threads for one of its subclasses."""
    return threading.Thread if issubclass(kind, threading.Thread) else kind


def _awaited(task: Any) -> Iterator[Any]:
    """Yield the coroutine of an asyncio task, and those that it awaits."""
    coroutine = task.get_coro() if hasattr(task, "get_coro") else None
    while type(coroutine) is CoroutineType:
        yield coroutine
        coroutine = coroutine.cr_await


def _referents(obj: Any) -> List[Any]:
    """Return what an object refers to, and the weak references to it."""
    return [*gc.get_referents(obj), *weakref.getweakrefs(obj)]


def describe(obj: Any) -> _Key:
    """Return the part that an object is by itself."""
    kind = type(obj)
    if kind in COROUTINES:
        word, prefix = COROUTINES[kind]
        code = getattr(obj, prefix + "code")
        frame = " and its frame" if sys.version_info >= (3, 11) else ""
        return f"{word} {printable(obj.__qualname__)}{frame}", name_of(code) if _is_users(code) else ""
    if kind is FrameType:
        return f"frame of {name_of(obj.f_code)}", name_of(obj.f_code) if _is_users(obj.f_code) else ""
    return _name(kind), ""


def _name(kind: type) -> str:
    return NAMES.get(kind.__qualname__) or printable(kind.__qualname__)


def _slot(container: Any) -> _Key:
    """Return the part that an entry of a large container is; the first ones may be of another type."""
    entries = container.values() if isinstance(container, dict) else container
    middle = next(islice(entries, len(entries) // 2, None))
    return f"slot in a {type(container).__name__} of {_name(type(middle))}", ""


def anatomy(
    tasks: Callable[[], Iterable[Any]],
    maps: Dict[str, int],
    idle: Dict[str, int],
    native: Dict[str, str],
    tracer: int,
) -> Dict[str, Any]:
    """Return the fields of the report ``anatomy``.

    Args:
        tasks: returns all live tasks.
        maps: what `read_memory_maps` returned just now.
        idle: the same before the first task.
        native: what else tasks allocate in the kinds of memory of `read_memory_maps`.
        tracer: bytes that tracing takes now.

    Raises:
        ValueError: too few tasks are live.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        walk = Walk(set(tasks()))
        live = len(walk._tasks)
        if live < FEWEST:
            raise ValueError(f"{live} tasks are live; to tell what each has, {FEWEST} are needed")
        walk.run()
    finally:
        if collecting:
            gc.enable()
    parts: List[Dict[str, Any]] = [
        {
            "name": name,
            "function": function,
            "count": round(sizes.count / walk.walked, 3),
            "bytes": round(sizes.bytes / walk.walked, 1),
        }
        for (name, function), sizes in walk.sizes.items()
        if sizes.bytes >= walk.walked * LEAST_BYTES
    ]
    total = Sizes()
    for sizes in walk.sizes.values():
        total.add_scaled(sizes, 1 / walk.walked)
    rows = {ROUNDING: total.small + total.large - total.bytes}
    if maps and idle:
        grown = {kind: (maps[kind] - idle[kind]) / live for kind in maps}
        rows[STACK] = grown[STACKS]
        rest = {OTHER: grown[OTHER] - total.small, HEAP: grown[HEAP] - total.large - tracer / live}
        for kind, name in native.items():
            rows[name] = rows.get(name, 0.0) + rest[kind]
    parts.sort(key=lambda part: -part["bytes"])
    rows[OTHERS] = sum(part["bytes"] for part in parts[MAX_PARTS:])
    parts = parts[:MAX_PARTS] + [
        {"name": name, "function": "", "count": 0, "bytes": size}
        for name, size in rows.items()
        if size >= LEAST_BYTES
    ]
    parts.sort(key=lambda part: -part["bytes"])
    return {"live": live, "sampled": walk.walked, "parts": parts}
