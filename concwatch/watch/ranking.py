"""The groups of one watched process, or of all together, in the order in which somebody wants to see them."""

from collections.abc import Callable, Iterable, Sequence

from msgspec import structs

from concwatch.lab.growth import Growth
from concwatch.links.agent_messages import GroupReport
from concwatch.watch.group import GroupStatus

REST = "other coroutines"
"""What the groups are called that have no line of their own."""


def _added(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def joined(groups: Sequence[GroupStatus]) -> GroupStatus:
    """Return the groups of several processes that run the same function as one."""
    first = groups[0]
    if len(groups) == 1:
        return first
    ended, live = sum(group.ended for group in groups), sum(group.live for group in groups)
    growths = [group.growth for group in groups if group.growth]
    lives = [
        (group.mean_life, group.ended) for group in groups if group.mean_life is not None and group.ended
    ]
    ages = [group.oldest for group in groups if group.oldest is not None]
    waits: dict[tuple[str, str, str], int] = {}
    for group in groups:
        for place in group.waits:
            key = place.where, place.in_, place.on
            waits[key] = waits.get(key, 0) + place.tasks
    most = sorted(waits.items(), key=lambda one: -one[1])
    place_type = type(first.waits[0]) if first.waits else None
    return structs.replace(
        first,
        live=live,
        live_peak=sum(group.live_peak for group in groups),
        created=sum(group.created for group in groups),
        ended=ended,
        since=sum(group.since for group in groups),
        created_per_second=_added(group.created_per_second for group in groups),
        ended_per_second=_added(group.ended_per_second for group in groups),
        failed=_whole(_added(group.failed for group in groups)),
        retained=_whole(_added(group.retained for group in groups)),
        mean_life=sum(life * count for life, count in lives) / sum(count for _, count in lives)
        if lives
        else None,
        oldest=max(ages, default=None),
        growth=_grown(growths),
        rss=_added(group.rss for group in groups),
        leak=any(group.leak for group in groups),
        waits=tuple(place_type(where, tasks, in_, on) for (where, in_, on), tasks in most)
        if place_type
        else first.waits,
    )


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)


def _grown(growths: Sequence[Growth]) -> Growth | None:
    """Return the growth of the sum of independent counts: their errors add up as squares do."""
    if not growths:
        return None
    middle = sum(growth.per_minute for growth in growths)
    half = sum(((growth.high - growth.low) / 2) ** 2 for growth in growths) ** 0.5
    return Growth(middle, middle - half, middle + half)


def identity(group: GroupStatus | GroupReport) -> tuple[str, str, int]:
    """Return what tells a group from others in whatever process: name, file and line."""
    return group.name, group.file, group.line


def joined_groups(groups: Iterable[GroupStatus]) -> list[GroupStatus]:
    """Return groups of several processes, those of the same function as one."""
    same: dict[tuple[str, str, int], list[GroupStatus]] = {}
    for group in groups:
        same.setdefault(identity(group), []).append(group)
    return [joined(each) for each in same.values()]


def ranked(
    groups: Iterable[GroupStatus], value: Callable[[GroupStatus], float | None], words: str, most: int
) -> list[GroupStatus]:
    """Return the groups in whose name or file ``words`` stand, highest ``value`` first.

    Of more than ``most`` the others are one, the last.
    """
    wanted = words.casefold()
    found = [group for group in groups if wanted in f"{group.name} {group.file}:{group.line}".casefold()]
    found.sort(key=lambda group: (-(_or_least(value(group))), group.name, group.line))
    if len(found) <= most:
        return found
    rest = joined(found[most - 1 :])
    count = len(found) - most + 1
    return [
        *found[: most - 1],
        structs.replace(rest, name=f"{count} {REST}", file="", line=0, leak=False, own=False, waits=()),
    ]


def _or_least(value: float | None) -> float:
    return float("-inf") if value is None else value
