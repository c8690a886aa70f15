"""Walk from what can hold objects for long to the containers within it, in time slices.

A list of all objects, or a search for what refers to one, stops a program with millions of objects for a
tenth of a second and longer. The walk starts at modules, loops, tasks and the frames of running functions,
and goes into some of the items of a large container: how much it visits does not depend on the size of the
heap. On its way it knows by which path it has come, so that no search for holders is needed.

A *start* is an object that can be referenced weakly. What is within it, up to the next start, is visited in
one go, mostly within the switch interval of the interpreter, so that no other thread runs meanwhile. Nothing
is kept alive between two slices.
"""

from __future__ import annotations

import gc
import sys
from _weakref import ref
from collections import deque
from functools import partial
from itertools import compress
from operator import not_
from time import perf_counter

from ..basics.guard import guarded
from ..basics.own_code import is_agent, is_own
from ..counting.counting import COUNTS
from ..counting.scan import some_tasks
from ..counting.wrappers import COROUTINES, code_of
from .class_attributes import (
    class_variable,
    module_file,
    module_of,
    module_variables,
    namespace,
    qualified_name,
)
from .containers import PARTS, SAMPLED, WHOLE, newest, part_of, size_in_bytes
from .frames import FrameType, outermost_first, variables_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, FrozenSet, Iterable, Iterator, List, Optional, Set, Tuple

GROWING = "what grows"
"""The answer that a walk is for."""

TIME_SLICE = 0.002
"""Seconds of a time slice: less than the interpreter's switch interval, so that nothing changes meanwhile."""

MAX_BYTES = 1 << 20
"""The most bytes of an object of an extension module that may refer to others, which are visited."""

LEAST_ITEMS, LEAST_BYTES = 5, 4_096
"""The least number of items of a container, and of bytes of a buffer, that is remembered."""

MAX_OWN, MAX_STARTS, MAX_KNOWN = 12_000, 20_000, 40_000
"""The most starts that are found from the program's own modules, the most in all, and the most containers."""

SPREAD, FEW = 2_000, 10
"""How many objects within a start are spread over its containers, and the least number for each of them."""

MAX_FOUND, MAX_ENTERED, DEPTH = 4_000, 2_000, 12
"""The most objects within a start that are found, which takes 10 ms, the most of these that are entered, and
the most references that are followed within it."""

MAX_TASKS, MAX_LISTED = 1_000, 50_000
"""The most tasks that are starts, and the most live tasks that are listed for it since Python 3.14."""

MAX_FRAMES = 500
"""The most frames of running functions whose variables are read."""

MAX_REFERENTS = 100_000
"""The most objects to which one of them refers that are listed at once."""

MAX_LINKS = 8_000
"""The most links of the buffer of ``itertools.tee`` that are counted, which takes about 10 ms."""

SIMPLE_QUEUE_REFERS = sys.version_info < (3, 13)
"""Whether a `queue.SimpleQueue` has its items in a list."""

_GetSetType: Any = type(type.__dict__["__module__"])
_FunctionType: Any = type(class_variable)
_SIZE: Any = object.__dict__["__sizeof__"]
_VARIABLES: Callable[[Any], Dict[str, Any]] = vars(type(sys))["__dict__"].__get__
_WEAK_OFFSET: Callable[[type], int] = type.__dict__["__weakrefoffset__"].__get__

_LEAVES = frozenset(
    id(type(one))
    for one in (
        *("", b"", 0, 0.0, 0j, True, None, ..., NotImplemented, range(0), slice(0)),
        *(class_variable.__code__, object.__init__, str.join, type.__dict__["__mro__"], ref(type)),
        *(type.__dict__["__module__"], (lambda: 0).__init__, memoryview(b"")),
    )
)
"""The ``id`` of types whose instances hold no container."""


