"""The identity of this process: name, interpreter, loaded frameworks."""

import os
import sys

from ..basics.names import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List

PROTOCOL = 1

OPTIONS_WITH_VALUE = ("-W", "-X", "--check-hash-based-pycs")
"""The interpreter's options whose value is the next argument."""


def _command_line() -> "List[str]":
    arguments = getattr(sys, "orig_argv", None)
    if arguments:
        return list(arguments)
    try:
        with open("/proc/self/cmdline", "rb") as file:
            return file.read().decode(errors="replace").split("\0")
    except OSError:
        return list(getattr(sys, "argv", ()))


def name() -> str:
    """Return the name of this process: its script or module, and its name in ``multiprocessing`` if any."""
    script = _SCRIPT
    try:
        process = sys.modules["multiprocessing.process"].current_process()
        if process.name != "MainProcess":
            spawned = getattr(sys.modules.get("__mp_main__"), "__file__", None)
            script = f"{os.path.basename(spawned) if spawned else script} {process.name}"
    except (KeyError, AttributeError, NameError):  # not imported, or only partly so far
        pass
    return printable(script)


def script_name(arguments: "List[str]") -> str:
    """Return the name of the script or module that a Python with this command line runs."""
    at = 1
    while at < len(arguments):
        argument = arguments[at]
        if argument == "-m":
            return arguments[at + 1] if at + 1 < len(arguments) else "python"
        if argument.startswith("-m"):
            return argument[2:]
        if argument.startswith("-c"):
            module = " ".join(arguments[at : at + 2]).partition("from multiprocessing.")[2].partition(" ")[0]
            return f"multiprocessing.{module}" if module else "python -c"
        if not argument.startswith("-"):
            return os.path.basename(argument) or "python"
        at += 2 if argument in OPTIONS_WITH_VALUE else 1
    return "python"


_SCRIPT = script_name(_command_line())


def runtime() -> str:
    """Return the interpreter and its version: ``CPython 3.11.7``."""
    implementation = sys.implementation
    known = {"cpython": "CPython", "pypy": "PyPy"}
    version = ".".join([str(part) for part in implementation.version[:3]])
    return f"{known.get(implementation.name, implementation.name)} {version}"


def flags() -> "List[str]":
    """Return the loaded frameworks that affect the figures, with their versions."""
    found = []
    for module in ("asyncio", "uvloop", "trio", "anyio", "gevent"):
        loaded = sys.modules.get(module)
        if loaded is not None:
            version = getattr(loaded, "__version__", "")
            found.append(printable(f"{module} {version}" if isinstance(version, str) and version else module))
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        found.append("free-threaded")
    return found


def identity() -> "Dict[str, Any]":
    """Return the fields of ``ready`` that never change."""
    return {
        "protocol": PROTOCOL,
        "engine": "agent",
        "pid": os.getpid(),
        "ppid": os.getppid(),
        "runtime": runtime(),
    }
