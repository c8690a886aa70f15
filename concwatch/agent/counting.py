"""Counts of the tasks of each coroutine function, updated as tasks are created (0.1 to 0.2 µs per task)."""

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

MAX_GROUPS = 1_000
"""Groups that are counted separately; the tasks of all further ones are counted together."""

OTHERS = "other coroutines"
"""The name of the group for all further ones."""

MAX_SAMPLES = 8
"""Tasks per group whose creation is recorded."""

MAX_STARTS = 20
"""Distinct creating lines that are recorded per group."""

MAX_NAME_LENGTH = 200

MAX_NAMED_TASKS = 1_000
"""Task names whose code is remembered."""

WRAPPERS = ("_run_coro", "_run_wrapped_task")
"""AnyIO's coroutine functions that run each task's own coroutine."""

_LIBRARY = os.path.dirname(os.__file__) + os.sep
_PACKAGES = ("site-packages" + os.sep, "dist-packages" + os.sep)
_AGENT = os.path.dirname(__file__) + os.sep

_own_files: Dict[str, bool] = {}


def is_own(file: str) -> bool:
    """Return whether a file is the program's own: neither the standard library's nor a package's."""
    own = _own_files.get(file)
    if own is None:
        installed = file.startswith((_LIBRARY, _AGENT, "<frozen")) or any(part in file for part in _PACKAGES)
        own = not installed
        if len(_own_files) < 10_000:
            _own_files[file] = own
    return own


def printable(text: object) -> str:
    """Return a name with at most 200 characters and each unprintable one replaced by ``?``."""
    text = str(text)[:MAX_NAME_LENGTH]
    return text if text.isprintable() else "".join(char if char.isprintable() else "?" for char in text)


def code_of(coro: object) -> Optional[CodeType]:
    """Return the code of a coroutine or generator; None if it has none."""
    for name in ("cr_code", "gi_code", "ag_code"):
        code = getattr(coro, name, None)
        if code is not None and hasattr(code, "co_firstlineno"):
            return code  # type: ignore[no-any-return]
    return None


def name_of(code: Any) -> str:
    """Return the name of the function with this code, qualified since Python 3.11."""
    return printable(getattr(code, "co_qualname", code.co_name))


def _is_wrapper(code: CodeType) -> bool:
    return code.co_name in WRAPPERS and os.sep + "anyio" + os.sep in code.co_filename


def _wrapped_code(coro: Any) -> Optional[CodeType]:
    """Return the code that a wrapper runs, taken from its arguments; None once it has ended."""
    arguments = coro.cr_frame.f_locals if coro.cr_frame is not None else {}
    return code_of(arguments.get("coro") or getattr(arguments.get("self"), "_coro", None))


def _creating_line(depth: int) -> str:
    """Return the nearest line of the program's own code up the stack, or else the nearest outside asyncio."""
    frame: Optional[FrameType] = sys._getframe(depth)
    nearest = ""
    for _ in range(30):
        if frame is None:
            break
        file = frame.f_code.co_filename
        line = f"{file}:{frame.f_lineno}"
        if is_own(file):
            return printable(line)
        if not nearest and "asyncio" not in file and not file.startswith(_AGENT):
            nearest = printable(line)
        frame = frame.f_back
    return nearest


class Group:
    """The tasks of one coroutine function: counted at creation, and as of the last scan.

    Args:
        number: the number that reports use.
        kind: ``"asyncio"`` or ``"trio"``.
        key: the code of the function, or a type or string in its place. The group keeps it alive, because
            dictionaries of groups use its ``id``.
    """

    def __init__(self, number: int, kind: str, key: object) -> None:
        self.key = key
        self.number = number
        self.kind = kind
        code: Any = key if hasattr(key, "co_firstlineno") else None
        self.name = name_of(code) if code else printable(key)
        self.file = printable(code.co_filename) if code else ""
        self.line = max(0, code.co_firstlineno) if code else 0
        self.own = bool(code) and is_own(self.file)
        # `itertools.count` is the one counter that is atomic in every Python: two threads with an event loop
        # each may create tasks of the same function, and "+= 1" can be interrupted.
        self.counter = count()
        self.endings = count()
        """Counts the tasks that have ended, for trio."""
        self.direct = self.since = self.ended = self.live = self.retained = 0
        self.uncounted = 0
        """Live tasks that the last scan was the first to find in excess of all counted ones."""
        self.completed = self.failed = self.cancelled = 0
        self.samples: List[Tuple[Any, float, str]] = []
        """A weak reference, the time of creation and the creating line of some tasks, oldest first."""
        self.starts: Dict[str, int] = {}
        self.reported: object = None
        """The figures that were reported last."""

    def counted(self) -> int:
        """Return how many tasks were counted at creation."""
        return _value(self.counter)

    def created(self) -> int:
        """Return how many tasks are known to have been created since the agent started."""
        return _value(self.counter) + self.direct

    def update_from_endings(self) -> None:
        """Compute ended and live tasks from `endings`."""
        self.ended = _value(self.endings)
        self.live = max(0, self.created() - self.ended)

    def add_sample(self, task: object, start: str) -> None:
        """Record when ``task`` was created, and the line that did it."""
        samples = self.samples
        if len(samples) >= MAX_SAMPLES:
            self.samples = samples = samples[:1] + samples[2::2]  # the oldest one stays
        samples.append((ref(task), monotonic(), start))
        if start and (start in self.starts or len(self.starts) < MAX_STARTS):
            self.starts[start] = self.starts.get(start, 0) + 1

    def oldest(self) -> Optional[Tuple[Any, float, str]]:
        """Return the oldest live sampled task, its time of creation and its creating line.

        Samples of tasks that have ended are removed.
        """
        live = []
        for sample in list(self.samples):
            task = sample[0]()
            if task is not None and not (hasattr(task, "done") and task.done()):
                live.append(sample)
        self.samples = live
        return (live[0][0](), live[0][1], live[0][2]) if live else None