class ObjectKind:
    """How the objects of some types are visited.

    Args:
        children: returns what an object refers to, or some of that.
        size: returns how many items an object has; None if it is not a container.
        grows: whether its items can become more.
        is_start: whether an object can be referenced weakly, and is visited by itself.
        in_bytes: whether its items are bytes.
        newest: returns some of the last added items of a container.
    """

    __slots__ = ("children", "grows", "in_bytes", "is_start", "least", "newest", "size")

    def __init__(
        self,
        children: Callable[[Any], List[Any]] = gc.get_referents,
        size: Optional[Callable[[Any], int]] = None,
        grows: bool = True,
        is_start: bool = False,
        in_bytes: bool = False,
        newest: Callable[[Any], List[Any]] = newest,
    ) -> None:
        self.children, self.size, self.is_start, self.in_bytes = children, size, is_start, in_bytes
        self.newest = newest
        self.grows = grows and size is not None
        self.least = LEAST_BYTES if in_bytes else LEAST_ITEMS
        """The least size that is remembered."""


def _of_cache(cache: Any) -> List[Any]:
    """Return the attributes and some results of a ``functools.lru_cache``, without its dictionary."""
    maximum, count = type(cache).cache_info(cache)[2:]
    variables = namespace(cache)
    if maximum is not None and count > WHOLE:  # it refers to each of its results
        return [variables]
    found: List[Any] = [variables]
    for one in gc.get_referents(cache):
        if type(one) is not dict:
            found.append(one)
        elif one is not variables and maximum is None:
            found += part_of(one)
    return found


def _newest_of_cache(cache: Any) -> List[Any]:
    maximum = type(cache).cache_info(cache)[2]
    if _cached(cache) > MAX_REFERENTS and maximum is not None:
        return []
    found = gc.get_referents(cache)
    if maximum is None:
        variables = namespace(cache)
        return newest(next((one for one in found if type(one) is dict and one is not variables), {}))
    links = [one for one in found if qualified_name(type(one)).endswith("lru_list_elem")]
    # Up to Python 3.9, it refers to the arguments and the result of each call in turn.
    return (links or list(zip(found[::2], found[1::2]))[:-3])[-SAMPLED:]


def _cached(cache: Any) -> int:
    return int(type(cache).cache_info(cache)[3])


def _queued(queue: Any) -> int:
    return int(type(queue).qsize(queue))


def _of_simple_queue(queue: Any) -> List[Any]:
    return gc.get_referents(queue) if _queued(queue) <= WHOLE else []


def _newest_of_simple_queue(queue: Any) -> List[Any]:
    return gc.get_referents(queue)[-SAMPLED:] if _queued(queue) <= MAX_REFERENTS else []


def _links(tee: Any) -> Iterator[List[Any]]:
    """Yield what ``itertools.tee`` keeps for one of its iterators, in parts."""
    link = next((one for one in gc.get_referents(tee) if _is_link(one)), None)
    for _ in range(MAX_LINKS):
        if link is None:
            return
        held = gc.get_referents(link)
        yield held
        link = next(filter(_is_link, held[:-3:-1]), None)  # the next one comes last


def _is_link(one: Any) -> bool:
    return qualified_name(type(one)) == "_tee_dataobject"


def _teed(tee: Any) -> int:
    return sum(map(len, _links(tee)))


def _newest_of_tee(tee: Any) -> List[Any]:
    return next(_links(tee), [])[:SAMPLED]


def _of_frame(frame: Any) -> List[Any]:
    """Return the variables of a function, and those of its module."""
    if is_agent(frame.f_code.co_filename):
        return []
    found = [one for one in gc.get_referents(frame) if one is not frame.f_trace]
    if not found:  # since Python 3.11, the frame of a running function does not refer to them
        found += variables_of(frame).values()
    return [*found, frame.f_globals]


def _of_greenlet(greenlet: Any) -> List[Any]:
    """Return what a greenlet refers to, and the frames of its functions while they do not run."""
    read: Any = class_variable(type(greenlet), "gr_frame")
    return [*gc.get_referents(greenlet), *outermost_first(read.__get__(greenlet))]


