"""What containers refer to, and what their items take, read without running the program's code."""

from __future__ import annotations

import gc
import sys
from _weakref import ref
from collections import deque
from functools import partial
from itertools import islice

from .class_attributes import class_variable, namespace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Optional, Tuple

WHOLE, ENDS = 500, 50
"""The most items of a container that are all visited, and how many of a larger one, at each of its ends."""

SAMPLED = 20
"""The most items of a container from which the size of an item is estimated."""

LAYERS, NEAR = 6, 200
"""The most references that are followed from an item, and the most objects that are counted for it."""

_FunctionType: Any = type(class_variable)

_BASIC_SIZE: Callable[[type], int] = type.__dict__["__basicsize__"].__get__

_MethodDescriptor: Any = type(str.join)

_SHARED: Tuple[Any, ...] = (
    type,
    type(sys),
    _FunctionType,
    type(class_variable.__code__),
    type(len),
    type(str.join),
    ref,
)
"""Types of objects that do not belong to one item."""


def _of_list(base: Any, values: Any) -> List[Any]:
    count = base.__len__(values)
    if count <= WHOLE:
        return gc.get_referents(values)
    # The step does not change with each item, so that the same items are visited the next time.
    step = 1 << (count // ENDS).bit_length()
    first, last = slice(None, None, step), slice(count - ENDS, None)
    return [*base.__getitem__(values, first), *base.__getitem__(values, last), namespace(values)]


def _of_dictionary(values: Any) -> List[Any]:
    if dict.__len__(values) <= WHOLE:
        return gc.get_referents(values)
    view = dict.values(values)
    return [*islice(view, ENDS), *islice(reversed(view), ENDS), namespace(values)]


def _of_deque(values: Any) -> List[Any]:
    if deque.__len__(values) <= WHOLE:
        return gc.get_referents(values)
    first, last = deque.__iter__(values), deque.__reversed__(values)
    return [*islice(first, ENDS), *islice(last, ENDS), namespace(values)]


def _of_set(base: Any, values: Any) -> List[Any]:
    if base.__len__(values) <= WHOLE:
        return gc.get_referents(values)
    return [*islice(base.__iter__(values), 2 * ENDS), namespace(values)]


PARTS: Dict[Any, Callable[[Any], List[Any]]] = {
    dict: _of_dictionary,
    list: partial(_of_list, list),
    set: partial(_of_set, set),
    deque: _of_deque,
    tuple: partial(_of_list, tuple),
    frozenset: partial(_of_set, frozenset),
}
"""Returns what a container of each built-in type refers to; of a large one, some of it."""


def is_container(kind: type) -> bool:
    """Return whether a class is a built-in container type whose items can become more, or a subclass."""
    return issubclass(kind, (list, dict, set, deque))


def part_of(value: Any) -> List[Any]:
    """Return what an object refers to; of a large container, some of it."""
    kind = type(value)
    return next((part for base, part in PARTS.items() if issubclass(kind, base)), gc.get_referents)(value)


def size_in_bytes(kind: type) -> Optional[Callable[[Any], int]]:
    """Return what reads the size of an object of a class; None if that is the program's code."""
    size = class_variable(kind, "__sizeof__")
    return size if type(size) is _MethodDescriptor else None


def newest(container: Any) -> List[Any]:
    """Return some of the last added items of a container: values of a dictionary, any items of a set."""
    kind = type(container)
    if issubclass(kind, dict):
        items: Any = reversed(dict.values(container))
    elif issubclass(kind, set):
        items = set.__iter__(container)
    else:
        items = (deque if issubclass(kind, deque) else list).__reversed__(container)
    return list(islice(items, SAMPLED))


def are_weak(items: List[Any]) -> bool:
    """Return whether all items are weak references, which hold nothing."""
    return all(issubclass(type(one), ref) for one in items)


def mean_size(items: List[Any]) -> float:
    """Return the mean size of an item in bytes, including nearby objects to which only it refers."""
    readers: Dict[int, Optional[Callable[[Any], int]]] = {}
    near = [_near(item, readers) for item in items]
    times: Dict[int, int] = {}
    for sizes in near:
        for number in sizes:
            times[number] = times.get(number, 0) + 1
    alone = sum(size for sizes in near for number, size in sizes.items() if times[number] == 1)
    return alone / max(1, len(items))


def _near(item: Any, readers: Dict[int, Optional[Callable[[Any], int]]]) -> Dict[int, int]:
    """Return the bytes of an item and of the objects near it, by ``id``."""
    sizes: Dict[int, int] = {}
    layer = [item]
    for _ in range(LAYERS):
        new: List[Any] = []
        for one in layer:
            kind = type(one)
            if kind is _FunctionType:
                new += one.__closure__ or ()
            if id(one) in sizes or len(sizes) >= NEAR or issubclass(kind, _SHARED):
                continue
            if id(kind) not in readers:
                readers[id(kind)] = size_in_bytes(kind)
            sizes[id(one)] = _size(one, readers[id(kind)])
            new += part_of(one)[:NEAR]
        layer = new
    return sizes


def _size(one: Any, read: Optional[Callable[[Any], int]]) -> int:
    try:
        return _BASIC_SIZE(type(one)) if read is None else int(read(one))
    except (ValueError, TypeError, OverflowError):  # it is closed, or not complete yet
        return 0
