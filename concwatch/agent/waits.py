"""The lines at which the tasks of a group wait, found on request."""

from __future__ import annotations

import gc
import sys
from time import monotonic, perf_counter

from .counting import COUNTS, is_own, name_of
from .names import printable
from .scan import TIME_SLICE, Tasks
from .wrappers import INLINE_FRAMES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Iterator, List, Optional, Set, Tuple

    from .counting import CountedGroup

MAX_TASKS = 20_000
"""Tasks that are examined."""

MAX_PLACES = 50
"""Places that are reported."""

MAX_DISTINCT = 2_000
"""Places that are counted separately."""

MAX_DEPTH = 100
"""Coroutines that are followed from one to the one it awaits."""

_KINDS = (
    ("cr_code", "cr_await", "cr_frame"),
    ("gi_code", "gi_yieldfrom", "gi_frame"),
    ("ag_code", "ag_await", "ag_frame"),
)
"""The attributes of coroutines, generators and asynchronous generators: code, awaited object, frame."""


def place(coro: Any) -> Tuple[str, str, str]:
    """Return where a coroutine waits: the line, its function, and the innermost awaited object.

    The line is the innermost in the program's own code, or in any code if there is none.
    """
    code, waiting, frame_name = None, None, ""
    awaited, on, found_own = coro, "", False
    for depth in range(MAX_DEPTH):
        kind = next((kind for kind in _KINDS if getattr(awaited, kind[0], None) is not None), None)
        if kind is None:
            kind_name = type(awaited).__name__
            if kind_name not in ("FutureIter", "NoneType"):
                on = printable(kind_name)
            elif kind_name == "FutureIter" and depth == 1:  # else what awaits the future says more
                on = "Future"
            break
        current = getattr(awaited, kind[0])
        on, own = name_of(current), is_own(current.co_filename)
        if own or not found_own:
            code, waiting, frame_name, found_own = current, awaited, kind[2], own
        awaited = getattr(awaited, kind[1])
    if code is None:
        return "", "", on
    # Reading the frame creates an object that lives as long as the coroutine: only one per task.
    frame = getattr(waiting, frame_name)
    line = frame.f_lineno if frame is not None else code.co_firstlineno
    return printable(f"{code.co_filename}:{line}"), name_of(code), on


TIMERS = ("TimerHandle", "Timeout", "CancelScope")
"""The classes of variables that say when a wait ends: of asyncio, uvloop, trio, AnyIO and async-timeout."""

MAX_SECONDS = 1e9

WAIT_FOR_CREATES = sys.version_info < (3, 12)
"""Whether ``asyncio.wait_for`` creates a task for what it waits for."""


def timer(coro: Any, now: float) -> Optional[float]:
    """Return the seconds until a timer ends what a coroutine waits for; None if there is none.

    Args:
        coro: the coroutine.
        now: the time, on the clock of its event loop.
    """
    found: Optional[float] = None
    for _ in range(MAX_DEPTH):
        if getattr(coro, "cr_code", None) is None:
            break
        for value in _variables(coro, coro.cr_frame):
            when = _deadline(value)
            if when is not None and when < MAX_SECONDS + now:
                left = max(0.0, when - now)
                found = left if found is None else min(found, left)
        coro = coro.cr_await
    return found


def _variables(coro: Any, frame: Any) -> List[Any]:
    """Return the variables of a coroutine or generator, and the context managers that it has entered."""
    found = []
    for value in gc.get_referents(coro if INLINE_FRAMES else frame):
        if type(value).__name__ == "method":  # the ``__exit__`` or ``__aexit__`` of a context manager
            value = value.__self__
        if type(value).__name__ == "_GeneratorContextManager":  # such as ``trio.fail_after``
            found += _variables(value.gen, value.gen.gi_frame)
        else:
            found.append(value)
    return found


def _deadline(value: Any) -> Optional[float]:
    """Return when a timer fires, on the clock of its loop; None if ``value`` is no timer, or one not set."""
    if type(value).__name__ not in TIMERS:
        return None
    try:
        when = value.when() if hasattr(value, "when") else value.deadline
        return None if when is None else float(when)
    except Exception:  # a scope that is not entered yet
        return None