def _bytes_of(size: Any, buffer: Any) -> int:
    try:
        return int(size(buffer))
    except ValueError:  # it is closed, or not complete yet
        return 0


def _of_buffer(size: Callable[[Any], int], buffer: Any) -> List[Any]:
    return gc.get_referents(buffer) if size(buffer) < MAX_BYTES else []


def _buffer(size: Callable[[Any], int]) -> ObjectKind:
    """Return how a buffer is visited whose size in bytes is known."""
    read = partial(_bytes_of, size)
    return ObjectKind(partial(_of_buffer, read), read, in_bytes=True, newest=lambda buffer: [])


def _bytes_of_array(array: Any) -> int:
    return int(array.itemsize * type(array).__len__(array))


def _position(stream: Any) -> int:
    return int(type(stream).tell(stream))


_START, _COROUTINE = ObjectKind(is_start=True), ObjectKind(is_start=True)
_GREENLET = ObjectKind(_of_greenlet, is_start=True)
_INNER, _FRAME = ObjectKind(), ObjectKind(_of_frame)
_SLOTTED = ObjectKind(size=lambda one: LEAST_ITEMS, grows=False)
"""Objects that cannot be referenced weakly, to which several starts may refer."""

_SPECIAL: Dict[Tuple[str, str], ObjectKind] = {
    ("functools", "_lru_cache_wrapper"): ObjectKind(_of_cache, _cached, newest=_newest_of_cache),
    # Their size in memory rises only now and then: at each step by an eighth, say.
    ("array", "array"): _buffer(_bytes_of_array),
    ("_io", "BytesIO"): _buffer(_position),
    ("_io", "StringIO"): _buffer(_position),
    ("itertools", "_tee"): ObjectKind(lambda tee: [], _teed, newest=_newest_of_tee),
}
if not SIMPLE_QUEUE_REFERS:
    _SPECIAL["_queue", "SimpleQueue"] = ObjectKind(_of_simple_queue, _queued, newest=_newest_of_simple_queue)

_BUILT_IN: Tuple[Tuple[Any, ObjectKind], ...] = (
    *((base, ObjectKind(PARTS[base], base.__len__)) for base in (dict, list, set, deque)),
    *((base, ObjectKind(PARTS[base], base.__len__, False)) for base in (tuple, frozenset)),
    (bytearray, _buffer(bytearray.__len__)),
    *((one, _COROUTINE) for one in COROUTINES),
    (type, _START),
    (FrameType, _FRAME),
    (_FunctionType, _INNER),
    *((base, _INNER) for base in (classmethod, staticmethod, property, type(len))),
)


def kind_of_type(kind: type) -> Optional[ObjectKind]:
    """Return how instances of a type are visited; None if they are not."""
    if id(kind) in _LEAVES or issubclass(kind, (ref, str, bytes, int, float)):
        return None
    for base, found in _BUILT_IN:
        if issubclass(kind, base):
            return found
    if is_agent(module_file(module_of(kind))):
        return None
    module, name = module_of(kind), qualified_name(kind)
    if (module, name) in _SPECIAL and module_variables(module).get(name) is kind:
        return _SPECIAL[module, name]
    if type(class_variable(kind, "gr_frame")) is _GetSetType:
        return _GREENLET
    size = size_in_bytes(kind)
    if size is not None and size is not _SIZE:
        return _buffer(size)
    return _START if _WEAK_OFFSET(kind) else _SLOTTED


def _size(kind: ObjectKind, value: Any) -> int:
    return 0 if kind.size is None else kind.size(value)


class _Frame:
    """Finds the frame of a running function again: by its thread, and its number from the outermost one."""

    __slots__ = ("_code", "_depth", "_thread")

    def __init__(self, thread: int, depth: int, frame: Any) -> None:
        self._thread, self._depth, self._code = thread, depth, id(frame.f_code)

    def __call__(self) -> Any:
        frames = outermost_first(sys._current_frames().get(self._thread))
        if self._depth < len(frames) and id(frames[self._depth].f_code) == self._code:
            return frames[self._depth]
        return None