def _value(counter: count[int]) -> int:
    return int(repr(counter)[6:-1])  # "count(5)": it cannot be read in any other way


class Counts:
    """All groups of this process. Any thread may create tasks; no lock is ever held."""

    def __init__(self) -> None:
        self.groups: Dict[int, Group] = {}
        """By ``id`` of their key."""
        self.fast: Dict[int, Callable[[], int]] = {}
        """By ``id`` of a code: counts one task. A task whose code is missing is counted and sampled."""
        self.loops: Dict[int, Any] = {}
        """By ``id``: a weak reference to each known event loop."""
        self._numbers = count(1)
        self._wrappers: Dict[int, CodeType] = {}
        self._named: Dict[str, CodeType] = {}
        """The code that a wrapper last ran in a task of this name."""

    def clear(self) -> None:
        """Remove everything, in place: the replaced functions hold these dictionaries."""
        for known in (self.fast, self.groups, self.loops, self._named):
            known.clear()
        self._numbers = count(1)

    def key_of(self, coro: object, task: Any) -> object:
        """Return the key of a task's group: normally the code of its coroutine."""
        code = code_of(coro)
        if code is None:
            return type(coro)
        if id(code) not in self._wrappers:
            return code
        wrapped = _wrapped_code(coro)
        name = str(task.get_name() if hasattr(task, "get_name") else task.name)
        if wrapped is None:  # the wrapper has ended, but the name of its task is known
            return self._named.get(name) or intern(name)
        if name in self._named or len(self._named) < MAX_NAMED_TASKS:
            self._named[name] = wrapped
        return wrapped

    def group_of(self, coro: Any, task: Any, kind: str = "asyncio") -> Group:
        """Return the group of a task, creating it if needed."""
        code = code_of(coro)
        if (
            code is not None
            and id(code) not in self._wrappers
            and id(code) not in self.groups
            and _is_wrapper(code)
        ):
            self._wrappers[id(code)] = code
        key = self.key_of(coro, task)
        group = self.groups.get(id(key))
        if group is None:
            if len(self.groups) >= MAX_GROUPS:
                key = OTHERS
            # Another thread may do the same: the first group stays.
            group = self.groups.setdefault(id(key), Group(next(self._numbers), kind, key))
        return group

    def count_and_sample(self, coro: object, task: Any) -> None:
        """Count and sample an asyncio task whose code is not in `fast`. Never raises."""
        try:
            group = self.group_of(coro, task)
            next(group.counter)
            if id(group.key) in self.fast:  # inside a wrapper: only the first task is sampled
                return
            if group.key is not OTHERS:
                self.fast[id(group.key)] = group.counter.__next__
            group.add_sample(task, _creating_line(3))
            self.add_loop(task.get_loop())
        except Exception:  # a task type without weak references, or without a loop
            pass

    def add_loop(self, loop: Any) -> None:
        """Add an event loop to the known ones."""
        if id(loop) not in self.loops:
            try:
                self.loops[id(loop)] = ref(loop)
            except TypeError:  # a custom class without weak references
                pass

    def open_loops(self) -> List[Any]:
        """Return the known event loops that are not closed."""
        found = []
        for key, reference in list(self.loops.items()):
            loop = reference()
            if loop is None or loop.is_closed():
                self.loops.pop(key, None)
            else:
                found.append(loop)
        return found

    def sample_next(self, groups: List[Group]) -> None:
        """Sample the next task that is created in each group."""
        for group in groups:
            self.fast.pop(id(group.key), None)

    def created(self) -> int:
        """Return how many tasks were created since the agent started."""
        return sum([group.created() for group in list(self.groups.values())])


COUNTS = Counts()
"""The counts of this process."""
