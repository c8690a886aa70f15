"""Errors of the agent itself: none is raised into the program, and each is counted and reported.

`guarded` is at each door from the program into the agent: at functions that the program, its event loops or
the interpreter call, and at the steps of the agent's thread. Behind the doors, only conditions that are
expected are handled, by their own exceptions. A guard costs nothing while nothing is raised, apart from one
more call. What a signal handler of the program raises while the agent's code runs is the program's.
"""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from itertools import count
    from types import CodeType, TracebackType
    from typing import Any, Callable, Dict, List, Optional, ParamSpec, Tuple, Type, TypeVar

    Arguments = ParamSpec("Arguments")
    Returned = TypeVar("Returned")
    Function = Callable[Arguments, Returned]
    Guarded = Callable[Arguments, Optional[Returned]]
    Kind = Tuple[str, str, str]
    """The type of an exception, the agent's innermost line, and the figures that it concerns."""

MAX_KINDS = 10
"""The most kinds of errors that are reported one by one."""

_OTHERS = ("", "", "")
"""Stands for all other kinds."""

_FOLDER = __file__[: -len("basics/guard.py")]
_SHOWN = "concwatch/portable/agent/"
"""The beginning of each file in reports, wherever the agent's files are."""

MAX_SIGNAL = 65


class CaughtErrors:
    """The errors of the agent so far. Any thread may add some; no lock is ever held."""

    def __init__(self) -> None:
        self._kinds: "Dict[Kind, count[int]]" = {}
        self.changed = False
        """Whether there are some that have not been reported."""

    def clear(self) -> None:
        """Forget all errors."""
        self._kinds.clear()
        self.changed = False

    def add(self, figures: str) -> bool:
        """Count the exception that is being handled.

        Args:
            figures: which figures may be missing or wrong because of it; empty for all.

        Returns:
            Whether it is the agent's own, and not raised by a signal handler of the program.
        """
        error, _, trace = sys.exc_info()
        own, called = _innermost(trace)
        if called is not None and _is_signal_handler(called):
            return False
        kind = (getattr(error, "__name__", ""), own, figures)
        if kind not in self._kinds and len(self._kinds) >= MAX_KINDS:
            kind = _OTHERS
        from itertools import count  # not before: most processes have no errors

        next(self._kinds.setdefault(kind, count()))
        self.changed = True
        return True

    def report(self) -> "Dict[str, Any]":
        """Return the fields of a report."""
        self.changed = False
        from .names import printable  # not needed before

        kinds: "List[Dict[str, Any]]" = [
            {"error": printable(error), "where": where, "figures": figures, "count": _value(counter)}
            for (error, where, figures), counter in list(self._kinds.items())
        ]
        total = sum([kind["count"] for kind in kinds])
        return {"total": total, "kinds": [kind for kind in kinds if kind["error"]][:MAX_KINDS]}


ERRORS = CaughtErrors()
"""The errors of the agent in this process."""


def _value(counter: "count[int]") -> int:
    return int(repr(counter)[6:-1])  # "count(5)": the only way to read it


def _innermost(trace: "Optional[TracebackType]") -> "Tuple[str, Optional[CodeType]]":
    """Return the agent's innermost line in a traceback, and the code of the function that it has called."""
    own, called = "", None
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_filename.startswith(_FOLDER):
            own, called = f"{_SHOWN}{code.co_filename[len(_FOLDER) :]}:{trace.tb_lineno}", None
        elif called is None:
            called = code
        trace = trace.tb_next
    return own, called


def _is_signal_handler(code: "CodeType") -> bool:
    from _signal import getsignal  # type: ignore[import-not-found]  # ``signal`` would import enum

    for number in range(1, MAX_SIGNAL):
        try:
            if getattr(getsignal(number), "__code__", None) is code:
                return True
        except ValueError:  # there is no such signal
            pass
    return False


def guarded(
    figures: str, passes: "Tuple[Type[BaseException], ...]" = ()
) -> "Callable[[Function[Arguments, Returned]], Guarded[Arguments, Returned]]":
    """Return a decorator of a function that raises nothing: its exceptions are counted, and it returns None.

    The function has no keyword arguments, and one more frame below it than without the decorator.

    Args:
        figures: which figures may be missing or wrong after an error; empty for all.
        passes: exceptions that are raised all the same.
    """

    def decorate(function: "Function[Arguments, Returned]") -> "Guarded[Arguments, Returned]":
        def guard(*args: "Any") -> "Optional[Returned]":
            try:
                return function(*args)  # type: ignore[call-arg]
            except passes:
                raise
            except Exception:
                try:
                    is_own = ERRORS.add(figures)
                except Exception:  # there is no memory, or no room on the stack, even for that
                    is_own = True
                if not is_own:
                    raise
                return None

        for name in ("__name__", "__qualname__", "__doc__"):
            setattr(guard, name, getattr(function, name))
        return guard  # type: ignore[return-value]

    return decorate
