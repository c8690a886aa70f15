"""Tasks counted by coroutine function as they are created, at a tenth of a microsecond or two each."""

from __future__ import annotations

import os
import sys
from _weakref import ref
from itertools import count
from sys import intern
from time import monotonic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, FrameType
    from typing import Any, Callable, Dict, List, Optional, Tuple

MOST_GROUPS = 1_000
"""Groups told apart; the tasks of any further ones are counted together."""

OTHERS = "other coroutines"
"""The name of that group."""

MOST_NOTED = 8
"""Tasks of one group whose creation is remembered."""

MOST_STARTS = 20
"""Creating lines of one group that are told apart."""

LONGEST_NAME = 200

MOST_NAMED = 1_000
"""Names of tasks of which it is remembered what they run."""

WRAPPERS = ("_run_coro", "_run_wrapped_task")

_LIBRARY = os.path.dirname(os.__file__) + os.sep
_OUTSIDE = ("site-packages" + os.sep, "dist-packages" + os.sep)
_AGENT = os.path.dirname(__file__) + os.sep

_own: Dict[str, bool] = {}


def own(file: str) -> bool:
    """Return whether a file is the program's own: no installed package's, nor the standard library's."""
    known = _own.get(file)
    if known is None:
        outside = file.startswith((_LIBRARY, _AGENT, "<frozen")) or any(part in file for part in _OUTSIDE)
        known = not outside
        if len(_own) < 10_000:
            _own[file] = known
    return known


def words(text: object) -> str:
    """Return a name as it may be shown: none of it commands a terminal."""
    text = str(text)[:LONGEST_NAME]
    return text if text.isprintable() else "".join(char if char.isprintable() else "?" for char in text)


def code_of(coro: object) -> Optional[CodeType]:
    """Return the code that a coroutine, or what serves as one, runs; None where it cannot be told."""
    for name in ("cr_code", "gi_code", "ag_code"):
        code = getattr(coro, name, None)
        if code is not None and hasattr(code, "co_firstlineno"):
            return code  # type: ignore[no-any-return]
    return None


def name_of(code: Any) -> str:
    """Return the name of the function that has this code, qualified where Python tells it."""
    return words(getattr(code, "co_qualname", code.co_name))


def _wraps(code: CodeType) -> bool:
    """Return whether a coroutine function runs everybody's: AnyIO starts each task by one of its own."""
    return code.co_name in WRAPPERS and os.sep + "anyio" + os.sep in code.co_filename


def _wrapped_code(coro: Any) -> Optional[CodeType]:
    """Return the code that a wrapper runs, from what it was called with; None once it has ended."""
    given = coro.cr_frame.f_locals if coro.cr_frame is not None else {}
    return code_of(given.get("coro") or getattr(given.get("self"), "_coro", None))


def _start(depth: int) -> str:
    """Return the program's own line that is nearest above, else the nearest outside asyncio."""
    frame: Optional[FrameType] = sys._getframe(depth)
    nearest = ""
    for _ in range(30):
        if frame is None:
            break
        file = frame.f_code.co_filename
        line = f"{file}:{frame.f_lineno}"
        if own(file):
            return words(line)
        if not nearest and "asyncio" not in file and not file.startswith(_AGENT):
            nearest = words(line)
        frame = frame.f_back
    return nearest


class Group:
    """The tasks of one coroutine function, as counted and as last found."""

    def __init__(self, number: int, kind: str, hold: object) -> None:
        """Make the group of ``hold``, a code or what stands for one; it is kept, so that its identity is."""
        self.hold = hold
        self.number = number
        self.kind = kind
        code: Any = hold if hasattr(hold, "co_firstlineno") else None
        self.name = name_of(code) if code else words(hold)
        self.file = words(code.co_filename) if code else ""
        self.line = max(0, code.co_firstlineno) if code else 0
        self.own = bool(code) and own(self.file)
        # The one way to count that is a single step in every Python: two threads with a loop each may create
        # tasks of one coroutine, and "+= 1" can be interrupted.
        self.counter = count()
        self.endings = count()
        """Counts ends where each is told (trio)."""
        self.direct = self.since = self.ended = self.live = self.retained = 0
        self.uncounted = 0
        """Live tasks that the last scan found beyond all that were counted, the first time."""
        self.completed = self.failed = self.cancelled = 0
        self.noted: List[Tuple[Any, float, str]] = []
        """A weak reference, the time of creation, the creating line, of some tasks, oldest first."""
        self.starts: Dict[str, int] = {}
        self.sent: object = None
        """The figures that were reported last."""

    def counted(self) -> int:
        """Return how many were counted as they were created."""
        return _reading(self.counter)

    def created(self) -> int:
        """Return how many were created since the agent began, as far as is known."""
        return _reading(self.counter) + self.direct

    def take_ends(self) -> None:
        """Take in the ends that were told."""
        self.ended = _reading(self.endings)
        self.live = max(0, self.created() - self.ended)

    def note(self, task: object, start: str) -> None:
        """Remember when and where ``task`` was created."""
        noted = self.noted
        if len(noted) >= MOST_NOTED:
            self.noted = noted = noted[:1] + noted[2::2]  # the oldest stays
        noted.append((ref(task), monotonic(), start))
        if start and (start in self.starts or len(self.starts) < MOST_STARTS):
            self.starts[start] = self.starts.get(start, 0) + 1

    def oldest(self) -> Optional[Tuple[Any, float, str]]:
        """Return the oldest live task noted, when and where it was created; forget those that ended."""
        live = []
        for noted in list(self.noted):
            task = noted[0]()
            if task is not None and not (hasattr(task, "done") and task.done()):
                live.append(noted)
        self.noted = live
        return (live[0][0](), live[0][1], live[0][2]) if live else None