class VisitedContainer:
    """A container that was found again.

    Args:
        value: the container.
        kind: how it is visited.
        weight: how many similar ones it stands for, because only some items of a large container are visited.
        parent: what refers to it.
        start: the start that it is within.
    """

    __slots__ = ("kind", "parent", "start", "value", "weight")

    def __init__(self, value: Any, kind: ObjectKind, weight: float, parent: Any, start: Any) -> None:
        self.value, self.kind, self.weight = value, kind, weight
        self.parent, self.start = parent, start

    @property
    def size(self) -> int:
        """How many items it has."""
        return _size(self.kind, self.value)

    @property
    def alike(self) -> Tuple[int, ...]:
        """A key that is the same for those that are the same attribute, or items of one container."""
        start, parent = self.start, self.parent
        if issubclass(type(start), (type, type(sys), FrameType)):
            if parent is start or any(one is parent for one in gc.get_referents(start)):
                return (id(self.value),)  # a variable of its own
        elif parent is start or (type(parent) is dict and namespace(start) is parent):
            return id(type(start)), id(type(self.value))
        return id(start), id(parent), id(type(self.value))


def _variables(name: str) -> Optional[Dict[str, Any]]:
    """Return the variables of an imported module; None if something else has its name."""
    module = sys.modules.get(name)
    return _VARIABLES(module) if issubclass(type(module), type(sys)) else None


