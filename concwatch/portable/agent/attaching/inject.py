"""Ways to load the agent: a script for running processes, and environment variables for new ones."""

from __future__ import annotations

import os

from ..sending.places import ADDRESS, OPTIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, Iterable, List, Mapping

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SITECUSTOMIZE = os.path.join("site", "sitecustomize.py")
"""The file, in the package, that every Python process imports at startup."""

FIRST = os.path.join("attaching", "lazy.py")
"""The module from which it is seen whether the agent is compiled."""

COMPILED = "compiled"
"""The folder beside the socket with the compiled modules, if they were not compiled when installed."""

NOT_LOADED = ("inject.py", "inside_gdb.py", "sitecustomize.py")
"""Modules that watched programs never load."""

MARK = "concwatch: "
"""The prefix of our lines in gdb's output: `BEGUN`, then `DONE` or a problem."""

BEGUN = "begun"
"""Functions of the process are called from now on, so that gdb must not be killed."""

DONE = "done"

LIBRARIES = ("libpython", "libc\\.", "libpthread", "musl")
"""Regular expressions of the libraries whose symbols gdb reads."""

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


def gdb_command(pid: int, file: str, package: str = PACKAGE) -> List[str]:
    """Return the command that makes gdb execute `script`, written to ``file``, in a process.

    It stops the process for 0.2 to 0.6 s while gdb reads symbols, and then runs `inside_gdb`. In the
    process's main thread only another thread is started, which executes the script.

    Args:
        pid: the process.
        file: the script.
        package: the folder of the agent.
    """
    read = f"try:\n with open({file!r}) as file: exec(file.read(), {{}})\nexcept Exception: pass"
    # `start_new`, the older name, is the system's thread also if gevent has replaced `start_new_thread`.
    text = f"try: __import__('_thread').start_new(exec, ({read!a}, {{}}))\nexcept BaseException: pass\n"
    # Nothing from the network, or the program; symbols of extension modules would take seconds.
    before = ["set debuginfod enabled off", "set auto-load off", "set auto-solib-add off"]
    after = [
        *[f"sharedlibrary {library}" for library in LIBRARIES],
        "set scheduler-locking off",
        "handle all nostop noprint pass",
        "handle SIGINT nostop noprint pass",
        "handle SIGSTOP stop nopass",
        f"source {os.path.join(package, 'attaching', 'inside_gdb.py')}",
        f"python main(*{(text, MARK, BEGUN, DONE)!a})",
    ]
    return [
        *["gdb", "-nx", "-q", "-batch"],
        *[part for step in before for part in ("-iex", step)],
        *["-p", str(pid)],
        *[part for step in after for part in ("-ex", step)],
    ]


def compile_agent(package: str, folder: str) -> None:
    """Compile the agent for this Python into ``folder``, unless it was compiled when it was installed.

    Compiled in the program itself it would take 1.3 MiB and 0.1 s there. A program with a Python of another
    version does that.
    """
    from importlib.util import cache_from_source
    from py_compile import PyCompileError
    from py_compile import compile as compile_file

    package = os.path.realpath(package)
    if os.path.exists(cache_from_source(os.path.join(package, FIRST))):
        return
    compiled = os.path.join(folder, package.lstrip(os.sep))  # as Python does with ``sys.pycache_prefix``
    try:
        for room, _, names in os.walk(package):
            for name in names:
                if name.endswith(".py") and name not in NOT_LOADED:
                    file = os.path.join(room, name)
                    name = os.path.basename(cache_from_source(file))
                    target = os.path.join(compiled, os.path.relpath(room, package), name)
                    if not os.path.exists(target):
                        compile_file(file, target, doraise=True)
    except (OSError, PyCompileError):  # a full disk: then each process does it
        pass


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
        options: the commands that are in effect from the beginning: ``"outcomes"``, ``"timing"``,
            ``"by_name"``, ``"trace"``, ``"blocked-after:SECONDS"``.

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
    compile_agent(package, os.path.join(os.path.dirname(address), COMPILED))
    paths = [site, *filter(None, [base.get("PYTHONPATH")])]
    return {**base, "PYTHONPATH": os.pathsep.join(paths), ADDRESS: address, OPTIONS: " ".join(options)}
