"""Name what holds an object: the variable or attribute by which the program's own code reaches it.

Only names leave this module, and neither keys nor items of containers.
"""

from __future__ import annotations

import gc
import sys

from ..basics.names import printable
from ..basics.own_code import is_agent, is_own, name_of
from ..counting.wrappers import COROUTINES, CellType, code_of, kind_of
from .class_attributes import (
    LOCAL,
    attribute_of,
    is_own_class,
    module_file,
    module_of,
    module_variables,
    name_in,
    namespace,
    public_name,
    qualified_name,
)
from .containers import is_container, part_of
from .frames import FrameType, variables_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType
    from typing import Any, Dict, Iterator, List, Optional, Tuple

FUNCTION_LEVELS, MAX_NEAR = 6, 200
"""The most references that are followed from an object to a function, and the most objects on the way."""

_FunctionType: Any = type(is_own)


CONTEXT_VARIABLE = "contextvars.ContextVar"

_LABELS = {
    "functools._lru_cache_wrapper": "functools.lru_cache",
    "itertools._tee": "itertools.tee",
    "_thread._local": "threading.local",
}
"""How the types of some objects are known."""


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


class _Node:
    """An object on the path outwards.

    Args:
        value: the object.
        inner: the object that it holds; None for the first one.
        label: its type, if that helps to find it.
        is_instance: whether it is an instance of a class of a library.
    """

    __slots__ = ("inner", "is_instance", "label", "value")

    def __init__(
        self, value: Any, inner: Optional[_Node] = None, label: str = "", is_instance: bool = False
    ) -> None:
        self.value, self.inner, self.label, self.is_instance = value, inner, label, is_instance

    def path(self) -> Iterator[_Node]:
        """Yield the object and those within it."""
        node: Optional[_Node] = self
        while node is not None:
            yield node
            node = node.inner


class HeldObject:
    """What holds an object, as far as it is known.

    Args:
        kind: its type.
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        """Its type, or the library's class whose attribute it is: ``"asyncio.Queue"`` for its deque."""
        self.within = ""
        """The type of what contains it, and is held by the holder; empty if that holds it itself."""
        self.holder: Optional[HoldingVariable] = None

    @property
    def key(self) -> Tuple[str, ...]:
        """A key that is the same for all objects held by one variable."""
        holder = self.holder or HoldingVariable("", "", "", False)
        return self.kind, self.within, holder.name, holder.inside

    @property
    def is_of_agent(self) -> bool:
        """Whether it belongs to the agent."""
        where = self.holder.where if self.holder is not None else ""
        return is_agent(where) or is_agent(where.rpartition(":")[0])

    @property
    def is_own(self) -> bool:
        """Whether the program's own code holds it."""
        return self.holder is not None and self.holder.own

    def report(self) -> Dict[str, Any]:
        """Return the fields of a report."""
        holders = [] if self.holder is None else [self.holder.report()]
        return {"kind": self.kind, "within": self.within, "holders": holders}

    def set(self, holder: HoldingVariable, node: _Node) -> None:
        """Set the holder of the object, or of an object that contains it."""
        labelled = [one for one in node.path() if one.label]
        innermost = labelled.pop()
        if labelled and labelled[-1].is_instance:
            innermost = labelled.pop()
        self.kind, self.within = innermost.label, labelled[0].label if labelled else ""
        self.holder = holder


def _modules() -> Dict[int, str]:
    """Return the names of the imported modules by the ``id`` of their variables."""
    return {id(vars(one)): name for name, one in list(sys.modules.items()) if type(one) is type(sys)}


def _is_cache(value: Any) -> bool:
    return module_of(type(value)) == "functools" and qualified_name(type(value)) == "_lru_cache_wrapper"


def _label(kind: type) -> str:
    """Return the name under which a type is known."""
    name = public_name(kind)
    return _LABELS.get(name, name)


def holder_along(path: List[Any]) -> HeldObject:
    """Return what holds an object: the nearest variable or attribute of the program's own code, or of any.

    Args:
        path: the object, and what leads to it, innermost first.
    """
    node = _Node(path[0], None, _label(type(path[0])))
    held = HeldObject(node.label)
    modules = {id(vars(one)): name for name, one in list(sys.modules.items()) if type(one) is type(sys)}
    attribute: Optional[HoldingVariable] = None
    # The cache of a function is held by the function, whatever else refers to it.
    for referrer in path if _is_cache(path[0]) else path[1:]:
        found = _holder(referrer, node, modules)
        if isinstance(found, _Node) and found.label == CONTEXT_VARIABLE:
            node, found = found, _definition(found.value, modules) or found
        if isinstance(found, HoldingVariable):
            if found.own or held.holder is None:
                held.set(found, node)
            if found.own or type(referrer) is not _FunctionType:  # a decorator's function is held in turn
                return held
        elif found is not None and found.is_instance and attribute is None:
            attribute = _attribute_holder(type(referrer), _attribute(referrer, node))
        node = found if isinstance(found, _Node) else _Node(referrer, node)
    held.holder = held.holder or attribute
    if held.holder is None and len(path) > 1:  # an object of an extension that does not name its attributes
        held.holder = HoldingVariable("", _label(type(path[-1])), "", False)
    return held


