"""Prepares the agent in every Python process below ``concwatch watch``, then imports the next sitecustomize.

It runs in any Python: it must not use syntax that an old one does not have. The monitor's folder has a link
to this file: there it is compiled once for all processes, also for those that do not write compiled files.
"""

import os
import sys


class _Compiled(object):
    """A context in which imported modules are compiled once for all processes, into the monitor's folder.

    It does nothing if the agent was compiled when it was installed. Compiling takes longer than to load.
    """

    def __init__(self, package, folder):
        from _frozen_importlib_external import cache_from_source

        self._needed = not os.path.exists(cache_from_source(os.path.join(package, "attaching", "lazy.py")))
        self._folder = folder
        self._previous = None

    def __enter__(self):
        self._previous = sys.pycache_prefix, sys.dont_write_bytecode
        if self._needed:
            sys.pycache_prefix, sys.dont_write_bytecode = self._folder, False

    def __exit__(self, *_):
        sys.pycache_prefix, sys.dont_write_bytecode = self._previous


def _prepare():
    address = os.environ.get("CONCWATCH_AGENT")
    if not address or sys.version_info < (3, 9) or "_concwatch_agent" in sys.modules:
        return
    # The parts of ``importlib`` that are loaded already.
    from _frozen_importlib import ModuleSpec, module_from_spec
    from _frozen_importlib_external import SourceFileLoader

    package = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
    compiled = _Compiled(package, os.path.join(os.path.dirname(address), "compiled"))
    loader = SourceFileLoader("_concwatch_agent", os.path.join(package, "__init__.py"))
    spec = ModuleSpec("_concwatch_agent", loader, origin=loader.path, is_package=True)
    spec.submodule_search_locations = [package]
    agent = module_from_spec(spec)
    sys.modules["_concwatch_agent"] = agent
    with compiled:
        loader.exec_module(agent)
        from _concwatch_agent.attaching.lazy import LazyStart
    LazyStart(address, compiled).install()
    if sys.dont_write_bytecode and os.path.islink(__file__) and not os.path.exists(__spec__.cached):
        sys.dont_write_bytecode = False
        try:
            __spec__.loader.get_code(__spec__.name)  # writes it
        finally:
            sys.dont_write_bytecode = True


def _import_next(folder):
    """Remove this folder from ``sys.path`` and import the sitecustomize that it has hidden.

    Raises:
        ImportError: there is none. ``site`` ignores that, and no module ``sitecustomize`` remains, as without
            the agent.
    """
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or os.curdir) != folder]
    this = sys.modules.pop("sitecustomize", None)
    import sitecustomize  # noqa: F401

    if this is not None:  # the import system reads it from there afterwards
        sys.modules.setdefault("sitecustomize", this)


try:
    _prepare()
except Exception:  # the agent never raises into the program
    pass
_import_next(os.path.dirname(os.path.abspath(__file__)))
