"""Where a walk through the objects of a program begins, and what is visited by itself on its way."""

from __future__ import annotations

import sys
from _weakref import ref

from ..basics.own_code import is_agent, is_own
from ..counting.counting import COUNTS
from ..counting.scan import some_tasks
from .class_attributes import module_file
from .frames import outermost_first

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Optional, Set

MAX_OWN, MAX_STARTS = 12_000, 20_000
"""The most starts that are found from the program's own modules, and the most in all."""

MAX_TASKS, MAX_LISTED = 1_000, 50_000
"""The most tasks that are starts, and the most live tasks that are listed for it since Python 3.14."""

MAX_FRAMES = 500
"""The most frames of running functions whose variables are read."""

_VARIABLES: Callable[[Any], Dict[str, Any]] = vars(type(sys))["__dict__"].__get__


class _Frame:
    """Finds the frame of a running function again: by its thread, and its number from the outermost one."""

    __slots__ = ("_code", "_depth", "_thread")

    def __init__(self, thread: int, depth: int, frame: Any) -> None:
        self._thread, self._depth, self._code = thread, depth, id(frame.f_code)

    def __call__(self) -> Any:
        frames = outermost_first(sys._current_frames().get(self._thread))
        if self._depth < len(frames) and id(frames[self._depth].f_code) == self._code:
            return frames[self._depth]
        return None


def _variables(name: str) -> Optional[Dict[str, Any]]:
    """Return the variables of an imported module; None if something else has its name."""
    module = sys.modules.get(name)
    return _VARIABLES(module) if issubclass(type(module), type(sys)) else None


class Starts:
    """Objects that are visited by themselves, by their numbers. None is kept alive."""

    def __init__(self) -> None:
        self.within: Dict[int, int] = {}
        """The number of the start within which a container was found, by the ``id`` of that."""
        self.seen: Set[int] = set()
        """The ``id`` of all starts that can be referenced weakly."""
        self.are_complete = True
        """Whether there was room for all."""
        self.references: List[Callable[[], Any]] = []
        """Each returns a start; None if it is gone."""
        self.parents: List[int] = []
        """Within which other start each was found; -1 without one."""
        self.weights: List[float] = []
        """How many similar ones each stands for."""
        self._most = MAX_OWN

    def add_own(self) -> None:
        """Add the program's own modules, its loops, tasks and running functions."""
        names = list(sys.modules)
        for name in names:  # other modules refer to them, and their functions to their variables
            self.within[id(_variables(name))] = -1
            self.seen.add(id(sys.modules.get(name)))
        for name in names:
            file = module_file(name)
            if name == "__main__" or (file and is_own(file)):
                self._add_module(name)
        self._add_running()

    def add_others(self) -> None:
        """Add the modules of libraries; there is room for more starts from now on."""
        self._most = MAX_STARTS
        for name in list(sys.modules):
            if not is_agent(module_file(name)):
                self._add_module(name)

    def _add_module(self, name: str) -> None:
        variables = _variables(name)
        if variables is not None and self.within.get(id(variables), -1) < 0:
            self.within[id(variables)] = len(self.references)
            self._append(ref(sys.modules[name]), -1, 1.0)

    def _add_running(self) -> None:
        """Add the frames of the program's running functions, its loops and some of its tasks."""
        left = MAX_FRAMES
        frame: Any
        for thread, frame in sys._current_frames().items():
            for depth, one in enumerate(outermost_first(frame)):
                if is_own(one.f_code.co_filename) and left:
                    left -= 1
                    self._append(_Frame(thread, depth, one), -1, 1.0)
            frame = one = None  # it may be the frame of this function
        for loop in COUNTS.loops.open():
            self.add(loop, -1, 1.0)
        tasks, count = some_tasks(MAX_TASKS, MAX_LISTED)
        for task in tasks:  # what holds one that has finished is found on the way
            self.add(task, -1, max(1.0, count / len(tasks)))

    def add(self, value: Any, parent: int, weight: float) -> None:
        """Add an object, if it can be referenced weakly.

        Args:
            value: the object.
            parent: the start within which it was found.
            weight: how many similar ones it stands for.
        """
        if id(value) in self.seen:
            return
        if len(self.references) >= self._most:
            self.are_complete = False
            return
        try:
            self._append(ref(value), parent, weight)
        except TypeError:  # of a class that says so
            return
        self.seen.add(id(value))

    def _append(self, start: Callable[[], Any], parent: int, weight: float) -> None:
        self.references.append(start)
        self.parents.append(parent)
        self.weights.append(weight)
