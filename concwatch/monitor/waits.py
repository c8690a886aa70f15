"""Where tasks wait, for what and for whom, in words and in reports."""

from collections.abc import Iterable, Sequence

from concwatch.protocol.agent_messages import TaskPlace, WaitPlace
from concwatch.protocol.text import short_place
from concwatch.protocol.units import format_count


def waiting_text(place: WaitPlace) -> str:
    """Return where tasks wait and for what: "list_orders wait at db.py:52 for Semaphore, 5 inside: …"."""
    text = f"{place.in_} wait at {short_place(place.where)}".strip()
    if place.on:
        text += f" for {place.on}"
    if place.inside:
        inside = sum(one.tasks for one in place.inside)
        text += f", {format_count(inside)} inside: {places_text(place.inside, place.where)}"
    elif place.for_:
        text += f": {places_text(place.for_, place.where)}"
    return text


def cycle_text(tasks: Sequence[WaitPlace]) -> str:
    """Return which tasks wait for each other: "2 tasks wait for each other: a at app/x.py:5 for b, …"."""
    waits = [f"{one.in_} at {short_place(one.where)} for {one.on}" for one in tasks]
    return f"{len(tasks)} tasks wait for each other: {', '.join(waits)}"


def places_text(places: Iterable[TaskPlace], near: str = "") -> str:
    """Return how many tasks are where: "4 list_orders at :58, 1 report at :91".

    Args:
        places: where they are.
        near: a line whose file is not repeated.
    """
    file = near.rpartition(":")[0]
    texts = []
    for place in places:
        at_file, _, line = place.where.rpartition(":")
        where = f":{line}" if file and at_file == file else short_place(place.where)
        texts.append(f"{format_count(place.tasks)} {place.in_}".rstrip() + (f" at {where}" if where else ""))
    return ", ".join(texts)


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
