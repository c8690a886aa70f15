"""Which code is the program's own, and which of its lines create tasks."""

from __future__ import annotations

import os
import sys

from .names import FILE, printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any, Dict, Optional

MAX_FUNCTIONS = 2_000
"""The most lines whose function is remembered."""

LOOPS = ("asyncio", "gevent")
"""The packages whose lines are the last ones to be named as those that create a task."""

_LIBRARY = os.path.dirname(os.__file__) + os.sep
_PACKAGES = ("site-packages" + os.sep, "dist-packages" + os.sep)
_AGENT = (os.path.dirname(os.path.dirname(__file__)) + os.sep, FILE)

_own_files: Dict[str, bool] = {}

LINE_FUNCTIONS: Dict[str, str] = {}
"""The functions of lines that create tasks, of the first `MAX_FUNCTIONS`."""


def is_own(file: str) -> bool:
    """Return whether a file is the program's own: neither the standard library's nor a package's."""
    own = _own_files.get(file)
    if own is None:
        own = not (_is_installed(file) or _is_compiled_package(file))
        if len(_own_files) < 10_000:
            _own_files[file] = own
    return own


def is_of(package: str, file: str) -> bool:
    """Return whether a file belongs to a loaded package: to asyncio itself, not to ``redis.asyncio``."""
    place = getattr(sys.modules.get(package), "__file__", None)
    return isinstance(place, str) and file.startswith(os.path.dirname(place) + os.sep)


def _is_installed(file: str) -> bool:
    if file.startswith((_LIBRARY, *_AGENT, "<frozen")) or any(part in file for part in _PACKAGES):
        return not _is_script(file)
    return False


def _is_script(file: str) -> bool:
    """Return whether Python was started with this file, which is the program's own wherever it lies."""
    main = sys.modules.get("__main__")
    return getattr(main, "__file__", None) == file and getattr(main, "__spec__", None) is None


def _is_compiled_package(file: str) -> bool:
    """Return whether a file was compiled into an installed package, as by Cython: ``aiohttp/http.pyx``."""
    if os.path.isabs(file):
        return False
    for part in file.split("/")[:-1]:
        package = getattr(sys.modules.get(part), "__file__", None)
        if isinstance(package, str) and any(one in package for one in _PACKAGES):
            return True
    return False


def is_agent(file: str) -> bool:
    """Return whether a file is one of the agent's."""
    return file.startswith(_AGENT)


def name_of(code: Any) -> str:
    """Return the name of the function with this code, qualified since Python 3.11."""
    return printable(getattr(code, "co_qualname", code.co_name))


def creating_line(depth: int) -> str:
    """Return the nearest line of the program's own code up the stack, or else the nearest outside `LOOPS`."""
    frame: Optional[FrameType] = sys._getframe(depth)
    nearest = ""
    for _ in range(30):
        if frame is None:
            break
        file = frame.f_code.co_filename
        if is_own(file):
            line = printable(f"{file}:{frame.f_lineno}")
            if line not in LINE_FUNCTIONS and len(LINE_FUNCTIONS) < MAX_FUNCTIONS:
                LINE_FUNCTIONS[line] = name_of(frame.f_code)
            return line
        if not nearest and not file.startswith(_AGENT) and not any(name in file for name in LOOPS):
            nearest = printable(f"{file}:{frame.f_lineno}")
        frame = frame.f_back
    return nearest
