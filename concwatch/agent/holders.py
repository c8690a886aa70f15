"""Find what holds an object: the variables and attributes by which the program's own code reaches it.

Referrers are followed outwards. Only names leave this module, and neither keys nor items of containers.
"""

from __future__ import annotations

import gc
import sys

from .class_attributes import (
    attribute_of,
    is_own_class,
    module_file,
    module_of,
    name_in,
    namespace,
    public_name,
    qualified_name,
)
from .containers import is_container
from .names import printable
from .own_code import is_agent, is_own, name_of
from .wrappers import CellType, kind_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType
    from typing import Any, Dict, Iterator, List, Optional, Set, Tuple

LEVELS = 10
"""The most references that are followed outwards; an attribute takes two if it is in a ``__dict__``."""

WIDTH = 12
"""The most objects per level whose holders are searched for."""

MAX_REFERRERS = 300
"""The most holders per level that are examined."""

MAX_HOLDERS = 3
"""The most holders that are reported."""

MAX_FRAMES = 500
"""The most frames of running functions whose variables are read."""

SNAPSHOTS = sys.version_info < (3, 13)
"""Whether ``f_locals`` of a function is a dictionary in its frame, with copies of its variables."""

USES_SNAPSHOT = frozenset(("locals", "vars", "dir", "eval", "exec"))
"""The functions that may use this dictionary."""

_OPTIMIZED = 1
"""The flag of code whose variables are not in a dictionary."""

_FunctionType: Any = type(is_own)
_FrameType: Any = type(sys._getframe())


class HoldingVariable:
    """A variable or attribute that holds something."""

    __slots__ = ("inside", "name", "own", "where")

    def __init__(self, name: str, inside: str, where: str, own: bool) -> None:
        self.name = name
        """Its name; an empty string if it has none, as the cache of a function."""
        self.inside = inside
        """The function or module that it belongs to."""
        self.where = where
        """The line or file of that."""
        self.own = own
        """Whether that is the program's own code."""

    def report(self) -> Dict[str, str]:
        """Return the fields of a report."""
        return {"name": self.name, "in": printable(self.inside), "where": printable(self.where)}


class Reference:
    """A reference of the agent to an object, which is not one of its holders."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


class _Node(Reference):
    """An object on the path outwards.

    Args:
        value: the object.
        inner: the object that it holds; None for the first one.
        label: its type, if that helps to find it.
        is_instance: whether it is an instance of a class of a library.
    """

    __slots__ = ("inner", "is_instance", "label")

    def __init__(
        self, value: Any, inner: Optional[_Node] = None, label: str = "", is_instance: bool = False
    ) -> None:
        super().__init__(value)
        self.inner, self.label, self.is_instance = inner, label, is_instance

    def path(self) -> Iterator[_Node]:
        """Yield the object and those within it."""
        node: Optional[_Node] = self
        while node is not None:
            yield node
            node = node.inner


class HeldObject:
    """What holds an object, as far as it is known."""

    def __init__(self, kind: str = "") -> None:
        self.kind = kind
        """Its type, or the library's class whose attribute it is: ``"asyncio.Queue"`` for its deque."""
        self.within = ""
        """The type of what contains it, and is held by the holders; empty if they hold it itself."""
        self.holders: List[HoldingVariable] = []
        self.is_of_agent = False
        """Whether it belongs to the agent."""

    @property
    def key(self) -> Tuple[str, str, str]:
        """A key that is the same for all objects held by one variable."""
        first = self.holders[0] if self.holders else HoldingVariable("", "", "", False)
        return self.within, first.name, first.inside

    def report(self) -> Dict[str, Any]:
        """Return the fields of a report."""
        holders = [holder.report() for holder in self.holders]
        return {"kind": self.kind, "within": self.within, "holders": holders}

    def add(self, holder: HoldingVariable, node: _Node) -> None:
        """Add a holder of the object, or of an object that contains it."""
        known = any((one.name, one.inside) == (holder.name, holder.inside) for one in self.holders)
        if known or len(self.holders) >= MAX_HOLDERS:
            return
        if not self.holders:
            labelled = [one for one in node.path() if one.label]
            innermost = labelled.pop()
            if labelled and labelled[-1].is_instance:
                innermost = labelled.pop()
            self.kind, self.within = innermost.label, labelled[0].label if labelled else ""
        self.holders.append(holder)