class HeapWalk:
    """A walk through the objects of the program, and what it has found.

    Args:
        is_wanted: returns whether an object that can be referenced weakly is looked for.
        enough: how many of these are looked for.
    """

    def __init__(self, is_wanted: Optional[Callable[[Any], bool]] = None, enough: int = 0) -> None:
        self._is_wanted, self._enough = is_wanted, enough
        self.wanted: List[int] = []
        """The ``id`` of the objects that were looked for."""
        self.sizes: Dict[int, int] = {}
        """The number of items of each container, by ``id``."""
        self.starts_of: Dict[int, int] = {}
        """The number of the start within which a container was found."""
        self.is_complete = True
        """Whether everything that could be reached was visited, apart from items of large containers."""
        self._kinds: Dict[int, Optional[ObjectKind]] = {}
        self._leaves: Set[int] = set()
        self._seen: Set[int] = set()
        self._starts: List[Callable[[], Any]] = []
        self._parents: List[int] = []
        self._weights: List[float] = []
        self._visited = 0
        self._most = MAX_OWN

    @property
    def visited(self) -> int:
        """How many objects and containers were visited."""
        return len(self._seen) + len(self.starts_of)

    def run(self) -> Iterator[None]:
        """Find the containers, in time slices."""
        yield from self.run_from_own()
        yield from self.run_from_others()

    def run_from_own(self) -> Iterator[None]:
        """Find what is reached from the program's own modules, its loops, tasks and running functions."""
        names = list(sys.modules)
        for name in names:  # other modules refer to them, and their functions to their variables
            self.starts_of[id(_variables(name))] = -1
            self._seen.add(id(sys.modules.get(name)))
        for name in names:
            file = module_file(name)
            if name == "__main__" or (file and is_own(file)):
                self._add_module(name)
        self._add_running()
        return self._visit_starts()

    def run_from_others(self) -> Iterator[None]:
        """Find what else is reached from the modules of libraries, in time slices."""
        self._most = MAX_STARTS
        for name in list(sys.modules):
            if not is_agent(module_file(name)):
                self._add_module(name)
        return self._visit_starts()

    def _visit_starts(self) -> Iterator[None]:
        slice_ends = perf_counter() + TIME_SLICE
        while self._visited < len(self._starts):
            if self._is_done:
                return
            if len(self.starts_of) >= MAX_KNOWN:
                self.is_complete = False
                return
            if not self._visit_start(self._visited):
                self.is_complete = False
            self._visited += 1
            if perf_counter() >= slice_ends:
                yield
                slice_ends = perf_counter() + TIME_SLICE

    @guarded(GROWING)
    def _visit_start(self, start: int) -> bool:
        """Find what is within one start; return False if that was not possible."""
        try:
            self._visit(start)
        except RuntimeError:  # the program has changed it meanwhile, as the collector called its code
            return False
        return True

    @property
    def _is_done(self) -> bool:
        """Whether all that is looked for has been found."""
        return self._is_wanted is not None and len(self.wanted) >= self._enough

    def _want(self, value: Any, start: int) -> None:
        if self._is_wanted is not None and id(value) not in self.starts_of and self._is_wanted(value):
            self.starts_of[id(value)] = start
            self.wanted.append(id(value))

    def _add_module(self, name: str) -> None:
        variables = _variables(name)
        if variables is not None and self.starts_of.get(id(variables), -1) < 0:
            self.starts_of[id(variables)] = len(self._starts)
            self._append(ref(sys.modules[name]), -1, 1.0)

    def _add_running(self) -> None:
        """Add the frames of the program's running functions, its loops and some of its tasks."""
        left = MAX_FRAMES
        frame: Any
        for thread, frame in sys._current_frames().items():
            for depth, one in enumerate(outermost_first(frame)):
                if is_own(one.f_code.co_filename) and left:
                    left -= 1
                    self._append(_Frame(thread, depth, one), -1, 1.0)
            frame = one = None  # it may be the frame of this function
        for loop in COUNTS.loops.open():
            self._add(loop, -1, 1.0)
        tasks, count = some_tasks(MAX_TASKS, MAX_LISTED)
        for task in tasks:  # what holds one that has finished is found on the way
            self._add(task, -1, max(1.0, count / len(tasks)))

    def _add(self, value: Any, parent: int, weight: float) -> None:
        if id(value) in self._seen:
            return
        if len(self._starts) >= self._most:
            self.is_complete = False
            return
        try:
            self._append(ref(value), parent, weight)
        except TypeError:  # of a class that says so
            return
        self._seen.add(id(value))

    def _append(self, start: Callable[[], Any], parent: int, weight: float) -> None:
        self._starts.append(start)
        self._parents.append(parent)
        self._weights.append(weight)

    def _visit(self, start: int) -> None:
        """Find what is within one start."""
        value = self._starts[start]()
        if value is None:
            return
        holds_names = issubclass(type(value), (type, type(sys)))
        for one, kind, weight, parent in self._within(start, value):
            if kind.is_start:
                self._add(one, start, weight)
                if not self._is_done:
                    self._want(one, start)
            elif kind.size is not None and not (holds_names and parent is value):
                size = kind.size(one)
                if size >= kind.least:
                    self.starts_of.setdefault(id(one), start)
                    if kind.grows:
                        self.sizes.setdefault(id(one), size)

    def _within(self, start: int, value: Any) -> Iterator[Tuple[Any, ObjectKind, float, Any]]:
        """Yield what can be reached from a start up to the next ones.

        With each object, how it is visited, how many similar ones it stands for, and what refers to it.
        """
        first = self.kind(value)
        if first is _COROUTINE and is_agent(getattr(code_of(value), "co_filename", "")):
            return
        kinds, starts_of = self._kinds, self.starts_of
        met = {id(value)}
        layer: List[Tuple[Any, ObjectKind, float]] = [(value, first, self._weights[start])]
        count = entered = 0
        for _ in range(DEPTH):
            inner: List[Tuple[Any, ObjectKind, float]] = []
            large = sum(
                1 for one, kind, _ in layer if kind.grows and kind.size is not None and kind.size(one) > FEW
            )
            allowed = max(FEW, (SPREAD - count) // max(1, large))
            for parent, kind, weight in layer:
                children, weight = self._children(parent, kind, weight, allowed)
                for one in children:
                    number = id(type(one))
                    found = kinds[number] if number in kinds else self._kind(type(one))
                    if found is None or id(one) in met:
                        continue
                    met.add(id(one))
                    if starts_of.get(id(one), start) != start:
                        continue
                    yield one, found, weight, parent
                    count += 1
                    if not found.is_start and entered < MAX_ENTERED:
                        entered += 1
                        inner.append((one, found, weight))
                if count >= MAX_FOUND:
                    self.is_complete = False
                    return
            layer = inner
        self.is_complete = self.is_complete and not layer and entered < MAX_ENTERED

    def _children(
        self, parent: Any, kind: ObjectKind, weight: float, allowed: int
    ) -> Tuple[List[Any], float]:
        """Return what an object refers to, and how many similar ones each of these stands for.

        Args:
            parent: the object.
            kind: how it is visited.
            weight: how many similar ones it stands for.
            allowed: how many of its items are visited, or up to twice as many.
        """
        children = kind.children(parent)
        if len(children) <= FEW:
            return children, weight
        if kind.size is not None:
            weight *= max(1.0, kind.size(parent) / len(children))
        # Most objects are strings and numbers.
        types = map(id, map(type, children))
        children = list(compress(children, map(not_, map(self._leaves.__contains__, types))))
        if kind.grows and len(children) > 2 * allowed:
            # A step that does not change with each item, so that the same items are visited the next time.
            step = 1 << (len(children) // (2 * allowed)).bit_length()
            return children[::-step], weight * step
        return children, weight

    def kind(self, value: Any) -> ObjectKind:
        """Return how an object is visited."""
        return self._kind(type(value)) or _INNER

    def _kind(self, of: type) -> Optional[ObjectKind]:
        number = id(of)
        if number not in self._kinds:
            self._kinds[number] = kind_of_type(of)
            if self._kinds[number] is None:
                self._leaves.add(number)
        return self._kinds[number]

    def look(self, sizes: Dict[int, int], wanted: Iterable[int]) -> Iterator[None]:
        """Add the present sizes of the ``wanted`` containers, in time slices."""

        def add(found: VisitedContainer) -> None:
            sizes[id(found.value)] = found.size

        return self.revisit(wanted, add)

    def revisit(self, wanted: Iterable[int], visit: Callable[[VisitedContainer], object]) -> Iterator[None]:
        """Call ``visit`` with those of the containers that are still there, in time slices."""
        numbers = frozenset(wanted)
        slice_ends = perf_counter() + TIME_SLICE
        for start in sorted({self.starts_of[number] for number in numbers}):
            self._revisit(start, numbers, visit)
            if perf_counter() >= slice_ends:
                yield
                slice_ends = perf_counter() + TIME_SLICE

    @guarded(GROWING)
    def _revisit(
        self, start: int, numbers: FrozenSet[int], visit: Callable[[VisitedContainer], object]
    ) -> None:
        value = self._starts[start]()
        try:
            for one, kind, weight, parent in self._within(start, value) if value is not None else ():
                if id(one) in numbers:
                    visit(VisitedContainer(one, kind, weight, parent, value))
        except RuntimeError:  # as above
            pass

    def path(self, number: int) -> List[Any]:
        """Return a container and what it is reached through, innermost first; empty if it is gone."""
        start, path = self.starts_of[number], []  # type: int, List[Any]
        while start >= 0:
            value = self._starts[start]()
            if value is None:
                break
            parents: Dict[int, Any] = {}
            found = None
            for one, _, _, parent in self._within(start, value):
                parents[id(one)] = parent
                if id(one) == number:
                    found = one
                    break
            if found is None:
                break
            path = path or [found]
            while found is not value:
                found = parents[id(found)]
                path.append(found)
            start, number = self._parents[start], id(value)
        return path
