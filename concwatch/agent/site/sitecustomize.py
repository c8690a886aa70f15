"""Starts the agent in every Python process below ``concwatch watch``, then imports the next sitecustomize.

It runs in any Python: it must not use syntax that an old one does not have.
"""

import os
import sys


def _start(folder):
    address = os.environ.get("CONCWATCH_AGENT")
    if not address or sys.version_info < (3, 9) or "_concwatch_agent" in sys.modules:
        return
    from importlib._bootstrap import module_from_spec
    from importlib.machinery import ModuleSpec, SourceFileLoader

    package = os.path.dirname(folder)
    loader = SourceFileLoader("_concwatch_agent", os.path.join(package, "__init__.py"))
    spec = ModuleSpec("_concwatch_agent", loader, origin=loader.path, is_package=True)
    spec.submodule_search_locations = [package]
    agent = module_from_spec(spec)
    sys.modules["_concwatch_agent"] = agent
    loader.exec_module(agent)
    agent.start(address)


def _import_next(folder):
    """Remove this folder from ``sys.path`` and import the sitecustomize that it has hidden, if any."""
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or os.curdir) != folder]
    this = sys.modules.pop("sitecustomize", None)
    try:
        import sitecustomize  # noqa: F401
    except ImportError as error:
        if getattr(error, "name", None) != "sitecustomize":
            raise
    finally:
        if this is not None:  # the import system reads it from there afterwards
            sys.modules.setdefault("sitecustomize", this)


_folder = os.path.dirname(os.path.abspath(__file__))
try:
    _start(_folder)
except Exception:  # the agent never raises into the program
    pass
_import_next(_folder)
