"""Where tasks wait, for what and for whom, in words and in reports."""

from collections.abc import Iterable, Sequence

from concwatch.links.agent_messages import TaskPlace, WaitPlace
from concwatch.portable.protocol.text import short_place
from concwatch.portable.protocol.units import format_count

COMPREHENSIONS = (
    ".<locals>.<listcomp>",
    ".<locals>.<genexpr>",
    ".<locals>.<setcomp>",
    ".<locals>.<dictcomp>",
)
"""What the names of functions end with that are only part of another one."""


def waiting_text(place: WaitPlace, near: str = "") -> str:
    """Return where tasks wait and for what: "list_orders wait at db.py:52 for Semaphore, 5 inside: …".

    Tasks that run are said to run: "handle runs at :20".

    Args:
        place: where they wait, or run.
        near: a file that is not repeated.
    """
    verb = "run" if place.running else "wait"
    text = f"{place.in_} {verb}{'s' if place.tasks == 1 else ''} at {_place_text(place.where, near)}".strip()
    if place.on:
        text += f" for {place.on}"
    if place.inside:
        inside = sum(one.tasks for one in place.inside)
        text += f", {format_count(inside)} inside: {places_text(place.inside, _file(place.where))}"
    elif place.for_:
        text += f": {places_text(place.for_, _file(place.where))}"
    return text


def cycle_text(tasks: Sequence[WaitPlace]) -> str:
    """Return which tasks wait for each other: "2 tasks wait for each other: a at app/x.py:5 for b, …"."""
    waits = [f"{one.in_} at {short_place(one.where)} for {one.on}" for one in tasks]
    return f"{len(tasks)} tasks wait for each other: {', '.join(waits)}"


def places_text(places: Iterable[TaskPlace], near: str = "") -> str:
    """Return how many tasks are where: "4 list_orders at :58, 1 report at :91".

    Args:
        places: where they are.
        near: a file that is not repeated.
    """
    return ", ".join(f"{format_count(place.tasks)}{_in_and_at(place, '', near)}" for place in places)


def created_text(places: Iterable[TaskPlace], near: str = "") -> str:
    """Return how many tasks were created where: "403 created by main at :27, 5 created by boot at :9".

    Args:
        places: the lines that created them.
        near: a file that is not repeated.
    """
    return ", ".join(
        f"{format_count(place.tasks)} created{_in_and_at(place, ' by', near)}" for place in places
    )


def _in_and_at(place: TaskPlace, by: str, near: str) -> str:
    """Return the function and the line of a place, as far as they are known: " by main at :27"."""
    name = place.in_
    for end in COMPREHENSIONS:
        name = name.removesuffix(end)
    where = _place_text(place.where, near)
    return (f"{by} {name}" if name else "") + (f" at {where}" if where else "")


def _file(where: str) -> str:
    return where.rpartition(":")[0]


def _place_text(where: str, near: str) -> str:
    """Return a line, without its file if that is ``near``."""
    return f":{where.rpartition(':')[2]}" if near and _file(where) == near else short_place(where)


def place_json(place: TaskPlace) -> dict[str, object]:
    """Return its entry in the report."""
    return {"in": place.in_ or None, "where": place.where, "tasks": place.tasks}


def waits_json(place: WaitPlace) -> dict[str, object]:
    """Return the entry of a place where tasks wait in the report."""
    return {
        **place_json(place),
        "on": place.on or None,
        "for": [place_json(one) for one in place.for_],
        "inside": [place_json(one) for one in place.inside],
    }
