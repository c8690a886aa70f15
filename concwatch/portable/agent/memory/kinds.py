"""How the objects of each type are visited: what they refer to, and how many items they have."""

from __future__ import annotations

import gc
import sys
from _weakref import ref
from collections import deque
from functools import partial

from ..basics.own_code import is_agent
from ..counting.wrappers import COROUTINES
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
    from typing import Any, Callable, Dict, Iterator, List, Optional, Set, Tuple

MAX_BYTES = 1 << 20
"""The most bytes of an object of an extension module that may refer to others, which are visited."""

LEAST_ITEMS, LEAST_BYTES = 5, 4_096
"""The least number of items of a container, and of bytes of a buffer, that is remembered."""

MAX_REFERENTS = 100_000
"""The most objects to which one of them refers that are listed at once."""

MAX_LINKS = 8_000
"""The most links of the buffer of ``itertools.tee`` that are counted, which takes about 10 ms."""

SIMPLE_QUEUE_REFERS = sys.version_info < (3, 13)
"""Whether a `queue.SimpleQueue` has its items in a list."""

_GetSetType: Any = type(type.__dict__["__module__"])
_FunctionType: Any = type(class_variable)
_SIZE: Any = object.__dict__["__sizeof__"]
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


_START, COROUTINE = ObjectKind(is_start=True), ObjectKind(is_start=True)
_GREENLET = ObjectKind(_of_greenlet, is_start=True)
INNER, _FRAME = ObjectKind(), ObjectKind(_of_frame)
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
    *((one, COROUTINE) for one in COROUTINES),
    (type, _START),
    (FrameType, _FRAME),
    (_FunctionType, INNER),
    *((base, INNER) for base in (classmethod, staticmethod, property, type(len))),
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


class ObjectKinds:
    """How objects are visited, looked up once for each type."""

    def __init__(self) -> None:
        self.known: Dict[int, Optional[ObjectKind]] = {}
        """By ``id`` of a type."""
        self.leaves: Set[int] = set()
        """The ``id`` of the types that are not visited."""

    def of_type(self, kind: type) -> Optional[ObjectKind]:
        """Return how instances of a type are visited; None if they are not."""
        number = id(kind)
        if number not in self.known:
            self.known[number] = kind_of_type(kind)
            if self.known[number] is None:
                self.leaves.add(number)
        return self.known[number]

    def of(self, value: Any) -> ObjectKind:
        """Return how an object is visited."""
        return self.of_type(type(value)) or INNER
