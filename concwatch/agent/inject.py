"""What brings the agent into a process that runs already: texts for ``sys.remote_exec`` and for gdb."""

from __future__ import annotations

import os

from .places import ADDRESS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, List, Mapping

PACKAGE = os.path.dirname(os.path.abspath(__file__))
SITE = os.path.join(PACKAGE, "site")
"""The folder that is put first on ``PYTHONPATH``."""

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
    """Return a program that has the process it runs in report to ``address``, a monitor's socket.

    It leaves no name behind where it runs. Write it to a file for ``sys.remote_exec(pid, file)``. The agent
    is imported from the folder ``package``.
    """
    inner = _SCRIPT.format(folder=package, address=address)
    return f"try: exec(compile({inner!a}, '<concwatch>', 'exec'), {{}})\nexcept Exception: pass\n"


def gdb_command(pid: int, file: str) -> List[str]:
    """Return the command that has gdb run `script`, written to ``file``, in a process; for development.

    The process stands still for about 0.3 s; its other threads run on while the interpreter's lock is
    waited for.
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


def environment(address: str, before: Mapping[str, str], site: str = SITE) -> Dict[str, str]:
    """Return the environment of a program that is to be watched from its start, and of all its children.

    Args:
        address: the monitor's socket.
        before: the variables that it has besides.
        site: the folder that is put first on ``PYTHONPATH``.
    """
    paths = [site, *filter(None, [before.get("PYTHONPATH")])]
    return {**before, "PYTHONPATH": os.pathsep.join(paths), ADDRESS: address}
