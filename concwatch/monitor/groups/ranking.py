"""Groups of watched processes: merged by function, filtered and sorted."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from msgspec import structs

from concwatch.links.agent_messages import LineCount, TaskPlace, WaitPlace
from concwatch.monitor.metrics.group_status import QUANTILES, Function, GroupFigures, GroupStatus
from concwatch.monitor.metrics.metric import Combine, combined_value, combines
from concwatch.monitor.statistics.survival import Survival
from concwatch.monitor.verdicts.growth import Growth

REST = "other coroutines"
"""The name of the row for the groups beyond the limit, after their number."""

Groups = Sequence[GroupFigures]


def _known(groups: Groups, name: str) -> list[Any]:
    return [value for group in groups if (value := group.figure(name)) is not None]


def _by_row(combine: Combine) -> Callable[[Groups, str], Any]:
    """Return what combines a figure of several groups; a mean is that of all tasks that have ended."""

    def combined(groups: Groups, name: str) -> Any:
        return combined_value(combine, _known(groups, name), ())

    def mean(groups: Groups, name: str) -> Any:
        known = [
            (value, group.figure("ended")) for group in groups if (value := group.figure(name)) is not None
        ]
        return combined_value(combine, *zip(*known, strict=True)) if known else None

    return mean if combine is Combine.MEAN else combined


def _total_growth(groups: Groups, name: str) -> Growth | None:
    """Return the growth of the sum of independent counts, whose errors add up in quadrature."""
    growths: Sequence[Growth] = _known(groups, name)
    if not growths:
        return None
    slope = sum(growth.per_minute for growth in growths)
    width = sum(((growth.high - growth.low) / 2) ** 2 for growth in growths) ** 0.5
    return Growth(slope, slope - width, slope + width)


def _quantile(groups: Groups, name: str) -> float | None:
    """Return a quantile of the durations of all; unknown if they are not kept."""
    survivals = [group.survival for group in groups]
    if None not in survivals:
        return Survival.merged(one for one in survivals if one is not None).quantile(QUANTILES[name]).seconds
    known: Sequence[float] = _known(groups, name)
    return known[0] if len(known) == 1 else None


def _half(groups: Groups, name: str) -> float | None:
    """Return half of the interval of the sum of independent shares, whose errors add up in quadrature."""
    known: Sequence[float] = _known(groups, name)
    return sum(half**2 for half in known) ** 0.5 if known else None


def _lines(groups: Groups, name: str) -> tuple[LineCount, ...]:
    """Return the lines of all with how many tasks they created, the most frequent first."""
    lines: Counter[str] = Counter()
    for group in groups:
        lines.update({line.line: line.tasks for line in group.figure(name)})
    return tuple(LineCount(line, tasks) for line, tasks in lines.most_common())


def _waits(groups: Groups, name: str) -> tuple[WaitPlace, ...]:
    """Return the places of all with how many tasks wait there, the most frequent first."""
    same: dict[tuple[str, str, str, bool], list[WaitPlace]] = {}
    for group in groups:
        for place in group.figure(name):
            same.setdefault((place.where, place.in_, place.on, place.running), []).append(place)
    found = [
        WaitPlace(
            where,
            sum(place.tasks for place in places),
            in_,
            on,
            _sums(one for place in places for one in place.for_),
            _sums(one for place in places for one in place.inside),
            running,
        )
        for (where, in_, on, running), places in same.items()
    ]
    return tuple(sorted(found, key=lambda place: -place.tasks))


def _places(groups: Groups, name: str) -> tuple[TaskPlace, ...]:
    return _sums(place for group in groups for place in group.figure(name))


def _sums(places: Iterable[TaskPlace]) -> tuple[TaskPlace, ...]:
    """Return the sums by line and function, the most frequent first."""
    counts: Counter[tuple[str, str]] = Counter()
    for place in places:
        counts[place.where, place.in_] += place.tasks
    return tuple(TaskPlace(where, tasks, in_) for (where, in_), tasks in counts.most_common())


def _names(groups: Groups, name: str) -> tuple[str, ...]:
    return tuple(sorted({each for group in groups for each in group.figure(name)}))


COMBINED: Mapping[str, Callable[[Groups, str], Any]] = {
    **{name: _by_row(combine) for name, combine in combines(GroupStatus).items()},
    "left_lines": _lines,
    "growth": _total_growth,
    **dict.fromkeys(QUANTILES, _quantile),
    "busy_half": _half,
    "waits": _waits,
    "created_at": _places,
    "awaited_by": _places,
    "at_least": _names,
}
"""How the figures of several groups become one, by name; the first group's count for the others."""


