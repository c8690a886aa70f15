"""Ways to load the agent: a script for running processes, and environment variables for new ones."""

from __future__ import annotations

import os

from .places import ADDRESS, OPTIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, Iterable, List, Mapping

PACKAGE = os.path.dirname(os.path.abspath(__file__))
SITECUSTOMIZE = os.path.join("site", "sitecustomize.py")
"""The file, in the package, that every Python process imports at its start."""

_SCRIPT = """\
import sys
if sys.version_info >= (3, 9):
    package = sys.modules.get("_concwatch_agent")
    if package is None:
        from importlib.machinery import ModuleSpec, SourceFileLoader
        from importlib._bootstrap import module_from_spec
        loader = SourceFileLoader("_concwatch_agent", {folder!r} + "/__init__.py")
        spec = ModuleSpec("_concwatch_agent", loader, origin=loader.path, is_package=True)
        spec.submodule_search_locations = [{folder!r}]
        package = module_from_spec(spec)
        sys.modules["_concwatch_agent"] = package
        loader.exec_module(package)
    package.start({address!r})
"""


def script(address: str, package: str = PACKAGE) -> str:
    """Return a script that starts the agent in the process that executes it; it defines no global names.

    Args:
        address: the monitor's socket.
        package: the folder that the agent is imported from.
    """
    inner = _SCRIPT.format(folder=package, address=address)
    return f"try: exec(compile({inner!a}, '<concwatch>', 'exec'), {{}})\nexcept Exception: pass\n"


def gdb_command(pid: int, file: str) -> List[str]:
    """Return the command that makes gdb execute `script`, written to ``file``, in a process; for development.

    It stops the process for about 0.3 s; other threads run while gdb waits for the interpreter's lock. It may
    stop where no Python code may run: one of 19 busy programs (CPython 3.12.1) crashed.
    """
    call = f"(lambda file: (exec(file.read(), {{}}), file.close()))(open({file!a}))"
    text = call.replace("\\", "\\\\").replace('"', '\\"')
    steps = [
        "set pagination off",
        "set scheduler-locking off",
        "set $state = (int) PyGILState_Ensure()",
        f'call (int) PyRun_SimpleString("{text}")',
        "call (void) PyGILState_Release($state)",
    ]
    return ["gdb", "-nx", "-q", "-batch", "-p", str(pid), *[part for step in steps for part in ("-ex", step)]]


def environment(
    address: str, base: Mapping[str, str], package: str = PACKAGE, options: Iterable[str] = ()
) -> Dict[str, str]:
    """Return the environment variables that start the agent in a program and in all its children.

    The first folder on ``PYTHONPATH`` is created beside the socket, and has a link to `SITECUSTOMIZE`: there
    it can be compiled.

    Args:
        address: the monitor's socket.
        base: its other variables.
        package: the folder that the agent is imported from.
        options: the commands that are in effect from the beginning: ``"outcomes"``, ``"trace"``.

    Raises:
        OSError: the folder or the link cannot be created.
    """
    file = os.path.join(package, SITECUSTOMIZE)
    site = os.path.dirname(file)
    if "PYTHONPYCACHEPREFIX" not in base:  # Python would leave the compiled file of a temporary one there
        site = os.path.join(os.path.dirname(address), "site")
        os.makedirs(site, exist_ok=True)
        if not os.path.exists(os.path.join(site, os.path.basename(file))):
            os.symlink(file, os.path.join(site, os.path.basename(file)))
    paths = [site, *filter(None, [base.get("PYTHONPATH")])]
    return {**base, "PYTHONPATH": os.pathsep.join(paths), ADDRESS: address, OPTIONS: " ".join(options)}