def _sampled(group: CountedGroup) -> Iterator[Any]:
    """Yield the coroutines of the sampled tasks of trio, which has no list of all."""
    for reference, _, _ in list(group.samples):
        task = reference()
        if task is not None and getattr(task.coro, "cr_frame", None) is not None:
            yield task.coro


class _Waits:
    """Counts where tasks wait, and until when."""

    def __init__(self) -> None:
        self.places: Dict[Tuple[str, str, str], int] = {}
        self.examined = self.timed = 0
        self.until = 0.0
        self._untimed: Set[int] = set()
        self._limits: Dict[int, float] = {}

    def add(self, coro: Any, now: float, task: Any = None) -> None:
        """Add a task by its coroutine; ``now`` is the time on the clock of its event loop."""
        self.examined += 1
        key = place(coro)
        left = timer(coro, now)
        if left is None:
            self._untimed.add(id(task))
        self._add_timer(left)
        if key in self.places or len(self.places) < MAX_DISTINCT:
            self.places[key] = self.places.get(key, 0) + 1

    def _add_timer(self, left: Optional[float]) -> None:
        if left is not None:
            self.timed, self.until = self.timed + 1, max(self.until, left)

    def add_limit(self, coro: Any, now: float) -> None:
        """Add the task that ``coro`` waits for in ``wait_for``, which up to Python 3.11 creates one."""
        function = getattr(sys.modules.get("asyncio.tasks"), "wait_for", None)
        for _ in range(MAX_DEPTH):
            code = getattr(coro, "cr_code", None)
            if code is None:
                break
            if code is getattr(function, "__code__", None):
                left = timer(coro, now)
                if left is not None:
                    found = [value for value in _variables(coro, coro.cr_frame) if hasattr(value, "get_coro")]
                    self._limits.update(dict.fromkeys(map(id, found), left))
                break
            coro = coro.cr_await

    def apply_limits(self) -> None:
        """Set the timers of tasks that ``wait_for`` has created: those of the tasks that wait for them."""
        for number in self._untimed:
            self._add_timer(self._limits.get(number))


def find_waits(group: CountedGroup, send: Callable[[Dict[str, Any]], None]) -> Iterator[None]:
    """Find where the tasks of ``group`` wait, and call ``send`` with the fields of the report.

    A generator: one time slice per step.
    """
    found = _Waits()
    slice_ends = perf_counter() + TIME_SLICE
    for coro in _sampled(group) if group.kind == "trio" else ():
        found.add(coro, monotonic() + group.clock_ahead)
    tasks = Tasks()
    while tasks and group.kind != "trio" and found.examined < MAX_TASKS:
        for task in tasks.pop_chunk():
            try:
                coro = task.get_coro()
                now = task.get_loop().time()
                if id(COUNTS.key_of(coro)) == group.key and not task.done():
                    found.add(coro, now, task)
                elif WAIT_FOR_CREATES:
                    found.add_limit(coro, now)
            except Exception:  # it has just ended
                continue
        task = coro = None
        if perf_counter() >= slice_ends:
            yield
            slice_ends = perf_counter() + TIME_SLICE
    found.apply_limits()
    ranked = sorted(found.places.items(), key=lambda item: -item[1])[:MAX_PLACES]
    send(
        {
            "group": group.number,
            "looked": found.examined,
            "live": group.live,
            **({"timed": found.timed, "until": round(found.until, 3)} if found.timed else {}),
            "waits": [
                {"where": where, "in": inside, "on": on, "tasks": count}
                for (where, inside, on), count in ranked
            ],
            "oldest": _oldest(group),
        }
    )


def _oldest(group: CountedGroup) -> Any:
    oldest = group.oldest()
    if oldest is None:
        return None
    task, created, start = oldest
    try:
        where = place(task.get_coro() if hasattr(task, "get_coro") else task.coro)[0]
    except Exception:  # it has just ended
        where = ""
    return {"age": round(monotonic() - created, 3), "where": where, "start": start or None}