def _holder(referrer: Any, node: _Node, modules: Dict[int, str]) -> Any:
    """Return a referrer as a `HoldingVariable`, or as a `_Node` if it is held in turn; otherwise None."""
    kind, inner = type(referrer), node.inner
    if id(referrer) in modules:
        name = name_in(referrer, node.value)
        file = module_file(modules[id(referrer)])
        return HoldingVariable(name, modules[id(referrer)], file, is_own(file)) if name else None
    if is_container(kind):
        return _Node(referrer, node, _label(kind))
    if kind is tuple or kind is CellType:
        return _Node(referrer, node)
    if kind is FrameType or any(kind is one for one in COROUTINES):
        return _variable_holder(referrer, node)
    if kind is _FunctionType:
        return _function_holder(referrer, node)
    if kind is type(sys):
        return None
    if issubclass(kind, type):
        name = name_in(node.value, inner.value) if inner is not None and type(node.value) is dict else ""
        node.label = ""
        return _attribute_holder(referrer, name) if name else None
    if _is_cache(referrer):
        function = (namespace(referrer) or {}).get("__wrapped__")
        code = getattr(function, "__code__", None) if type(function) is _FunctionType else None
        node.label = "functools.lru_cache"
        return None if code is None else _in_function("", code)
    if qualified_name(kind).startswith("hamt_") and module_of(kind) == "builtins":
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
    for name, value in variables_of(frame).items():
        if id(value) in nodes and name.isidentifier():
            return printable(name), nodes[id(value)]
    return "", None


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
        if referents[index] is node.value and qualified_name(type(key)) == "ContextVar":
            return _Node(key, node, CONTEXT_VARIABLE)
    return _Node(referrer, node)


def _definition(variable: Any, modules: Dict[int, str]) -> Optional[HoldingVariable]:
    """Return the module's variable that is a context variable; None without one."""
    for module in modules.values():
        name = name_in(module_variables(module), variable)
        if name:
            file = module_file(module)
            return HoldingVariable(name, module, file, is_own(file))
    return None


def function_within(items: List[Any]) -> Optional[HoldingVariable]:
    """Return the program's own function to which most of some objects refer, directly or nearly so."""
    found: Dict[Tuple[str, str], HoldingVariable] = {}
    times: Dict[Tuple[str, str], int] = {}
    for item in items:
        function = _nearest_function(item)
        if function is not None:
            key = function.inside, function.where
            found[key] = function
            times[key] = times.get(key, 0) + 1
    return found[max(times, key=lambda key: times[key])] if times else None


def _nearest_function(item: Any) -> Optional[HoldingVariable]:
    layer, seen = [item], {id(item)}
    for _ in range(FUNCTION_LEVELS):
        inner: List[Any] = []
        for one in layer:
            code = (
                one.__code__
                if type(one) is _FunctionType
                else code_of(one)
                if any(type(one) is kind for kind in COROUTINES)
                else None
            )
            if code is not None and is_own(code.co_filename):
                return _in_function("", code)
            if code is not None:
                referents = list(one.__closure__ or ()) if type(one) is _FunctionType else []
            else:
                referents = part_of(one) if len(seen) < MAX_NEAR else []
            for referent in referents:
                if id(referent) not in seen and not issubclass(type(referent), (type, type(sys), str)):
                    seen.add(id(referent))
                    inner.append(referent)
        layer = inner
    return None


def _attribute_holder(kind: type, name: str) -> HoldingVariable:
    """Return an attribute of a class or of its instances."""
    module = module_of(kind)
    return HoldingVariable(f"{qualified_name(kind)}.{name}", module, module_file(module), is_own_class(kind))


def _attribute(referrer: Any, node: _Node) -> str:
    """Return the name of the attribute of an instance that leads to an object; empty without one."""
    if node.inner is not None and type(node.value) is dict and namespace(referrer) is node.value:
        node.label = ""
        return name_in(node.value, node.inner.value)
    return attribute_of(referrer, node.value)


def _instance_holder(referrer: Any, node: _Node) -> Any:
    """Return the attribute of an instance of the program's own class, or else the instance itself."""
    kind, name = type(referrer), _attribute(referrer, node)
    file = module_file(module_of(kind))
    if name and (is_own_class(kind) or is_agent(file)):
        return _attribute_holder(kind, name)
    is_known = bool(name) or qualified_name(kind) == "SimpleQueue" or issubclass(kind, LOCAL)
    # The class of an extension may not name its attributes.
    return _Node(referrer, node, _label(kind) if is_known or node.inner is None else "", is_known)
