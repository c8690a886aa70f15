"""Expressions in the code of a function, such as ``self.locks[number % 8]``, and their values.

They are tuples: ``("name", name)``, ``("attribute", expression, name)``, ``("item", expression, index)``,
``("constant", value)`` and ``("+", expression, expression)``, with other operators likewise.
"""

from __future__ import annotations

from ..memory.frames import variables_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any, Iterator, List, Tuple

    Expression = Tuple[Any, ...]

BETWEEN = (
    "CACHE",
    "COPY",
    "SWAP",
    "PUSH_NULL",
    "NOP",
    "EXTENDED_ARG",
    "RESUME",
    "NOT_TAKEN",
    "ROT_TWO",
    "DUP_TOP",
)
"""Instructions that change nothing about which objects were loaded last."""

OPERATORS = {
    "BINARY_ADD": "+",
    "BINARY_SUBTRACT": "-",
    "BINARY_MODULO": "%",
    "BINARY_SUBSCR": "[]",
}
"""Those that have an instruction of their own: the first three before Python 3.11, the last before 3.14."""

VARIABLES = ("FAST", "GLOBAL", "DEREF", "NAME")
"""What follows ``LOAD_`` in the instructions that load a variable."""

UNKNOWN: Expression = ()


class LoadedExpressions:
    """The expressions that a function has loaded when it has run some of its instructions."""

    def __init__(self) -> None:
        self._loaded: List[Expression] = []

    @property
    def last(self) -> Expression:
        """The expression that was loaded last, and is used next."""
        return self._loaded[-1] if self._loaded else UNKNOWN

    def forget(self) -> None:
        """Forget what was loaded, because it has been used."""
        self._loaded = []

    def add(self, instruction: Any) -> None:
        """Follow an instruction."""
        op, value = instruction.opname, instruction.argval
        operator = OPERATORS.get(op) or (op == "BINARY_OP" and instruction.argrepr)
        if op in BETWEEN:
            return
        if op in ("LOAD_ATTR", "LOAD_METHOD"):
            self._loaded[-1:] = [("attribute", one, value) for one in self._loaded[-1:]]
        elif op in ("LOAD_CONST", "LOAD_SMALL_INT", "LOAD_COMMON_CONSTANT"):
            self._loaded.append(("constant", value))
        elif operator and len(self._loaded) > 1:
            kind = "item" if operator in ("[]", "[") else operator
            self._loaded[-2:] = [(kind, *self._loaded[-2:])]
        else:
            # ``LOAD_FAST_LOAD_FAST`` loads two variables, ``STORE_FAST_LOAD_FAST`` only the second.
            number = sum([part.startswith(VARIABLES) for part in op.split("LOAD_")[1:]])
            names = value if isinstance(value, tuple) else (value,)
            if not number or not op.startswith("LOAD"):
                self.forget()
            self._loaded += [("name", name) for name in names[len(names) - number :]]


def names_in(expression: Expression) -> Iterator[str]:
    """Yield the variables of an expression."""
    if expression[:1] == ("name",):
        yield expression[1]
    for part in expression[1:]:
        if isinstance(part, tuple) and expression[0] != "constant":
            yield from names_in(part)


def text_of(expression: Expression) -> str:
    """Return an expression as it is in the source: ``self.locks[number % 8]``."""
    kind, first = expression[:2]
    if kind in ("name", "constant"):
        return str(first) if kind == "name" else repr(first)
    if kind == "attribute":
        return f"{text_of(first)}.{expression[2]}"
    if kind == "item":
        return f"{text_of(first)}[{text_of(expression[2])}]"
    sides = [f"({text_of(side)})" if side[0] in ("+", "-", "%") else text_of(side) for side in expression[1:]]
    return f"{sides[0]} {kind} {sides[1]}"


def value_of(frame: FrameType, expression: Expression) -> Any:
    """Return what an expression stands for in a frame; None if that is not known without running code."""
    if not expression:
        return None
    kind, first = expression[:2]
    if kind == "constant":
        return first
    if kind == "name":
        return _variable(frame, first)
    value = value_of(frame, first)
    if kind == "attribute":
        return attribute_of(value, expression[2])
    other = value_of(frame, expression[2])
    return _item(value, other) if kind == "item" else _result(kind, value, other)


def _variable(frame: FrameType, name: str) -> Any:
    code = frame.f_code
    if name in code.co_varnames or name in code.co_freevars or name in code.co_cellvars:
        return variables_of(frame).get(name)
    return frame.f_globals.get(name)


def attribute_of(value: Any, name: str) -> Any:
    """Return an attribute, without running code of the program; None if that is not known."""
    try:
        variables = object.__getattribute__(value, "__dict__")
        if name in variables:
            return variables[name]
    except AttributeError:  # it has none
        pass
    for kind in type.__dict__["__mro__"].__get__(value if isinstance(value, type) else type(value)):
        found = type.__dict__["__dict__"].__get__(kind).get(name)
        if type(found).__name__ == "member_descriptor":  # of a class with slots
            try:
                return found.__get__(value, kind)
            except (AttributeError, TypeError):  # it is not set, or the value is the class itself
                return None
        if found is not None:
            return found
    return None


def _item(container: Any, index: Any) -> Any:
    if type(index) not in (int, str, bytes):  # comparing others may run code of the program
        return None
    kinds: Tuple[Any, ...] = (list, tuple, dict)
    for kind in kinds:
        if isinstance(container, kind):
            try:
                return kind.__getitem__(container, index)
            except (LookupError, TypeError):
                return None
    return None


def _result(operator: str, left: Any, right: Any) -> Any:
    if type(left) is not int or type(right) is not int:
        return None
    if operator == "%":
        return left % right if right else None
    return left + right if operator == "+" else left - right if operator == "-" else None