def _reading(counter: count[int]) -> int:
    return int(repr(counter)[6:-1])  # "count(5)": there is no other way to look at it


class Counts:
    """All groups of this process. Filled by whatever thread creates tasks; no lock is ever held."""

    def __init__(self) -> None:
        self.groups: Dict[int, Group] = {}
        """By the identity of their code."""
        self.fast: Dict[int, Callable[[], int]] = {}
        """What counts one more task. A group that is not in it is met the slow way, which notes the task."""
        self.loops: Dict[int, Any] = {}
        """A weak reference to each event loop that was seen."""
        self._numbers = count(1)
        self._wrappers: Dict[int, CodeType] = {}
        self._named: Dict[str, CodeType] = {}
        """What a wrapper last ran in a task of each name."""

    def clear(self) -> None:
        """Forget everything, in place: what counts has hold of these dictionaries."""
        for known in (self.fast, self.groups, self.loops, self._named):
            known.clear()
        self._numbers = count(1)

    def hold(self, coro: object, task: Any) -> object:
        """Return what stands for the group of a task: its coroutine's code, as a rule."""
        code = code_of(coro)
        if code is None:
            return type(coro)
        if id(code) not in self._wrappers:
            return code
        wrapped = _wrapped_code(coro)
        name = str(task.get_name() if hasattr(task, "get_name") else task.name)
        if wrapped is None:  # it has ended: by its name it can still be told
            return self._named.get(name) or intern(name)
        if name in self._named or len(self._named) < MOST_NAMED:
            self._named[name] = wrapped
        return wrapped

    def of(self, coro: Any, task: Any, kind: str = "asyncio") -> Group:
        """Return the group that a task belongs to."""
        run = code_of(coro)
        if run is not None and id(run) not in self._wrappers and id(run) not in self.groups and _wraps(run):
            self._wrappers[id(run)] = run
        hold = self.hold(coro, task)
        group = self.groups.get(id(hold))
        if group is None:
            if len(self.groups) >= MOST_GROUPS:
                hold = OTHERS
            # Another thread may do the same: the first one's stays.
            group = self.groups.setdefault(id(hold), Group(next(self._numbers), kind, hold))
        return group

    def meet(self, coro: object, task: Any) -> None:
        """Count a task of asyncio the slow way, and note it. Never raises."""
        try:
            group = self.of(coro, task)
            next(group.counter)
            if id(group.hold) in self.fast:  # one that came in a wrapper: only the first is noted
                return
            if group.hold is not OTHERS:
                self.fast[id(group.hold)] = group.counter.__next__
            group.note(task, _start(3))
            self.see_loop(task.get_loop())
        except Exception:  # not every task can be referred to weakly, or has a loop
            pass

    def see_loop(self, loop: Any) -> None:
        """Remember an event loop."""
        if id(loop) not in self.loops:
            try:
                self.loops[id(loop)] = ref(loop)
            except TypeError:  # of somebody's own making: it cannot be referred to weakly
                pass

    def loops_now(self) -> List[Any]:
        """Return the event loops that were seen and are open."""
        found = []
        for key, reference in list(self.loops.items()):
            loop = reference()
            if loop is None or loop.is_closed():
                self.loops.pop(key, None)
            else:
                found.append(loop)
        return found

    def note_next(self, groups: List[Group]) -> None:
        """Have the next task of each group noted."""
        for group in groups:
            self.fast.pop(id(group.hold), None)

    def created(self) -> int:
        """Return how many tasks were created since the agent began."""
        return sum([group.created() for group in list(self.groups.values())])


COUNTS = Counts()
"""This process's."""
