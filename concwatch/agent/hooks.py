"""What is replaced in the program, when it is imported, and how it is taken back."""

from __future__ import annotations

import sys

from .replacements import counting, counting_outcomes, counting_trio

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any, Callable, Dict, Optional, Tuple

_ABSENT: Any = object()

POINTS: Dict[str, Tuple[Optional[str], str]] = {
    "asyncio.base_events": ("BaseEventLoop", "create_task"),
    "uvloop": ("Loop", "create_task"),
    "trio": (None, "run"),
}
"""Module that defines it → class, or None, and the attribute replaced there."""


class Replacement:
    """One attribute of a class or module, replaced by one that calls it."""

    def __init__(self, owner: Any, name: str) -> None:
        self._owner = owner
        self._name = name
        self._before = vars(owner).get(name, _ABSENT)
        self._original = getattr(owner, name)
        self._ours: Any = None

    @property
    def _covered(self) -> bool:
        """Whether someone else's has been put upon ours and calls it."""
        return self._ours is not None and vars(self._owner).get(self._name) is not self._ours

    def put(self, wrap: Callable[[Any], Any]) -> None:
        """Put ``wrap(original)`` in its place, unless someone else's has come upon ours."""
        if not self._covered:
            self._ours = wrap(self._original)
            setattr(self._owner, self._name, self._ours)

    def take_back(self) -> bool:
        """Restore what was there; False where someone else's has come upon ours."""
        if self._covered:
            return False
        if self._before is _ABSENT:
            delattr(self._owner, self._name)
        else:
            setattr(self._owner, self._name, self._before)
        return True


class Hooks:
    """All that the agent has replaced; what is not imported yet is replaced when it is."""

    def __init__(self) -> None:
        self.outcomes = False
        """Whether it is counted how tasks end."""
        self._replaced: Dict[str, Replacement] = {}
        self._finder = _Finder(self)
        self._active = False

    def put(self) -> None:
        """Replace what is imported, and watch for the rest."""
        self._active = True
        if self._finder not in sys.meta_path:
            sys.meta_path.insert(0, self._finder)
        self.look()

    def look(self) -> None:
        """Replace what has been imported past the finder."""
        for name in POINTS:
            module = sys.modules.get(name)
            if module is not None and name not in self._replaced:
                self.replace(name, module)

    def replace(self, name: str, module: ModuleType) -> None:
        """Replace what there is to replace in a module; one that is being imported comes again later."""
        owner_name, attribute = POINTS[name]
        owner = getattr(module, owner_name, None) if owner_name else module
        if not self._active or name in self._replaced or not hasattr(owner, attribute):
            return
        replacement = Replacement(owner, attribute)
        if self._replaced.setdefault(name, replacement) is not replacement:
            return  # another thread was quicker
        try:
            replacement.put(self._wrap(name))
        except (TypeError, AttributeError):  # a class that nothing can be set on
            del self._replaced[name]

    def _wrap(self, name: str) -> Callable[[Any], Any]:
        return counting_trio if name == "trio" else counting_outcomes if self.outcomes else counting

    def set_outcomes(self, on: bool) -> None:
        """Count how tasks end, or no longer."""
        self.outcomes = on
        for name, replacement in self._replaced.items():
            replacement.put(self._wrap(name))

    def take_back(self) -> None:
        """Restore everything, except what others have put theirs upon: that still calls ours."""
        self._active = False
        if self.outcomes:
            self.set_outcomes(False)
        if self._finder in sys.meta_path:
            sys.meta_path.remove(self._finder)
        self._replaced = {name: one for name, one in self._replaced.items() if not one.take_back()}


class _Finder:
    """Stands first among the finders, finds nothing itself, and looks at modules once they have run."""

    def __init__(self, hooks: Hooks) -> None:
        self._hooks = hooks

    def find_spec(self, name: str, path: Any, target: Optional[ModuleType] = None) -> Any:
        if name not in POINTS:
            return None
        for finder in list(sys.meta_path):
            find = None if finder is self else getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find else None
            if spec is not None:
                self._follow(name, spec.loader)
                return spec
        return None

    def _follow(self, name: str, loader: Any) -> None:
        """Have the loader call back when it has run the module; the loader stays what it is."""
        run = getattr(loader, "exec_module", None)
        if run is None or isinstance(loader, type):  # one for all modules: `Hooks.look` will find this one
            return

        def exec_module(module: ModuleType) -> None:
            try:
                del loader.exec_module
            except AttributeError:
                pass
            run(module)
            try:
                self._hooks.replace(name, module)
            except Exception:  # nothing of the agent raises into the program
                pass

        try:
            loader.exec_module = exec_module
        except AttributeError:  # it takes no attributes
            pass


HOOKS = Hooks()
"""This process's."""
