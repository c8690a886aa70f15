"""The lines at which the tasks of a group wait, found on request."""

from __future__ import annotations

import gc
from time import monotonic, perf_counter

from .counting import COUNTS, is_own, name_of
from .names import printable
from .scan import TIME_SLICE, Tasks
from .wrappers import INLINE_FRAMES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Iterator, Optional, Tuple

    from .counting import Group

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
    for _ in range(MAX_DEPTH):
        kind = next((kind for kind in _KINDS if getattr(awaited, kind[0], None) is not None), None)
        if kind is None:
            on = printable(type(awaited).__name__) if awaited is not None else on
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


TIMERS = ("TimerHandle", "Timeout")
"""The classes, of asyncio and uvloop, of the variables that say when `asyncio.sleep` and others end."""

MAX_SECONDS = 1e9


def timer(coro: Any, loop: Any) -> Optional[float]:
    """Return the seconds until a timer ends what a coroutine waits for; None if there is none."""
    found: Optional[float] = None
    for _ in range(MAX_DEPTH):
        if getattr(coro, "cr_code", None) is None:
            break
        for value in gc.get_referents(coro if INLINE_FRAMES else coro.cr_frame):
            if type(value).__name__ == "method":  # the ``__aexit__`` of a context manager that is entered
                value = value.__self__
            if type(value).__name__ in TIMERS:
                when = value.when()
                if when is not None:
                    left = min(MAX_SECONDS, max(0.0, when - loop.time()))
                    found = left if found is None else min(found, left)
        coro = coro.cr_await
    return found


def _sampled(group: Group) -> Iterator[Any]:
    """Yield the coroutines of the sampled tasks of trio, which has no list of all."""
    for reference, _, _ in list(group.samples):
        task = reference()
        if task is not None:
            yield task.coro


def find_waits(group: Group, send: Callable[[Dict[str, Any]], None]) -> Iterator[None]:
    """Find where the tasks of ``group`` wait, and call ``send`` with the fields of the report.

    A generator: one time slice per step.
    """
    places: Dict[Tuple[str, str, str], int] = {}
    examined = timed = 0
    until = 0.0
    slice_ends = perf_counter() + TIME_SLICE
    for coro in _sampled(group) if group.kind == "trio" else ():
        if getattr(coro, "cr_frame", None) is not None:
            examined += 1
            key = place(coro)
            places[key] = places.get(key, 0) + 1
    tasks = Tasks()
    while tasks and group.kind != "trio" and examined < MAX_TASKS:
        for task in tasks.pop_chunk():
            try:
                coro = task.get_coro()
                if id(COUNTS.key_of(coro)) != group.key or task.done():
                    continue
                examined += 1
                key = place(coro)
                left = timer(coro, task.get_loop())
                if left is not None:
                    timed, until = timed + 1, max(until, left)
            except Exception:  # it has just ended
                continue
            if key in places or len(places) < MAX_DISTINCT:
                places[key] = places.get(key, 0) + 1
        task = coro = None
        if perf_counter() >= slice_ends:
            yield
            slice_ends = perf_counter() + TIME_SLICE
    ranked = sorted(places.items(), key=lambda item: -item[1])[:MAX_PLACES]
    send(
        {
            "group": group.number,
            "looked": examined,
            "live": group.live,
            **({"timed": timed, "until": round(until, 3)} if timed else {}),
            "waits": [
                {"where": where, "in": inside, "on": on, "tasks": count}
                for (where, inside, on), count in ranked
            ],
            "oldest": _oldest(group),
        }
    )


def _oldest(group: Group) -> Any:
    oldest = group.oldest()
    if oldest is None:
        return None
    task, created, start = oldest
    try:
        where = place(task.get_coro() if hasattr(task, "get_coro") else task.coro)[0]
    except Exception:  # it has just ended
        where = ""
    return {"age": round(monotonic() - created, 3), "where": where, "start": start or None}