def find_holders(value: Any, held: HeldObject) -> Iterator[None]:
    """Find what holds an object, in time slices, and add it to ``held``.

    The object and those around it are kept alive meanwhile.
    """
    level = [_Node(value, None, public_name(type(value)))]
    held.kind = level[0].label
    others = HeldObject(held.kind)
    modules = {id(vars(one)): name for name, one in list(sys.modules.items()) if type(one) is type(sys)}
    nodes = list(level)
    seen = {id(value)}
    for _ in range(LEVELS):
        level = _outwards(level, modules, seen, held, others)
        nodes += level
        yield
        if held.holders or held.is_of_agent or not level:
            break
    if not held.holders and not held.is_of_agent:
        _find_running(nodes, held)
    if not held.holders:  # a library may hold it alone
        held.kind, held.within, held.holders = others.kind, others.within, others.holders


def _outwards(
    level: List[_Node], modules: Dict[int, str], seen: Set[int], held: HeldObject, others: HeldObject
) -> List[_Node]:
    """Add the holders of the objects of one level; return the next level."""
    nodes = {id(node.value): node for node in level}
    outer: List[_Node] = []
    for referrer in gc.get_referrers(*[node.value for node in level])[:MAX_REFERRERS]:
        if issubclass(type(referrer), Reference) or id(referrer) in seen:
            continue
        for number in nodes.keys() & set(map(id, gc.get_referents(referrer))):
            found = _holder(referrer, nodes[number], modules)
            if isinstance(found, HoldingVariable):
                file = found.where.rpartition(":")[0] or found.where
                held.is_of_agent |= is_agent(found.where) or is_agent(file)
                (held if found.own else others).add(found, nodes[number])
            elif found is not None and len(outer) < WIDTH:
                seen.add(id(referrer))
                outer.append(found)
                break
    return outer


def _holder(referrer: Any, node: _Node, modules: Dict[int, str]) -> Any:
    """Return a referrer as a `HoldingVariable`, or as a `_Node` if it is held in turn; otherwise None."""
    kind, inner = type(referrer), node.inner
    if id(referrer) in modules:
        name = name_in(referrer, node.value)
        file = module_file(modules[id(referrer)])
        return HoldingVariable(name, modules[id(referrer)], file, is_own(file)) if name else None
    if is_container(kind):
        return _Node(referrer, node, public_name(kind))
    if kind is tuple or kind is CellType:
        return _Node(referrer, node)
    if kind is _FrameType or kind_of(referrer) is not None:
        return _variable_holder(referrer, node)
    if kind is _FunctionType:
        return _function_holder(referrer, node)
    if kind is type(sys):
        return None
    if issubclass(kind, type):
        name = name_in(node.value, inner.value) if inner is not None and type(node.value) is dict else ""
        node.label = ""
        return _attribute_holder(referrer, name) if name else None
    if kind.__name__ == "_lru_cache_wrapper":
        function = (namespace(referrer) or {}).get("__wrapped__")
        code = getattr(function, "__code__", None) if type(function) is _FunctionType else None
        node.label = "functools.lru_cache"
        return None if code is None else _in_function("", code)
    if kind.__name__.startswith("hamt_") and kind.__module__ == "builtins":
        return _variable_of_context(referrer, node)
    return _instance_holder(referrer, node)


def _in_function(name: str, code: CodeType) -> HoldingVariable:
    where = f"{code.co_filename}:{max(0, code.co_firstlineno)}"
    return HoldingVariable(name, name_of(code), where, is_own(code.co_filename))


