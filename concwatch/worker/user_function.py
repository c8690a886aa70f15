"""Load the function that a workload ``module:function`` names."""

from __future__ import annotations

import importlib
import inspect
import os
import sys

from concwatch.protocol.text import suggest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any, Callable

    from concwatch.protocol.workloads import Workload


def load_function(workload: Workload, coroutine: bool) -> Callable[[], Any]:
    """Import the user's function; the working directory is searched first.

    Args:
        workload: one of the form ``module:function``.
        coroutine: whether the engine needs a coroutine function rather than a plain one.

    Raises:
        ValueError: one line that says what is missing, what failed, or which kind was expected.
    """
    module, function = map(str, workload.values)
    try:
        value = _attribute(_import(module), function)
        if not callable(value):
            raise ValueError(f"{function} is a {type(value).__name__}: expected a function")
        try:
            inspect.signature(value).bind()
        except TypeError as error:
            raise ValueError(f"{function}: {error}: expected a function that needs no arguments") from None
        except ValueError:  # a built-in without a signature
            pass
        if coroutine and not inspect.iscoroutinefunction(value):
            raise ValueError(
                f"{function} is a plain function: an event loop needs a coroutine function (async def)"
            )
        if not coroutine and inspect.iscoroutinefunction(value):
            raise ValueError(f"{function} is a coroutine function: a thread needs a plain function (def)")
    except Exception as error:  # raised above, or by the user's module as it is inspected
        raise ValueError(f'workload "{workload.spec}": {error}') from error.__cause__
    return value


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
