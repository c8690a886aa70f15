"""A finder that calls back once certain modules have been imported."""

import sys

from .guard import guarded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any, Callable, Container, Optional


class ImportHook:
    """Calls ``imported(name, module)`` after each of the modules ``names`` has been executed.

    A module whose loader cannot be hooked is reported before, with None in its place.
    """

    def __init__(
        self, names: "Container[str]", imported: "Callable[[str, Optional[ModuleType]], None]"
    ) -> None:
        self._names = names
        self._imported = imported

    def install(self) -> None:
        """Start watching for imports."""
        if self not in sys.meta_path:
            sys.meta_path.insert(0, self)

    def remove(self) -> None:
        """Stop watching."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(self, name: str, path: "Any", target: "Optional[ModuleType]" = None) -> "Any":
        """Return the spec that the other finders find; None for all other modules."""
        if name not in self._names:
            return None
        for finder in list(sys.meta_path):
            find = None if finder is self else getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find else None
            if spec is not None:
                if not self._hook_loader(name, spec.loader):
                    self._report(name, None)
                return spec
        return None

    @guarded("")
    def _hook_loader(self, name: str, loader: "Any") -> bool:
        """Make this loader call back once, after it has executed the module. Return False if it cannot."""
        execute = getattr(loader, "exec_module", None)
        if execute is None or isinstance(loader, type):  # shared by all modules
            return False

        def exec_module(module: "ModuleType") -> None:
            try:
                del loader.exec_module
            except AttributeError:
                pass
            execute(module)
            self._report(name, module)

        try:
            loader.exec_module = exec_module
        except (AttributeError, TypeError):  # it has no settable attributes
            return False
        return True

    @guarded("")
    def _report(self, name: str, module: "Optional[ModuleType]") -> None:
        self._imported(name, module)


def imported_module(name: str) -> "Any":
    """Return a module that has been imported completely; None otherwise.

    One that is still being imported, by another thread, lacks some of its attributes.
    """
    module = sys.modules.get(name)
    return None if getattr(getattr(module, "__spec__", None), "_initializing", False) else module
