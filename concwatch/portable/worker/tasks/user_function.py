"""Load the function that a workload ``module:function`` names."""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from contextlib import contextmanager
from functools import partial

from concwatch.portable.protocol.text import suggest
from concwatch.portable.worker.tasks.setup import Setup, is_asynchronous

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any, Callable, Iterator, Optional, Sequence

    from concwatch.portable.protocol.workloads import Workload


def load_function(workload: Workload, coroutine: bool) -> Callable[[], Any]:
    """Import the user's function; the working directory is searched first.

    Args:
        workload: one of the form ``module:function``.
        coroutine: whether the engine needs a coroutine function rather than a plain one.

    Returns:
        The function that each task calls, with the arguments of the workload.

    Raises:
        ValueError: one line that says what is missing, what failed, or which kind was expected.
    """
    with _explained(workload):
        name, value = _find(workload)
        _check_kind(name, value, coroutine)
        return partial(value, *workload.arguments) if workload.arguments else value


def load_setup(workload: Workload, coroutine: bool) -> Optional[Setup]:
    """Import the user's function; return its set-up if it yields the function that tasks call, else None.

    The arguments and what is raised are as in `load_function`.
    """
    with _explained(workload):
        name, value = _find(workload)
        asynchronous = is_asynchronous(value)
        if asynchronous is None:
            return None
        if asynchronous and not coroutine:
            raise ValueError(f"{name} is an async generator function; a thread needs a plain one (def)")

        def check(yielded: object) -> None:
            with _explained(workload):
                if not callable(yielded):
                    kind = type(yielded).__name__
                    raise ValueError(f"{name} yields a {kind}; expected the function that each task calls")
                _check_arguments(f"what {name} yields", yielded, (), "needs no arguments")
                _check_kind(f"what {name} yields", yielded, coroutine)

        return Setup(value, workload.arguments, workload.spec, check)


@contextmanager
def _explained(workload: Workload) -> Iterator[None]:
    """Make any error, raised here or by the user's module as it is inspected, name the workload."""
    try:
        yield
    except Exception as error:
        raise ValueError(f'workload "{workload.spec}": {error}') from error.__cause__


def _find(workload: Workload) -> tuple[str, Any]:
    module, name = map(str, workload.values)
    value = _attribute(_import(module), name)
    if not callable(value):
        raise ValueError(f"{name} is a {type(value).__name__}; expected a function")
    given = workload.arguments
    expected = "needs no arguments, or an --arg for each"
    if given:
        expected = f"takes {len(given)} argument{'s' * (len(given) > 1)}, one for each --arg"
    _check_arguments(name, value, given, expected)
    return name, value


def _check_arguments(name: str, function: Any, arguments: Sequence[str], expected: str) -> None:
    """Raise a ValueError if a function cannot be called with these arguments."""
    try:
        inspect.signature(function).bind(*arguments)
    except TypeError as error:
        raise ValueError(f"{name} does not fit ({error}); expected a function that {expected}") from None
    except ValueError:  # a built-in without a signature
        pass


def _check_kind(name: str, value: object, coroutine: bool) -> None:
    """Raise a ValueError if the engine needs the other kind of function."""
    if coroutine and not inspect.iscoroutinefunction(value):
        raise ValueError(f"{name} is a plain function; an event loop needs a coroutine function (async def)")
    if not coroutine and inspect.iscoroutinefunction(value):
        raise ValueError(f"{name} is a coroutine function; a thread needs a plain function (def)")


def _import(name: str) -> ModuleType:
    folder = os.getcwd()
    if folder not in sys.path:
        sys.path.insert(0, folder)
    importlib.invalidate_caches()
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        missing = error.name or name
        if name == missing or name.startswith(missing + "."):
            files = (file[:-3] for file in os.listdir(folder) if file.endswith(".py"))
            raise ValueError(
                f'no module "{missing}" in {folder} or among the installed packages{suggest(missing, files)}'
            ) from None
        raise ValueError(f"module {name} needs {missing}, which is not installed") from error
    except (Exception, SystemExit) as error:  # the user's module may raise anything
        raise ValueError(f"importing {name} failed: {type(error).__name__}: {error}") from error


def _attribute(module: ModuleType, path: str) -> object:
    value: object = module
    for name in path.split("."):
        if not hasattr(value, name):
            public = [key for key in vars(module) if not key.startswith("_")]
            raise ValueError(f'module {module.__name__} has no "{path}"{suggest(name, public)}')
        value = getattr(value, name)
    return value
