"""Attributes of classes and instances, read without running the program's code, such as a metaclass's."""

from __future__ import annotations

import sys
from _thread import _local

from ..basics.names import printable
from ..basics.own_code import is_own

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Iterator, Mapping, Optional

_MODULE, _NAME, _VARIABLES, _MRO = (
    type.__dict__[name].__get__ for name in ("__module__", "__qualname__", "__dict__", "__mro__")
)

LOCAL: Any = _local
"""The type of ``threading.local``."""

_GetSetType: Any = type(type.__dict__["__module__"])


class _Slots:
    __slots__ = ("slot",)


_SlotType: Any = type(_Slots.__dict__["slot"])


def class_variables(kind: type) -> Iterator[Mapping[str, Any]]:
    """Yield the variables of a class and of each of its base classes."""
    for one in _MRO(kind) or ():  # a type of an extension may not be complete
        yield _VARIABLES(one)


def class_variable(kind: type, name: str) -> Any:
    """Return a variable of a class; None if it has none of this name."""
    return next((variables[name] for variables in class_variables(kind) if name in variables), None)


def module_of(kind: type) -> str:
    """Return the name of the module of a class; an empty string if that is not a string."""
    module = _MODULE(kind)
    return module if type(module) is str else ""


def qualified_name(kind: type) -> str:
    """Return the name of a class within its module."""
    return printable(_NAME(kind))


def type_name(kind: type) -> str:
    """Return the name of a class, with its module unless it is built in."""
    module, name = module_of(kind), qualified_name(kind)
    return name if module in ("", "builtins") else printable(f"{module}.{name}")


def public_name(kind: type) -> str:
    """Return the shortest name by which a class can be imported: ``asyncio.Queue``, ``queue.SimpleQueue``."""
    parts, name = module_of(kind).split("."), _NAME(kind)
    for count in range(1, len(parts) + 1):
        module = ".".join(parts[:count])
        for candidate in (module.lstrip("_"), module):
            if module_variables(candidate).get(name) is kind:
                return printable(name if candidate == "builtins" else f"{candidate}.{name}")
    return type_name(kind)


def module_variables(name: str) -> Dict[str, Any]:
    """Return the variables of an imported module; an empty dictionary if there is none of this name."""
    module = sys.modules.get(name)
    variables = getattr(module, "__dict__", None) if isinstance(module, type(sys)) else None
    return variables if type(variables) is dict else {}


def module_file(name: str) -> str:
    """Return the file of an imported module; an empty string if it has none."""
    file = module_variables(name).get("__file__")
    return file if type(file) is str else ""


def is_own_class(kind: type) -> bool:
    """Return whether a class is the program's own: neither the standard library's nor a package's."""
    file = module_file(module_of(kind))
    return bool(file) and is_own(file)


def namespace(instance: Any) -> Optional[Dict[str, Any]]:
    """Return the dictionary of the attributes of an instance or function; None without one.

    That of a ``threading.local`` is created when it is read, by the program's code.
    """
    if issubclass(type(instance), LOCAL):
        return None
    descriptor = class_variable(type(instance), "__dict__")
    if type(descriptor) is not _GetSetType:
        return None
    variables = descriptor.__get__(instance)
    return variables if type(variables) is dict else None


def attribute_of(instance: Any, value: Any) -> str:
    """Return the name of the attribute of an instance that is ``value``; an empty string without one."""
    for variables in class_variables(type(instance)):
        for name, descriptor in variables.items():
            if type(descriptor) is _SlotType:
                try:
                    if descriptor.__get__(instance) is value:
                        return name
                except AttributeError:  # it is not set
                    pass
    return name_in(namespace(instance) or {}, value)


def name_in(variables: Mapping[Any, Any], value: Any) -> str:
    """Return the name of the variable that is ``value``; an empty string without one."""
    for name in list(variables):
        if type(name) is str and variables.get(name) is value and name.isidentifier():
            return printable(name)
    return ""
