"""The functions that the agent replaces, in modules that are already imported or imported later."""

from __future__ import annotations

import sys

from ..basics.imports import ImportHook
from ..counting.counted_group import GEVENT
from ..counting.counting import COUNTS
from .executors import EXECUTORS_OF, counting_executors
from .exits import EXIT_FUNCTIONS
from .left_over import LOOP_METHODS
from .replacements import counting, counting_outcomes, counting_trio

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any, Callable, Dict, Optional, Tuple

_ABSENT: Any = object()

POINTS: Dict[str, Tuple[Optional[str], Tuple[str, ...]]] = {
    "asyncio.base_events": ("BaseEventLoop", ("create_task", *LOOP_METHODS)),
    "uvloop": ("Loop", ("create_task", *LOOP_METHODS)),
    "trio._core._run": (None, ("setup_runner",)),
    "os": (None, ("_exit", "kill")),
    "signal": (None, ("raise_signal",)),
    **{module: (name, ("__init__",)) for module, name in EXECUTORS_OF.items()},
}
"""By module: the class, or None for the module itself, and the attributes to replace."""


class Replacement:
    """An attribute of a class or module, replaced by a function that calls the original."""

    def __init__(self, owner: Any, name: str) -> None:
        self._owner = owner
        self._name = name
        self._previous = vars(owner).get(name, _ABSENT)
        # Not what attribute access returns, which would bypass the hook of another copy of the agent.
        self._original = getattr(owner, name) if self._previous is _ABSENT else self._previous
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
        """Whether the outcomes of tasks are counted."""
        self._replaced: Dict[Tuple[str, str], Replacement] = {}
        """By module and attribute."""
        self._import_hook = ImportHook((*POINTS, GEVENT), self.replace)
        self._active = False

    def install(self) -> None:
        """Replace the functions of imported modules, and watch for later imports."""
        self._active = True
        self._import_hook.install()
        self.replace_imported()

    def replace_imported(self) -> None:
        """Replace the functions of modules that were imported without the finder."""
        for name in (*POINTS, GEVENT):
            module = sys.modules.get(name)
            if module is not None:
                self.replace(name, module)

    def replace(self, name: str, module: Optional[ModuleType]) -> None:
        """Replace the functions of a module, unless it is only partly imported."""
        if name == GEVENT:  # it has hooks of its own
            from .greenlets import GREENLETS  # few programs need it

            if self._active:
                GREENLETS.install()
            return
        owner_name, attributes = POINTS[name]
        if not self._active or all((name, attribute) in self._replaced for attribute in attributes):
            return
        owner = getattr(module, owner_name, None) if owner_name else module
        if owner is None:  # it does not exist yet; but None has some of the methods, too
            return
        for attribute in attributes:
            if (name, attribute) in self._replaced or not hasattr(owner, attribute):
                continue
            replacement = Replacement(owner, attribute)
            if self._replaced.setdefault((name, attribute), replacement) is not replacement:
                continue  # another thread was faster
            try:
                replacement.install(self._wrap(attribute))
            except (TypeError, AttributeError):  # an immutable class
                del self._replaced[name, attribute]

    def _wrap(self, attribute: str) -> Callable[[Any], Any]:
        known = LOOP_METHODS.get(attribute) or EXIT_FUNCTIONS.get(attribute)
        if known is not None:
            return known
        if attribute == "setup_runner":
            return counting_trio
        if attribute == "__init__":
            return counting_executors
        return counting_outcomes if self.outcomes else counting

    def set_outcomes(self, on: bool) -> None:
        """Start or stop counting how tasks end."""
        self.outcomes = COUNTS.outcomes = on
        COUNTS.fast.clear()
        for (_, attribute), replacement in self._replaced.items():
            if attribute == "create_task":
                replacement.install(self._wrap(attribute))

    def remove(self) -> None:
        """Restore all functions, except those that other code has replaced since and that still call ours."""
        self._active = False
        if self.outcomes:
            self.set_outcomes(False)
        self._import_hook.remove()
        self._replaced = {point: one for point, one in self._replaced.items() if not one.remove()}


HOOKS = Hooks()
"""The hooks of this process."""
