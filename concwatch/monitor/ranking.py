"""Groups of watched processes: merged by function, filtered and sorted."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from msgspec import structs

from concwatch.monitor.group_status import GroupStatus
from concwatch.monitor.growth import Growth
from concwatch.protocol.agent_messages import GroupReport, LineCount, WaitPlace

Function = tuple[str, str, int]
"""The name, file and line of a function."""

REST = "other coroutines"
"""The name of the row for the groups beyond the limit, after their number."""


def _sum(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def merged(groups: Sequence[GroupStatus]) -> GroupStatus:
    """Return one group with the sums of several, such as those of the same function in several processes."""
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
    places = sorted(waits.items(), key=lambda item: -item[1])
    return structs.replace(
        first,
        live=live,
        live_peak=_whole(_sum(group.live_peak for group in groups)),
        created=sum(group.created for group in groups),
        ended=ended,
        since=sum(group.since for group in groups),
        created_per_second=_sum(group.created_per_second for group in groups),
        ended_per_second=_sum(group.ended_per_second for group in groups),
        failed=_whole(_sum(group.failed for group in groups)),
        retained=_whole(_sum(group.retained for group in groups)),
        left_over=_whole(_sum(group.left_over for group in groups)),
        destroyed=_whole(_sum(group.destroyed for group in groups)),
        left_lines=_lines(groups),
        mean_life=sum(life * count for life, count in lives) / sum(count for _, count in lives)
        if lives
        else None,
        oldest=max(ages, default=None),
        growth=_total_growth(growths),
        rss=_sum(group.rss for group in groups),
        leak=any(group.leak for group in groups),
        waits=tuple(WaitPlace(where, tasks, in_, on) for (where, in_, on), tasks in places),
        waits_known=all(group.waits_known for group in groups),
        at_least=tuple(sorted({name for group in groups for name in group.at_least})),
    )


def _lines(groups: Iterable[GroupStatus]) -> tuple[LineCount, ...]:
    """Return the lines that created the left-over tasks of several groups, the most frequent first."""
    lines: Counter[str] = Counter()
    for group in groups:
        lines.update({line.line: line.tasks for line in group.left_lines})
    return tuple(LineCount(line, tasks) for line, tasks in lines.most_common())


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)


def _total_growth(growths: Sequence[Growth]) -> Growth | None:
    """Return the growth of the sum of independent counts, whose errors add up in quadrature."""
    if not growths:
        return None
    slope = sum(growth.per_minute for growth in growths)
    width = sum(((growth.high - growth.low) / 2) ** 2 for growth in growths) ** 0.5
    return Growth(slope, slope - width, slope + width)


def identity(group: GroupStatus | GroupReport) -> Function:
    """Return the function of a group, which identifies it across processes."""
    return group.name, group.file, group.line


def merge_groups(groups: Iterable[GroupStatus]) -> list[GroupStatus]:
    """Return the groups of several processes with one group per function."""
    by_function: dict[Function, list[GroupStatus]] = {}
    for group in groups:
        by_function.setdefault(identity(group), []).append(group)
    return [merged(same) for same in by_function.values()]


def ranked(
    groups: Iterable[GroupStatus], value: Callable[[GroupStatus], float | None], pattern: str, most: int
) -> list[GroupStatus]:
    """Return the groups whose name or file contains ``pattern``, ignoring case, highest ``value`` first.

    If there are more than ``most``, the last one has the sums of the rest.
    """
    pattern = pattern.casefold()
    found = [group for group in groups if pattern in f"{group.name} {group.file}:{group.line}".casefold()]
    found.sort(key=lambda group: (-_or_least(value(group)), group.name, group.line))
    if len(found) <= most:
        return found
    rest = merged(found[most - 1 :])
    count = len(found) - most + 1
    return [
        *found[: most - 1],
        structs.replace(rest, name=f"{count} {REST}", file="", line=0, leak=False, own=False, waits=()),
    ]


def _or_least(value: float | None) -> float:
    return float("-inf") if value is None else value