def _variable_holder(referrer: Any, node: _Node) -> Optional[HoldingVariable]:
    """Return the variable of a suspended coroutine or generator, or of a frame."""
    kind = kind_of(referrer)
    frame = referrer if kind is None else getattr(referrer, kind[2])
    if frame is None or is_agent(frame.f_code.co_filename):
        return None
    if type(node.value) is CellType and node.inner is not None:
        node = node.inner
    return _in_frame(frame, _variable(frame, {id(node.value): node})[0])


def _in_frame(frame: Any, name: str) -> HoldingVariable:
    code = frame.f_code
    return HoldingVariable(
        name, name_of(code), f"{code.co_filename}:{frame.f_lineno}", is_own(code.co_filename)
    )


def _variable(frame: Any, nodes: Dict[int, _Node]) -> Tuple[str, Optional[_Node]]:
    """Return the name of a function's variable that refers to one of the objects, and that object."""
    code = frame.f_code
    is_used = SNAPSHOTS and (frame.f_trace is not None or USES_SNAPSHOT.intersection(code.co_names))
    if is_used or not code.co_flags & _OPTIMIZED:
        return "", None
    variables = frame.f_locals
    found: Tuple[str, Optional[_Node]] = ("", None)
    for name in list(variables):
        number = id(variables[name])
        if number in nodes and name.isidentifier():
            found = printable(name), nodes[number]
            break
    if SNAPSHOTS:  # the copies would keep the objects alive
        for name in (*code.co_varnames, *code.co_cellvars, *code.co_freevars):
            variables.pop(name, None)
    return found


def _find_running(nodes: List[_Node], held: HeldObject) -> None:
    """Add the variables of running functions of the program's own code that hold one of the objects."""
    by_number = {id(node.value): node for node in nodes}
    left = MAX_FRAMES
    for frame in sys._current_frames().values():
        at: Any = frame
        while at is not None and left:
            left -= 1
            if is_own(at.f_code.co_filename):
                name, node = _variable(at, by_number)
                if node is not None:
                    held.add(_in_frame(at, name), node)
            at = at.f_back


def _function_holder(function: Any, node: _Node) -> Optional[HoldingVariable]:
    """Return the variable of a closure, the default of a parameter, or the attribute of a function."""
    code, inner = function.__code__, node.inner
    if inner is None or is_agent(code.co_filename):
        return None
    name = ""
    if function.__closure__ is node.value:
        name = next((name for name, cell in zip(code.co_freevars, node.value) if cell is inner.value), "")
    elif function.__defaults__ is node.value:
        first = code.co_argcount - len(node.value)
        names = code.co_varnames[first : code.co_argcount]
        name = next((name for name, value in zip(names, node.value) if value is inner.value), "")
    elif type(node.value) is dict:
        node.label = ""
        name = name_in(node.value, inner.value)
        if name and function.__kwdefaults__ is not node.value:
            name = f"{name_of(code)}.{name}"
    return _in_function(name, code) if name else None


def _variable_of_context(referrer: Any, node: _Node) -> _Node:
    """Return the context variable that has the object as its value."""
    referents = gc.get_referents(referrer)  # from the last to the first
    for index, key in enumerate(referents[1:]):
        if referents[index] is node.value and type(key).__name__ == "ContextVar":
            return _Node(key, node, "contextvars.ContextVar")
    return _Node(referrer, node)


def _attribute_holder(kind: type, name: str) -> HoldingVariable:
    """Return an attribute of a class or of its instances."""
    module = module_of(kind)
    return HoldingVariable(f"{qualified_name(kind)}.{name}", module, module_file(module), is_own_class(kind))


def _instance_holder(referrer: Any, node: _Node) -> Any:
    """Return the attribute of an instance of the program's own class, or else the instance itself."""
    kind, inner = type(referrer), node.inner
    if inner is not None and type(node.value) is dict and namespace(referrer) is node.value:
        node.label = ""
        name = name_in(node.value, inner.value)
    else:
        name = attribute_of(referrer, node.value)
    file = module_file(module_of(kind))
    if name and (is_own_class(kind) or is_agent(file)):
        return _attribute_holder(kind, name)
    is_known = bool(name) or kind.__name__ == "SimpleQueue"
    return _Node(referrer, node, public_name(kind) if is_known else "", is_known)
