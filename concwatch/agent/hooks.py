"""The functions that the agent replaces, in modules that are imported already and in later imports."""

from __future__ import annotations

import sys

from .imports import ImportHook
from .replacements import counting, counting_outcomes, counting_trio

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any, Callable, Dict, Optional, Tuple

_ABSENT: Any = object()

POINTS: Dict[str, Tuple[Optional[str], str]] = {
    "asyncio.base_events": ("BaseEventLoop", "create_task"),
    "uvloop": ("Loop", "create_task"),
    "trio._core._run": (None, "setup_runner"),
}
"""Module → class, or None for the module itself, and the attribute to replace."""


class Replacement:
    """An attribute of a class or module, replaced by a function that calls the original."""

    def __init__(self, owner: Any, name: str) -> None:
        self._owner = owner
        self._name = name
        self._previous = vars(owner).get(name, _ABSENT)
        self._original = getattr(owner, name)
        self._ours: Any = None

    @property
    def _wrapped_by_others(self) -> bool:
        """Whether other code has replaced our function, presumably by one that calls it."""
        return self._ours is not None and vars(self._owner).get(self._name) is not self._ours

    def install(self, wrap: Callable[[Any], Any]) -> None:
        """Set the attribute to ``wrap(original)``, unless other code has replaced our function."""
        if not self._wrapped_by_others:
            self._ours = wrap(self._original)
            setattr(self._owner, self._name, self._ours)

    def remove(self) -> bool:
        """Restore the attribute. Return False if other code has replaced our function."""
        if self._wrapped_by_others:
            return False
        if self._previous is _ABSENT:
            delattr(self._owner, self._name)
        else:
            setattr(self._owner, self._name, self._previous)
        return True


class Hooks:
    """All functions that the agent has replaced; those not imported yet are replaced on import."""

    def __init__(self) -> None:
        self.outcomes = False
        """Whether the way that tasks end is counted."""
        self._replaced: Dict[str, Replacement] = {}
        self._import_hook = ImportHook(POINTS, self.replace)
        self._active = False

    def install(self) -> None:
        """Replace the functions of imported modules, and watch for later imports."""
        self._active = True
        self._import_hook.install()
        self.replace_imported()

    def replace_imported(self) -> None:
        """Replace the functions of modules that were imported without the finder."""
        for name in POINTS:
            module = sys.modules.get(name)
            if module is not None and name not in self._replaced:
                self.replace(name, module)

    def replace(self, name: str, module: Optional[ModuleType]) -> None:
        """Replace the function of a module, unless the module is only partly imported."""
        owner_name, attribute = POINTS[name]
        owner = getattr(module, owner_name, None) if owner_name else module
        if not self._active or name in self._replaced or not hasattr(owner, attribute):
            return
        replacement = Replacement(owner, attribute)
        if self._replaced.setdefault(name, replacement) is not replacement:
            return  # another thread was faster
        try:
            replacement.install(self._wrap(name))
        except (TypeError, AttributeError):  # an immutable class
            del self._replaced[name]

    def _wrap(self, name: str) -> Callable[[Any], Any]:
        return counting_trio if name.startswith("trio") else counting_outcomes if self.outcomes else counting

    def set_outcomes(self, on: bool) -> None:
        """Start or stop counting how tasks end."""
        self.outcomes = on
        for name, replacement in self._replaced.items():
            replacement.install(self._wrap(name))

    def remove(self) -> None:
        """Restore all functions, except those that other code has replaced: that still calls ours."""
        self._active = False
        if self.outcomes:
            self.set_outcomes(False)
        self._import_hook.remove()
        self._replaced = {name: one for name, one in self._replaced.items() if not one.remove()}


HOOKS = Hooks()
"""The hooks of this process."""
