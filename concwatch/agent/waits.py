"""Where the tasks of a group stand, looked up when somebody asks."""

from __future__ import annotations

from time import monotonic, perf_counter

from .counting import COUNTS, name_of, own, words
from .scan import TURN, Tasks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Iterator, Tuple

    from .counting import Group

MOST_TASKS = 20_000
"""Tasks that are looked at."""

MOST_PLACES = 50
MOST_APART = 2_000

DEEPEST = 100
"""Coroutines awaited one within the other that are followed."""


_KINDS = (
    ("cr_code", "cr_await", "cr_frame"),
    ("gi_code", "gi_yieldfrom", "gi_frame"),
    ("ag_code", "ag_await", "ag_frame"),
)
"""Of coroutines, generators and asynchronous generators: the code, what is awaited, and the frame."""


def place(coro: Any) -> Tuple[str, str, str]:
    """Return where a coroutine stands: a line, the function it is in, and what is awaited innermost.

    The line is the innermost of the program's own code, or of any where there is none.
    """
    code, stands, frame_name = None, None, ""
    awaited, on, found_own = coro, "", False
    for _ in range(DEEPEST):
        kind = next((kind for kind in _KINDS if getattr(awaited, kind[0], None) is not None), None)
        if kind is None:
            on = words(type(awaited).__name__) if awaited is not None else on
            break
        current = getattr(awaited, kind[0])
        on, mine = name_of(current), own(current.co_filename)
        if mine or not found_own:
            code, stands, frame_name, found_own = current, awaited, kind[2], mine
        awaited = getattr(awaited, kind[1])
    if code is None:
        return "", "", on
    # A frame object is made by looking at it, and stays as long as the coroutine: of one each, no more.
    frame = getattr(stands, frame_name)
    line = frame.f_lineno if frame is not None else code.co_firstlineno
    return words(f"{code.co_filename}:{line}"), name_of(code), on


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
            if key in places or len(places) < MOST_APART:
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
