"""Where the tasks of a group stand, looked up when somebody asks."""

from __future__ import annotations

from time import monotonic, perf_counter

from .counting import COUNTS, own, words
from .scan import TURN, Tasks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Iterator, List, Tuple

    from .counting import Group

MOST_TASKS = 20_000
"""Tasks that are looked at."""

MOST_PLACES = 50
MOST_TOLD_APART = 2_000

DEEPEST = 100
"""Coroutines awaited one within the other that are followed."""


def _next(coro: Any) -> Tuple[Any, Any]:
    """Return the code of a coroutine, or None, and what it awaits."""
    code = getattr(coro, "cr_code", None)
    if code is not None:
        return code, coro.cr_await
    code = getattr(coro, "gi_code", None)
    if code is not None:
        return code, coro.gi_yieldfrom
    return getattr(coro, "ag_code", None), getattr(coro, "ag_await", None)


def place(coro: Any) -> Tuple[str, str, str]:
    """Return where a coroutine stands: a line, the function it is in, and what is awaited innermost.

    The line is the innermost of the program's own code, or of any where there is none.
    """
    chain: List[Tuple[Any, Any]] = []
    awaited: Any = coro
    on = ""
    for _ in range(DEEPEST):
        code, after = _next(awaited)
        if code is None:
            on = words(type(awaited).__name__) if awaited is not None else on
            break
        chain.append((code, awaited))
        on = words(getattr(code, "co_qualname", code.co_name))
        if after is None:
            break
        awaited = after
    mine = [link for link in chain if own(link[0].co_filename)] or chain
    if not mine:
        return "", "", on
    code, standing = mine[-1]
    frame = None
    # A frame object is made by looking at it, and stays as long as the coroutine: of one each, no more.
    for name in ("cr_frame", "gi_frame", "ag_frame"):
        frame = getattr(standing, name, None) or frame
    line = frame.f_lineno if frame is not None else code.co_firstlineno
    return words(f"{code.co_filename}:{line}"), words(getattr(code, "co_qualname", code.co_name)), on


def look(group: Group, answer: Callable[[Dict[str, Any]], None]) -> Iterator[None]:
    """Find where tasks of ``group`` stand: a generator, a turn at a time; ``answer`` gets the fields."""
    places: Dict[Tuple[str, str, str], int] = {}
    looked = 0
    turn_ends = perf_counter() + TURN
    tasks = Tasks()
    while tasks and looked < MOST_TASKS:
        for task in tasks.take():
            try:
                coro = task.get_coro()
                if COUNTS.hold(coro, task) is not group.hold or task.done():
                    continue
                looked += 1
                key = place(coro)
            except Exception:  # it has ended this moment
                continue
            if key in places or len(places) < MOST_TOLD_APART:
                places[key] = places.get(key, 0) + 1
        task = coro = None
        if perf_counter() >= turn_ends:
            yield
            turn_ends = perf_counter() + TURN
    ranked = sorted(places.items(), key=lambda item: -item[1])[:MOST_PLACES]
    answer(
        {
            "group": group.number,
            "looked": looked,
            "live": group.live,
            "waits": [
                {"where": where, "in": inside, "on": on, "tasks": count}
                for (where, inside, on), count in ranked
            ],
            "oldest": _oldest(group),
        }
    )


def _oldest(group: Group) -> Any:
    found = group.oldest()
    if found is None:
        return None
    task, created, start = found
    try:
        where = place(task.get_coro() if hasattr(task, "get_coro") else task.coro)[0]
    except Exception:
        where = ""
    return {"age": round(monotonic() - created, 3), "where": where, "start": start or None}