OF_ONE_FUNCTION: Mapping[str, Any] = {
    "grows": False,
    "leak": False,
    "own": False,
    **dict.fromkeys(("waits", "created_at", "awaited_by"), ()),
}
"""The figures that the groups of several functions do not have together, with what stands in their place."""


class MergedGroup:
    """Several groups as one, such as those of the same function in several processes.

    Args:
        groups: the groups, at least one.
        rest: how many functions they are, if they are not one function's.
    """

    def __init__(self, groups: Groups, rest: int = 0) -> None:
        self.groups = groups
        self._rest = rest

    @property
    def survival(self) -> Survival | None:
        """How long the tasks of all take; None where only the quantiles are kept."""
        kept = [one for group in self.groups if (one := group.survival) is not None]
        return Survival.merged(kept) if len(kept) == len(self.groups) else None

    @property
    def function(self) -> Function:
        """The function of its tasks; for several only a text in place of its name."""
        return (f"{self._rest} {REST}", "", 0) if self._rest else self.groups[0].function

    def figure(self, name: str) -> Any:
        """Return one figure, without computing the others."""
        if self._rest and name in OF_ONE_FUNCTION:
            return OF_ONE_FUNCTION[name]
        if len(self.groups) > 1 and name in COMBINED:
            return COMBINED[name](self.groups, name)
        return self.groups[0].figure(name)

    @cached_property
    def at_least(self) -> tuple[str, ...]:
        """The figures that may be higher."""
        return tuple(self.figure("at_least"))

    @cached_property
    def status(self) -> GroupStatus:
        """All figures."""
        found = [group.status for group in self.groups]
        changed: dict[str, Any] = {}
        if len(found) > 1:
            changed = {name: combine(found, name) for name, combine in COMBINED.items()}
            changed |= {name: self.figure(name) for name in QUANTILES}
        if self._rest:
            name, file, line = self.function
            changed |= {"name": name, "file": file, "line": line, **OF_ONE_FUNCTION}
        return structs.replace(found[0], **changed)


def merge_groups(groups: Iterable[GroupFigures]) -> list[MergedGroup]:
    """Return the groups of several processes with one group per function."""
    by_function: dict[Function, list[GroupFigures]] = {}
    for group in groups:
        same = by_function.get(group.function)
        if same is None:  # not by `setdefault`, which would make a list for each of thousands
            by_function[group.function] = [group]
        else:
            same.append(group)
    return [MergedGroup(same) for same in by_function.values()]


def ranked(
    groups: Iterable[MergedGroup], value: Callable[[MergedGroup], float | None], pattern: str, most: int
) -> list[MergedGroup]:
    """Return the groups whose name or file contains ``pattern``, ignoring case, highest ``value`` first.

    If there are more than ``most``, the last one has the sums of the rest.
    """
    pattern = pattern.casefold()
    found = [group for group in groups if pattern in "{} {}:{}".format(*group.function).casefold()]
    found.sort(key=lambda group: (-_or_least(value(group)), group.function[0], group.function[2]))
    if len(found) <= most:
        return found
    rest = found[most - 1 :]
    members = [member for group in rest for member in group.groups]
    return [*found[: most - 1], MergedGroup(members, len(rest))]


def _or_least(value: float | None) -> float:
    return float("-inf") if value is None else value
